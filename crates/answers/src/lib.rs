//! The shapes of all answers: the `data` of every command's JSON, what Python returns, and the envelope around it.
//!
//! One file per command: a struct whose fields are the keys, and a constructor from the output of the analysis. The
//! comment of a field is its description everywhere: `cargo xtask docs --write` makes the JSON schemas, the tables of
//! `docs/json.md` and Python's types from it. Law: a key that holds a quantity ends in its unit. Reports, clusters,
//! iterations, segments and causes have their shapes where they are computed; they are named here.
#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod breakdown;
mod call_tree;
mod calls;
mod comm_by_process;
mod comm_matrix;
mod comm_over_time;
mod compare;
mod convert;
mod correlate;
mod counters_over_time;
mod coverage;
mod critical_path;
mod efficiency;
mod envelope;
mod idle;
mod imbalance;
mod info;
mod kernel_difference;
mod kernel_resources;
mod kernels;
mod lateness;
mod messages;
mod patterns;
mod profile;
mod profile_info;
mod severities;
mod structure;
mod time_profile;
mod timeline;
mod topology;
mod waits;
mod what_if;
#[cfg(feature = "schema")]
mod words;

pub use breakdown::BreakdownAnswer;
pub use call_tree::CallTreeAnswer;
pub use calls::CallsAnswer;
pub use comm_by_process::{CommByProcessAnswer, RankTraffic};
pub use comm_matrix::{CommMatrixAnswer, CommMatrixForm};
pub use comm_over_time::CommOverTimeAnswer;
pub use compare::{CompareAnswer, ComparedGrowth, ComparedRegion, ComparedRun, ComparedValues};
pub use convert::{ConvertAnswer, Written};
pub use correlate::{
    CorrelateAnswer, CorrelatedAxis, CorrelatedTopology, PlacedAnswer, PlacedMetric, PlacedTopology,
    PlacedView, ReferenceView,
};
pub use counters_over_time::{CounterOverTime, CountersOverTimeAnswer};
pub use coverage::{ProfileCoverage, TraceCoverage};
pub use critical_path::{CriticalPathAnswer, CriticalPathBound, DeviceWhatIf};
pub use efficiency::{
    DeviceEfficiencies, EfficiencyAnswer, EfficiencyPart, HybridMetric, HybridSplit, MissingMetric,
    RunEfficiencies,
};
pub use envelope::{Envelope, Input, InputFilter, NoticeEntry, StreamedEnvelope, schema_version};
pub use idle::{IdleAnswer, IdleCauses, IdleCausesAnswer, IdleCausesRow};
pub use imbalance::{ImbalanceAnswer, ImbalanceRow, MetricImbalanceAnswer, MetricImbalanceRow};
pub use info::{InfoAbility, InfoAnswer, InfoLocation, InfoMetric};
pub use kernel_difference::{KernelDifferenceAnswer, KernelDifferenceEntry, KernelDifferenceSide};
pub use kernel_resources::{
    KernelsCopies, KernelsCopyBin, KernelsCopySizes, KernelsDelayRange, KernelsMemory, KernelsOperatorMemory,
    KernelsQueueLength, KernelsStreamBin,
};
pub use kernels::{
    KernelsAnswer, KernelsCommunication, KernelsGroup, KernelsLaunchDelay, KernelsQueue, KernelsRow,
    KernelsShort, KernelsStraggler, KernelsTimes, KernelsType,
};
pub use lateness::LatenessAnswer;
pub use messages::MessagesAnswer;
pub use patterns::{Occurrence, PatternsAnswer};
pub use profile::{ProfileAnswer, ProfileColumn, ProfileRows};
pub use profile_info::{ProfileInfoAnswer, ProfileMetric};
pub use severities::SeveritiesAnswer;
pub use structure::{StructureAnswer, StructureBinary, StructureCoverage, StructureRow};
pub use time_profile::{BinnedRegion, TimeProfileAnswer};
pub use timeline::TimelineAnswer;
pub use topology::{TopologyAnswer, TopologyDimension};
pub use waits::{
    UnexplainedWait, WaitChain, WaitClassSum, WaitClockViolations, WaitCulprit, WaitDelay, WaitOfChain,
    WaitsAnswer, WaitsCriticalCallPath, WaitsCriticalPath, WaitsRow,
};
pub use what_if::{WhatIfAnswer, WhatIfChange, WhatIfCriticalPath, WhatIfGain, WhatIfRank};

pub use ouzel_causes::Causes as CausesAnswer;
pub use ouzel_diagnose::ProfileReport as ProfileReportAnswer;
pub use ouzel_diagnose::RunReport as ReportAnswer;
pub use ouzel_diagnose::clusters::Data as ClustersAnswer;
pub use ouzel_diagnose::iterations::Data as IterationsAnswer;
pub use ouzel_diagnose::segments::SegmentsCard as SegmentsAnswer;
