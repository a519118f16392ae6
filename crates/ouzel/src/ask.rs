//! One question, one answer: runs the passes that it takes, for all front ends.
//!
//! ```text
//! ask          analysis ──one pass──► output
//! ask_in_bins  guess of the range ──pass──► run range ──is the guess exact?──► output, else a second pass ──► output
//! critical_path  pass over operations ──► path ──pass over the calls in it──► profile of the path
//! what_if      pass over dependencies ──► graph ──pass over the calls between its points──► replays, see what_if.rs
//! diagnose     pass of the report ──MPI costs time?──► pass over dependencies, if these are many ──► pass over the calls
//!              between them ──► report
//! ```
//!
//! Several analyses together cost one pass, see [`Trace::run`]. Law: the answer does not depend on how many passes it
//! took. The results themselves are computed in `ouzel_analyses` and `ouzel_diagnose`.

use crate::path_keys::PathKeys;
use crate::phases::{PlanKeys, replaced};
use crate::trees::{TreeKeys, TreesBesidePhases, trees_of};
use crate::{Options, Trace, Variations, wants_causes, wants_variations};
use ouzel_analyses::By;
use ouzel_analyses::call_path_profile::CallPathProfile;
use ouzel_analyses::critical_path::{
    PathCalls, PathCallsOutput, PathProfile, WaitsOfDevices, critical_path, profile,
};
use ouzel_analyses::logical_lateness::{Cycle, LatenessOutput, lateness};
use ouzel_analyses::message_waits::LateMessages;
use ouzel_analyses::paired_operations::Operations;
use ouzel_analyses::patterns::{
    CallSeries, PatternError, PatternOptions, PatternsOutput, ProfileError, patterns,
};
use ouzel_analyses::semantics::{Class, Semantics};
use ouzel_analyses::severity_cube::SeverityCube;
use ouzel_analyses::time_grid::TimeGrid;
use ouzel_context_tree::{ContextTrees, ContextTreesOutput};
use ouzel_diagnose::clusters::Data as Clusters;
use ouzel_diagnose::segments::{Detail, SegmentsCard, Which};
use ouzel_diagnose::{Material, ReportAnalyses, RunReport, Steps};
use ouzel_engine::{AnalysisError, AnalysisSet, Coverage, Outputs, PassError, Question, Report};
use ouzel_files::memory;
use ouzel_model::{
    Definitions, Filter, Level, Notice, NoticeCode, Notices, Ticks, TimeRange, WorldRank, did_you_mean,
};
use ouzel_replay::{ChangeError, Graph, Replay};
use ouzel_waits::accelerators::{DeviceWhatIfError, DevicesOfRun, ReportedDevices, StepError};
use ouzel_waits::{DelaysOutput, Dependencies, KeptRecords, PathImpact, WaitRecords, Waits, WaitsOutput};
use std::num::NonZeroU16;
use std::num::NonZeroUsize;

/// An answer, and how far it can be trusted.
#[derive(Debug, Clone)]
pub struct Answer<T> {
    /// The result of the analysis.
    pub output: T,
    /// How much of the trace was read.
    pub coverage: Coverage,
    /// From the first event to the last over the locations that run code; `None` without events.
    pub run_range: Option<TimeRange>,
    /// What went wrong, worst first.
    pub notices: Vec<Notice>,
}

impl<T> Answer<T> {
    /// The output of a pass.
    pub fn new(output: T, pass: Report) -> Self {
        let Report { coverage, run_range, notices, .. } = pass;
        Answer { output, coverage, run_range, notices }
    }

    /// The same with another output.
    pub fn map<U>(self, f: impl FnOnce(T) -> U) -> Answer<U> {
        let Answer { output, coverage, run_range, notices } = self;
        Answer { output: f(output), coverage, run_range, notices }
    }

    /// The same with another output, if there is one.
    ///
    /// # Errors
    /// The error of `f`.
    pub fn try_map<U, E>(self, f: impl FnOnce(T) -> Result<U, E>) -> Result<Answer<U>, E> {
        let Answer { output, coverage, run_range, notices } = self;
        Ok(Answer { output: f(output)?, coverage, run_range, notices })
    }
}

/// A report, and the results it was made from.
#[derive(Debug)]
pub struct Diagnosed {
    /// The outputs of the passes.
    pub material: Material,
    /// The report.
    pub report: RunReport,
    /// What each region means.
    pub classes: Vec<Class>,
    /// What varies like the findings, where a topology exists.
    pub variations: Option<Variations>,
    /// The call paths that locations and iterations have in common.
    pub trees: ContextTreesOutput,
    /// The outputs of what else was asked in the first pass, by the keys of its set.
    pub beside: Outputs,
}

/// Waits, the code that makes others wait, and what the critical path says of it.
pub type DelaysAndImpact = (WaitsOutput, DelaysOutput, Option<PathImpact>);

/// Why a question has no answer.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// The pass did not complete.
    #[error(transparent)]
    Pass(#[from] PassError),
    /// The analysis cannot answer for this trace.
    #[error(transparent)]
    Analysis(#[from] AnalysisError),
    /// The dependencies of operations form a cycle.
    #[error(transparent)]
    Cycle(#[from] Cycle),
    /// There are too many severities for memory, and they could not be written to a temporary file.
    #[error("severities cannot be kept in a temporary file: {0}")]
    Spill(#[from] std::io::Error),
    /// Nothing repeats.
    #[error(transparent)]
    Pattern(#[from] PatternError),
    /// A change cannot be made.
    #[error(transparent)]
    Change(#[from] ChangeError),
    /// There are no such steps.
    #[error(transparent)]
    Steps(#[from] StepError),
    /// The run cannot be replayed with changes of what accelerators do.
    #[error(transparent)]
    Devices(#[from] DeviceWhatIfError),
    /// A change names code that the run does not have.
    #[error("no region or call path is named {name:?}{}", did_you_mean(near))]
    NoSuchCode {
        /// What was asked for.
        name: String,
        /// Regions that are spelled much like it.
        near: Vec<String>,
    },
}

impl Trace {
    /// The output of one analysis.
    ///
    /// # Errors
    /// If the pass was cancelled, or the analysis cannot answer.
    pub fn ask<Q: Question>(
        &self,
        question: Q,
        options: &Options<'_>,
    ) -> Result<Answer<Q::Output>, AskError> {
        let mut set = AnalysisSet::default();
        let key = set.add(question);
        let mut pass = self.run(&set, options)?;
        let output = pass.outputs.take(&key)?;
        Ok(Answer::new(output, pass))
    }

    /// The output of an analysis in `n_bins` bins of equal width over the run. One pass if the trace declares its
    /// length rightly, else two; see [`time_grid`](ouzel_analyses::time_grid).
    ///
    /// # Errors
    /// If a pass was cancelled, or the analysis cannot answer.
    pub fn ask_in_bins<Q: Question>(
        &self,
        n_bins: NonZeroU16,
        question: impl Fn(TimeGrid) -> Q,
        options: &Options<'_>,
    ) -> Result<Answer<Q::Output>, AskError> {
        let definitions = self.definitions();
        let window = options.filter.resolve(definitions).window;
        let run = match TimeGrid::guess(definitions, window, n_bins) {
            None => self.run(&AnalysisSet::default(), options)?.run_range,
            Some(guess) => {
                let answer = self.ask(question(guess), options)?;
                if guess.is_exact_for(answer.run_range) {
                    return Ok(answer);
                }
                answer.run_range
            }
        };
        // Without events there is nothing to put into bins.
        let run = run.unwrap_or(TimeRange { start: Ticks(0), end: Ticks(0) });
        self.ask(question(TimeGrid::new(run, n_bins)), options)
    }

    /// The critical path of the run, and what is on it. Two passes; the second looks only at the path.
    ///
    /// # Errors
    /// If a pass was cancelled, or an analysis cannot answer.
    pub fn critical_path(&self, options: &Options<'_>) -> Result<Answer<PathProfile>, AskError> {
        self.with_callers(By::CallPath, options, |options| self.path_of_all_calls(options))
    }

    fn path_of_all_calls(&self, options: &Options<'_>) -> Result<Answer<PathProfile>, AskError> {
        let definitions = self.definitions();
        let mut set = AnalysisSet::default();
        let keys = PathKeys::new(&mut set, definitions);
        let mut pass = self.run(&set, options)?;
        let notices = Notices::default();
        notices.extend(pass.notices.iter().cloned());
        let (path, _) = keys.path(&mut pass.outputs, definitions, &notices)?;
        let answer = Answer::new((), pass);
        let calls = self.ask(PathCalls::new(&path), options)?.output;
        let classes = Semantics::default().classes(definitions);
        Ok(Answer {
            notices: notices.to_vec(),
            ..answer.map(|()| profile(&path, &calls, &classes, definitions))
        })
    }

    /// Which calls wait for other ranks, of which kind, how long, and for whom.
    ///
    /// # Errors
    /// If the pass was cancelled, or the analysis cannot answer.
    pub fn waits(&self, options: &Options<'_>) -> Result<Answer<WaitsOutput>, AskError> {
        self.with_callers(By::CallPath, options, |options| {
            Ok(explained(self.ask(Waits::new(self.definitions()), options)?))
        })
    }

    /// Which calls wait for other ranks, and which earlier code makes them wait. Two passes; the second looks at the
    /// whole run, whatever is selected.
    ///
    /// # Errors
    /// If a pass was cancelled, or an analysis cannot answer.
    pub fn delays(&self, options: &Options<'_>) -> Result<Answer<(WaitsOutput, DelaysOutput)>, AskError> {
        let Some((all, shown)) = self.shown_calls(options) else {
            return self.delays_of_all_calls(options);
        };
        let mut answer =
            self.delays_of_all_calls(&all)?.map(|(waits, delays)| (shown.of(waits), shown.of(delays)));
        shown.tell(&mut answer.notices);
        Ok(answer)
    }

    fn delays_of_all_calls(
        &self,
        options: &Options<'_>,
    ) -> Result<Answer<(WaitsOutput, DelaysOutput)>, AskError> {
        let mut answer = explained(self.ask(Waits::with_dependencies(self.definitions()), options)?);
        let mut dependencies = bounded(&mut answer.output);
        let calls = self.accepted(&mut dependencies, None, options)?;
        let (delays, parts) = dependencies.delays(&calls);
        answer.output.parts = parts;
        Ok(answer.map(|waits| (waits, delays)))
    }

    /// The same with what the critical path says of the code that makes others wait; without it if only some ranks or
    /// calls are selected. Two passes.
    ///
    /// # Errors
    /// If a pass was cancelled, or an analysis cannot answer.
    pub fn delays_and_impact(&self, options: &Options<'_>) -> Result<Answer<DelaysAndImpact>, AskError> {
        let definitions = self.definitions();
        if !(Filter { time_ns: None, ..options.filter.clone() }).is_everything() {
            return Ok(self.delays(options)?.map(|(waits, delays)| (waits, delays, None)));
        }
        let mut set = AnalysisSet::default();
        let waits = set.add(Waits::with_dependencies(definitions));
        let operations = set.add_silent(Operations::new(definitions).silent());
        let times = set.add_silent(CallPathProfile);
        let mut pass = self.run(&set, options)?;
        let (waits, operations) = (pass.outputs.take(&waits)?, pass.outputs.take(&operations)?);
        let times = pass.outputs.take(&times)?;
        let mut answer = explained(Answer::new(waits, pass));
        let path = critical_path(&operations, &WaitsOfDevices::default(), definitions, &Notices::default());
        drop(operations);
        let mut dependencies = bounded(&mut answer.output);
        let mut set = AnalysisSet::default();
        let calls = set.add(dependencies.second_pass());
        let on_path = set.add_silent(PathCalls::new(&path));
        let mut pass = self.run(&set, &of_whole_run(options))?;
        let calls = self.accepted(&mut dependencies, Some(pass.outputs.take(&calls)?), options)?;
        let (delays, parts) = dependencies.delays(&calls);
        answer.output.parts = parts;
        let classes = Semantics::default().classes(definitions);
        let path = profile(&path, &pass.outputs.take(&on_path)?, &classes, definitions);
        let impact = PathImpact::new(&path, &times, &answer.output, definitions);
        Ok(answer.map(|waits| (waits, delays, Some(impact))))
    }

    /// The result of a second pass over `dependencies` that their memory suffices for: `calls` or that of another pass.
    fn accepted(
        &self,
        dependencies: &mut Dependencies,
        calls: Option<PathCallsOutput>,
        options: &Options<'_>,
    ) -> Result<PathCallsOutput, AskError> {
        let pass = |of: &Dependencies| -> Result<PathCallsOutput, AskError> {
            Ok(self.ask(of.second_pass(), &of_whole_run(options))?.output)
        };
        let mut calls = calls.map_or_else(|| pass(dependencies), Ok)?;
        while !dependencies.accepts(&calls) {
            calls = pass(dependencies)?;
        }
        Ok(calls.shown(self.definitions().filtered_region))
    }

    /// How late each operation ends after the first of its peers.
    ///
    /// # Errors
    /// If the pass was cancelled, the analysis cannot answer, or operations wait for each other in a cycle: then
    /// messages are matched wrongly or clocks are wrong.
    pub fn lateness(&self, options: &Options<'_>) -> Result<Answer<LatenessOutput>, AskError> {
        let definitions = self.definitions();
        let answer = self.ask(Operations::new(definitions), options)?;
        answer.try_map(|operations| Ok(lateness(operations, definitions)?))
    }

    /// What repeats in the calls of the main thread of `rank`, or of the smallest rank that is selected.
    ///
    /// # Errors
    /// If the pass or the comparison after it, whose time grows with the square of the number of calls, was cancelled,
    /// or nothing repeats or can be compared.
    pub fn patterns(
        &self,
        rank: Option<WorldRank>,
        pattern: &PatternOptions,
        options: &Options<'_>,
    ) -> Result<Answer<PatternsOutput>, AskError> {
        let series = CallSeries { rank };
        let answer = self.ask(series, options)?;
        match patterns(&answer.output, pattern, options.jobs, options.progress) {
            Ok(found) => Ok(answer.map(|_| found)),
            Err(PatternError::Profile(ProfileError::Cancelled)) => Err(PassError::Cancelled.into()),
            Err(error) => Err(error.into()),
        }
    }

    /// Which locations and iterations are alike; `semantics` says what regions mean.
    ///
    /// # Errors
    /// If the pass was cancelled, or the analysis cannot answer.
    pub fn context_trees(
        &self,
        semantics: &Semantics,
        options: &Options<'_>,
    ) -> Result<Answer<ContextTreesOutput>, AskError> {
        self.context_trees_of(trees_of(semantics, options), options)
    }

    /// Which locations are alike, and in which call paths the others differ; `semantics` says what regions mean.
    ///
    /// # Errors
    /// If the pass was cancelled, or the analysis cannot answer.
    pub fn clusters(
        &self,
        semantics: &Semantics,
        options: &Options<'_>,
    ) -> Result<Answer<Clusters>, AskError> {
        self.clusters_of(trees_of(semantics, options), options)
    }

    /// [`clusters`](Self::clusters) of these trees.
    ///
    /// # Errors
    /// If the pass was cancelled, or the analysis cannot answer.
    pub fn clusters_of(
        &self,
        trees: ContextTrees,
        options: &Options<'_>,
    ) -> Result<Answer<Clusters>, AskError> {
        let definitions = self.definitions();
        let mut set = AnalysisSet::default();
        let keys = TreeKeys::add_beside_calls(&mut set, self, trees, options);
        let profile = set.add(CallPathProfile);
        let mut pass = self.run(&set, options)?;
        let trees = keys.take(&mut pass, self, options)?;
        let profile = pass.outputs.take(&profile)?;
        Ok(Answer::new(Clusters::new(&trees, &profile, definitions), pass))
    }

    /// What each segment of the run loses, and each of its iterations if they are asked for; `semantics` says what regions
    /// mean. The passes of [`phases`](Self::phases), and those of context trees where iterations are named.
    ///
    /// # Errors
    /// If the pass was cancelled, or the analysis cannot answer.
    pub fn segments(
        &self,
        semantics: &Semantics,
        (which, detail): (Which, Detail),
        options: &Options<'_>,
    ) -> Result<Answer<SegmentsCard>, AskError> {
        let definitions = self.definitions();
        let (all_calls, selected) = self.of_all_calls(options);
        let options = &all_calls;
        let mut phases = self.phases(semantics, options)?;
        let steps = match SegmentsCard::names_iterations(&phases.output, detail) {
            true => {
                let trees = trees_of(semantics, options);
                Steps::new(&self.trees_with_phases(trees, &phases.output, options)?)
            }
            false => Steps::default(),
        };
        if let Some(selection) = &selected {
            phases.notices.extend(selection.unmatched.iter().cloned());
            phases.notices.sort_by_key(|notice| std::cmp::Reverse(notice.level));
        }
        let classes = semantics.classes(definitions);
        Ok(phases.map(|phases| {
            let card = SegmentsCard::new(&phases, &steps, (definitions, &classes), (which, detail));
            match &selected {
                Some(selection) => card.with_paths_of(&selection.of_paths(&phases.call_paths, definitions)),
                None => card,
            }
        }))
    }

    /// The report about the run; `semantics` says what regions mean, and what `beside` asks is answered in the same pass.
    /// One pass, and others where waiting costs time: over messages and collectives, if there are too many for the first pass, and over
    /// the calls between them.
    ///
    /// # Errors
    /// If a pass was cancelled, or an analysis cannot answer.
    pub fn diagnose(
        &self,
        semantics: &Semantics,
        beside: AnalysisSet,
        options: &Options<'_>,
    ) -> Result<Answer<Diagnosed>, AskError> {
        let definitions = self.definitions();
        let (all_calls, selected) = self.of_all_calls(options);
        let options = &all_calls;
        let mut set = beside;
        let analyses = ReportAnalyses::add_to(&mut set, definitions, semantics);
        let trees = TreesBesidePhases::add_to(&mut set, self, trees_of(semantics, options), options);
        let wants_cube = wants_variations(definitions) || wants_causes(definitions);
        let cube = wants_cube.then(|| set.add_silent(SeverityCube::as_evidence()));
        let keys = PlanKeys::add_to(&mut set, definitions, semantics);
        let records = keeps_records(definitions, options).then(|| {
            let waits = Waits::with_dependencies_and_edges(definitions).silent();
            set.add_silent(WaitRecords::new(waits, memory::share(RECORD_BYTES)))
        });
        let mut pass = self.run(&set, options)?;
        let records = records.map(|key| pass.outputs.take(&key)).transpose()?.flatten();
        let mut material = analyses.gather(&mut pass, definitions)?;
        let inputs = keys.take(&mut pass)?;
        if let Some(planned) = self.planned_phases(material.phases(), inputs, semantics, options)? {
            let notices = match planned.notices {
                Some(second) => replaced(material.notices(), &second),
                None => material.notices().to_vec(),
            };
            material.set_phases(planned.output, notices);
        }
        let trees = trees.take(&mut pass, material.phases(), self, options)?;
        material.set_steps(Steps::new(&trees));
        self.add_dependencies(&mut material, records, semantics, options)?;
        let cube = cube.map(|cube| pass.outputs.take(&cube)).transpose()?;
        let mut variations = cube.map(|cube| Variations::new(cube, definitions));
        material.add_notices(variations.as_ref().map_or(&[], Variations::notices));
        if let Some(selection) = selected {
            material.add_notices(&selection.unmatched);
            material.want_calls(&selection, definitions);
        }
        let mut report = material.report(definitions);
        if let Some(variations) = &mut variations {
            variations.add_to(&mut report, options.jobs);
            variations.explain(&mut report, semantics, options.jobs);
        }
        let notices = material.notices().to_vec();
        let classes = semantics.classes(definitions);
        let beside = std::mem::take(&mut pass.outputs);
        let diagnosed = Diagnosed { material, report, classes, variations, trees, beside };
        Ok(Answer { notices, ..Answer::new(diagnosed, pass) })
    }
}

impl Trace {
    /// Adds to a report who waited for whom, and the run ready to be replayed, where these cost time: from `records`, or
    /// by a pass over messages and collectives; and a pass over the calls between them.
    fn add_dependencies(
        &self,
        material: &mut Material,
        records: Option<KeptRecords>,
        semantics: &Semantics,
        options: &Options<'_>,
    ) -> Result<(), AskError> {
        let definitions = self.definitions();
        // A part of a run cannot be replayed without the rest.
        let is_whole = options.filter.is_everything();
        let mut set = AnalysisSet::default();
        let late =
            material.wants_messages(definitions).then(|| LateMessages { semantics: semantics.clone() });
        let waits = (is_whole && material.wants_replay(definitions))
            .then(|| Waits::with_dependencies_and_edges(definitions).silent());
        // Both are made of the same ends of messages.
        let (late, waits) = match (late, waits) {
            (Some(late), Some(waits)) => (None, Some(waits.with_late_messages(late))),
            alone => alone,
        };
        let late = late.map(|late| set.add(late));
        let (waits, kept) = match (waits, records) {
            (Some(waits), Some(records)) => (None, Some((waits, records))),
            (waits, _) => (waits, None),
        };
        let waits = waits.map(|waits| set.add_silent(waits));
        // Threads and accelerators are left out of the run that is replayed.
        let within = (is_whole && material.wants_waits_within_processes())
            .then(|| set.add_silent(Waits::new(definitions).without_devices().silent()));
        let devices = (is_whole && material.wants_accelerators())
            .then(|| set.add_silent(ReportedDevices::new(definitions, memory::share(DEVICE_BYTES))));
        let needs_pass = late.is_some() || waits.is_some() || within.is_some() || devices.is_some();
        let mut pass = needs_pass.then(|| self.run(&set, options)).transpose()?;
        let mut within_output = None;
        if let Some(pass) = &mut pass {
            within_output = within.map(|key| pass.outputs.take(&key)).transpose()?;
            if let Some(devices) = devices {
                add_devices(material, pass.outputs.take(&devices)?, definitions, options.jobs)?;
            }
            if let Some(late) = late {
                let late = pass.outputs.take(&late)?;
                material.add_messages(late, &pass.notices);
            }
        }
        let waits = match (kept, waits, pass) {
            (Some((waits, records)), ..) => {
                let notices = Notices::default();
                Some((waits.of_records(records, definitions, &notices)?, notices.to_vec()))
            }
            (None, Some(key), Some(mut pass)) => Some((pass.outputs.take(&key)?, pass.notices)),
            _ => None,
        };
        match waits {
            Some((waits, notices)) => self.add_waits(material, waits, &notices, within_output, options)?,
            None => within_output.iter().for_each(|within| material.add_waits(within)),
        }
        Ok(())
    }

    /// Adds to a report who waited for whom, and the run ready to be replayed: a pass over the calls between messages and
    /// collectives. `within` is what processes wait for within themselves, too.
    fn add_waits(
        &self,
        material: &mut Material,
        mut waits: WaitsOutput,
        notices: &[Notice],
        within: Option<WaitsOutput>,
        options: &Options<'_>,
    ) -> Result<(), AskError> {
        let definitions = self.definitions();
        let late = waits.late.take();
        late.into_iter().for_each(|late| material.add_messages(late, notices));
        let graph = Graph::new(&waits.edges.take().expect("they were asked for"), definitions);
        material.add_waits(within.as_ref().unwrap_or(&waits));
        let mut dependencies = bounded(&mut waits);
        // The pass takes memory of its own.
        drop((waits, within));
        let wants_delays = material.wants_delays(definitions);
        let mut set = AnalysisSet::default();
        let in_pieces = set.add(graph.second_pass());
        let in_intervals = wants_delays.then(|| set.add(dependencies.second_pass()));
        let mut pass = self.run(&set, options)?;
        material.add_replay(Replay::new(graph, pass.outputs.take(&in_pieces)?, definitions));
        if let Some(in_intervals) = in_intervals {
            let calls = pass.outputs.take(&in_intervals)?;
            let calls = self.accepted(&mut dependencies, Some(calls), options)?;
            material.add_delays(dependencies.delays(&calls).0);
        }
        Ok(())
    }
}

/// Adds to a report what accelerators do, and what the run loses with them.
fn add_devices(
    material: &mut Material,
    devices: DevicesOfRun,
    definitions: &Definitions,
    jobs: NonZeroUsize,
) -> Result<(), AskError> {
    material.add_summary(devices.summary());
    material.add_notices(&devices.remarks(definitions));
    material.add_device_idle(devices.idle(), devices.call_paths());
    if material.knows_hosts(devices.tells_of_hosts()) {
        let (losses, notice) = devices.losses(definitions, jobs)?;
        material.add_notices(notice.as_slice());
        losses.into_iter().for_each(|losses| material.add_accelerators(losses));
    }
    Ok(())
}

/// Whether the first pass of a report keeps the records of waits: they are cheap beside the rest if everything is
/// selected, so that all analyses see the same calls, and ranks may wait for each other. Where there are many, memory is
/// what a report is short of.
fn keeps_records(definitions: &Definitions, options: &Options<'_>) -> bool {
    if MOST_KEPT < definitions.locations.len() {
        return false;
    }
    let mut ranks = definitions.locations.iter().filter_map(|location| location.rank);
    let first = ranks.next();
    options.filter.is_everything() && ranks.any(|rank| Some(rank) != first)
}

/// Bytes for the records of waits that the first pass of a report keeps, or an eighth of the memory limit: beyond,
/// another pass reads them.
const RECORD_BYTES: u64 = 64 << 20;

/// Bytes for calls and operations of accelerators that are replayed together, or an eighth of the memory limit: beyond,
/// the run is replayed in parts.
pub(crate) const DEVICE_BYTES: u64 = 64 << 20;

/// Most locations of which it keeps any.
const MOST_KEPT: usize = 1024;

/// Bytes for what the second pass over waits finds, or an eighth of the memory limit: beyond, the shortest waits are
/// divided by rate.
const DELAY_BYTES: u64 = 256 << 20;

/// The dependencies of waits, within that memory.
fn bounded(waits: &mut WaitsOutput) -> Dependencies {
    waits.dependencies.take().expect("they were asked for").within(memory::share(DELAY_BYTES))
}

/// The same for all ranks at all times.
pub(crate) fn of_whole_run<'a>(options: &Options<'a>) -> Options<'a> {
    let filter = Filter { ranks: None, time_ns: None, ..options.filter.clone() };
    Options { filter, ..options.clone() }
}

/// The same with a notice that says why waiting is unknown, unless the pass has said what the trace lacks.
fn explained(mut answer: Answer<WaitsOutput>) -> Answer<WaitsOutput> {
    let is_said = answer.notices.iter().any(|notice| notice.code == NoticeCode::NotAvailable);
    if let (Some(missing), false) = (answer.output.missing(), is_said) {
        let notices = Notices::default();
        notices.extend(answer.notices.drain(..));
        let message = format!("waiting is unknown: {missing}");
        notices.push(Notice::new(Level::Medium, NoticeCode::NotAvailable, message));
        answer.notices = notices.to_vec();
    }
    answer
}
