//! Segments for people: where they are, what they lose, and why.

use super::diagnosis;
use crate::session::Session;
use crate::terminal::axis::{self, Interval};
use crate::terminal::grid::{Grid, GridColumn};
use crate::terminal::names::{call_path, region};
use crate::terminal::page::{Page, capitalised, command_line};
use crate::terminal::style::Paint;
use crate::terminal::{spark, units};
use ouzel::Asked;
use ouzel::analyses::semantics::Category;
use ouzel::diagnose::EpochCard;
use ouzel::diagnose::findings::Iterations;
use ouzel::diagnose::segments::{SegmentCard, SegmentIteration, SegmentPath, SegmentsCard};
use std::collections::BTreeSet;

/// Iterations that the page of one segment shows: those that lose most.
const MAX_ITERATIONS: usize = 20;
/// Call paths that the page of all segments shows for each.
const MAX_PATHS: usize = 3;
/// Where the text of a segment begins.
const INDENT: usize = 5;

/// The page of all segments; shows the `top` segments that lose most (0: all).
pub fn all(session: &Session<'_>, data: &SegmentsCard, top: usize) -> Vec<String> {
    let mut page = Page::new(session.style(), session.common.width);
    let asked = session.asked();
    head(&mut page, &asked, data);
    if data.segments.is_empty() {
        page.gap();
        page.text(2, &data.why_none(), Paint::Plain);
        return page.lines;
    }
    let shown = largest(&data.segments, top);
    draw(&mut page, data, &shown);
    page.gap();
    page.grid(0, &segments_grid(data, &shown));
    if shown.len() < data.segments.len() {
        let n = units::counted((data.segments.len() - shown.len()) as u64, "segment", "segments");
        page.text(0, &format!("… {n} with smaller losses: --top 0 shows all"), Paint::Dim);
    }
    let footnote = match data.n_peers {
        1 => "Times are summed over all iterations; percentages are of the run. imb(S) + Σwait is lost.",
        _ => {
            "Times are means over ranks, summed over all iterations; percentages are of the run. imb(S) + Σwait is \
             lost; Σimb is what makes the others wait, and is not added."
        }
    };
    page.text(0, footnote, Paint::Dim);
    epochs(&mut page, &data.epochs);
    page.heading("What is in them");
    for segment in shown {
        page.gap();
        explain(&mut page, data, segment);
    }
    page.gap();
    let words = ["segments", "--id", "N"].map(str::to_owned);
    let line = format!("All call paths and iterations of segment N: {}", command_line(&asked, &words));
    page.lines.push(page.style.paint(Paint::Dim, &line));
    page.lines
}

/// The epochs, if there are any.
pub fn epochs(page: &mut Page, epochs: &[EpochCard]) {
    if epochs.is_empty() {
        return;
    }
    page.heading("Epochs, in which the same ranks have most to do");
    for epoch in epochs {
        let times = format!("{} … {}", units::time(epoch.start_ns), units::time(epoch.end_ns));
        let head = format!("{:>3}  {times:<24}  ", epoch.id);
        let iterations = epoch.iterations.as_ref().map(|of| format!("; {}", of.in_words(MAX_PATHS)));
        page.hanging(&head, 31, &(epoch.in_words() + &iterations.unwrap_or_default()), Paint::Plain);
    }
}

/// The page of one segment.
pub fn one(session: &Session<'_>, data: &SegmentsCard, segment: &SegmentCard) -> Vec<String> {
    let mut page = Page::new(session.style(), session.common.width);
    head(&mut page, &session.asked(), data);
    draw(&mut page, data, &[segment]);
    page.gap();
    page.grid(0, &segments_grid(data, &[segment]));
    page.gap();
    let (_, sentence) = segment.words();
    page.text(0, &capitalised(&title(segment)), Paint::Heading);
    page.text(2, sentence, Paint::Plain);
    page.heading("Call paths");
    if segment.paths.is_empty() {
        page.text(2, "No call path varies or waits significantly.", Paint::Plain);
    } else {
        page.grid(2, &paths_grid(&page, data, &segment.paths));
    }
    iterations(&mut page, &segment.iterations);
    page.lines
}

fn head(page: &mut Page, asked: &Asked, data: &SegmentsCard) {
    page.title(asked);
    let gain = data.run_time_ns.saturating_sub(data.projected_run_time_ns);
    let mut parts = vec![data.compared(), format!("run of {}", units::time(data.run_time_ns))];
    if 0 < gain {
        let share = percent(gain, data.run_time_ns);
        let band = units::band(data.projected_band_ns);
        let time = units::time(data.projected_run_time_ns);
        parts.push(format!("{time}{band} without these losses (−{share})"));
    }
    page.text(0, &parts.join(" · "), Paint::Plain);
    if data.alignment.n_synchronisations == 0 && !data.segments.is_empty() {
        page.text(
            0,
            "No call that synchronises all ranks was found, so the whole run is one segment. If your own library does \
             so, name it with --rules; see docs/rules.md.",
            Paint::Doubtful,
        );
    }
    if let Some(reason) = &data.alignment.reason {
        page.text(0, reason, Paint::Doubtful);
    }
    for limit in &data.alignment.limits {
        page.text(0, limit, Paint::Dim);
    }
}

/// The segments that lose most, in order of time.
pub fn largest(segments: &[SegmentCard], top: usize) -> Vec<&SegmentCard> {
    let mut chosen: Vec<&SegmentCard> = segments.iter().collect();
    if top != 0 {
        chosen.sort_by_key(|segment| (std::cmp::Reverse(segment.lost_ns), segment.id));
        chosen.truncate(top);
        chosen.sort_by_key(|segment| segment.id);
    }
    chosen
}

/// The segments on the axis of time.
pub fn draw(page: &mut Page, data: &SegmentsCard, shown: &[&SegmentCard]) {
    let Some((start, end)) = data.run_range_ns else { return };
    let intervals: Vec<Interval> = shown.iter().flat_map(|segment| intervals(segment)).collect();
    page.gap();
    let lines = axis::lines((start, end), &intervals, page.text_width().saturating_sub(4), page.style);
    page.lines.extend(lines.into_iter().map(|line| format!("  {line}")));
}

/// One interval for each stretch of neighbouring iterations.
fn intervals(segment: &SegmentCard) -> Vec<Interval> {
    let interval = |&(start_ns, end_ns): &(u64, u64)| Interval {
        start_ns,
        end_ns,
        label: segment.id.to_string(),
        paint: diagnosis::paint(segment.kind),
    };
    segment.stretches_ns.iter().map(interval).collect()
}

fn segments_grid(data: &SegmentsCard, shown: &[&SegmentCard]) -> Grid {
    let run = data.run_time_ns;
    let texts = |value: &dyn Fn(&SegmentCard) -> String| shown.iter().map(|s| value(s)).collect::<Vec<_>>();
    let lost = |value: &dyn Fn(&SegmentCard) -> u64| texts(&|s| share_of_run(value(s), run));
    let band = |value: fn(&SegmentCard) -> u64| {
        let is_sampled = shown.iter().any(|segment| value(segment) != 0);
        is_sampled.then(|| GridColumn::numbers("", texts(&|s| units::band(value(s)))).painted(Paint::Dim))
    };
    Grid::default()
        .with(GridColumn::numbers("id", texts(&|s| s.id.to_string())).painted(Paint::Heading))
        .with(GridColumn::numbers("from", texts(&|s| units::time(s.start_ns))))
        .with(GridColumn::numbers("to", texts(&|s| units::time(s.end_ns))).optional(1))
        .with(GridColumn::numbers("times", texts(&|s| units::count(s.n_phases))).optional(2))
        .with(GridColumn::numbers("duration", texts(&|s| units::time(s.duration_ns))).optional(3))
        .with(GridColumn::numbers("imb(S)", lost(&|s| s.imb_sync_ns)))
        .with_some(band(|s| s.band.imb_sync_ns))
        .with(GridColumn::numbers("Σimb", lost(&|s| s.sum_imb_ns)))
        .with(GridColumn::numbers("Σwait", lost(&|s| s.sum_wait_ns)))
        .with_some(band(|s| s.band.sum_wait_ns))
}

/// `uneven work before MPI_Allreduce in solve, 3 times`.
pub fn title(segment: &SegmentCard) -> String {
    let (what, _) = segment.words();
    let place = match segment.sync.as_deref() {
        None => "the end of the run".to_owned(),
        Some([.., caller, sync]) => format!("{} in {}", region(sync), region(caller)),
        Some([sync]) => region(sync),
        Some([]) => "a synchronisation".to_owned(),
    };
    let times = match segment.n_phases {
        0 | 1 => String::new(),
        n => format!(", {} times", units::count(n)),
    };
    format!("{what} before {place}{times}")
}

/// `1.234 s  12.3 %`.
fn share_of_run(ns: u64, run_ns: u64) -> String {
    match ns {
        0 => "-".to_owned(),
        _ => format!("{} {:>6}", units::time(ns), percent(ns, run_ns)),
    }
}

fn percent(ns: u64, run_ns: u64) -> String {
    units::percent((run_ns != 0).then(|| ns as f64 / run_ns as f64))
}

/// The diagnosis in a sentence, then the call paths that make it.
fn explain(page: &mut Page, data: &SegmentsCard, segment: &SegmentCard) {
    let (_, sentence) = segment.words();
    page.hanging(&format!("{:>3}  ", segment.id), 5, &capitalised(&title(segment)), Paint::Heading);
    page.text(5, sentence, Paint::Plain);
    let n = segment.paths.len().min(MAX_PATHS);
    page.grid(5, &paths_grid(page, data, &segment.paths[..n]));
    if n < segment.paths.len() {
        let more =
            units::counted((segment.paths.len() - n) as u64, "smaller call path", "smaller call paths");
        page.text(5, &format!("… {more}: --id {}", segment.id), Paint::Dim);
    }
}

fn paths_grid(page: &Page, data: &SegmentsCard, paths: &[SegmentPath]) -> Grid {
    let run = data.run_time_ns;
    let texts = |value: &dyn Fn(&SegmentPath) -> String| paths.iter().map(value).collect::<Vec<_>>();
    // Width of the other columns on a wide page; a narrow one drops some of them.
    let room = page.width.saturating_sub(INDENT + 51).max(34);
    let path = |p: &SegmentPath| {
        let own = if p.is_self { " (own code)" } else { "" };
        format!("{}{own}", call_path(&p.call_path, room.saturating_sub(own.len())))
    };
    let most = |p: &SegmentPath| p.most_rank.map_or_else(|| "-".to_owned(), |rank| format!("rank {rank}"));
    let sources = texts(&|p| p.source.clone().unwrap_or_default());
    let has_source = sources.iter().any(|source| !source.is_empty());
    let source = has_source.then(|| GridColumn::text("source", sources).optional(3));
    let is_sampled = paths.iter().any(|path| path.band_ns != 0);
    let band = is_sampled
        .then(|| GridColumn::numbers("", texts(&|p| units::band(p.band_ns))).painted(Paint::Dim).optional(1));
    Grid::default()
        .with(GridColumn::text("call path", texts(&path)).painted(Paint::Name))
        .with(GridColumn::text("", texts(&|p| category(p.category).to_owned())))
        .with(GridColumn::numbers("imb", texts(&|p| share_of_run(p.imb_ns, run))))
        .with(GridColumn::numbers("wait", texts(&|p| share_of_run(p.wait_ns, run))))
        .with_some(band)
        .with(GridColumn::text("most on", texts(&most)).optional(2))
        .with_some(source)
}

/// The category in a short word.
fn category(category: Category) -> &'static str {
    match category {
        Category::Computation => "work",
        Category::Wait => "wait",
        Category::Synchronization => "sync",
    }
}

/// What each iteration loses, as bars and as a table of those that lose most.
fn iterations(page: &mut Page, iterations: &[SegmentIteration]) {
    if iterations.len() < 2 {
        return;
    }
    page.heading(&format!("The {} times that it comes", units::count(iterations.len() as u64)));
    let width = page.text_width().saturating_sub(14);
    for (name, value) in [
        (
            "duration",
            (|i: &SegmentIteration| i.end_ns.saturating_sub(i.start_ns)) as fn(&SegmentIteration) -> u64,
        ),
        ("imb(S)", |i| i.imb_sync_ns),
        ("Σimb", |i| i.sum_imb_ns),
        ("Σwait", |i| i.sum_wait_ns),
    ] {
        let values: Vec<u64> = iterations.iter().map(value).collect();
        let largest = values.iter().copied().max().unwrap_or(0);
        if largest != 0 {
            let bars = page.style.paint(Paint::Bar, &spark::bars(&values, width.saturating_sub(20)));
            let up_to = page.style.paint(Paint::Dim, &format!("up to {}", units::time(largest)));
            page.lines.push(format!("  {name:<8}  {bars}  {up_to}"));
        }
    }
    let mut worst: Vec<&SegmentIteration> = iterations.iter().collect();
    worst.sort_by_key(|i| (std::cmp::Reverse(i.imb_sync_ns + i.sum_wait_ns), i.iteration.clone()));
    worst.truncate(MAX_ITERATIONS);
    worst.sort_by(|a, b| a.iteration.cmp(&b.iteration));
    let texts =
        |value: &dyn Fn(&SegmentIteration) -> String| worst.iter().map(|i| value(i)).collect::<Vec<_>>();
    // Where several are in one iteration, that of the loops within tells them apart.
    let own: BTreeSet<Option<String>> =
        iterations.iter().map(|i| i.iterations.as_ref().map(Iterations::numbers)).collect();
    let has_one_each = own.len() == iterations.len();
    let number = |i: &SegmentIteration| match &i.iterations {
        None => "-".to_owned(),
        Some(outermost) if has_one_each => outermost.numbers(),
        Some(outermost) => {
            let inner = i.iteration.iter().skip(1).map(ToString::to_string);
            [outermost.numbers()].into_iter().chain(inner).collect::<Vec<_>>().join(".")
        }
    };
    page.gap();
    page.grid(
        2,
        &Grid::default()
            .with(GridColumn::numbers("iteration", texts(&number)))
            .with(GridColumn::numbers("from", texts(&|i| units::time(i.start_ns))))
            .with(GridColumn::numbers("duration", texts(&|i| units::time(i.end_ns - i.start_ns))))
            .with(GridColumn::numbers("imb(S)", texts(&|i| units::time(i.imb_sync_ns))))
            .with(GridColumn::numbers("Σimb", texts(&|i| units::time(i.sum_imb_ns))))
            .with(GridColumn::numbers("Σwait", texts(&|i| units::time(i.sum_wait_ns)))),
    );
    if worst.len() < iterations.len() {
        let rest = units::counted((iterations.len() - worst.len()) as u64, "time", "times");
        page.text(2, &format!("… {rest} with smaller losses: --format json has all"), Paint::Dim);
    }
}
