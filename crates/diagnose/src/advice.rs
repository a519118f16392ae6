//! What to look at next: rules over the cards and losses.
//!
//! Law: advice follows from numbers in the report, and names them.

use crate::findings::words::percent;
use crate::{EfficiencyCard, InterestCard, Loss, LossKind, Recorded, RunCard, TrustCard};
use ouzel_analyses::call_path_profile::ProfileOutput;
use ouzel_analyses::semantics::{Class, Family};
use ouzel_model::{NoticeCode, units};
use serde::Serialize;

/// Efficiency above which nothing is worth doing: POP calls 0.8 the limit of acceptable and aims at more.
const GOOD: f64 = 0.9;
/// Share of the run that makes a loss worth a sentence of its own.
const NOTABLE: f64 = 0.02;
/// Mean message length below which latency, not bandwidth, sets the time of a message.
const SMALL_MESSAGE_BYTES: u64 = 1024;

/// One thing to look at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Advice {
    /// In words.
    pub text: String,
    /// Arguments of the `ouzel` command that shows more, without the trace; empty if there is none.
    pub command: Vec<String>,
}

/// What to look at next, most useful first.
pub(crate) fn advise(
    run: &RunCard,
    trust: &TrustCard,
    efficiency: Option<&EfficiencyCard>,
    (losses, interest): (&[Loss], Option<&InterestCard>),
    (profile, classes): (&ProfileOutput, &[Class]),
) -> Vec<Advice> {
    let mut advice = Vec::new();
    let largest = |kinds: &[LossKind]| {
        losses.iter().find(|loss| kinds.contains(&loss.kind) && NOTABLE <= loss.share_of_run)
    };
    let uneven = largest(&[LossKind::UnevenWork]);
    let waiting = largest(&[LossKind::WaitForOne, LossKind::WaitForAll]);
    let balance_first = efficiency.is_none_or(|e| e.load_balance <= e.communication);
    let mut by_loss = [uneven.map(uneven_work), waiting.map(|loss| wait(loss, run.recorded))];
    if !balance_first {
        by_loss.reverse();
    }
    advice.extend(by_loss.into_iter().flatten());
    advice.extend(largest(&[LossKind::WaitForDevice]).map(wait_for_device));
    if let Some(loss) = largest(&[LossKind::StartAndEnd]) {
        let text = format!(
            "Starting and ending MPI takes {} of the run. It matters less in a longer run; to judge the rest alone, \
             exclude it with --time.",
            percent(loss.share_of_run)
        );
        let rest = |of: &InterestCard| {
            let range = format!("{}ns..{}ns", of.start_ns, of.end_ns);
            words(&["report", "--time", &range])
        };
        advice.push(Advice { text, command: interest.map(rest).unwrap_or_default() });
    }
    advice.extend(small_messages(run));
    if records_communication_only(profile, classes) {
        advice.push(Advice {
            text:
                "The trace records only MPI calls, so uneven work cannot be attributed to a function. Record user \
                   functions, too (Score-P: compiler instrumentation or sampling)."
                    .to_owned(),
            command: Vec::new(),
        });
    }
    if trust.doubtful.iter().any(|concern| concern.code == NoticeCode::ClocksUnsynchronised) {
        advice.push(Advice {
            text:
                "Clocks of different ranks are not synchronised: times within a rank are right, but the order of \
                   events of different ranks is not known."
                    .to_owned(),
            command: Vec::new(),
        });
    }
    if advice.is_empty() {
        advice.push(nothing(efficiency));
    }
    advice
}

fn uneven_work(loss: &Loss) -> Advice {
    let who = rank(loss.most.rank);
    match loss.call_path.last() {
        Some(region) => Advice {
            text: format!("Why does {who} work longer than the others in {region}? Compare the ranks there."),
            command: words(&["profile", "--call-paths", "--per", "rank", "--region", region]),
        },
        None => Advice {
            text: format!("Why does {who} work longer than the others outside of recorded regions?"),
            command: words(&["profile", "--per", "rank"]),
        },
    }
}

fn wait(loss: &Loss, recorded: Recorded) -> Advice {
    let region = loss.call_path.last().map_or("", |region| region);
    let text = match loss.kind {
        _ if !recorded.several_processes() => format!(
            "{} of the run is spent in {region}. What it waits for is not recorded; a trace of every rank shows it.",
            percent(loss.share_of_run)
        ),
        LossKind::WaitForAll => format!(
            "Which rank arrives late at {region}? {} waits there least, so check what it does before.",
            capitalised(&rank(loss.least.rank))
        ),
        _ => format!(
            "Which rank does {} wait for in {region}? Compare the ranks there, and what they do before.",
            rank(loss.most.rank)
        ),
    };
    Advice { text, command: words(&["profile", "--call-paths", "--per", "rank", "--region", region]) }
}

fn wait_for_device(loss: &Loss) -> Advice {
    let region = loss.call_path.last().map_or("", |region| region);
    Advice {
        text: format!(
            "The host waits in {region} for the accelerator for {} of the run. Which kernels run meanwhile, and could \
             the host work at the same time?",
            percent(loss.share_of_run)
        ),
        command: words(&["profile", "--per", "location"]),
    }
}

fn small_messages(run: &RunCard) -> Option<Advice> {
    let mean = run.message_bytes.checked_div(run.n_messages)?;
    let per_second = run.n_messages as f64 / (run.span_ns as f64 * 1e-9) / run.n_processes.max(1) as f64;
    // Below a thousand messages a second and rank, latency of microseconds is no matter.
    (mean < SMALL_MESSAGE_BYTES && 1000.0 <= per_second).then(|| Advice {
        text: format!(
            "There are many small messages: {mean} bytes on average, {} a second from each rank. Fewer, larger \
             messages cost less, where none waits for the answer to another.",
            units::count(per_second as u64)
        ),
        command: Vec::new(),
    })
}

/// Whether the trace has MPI calls and next to nothing of the program's own code.
fn records_communication_only(profile: &ProfileOutput, classes: &[Class]) -> bool {
    let family = |path| profile.call_paths.region(path).map(|region| classes[region.index()].family);
    let families: Vec<Family> = profile.call_paths.paths().filter_map(family).collect();
    families.contains(&Family::Mpi) && !families.contains(&Family::User)
}

fn nothing(efficiency: Option<&EfficiencyCard>) -> Advice {
    let text = match efficiency {
        Some(e) if GOOD <= e.parallel => {
            format!("Nothing stands out: {} of the time is computation.", percent(e.parallel))
        }
        _ => "No single call path loses much. See the whole profile.".to_owned(),
    };
    Advice { text, command: words(&["profile", "--call-paths"]) }
}

fn rank(rank: Option<u32>) -> String {
    rank.map_or_else(|| "one process".to_owned(), |rank| format!("rank {rank}"))
}

fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}
