//! The run without start-up and end.

use ouzel_efficiency::{Metric, RegionOfInterest};
use ouzel_model::{Clock, units};
use serde::Serialize;

/// What lies between the calls that start and end the parallel program, such as `MPI_Init` and `MPI_Finalize`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct InterestCard {
    /// When the first rank left the call that starts the program.
    pub start_ns: u64,
    /// When the last rank entered the call that ends it.
    pub end_ns: u64,
    /// Mean computing time inside / (`end_ns` - `start_ns`).
    #[cfg_attr(feature = "schema", schemars(range(min = 0.0, max = 1.0)))]
    pub parallel: f64,
    /// Mean computing time inside / that of the busiest thread or process.
    #[cfg_attr(feature = "schema", schemars(range(min = 0.0, max = 1.0)))]
    pub load_balance: f64,
    /// Computing time of the busiest thread or process inside / (`end_ns` - `start_ns`).
    #[cfg_attr(feature = "schema", schemars(range(min = 0.0, max = 1.0)))]
    pub communication: f64,
    /// `lost_ns` of all segments inside.
    pub lost_ns: u64,
    /// `lost_ns` of the segments that start-up and end take.
    pub lost_outside_ns: u64,
}

impl InterestCard {
    pub(crate) fn new(of: &RegionOfInterest, (lost_ns, lost_outside_ns): (u64, u64), clock: &Clock) -> Self {
        let value = |metric| of.run.get(metric).unwrap_or_default();
        InterestCard {
            start_ns: clock.ns_from_ticks(of.range.start),
            end_ns: clock.ns_from_ticks(of.range.end),
            parallel: value(Metric::Parallel),
            load_balance: value(Metric::LoadBalance),
            communication: value(Metric::Communication),
            lost_ns,
            lost_outside_ns,
        }
    }

    /// The efficiencies in a sentence; `None` if start-up and end take less than 1 % of the run of `run_ns`, so that they
    /// are those of the run.
    pub fn in_words(&self, run_ns: u64) -> Option<String> {
        let time = self.end_ns - self.start_ns;
        if run_ns == 0 || run_ns.saturating_sub(time) < run_ns.div_ceil(100) {
            return None;
        }
        let percent = |value: f64| units::percent(Some(value));
        let lost = match self.lost_ns + self.lost_outside_ns {
            0 => String::new(),
            all => format!(
                "; {} of the {} lost to uneven work and waiting are lost here",
                units::time(self.lost_ns),
                units::time(all)
            ),
        };
        Some(format!(
            "Without start-up and end ({} of {}): parallel efficiency {} = load balance {} × communication {}{lost}.",
            units::time(time),
            units::time(run_ns),
            percent(self.parallel),
            percent(self.load_balance),
            percent(self.communication),
        ))
    }
}
