//! Names of metrics without what tools put around them.

/// A name in lower case, `-` for `_`, without the prefix of a tool, a unit in parentheses, or modifiers of privilege:
/// `PAPI_TOT_INS` is `papi-tot-ins`, `perf::CYCLES:u` is `cycles`, `CPUTIME (usec)` is `cputime`.
pub(crate) fn plain(name: &str) -> String {
    let name = name.split(" (").next().unwrap_or(name).trim();
    let name = name.to_lowercase().replace('_', "-");
    let name = ["perf::", "perf-event::", "linux::"]
        .iter()
        .find_map(|prefix| name.strip_prefix(prefix))
        .unwrap_or(&name);
    let name =
        [":u", ":k", ":uk", ":precise", ":sum"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name);
    name.to_owned()
}

/// Seconds in one of a unit of time; `None` for other units.
pub fn seconds(unit: &str) -> Option<f64> {
    match unit.trim().to_lowercase().as_str() {
        "s" | "sec" | "seconds" => Some(1.0),
        "ms" | "msec" | "milliseconds" => Some(1e-3),
        "us" | "µs" | "usec" | "microseconds" => Some(1e-6),
        "ns" | "nsec" | "nanoseconds" => Some(1e-9),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lose_what_tools_put_around_them() {
        for (name, expected) in [
            ("PAPI_TOT_INS", "papi-tot-ins"),
            ("perf::CYCLES:u", "cycles"),
            ("CPUTIME (usec)", "cputime"),
            ("L1-dcache-load-misses", "l1-dcache-load-misses"),
        ] {
            assert_eq!(plain(name), expected);
        }
    }
}
