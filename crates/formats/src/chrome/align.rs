//! The clocks of several files.
//!
//! Kineto's times are the wall clock of the host, those of newer files counted from a base that the file names.
//! With it added, files of one run overlap in time, and stay as they are. If they do not, the clocks cannot be those
//! of one run: then each file is moved as a whole, such that the first profiler step that all have begins
//! together, or, without steps, the first events. Law: times within a file are never changed.

use super::collect::FileFacts;
use ouzel_model::{Level, Notice, NoticeCode};

/// What to add to the times of each file, in nanoseconds, and what to say of it.
pub(super) fn shifts(files: &[FileFacts]) -> (Vec<i64>, Option<Notice>) {
    let bases: Vec<i64> = files.iter().map(|file| file.base_ns.unwrap_or(0)).collect();
    let shifts: Vec<i64> = bases.iter().map(|base| base.saturating_sub(bases[0])).collect();
    let starts = || files.iter().zip(&shifts).filter_map(|(f, s)| Some(f.span_ns?.0.saturating_add(*s)));
    let ends = || files.iter().zip(&shifts).filter_map(|(f, s)| Some(f.span_ns?.1.saturating_add(*s)));
    let (Some(last_start), Some(first_end)) = (starts().max(), ends().min()) else { return (shifts, None) };
    let notice = |level, message: String| Some(Notice::new(level, NoticeCode::ClocksUnsynchronised, message));
    if files.len() < 2 {
        return (shifts, None);
    }
    if last_start <= first_end {
        let message = "the files are aligned by the wall clocks of their hosts, as recorded".to_owned();
        return (shifts, notice(Level::Low, message));
    }
    let with_events: Vec<usize> = (0..files.len()).filter(|&file| files[file].span_ns.is_some()).collect();
    let in_all = |step: &&u64| with_events.iter().all(|&file| files[file].steps.contains_key(step));
    let step = files[with_events[0]].steps.keys().find(in_all).copied();
    let anchor = |file: &FileFacts| match step {
        Some(step) => file.steps.get(&step).copied(),
        None => file.span_ns.map(|(start, _)| start),
    };
    let first = anchor(&files[with_events[0]]).unwrap_or(0);
    let aligned = files.iter().map(|file| first.saturating_sub(anchor(file).unwrap_or(first))).collect();
    let how = match step {
        Some(step) => format!("ProfilerStep#{step} begins at the same time"),
        None => "their first events coincide".to_owned(),
    };
    let message = format!("the files do not overlap in time; they were shifted so that {how}");
    (aligned, notice(Level::Medium, message))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(base_ns: Option<i64>, span_ns: (i64, i64), steps: &[(u64, i64)]) -> FileFacts {
        FileFacts {
            base_ns,
            span_ns: Some(span_ns),
            steps: steps.iter().copied().collect(),
            ..FileFacts::default()
        }
    }

    #[test]
    fn files_that_overlap_stay_and_others_are_moved_to_a_common_step() {
        let check = |files: &[FileFacts], wanted: &[i64], level: Option<Level>| {
            let (found, notice) = shifts(files);
            assert_eq!((&found[..], notice.map(|n| n.level)), (wanted, level));
        };
        check(&[file(None, (5, 9), &[])], &[0], None);
        check(&[file(Some(100), (5, 9), &[]), file(Some(98), (8, 20), &[])], &[0, -2], Some(Level::Low));
        let (a, b) = (file(None, (0, 9), &[(3, 2), (4, 6)]), file(None, (100, 109), &[(4, 107), (5, 108)]));
        check(&[a, b], &[0, -101], Some(Level::Medium));
        check(&[file(None, (0, 9), &[]), file(None, (100, 109), &[])], &[0, -100], Some(Level::Medium));
    }
}
