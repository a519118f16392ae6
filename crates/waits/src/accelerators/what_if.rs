//! How long a run would take with faster kernels, fused launches, or launches that cost nothing.
//!
//! The run is replayed, see `replay`. Operations belong to a name if it is that of their kernel, or of the operator or scope
//! around their launch. The length of a step is the time between the begins of the first operations of two steps, from the
//! first step to the last, divided by the number of steps between: a host may be ahead of its devices, and launch much
//! earlier than they can follow.

use super::AcceleratorsOutput;
use super::kernels::KernelsBy;
use super::members::DeviceMember;
use super::replay::{DeviceReplay, Lengths, ReplayOperation};
use super::steps::{OperationSteps, StepCalls};
use ouzel_analyses::breakdown::Activity;
use ouzel_model::{ColumnData, Definitions, Table, Ticks, Unit, did_you_mean, near_names};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

/// A change to a run.
#[derive(Debug, Clone, PartialEq)]
pub enum DeviceChange {
    /// Operations of a name are so many times as fast.
    Faster {
        /// Of a kernel, an operator or a scope.
        name: String,
        /// How many times.
        factor: f64,
    },
    /// Of kernels that one thread launches one after the other into one stream, all launches but the first take no time.
    FusedLaunches,
    /// Launches take no time, and operations can begin at once.
    NoLaunchCost,
}

/// How long the run would take.
#[derive(Debug, Clone, PartialEq)]
pub struct DeviceProjection {
    /// Until the last event, as recorded.
    pub run: Ticks,
    /// With the changes.
    pub projected: Ticks,
    /// Operations and launches that are changed.
    pub n_changed: u64,
    /// The mean step in ticks, as recorded and with the changes; `None` without steps.
    pub step: Option<(f64, f64)>,
}

impl DeviceChange {
    /// Of text such as `aten::mm=2`: the name and how many times as fast it is.
    ///
    /// # Errors
    /// If there is no `=`, or the factor is not a number from 0.001 to 1,000,000.
    pub fn faster(text: &str) -> Result<DeviceChange, String> {
        let (name, factor) = text.rsplit_once('=').ok_or("expected NAME=FACTOR")?;
        let factor = factor.parse::<f64>().ok().filter(|factor| (1e-3..=1e6).contains(factor));
        let factor = factor.ok_or("the factor must be a number from 0.001 to 1,000,000")?;
        Ok(DeviceChange::Faster { name: name.to_owned(), factor })
    }

    /// The changes of the three options together, those of names first.
    pub fn all(faster: Vec<DeviceChange>, fused: bool, no_launch_cost: bool) -> Vec<DeviceChange> {
        let fused = fused.then_some(DeviceChange::FusedLaunches);
        let no_cost = no_launch_cost.then_some(DeviceChange::NoLaunchCost);
        faster.into_iter().chain(fused).chain(no_cost).collect()
    }
}

impl DeviceProjection {
    /// Nanoseconds of a step, as recorded and with the changes; `None` without steps.
    pub fn step_ns(&self, definitions: &Definitions) -> Option<(f64, f64)> {
        let tick_ns = 1e9 / definitions.clock.ticks_per_second as f64;
        self.step.map(|(step, projected)| (step * tick_ns, projected * tick_ns))
    }

    /// One row.
    pub fn table(&self, definitions: &Definitions) -> Table {
        let ns = |ticks| definitions.clock.ns_from_ticks(ticks);
        let (run, projected) = (ns(self.run), ns(self.projected));
        let step = self.step_ns(definitions);
        let column = |value: Option<f64>| ColumnData::OptionF64(vec![value]);
        Table::new("the run with changes")
            .with(
                "run_time_ns",
                Unit::Nanoseconds,
                "Until the last event, as recorded",
                ColumnData::U64(vec![run]),
            )
            .with(
                "projected_run_time_ns",
                Unit::Nanoseconds,
                "With the changes",
                ColumnData::U64(vec![projected]),
            )
            .with(
                "gain_ns",
                Unit::Nanoseconds,
                "The difference; negative if the run would take longer",
                ColumnData::I64(vec![
                    i64::try_from(i128::from(run) - i128::from(projected)).unwrap_or(i64::MAX),
                ]),
            )
            .with(
                "n_changed",
                Unit::Count,
                "Operations and launches that are changed",
                ColumnData::U64(vec![self.n_changed]),
            )
            .with(
                "step_ns",
                Unit::Nanoseconds,
                "Mean step, as recorded; missing without steps",
                column(step.map(|it| it.0)),
            )
            .with("projected_step_ns", Unit::Nanoseconds, "With the changes", column(step.map(|it| it.1)))
    }
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeviceWhatIfError {
    /// The run cannot be replayed.
    NoReplay,
    /// No operation has the name.
    NoName {
        /// The name.
        name: String,
        /// Names that are spelled much like it.
        near: Vec<String>,
    },
}

impl fmt::Display for DeviceWhatIfError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DeviceWhatIfError::NoReplay => write!(
                f,
                "the accelerators of this run cannot be replayed: none ran, or clocks of hosts and devices contradict \
                 each other"
            ),
            DeviceWhatIfError::NoName { name, near } => {
                write!(f, "no kernel, operator or scope is named {name:?}{}", did_you_mean(near))
            }
        }
    }
}

impl std::error::Error for DeviceWhatIfError {}

/// The run with changes, made one after the other, as the sum over its parts.
#[derive(Debug)]
pub(super) struct WhatIf<'c> {
    changes: &'c [DeviceChange],
    /// Of each change, how much it changes.
    n_changed: Vec<u64>,
    /// Names of operations, of parts in which a name of a change has none.
    known: BTreeSet<Arc<str>>,
    run_end: u64,
    /// By how much the parts so far are shorter, in ticks.
    gain: i64,
    /// Begin of the first operation of each step, as recorded and with the changes.
    steps: BTreeMap<u64, (i64, i64)>,
    has_operations: bool,
    pub n_parts: usize,
    /// Those that cannot be replayed.
    pub n_failed: usize,
}

impl<'c> WhatIf<'c> {
    /// Nothing, yet, of a run whose threads end then.
    pub fn new(changes: &'c [DeviceChange], run_end: u64) -> Self {
        WhatIf {
            changes,
            n_changed: vec![0; changes.len()],
            known: BTreeSet::new(),
            run_end,
            gain: 0,
            steps: BTreeMap::new(),
            has_operations: false,
            n_parts: 0,
            n_failed: 0,
        }
    }

    /// Adds the next part; none if it cannot be replayed.
    pub fn add(&mut self, of_part: Option<ChangedPart>) {
        self.n_parts += 1;
        let Some(of_part) = of_part else {
            self.n_failed += 1;
            return;
        };
        self.n_changed.iter_mut().zip(of_part.n_changed).for_each(|(all, n)| *all += n);
        self.known.extend(of_part.known);
        self.has_operations |= of_part.has_operations;
        for (step, (recorded, changed)) in of_part.steps {
            let changed = changed - self.gain;
            let first = self.steps.entry(step).or_insert((recorded, changed));
            *first = (first.0.min(recorded), first.1.min(changed));
        }
        self.run_end = self.run_end.max(of_part.run_end);
        self.gain += of_part.gain;
    }

    /// How long the run takes.
    ///
    /// # Errors
    /// If it cannot be replayed, or nothing has a name.
    pub fn projection(self) -> Result<DeviceProjection, DeviceWhatIfError> {
        if !self.has_operations {
            return Err(DeviceWhatIfError::NoReplay);
        }
        for (change, n) in self.changes.iter().zip(&self.n_changed) {
            if let (DeviceChange::Faster { name, .. }, 0) = (change, n) {
                const N_NEAR: usize = 3;
                let near = near_names(name, self.known.iter().map(|name| &**name), N_NEAR);
                let near = near.into_iter().map(str::to_owned).collect();
                return Err(DeviceWhatIfError::NoName { name: name.clone(), near });
            }
        }
        let firsts = self.steps.first_key_value().zip(self.steps.last_key_value());
        let n = self.steps.len().saturating_sub(1) as f64;
        let mean = |first: i64, last: i64| (last - first).max(0) as f64 / n;
        let step = firsts.filter(|_| 0.0 < n);
        Ok(DeviceProjection {
            run: Ticks(self.run_end),
            projected: Ticks(u64::try_from(self.run_end as i64 - self.gain).unwrap_or(0)),
            n_changed: self.n_changed.iter().sum(),
            step: step.map(|((_, first), (_, last))| (mean(first.0, last.0), mean(first.1, last.1))),
        })
    }
}

/// A part of a run with changes: as in [`WhatIf`], of the part alone.
#[derive(Debug)]
pub(super) struct ChangedPart {
    n_changed: Vec<u64>,
    known: BTreeSet<Arc<str>>,
    has_operations: bool,
    run_end: u64,
    gain: i64,
    steps: BTreeMap<u64, (i64, i64)>,
}

impl AcceleratorsOutput {
    /// These records with changes, and with their collectives; none if they cannot be replayed. Steps are those of the run.
    pub(super) fn changed(
        mut self,
        changes: &[DeviceChange],
        (collectives, steps): (&[Vec<DeviceMember>], &StepCalls),
        definitions: &Definitions,
    ) -> Option<ChangedPart> {
        let replay = self.replay_with(collectives, definitions)?;
        let mut lengths = replay.lengths.clone();
        let change = |change: &DeviceChange| match change {
            DeviceChange::Faster { name, factor } => {
                self.make_faster(&replay, &mut lengths, (name, *factor), definitions)
            }
            DeviceChange::FusedLaunches => self.fuse(&replay, &mut lengths),
            DeviceChange::NoLaunchCost => launch_at_once(&replay, &mut lengths),
        };
        let n_changed: Vec<u64> = changes.iter().map(change).collect();
        let has_unknown =
            changes.iter().zip(&n_changed).any(|it| matches!(it, (DeviceChange::Faster { .. }, 0)));
        let known = if has_unknown { self.names_of(&replay, definitions) } else { BTreeSet::new() };
        let (before, after) = (replay.run(&replay.lengths), replay.run(&lengths));
        let mut firsts: BTreeMap<u64, (i64, i64)> = BTreeMap::new();
        if !steps.is_empty() {
            let processes = self.processes(definitions);
            self.steps = OperationSteps::new(steps, &processes, &self.apis, definitions);
            for (number, it) in replay.operations.iter().enumerate() {
                let Some(step) = self.steps.of(it.place.0, it.place.1) else { continue };
                let (recorded, changed) = (before.start[number] as i64, after.start[number] as i64);
                let first = firsts.entry(step).or_insert((recorded, changed));
                *first = (first.0.min(recorded), first.1.min(changed));
            }
        }
        Some(ChangedPart {
            n_changed,
            known,
            has_operations: !replay.operations.is_empty(),
            run_end: before.ends.last(),
            gain: replay.gain(&after),
            steps: firsts,
        })
    }

    /// The names that an operation has: of its kernel, and of the operator and scope around its launch.
    fn names_of_operation(
        &self,
        replay: &DeviceReplay,
        it: &ReplayOperation,
        definitions: &Definitions,
    ) -> [Option<Arc<str>>; 3] {
        let launch = it.launch.map(|launch| replay.calls[launch as usize].call.path);
        let caller = |by| {
            let region = launch.and_then(|path| self.caller(path, by, definitions))?;
            Some(definitions.region(region).name.clone())
        };
        [self.name(it.path, definitions), caller(KernelsBy::Operator), caller(KernelsBy::Scope)]
    }

    /// The names of all operations.
    fn names_of(&self, replay: &DeviceReplay, definitions: &Definitions) -> BTreeSet<Arc<str>> {
        let names = |it| self.names_of_operation(replay, it, definitions).into_iter().flatten();
        replay.operations.iter().flat_map(names).collect()
    }

    /// Makes operations of a name faster; gives how many.
    fn make_faster(
        &self,
        replay: &DeviceReplay,
        lengths: &mut Lengths,
        (wanted, factor): (&str, f64),
        definitions: &Definitions,
    ) -> u64 {
        let mut n = 0;
        for (number, it) in replay.operations.iter().enumerate() {
            let names = self.names_of_operation(replay, it, definitions);
            if names.iter().flatten().any(|name| **name == *wanted) {
                lengths.length[number] = (lengths.length[number] as f64 / factor).round() as u64;
                n += 1;
            }
        }
        n
    }

    fn fuse(&self, replay: &DeviceReplay, lengths: &mut Lengths) -> u64 {
        let mut n = 0;
        for (number, it) in replay.operations.iter().enumerate() {
            let is_kernel = self.activity(it.path) == Activity::Computation;
            let Some(launch) = it.launch.filter(|_| is_kernel).map(|launch| launch as usize) else {
                continue;
            };
            let follows = replay.calls[launch].before.is_some_and(|before| {
                replay.calls[before as usize].launches == number.checked_sub(1).map(|it| it as u32)
            });
            if follows && !replay.lengths.waits[launch] {
                (lengths.own[launch], lengths.delay[number]) = (0, 0);
                n += 1;
            }
        }
        n
    }
}

/// Launches that do not wait take no time, and what they launch can begin at once.
fn launch_at_once(replay: &DeviceReplay, lengths: &mut Lengths) -> u64 {
    let mut n = 0;
    for (number, it) in replay.operations.iter().enumerate() {
        let Some(launch) = it.launch.map(|launch| launch as usize) else { continue };
        lengths.delay[number] = 0;
        if !replay.lengths.waits[launch] {
            lengths.own[launch] = 0;
        }
        n += 1;
    }
    n
}
