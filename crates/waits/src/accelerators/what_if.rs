//! How long a run would take with faster kernels, fused launches, or launches that cost nothing.
//!
//! The run is replayed, see `replay`. Operations belong to a name if it is that of their kernel, or of the operator or scope
//! around their launch. The length of a step is the time between the first launches of two steps, from the first step to
//! the last, divided by the number of steps between.

use super::AcceleratorsOutput;
use super::kernels::KernelsBy;
use super::replay::{DeviceReplay, Lengths, ReplayTimes};
use ouzel_analyses::breakdown::Activity;
use ouzel_model::{ColumnData, Definitions, Table, Ticks, Unit, did_you_mean, near_names};
use std::collections::BTreeMap;
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

impl AcceleratorsOutput {
    /// The run with changes, made one after the other.
    ///
    /// # Errors
    /// If the run cannot be replayed, or nothing has a name.
    pub fn what_if(
        &self,
        changes: &[DeviceChange],
        definitions: &Definitions,
    ) -> Result<DeviceProjection, DeviceWhatIfError> {
        let replay = self.replay(definitions).filter(|replay| !replay.operations.is_empty());
        let replay = replay.ok_or(DeviceWhatIfError::NoReplay)?;
        let mut lengths = replay.lengths.clone();
        let mut n_changed = 0;
        for change in changes {
            n_changed += match change {
                DeviceChange::Faster { name, factor } => {
                    self.make_faster(&replay, &mut lengths, (name, *factor), definitions)?
                }
                DeviceChange::FusedLaunches => self.fuse(&replay, &mut lengths),
                DeviceChange::NoLaunchCost => launch_at_once(&replay, &mut lengths),
            };
        }
        let (before, after) = (replay.run(&replay.lengths), replay.run(&lengths));
        Ok(DeviceProjection {
            run: Ticks(before.run_end),
            projected: Ticks(after.run_end),
            n_changed,
            step: self.mean_step(&replay, &before).zip(self.mean_step(&replay, &after)),
        })
    }

    fn make_faster(
        &self,
        replay: &DeviceReplay,
        lengths: &mut Lengths,
        (wanted, factor): (&str, f64),
        definitions: &Definitions,
    ) -> Result<u64, DeviceWhatIfError> {
        let mut n = 0;
        let mut known: Vec<Arc<str>> = Vec::new();
        for (number, it) in replay.operations.iter().enumerate() {
            let launch = it.launch.map(|launch| replay.calls[launch as usize].call.path);
            let caller = |by| {
                let region = launch.and_then(|path| self.caller(path, by, definitions))?;
                Some(definitions.region(region).name.clone())
            };
            let names =
                [self.name(it.path, definitions), caller(KernelsBy::Operator), caller(KernelsBy::Scope)];
            if names.iter().flatten().any(|name| **name == *wanted) {
                lengths.length[number] = (lengths.length[number] as f64 / factor).round() as u64;
                n += 1;
            } else if n == 0 {
                known.extend(names.into_iter().flatten());
            }
        }
        if n == 0 {
            const N_NEAR: usize = 3;
            known.sort_unstable();
            known.dedup();
            let near = near_names(wanted, known.iter().map(|name| &**name), N_NEAR);
            let near = near.into_iter().map(str::to_owned).collect();
            return Err(DeviceWhatIfError::NoName { name: wanted.to_owned(), near });
        }
        Ok(n)
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

    /// From the first launch of the first step to that of the last / steps between.
    fn mean_step(&self, replay: &DeviceReplay, times: &ReplayTimes) -> Option<f64> {
        let mut firsts: BTreeMap<u64, u64> = BTreeMap::new();
        for it in &replay.operations {
            let (Some(launch), Some(step)) = (it.launch, self.steps.of(it.place.0, it.place.1)) else {
                continue;
            };
            let enter = times.enter[launch as usize];
            firsts.entry(step).and_modify(|first| *first = enter.min(*first)).or_insert(enter);
        }
        let (first, last) = (firsts.first_key_value()?, firsts.last_key_value()?);
        let n = firsts.len() - 1;
        (0 < n).then(|| last.1.saturating_sub(*first.1) as f64 / n as f64)
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
