//! Intervals on an axis of time: a bar, the numbers of the intervals, a ruler.
//!
//! Law: every interval is at least one character wide, whatever its length; of intervals
//! that share a character the longest is shown.

use super::style::{Paint, Style};
use super::units;

/// An interval to be drawn, `[start, end)` in nanoseconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interval {
    pub start_ns: u64,
    pub end_ns: u64,
    /// The text below it.
    pub label: String,
    pub paint: Paint,
}

const NOTHING: char = '░';
/// Neighbours alternate, so that they can be distinguished without colours.
const FILLS: [char; 2] = ['█', '▓'];

/// Three lines of `width` characters: the intervals, their labels as far as they fit, and the ruler.
pub fn lines(range_ns: (u64, u64), intervals: &[Interval], width: usize, style: Style) -> Vec<String> {
    let owners = owners(range_ns, intervals, width);
    vec![bar(&owners, intervals, style), labels(&owners, intervals), ruler(range_ns, width, style)]
}

/// For each character the interval that it belongs to.
fn owners((start, end): (u64, u64), intervals: &[Interval], width: usize) -> Vec<Option<usize>> {
    let span = u128::from(end.saturating_sub(start)).max(1);
    let place = |ns: u64| {
        let nth = u128::from(ns.saturating_sub(start)) * width as u128 / span;
        usize::try_from(nth).unwrap_or(width).min(width.saturating_sub(1))
    };
    let mut owners = vec![None; width];
    let mut by_length: Vec<usize> = (0..intervals.len()).collect();
    by_length.sort_by_key(|&i| intervals[i].end_ns.saturating_sub(intervals[i].start_ns));
    // Shortest last: a longer one would hide it, but remains visible to its left and right.
    for &i in by_length.iter().rev() {
        let Interval { start_ns, end_ns, .. } = intervals[i];
        let (first, last) = (place(start_ns), place(end_ns.saturating_sub(1).max(start_ns)));
        if let Some(cells) = owners.get_mut(first..=last) {
            cells.fill(Some(i));
        }
    }
    owners
}

fn bar(owners: &[Option<usize>], intervals: &[Interval], style: Style) -> String {
    let mut text = String::new();
    let mut nth = 0;
    for piece in owners.chunk_by(|a, b| a == b) {
        match piece[0] {
            None => text += &style.paint(Paint::Dim, &NOTHING.to_string().repeat(piece.len())),
            Some(i) => {
                let fill = FILLS[nth % FILLS.len()].to_string();
                text += &style.paint(intervals[i].paint, &fill.repeat(piece.len()));
                nth += 1;
            }
        }
    }
    text
}

/// Each label once, in the middle of the longest piece of its interval; labels that would touch are left out.
fn labels(owners: &[Option<usize>], intervals: &[Interval]) -> String {
    let mut best: Vec<Option<(usize, usize)>> = vec![None; intervals.len()];
    let mut place = 0;
    for piece in owners.chunk_by(|a, b| a == b) {
        if let Some(i) = piece[0]
            && best[i].is_none_or(|(_, length)| length < piece.len())
        {
            best[i] = Some((place, piece.len()));
        }
        place += piece.len();
    }
    let mut line = vec![' '; owners.len()];
    let mut longest_first: Vec<(usize, (usize, usize))> =
        best.into_iter().enumerate().filter_map(|(i, piece)| Some((i, piece?))).collect();
    longest_first.sort_by_key(|&(i, (_, length))| (std::cmp::Reverse(length), i));
    for (i, (start, length)) in longest_first {
        let label: Vec<char> = intervals[i].label.chars().collect();
        let first = (start + length / 2).saturating_sub(label.len() / 2);
        let first = first.min(owners.len().saturating_sub(label.len()));
        let with_room = first.saturating_sub(1)..(first + label.len() + 1).min(line.len());
        if line.get(with_room).is_some_and(|cells| cells.iter().all(|&cell| cell == ' ')) {
            line[first..first + label.len()].copy_from_slice(&label);
        }
    }
    line.into_iter().collect::<String>().trim_end().to_owned()
}

/// The first and last time at the ends, and the middle if there is room.
fn ruler((start, end): (u64, u64), width: usize, style: Style) -> String {
    let time = |ns| units::time(ns);
    let (first, middle, last) = (time(start), time(start + (end - start) / 2), time(end));
    let free = width.saturating_sub(first.chars().count() + last.chars().count());
    let text = if free < 2 * middle.chars().count() + 8 {
        format!("{first}{}{last}", " ".repeat(free))
    } else {
        let left = (width / 2).saturating_sub(first.chars().count() + middle.chars().count() / 2);
        let right = free.saturating_sub(left + middle.chars().count());
        format!("{first}{}{middle}{}{last}", " ".repeat(left), " ".repeat(right))
    };
    style.paint(Paint::Dim, &text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(intervals: &[(u64, u64)], width: usize) -> Vec<String> {
        let interval = |(i, &(start_ns, end_ns)): (usize, &(u64, u64))| Interval {
            start_ns,
            end_ns,
            label: (i + 1).to_string(),
            paint: Paint::Bar,
        };
        let intervals: Vec<Interval> = intervals.iter().enumerate().map(interval).collect();
        lines((0, 40_000_000_000), &intervals, width, Style::new(false))
    }

    #[test]
    fn intervals_stand_where_they_were() {
        let second = 1_000_000_000;
        assert_eq!(
            drawn(&[(0, 10 * second), (10 * second, 20 * second), (30 * second, 40 * second)], 40),
            [
                "██████████▓▓▓▓▓▓▓▓▓▓░░░░░░░░░░██████████",
                "     1         2                   3",
                "0 s              20.00 s         40.00 s",
            ]
        );
    }

    #[test]
    fn the_shortest_interval_is_seen() {
        let lines = drawn(&[(0, 40_000_000_000), (20_000_000_000, 20_000_000_001)], 20);
        assert_eq!(lines[0], "██████████▓█████████");
        assert_eq!(drawn(&[(39_999_999_999, 40_000_000_000)], 20)[0], "░░░░░░░░░░░░░░░░░░░█");
        assert_eq!(drawn(&[(50_000_000_000, 60_000_000_000)], 20)[0].chars().count(), 20);
    }

    #[test]
    fn labels_never_touch() {
        let many: Vec<(u64, u64)> = (0..40).map(|i| (i * 1_000_000_000, (i + 1) * 1_000_000_000)).collect();
        let lines = drawn(&many, 20);
        assert!(lines[1].split_whitespace().count() < 40);
        assert!(lines.iter().all(|line| line.chars().count() <= 20), "{lines:#?}");
    }
}
