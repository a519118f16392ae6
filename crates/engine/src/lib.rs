//! One pass over a trace, shared by any number of analyses, on any number of threads.
//!
//! ```text
//! reader ──chunk──► nesting (filter, call paths, visits) ──chunk──► analysis 1 … n     one location
//!           └─only samples?─► calls made of them ──► nesting ──► those that do not ask for samples
//!                                                                    │ end
//! worker 1 … j:  a partial each  ──merge──► one partial ──finish──► outputs
//! ```
//!
//! Analyses see one location at a time, in time order, in chunks whose borders mean
//! nothing, with enters and leaves properly nested; who brings together what may lie
//! apart sees more than is selected ([`Scope`]). They know no threads, processes or files. Partials hold integers and ids, merge in any grouping and can travel.
#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod analysis;
mod catalogue;
mod code_order;
mod erased;
mod fold;
mod in_order;
mod list;
mod nesting;
mod partial;
mod pass;
mod processor_time;
mod progress;
mod question;
mod room;
mod sample_intervals;
mod sampled_calls;
mod shelf;
mod verdicts;

pub use analysis::{
    Analysis, AnalysisError, FinishCx, LocationCx, LocationEnd, LocationSummary, Pairing, Scope, Selected,
    SettleCx,
};
pub use catalogue::{Catalogue, CatalogueError, SetDescription};
pub use erased::{AnalysisSet, Key, Outputs, Prepared};
pub use fold::Folder;
pub use in_order::in_order;
pub use list::{Listed, list};
pub use ouzel_files::memory;
pub use partial::{Partial, PartialError};
pub use pass::{Coverage, IsLast, Pass, PassError, Report};
pub use processor_time::not_running_region;
pub use progress::Progress;
pub use question::{Question, SelectionCx};
pub use room::roomy;
pub use sample_intervals::SampleIntervals;
pub use shelf::{Shelf, ShelfPlace};
pub use verdicts::counter_gain;
