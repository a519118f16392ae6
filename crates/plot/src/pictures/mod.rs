//! From outputs of analyses to pictures.
//!
//! `of` is the subtitle: the trace, and what was selected.

mod correlation;
mod efficiencies;
mod fields;
mod late;
mod messages;
mod path;
mod processes;
mod runs;
mod time;
mod timeline;
mod waiting;
mod what_if;

pub use correlation::{CorrelationViews, correlation, view_path};
pub use efficiencies::{ACCEPTABLE, efficiencies};
pub use fields::fields;
pub use late::lateness;
pub use messages::{comm_by_process, comm_matrix, comm_over_time, message_histogram};
pub use path::critical_path;
pub use processes::{breakdown, idle, imbalance};
pub use runs::{RegionInRuns, runs};
pub use time::time_profile;
pub use timeline::{Connections, TimelineRows, timeline};
pub use waiting::waiting_chain;
pub use what_if::what_if;

/// Names of ranks on an axis.
fn rank_name(rank: Option<ouzel_model::WorldRank>) -> String {
    rank.map_or_else(|| "none".to_owned(), |rank| rank.0.to_string())
}
