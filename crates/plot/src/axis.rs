//! Units and numbers of axes.

/// A quantity on an axis: values are divided by `divisor`, and `unit` is the result's unit.
#[derive(Debug, Clone, PartialEq)]
pub struct Scale {
    /// Number of basic units in one of this unit.
    pub divisor: f64,
    /// The unit's symbol.
    pub unit: &'static str,
}

impl Scale {
    /// Nanoseconds up to `largest_ns` in ns, µs, ms or s.
    pub(crate) fn of_ns(largest_ns: f64) -> Self {
        Scale::chosen(largest_ns, &[(1.0, "ns"), (1e3, "µs"), (1e6, "ms"), (1e9, "s")])
    }

    /// Bytes up to `largest` in B, kB, MB, GB or TB.
    pub(crate) fn of_bytes(largest: f64) -> Self {
        Scale::chosen(largest, &[(1.0, "B"), (1e3, "kB"), (1e6, "MB"), (1e9, "GB"), (1e12, "TB")])
    }

    /// The same by powers of 1024, for sizes that are powers of two.
    pub(crate) fn of_binary_bytes(bytes: f64) -> Self {
        let units = [(0, "B"), (10, "KiB"), (20, "MiB"), (30, "GiB"), (40, "TiB")];
        let fitting = units.iter().rfind(|(power, _)| 2_f64.powi(*power) <= bytes);
        let &(power, unit) = fitting.unwrap_or(&units[0]);
        Scale { divisor: 2_f64.powi(power), unit }
    }

    /// The largest unit of which there are two or more; the first if there is none.
    fn chosen(largest: f64, units: &[(f64, &'static str)]) -> Self {
        let of = |&(divisor, unit): &(f64, &'static str)| Scale { divisor, unit };
        let fitting = units.iter().rfind(|(divisor, _)| 2.0 * divisor <= largest);
        fitting.or(units.first()).map_or(Scale { divisor: 1.0, unit: "" }, of)
    }
}

/// A number on an axis: up to four digits, without trailing zeros.
pub fn number(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let size = value.abs();
    if !(1e-3..1e6).contains(&size) {
        return format!("{value:.1e}");
    }
    let n_decimals = if size < 1.0 { 4 } else { 3 - (size.log10().floor() as usize).min(3) };
    let text = format!("{value:.n_decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// A number on an axis from `first` to `last`: more digits than in [`number`] if the axis shows a small part of its
/// values, so that no two marks look the same.
pub fn mark(value: f64, (first, last): (f64, f64)) -> String {
    let span = last - first;
    let size = first.abs().max(last.abs());
    if size <= 100.0 * span || !(1e-9..1e6).contains(&span) || 1e9 <= size {
        return number(value);
    }
    // A tenth of the axis is a whole number of the last digit.
    let n_decimals = (1.0 - span.log10().floor()).max(0.0) as usize;
    let text = format!("{value:.n_decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_fit_the_largest_value() {
        let ns = [0.0, 1999.0, 2000.0, 1.9e9, 2e9].map(|value| Scale::of_ns(value).unit);
        assert_eq!(ns, ["ns", "ns", "µs", "ms", "s"]);
        assert_eq!([512.0, 1024.0, 1_048_576.0].map(|b| Scale::of_binary_bytes(b).unit), ["B", "KiB", "MiB"]);
        assert_eq!(Scale::of_bytes(3e7), Scale { divisor: 1e6, unit: "MB" });
    }

    #[test]
    fn numbers_are_short() {
        let numbers = [0.0, 0.25, 1.5, 12.0, 1234.5, 0.1 + 0.2, 2.5e7, -3.0].map(number);
        assert_eq!(numbers, ["0", "0.25", "1.5", "12", "1234", "0.3", "2.5e7", "-3"]);
    }

    #[test]
    fn marks_of_a_narrow_axis_differ() {
        let marks = [1199.6, 1199.8, 1200.0, 1200.2].map(|value| mark(value, (1199.5, 1200.5)));
        assert_eq!(marks, ["1199.6", "1199.8", "1200", "1200.2"]);
        assert_eq!(mark(100_000.25, (100_000.0, 100_000.5)), "100000.25");
        assert_eq!(mark(1234.5, (0.0, 2000.0)), number(1234.5));
        assert_eq!(mark(0.0, (0.0, 0.0)), "0");
    }
}
