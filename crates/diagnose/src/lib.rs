//! From results of analyses to a report: what ran, how far it can be trusted, how well
//! the time was used, where it was lost, and what to look at next.
//!
//! Everything here is data; front ends turn it into pages. Law: the name of every number has its unit and its
//! documentation its formula; it is computed from exact sums by one division. Folding events and printing are done
//! elsewhere.
#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod accelerators_card;
mod advice;
mod cluster_differences;
pub mod clusters;
mod epochs;
pub mod findings;
mod headline;
mod interest;
pub mod iterations;
mod losses;
pub mod profile;
mod recorded;
mod run_card;
pub mod segments;
mod steps;
mod trust_card;
mod wait_sums;

pub use accelerators_card::{AcceleratorIdle, AcceleratorsCard};
pub use advice::Advice;
pub use cluster_differences::PathDifference;
pub use epochs::{EpochCard, iterations as iterations_of_epochs};
pub use headline::Headline;
pub use interest::InterestCard;
pub use losses::{Loss, LossKind, RankTime};
pub use profile::{ProfileInputs, ProfileReport};
pub use recorded::{Recorded, ranks_without_events};
pub use run_card::RunCard;
pub use segments::{AlignmentCard, SegmentBand, SegmentCard, SegmentPath, SegmentsCard};
pub use trust_card::{Concern, TrustCard};

use findings::{Finding, Findings, Ranks, Sources};
use ouzel_analyses::breakdown::{Breakdown, BreakdownOutput, HostCode, Requests};
use ouzel_analyses::call_path_profile::{CallPathProfile, ProfileOutput};
use ouzel_analyses::communication_totals::{Communication, CommunicationOutput};
use ouzel_analyses::inventory::Inventory;
use ouzel_analyses::io_totals::{Io, IoOutput};
use ouzel_analyses::message_waits::LateMessagesOutput;
use ouzel_analyses::metric_profile::{MetricProfile, MetricProfileOutput};
use ouzel_analyses::phases::epochs::{Epoch, epochs};
use ouzel_analyses::phases::{Phases, PhasesOutput};
use ouzel_analyses::semantics::{Class, Family, Semantics};
use ouzel_efficiency::{CounterIds, Metric, Reason, RegionOfInterest, RunEfficiency, Threads, Unavailable};
use ouzel_engine::{AnalysisError, AnalysisSet, Key, LocationSummary, Report};
use ouzel_model::{
    CallPathId, CallPathTree, Definitions, Level, LocationId, Notice, NoticeCode, Selection, Ticks, units,
};
use ouzel_replay::Replay;
use ouzel_waits::accelerators::{AcceleratorsSummary, DeviceLoss, DeviceLosses};
use ouzel_waits::{DelaysOutput, WaitClass, WaitsOutput};
use segments::{Detail, Which};
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;
pub use steps::Steps;
use wait_sums::WaitSums;

/// What an empty call path is called.
pub const NO_REGION: &str = "code outside of recorded regions";

/// The one page about a run, as data.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunReport {
    /// What ran.
    pub run: RunCard,
    /// How far the answer can be trusted. Losses of data are listed before findings.
    pub trust: TrustCard,
    /// The run in a sentence.
    pub headline: Headline,
    /// How accelerators were used; `null` if none ran, or only a part of the run is selected.
    pub accelerators: Option<AcceleratorsCard>,
    /// How well the ranks' time was used; `null` where that is not known, see `efficiency_missing`.
    pub efficiency: Option<EfficiencyCard>,
    /// Why there are no efficiencies; `null` if there are.
    pub efficiency_missing: Option<String>,
    /// Ranks whose events are incomplete: efficiencies are over the others.
    pub efficiency_left_out: Ranks,
    /// The run without start-up and end; `null` if neither is recorded, or there are no efficiencies.
    pub region_of_interest: Option<InterestCard>,
    /// What costs run time and why, most gain first. Each gain is that of its own change; what all gain together is in
    /// `headline`.
    pub findings: Vec<Finding>,
    /// Parts in which the same ranks have most to do, and others in the next, in order of time; `[]` if the same ranks
    /// have most to do in the whole run, or others in each phase.
    pub epochs: Vec<EpochCard>,
    /// The segments that lose time, in order of time: those of `ouzel segments`, without their iterations.
    #[serde(serialize_with = "alone")]
    #[cfg_attr(feature = "schema", schemars(with = "Vec<SegmentCard>"))]
    pub segments: SegmentsCard,
    /// The run time without the losses in `segments`.
    pub projected_run_time_ns: u64,
    /// Half width of the band around it: how far samples can be off; 0 if times are exact.
    pub projected_band_ns: u64,
    /// How it is known which synchronisations of different ranks are one, and how far.
    pub alignment: AlignmentCard,
    /// Where time is lost, most first. Uneven work and waiting are two sides of the same loss: they do not add up.
    pub losses: Vec<Loss>,
    /// What to look at next.
    pub next: Vec<Advice>,
}

/// The segments without what is said of all of them.
fn alone<S: Serializer>(card: &SegmentsCard, serializer: S) -> Result<S::Ok, S::Error> {
    card.segments.serialize(serializer)
}

/// Efficiencies of the run, after the POP methodology. All are ratios from 0 to 1;
/// `parallel = load_balance * communication`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EfficiencyCard {
    /// Number of threads or processes compared.
    pub n_compared: u64,
    /// Whether threads were compared; else processes, which then have one thread each.
    pub of_threads: bool,
    /// Mean computing time / run time.
    #[cfg_attr(feature = "schema", schemars(range(min = 0.0, max = 1.0)))]
    pub parallel: f64,
    /// Mean computing time / computing time of the busiest thread or process.
    #[cfg_attr(feature = "schema", schemars(range(min = 0.0, max = 1.0)))]
    pub load_balance: f64,
    /// Computing time of the busiest thread or process / run time.
    #[cfg_attr(feature = "schema", schemars(range(min = 0.0, max = 1.0)))]
    pub communication: f64,
    /// Computing time of the busiest thread or process / run time if transfers took no time; `null` if not replayed.
    #[cfg_attr(feature = "schema", schemars(range(min = 0.0, max = 1.0)))]
    pub serialisation: Option<f64>,
    /// Run time if transfers took no time / run time; `null` if not replayed.
    #[cfg_attr(feature = "schema", schemars(range(min = 0.0, max = 1.0)))]
    pub transfer: Option<f64>,
}

impl EfficiencyCard {
    /// Each ratio with its name and its meaning in words: the first is the product of the next two, the third that of
    /// the others.
    pub fn in_words(&self) -> Vec<(&'static str, f64, String)> {
        let who = if self.of_threads { "thread" } else { "rank" };
        let [of_all, of_average, of_busiest] = match self.n_compared {
            1 => [
                "of its time is computation".to_owned(),
                format!("one {who}: there is nothing to compare"),
                format!("of the run is computation on the {who}"),
            ],
            _ => [
                format!("of all {who}s' time is computation"),
                format!(
                    "the average {who} computes {} as long as the busiest",
                    units::percent(Some(self.load_balance))
                ),
                format!("of the run is computation on the busiest {who}"),
            ],
        };
        let mut words = vec![
            ("parallel efficiency", self.parallel, of_all),
            ("= load balance", self.load_balance, of_average),
            ("× communication efficiency", self.communication, of_busiest),
        ];
        words.extend(self.serialisation.map(|value| {
            let meaning =
                format!("of the run would be computation on the busiest {who} if transfers took no time");
            ("  = serialisation", value, meaning)
        }));
        words.extend(self.transfer.map(|value| {
            ("  × transfer", value, "of the run would be left if transfers took no time".to_owned())
        }));
        words
    }

    fn of(threads: &Threads, replay: Option<&Replay>) -> Self {
        let ideal = match replay {
            Some(replay) if replay.doubt().is_none() => Ok(replay.ideal_run_time()),
            _ => Err(Reason::new("the run was not replayed")),
        };
        let run = RunEfficiency::new(threads, ideal);
        let value = |metric| run.get(metric).unwrap_or_default();
        EfficiencyCard {
            n_compared: run.n_threads,
            of_threads: threads.is_multithreaded(),
            parallel: value(Metric::Parallel),
            load_balance: value(Metric::LoadBalance),
            communication: value(Metric::Communication),
            serialisation: run.get(Metric::Serialisation),
            transfer: run.get(Metric::Transfer),
        }
    }
}

impl RunReport {
    /// The ranks that the efficiencies leave out; `None` if none.
    pub fn efficiency_note(&self) -> Option<String> {
        let left_out = &self.efficiency_left_out;
        let note = || format!("Without {}, whose events are incomplete.", left_out.in_words(usize::MAX));
        (self.efficiency.is_some() && !left_out.is_empty()).then(note)
    }

    /// Why there may be no losses, or which of their times are too small; `None` if all is known.
    pub fn losses_note(&self) -> Option<String> {
        if self.trust.definitions_lost {
            return Some(format!("Not known: {}.", Unavailable::NoDefinitions));
        }
        let incomplete = self.trust.incomplete_ranks();
        let note = || {
            format!(
                "The events of {} are incomplete, so the times are too small.",
                incomplete.in_words(usize::MAX)
            )
        };
        (!incomplete.is_empty() && !self.trust.lost.is_empty()).then(note)
    }

    /// What waiting for accelerators in the losses means, where it is known how busy these are.
    pub fn device_waits_note(&self) -> Option<&'static str> {
        let waits = self.losses.iter().any(|loss| loss.kind == LossKind::WaitForDevice);
        let note = "While a thread waits for an accelerator, that may be at work: the findings say what can be gained.";
        (waits && self.accelerators.is_some()).then_some(note)
    }
}

/// The analyses that a report is made from.
///
/// ```text
/// add_to a set ─► first pass ─► gather ─► Material ─┬─ wants_messages? ─► second pass of LateMessages ─► add_messages
///                                                   └─► report
/// ```
#[derive(Debug)]
pub struct ReportAnalyses {
    classes: Vec<Class>,
    profile: Key<CallPathProfile>,
    inventory: Key<Inventory>,
    communication: Key<Communication>,
    io: Key<Io>,
    phases: Key<Phases>,
    /// If the trace has counters of the processor.
    counters: Option<Key<MetricProfile>>,
    breakdown: Option<Key<Breakdown>>,
}

impl ReportAnalyses {
    /// Adds them to the set of a pass; `semantics` says what regions mean.
    pub fn add_to(set: &mut AnalysisSet, definitions: &Definitions, semantics: &Semantics) -> Self {
        let classes = semantics.classes(definitions);
        // Without accelerators, collectives of these libraries run on threads, beside others that compute.
        let on_threads =
            classes.iter().any(|class| class.family == Family::Nccl) && !losses::has_streams(definitions);
        let breakdown = || Breakdown::new(&classes, HostCode::default(), Requests::LeftOut);
        let breakdown = on_threads.then(|| set.add_silent(breakdown()));
        ReportAnalyses {
            classes,
            breakdown,
            profile: set.add(CallPathProfile),
            inventory: set.add(Inventory),
            // Not every program communicates.
            communication: set.add_silent(Communication),
            io: set.add_silent(Io),
            counters: CounterIds::of(definitions).any().then(|| set.add_silent(MetricProfile)),
            phases: set.add(Phases { semantics: semantics.clone(), ..Phases::default() }),
        }
    }

    /// Collects the results of the pass.
    ///
    /// # Errors
    /// If one of the analyses could not answer.
    pub fn gather(self, report: &mut Report, definitions: &Definitions) -> Result<Material, AnalysisError> {
        let mut profile = report.outputs.take(&self.profile)?;
        let is_beside = definitions.drawn_beside();
        profile.locations.retain(|it| !is_beside[it.location.index()]);
        let breakdown = self.breakdown.map(|key| report.outputs.take(&key)).transpose()?;
        let inventory = report.outputs.take(&self.inventory)?;
        let communication = report.outputs.take(&self.communication)?;
        let io = report.outputs.take(&self.io)?;
        let counters = self.counters.map(|key| report.outputs.take(&key)).transpose()?;
        // Analyses that see more than the selection have call paths of their own.
        let phases = report.outputs.take(&self.phases)?.numbered_like(&mut profile.call_paths);
        let run = RunCard::new(definitions, report, &inventory, &communication);
        let (mut notices, locations) = (report.notices.clone(), report.locations.clone());
        notices.extend(of_profiler(&profile, definitions));
        let classes = self.classes;
        Ok(Material {
            classes,
            run,
            notices,
            locations,
            profile,
            communication,
            io,
            counters,
            epochs: phases.main_group().map(epochs).unwrap_or_default(),
            steps: Steps::default(),
            phases,
            late: None,
            replay: None,
            delays: None,
            waits: WaitSums::default(),
            devices: None,
            accelerators: None,
            breakdown,
            wanted: None,
        })
    }

    /// The report of the pass, without a second one for late messages.
    ///
    /// # Errors
    /// If one of the analyses could not answer.
    pub fn finish(self, report: &mut Report, definitions: &Definitions) -> Result<RunReport, AnalysisError> {
        Ok(self.gather(report, definitions)?.report(definitions))
    }
}

/// A profiler's own work counts if it takes this part of the run on a thread, in percent.
const OWN_WORK_SAID: u64 = 1;

/// Says what the profiler itself does on threads, if that is no small part of the run: it is none of the program's.
fn of_profiler(profile: &ProfileOutput, definitions: &Definitions) -> Option<Notice> {
    let run = profile.run_range?;
    let run = run.end.since(run.start);
    let region_of =
        |path| profile.call_paths.region(path).filter(|it| definitions.region(*it).is_of_profiler());
    let own = profile.locations.iter().map(|location| {
        let rows =
            location.rows.iter().filter_map(|row| Some((region_of(row.call_path)?, row.times.exclusive)));
        let rows: Vec<_> = rows.collect();
        let sum: u64 = rows.iter().map(|it| it.1.0).sum();
        (sum, rows.into_iter().max_by_key(|it| (it.1, std::cmp::Reverse(it.0))))
    });
    let (sum, most) = own.max_by_key(|it| it.0)?;
    let (region, _) = most.filter(|_| run.0 * OWN_WORK_SAID <= sum * 100)?;
    let ns = |ticks: u64| definitions.clock.ns_from_ticks(Ticks(ticks));
    let message = format!(
        "the profiler's own work, most in {:?}, takes {} of the {} of the run on one thread: shares of the run are smaller than those of the program alone",
        definitions.region(region).name,
        units::time(ns(sum)),
        units::time(ns(run.0)),
    );
    let level = if run.0 <= sum * 10 { Level::Medium } else { Level::Low };
    Some(Notice::new(level, NoticeCode::Recording, message))
}

/// What a report is made from: the outputs of the first pass, and of the second if there was one.
#[derive(Debug)]
pub struct Material {
    classes: Vec<Class>,
    run: RunCard,
    notices: Vec<Notice>,
    locations: BTreeMap<LocationId, LocationSummary>,
    profile: ProfileOutput,
    communication: CommunicationOutput,
    io: IoOutput,
    counters: Option<MetricProfileOutput>,
    phases: PhasesOutput,
    epochs: Vec<Epoch>,
    steps: Steps,
    late: Option<LateMessagesOutput>,
    replay: Option<Replay>,
    delays: Option<DelaysOutput>,
    waits: WaitSums,
    devices: Option<Vec<DeviceLoss>>,
    accelerators: Option<AcceleratorsSummary>,
    /// Of runs whose threads run collectives beside others.
    breakdown: Option<BreakdownOutput>,
    /// By call path of the profile: whether findings and losses in it are wanted; none if all are.
    wanted: Option<Vec<bool>>,
}

impl Material {
    /// Whether messages take more than 1 % of the run, so that a second pass with
    /// [`LateMessages`](ouzel_analyses::message_waits::LateMessages) is worth its time.
    pub fn wants_messages(&self, definitions: &Definitions) -> bool {
        self.late.is_none() && findings::wants_messages(&self.profile, definitions, &self.classes)
    }

    /// Adds what a second pass with the same filter reports about messages, and its notices that are new.
    pub fn add_messages(&mut self, late: LateMessagesOutput, notices: &[Notice]) {
        // The first pass has reported what was read, and which messages lack a side.
        let is_new = |notice: &&Notice| notice.code == NoticeCode::MessageOrder;
        self.notices.extend(notices.iter().filter(is_new).cloned());
        self.late = Some(late.numbered_like(&mut self.profile.call_paths));
    }

    /// Whether the run can be replayed, and waiting in MPI takes more than 1 % of it.
    pub fn wants_replay(&self, definitions: &Definitions) -> bool {
        let several = self.run.recorded.several_processes() && self.run.recorded.calls;
        several && findings::wants_replay(&self.profile, definitions, &self.classes)
    }

    /// Whether accelerators are driven, or threads wait for each other for more than 1 % of the run.
    pub fn wants_waits_within_processes(&self) -> bool {
        let threads =
            || self.run.recorded.several_threads() && findings::wants_threads(&self.profile, &self.classes);
        self.run.recorded.calls && (0 < self.run.n_accelerator_streams || threads())
    }

    /// Whether any finding may be about waiting, so that it matters which code makes others wait.
    pub fn wants_delays(&self, definitions: &Definitions) -> bool {
        findings::wants_delays(&self.sources(definitions, true))
    }

    /// Adds the whole run, to be replayed with the changes that findings are about.
    pub fn add_replay(&mut self, replay: Replay) {
        self.replay = Some(replay);
    }

    /// Adds which calls wait, of which class.
    pub fn add_waits(&mut self, waits: &WaitsOutput) {
        self.waits.add_all(waits, &mut self.profile.call_paths);
    }

    /// Whether streams of accelerators ran.
    pub fn wants_accelerators(&self) -> bool {
        0 < self.run.n_accelerator_streams
    }

    /// Whether it is known what hosts do while accelerators have nothing to do: calls are recorded, at least those that
    /// launch, or samples show it.
    pub fn knows_hosts(&self, tells_of_hosts: bool) -> bool {
        self.run.recorded.calls || tells_of_hosts
    }

    /// Adds how accelerators were used.
    pub fn add_summary(&mut self, summary: Option<AcceleratorsSummary>) {
        self.accelerators = summary;
    }

    /// Adds the time between kernels of devices, by the code that it is charged to and its thread.
    pub fn add_device_idle(
        &mut self,
        idle: impl Iterator<Item = (CallPathId, LocationId, Ticks)>,
        tree: &CallPathTree,
    ) {
        let remap = self.profile.call_paths.absorb(tree);
        for (path, location, ticks) in idle {
            self.waits.add(WaitClass::DeviceIdle, remap.path(path), (location, ticks));
        }
    }

    /// Adds what the run loses with its accelerators.
    pub fn add_accelerators(&mut self, losses: DeviceLosses) {
        let remap = self.profile.call_paths.absorb(&losses.call_paths);
        let mut list = losses.list;
        for loss in &mut list {
            loss.call_path = remap.path(loss.call_path);
            loss.alternatives.iter_mut().for_each(|path| *path = remap.path(*path));
        }
        self.devices = Some(list);
    }

    /// Adds which code makes others wait.
    pub fn add_delays(&mut self, delays: DelaysOutput) {
        self.delays = Some(delays.numbered_like(&mut self.profile.call_paths));
    }

    /// Replaces the phases by those of a second pass, and the notices.
    pub fn set_phases(&mut self, phases: PhasesOutput, notices: Vec<Notice>) {
        let phases = phases.numbered_like(&mut self.profile.call_paths);
        self.epochs = phases.main_group().map(epochs).unwrap_or_default();
        self.phases = phases;
        self.notices = notices;
    }

    /// Adds the iterations of the program's own loops.
    pub fn set_steps(&mut self, steps: Steps) {
        self.steps = steps;
    }

    /// Keeps what is said of some call paths to those that are selected: findings and losses. All else is about all
    /// calls, which the passes have to see. After all results have been added.
    pub fn want_calls(&mut self, selection: &Selection, definitions: &Definitions) {
        self.wanted = Some(selection.of_paths(&self.profile.call_paths, definitions));
    }

    /// Adds notices from other sources.
    pub fn add_notices(&mut self, notices: &[Notice]) {
        self.notices.extend_from_slice(notices);
    }

    /// All notices of the passes.
    pub fn notices(&self) -> &[Notice] {
        &self.notices
    }

    /// Times by call path and synchronisation.
    pub fn phases(&self) -> &PhasesOutput {
        &self.phases
    }

    /// What each region means.
    pub fn classes(&self) -> &[Class] {
        &self.classes
    }

    /// Times by call path and location.
    pub fn profile(&self) -> &ProfileOutput {
        &self.profile
    }

    /// What findings are made from.
    fn sources<'a>(&'a self, definitions: &'a Definitions, nothing_lost: bool) -> Sources<'a> {
        let has = |code| self.notices.iter().any(|notice| notice.code == code);
        Sources {
            definitions,
            classes: &self.classes,
            profile: &self.profile,
            communication: &self.communication,
            io: &self.io,
            counters: self.counters.as_ref(),
            phases: &self.phases,
            epochs: &self.epochs,
            steps: &self.steps,
            late: self.late.as_ref(),
            replay: self.replay.as_ref(),
            delays: self.delays.as_ref(),
            waits: &self.waits,
            devices: self.devices.as_deref(),
            accelerators: None,
            breakdown: self.breakdown.as_ref(),
            wanted: self.wanted.as_deref(),
            threads_wait: None,
            clocks_are_right: !has(NoticeCode::ClocksUnsynchronised) && !has(NoticeCode::MessageOrder),
            nothing_lost,
            recorded: self.run.recorded,
        }
    }

    /// The report.
    pub fn report(&self, definitions: &Definitions) -> RunReport {
        let Material { classes, run, notices, locations, profile, phases, replay, .. } = self;
        let trust = TrustCard::new(notices, locations, &run.ranks_without_events, definitions);
        let lost_definitions = trust.definitions_lost;
        let efficiency_left_out = trust.incomplete_ranks();
        let has_teams = classes.iter().any(|class| class.family == Family::OpenMp);
        let threads = trust.threads(profile, definitions, classes);
        let threads = threads.and_then(|threads| threads.comparable(has_teams));
        // Without names it is unknown which regions compute and which wait.
        let group = phases.main_group();
        let losses = match lost_definitions {
            true => Vec::new(),
            false => losses::losses(profile, definitions, classes, group, self.wanted.as_deref()),
        };
        let interest = threads
            .as_ref()
            .ok()
            .zip(group)
            .and_then(|(threads, group)| RegionOfInterest::new(threads, group));
        let (efficiency, efficiency_missing) = match threads {
            Ok(threads) => (Some(EfficiencyCard::of(&threads, replay.as_ref())), None),
            Err(reason) => (None, Some(reason.to_string())),
        };
        let accelerators =
            self.accelerators.as_ref().map(|it| AcceleratorsCard::new(it, run.span_ns, &definitions.clock));
        let sources = Sources {
            accelerators: accelerators.as_ref(),
            threads_wait: losses.iter().find(|loss| loss.kind == LossKind::WaitForThreads),
            ..self.sources(definitions, trust.lost.is_empty())
        };
        let findings = if lost_definitions { Findings::default() } else { findings::findings(&sources) };
        let segments = match lost_definitions {
            true => SegmentsCard { projected_run_time_ns: run.span_ns, ..SegmentsCard::empty() },
            false => {
                let what = (Which::Reported, Detail::Sums);
                let card = SegmentsCard::with_epochs(
                    phases,
                    (&self.epochs, &self.steps),
                    (definitions, classes),
                    what,
                );
                // A host alone waits for its accelerators, which the findings say.
                let drives = accelerators.is_some() && !run.recorded.several_processes();
                if drives { card.without_segments() } else { card }
            }
        };
        let region_of_interest =
            interest.map(|of| InterestCard::new(&of, segments.lost_inside_outside_ns, &definitions.clock));
        let headline = Headline::new(run, &trust, &findings, efficiency_missing.as_deref());
        let next = advice::advise(
            run,
            &trust,
            efficiency.as_ref(),
            (&losses, region_of_interest.as_ref()),
            (profile, classes),
        );
        RunReport {
            run: run.clone(),
            trust,
            headline,
            accelerators,
            efficiency,
            efficiency_missing,
            efficiency_left_out,
            region_of_interest,
            findings: findings.list,
            projected_run_time_ns: segments.projected_run_time_ns,
            projected_band_ns: segments.projected_band_ns,
            alignment: segments.alignment.clone(),
            epochs: segments.epochs.clone(),
            segments,
            losses,
            next,
        }
    }
}
