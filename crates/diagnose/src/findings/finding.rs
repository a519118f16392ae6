//! What a finding is: a loss with its cause, its evidence and the gain for the run.
//!
//! Law: a finding has evidence, its gain follows from the numbers of its evidence by the formulas given with them, and
//! its confidence states its basis. Gains of different findings are parts of the run that do not overlap, unless the
//! sentence says otherwise.

use super::ranks::{Ranks, ranges_of};
use super::variation::VariesLike;
use ouzel_efficiency::parts::OwnIterations;
use ouzel_model::units;
use serde::Serialize;
use std::sync::Arc;

/// One thing that costs the run time, or the statement that nothing does.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Finding {
    /// The pattern that was found.
    pub kind: FindingKind,
    /// The finding in a few words, with its place.
    pub title: String,
    /// The finding in one or two sentences: who does what to whom, and what it costs.
    pub sentence: String,
    /// Regions from the outermost to the one to look at; `[]` is code outside recorded regions.
    pub call_path: Vec<Arc<str>>,
    /// The other call paths in which the time is spent that the gain is a part of.
    pub more_call_paths: Vec<Vec<Arc<str>>>,
    /// `file:line` of the last region; `null` if not recorded.
    pub source: Option<String>,
    /// The ranks to look at: those that cause the loss.
    pub ranks: Ranks,
    /// The iterations concerned; `null` where nothing repeats.
    pub iterations: Option<Iterations>,
    /// The epochs concerned, by their `id` in `epochs` of the report; `[]` if the run as a whole is.
    pub epochs: Vec<u32>,
    /// Start and end of the part of the run it is about, in nanoseconds since the trace start.
    pub time_range_ns: (u64, u64),
    /// What the run would gain, in nanoseconds, under the assumption, found as `gain_by` says. Not more than what the rank
    /// with most time spends in `call_path` and `more_call_paths`, with what they call; for findings from a replay of
    /// hosts and streams of accelerators, not more than the run.
    pub gain_ns: u64,
    /// `gain_ns / run time`.
    #[cfg_attr(feature = "schema", schemars(range(min = 0.0, max = 1.0)))]
    pub gain_fraction: f64,
    /// How `gain_ns` was found.
    pub gain_by: GainBy,
    /// The gain by the times between synchronisations alone, in nanoseconds.
    pub phases_gain_ns: u64,
    /// Half width of the band around the loss: how far samples can be off; 0 if times are exact. Nothing below its band is a
    /// finding.
    pub band_ns: u64,
    /// Under which assumption.
    pub assumption: String,
    /// How certain it is.
    pub confidence: Confidence,
    /// Why it is not more, or even so, certain.
    pub confidence_reason: String,
    /// The observations it follows from.
    pub evidence: Vec<Evidence>,
    /// What to do.
    pub advice: String,
    /// Arguments of the `ouzel` command that shows more, to which the trace must be added; `[]` if there is none.
    pub command: Vec<String>,
    /// What varies over the topology like the time of the call path; `null` if nothing does, or no topology has at least
    /// eight occupied places.
    pub varies_like: Option<VariesLike>,
}

/// How a gain was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum GainBy {
    /// The run was replayed with the change.
    Replay,
    /// The same, before and after the change on a network on which transfers take no time: the recorded ones hold waiting
    /// for ranks that compute. Not more than the gain by the times between synchronisations.
    ReplayWithoutTransfers,
    /// From the times between synchronisations: nothing else then delays the ranks.
    Phases,
}

/// Iterations of a part of the run that repeats.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Iterations {
    /// Number of all iterations.
    pub n_all: u64,
    /// Those concerned: inclusive ranges, counted from 0.
    pub ranges: Vec<(u64, u64)>,
}

impl From<OwnIterations> for Iterations {
    fn from(of: OwnIterations) -> Self {
        Iterations { n_all: of.n_all, ranges: vec![(of.first, of.last)] }
    }
}

impl Iterations {
    /// How many are concerned.
    pub fn n_named(&self) -> u64 {
        self.ranges.iter().map(|(first, last)| last - first + 1).sum()
    }

    /// `8, 16, 23–25`.
    pub fn numbers(&self) -> String {
        ranges_in_words(&self.ranges, self.ranges.len())
    }

    /// `all 100 iterations`, `iterations 8, 16, 23–25 of 40`; at most `n_shown` ranges. `90 of 100 iterations` if more ranges
    /// hold most iterations, as the first few would say nothing.
    pub fn in_words(&self, n_shown: usize) -> String {
        let Iterations { n_all, ranges } = self;
        let n = self.n_named();
        if n == *n_all {
            return format!("all {}", units::counted(n, "iteration", "iterations"));
        }
        if n_shown < ranges.len() && *n_all < 2 * n {
            return format!("{} of {} iterations", units::count(n), units::count(*n_all));
        }
        let word = if n == 1 { "iteration" } else { "iterations" };
        format!("{word} {} of {}", ranges_in_words(ranges, n_shown), units::count(*n_all))
    }
}

/// `8, 16, 23–25`; at most `n_shown` ranges.
fn ranges_in_words(ranges: &[(u64, u64)], n_shown: usize) -> String {
    let range = |&(first, last): &(u64, u64)| match last - first {
        0 => first.to_string(),
        _ => format!("{first}–{last}"),
    };
    let shown: Vec<String> = ranges.iter().take(n_shown).map(range).collect();
    shown.join(", ") + if n_shown < ranges.len() { ", …" } else { "" }
}

impl Finding {
    /// Which iterations, epochs and times it is about, in words; at most `n_shown` ranges of each.
    pub fn when(&self, n_shown: usize) -> Vec<String> {
        let mut words: Vec<String> = self.iterations.iter().map(|it| it.in_words(n_shown)).collect();
        if !self.epochs.is_empty() {
            let ranges = ranges_of(self.epochs.iter().map(|&id| u64::from(id)));
            let word = if self.epochs.len() == 1 { "epoch" } else { "epochs" };
            words.push(format!("{word} {}", ranges_in_words(&ranges, n_shown)));
        }
        let (start, end) = self.time_range_ns;
        words.push(format!("{} … {}", units::time(start), units::time(end)));
        words
    }
}

/// How certain a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Confidence {
    /// It is possible: a part of the evidence is missing.
    Possible,
    /// The evidence is complete, but rests on an assumption that the trace does not settle.
    Likely,
    /// The numbers show it and nothing known contradicts it.
    Sure,
}

impl Confidence {
    /// The word in lower case.
    pub fn as_str(self) -> &'static str {
        match self {
            Confidence::Possible => "possible",
            Confidence::Likely => "likely",
            Confidence::Sure => "sure",
        }
    }
}

/// One observation.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Evidence {
    /// In words.
    pub text: String,
    /// How the numbers were obtained; empty if they were counted.
    pub formula: String,
    /// The numbers.
    pub values: Vec<Quantity>,
}

/// A number with its unit.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Quantity {
    /// What the number measures.
    pub name: String,
    /// The value.
    pub value: f64,
    /// What it is counted in.
    pub unit: QuantityUnit,
}

/// Units of quantities.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum QuantityUnit {
    /// Nanoseconds.
    #[serde(rename = "ns")]
    Nanoseconds,
    /// Bytes.
    Bytes,
    /// A number of things, or the number of one.
    Count,
    /// A part of a whole, or one value divided by another.
    Ratio,
    /// A world rank.
    Rank,
    /// Nanoseconds that each iteration adds.
    #[serde(rename = "ns/iteration")]
    NanosecondsPerIteration,
    /// A number of things for each cycle of the processor.
    #[serde(rename = "1/cycle")]
    PerCycle,
}

impl Evidence {
    pub(super) fn new(text: impl Into<String>, formula: &str, values: Vec<Quantity>) -> Self {
        Evidence { text: text.into(), formula: formula.to_owned(), values }
    }
}

impl Quantity {
    #[expect(clippy::cast_precision_loss, reason = "shown, not computed with")]
    pub(super) fn ns(name: &str, ns: u64) -> Self {
        Quantity { name: name.to_owned(), value: ns as f64, unit: QuantityUnit::Nanoseconds }
    }

    #[expect(clippy::cast_precision_loss, reason = "shown, not computed with")]
    pub(super) fn count(name: &str, n: u64) -> Self {
        Quantity { name: name.to_owned(), value: n as f64, unit: QuantityUnit::Count }
    }

    /// The value with its unit, as people write it.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "rounded, and not negative")]
    pub fn in_words(&self) -> String {
        let whole = self.value.round().max(0.0) as u64;
        match self.unit {
            QuantityUnit::Nanoseconds => units::time(whole),
            QuantityUnit::Bytes => units::bytes(whole),
            QuantityUnit::Count => units::count(whole),
            QuantityUnit::Rank => format!("rank {whole}"),
            QuantityUnit::Ratio => units::percent(Some(self.value)),
            QuantityUnit::PerCycle => format!("{:.2} per cycle", self.value),
            QuantityUnit::NanosecondsPerIteration => {
                let sign = if self.value < 0.0 { "−" } else { "" };
                format!("{sign}{} per iteration", units::time(self.value.abs().round() as u64))
            }
        }
    }

    pub(super) fn of(name: &str, value: f64, unit: QuantityUnit) -> Self {
        Quantity { name: name.to_owned(), value, unit }
    }
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $variant:ident $text:literal $title:literal,)*) => {
        /// Patterns of inefficiency.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[serde(rename_all = "snake_case")]
        pub enum FindingKind { $($(#[$doc])* $variant,)* }

        impl FindingKind {
            /// Every kind.
            pub const ALL: &[FindingKind] = &[$(Self::$variant,)*];
            /// The kind in snake case, as tables and JSON show it.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }
            /// The kind in plain words.
            pub fn in_words(self) -> &'static str {
                match self { $(Self::$variant => $title,)* }
            }
        }
    };
}

kinds! {
    /// Some ranks work longer than the others, who wait for them.
    LoadImbalance "load_imbalance" "load imbalance",
    /// Load imbalance that grows from iteration to iteration.
    GrowingImbalance "growing_imbalance" "growing load imbalance",
    /// A few ranks take longer, by a similar factor, in whatever they compute.
    SlowRank "slow_rank" "slow rank",
    /// All ranks of a compute node take longer in whatever they compute.
    SlowNode "slow_node" "slow compute node",
    /// One rank works at a time, and the others wait.
    Serialisation "serialisation" "serialised work",
    /// One rank reads or writes for all, and the others wait.
    IoByOneRank "io_by_one_rank" "I/O by one rank",
    /// Receivers wait because messages are sent late.
    LateSender "late_sender" "late senders",
    /// Receivers wait for messages while others that were sent before are there.
    WrongOrder "wrong_order" "messages in the wrong order",
    /// Senders wait because messages are received late.
    LateReceiver "late_receiver" "late receivers",
    /// A synchronisation makes ranks wait for differences that would even out without it.
    ExcessSynchronisation "excess_synchronisation" "more synchronisation than needed",
    /// A collective operation takes long although no rank is late.
    CollectiveCost "collective_cost" "cost of a collective operation",
    /// Many messages of few bytes.
    SmallMessages "small_messages" "many small messages",
    /// Many reads or writes of few bytes.
    SmallIo "small_io" "many small reads or writes",
    /// Time spent in the messages themselves.
    CommunicationCost "communication_cost" "cost of communication",
    /// Some ranks communicate longer than the others, who wait for them.
    CommunicationImbalance "communication_imbalance" "communication imbalance",
    /// Threads wait for locks held by others.
    LockContention "lock_contention" "threads wait for locks",
    /// Threads of a process wait for each other.
    WaitingForThreads "waiting_for_threads" "threads wait for each other",
    /// The host waits for an accelerator.
    WaitingForDevice "waiting_for_device" "waiting for the accelerator",
    /// Accelerators have nothing to do while the host prepares their next step.
    IdleDevice "idle_device" "idle accelerator",
    /// Accelerators wait for what the host does before it launches.
    LaunchBound "launch_bound" "launch-bound accelerator",
    /// Accelerators wait for the host to read or prepare input.
    InputPipeline "input_pipeline" "host-bound input pipeline",
    /// Contexts are made, code is loaded or compiled while accelerators wait.
    FirstUseCosts "first_use_costs" "first-use costs",
    /// Memory is allocated and released while accelerators wait.
    MemoryChurn "memory_churn" "memory churn",
    /// The host waits for an accelerator although it need not.
    UselessSynchronisation "useless_synchronisation" "useless synchronisation",
    /// The host waits for one stream before it launches into another.
    SerialisedStreams "serialised_streams" "serialised streams",
    /// Copies block the host and do not overlap with kernels.
    SynchronousCopies "synchronous_copies" "synchronous copies",
    /// The same, of pageable memory.
    PageableMemory "pageable_memory" "pageable memory",
    /// One rank makes the others wait in collectives of accelerators.
    Straggler "straggler" "straggler",
    /// Kernels run shorter than their launches.
    SmallKernels "small_kernels" "small kernels",
    /// Collectives run while nothing else does.
    ExposedCommunication "exposed_communication" "exposed communication",
    /// Threads do not run although they should compute: blocked, or others have the processors.
    NotRunning "not_running" "threads that do not run",
    /// Waiting for something that is not recorded.
    WaitingElsewhere "waiting_elsewhere" "waiting for something else",
    /// Imbalance in one place makes up for imbalance in another.
    BalancedElsewhere "balanced_elsewhere" "imbalance that evens out",
    /// Single iterations take much longer than the others.
    IterationOutlier "iteration_outlier" "slow iterations",
    /// Iterations take longer and longer.
    GrowthOverIterations "growth_over_iterations" "iterations get longer",
    /// No loss worth a finding.
    NothingSignificant "nothing_significant" "nothing significant",
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_written_as_serialised() {
        for kind in FindingKind::ALL {
            let text = serde_json::to_string(kind).unwrap();
            assert_eq!(text, format!("{:?}", kind.as_str()));
        }
    }

    #[test]
    fn iterations_are_told_as_ranges() {
        let of = |n_all, ranges: &[(u64, u64)]| Iterations { n_all, ranges: ranges.to_vec() }.in_words(4);
        assert_eq!(of(100, &[(0, 99)]), "all 100 iterations");
        assert_eq!(of(24, &[(8, 8)]), "iteration 8 of 24");
        assert_eq!(of(40, &[(0, 3), (7, 7)]), "iterations 0–3, 7 of 40");
        assert_eq!(of(90, &[(1, 1), (3, 3), (5, 5), (7, 7), (9, 9)]), "iterations 1, 3, 5, 7, … of 90");
        assert_eq!(of(60, &[(0, 9), (11, 19), (21, 29), (31, 39), (41, 59)]), "56 of 60 iterations");
    }

    #[test]
    fn confidence_grows() {
        assert!(Confidence::Possible < Confidence::Likely && Confidence::Likely < Confidence::Sure);
        assert_eq!(serde_json::to_string(&Confidence::Sure).unwrap(), "\"sure\"");
    }

    #[test]
    fn quantities_have_their_units() {
        let of = |value, unit| Quantity { name: String::new(), value, unit }.in_words();
        let seen = [
            of(1.5e9, QuantityUnit::Nanoseconds),
            of(0.25, QuantityUnit::Ratio),
            of(2e6, QuantityUnit::Count),
            of(3.0, QuantityUnit::Rank),
            of(1e3, QuantityUnit::NanosecondsPerIteration),
            of(-2.0, QuantityUnit::NanosecondsPerIteration),
        ];
        let words =
            ["1.500 s", "25.0 %", "2,000,000", "rank 3", "1.000 µs per iteration", "−2 ns per iteration"];
        assert_eq!(seen, words);
    }
}
