//! Every call as a row: when, how deep, called by which, how long, and what counters gained.
//!
//! ```text
//! enters and leaves of a location ──stack──► rows, as calls end ──batches──► a channel
//! ```
//! The table is as long as the trace, so it is never held whole: batches go into a channel
//! that holds two, and the reader sets the pace. Memory: three batches and the
//! open calls. It is an analysis in form only: it keeps nothing.
//!
//! Laws: a call is numbered by the order in which calls of its location begin, and its
//! row comes when it ends; `parent` is the number of the innermost call around it that is
//! listed, `depth` the number of those; inclusive and exclusive values are those of the
//! call, whichever of its callees are listed. Hidden calls have no row.
//! After Bhatele et al., *Pipit: Scripting the analysis of parallel execution traces*
//! (SC 2023), sections III and IV: `match_events`, `match_caller_callee`,
//! `calc_inc_metrics`, `calc_exc_metrics`; counters that go back, and calls that began
//! before a counter's first value, have no value here instead of a wrong one.

mod batch;
mod list;
#[cfg(test)]
mod tests;

pub use batch::CallBatch;
pub use list::{CallList, Closed};
