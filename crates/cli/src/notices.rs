//! Notices for people: what was lost, what is doubtful, what is good to know.

use crate::terminal::page::command_line;
use crate::terminal::style::{Paint, Style, clean, shown};
use crate::terminal::units;
use ouzel::Asked;
use ouzel::model::{Filter, Level, Notice, NoticeCode};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

/// Lines on standard error before the rest is left to `ouzel info`.
const MAX_LINES: usize = 8;

/// Notices of one kind, represented by the first of them.
struct Group<'a> {
    first: &'a Notice,
    n_alike: usize,
}

/// Prints the [`short`] form on standard error.
pub fn print(notices: &[Notice], path: &Path, style: Style) {
    for line in short(notices, path, style) {
        // The answer has been given; a closed standard error does not change that.
        let _ = writeln!(std::io::stderr(), "{}", shown(&line));
    }
}

/// At most eight lines, worst first, one for each kind of notice.
fn short(notices: &[Notice], path: &Path, style: Style) -> Vec<String> {
    let command =
        command_line(&Asked::new(path.display().to_string(), &Filter::default()), &["info".to_owned()]);
    let groups = groups(notices);
    let mut lines: Vec<String> = groups
        .iter()
        .take(MAX_LINES)
        .map(|Group { first, n_alike }| {
            let more = match n_alike {
                0 => String::new(),
                n => format!(" [and {}]", units::counted(*n as u64, "notice like this", "notices like this")),
            };
            line(first, style) + &more
        })
        .collect();
    let hidden: usize = groups.iter().skip(MAX_LINES).map(|group| 1 + group.n_alike).sum();
    let alike: usize = groups.iter().take(MAX_LINES).map(|group| group.n_alike).sum();
    if 0 < hidden {
        lines.push(format!("… {hidden} more: {command}"));
    } else if 0 < alike {
        lines.push(style.paint(Paint::Dim, &format!("all notices: {command}")));
    }
    lines
}

/// One line: what it means, the place, the message, how often.
pub fn line(notice: &Notice, style: Style) -> String {
    let (word, paint) = match notice.level {
        Level::High => ("lost    ", Paint::Bad),
        Level::Medium => ("doubtful", Paint::Doubtful),
        Level::Low => ("note    ", Paint::Dim),
    };
    let times =
        if notice.count == 1 { String::new() } else { format!(" (×{})", units::count(notice.count)) };
    format!("{}  {}{times}", style.paint(paint, word), clean(&notice.to_string()))
}

/// Notices of equal level and code together, in the order of the first of each.
fn groups(notices: &[Notice]) -> Vec<Group<'_>> {
    let mut places: BTreeMap<(Level, NoticeCode, &str), usize> = BTreeMap::new();
    let mut groups: Vec<Group<'_>> = Vec::new();
    for notice in notices {
        // What a recorder says has one code.
        let message = if notice.code == NoticeCode::Recording { notice.message.as_str() } else { "" };
        let place = *places.entry((notice.level, notice.code, message)).or_insert(groups.len());
        match groups.get_mut(place) {
            Some(group) => group.n_alike += 1,
            None => groups.push(Group { first: notice, n_alike: 0 }),
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notices_of_a_kind_take_one_line() {
        let open = |i: u32| {
            Notice::new(Level::Low, NoticeCode::OpenCalls, format!("location \"{i}\": a call was still open"))
        };
        let mut all =
            vec![Notice::new(Level::High, NoticeCode::DamagedEvents, "input ends").in_file("0.evt").at(31)];
        all.extend((0..3).map(open));
        assert_eq!(
            short(&all, Path::new("t.otf2"), Style::new(false)),
            [
                "lost      0.evt+0x1f: input ends",
                "note      location \"0\": a call was still open [and 2 notices like this]",
                "all notices: ouzel info t.otf2",
            ]
        );
    }

    #[test]
    fn no_more_than_eight_kinds_are_told() {
        let all: Vec<Notice> =
            NoticeCode::ALL.iter().map(|&code| Notice::new(Level::Low, code, "x").times(2)).collect();
        let lines = short(&all, Path::new("t"), Style::new(false));
        assert_eq!(lines.len(), 9);
        assert_eq!(lines[0], "note      x (×2)");
        assert_eq!(lines[8], format!("… {} more: ouzel info t", NoticeCode::ALL.len() - 8));
    }
}
