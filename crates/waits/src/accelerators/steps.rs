//! Steps of a run, such as those of a training loop, and which operation belongs to which.
//!
//! A step is an outermost call of a region that marks steps, on a thread of a process that drives a device. Its number
//! is its parameter `step`; without one, if several regions mark steps, the number at the end of its region's name
//! (`epoch 3`); else its place among the steps of its thread, from 0. The calls of one number, on all threads and ranks,
//! are one step.
//!
//! An operation belongs to the step in which its launch was entered: that of the launching thread, if that thread has
//! steps, else that of its process that began last. If the launch is not known, the time when the operation begins
//! decides; these operations are counted. Law: each operation belongs to one step or to none, so that sums over the steps
//! and over what lies outside are those of the run.
//!
//! Where no region marks steps, they may be given, as those that `FoundSteps` are.

use super::{Accelerators, AcceleratorsOutput};
use crate::devices::DeviceApis;
use crate::devices::streams::{DeviceProcess, Stream};
use ouzel_engine::LocationCx;
use ouzel_model::{
    Definitions, EventChunk, EventKind, LocationGroupId, LocationId, ParameterId, ParameterValue, Region,
    RegionRole, Ticks, TimeRange, did_you_mean, near_names, popped,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// What PyTorch calls a step of its profiler.
const PROFILER_STEP: &str = "ProfilerStep";

/// Which regions mark steps; none by default.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepMarks {
    /// By region: whether it marks steps, and the number in its name.
    of_regions: Vec<Option<Option<u64>>>,
    number: Option<ParameterId>,
}

/// Why there are no steps, or not the one that was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StepError {
    /// No region of the trace marks steps.
    NotMarked,
    /// No region has the name that was given.
    NoRegion {
        /// The name.
        name: String,
        /// Regions that are spelled much like it.
        near: Vec<String>,
    },
    /// None was recorded on a thread of a process that drives a device.
    NotRecorded,
    /// There are others.
    Unknown {
        /// The step that was asked for.
        step: u64,
        /// The first and the last, and how many there are.
        known: (u64, u64, usize),
    },
}

impl fmt::Display for StepError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StepError::NotMarked => write!(
                f,
                "the trace has no {PROFILER_STEP}, and no loop is found on a thread that drives an accelerator: name the \
                 range around each step, of those that `ouzel kernels --by scope` lists"
            ),
            StepError::NoRegion { name, near } => {
                write!(f, "no region matches {name:?}, which marks steps{}", did_you_mean(near))
            }
            StepError::NotRecorded => {
                write!(f, "no step in the selection, on a thread of a process that drives an accelerator")
            }
            StepError::Unknown { step, known: (first, last, n) } => {
                write!(f, "no step {step}: {n} recorded, with numbers from {first} to {last}")
            }
        }
    }
}

impl std::error::Error for StepError {}

impl StepMarks {
    /// The regions of a name, which may have wildcards; without one the steps of PyTorch's profiler.
    ///
    /// # Errors
    /// If no region marks steps.
    pub fn new(definitions: &Definitions, name: Option<&str>) -> Result<Self, StepError> {
        let is_profiler = |region: &Region| region.role == RegionRole::Loop && &*region.name == PROFILER_STEP;
        let is_mark = match name {
            Some(name) => definitions.regions_like(&[name]),
            None => definitions.regions.iter().map(is_profiler).collect(),
        };
        let is_one = match is_mark.iter().filter(|is_mark| **is_mark).count() {
            0 => return Err(name.map_or(StepError::NotMarked, |name| no_region(definitions, name))),
            n => n == 1,
        };
        let number = |region: &Region| if is_one { None } else { last_number(&region.name) };
        let marks = definitions.regions.iter().zip(is_mark);
        let parameter = definitions.parameters.iter().position(|name| &**name == "step");
        Ok(StepMarks {
            of_regions: marks.map(|(region, is_mark)| is_mark.then(|| number(region))).collect(),
            number: parameter.map(ParameterId::from_index),
        })
    }
}

fn no_region(definitions: &Definitions, name: &str) -> StepError {
    const N_NEAR: usize = 3;
    let names = definitions.regions.iter().map(|region| &*region.name);
    let near = near_names(name, names, N_NEAR).into_iter().map(str::to_owned).collect();
    StepError::NoRegion { name: name.to_owned(), near }
}

/// The number at the end of a name.
fn last_number(name: &str) -> Option<u64> {
    let digits = name.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    name[digits..].parse().ok()
}

/// A call that is a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct StepCall {
    number: Option<u64>,
    start: Ticks,
    end: Ticks,
}

/// The steps of a thread while it is folded.
#[derive(Debug, Default)]
pub(super) struct StepFold {
    depth: u32,
    /// The depth of the step that is open.
    open: Option<u32>,
    done: Vec<StepCall>,
}

impl StepFold {
    pub fn fold(&mut self, marks: &StepMarks, chunk: &EventChunk<'_>) {
        if marks.of_regions.is_empty() {
            return;
        }
        let mut parameters = chunk.parameters;
        for (row, (&at, &kind)) in chunk.time.iter().zip(chunk.kind).enumerate() {
            match kind {
                EventKind::Enter => {
                    self.depth += 1;
                    let mark = marks.of_regions.get(chunk.region[row].index()).copied().flatten();
                    if let Some(number) = mark.filter(|_| self.open.is_none()) {
                        self.open = Some(self.depth);
                        self.done.push(StepCall { number, start: at, end: Ticks(u64::MAX) });
                    }
                }
                EventKind::Leave => {
                    if self.open.take_if(|open| *open == self.depth).is_some()
                        && let Some(step) = self.done.last_mut()
                    {
                        step.end = at;
                    }
                    self.depth = self.depth.saturating_sub(1);
                }
                EventKind::Parameter => {
                    while let Some(it) = popped(&mut parameters, row, |it| it.row) {
                        let is_number = Some(it.parameter) == marks.number && self.open == Some(self.depth);
                        if let (true, &ParameterValue::U64(number), Some(step)) =
                            (is_number, &it.value, self.done.last_mut())
                        {
                            step.number = Some(number);
                        }
                    }
                }
                _ => {}
            }
        }
    }

    /// Its steps; one that is open ends with the last event.
    pub fn end(mut self, last: Option<Ticks>) -> Vec<StepCall> {
        for step in &mut self.done {
            step.end = step.end.min(last.unwrap_or(step.start).max(step.start));
        }
        self.done
    }
}

/// The steps of threads.
pub(super) type StepCalls = BTreeMap<LocationId, Vec<StepCall>>;

/// Steps of threads that no region marks: number and time.
pub type FoundSteps = BTreeMap<LocationId, Vec<(u64, TimeRange)>>;

/// When a step ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct StepSpan {
    /// When the first call of it begins.
    pub start: Ticks,
    /// The longest call of it.
    pub length: Ticks,
    /// Calls that are this step: as a rule one for each rank.
    pub n_calls: u64,
    /// Operations that belong to it by the time when they begin.
    pub n_by_time: u64,
}

impl StepSpan {
    /// Adds calls on other threads.
    pub fn merge(&mut self, from: &StepSpan) {
        self.start = self.start.min(from.start);
        self.length = self.length.max(from.length);
        self.n_calls += from.n_calls;
        self.n_by_time += from.n_by_time;
    }
}

/// Which operation belongs to which step.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct OperationSteps {
    pub spans: BTreeMap<u64, StepSpan>,
    /// Their numbers, in order.
    numbers: Vec<u64>,
    /// By stream, of each operation: the place of its step among the numbers, or [`NO_STEP`].
    of_streams: BTreeMap<LocationId, Vec<u32>>,
}

const NO_STEP: u32 = u32::MAX;

/// The steps of a thread, by number.
type Numbered = Vec<(u64, StepCall)>;

impl OperationSteps {
    pub fn new(
        calls: &StepCalls,
        processes: &[DeviceProcess<'_>],
        apis: &DeviceApis,
        definitions: &Definitions,
    ) -> Self {
        let mut found = OperationSteps::default();
        let mut of_processes: BTreeMap<LocationGroupId, Vec<(LocationId, Numbered)>> = BTreeMap::new();
        for (&location, calls) in calls {
            let numbered = (0..).zip(calls).map(|(nth, call)| (call.number.unwrap_or(nth), *call));
            let numbered: Numbered = numbered.collect();
            numbered.iter().for_each(|(number, call)| found.add_call(*number, *call));
            let owner = apis.owner(definitions.location(location).group);
            of_processes.entry(owner).or_default().push((location, numbered));
        }
        found.numbers = found.spans.keys().copied().collect();
        let mut by_time: Vec<u64> = vec![0; found.numbers.len()];
        for process in processes {
            for stream in &process.streams {
                let owner = apis.owner(stream.device);
                let threads = of_processes.get(&owner).map_or(&[][..], |threads| &threads[..]);
                let place = |nth: usize| {
                    let (number, is_by_time) = found.step(process, stream, nth, threads);
                    let place = number.and_then(|number| found.numbers.binary_search(&number).ok());
                    let n_by_time = place.filter(|_| is_by_time).and_then(|place| by_time.get_mut(place));
                    n_by_time.into_iter().for_each(|n| *n += 1);
                    place.map_or(NO_STEP, |place| place as u32)
                };
                let places = (0..stream.operations.len()).map(place).collect();
                found.of_streams.insert(stream.location, places);
            }
        }
        found.spans.values_mut().zip(by_time).for_each(|(span, n)| span.n_by_time += n);
        found
    }

    fn add_call(&mut self, number: u64, call: StepCall) {
        let none = StepSpan { start: call.start, length: Ticks(0), n_calls: 0, n_by_time: 0 };
        let span = self.spans.entry(number).or_insert(none);
        span.start = span.start.min(call.start);
        span.length = span.length.max(call.end.since(call.start));
        span.n_calls += 1;
    }

    /// The step of an operation, and whether it is known by its time only.
    fn step(
        &self,
        process: &DeviceProcess<'_>,
        stream: &Stream<'_>,
        nth: usize,
        threads: &[(LocationId, Numbered)],
    ) -> (Option<u64>, bool) {
        let launch = stream.launches[nth];
        let at = launch.map_or(stream.operations[nth].start, |place| process.call(place).enter);
        let own = launch.and_then(|(thread, _)| threads.iter().find(|(location, _)| *location == thread));
        let step = match own {
            Some((_, steps)) => step_at(steps, at),
            None => {
                let steps = threads.iter().filter_map(|(_, steps)| step_at(steps, at));
                steps.max_by_key(|(number, call)| (call.start, *number))
            }
        };
        (step.map(|(number, _)| number), launch.is_none())
    }

    /// The step of an operation.
    pub fn of(&self, stream: LocationId, nth: usize) -> Option<u64> {
        let place = *self.of_streams.get(&stream)?.get(nth)?;
        self.numbers.get(place as usize).copied()
    }
}

/// The step of a thread at a time.
fn step_at(steps: &[(u64, StepCall)], at: Ticks) -> Option<(u64, StepCall)> {
    let next = steps.partition_point(|(_, call)| call.start <= at);
    steps[..next].last().copied().filter(|(_, call)| at < call.end)
}

/// Which steps a question is about.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StepsAsked<'a> {
    /// The name of the regions that mark steps; without one they are those of PyTorch's profiler.
    pub marks: Option<&'a str>,
    /// The only step that counts.
    pub step: Option<u64>,
    /// Whether the answer is by step.
    pub per_step: bool,
}

impl StepsAsked<'_> {
    /// Whether an answer without steps would be none.
    fn must_have_steps(&self) -> bool {
        *self != StepsAsked::default()
    }

    /// Whether there are the steps that are asked for, by their numbers.
    ///
    /// # Errors
    /// If there are none, or not the one.
    pub(super) fn check<T>(&self, steps: &BTreeMap<u64, T>) -> Result<(), StepError> {
        let (Some((&first, _)), Some((&last, _))) = (steps.first_key_value(), steps.last_key_value()) else {
            return if self.must_have_steps() { Err(StepError::NotRecorded) } else { Ok(()) };
        };
        match self.step {
            Some(step) if !steps.contains_key(&step) => {
                Err(StepError::Unknown { step, known: (first, last, steps.len()) })
            }
            _ => Ok(()),
        }
    }
}

impl Accelerators {
    /// The same, with the steps of a question.
    ///
    /// # Errors
    /// If the question is about steps, and no region marks them.
    pub fn with_steps(self, asked: &StepsAsked<'_>, definitions: &Definitions) -> Result<Self, StepError> {
        match StepMarks::new(definitions, asked.marks) {
            Ok(steps) => Ok(Accelerators { steps, ..self }),
            Err(error) if asked.must_have_steps() => Err(error),
            Err(_) => Ok(self),
        }
    }

    /// Whether a location is a thread of a process that drives a device.
    pub fn is_driver(&self, definitions: &Definitions, location: LocationId) -> bool {
        let location = definitions.location(location);
        self.apis.has(location) && !crate::devices::is_stream(location)
    }

    /// The same, with steps that were found elsewhere: their numbers and times, by thread, in order.
    pub fn with_found_steps(self, steps: &FoundSteps) -> Self {
        let call = |&(number, TimeRange { start, end }): &(u64, TimeRange)| StepCall {
            number: Some(number),
            start,
            end,
        };
        let found = steps.iter().map(|(&location, of)| (location, of.iter().map(call).collect()));
        Accelerators { found: found.collect(), ..self }
    }
}

impl AcceleratorsOutput {
    /// Whether an operation is selected: by its stream, the time when it begins, and its step.
    pub(super) fn counts(&self, stream: &Stream<'_>, nth: usize) -> bool {
        self.selected_of(stream.location).has(stream.operations[nth].start)
            && self.is_of_step(stream.location, nth)
    }

    /// Whether an operation is of the selected step; always if none is selected.
    pub(super) fn is_of_step(&self, stream: LocationId, nth: usize) -> bool {
        self.only_step.is_none_or(|step| self.steps.of(stream, nth) == Some(step))
    }
}

/// Whether the steps of a location are of interest: those of threads.
pub(super) fn has_steps(apis: &DeviceApis, cx: &LocationCx<'_>) -> bool {
    let location = cx.definitions.location(cx.location);
    apis.has(location) && !crate::devices::is_stream(location)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_at_the_end_of_a_name_is_that_of_the_step() {
        let cases = [("epoch 3", Some(3)), ("iteration", None), ("step#010", Some(10)), ("7", Some(7))];
        for (name, wanted) in cases {
            assert_eq!(last_number(name), wanted, "{name}");
        }
    }
}
