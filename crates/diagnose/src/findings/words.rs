//! Numbers in sentences.

use ouzel_analyses::peers::PeerKind;

/// `12.3 ms`: three digits, in the unit that suits.
#[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
pub(super) fn time(ns: u64) -> String {
    let value = ns as f64;
    let (value, unit) = match ns {
        0..1_000 => return format!("{ns} ns"),
        1_000..1_000_000 => (value / 1e3, "µs"),
        1_000_000..1_000_000_000 => (value / 1e6, "ms"),
        _ => (value / 1e9, "s"),
    };
    let digits = if value < 10.0 { 2 } else { usize::from(value < 100.0) };
    format!("{value:.digits$} {unit}")
}

/// `12.3 %`, `45 %`.
pub(super) fn percent(ratio: f64) -> String {
    let percent = ratio * 100.0;
    if percent < 10.0 { format!("{percent:.1} %") } else { format!("{percent:.0} %") }
}

/// The same text, beginning with a capital.
pub(super) fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

/// `s` unless there is one only.
pub(super) fn plural(n: u64) -> &'static str {
    if n == 1 { "" } else { "s" }
}

/// What peers are called.
pub(super) fn peer(kind: PeerKind) -> &'static str {
    match kind {
        PeerKind::MainThread => "rank",
        PeerKind::HelperThread => "thread",
        PeerKind::AcceleratorStream => "stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits_are_shown() {
        let times = [0, 999, 1_500, 12_345_678, 123_456_789, 9_990_000_000].map(time);
        assert_eq!(times, ["0 ns", "999 ns", "1.50 µs", "12.3 ms", "123 ms", "9.99 s"]);
        assert_eq!([percent(0.0123), percent(0.456)], ["1.2 %", "46 %"]);
        assert_eq!(capitalised("rank 3"), "Rank 3");
    }
}
