//! The correction, and how it is applied to the records of a location.

use super::line::{Jump, OffsetLine, after};
use super::lines::lines;
use super::logical::jumps;
use super::points::Dependencies;
use ouzel_engine::FinishCx;
use ouzel_model::{EventKind, LocationId, Ticks};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What is wrong with the clocks of a trace, and a correction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockRepair {
    /// Records that depend on a record of another location.
    pub n_dependent: u64,
    /// Dependent records that come before what they depend on.
    pub n_violations: u64,
    /// The greatest violation.
    pub worst: Ticks,
    /// Violations that are left, because records depend on each other in a circle: they are paired wrongly.
    pub n_left: u64,
    /// The correction of each location that needs one.
    pub corrections: BTreeMap<LocationId, Correction>,
}

/// The correction of the clock of one location.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Correction {
    /// The offset of its process.
    pub line: OffsetLine,
    /// Points that were moved off the line, ascending.
    pub jumps: Vec<Jump>,
}

/// Applies a [`Correction`] to the records of a location, in their order.
#[derive(Debug, Clone)]
pub struct Corrector<'c> {
    line: OffsetLine,
    rest: &'c [Jump],
    /// The last jump.
    jump: Jump,
    n_points: u32,
}

impl<'c> Corrector<'c> {
    /// Before the first record.
    pub fn new(correction: &'c Correction) -> Self {
        let Correction { line, jumps } = correction;
        Corrector {
            line: *line,
            rest: jumps,
            jump: Jump { point: 0, from: Ticks(0), to: Ticks(0) },
            n_points: 0,
        }
    }

    /// The corrected time of the next record. Every record of a sync point's kind must be among them.
    pub fn time(&mut self, at: Ticks, kind: EventKind) -> Ticks {
        if is_point(kind) {
            if let Some((jump, rest)) =
                self.rest.split_first().filter(|(jump, _)| jump.point == self.n_points)
            {
                self.jump = *jump;
                self.rest = rest;
            }
            self.n_points += 1;
        }
        self.between(at)
    }

    /// The corrected time of something between the records seen and the next one.
    pub fn between(&self, at: Ticks) -> Ticks {
        after(self.jump, self.line.time(at))
    }
}

/// Whether records of this kind are sync points.
fn is_point(kind: EventKind) -> bool {
    use EventKind as Kind;
    matches!(
        kind,
        Kind::MessageSend | Kind::MessageRecv | Kind::Request | Kind::CollectiveBegin | Kind::CollectiveEnd
    )
}

pub(super) fn repair(dependencies: &Dependencies, cx: &FinishCx<'_>) -> ClockRepair {
    let recorded = |(location, point): (u32, u32)| dependencies.times[location as usize][point as usize].0;
    let (n_violations, worst) = dependencies.violations(recorded);
    let mut repair = ClockRepair {
        n_dependent: dependencies.n_causes(),
        n_violations,
        worst: Ticks(worst),
        n_left: 0,
        corrections: BTreeMap::new(),
    };
    if n_violations == 0 {
        return repair;
    }
    let lines = lines(dependencies, cx);
    let on_line: Vec<Vec<Ticks>> = dependencies
        .locations
        .iter()
        .zip(&dependencies.times)
        .map(|(location, times)| {
            let line = lines.get(location).copied().unwrap_or_default();
            times.iter().map(|&at| line.time(at)).collect()
        })
        .collect();
    let (jumps, n_left) = jumps(dependencies, &on_line);
    repair.n_left = n_left;
    repair.corrections =
        lines.into_iter().map(|(id, line)| (id, Correction { line, jumps: Vec::new() })).collect();
    for (location, jumps) in dependencies.locations.iter().zip(jumps) {
        repair.corrections.entry(*location).or_default().jumps = jumps;
    }
    repair.corrections.retain(|_, correction| *correction != Correction::default());
    repair
}
