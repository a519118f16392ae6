//! Ranges of time as users write them: `10s..20s`, `500ms..`, `..1.5`.

/// Nanoseconds `[start, end)` of `text`. A number without a unit is seconds; an open end is the end of time.
pub fn parse(text: &str) -> Result<(u64, u64), String> {
    let (start, end) =
        text.split_once("..").ok_or_else(|| format!("{text:?} is not a range (expected e.g. 10s..20s)"))?;
    let start_ns = if start.is_empty() { 0 } else { instant_ns(start)? };
    let end_ns = if end.is_empty() { u64::MAX } else { instant_ns(end)? };
    if end_ns <= start_ns {
        return Err(format!("time range {text:?} ends before it begins"));
    }
    Ok((start_ns, end_ns))
}

/// Nanoseconds of a time that is not zero.
pub fn parse_duration(text: &str) -> Result<u64, String> {
    match instant_ns(text)? {
        0 => Err(format!("{text:?} is no time at all")),
        ns => Ok(ns),
    }
}

/// Units with the power of ten of nanoseconds in them; `s` comes last because the others end with it.
const UNITS: [(&str, u32); 5] = [("ns", 0), ("us", 3), ("µs", 3), ("ms", 6), ("s", 9)];

/// Nanoseconds of a decimal number with a unit, exact; digits below one nanosecond are refused.
fn instant_ns(text: &str) -> Result<u64, String> {
    let bad = || format!("{text:?} is not a time (expected e.g. 10s, 1.5ms, 300us or 70ns)");
    let text = text.trim();
    let (number, power) = UNITS
        .iter()
        .find_map(|&(unit, power)| text.strip_suffix(unit).map(|number| (number.trim_end(), power)))
        .unwrap_or((text, 9));
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let fraction = fraction.trim_end_matches('0');
    let n_digits = u32::try_from(fraction.len()).map_err(|_| bad())?;
    let all_digits = whole.bytes().chain(fraction.bytes()).all(|b| b.is_ascii_digit());
    if !all_digits || number.bytes().all(|b| b == b'.') || power < n_digits {
        return Err(bad());
    }
    let part = |digits: &str| if digits.is_empty() { Some(0) } else { digits.parse::<u64>().ok() };
    let whole_ns = part(whole).and_then(|n| n.checked_mul(10_u64.pow(power)));
    let fraction_ns = part(fraction).map(|n| n * 10_u64.pow(power - n_digits));
    whole_ns.zip(fraction_ns).and_then(|(a, b)| a.checked_add(b)).ok_or_else(bad)
}

#[cfg(test)]
mod tests {
    use super::{parse, parse_duration};

    #[test]
    fn ranges_are_read_exactly() {
        for (text, expected) in [
            ("10s..20s", (10_000_000_000, 20_000_000_000)),
            ("10..20", (10_000_000_000, 20_000_000_000)),
            ("..1.5ms", (0, 1_500_000)),
            ("70ns..", (70, u64::MAX)),
            (".5..1", (500_000_000, 1_000_000_000)),
            ("300us..301 us", (300_000, 301_000)),
            ("0.000000001..1", (1, 1_000_000_000)),
        ] {
            assert_eq!(parse(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn durations_are_read_exactly() {
        assert_eq!(parse_duration("1.5ms"), Ok(1_500_000));
        assert_eq!(parse_duration("2"), Ok(2_000_000_000));
        assert!(parse_duration("0s").unwrap_err().contains("no time"));
        assert!(parse_duration("fast").unwrap_err().contains("not a time"));
    }

    #[test]
    fn bad_ranges_say_what_is_wrong() {
        for (text, needle) in [
            ("5", "not a range"),
            ("a..b", "\"a\" is not a time"),
            ("2..1", "ends before"),
            ("1..1", "ends before"),
            ("1.5ns..3", "not a time"),
            ("-1..3", "not a time"),
            ("...", "not a time"),
            ("99999999999999999999..", "not a time"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains(needle), "{text}: {error}");
        }
    }
}
