//! Findings about runs with accelerators: each loss that `ouzel_waits::accelerators` finds by replay.
//!
//! Their gains are those of replays of hosts and streams, and take the place of gaps that are charged to code.

use super::context::Context;
use super::draft::{Draft, Saving};
use super::finding::{Confidence, Evidence, FindingKind, Quantity};
use super::words::capitalised;
use ouzel_analyses::semantics::Family;
use ouzel_model::{CallPathId, CallPathTree, LocationGroupId, LocationId};
use ouzel_waits::accelerators::{DeviceLoss, DeviceLossKind, allocates_memory};
use std::collections::BTreeSet;

/// What is said of a kind of loss. `{}` stands for the name of the call path.
struct Words {
    kind: FindingKind,
    title: &'static str,
    sentence: &'static str,
    saving: &'static str,
    evidence: &'static str,
    advice: &'static str,
}

/// Why little is sure of collectives with members that are not recorded.
const LACKS_MEMBERS: &str = "not all members of the collectives are recorded, so their time may be waiting for late ones; \
                             the run was replayed with the change";

/// What is counted of a kind of loss.
fn counted(kind: DeviceLossKind) -> &'static str {
    use DeviceLossKind as Kind;
    match kind {
        Kind::HostLate | Kind::InputPipeline | Kind::FirstUse | Kind::MemoryChurn => {
            "launches and waits after it"
        }
        Kind::UselessSynchronization | Kind::SerializedStreams => "calls",
        Kind::SynchronousCopies | Kind::PageableMemory => "copies",
        Kind::Straggler | Kind::ExposedCommunication => "collectives",
        Kind::SmallKernels | Kind::Imbalance => "kernels",
    }
}

fn words(kind: DeviceLossKind) -> Words {
    words_of_code(kind).unwrap_or_else(|| words_of_devices(kind))
}

const fn of(
    kind: FindingKind,
    title: &'static str,
    sentence: &'static str,
    saving: &'static str,
    evidence: &'static str,
    advice: &'static str,
) -> Words {
    Words { kind, title, sentence, saving, evidence, advice }
}

const REPLAYED: &str = "the run was replayed with the change; whether the program allows it is not recorded";
const FROM_TIMES: &str = "times of kernels are recorded; whether the program allows it is not";

/// What is sure of gains by gaps, where no launch is recorded.
const BY_GAPS: &str = "launches are not recorded: an operation after a gap is taken to be launched when it begins, after what \
                       samples show of the host";
const SAMPLED_CODE: &str =
    "code of the host since it launched or waited last, by samples, before gaps of the device";

const LATE_CODE: &str = "code of the host between launches and waits, which takes no time in the replay";
const NO_WAITS: &str =
    "calls that wait, which do not wait and take no time in the replay; the last of each thread is kept";
const NO_BLOCKING: &str = "copies, which neither block the host nor hold up their stream in the replay";

/// What is said of the first call that allocates: it takes long as it makes the context of the device, too.
const FIRST_ALLOCATION: &str = "the host allocates in {} before its first launch, and the first call of the runtime also makes \
                                the context of the device.";
/// What is said of code that calls do not divide further.
const OUTERMOST_CODE: &str = "Find out what the host does there: {} is all that the trace says of it. Record its functions or \
                              ranges, too; then make it faster, move it to another thread, or launch the next step before it.";

/// What is said of the outermost code, if it calls others of the program.
const OUTERMOST_CALLER: &str = "Many calls in {} add up to it. Find those that take longest on the host between launches; make them \
                                fewer or faster, record the launches as a graph, or launch the next step before it.";

const INPUT_AND_OUTPUT: &str =
    "Leave it to another thread, gather more of it before each call of {}, or do it less often.";

/// What is said of code of the host.
fn words_of_code(kind: DeviceLossKind) -> Option<Words> {
    use DeviceLossKind as Kind;
    Some(match kind {
        Kind::HostLate => of(
            FindingKind::LaunchBound,
            "Accelerators wait for {} on the host",
            "the host is in {} before it launches, and accelerators have nothing to do meanwhile.",
            "Preparing launches early enough would save at most",
            LATE_CODE,
            "Make {} faster, move it to the device or to another thread, or launch the next step before it.",
        ),
        Kind::InputPipeline => of(
            FindingKind::InputPipeline,
            "Accelerators wait for input from {}",
            "the host reads or prepares input in {} before it launches, and accelerators have nothing to do meanwhile.",
            "Having the input ready in time would save at most",
            LATE_CODE,
            "Prefetch the next batch in other threads or processes (more workers, pinned memory), or cache it.",
        ),
        Kind::FirstUse => of(
            FindingKind::FirstUseCosts,
            "Accelerators wait for {} at first use",
            "the host makes contexts, loads or compiles code in {} before it launches.",
            "Doing so before the run, or once, would save at most",
            LATE_CODE,
            "Warm up before the timed part, load modules early (CUDA_MODULE_LOADING), and cache compiled code.",
        ),
        Kind::MemoryChurn => of(
            FindingKind::MemoryChurn,
            "Accelerators wait while the host is in {}",
            "the host allocates or releases memory in {} between launches.",
            "Reusing memory would save at most",
            LATE_CODE,
            "Allocate once and reuse, or take memory from a pool (cudaMallocAsync, a caching allocator).",
        ),
        _ => return None,
    })
}

/// What is said of calls and operations.
fn words_of_devices(kind: DeviceLossKind) -> Words {
    use DeviceLossKind as Kind;
    match kind {
        Kind::UselessSynchronization => of(
            FindingKind::UselessSynchronisation,
            "The host waits in {} before it launches more",
            "the host waits in {} and launches the next operations only then.",
            "Launching without waiting would save at most",
            NO_WAITS,
            "Remove the call if nothing on the host needs its result, or wait for an event of an earlier step.",
        ),
        Kind::SerializedStreams => of(
            FindingKind::SerialisedStreams,
            "{} makes streams run one after the other",
            "the host waits in {} for one stream before it launches into another.",
            "Letting the streams run side by side would save at most",
            NO_WAITS,
            "Order the streams by events (cudaStreamWaitEvent) where one needs what another makes, and do not wait on the host.",
        ),
        Kind::SynchronousCopies => of(
            FindingKind::SynchronousCopies,
            "Copies in {} block the host and overlap with nothing",
            "the host copies in {} and waits until each copy is done.",
            "Copying beside the kernels would save at most",
            NO_BLOCKING,
            "Use asynchronous copies from pinned memory in a stream of their own, one step ahead.",
        ),
        Kind::PageableMemory => of(
            FindingKind::PageableMemory,
            "Copies of pageable memory in {} block the host",
            "the host copies pageable memory in {}, which cannot overlap with kernels.",
            "Copying beside the kernels would save at most",
            NO_BLOCKING,
            "Allocate the buffers of the host as pinned memory, and copy asynchronously in a stream of their own.",
        ),
        Kind::Imbalance => of(
            FindingKind::LoadImbalance,
            "Load imbalance in {} on accelerators",
            "accelerators run {} longer than those of the others, whose hosts wait in MPI meanwhile.",
            "Spreading the work evenly would save at most",
            "time of the kernel on the device of the rank with most of it",
            "Give these ranks less to do in {}: divide the domain by measured cost instead of by size.",
        ),
        Kind::Straggler => of(
            FindingKind::Straggler,
            "{} makes others wait in collectives of accelerators",
            "it begins collectives of accelerators last; what it does longest before that is {}.",
            "If it came with the one before it, the run would save",
            "collectives in which it begins last; in the replay it begins with the one before it",
            "Find out what this rank has more of in {}: work, input, a slower device.",
        ),
        Kind::SmallKernels => of(
            FindingKind::SmallKernels,
            "Launching small kernels such as {} takes longer than running them",
            "kernels such as {} run shorter than the calls that launch them.",
            "Launching them together would save at most",
            "kernels one after the other; in the replay all launches but the first take no time",
            "Fuse kernels, record the launches as a graph (CUDA graphs), compile the model, or raise the batch size.",
        ),
        _ => of(
            FindingKind::ExposedCommunication,
            "Communication of accelerators in {} is not hidden",
            "collectives such as {} run while nothing else does.",
            "Hiding all of it behind computation would save at most",
            "collectives, which take no time after the last member has begun in the replay",
            "Start communication as soon as its data are there, in a stream of its own, in pieces; send less.",
        ),
    }
}

/// Whether a finding comes from a replay of hosts and streams.
pub(super) fn is_replayed(kind: FindingKind) -> bool {
    matches!(
        kind,
        FindingKind::LaunchBound
            | FindingKind::InputPipeline
            | FindingKind::FirstUseCosts
            | FindingKind::MemoryChurn
            | FindingKind::UselessSynchronisation
            | FindingKind::SerialisedStreams
            | FindingKind::SynchronousCopies
            | FindingKind::PageableMemory
            | FindingKind::Straggler
            | FindingKind::SmallKernels
            | FindingKind::ExposedCommunication
    )
}

/// Advice with the functions of HIP, if that is what is called.
fn of_vendor(advice: String, call: &str) -> String {
    if !call.starts_with("hip") {
        return advice;
    }
    let hip = advice.replace("cudaStreamWaitEvent", "hipStreamWaitEvent");
    hip.replace("cudaMallocAsync", "hipMallocAsync").replace(" (CUDA_MODULE_LOADING)", "")
}

/// Whether other code of the program is called from a path.
fn calls_code(cx: &Context<'_>, path: CallPathId) -> bool {
    let is_user = |callee| cx.class(callee).is_some_and(|class| class.family == Family::User);
    cx.paths().paths().any(|callee| cx.paths().parent(callee) == path && callee != path && is_user(callee))
}

/// A draft for each loss; call paths of `losses` are numbered as in the profile.
pub(super) fn drafts(cx: &Context<'_>, losses: &[DeviceLoss]) -> Vec<Draft> {
    let mut drafts: Vec<Draft> = losses.iter().map(|loss| draft(cx, loss)).collect();
    tell_apart(cx, &mut drafts);
    drafts
}

/// Names the callers where the same call is a loss in several places.
fn tell_apart(cx: &Context<'_>, drafts: &mut [Draft]) {
    let titles: Vec<String> = drafts.iter().map(|draft| draft.title.clone()).collect();
    let of = |i: usize| (0..titles.len()).filter(|&j| titles[j] == titles[i]).collect::<Vec<_>>();
    let groups: BTreeSet<Vec<usize>> = (0..titles.len()).map(of).collect();
    for group in groups.into_iter().filter(|group| 1 < group.len()) {
        let paths: Vec<CallPathId> = group.iter().map(|&i| drafts[i].path).collect();
        for (i, place) in group.into_iter().zip(cx.places(&paths)) {
            let draft = &mut drafts[i];
            let name = cx.name(draft.path);
            draft.title = draft.title.replacen(&name, &place, 1);
            draft.sentence = draft.sentence.replacen(&name, &place, 1);
        }
    }
}

/// What a change would save, and which others would save the same time instead.
fn saving(cx: &Context<'_>, before: &str, alternatives: &[CallPathId]) -> Saving {
    let mut saving = Saving::new(before);
    if !alternatives.is_empty() {
        let names: Vec<String> = alternatives.iter().map(|&path| cx.name(path)).collect();
        saving.after = format!(
            ". The same for {} instead would save as much; for all of them, no more.",
            names.join(" or ")
        );
    }
    saving
}

/// The process that a stream or thread belongs to, where the trace knows no ranks.
fn process_name(cx: &Context<'_>, location: LocationId) -> String {
    let groups = &cx.definitions.location_groups;
    let own = cx.definitions.location(location).group;
    let of = |group: LocationGroupId| groups.get(group.index());
    let process = of(own).and_then(|group| of(group.creator.unwrap_or(own)));
    process.map_or_else(|| "A process".to_owned(), |process| capitalised(&process.name))
}

fn draft(cx: &Context<'_>, loss: &DeviceLoss) -> Draft {
    let words = words(loss.kind);
    let path: CallPathId = loss.call_path;
    let ranks = cx.ranks(loss.locations.iter().copied());
    let name = if loss.kind == DeviceLossKind::Straggler { None } else { Some(cx.name(path)) };
    let who = match loss.locations.first().filter(|_| ranks.list.is_empty()) {
        Some(&location) => process_name(cx, location),
        None => capitalised(&cx.in_words(&ranks)),
    };
    let fill = |text: &str| text.replace("{}", &cx.name(path));
    let title = words.title.replace("{}", name.as_deref().unwrap_or(&who));
    let start = if ranks.list.is_empty() { String::new() } else { format!("on {}, ", cx.in_words(&ranks)) };
    let allocates = loss.kind == DeviceLossKind::FirstUse
        && cx.paths().region(path).is_some_and(|it| allocates_memory(&cx.definitions.region(it).name));
    let sentence = if allocates { FIRST_ALLOCATION } else { words.sentence };
    let is_outermost = cx.paths().parent(path) == CallPathTree::ROOT;
    let advice = match loss.kind {
        DeviceLossKind::HostLate => match cx.class(path).map(|class| class.family) {
            Some(Family::PosixIo) => INPUT_AND_OUTPUT,
            Some(Family::User) if is_outermost && calls_code(cx, path) => OUTERMOST_CALLER,
            Some(Family::User) if is_outermost => OUTERMOST_CODE,
            _ => words.advice,
        },
        _ => words.advice,
    };
    let (gain, n_ranks) = (loss.gain.0, ranks.list.len());
    Draft {
        title,
        sentence: capitalised(&format!("{start}{}", fill(sentence))),
        saving: saving(cx, words.saving, &loss.alternatives),
        ranks,
        range: loss.range,
        gain,
        replayed: loss.is_replayed.then_some(gain),
        loss: gain,
        assumption: match loss.kind {
            DeviceLossKind::Imbalance => "all devices take the mean time for it".to_owned(),
            _ if loss.is_replayed => format!("replay of hosts and streams: {}", words.evidence),
            _ => "the host launches as early as if this code took no time".to_owned(),
        },
        confidence: confidence(loss),
        evidence: vec![evidence(cx, loss, words.evidence)],
        advice: of_vendor(fill(advice), &cx.name(path))
            .replace("these ranks", if n_ranks == 1 { "this rank" } else { "these ranks" }),
        ..Draft::about(cx, words.kind, path)
    }
}

fn confidence(loss: &DeviceLoss) -> (Confidence, String) {
    match loss.kind {
        _ if loss.lacks_members => (Confidence::Possible, LACKS_MEMBERS.to_owned()),
        _ if loss.is_replayed => (Confidence::Likely, REPLAYED.to_owned()),
        DeviceLossKind::Imbalance => (Confidence::Likely, FROM_TIMES.to_owned()),
        _ => (Confidence::Likely, BY_GAPS.to_owned()),
    }
}

fn evidence(cx: &Context<'_>, loss: &DeviceLoss, replayed: &str) -> Evidence {
    let (what, formula, counted) = match loss.kind {
        _ if loss.is_replayed => (
            replayed,
            "gain = run time − run time of the replay; see accelerators in docs/method.md",
            counted(loss.kind),
        ),
        DeviceLossKind::Imbalance => (
            replayed,
            "gain = most − mean over ranks, at most what hosts of others wait in MPI",
            counted(loss.kind),
        ),
        _ => (SAMPLED_CODE, "gain = Σ over gaps of min(code, code in the gap) / threads that launch", "gaps"),
    };
    Evidence::new(
        what,
        formula,
        vec![
            Quantity::count(counted, loss.n),
            Quantity::ns("time in all", cx.ns(loss.time.0)),
            Quantity::ns("gain", cx.ns(loss.gain.0)),
        ],
    )
}
