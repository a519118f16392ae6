//! How long threads did not run, by what their counter of processor time says between two samples.
//!
//! ```text
//! time             0 ms ─────────────────────────── 10 ms
//! processor time   3 ms                              7 ms      4 of 10 ms ran, 6 ms did not
//! calls            solve ──────┬──── [not running] ──┬─ solve
//! ```
//! Samples are taken of processor time, so a thread that is blocked, or whose processor others use, has none, and the time
//! would be that of the function that it is in. Where in the interval the thread did not run is not known; it is put at
//! its end.
//!
//! Law: what is put between two readings is exactly the time between them less the processor time, unless it is less than
//! a tenth of it or 200 µs. Nothing is put where a recorded call begins or ends in between: its time is known, and
//! whether it waits, too.

use ouzel_model::{
    Definitions, EventKind, MetricId, MetricMode, MetricValue, NOT_RUNNING, PROCESSOR_TIME, Paradigm, Region,
    RegionId, RegionRole, SLEEPING, Ticks,
};

/// Part of an interval, and time in nanoseconds, below which a thread is said to have run.
const LEAST: (u64, u64) = (10, 200_000);

/// The counter of processor time, and the region for when a thread does not run.
#[derive(Debug, Clone)]
pub(crate) struct ProcessorTime {
    metric: MetricId,
    region: RegionId,
    ticks_per_second: u64,
    /// For each region whether samples show what runs in it: calls whose time is known, but for this, are the program's.
    is_of_program: Vec<bool>,
}

impl ProcessorTime {
    /// That of these definitions; `None` if none was recorded.
    pub fn new(definitions: &Definitions) -> Option<Self> {
        let is_clock = |metric: &ouzel_model::Metric| {
            &*metric.name == PROCESSOR_TIME && &*metric.unit == "ns" && metric.mode == MetricMode::Accumulated
        };
        let metric = definitions.metrics.iter().position(is_clock)?;
        let region = definitions.regions.iter().position(|region| &*region.name == NOT_RUNNING)?;
        Some(ProcessorTime {
            metric: MetricId::from_index(metric),
            region: RegionId::from_index(region),
            ticks_per_second: definitions.clock.ticks_per_second,
            is_of_program: definitions.regions.iter().map(is_of_program).collect(),
        })
    }

    /// The region for when a thread does not run.
    pub fn region(&self) -> RegionId {
        self.region
    }

    /// One of metric 0, where a tick is a millisecond.
    #[cfg(test)]
    pub fn of_milliseconds(region: RegionId) -> Self {
        ProcessorTime { metric: MetricId(0), region, ticks_per_second: 1000, is_of_program: vec![true; 8] }
    }

    fn ticks(&self, ns: u64) -> u64 {
        let ticks = u128::from(ns) * u128::from(self.ticks_per_second) / 1_000_000_000;
        u64::try_from(ticks).unwrap_or(u64::MAX)
    }
}

/// The region for when a thread does not run, if processor time was recorded.
pub fn not_running_region(definitions: &Definitions) -> Option<RegionId> {
    ProcessorTime::new(definitions).map(|it| it.region)
}

fn is_of_program(region: &Region) -> bool {
    let is_code = matches!(
        region.paradigm,
        Paradigm::User | Paradigm::Compiler | Paradigm::OpenMp | Paradigm::Sampling
    );
    let waits = matches!(
        region.role,
        RegionRole::Barrier
            | RegionRole::ImplicitBarrier
            | RegionRole::TaskWait
            | RegionRole::ThreadWait
            | RegionRole::Critical
            | RegionRole::Ordered
            | RegionRole::FileIo
            | RegionRole::FileIoMetadata
    );
    is_code && !waits && &*region.name != SLEEPING
}

/// What was read last on one location.
#[derive(Debug, Default)]
pub(crate) struct Readings {
    /// When, and the processor time in nanoseconds, if no recorded call began or ended since.
    last: Option<(Ticks, u64)>,
    /// When the innermost recorded call was entered.
    entered: Option<Ticks>,
}

impl Readings {
    /// Takes the values of a row; gives how long the thread did not run before, if that is known and it is notable.
    /// `inside`: the innermost recorded call.
    pub fn take(
        &mut self,
        of: &ProcessorTime,
        time: Ticks,
        values: &[MetricValue],
        inside: Option<RegionId>,
    ) -> Option<Ticks> {
        let ns = values.iter().find(|value| value.metric == of.metric)?.bits;
        let is_of_program = inside.is_none_or(|region| of.is_of_program.get(region.index()) == Some(&true));
        // What is read as a call is entered is of the time before it.
        let is_at_enter = self.entered == Some(time);
        let before = self.last.replace((time, ns)).filter(|_| is_of_program && !is_at_enter);
        let (since, ns_before) = before?;
        let interval = time.since(since).0;
        let stood = interval.saturating_sub(of.ticks(ns.saturating_sub(ns_before)));
        let is_notable = interval <= stood.saturating_mul(LEAST.0) && of.ticks(LEAST.1) <= stood;
        is_notable.then_some(Ticks(stood))
    }

    /// A recorded call begins or ends.
    pub fn recorded(&mut self, time: Ticks, kind: EventKind) {
        match kind {
            EventKind::Enter => (self.last, self.entered) = (None, Some(time)),
            EventKind::Leave => {
                // Counters are read at the end of a call, too.
                self.last = self.last.filter(|(read, _)| *read == time);
                self.entered = None;
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOLVE: RegionId = RegionId(0);
    const SEND: RegionId = RegionId(1);
    const MS: u64 = 1_000_000;

    fn processor_time() -> ProcessorTime {
        ProcessorTime {
            metric: MetricId(2),
            region: RegionId(2),
            ticks_per_second: 1_000_000_000,
            is_of_program: vec![true, false, true],
        }
    }

    fn value(ns: u64) -> [MetricValue; 2] {
        [(0, 7), (2, ns)].map(|(metric, bits)| MetricValue { row: 0, metric: MetricId(metric), bits })
    }

    /// How long the thread did not run between two readings with events between them.
    fn stood(between: &[(u64, EventKind)], ran: u64, inside: Option<RegionId>) -> Option<u64> {
        let (of, mut readings) = (processor_time(), Readings::default());
        assert_eq!(readings.take(&of, Ticks(MS), &value(5), None), None, "the first says nothing");
        between.iter().for_each(|&(ms, kind)| readings.recorded(Ticks(ms * MS), kind));
        readings.take(&of, Ticks(11 * MS), &value(5 + ran), inside).map(|ticks| ticks.0)
    }

    #[test]
    fn a_thread_did_not_run_for_the_time_less_its_processor_time() {
        assert_eq!(stood(&[], 4 * MS, None), Some(6 * MS));
        assert_eq!(stood(&[], 4 * MS, Some(SOLVE)), Some(6 * MS));
        assert_eq!(stood(&[], 0, None), Some(10 * MS));
        assert_eq!(stood(&[], 10 * MS, None), None, "it ran");
        assert_eq!(stood(&[], 11 * MS, None), None, "clocks are not exact");
        assert_eq!(stood(&[], 9 * MS + 1, None), None, "less than a tenth");
    }

    #[test]
    fn recorded_calls_are_known() {
        let (enter, leave) = (EventKind::Enter, EventKind::Leave);
        assert_eq!(stood(&[(2, enter), (3, leave)], 0, None), None);
        assert_eq!(stood(&[(2, enter)], 0, Some(SOLVE)), None);
        assert_eq!(stood(&[], 0, Some(SEND)), None, "inside of a call that may wait");
        // The first reading was at the end of a call.
        assert_eq!(stood(&[(1, leave)], 4 * MS, None), Some(6 * MS));
        // The second one is at the begin of one, with its time.
        assert_eq!(stood(&[(1, leave), (11, enter)], 4 * MS, Some(SOLVE)), None);
    }

    #[test]
    fn other_counters_say_nothing() {
        let (of, mut readings) = (processor_time(), Readings::default());
        readings.take(&of, Ticks(MS), &value(5), None);
        assert_eq!(readings.take(&of, Ticks(5 * MS), &value(5)[..1], None), None);
        assert_eq!(readings.take(&of, Ticks(11 * MS), &value(5 + 4 * MS), None), Some(Ticks(6 * MS)));
    }
}
