//! `ouzel what-if`.

use ouzel::model::{Definitions, Ticks};
use ouzel::replay::{Change, PathGain};
use ouzel::{WhatIf, signed_ns};
use serde::Serialize;
use std::sync::Arc;

/// How long the run would take with changes, by replay.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WhatIfAnswer {
    /// From the first event of the run to the last, as recorded.
    pub run_time_ns: u64,
    /// The same with the changes.
    pub projected_run_time_ns: u64,
    /// run time − projected run time; below zero if the changes make the run longer.
    pub gain_ns: i64,
    /// The most by which a replay without changes misses a recorded time.
    pub identity_error_ns: u64,
    /// What is changed, one after the other.
    pub changes: Vec<WhatIfChange>,
    /// The ranks that are replayed.
    pub ranks: Vec<WhatIfRank>,
    /// The call paths of the critical path with the changes, the longest first.
    pub critical_path: Vec<WhatIfCriticalPath>,
    /// Without changes: what those of each call path of the program's own work on the critical path would gain. The ten
    /// with the most time on it are replayed and lead, the largest gain first. Empty with changes.
    pub ranking: Vec<WhatIfGain>,
    /// What the replay leaves out, in words.
    pub limits: Vec<String>,
}

/// A change.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WhatIfChange {
    /// What is done.
    #[cfg_attr(feature = "schema", schemars(with = "crate::words::WhatIfKind"))]
    pub kind: &'static str,
    /// The code, as it was asked for; `null` for `network`.
    pub code: Option<String>,
    /// How many times faster; `null` for other kinds than `faster`.
    pub factor: Option<f64>,
    /// The network in words; `null` for other kinds.
    pub network: Option<String>,
}

/// A rank as recorded and with the changes.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WhatIfRank {
    /// World rank; `null` for a location without one.
    pub rank: Option<u32>,
    /// From the start of the run to the rank's last event.
    pub end_ns: u64,
    /// The same with the changes.
    pub projected_end_ns: u64,
    /// Time waited for other ranks.
    pub wait_ns: u64,
    /// The same with the changes.
    pub projected_wait_ns: u64,
}

/// A call path on the critical path.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WhatIfCriticalPath {
    /// Names from the outermost region; empty outside all regions.
    pub call_path: Vec<Arc<str>>,
    /// Its exclusive time on the critical path.
    pub time_ns: u64,
}

/// What changes of one call path would gain.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WhatIfGain {
    /// Names from the outermost region; empty outside all regions.
    pub call_path: Vec<Arc<str>>,
    /// Its exclusive time on the critical path as recorded.
    pub critical_ns: u64,
    /// If it took half its time on every rank.
    pub gain_halved_ns: u64,
    /// If it took no time.
    pub gain_removed_ns: u64,
    /// If every rank that runs it took the mean in each phase between synchronisations of all ranks; below zero if that
    /// makes the run longer. `null` if it was not replayed.
    pub gain_balanced_ns: Option<i64>,
    /// Whether the gains were replayed. If not, they are the call path's part of the critical path, which is the most that
    /// they can be.
    pub exact: bool,
}

impl WhatIfAnswer {
    /// The shape of `output`.
    pub fn new(output: &WhatIf, definitions: &Definitions) -> Self {
        let ns = |ticks: Ticks| definitions.clock.ns_from_ticks(ticks);
        let projection = &output.projection;
        let ranks = projection.ranks.iter().map(|rank| WhatIfRank {
            rank: rank.rank.map(|rank| rank.0),
            end_ns: ns(rank.end),
            projected_end_ns: ns(rank.projected_end),
            wait_ns: ns(rank.wait),
            projected_wait_ns: ns(rank.projected_wait),
        });
        let critical_path = projection.critical_path.iter().map(|&(path, time)| WhatIfCriticalPath {
            call_path: output.replay.names(path),
            time_ns: ns(time),
        });
        WhatIfAnswer {
            run_time_ns: ns(projection.run_time),
            projected_run_time_ns: ns(projection.projected),
            gain_ns: signed_ns(output.gain(), definitions),
            identity_error_ns: ns(projection.identity_error),
            changes: output.changes.iter().map(change).collect(),
            ranks: ranks.collect(),
            critical_path: critical_path.collect(),
            ranking: output.ranking.iter().map(|row| gain(row, output, definitions)).collect(),
            limits: output.limits.clone(),
        }
    }
}

fn change(change: &Change) -> WhatIfChange {
    let (kind, code) = match change {
        Change::Faster { code, .. } => ("faster", Some(code)),
        Change::Removed(code) => ("remove", Some(code)),
        Change::Balanced(code) => ("balance", Some(code)),
        Change::Network(_) => ("network", None),
    };
    WhatIfChange {
        kind,
        code: code.map(ToString::to_string),
        factor: match change {
            Change::Faster { numerator, denominator, .. } => Some(*numerator as f64 / *denominator as f64),
            _ => None,
        },
        network: code.is_none().then(|| change.to_string()),
    }
}

fn gain(row: &PathGain, output: &WhatIf, definitions: &Definitions) -> WhatIfGain {
    let ns = |ticks: Ticks| definitions.clock.ns_from_ticks(ticks);
    WhatIfGain {
        call_path: output.replay.names(row.call_path),
        critical_ns: ns(row.critical),
        gain_halved_ns: ns(row.gains.halved()),
        gain_removed_ns: ns(row.gains.removed()),
        gain_balanced_ns: row.gains.balanced().map(|ticks| signed_ns(ticks, definitions)),
        exact: row.gains.balanced().is_some(),
    }
}
