//! What a recorded run says of its own distortion: regions that are visited so often that recording them costs too much.
//!
//! ```text
//! left out  ⇔  visits · c > 0.1 % of the run's time   and   visits · c > 10 % of the region's inclusive time
//! ```
//! where `c` is what recording one visit takes, enter and leave ([`FrequentRegions::visit_ns`]), and times are summed over all locations. The first condition keeps what costs nothing
//! worth naming however short it is; the second keeps what is long enough to carry the cost.

use std::collections::BTreeSet;

/// Parts of the run's time that are not worth naming.
const RUN_PART: u64 = 1000;
/// Parts of a region's time that do not distort it.
const REGION_PART: u64 = 10;

/// A region of a recorded run.
#[derive(Debug, Clone, Copy)]
pub struct RecordedRegion<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its source, if known.
    pub file: Option<&'a str>,
    /// How often it was entered.
    pub visits: u64,
    /// From enter to leave, summed over visits; of recursive calls only the outermost.
    pub inclusive_ns: u64,
}

/// Regions that are left out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FrequentRegions {
    names: BTreeSet<(String, Option<String>)>,
    /// Nanoseconds of one visit.
    visit_ns: u64,
}

impl FrequentRegions {
    /// Those of a run whose locations were recorded for `run_ns` in total, if one visit takes `visit_ns`.
    pub fn of<'a>(regions: impl IntoIterator<Item = RecordedRegion<'a>>, run_ns: u64, visit_ns: u64) -> Self {
        let is_frequent = |region: &RecordedRegion<'_>| {
            let cost_ns = u128::from(region.visits) * u128::from(visit_ns);
            let exceeds = |part: u64, of_ns: u64| u128::from(of_ns) < cost_ns * u128::from(part);
            exceeds(RUN_PART, run_ns) && exceeds(REGION_PART, region.inclusive_ns)
        };
        let key = |region: RecordedRegion<'_>| (region.name.to_owned(), region.file.map(base_name));
        FrequentRegions { names: regions.into_iter().filter(is_frequent).map(key).collect(), visit_ns }
    }

    /// Nanoseconds that one visit was taken to cost.
    pub fn visit_ns(&self) -> u64 {
        self.visit_ns
    }

    /// How many they are.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Their names, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(|(name, _)| name.as_str())
    }

    /// Whether a region of this source is one of them. A name without a file is one in any file.
    pub fn contains(&self, name: &str, file: &str) -> bool {
        let has = |file: Option<String>| self.names.contains(&(name.to_owned(), file));
        has(None) || has(Some(base_name(file)))
    }
}

fn base_name(path: &str) -> String {
    path.rsplit('/').next().unwrap_or(path).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_costs_much_of_the_run_and_of_itself_is_left_out() {
        let run_ns = 10_000_000_000;
        let cases = [
            // 1 µs each, a million times: 2 % of the run, 20 % of itself.
            ("short", 1_000_000, 1_000_000_000, true),
            // 10 µs each: 2 % of itself.
            ("long", 1_000_000, 10_000_000_000, false),
            // 20 ns each, but 0.02 % of the run.
            ("rare", 10_000, 200_000, false),
            // Exactly 0.1 % of the run.
            ("border", 50_000, 0, false),
            ("above", 50_001, 0, true),
            // Exactly 10 % of itself.
            ("itself", 1_000_000, 2_000_000_000, false),
        ];
        let regions = cases.map(|(name, visits, inclusive_ns, _)| RecordedRegion {
            name,
            file: Some("/a/x.c"),
            visits,
            inclusive_ns,
        });
        let frequent = FrequentRegions::of(regions, run_ns, 200);
        for (name, .., is_left_out) in cases {
            assert_eq!(frequent.contains(name, "src/x.c"), is_left_out, "{name}");
            assert!(!frequent.contains(name, "y.c"), "{name}");
        }
        assert_eq!(frequent.names().collect::<Vec<_>>(), ["above", "short"]);
    }

    #[test]
    fn a_name_without_a_file_is_one_in_any_file() {
        let region = RecordedRegion { name: "f", file: None, visits: u64::MAX, inclusive_ns: u64::MAX };
        assert!(FrequentRegions::of([region], u64::MAX, 1).contains("f", "any.c"));
    }
}
