//! Values of recorded metrics, by the unit that the trace names: sizes and times as everywhere else in the output.
//!
//! Not covered: units with prefixes, such as `KiB`. Their values stay numbers with their unit.

use super::units;

/// Nanoseconds of a unit of time, as traces name them.
fn ns_of(unit: &str) -> Option<f64> {
    Some(match unit {
        "s" | "sec" | "seconds" => 1e9,
        "ms" => 1e6,
        "us" | "µs" => 1e3,
        "ns" => 1.0,
        _ => return None,
    })
}

/// A value with its unit in words.
pub fn value(value: f64, unit: &str) -> String {
    // Beyond, an amount has no exact whole number, and below zero no command writes one.
    let is_amount = (0.0..1e18).contains(&value);
    match (unit, ns_of(unit)) {
        (_, Some(ns)) if is_amount && value * ns < 1e18 => units::time((value * ns).round() as u64),
        ("bytes" | "byte" | "Bytes" | "B", _) if is_amount => units::bytes(value.round() as u64),
        ("" | "#" | "occ" | "count", _) if is_amount && value.fract() == 0.0 => units::count(value as u64),
        ("" | "#" | "occ" | "count", _) => units::number(Some(value)),
        _ => format!("{} {unit}", units::number(Some(value))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_written_by_their_unit() {
        for (of, unit, expected) in [
            (1_234_567_890.0, "bytes", units::bytes(1_234_567_890)),
            (2048.0, "B", units::bytes(2048)),
            (0.25, "sec", units::time(250_000_000)),
            (3.0, "us", units::time(3000)),
            (156_147_353.0, "#", "156,147,353".to_owned()),
            (0.5, "", "0.500".to_owned()),
            (-2048.0, "bytes", "-2048 bytes".to_owned()),
            (81.5, "W", "81.50 W".to_owned()),
            (f64::NAN, "W", "- W".to_owned()),
            (1e300, "sec", "1.000e300 sec".to_owned()),
        ] {
            assert_eq!(value(of, unit), expected, "{of} {unit}");
        }
    }
}
