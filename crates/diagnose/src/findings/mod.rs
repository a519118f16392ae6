//! Findings: what costs run time, why, on what evidence, and what could be gained.
//!
//! ```text
//! phases ──► stages ──┬─ imbalance = Σ (max busy − mean busy) ──► one finding for each call path
//!                     ├─ cost of the synchronisation = Σ min S ──► one for each collective
//!                     ├─ rest of the waiting ──► by what is waited for: messages, locks, …
//!                     └─ busy time over the iterations ──► slow iterations, growth
//! ```
//!
//! Law: each nanosecond of `length − mean busy` of a phase is assigned to one finding, so losses count nothing twice;
//! the other side of a loss (uneven work makes others wait) is evidence, not a finding. What the run would gain is found
//! by replay where it can be. Gains below 1 % of the run are not findings; if there are no others, that is
//! the finding. Most gain first. For how phases are made see `ouzel_analyses::phases`.

mod accelerators;
mod calls;
mod cause;
mod context;
mod counters;
mod devices;
mod draft;
mod explained;
mod finding;
mod growing;
mod host_collectives;
mod hub;
mod imbalance;
mod load;
mod message_waiting;
mod messages;
mod moving;
mod not_running;
mod nothing;
mod ranks;
mod repetition;
mod replayed;
mod series;
mod set_up;
mod slow;
mod slow_ranks;
mod small_io;
mod stages;
#[cfg(test)]
mod tests;
mod threads;
mod told_apart;
mod tradeoff;
mod variation;
mod waiting;
pub(crate) mod words;
mod work;
mod working;

pub use explained::explain;
pub use finding::{Confidence, Evidence, Finding, FindingKind, GainBy, Iterations, Quantity, QuantityUnit};
pub use ranks::Ranks;
pub use variation::{TopologyAxis, VariesLike, VariesRow};

use crate::accelerators_card::AcceleratorsCard;
use crate::losses::Loss;
use crate::recorded::Recorded;
use crate::steps::Steps;
use crate::wait_sums::WaitSums;
use context::Context;
pub(crate) use context::SIGNIFICANT;
use draft::Draft;
use ouzel_analyses::breakdown::BreakdownOutput;
use ouzel_analyses::call_path_profile::ProfileOutput;
use ouzel_analyses::communication_totals::CommunicationOutput;
use ouzel_analyses::io_totals::IoOutput;
use ouzel_analyses::message_waits::LateMessagesOutput;
use ouzel_analyses::metric_profile::MetricProfileOutput;
use ouzel_analyses::phases::PhasesOutput;
use ouzel_analyses::phases::epochs::Epoch;
use ouzel_analyses::semantics::{Category, Class, Family};
use ouzel_model::{CallPathId, Definitions};
use ouzel_replay::Replay;
use ouzel_waits::DelaysOutput;
use ouzel_waits::accelerators::{DeviceLoss, DeviceLossKind};
use replayed::Replays;
use waiting::Theme;

/// What findings are made from. Call paths are numbered alike in all of it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sources<'a> {
    pub definitions: &'a Definitions,
    /// By region.
    pub classes: &'a [Class],
    pub profile: &'a ProfileOutput,
    pub communication: &'a CommunicationOutput,
    pub io: &'a IoOutput,
    /// What counters gained by call path, if the processor's were recorded.
    pub counters: Option<&'a MetricProfileOutput>,
    pub phases: &'a PhasesOutput,
    /// Of the main group of the phases.
    pub epochs: &'a [Epoch],
    /// Which rank waited for whose message, if messages were paired.
    pub late: Option<&'a LateMessagesOutput>,
    /// The run, to be replayed with changes.
    pub replay: Option<&'a Replay>,
    /// Which code makes others wait.
    pub delays: Option<&'a DelaysOutput>,
    /// What runs with accelerators lose, by replay of hosts and streams; none if that cannot be replayed.
    pub devices: Option<&'a [DeviceLoss]>,
    /// How accelerators were used, if any ran.
    pub accelerators: Option<&'a AcceleratorsCard>,
    /// The iterations of the program's own loops.
    pub steps: &'a Steps,
    /// How much of the collectives on threads is hidden; none if accelerators or no thread run any.
    pub breakdown: Option<&'a BreakdownOutput>,
    /// Waiting for messages in the wrong order, and of threads for locks.
    pub waits: &'a WaitSums,
    /// By call path: whether findings about it are wanted; none if all are.
    pub wanted: Option<&'a [bool]>,
    /// Where threads wait longest for others of their process, if that is a loss.
    pub threads_wait: Option<&'a Loss>,
    /// Whether times of different ranks can be compared.
    pub clocks_are_right: bool,
    /// Whether the trace is complete.
    pub nothing_lost: bool,
    /// What sentences may mention.
    pub recorded: Recorded,
}

/// What costs time, and what all of it is.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    /// Most gain first; at least one, unless there is nothing to look at.
    pub list: Vec<Finding>,
    /// What the run would gain without all of it, in nanoseconds.
    pub gain_together_ns: u64,
    /// If some calls are selected: the number of findings about others.
    pub n_elsewhere: Option<usize>,
    /// Whether little of the run is computation, and no finding says why.
    pub is_unexplained: bool,
}

/// Whether any finding may be about waiting whose cause the delays tell.
pub(crate) fn wants_delays(sources: &Sources<'_>) -> bool {
    let cx = context(sources);
    cx.is_some_and(|cx| {
        drafts(&cx).iter().any(|draft| cx.is_significant(draft.loss) && cause::is_told(draft.kind))
    })
}

fn context<'a>(sources: &Sources<'a>) -> Option<Context<'a>> {
    let main = sources.phases.main_group();
    let group = main.filter(|group| group.run_time.0 != 0)?;
    let Sources { definitions, classes, profile, communication, io, counters, late, .. } = *sources;
    Some(Context {
        definitions,
        classes,
        profile,
        communication,
        io,
        counters,
        late,
        group,
        stages: stages::stages(group, sources.steps),
        steps: sources.steps,
        epochs: sources.epochs,
        waits: sources.waits,
        clocks_are_right: sources.clocks_are_right,
        nothing_lost: sources.nothing_lost,
        recorded: sources.recorded,
    })
}

/// What the rules find, by the times between synchronisations.
fn drafts(cx: &Context<'_>) -> Vec<Draft> {
    let mut waiting = waiting::waiting(cx);
    let mut drafts = imbalance::imbalances(cx, &mut waiting);
    drafts.extend(calls::synchronisations(cx));
    let mut running = Vec::new();
    for waiting in waiting.iter().filter(|waiting| 0 < waiting.ticks) {
        // Themes are in order: threads that do not run come first, and others wait for them.
        let first = drafts.len();
        match waiting.theme {
            Theme::Running => {
                running.extend(not_running::running(waiting));
                drafts.push(not_running::not_running(cx, waiting));
                continue;
            }
            Theme::Messages => drafts.extend(messages::messages(cx, waiting)),
            _ => drafts.extend(calls::theme(cx, waiting)),
        }
        for draft in &mut drafts[first..] {
            draft.remedy_before.splice(0..0, running.iter().cloned());
        }
    }
    drafts.extend(repetition::repetitions(cx));
    drafts.extend(devices::idle(cx));
    drafts.extend(small_io::small_operations(cx));
    drafts
}

/// The findings.
pub(crate) fn findings(sources: &Sources<'_>) -> Findings {
    let Some(cx) = context(sources) else { return Findings::default() };
    let mut drafts = drafts(&cx);
    // Calls of the runtime wait for what a replay of hosts and streams has, or take the time that it does without.
    let is_of_runtime = |path| cx.class(path).is_some_and(|class| class.family == Family::CudaHip);
    let is_kept = |draft: &Draft| {
        sources.devices.is_none_or(|losses| {
            let is_told = is_told_by_losses(draft.kind) || is_told_by_stragglers(&cx, draft.kind, losses);
            !is_told && !is_of_runtime(draft.path)
        })
    };
    let largest = drafts.iter().filter(|draft| is_kept(draft)).max_by_key(|draft| draft.gain);
    let largest = largest.map(|draft| (draft.title.clone(), draft.gain));
    drafts.retain(|draft| cx.is_significant(draft.loss) && draft.is_above_band(&cx));
    let replays = sources.replay.and_then(|replay| Replays::new(replay, &cx));
    if let Some(replays) = &replays {
        for draft in &mut drafts {
            replays.add_to(draft, &cx);
            if let Some(delays) = sources.delays {
                cause::add_cause(draft, delays, replays, &cx);
            }
        }
    }
    for draft in &mut drafts {
        draft.bound(&cx);
        if replays.is_none() && sources.recorded.messages && draft.kind == FindingKind::ExcessSynchronisation
        {
            let (confidence, reason) = &mut draft.confidence;
            *confidence = Confidence::Possible;
            *reason += "; the run was not replayed, and messages may keep the ranks together all the same";
        }
    }
    if let Some(losses) = sources.devices {
        drafts.retain(is_kept);
        // What is not replayed comes from samples, or is exact and has no band.
        let is_sure = |draft: &Draft| draft.replayed.is_some() || draft.is_above_band(&cx);
        drafts.extend(accelerators::drafts(&cx, losses).into_iter().filter(is_sure));
    }
    drafts.extend(sources.breakdown.and_then(|breakdown| host_collectives::exposed(&cx, breakdown)));
    drafts.retain(|draft| cx.is_significant(draft.stated_loss()) && cx.is_significant(draft.stated_gain()));
    let order = |draft: &Draft| (std::cmp::Reverse(draft.stated_gain()), draft.kind, draft.path);
    drafts.sort_by(|a, b| order(a).cmp(&order(b)).then_with(|| a.title.cmp(&b.title)));
    if let Some(replays) = &replays {
        replays.without_repetitions(&mut drafts, &cx);
    }
    let n_all = drafts.len();
    let is_wanted = |draft: &Draft| {
        let of = |path: &CallPathId| sources.wanted.is_none_or(|wanted| wanted[path.index()]);
        of(&draft.path) || draft.also.iter().any(of)
    };
    drafts.retain(is_wanted);
    let n_elsewhere = sources.wanted.map(|_| n_all - drafts.len());
    let together = together(&drafts, replays.as_ref());
    if n_all == 0 {
        drafts.push(nothing::nothing(&cx, sources, largest));
    }
    let is_unexplained = n_all == 0 && sources.accelerators.is_none() && !nothing::computes_mostly(&cx);
    // Remarks have no gain, and come after findings that have one.
    let remarks = tradeoff::tradeoffs(&cx).into_iter();
    drafts.extend(remarks.filter(|draft| draft.is_above_band(&cx) && is_wanted(draft)));
    // Some changes together may gain less than one of them alone.
    let largest = drafts.iter().map(Draft::stated_gain).max().unwrap_or_default();
    Findings {
        gain_together_ns: cx.ns(together.max(largest).min(cx.run())),
        list: drafts.into_iter().map(|draft| draft.finish(&cx)).collect(),
        n_elsewhere,
        is_unexplained,
    }
}

/// Whether replays of hosts and streams find such losses better.
fn is_told_by_losses(kind: FindingKind) -> bool {
    matches!(kind, FindingKind::IdleDevice | FindingKind::WaitingForDevice)
}

/// Whether collectives of accelerators bind the ranks, of which times between synchronisations of hosts know nothing, as
/// there are none.
fn is_told_by_stragglers(cx: &Context<'_>, kind: FindingKind, losses: &[DeviceLoss]) -> bool {
    matches!(kind, FindingKind::Serialisation | FindingKind::LoadImbalance)
        && cx.group.phases.len() <= 1
        && losses.iter().any(|loss| loss.kind == DeviceLossKind::Straggler)
}

/// What the findings gain together, at least. Those of hosts and streams are each replayed alone: the largest counts.
fn together(drafts: &[Draft], replays: Option<&Replays<'_>>) -> u64 {
    let is_other = |draft: &&Draft| !accelerators::is_replayed(draft.kind);
    match replays {
        Some(replays) => replays.together(drafts),
        None => drafts.iter().filter(is_other).map(|draft| draft.gain).sum(),
    }
}

/// Whether so much time passes in point-to-point calls that it matters which side was late: more than 1 % of the run,
/// as the mean over all processes.
pub(crate) fn wants_messages(profile: &ProfileOutput, definitions: &Definitions, classes: &[Class]) -> bool {
    is_mpi_significant(profile, definitions, classes, |category| category == Category::Wait)
}

/// The same for all calls of MPI.
pub(crate) fn wants_replay(profile: &ProfileOutput, definitions: &Definitions, classes: &[Class]) -> bool {
    is_mpi_significant(profile, definitions, classes, |_| true)
}

/// Whether threads wait for locks, joins and each other for more than 1 % of the run, as the mean over all threads.
pub(crate) fn wants_threads(profile: &ProfileOutput, classes: &[Class]) -> bool {
    let waits = |path| {
        let class = profile.call_paths.region(path).map(|region| classes[region.index()]);
        class.is_some_and(|class| {
            class.category != Category::Computation
                && matches!(class.family, Family::Pthread | Family::OpenMp)
        })
    };
    let rows = profile.locations.iter().flat_map(|location| &location.rows);
    let sum: u128 =
        rows.filter(|row| waits(row.call_path)).map(|row| u128::from(row.times.exclusive.0)).sum();
    let run = profile.run_range.map(|range| range.end.since(range.start)).unwrap_or_default();
    let limit = u128::from(run.0) * profile.locations.len() as u128;
    limit < sum.saturating_mul((1.0 / SIGNIFICANT) as u128)
}

fn is_mpi_significant(
    profile: &ProfileOutput,
    definitions: &Definitions,
    classes: &[Class],
    is_meant: impl Fn(Category) -> bool,
) -> bool {
    let times = ouzel_analyses::mpi_time::mpi_time(profile, definitions, classes);
    let run = profile.run_range.map(|range| range.end.since(range.start)).unwrap_or_default();
    let meant = times.rows.iter().filter(|row| is_meant(row.category));
    let sum: u128 = meant.map(|row| row.time.sum).sum();
    let limit = u128::from(run.0) * u128::from(times.n_processes.max(1));
    let is_mpi = classes.iter().any(|class| class.family == Family::Mpi);
    is_mpi && limit < sum.saturating_mul((1.0 / SIGNIFICANT) as u128)
}
