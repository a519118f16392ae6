//! The efficiencies of the run in a trace: one pass over all that they take, that of a replay without transfers too.

use crate::all_calls::changes_nothing;
use crate::phases::PlanKeys;
use crate::trees::{TreeKeys, trees_of};
use crate::{Answer, AskError, Options, Trace};
use ouzel_analyses::call_path_profile::{CallPathProfile, ProfileOutput};
use ouzel_analyses::critical_path::{CallsOfMpi, RangesInMpi};
use ouzel_analyses::metric_profile::MetricProfile;
use ouzel_analyses::phases::Phases;
use ouzel_analyses::phases::epochs::epochs;
use ouzel_analyses::semantics::{Class, Semantics};
use ouzel_context_tree::ContextTreesOutput;
use ouzel_diagnose::clusters::peers_text;
use ouzel_diagnose::{Steps, TrustCard, iterations_of_epochs, ranks_without_events};
use ouzel_efficiency::device::device_metrics;
use ouzel_efficiency::{
    CounterIds, DeviceActivity, HybridModel, Part, PartKind, Reason, RegionOfInterest, RunEfficiency,
    Threads, TraceEfficiency, Unavailable, UsefulCounters, hybrid, parts,
};
use ouzel_engine::{AnalysisError, AnalysisSet, Key, Report};
use ouzel_model::{Definitions, LocationKind, Ticks, TimeRange};
use ouzel_replay::Graph;
use ouzel_waits::Waits;

/// Which efficiencies.
#[derive(Debug, Clone, Default)]
pub struct EfficiencyQuery {
    /// What regions mean.
    pub semantics: Semantics,
    /// How to split the loss between processes and threads; `None`: not at all.
    pub hybrid: Option<HybridModel>,
    /// Which parts of the run; `None`: the whole alone.
    pub per: Option<PartKind>,
}

impl Trace {
    /// How well the time of the run was used, and what takes the rest. One pass, and another where samples
    /// or different calls do not show the order of synchronisations.
    ///
    /// # Errors
    /// If the pass was cancelled, or an analysis cannot answer.
    pub fn efficiency(
        &self,
        query: &EfficiencyQuery,
        options: &Options<'_>,
    ) -> Result<Answer<TraceEfficiency>, AskError> {
        let definitions = self.definitions();
        let (all_calls, selected) = self.of_all_calls(options);
        let options = &all_calls;
        let EfficiencyQuery { semantics, hybrid, per } = query;
        let classes = semantics.classes(definitions);
        let mut set = AnalysisSet::default();
        let profile = set.add(CallPathProfile);
        let counters = CounterIds::of(definitions).any().then(|| set.add_silent(MetricProfile));
        let is_stream = |kind| kind == LocationKind::AcceleratorStream;
        let has_streams = definitions.locations.iter().any(|location| is_stream(location.kind));
        let devices = has_streams.then(|| set.add_silent(DeviceActivity::new(&classes)));
        let wants_phases = per.is_some_and(|kind| kind != PartKind::Cluster);
        let phases =
            wants_phases.then(|| set.add(Phases { semantics: semantics.clone(), ..Phases::default() }));
        let keys = wants_phases.then(|| PlanKeys::add_to(&mut set, definitions, semantics));
        let wants_trees = matches!(per, Some(PartKind::Cluster | PartKind::Iteration | PartKind::Epoch));
        let trees = wants_trees
            .then(|| TreeKeys::add_beside_calls(&mut set, self, trees_of(semantics, options), options));
        let replay = Replayed::add_to(&mut set, definitions, options);
        let mut pass = self.run(&set, options)?;
        let profile = pass.outputs.take(&profile)?;
        let replay = replay.map(|keys| keys.take(&mut pass, definitions)).transpose()?;
        let counters = counters.map(|key| pass.outputs.take(&key)).transpose()?;
        let devices = devices.map(|key| pass.outputs.take(&key)).transpose()?;
        let phases = phases.map(|key| pass.outputs.take(&key)).transpose()?;
        let trees = trees.map(|keys| keys.take(&mut pass, self, options)).transpose()?;
        let inputs = keys.map(|keys| keys.take(&mut pass)).transpose()?.flatten();
        let phases = match phases {
            Some(phases) => match self.planned_phases(&phases, inputs, semantics, options)? {
                Some(planned) => Some(planned.output),
                None => Some(phases),
            },
            None => None,
        };
        let known = Known::new(definitions, &classes, &profile, &pass);
        let ideal = known.ideal_run_time(replay);
        let run = known.run(counters.as_ref(), ideal.clone());
        let parts = per.map(|kind| {
            let parts = match (kind, &phases, &trees) {
                (PartKind::Cluster, _, Some(trees)) => known.clusters(trees),
                (_, Some(phases), trees) => {
                    known.parts(kind, phases, &trees.as_ref().map(Steps::new).unwrap_or_default())
                }
                _ => Ok(Vec::new()),
            };
            (kind, parts)
        });
        let efficiency = TraceEfficiency {
            clock: definitions.clock,
            hybrid: hybrid.map(|model| (model, known.hybrid(model, &ideal))),
            devices: devices.filter(|devices| !devices.is_empty()).map(|devices| {
                let threads = known.threads.as_ref().map_err(|error| Reason::new(error.as_str()));
                (devices.len() as u64, device_metrics(&devices, &threads, run.run_time))
            }),
            parts,
            run,
        };
        let mut answer = Answer::new(efficiency, pass);
        if let Some(selection) = selected {
            answer.notices.extend(changes_nothing("efficiencies", &selection));
            answer.notices.sort_by_key(|notice| std::cmp::Reverse(notice.level));
        }
        Ok(answer)
    }
}

/// What a replay without transfers takes, in the pass of the rest.
struct Replayed {
    waits: Key<Waits>,
    calls: Key<CallsOfMpi>,
}

impl Replayed {
    /// Nothing if a part of the run is selected: it cannot be replayed.
    fn add_to(set: &mut AnalysisSet, definitions: &Definitions, options: &Options<'_>) -> Option<Self> {
        options.filter.is_everything().then(|| Replayed {
            waits: set.add_silent(Waits::with_edges(definitions).silent()),
            calls: set.add_silent(CallsOfMpi::new(definitions)),
        })
    }

    fn take(
        self,
        pass: &mut Report,
        definitions: &Definitions,
    ) -> Result<(Graph, RangesInMpi), AnalysisError> {
        let edges = pass.outputs.take(&self.waits)?.edges.expect("they were asked for");
        Ok((Graph::new(&edges, definitions), pass.outputs.take(&self.calls)?))
    }
}

/// What a pass tells.
struct Known<'a> {
    definitions: &'a Definitions,
    classes: &'a [Class],
    trust: TrustCard,
    threads: Result<Threads, Unavailable>,
    run_time: Ticks,
}

impl<'a> Known<'a> {
    fn new(
        definitions: &'a Definitions,
        classes: &'a [Class],
        profile: &ProfileOutput,
        pass: &Report,
    ) -> Self {
        let without: Vec<u32> =
            ranks_without_events(definitions, pass).into_iter().map(|rank| rank.0).collect();
        let trust = TrustCard::new(&pass.notices, &pass.locations, &without, definitions);
        let threads = trust.threads(profile, definitions, classes);
        let run_time = profile.run_range.map_or(Ticks(0), |range| range.end.since(range.start));
        Known { definitions, classes, trust, threads, run_time }
    }

    /// The run without transfer times: a replay in which calls of MPI take no time but waiting.
    fn ideal_run_time(&self, replay: Option<(Graph, RangesInMpi)>) -> Result<Ticks, Reason> {
        let is_incomplete = |location| self.trust.is_incomplete(location, self.definitions);
        let Some((graph, calls)) = replay else {
            return Err(Reason::new("the replay is of the whole run, not of a selection"));
        };
        if self.definitions.location_ids().any(is_incomplete) {
            return Err(Reason::new("ranks are incomplete, so the run cannot be replayed"));
        }
        graph.doubt().map_or_else(|| Ok(graph.ideal_run_time(&calls)), |reason| Err(Reason::new(reason)))
    }

    fn run(
        &self,
        counters: Option<&ouzel_analyses::metric_profile::MetricProfileOutput>,
        ideal: Result<Ticks, Reason>,
    ) -> RunEfficiency {
        let threads = match &self.threads {
            Ok(threads) => threads,
            Err(error) => return RunEfficiency::unavailable(*error, self.run_time),
        };
        let run = RunEfficiency::new(threads, ideal);
        match counters {
            Some(counters) => {
                let counters = UsefulCounters::new(threads, counters, self.definitions, self.classes);
                run.with_counters(counters)
            }
            None => run,
        }
    }

    fn hybrid(
        &self,
        model: HybridModel,
        ideal: &Result<Ticks, Reason>,
    ) -> Vec<ouzel_efficiency::MetricValue> {
        match &self.threads {
            Ok(threads) => hybrid::hybrid(model, threads, ideal, self.definitions),
            Err(error) => hybrid::missing(model, &Reason::new(error.as_str())),
        }
    }

    /// The threads, or why there are none, for parts of the run.
    fn threads(&self) -> Result<&Threads, Reason> {
        self.threads.as_ref().map_err(|error| Reason::new(error.as_str()))
    }

    fn parts(
        &self,
        kind: PartKind,
        phases: &ouzel_analyses::phases::PhasesOutput,
        steps: &Steps,
    ) -> Result<Vec<Part>, Reason> {
        self.threads()?;
        let is_incomplete = |location| self.trust.is_incomplete(location, self.definitions);
        match kind {
            PartKind::Iteration => {
                let own = |iterations: &[TimeRange]| steps.own_loop(iterations);
                parts::iterations(phases, self.definitions, &is_incomplete, &own)
            }
            PartKind::Epoch => {
                let main = phases.main_group();
                let found = main.map(epochs).unwrap_or_default();
                let iterations = main.map(|group| iterations_of_epochs(&found, steps, group));
                let found = (found.as_slice(), iterations.as_deref().unwrap_or_default());
                parts::epochs(phases, self.definitions, &is_incomplete, found)
            }
            PartKind::Program => {
                let none = || Reason::new("no call that starts or ends the parallel program is recorded");
                let group = phases.main_group().ok_or_else(none)?;
                let interest = RegionOfInterest::new(self.threads()?, group).ok_or_else(none)?;
                Ok(vec![interest.part()])
            }
            PartKind::Segment | PartKind::Cluster => {
                parts::segments(phases, self.definitions, &is_incomplete)
            }
        }
    }

    fn clusters(&self, trees: &ContextTreesOutput) -> Result<Vec<Part>, Reason> {
        let threads = self.threads()?;
        let clusters = trees.groups.iter().flat_map(|group| {
            group.clusters.iter().filter_map(|cluster| {
                let name = (u64::from(cluster.id), peers_text(group.kind));
                parts::cluster(threads, self.definitions, name, &cluster.members)
            })
        });
        Ok(clusters.collect())
    }
}
