//! The event model: what a reader of a format produces and an analysis consumes.
//!
//! Two data structures carry everything: the definitions of a trace, known once
//! ([`Definitions`]), and the events of one location, run by run, in columns
//! ([`EventChunk`]). Further types are the user's selection ([`Filter`]), the needs of analyses ([`Needs`]), the
//! call-path tree ([`CallPathTree`]), problems ([`Notice`]) and results as tables ([`Table`]). How quantities are
//! written in sentences is in [`units`].
//!
//! Law: time is integer [`Ticks`] since the trace start; nanoseconds and floats appear only at the border ([`Clock`]).
//! This crate does not deal with files, formats or threads.
#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod call_path;
mod clock;
mod code_flow;
mod communicators;
mod contents;
mod definitions;
mod device;
mod error;
mod events;
mod filter;
mod ids;
mod launch_shape;
mod locations;
mod markers;
mod metrics;
mod mpi_names;
mod near;
mod needs;
mod notice;
mod profile;
mod regions;
mod rma;
mod samples;
mod short_names;
mod sink;
mod source;
mod system_tree;
mod table;
mod threads;
mod topologies;
pub mod units;
mod visible;

pub use call_path::{CallPathTree, Remap};
pub use clock::{Clock, Ticks, TimeRange};
pub use code_flow::{CodeFlow, CodePart};
pub use communicators::{Communicator, Membership};
pub use contents::{Content, Contents};
pub use definitions::{Definitions, Provenance};
pub use device::{DeviceCall, DeviceStep};
pub use error::ReadError;
pub use events::{
    CHUNK_EVENTS, ChunkBuffer, Collective, CollectiveOp, CollectiveRoot, EventChunk, EventKind, IoMode,
    IoOperation, Link, LinkEnd, MessageEnd, MetricValue, NamedRecord, Parameter, ParameterValue, Request,
    RequestEvent, Visit, popped,
};
pub use filter::{
    Borders, CallFacts, CallTest, Filter, FilterError, LocationTests, NumberSet, Predicate, RankSet,
    Selection, TextTest,
};
pub use ids::{
    CallPathId, CommId, CommRank, ContextId, InterruptGeneratorId, LocationGroupId, LocationId, MetricId,
    ParameterId, RankGroupId, RegionId, RmaWindowId, SystemNodeId, WorldRank,
};
pub use launch_shape::{LaunchShape, NoLaunchShape};
pub use locations::{Location, LocationGroup, LocationGroupKind, LocationKind};
pub use markers::Marker;
pub use metrics::{Metric, MetricMode, MetricValueType};
pub use mpi_names::mpi_function;
pub use near::{did_you_mean, near_names};
pub use needs::Needs;
pub use notice::{Level, Notice, NoticeCode, Notices};
pub use profile::{
    Aggregation, BuiltCallTree, CallNode, CallTree, Formula, FormulaStep, MetricKind, PROGRAM_REGION,
    ProfileDefinitions, ProfileMetric, ProfileSource, Scope, ScopedRows, Severities, SeverityError,
    SeverityRow, SeverityRows, SeverityTotal, has_values,
};
pub use regions::{Paradigm, Region, RegionRole};
pub use rma::{
    RmaAccess, RmaAtomicKind, RmaCollective, RmaEvent, RmaLock, RmaLockMode, RmaOperationId, RmaStep,
    RmaSyncKind, RmaSyncLevel, RmaWindow,
};
pub use samples::{
    CallSite, InterruptCounts, InterruptGenerator, Lca, MAX_SAMPLED_DEPTH, Sample, SampledContext,
    SampledContexts, SampledFrame,
};
pub use short_names::{NOT_RUNNING, PROCESSOR_TIME, SLEEPING, plain_name, short_name};
pub use sink::EventSink;
pub use source::{ChunkReader, ReadPlan, TraceSource};
pub use system_tree::{SystemNode, SystemTree};
pub use table::{Column, ColumnData, ColumnValue, Direction, Table, Unit};
pub use threads::{LockUse, TaskId, ThreadEvent, ThreadLife, ThreadStep};
pub use topologies::{CartDimension, CartMembers, CartTopology, TopologyError, TopologyShape};
pub use visible::{is_visible, json_text, put_json_text, put_visible, visible};
