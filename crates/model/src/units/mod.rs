//! Quantities for people: three to four significant digits and a unit that fits.

pub mod ranks;

/// `n` with a comma between groups of three digits.
pub fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if 0 < i && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Nanoseconds as ns, µs, ms or s, with four significant digits; seconds are never shortened.
pub fn time(ns: u64) -> String {
    match ns {
        0 => "0 s".to_owned(),
        1..1_000 => format!("{ns} ns"),
        _ => scaled(ns, 1_000, &["µs", "ms", "s"], 1_000),
    }
}

/// ` ± 1.2 ms`, how far a time may be off; nothing if it is exact.
pub fn band(ns: u64) -> String {
    if ns == 0 { String::new() } else { format!(" ± {}", time(ns)) }
}

/// Bytes as B, kB, MB, GB, … (powers of 1000), with four significant digits.
pub fn bytes(n: u64) -> String {
    if n < 1_000 { format!("{n} B") } else { scaled(n, 1_000, &["kB", "MB", "GB", "TB", "PB"], 1_000) }
}

/// `value` in the first unit in which four digits before the point are not reached; `unit` is the size of the first.
fn scaled(value: u64, unit: u64, names: &[&str], step: u64) -> String {
    let mut unit = unit;
    for (i, name) in names.iter().enumerate() {
        let is_last = i + 1 == names.len();
        if let Some(text) = four_digits(value, unit, is_last) {
            return format!("{text} {name}");
        }
        unit *= step;
    }
    unreachable!("the last unit takes any value")
}

/// `value / unit` with four significant digits, rounded half up in integers; `None` if it rounds to 1000 or more
/// and a larger unit is left.
fn four_digits(value: u64, unit: u64, is_last: bool) -> Option<String> {
    for (n_decimals, limit) in [(3_u32, 10_u128), (2, 100), (1, 1_000)] {
        let power = 10_u128.pow(n_decimals);
        let rounded = (u128::from(value) * power + u128::from(unit) / 2) / u128::from(unit);
        if rounded < limit * power {
            let (whole, part) = (rounded / power, rounded % power);
            return Some(format!("{whole}.{part:0width$}", width = n_decimals as usize));
        }
    }
    is_last.then(|| {
        let tenths = (u128::from(value) * 10 + u128::from(unit) / 2) / u128::from(unit);
        let whole =
            u64::try_from(tenths / 10).expect("a tenth of 640 bits' worth of units is less than the value");
        format!("{}.{}", count(whole), tenths % 10)
    })
}

/// A ratio in percent with one decimal; `-` where there is none.
pub fn percent(ratio: Option<f64>) -> String {
    ratio.filter(|r| r.is_finite()).map_or_else(|| "-".to_owned(), |r| format!("{:.1} %", r * 100.0))
}

/// A number of four significant digits, for quantities whose unit is not ours.
pub fn number(value: Option<f64>) -> String {
    let Some(value) = value.filter(|v| v.is_finite()) else { return "-".to_owned() };
    let size = value.abs();
    if size != 0.0 && !(1e-3..1e7).contains(&size) {
        return format!("{value:.3e}");
    }
    let n_decimals = if size < 10.0 {
        3
    } else if size < 100.0 {
        2
    } else {
        usize::from(size < 1_000.0)
    };
    format!("{value:.n_decimals$}")
}

/// `part` of `whole` as a bar of up to `width` characters, in eighths of a character.
pub fn bar(part: u64, whole: u64, width: usize) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    if whole == 0 {
        return String::new();
    }
    let eighths =
        (u128::from(part.min(whole)) * 8 * width as u128 + u128::from(whole) / 2) / u128::from(whole);
    let eighths = usize::try_from(eighths).unwrap_or(0);
    format!("{}{}", "█".repeat(eighths / 8), EIGHTHS[eighths % 8])
}

/// `n` with its noun in the right number: `1 rank`, `2,000 ranks`.
pub fn counted(n: u64, singular: &str, plural: &str) -> String {
    format!("{} {}", count(n), if n == 1 { singular } else { plural })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_keep_four_digits_and_round_into_the_next_unit() {
        for (ns, text) in [
            (0, "0 s"),
            (7, "7 ns"),
            (999, "999 ns"),
            (1_000, "1.000 µs"),
            (9_999_499, "9.999 ms"),
            (9_999_500, "10.00 ms"),
            (123_456_789, "123.5 ms"),
            (999_949_999, "999.9 ms"),
            (999_950_000, "1.000 s"),
            (178_200_000_000, "178.2 s"),
            (1_234_567_890_000, "1,234.6 s"),
            (u64::MAX, "18,446,744,073.7 s"),
        ] {
            assert_eq!(time(ns), text, "{ns}");
        }
    }

    #[test]
    fn counts_bytes_and_ratios_are_readable() {
        assert_eq!(
            [count(0), count(999), count(1_000), count(84_112_003)],
            ["0", "999", "1,000", "84,112,003"]
        );
        assert_eq!([bytes(12), bytes(1_000), bytes(660_123_456)], ["12 B", "1.000 kB", "660.1 MB"]);
        assert_eq!([percent(Some(0.1234)), percent(None)], ["12.3 %", "-"]);
        assert_eq!(
            [number(Some(0.0)), number(Some(1234.5)), number(Some(2.5e9))],
            ["0.000", "1234", "2.500e9"]
        );
    }

    #[test]
    fn bars_never_overflow() {
        assert_eq!(bar(1, 2, 4), "██");
        assert_eq!(bar(9, 2, 4), "████");
        assert_eq!(bar(1, 16, 4), "▎");
        assert_eq!(bar(0, 0, 4), "");
    }
}
