//! Sentences about a profile as a whole: its headline, and what it cannot tell.

use super::{ProfileCard, ProfileReport, ShareKind};
use crate::findings::words::percent;
use ouzel_causes::TimeKind;
use ouzel_model::units::{counted, time};

/// The profile in a sentence.
pub(super) fn headline(report: &ProfileReport) -> String {
    let card = &report.profile;
    let Some(longest) = card.longest else {
        return match &card.time_metric {
            None => "The profile has no metric of time".to_owned(),
            Some(metric) => format!("The profile has no time: metric {:?} is zero everywhere", metric.name),
        };
    };
    let share =
        |kind| report.shares.iter().find(|share| share.kind == kind).map_or(0.0, |share| share.fraction);
    let who = match card.n_threads_compared {
        1 => "the thread".to_owned(),
        n => counted(n, "thread", "threads"),
    };
    let computation = percent(share(ShareKind::Computation));
    let mut text =
        format!("{computation} of the time of {who} (longest {}) is computation", time(longest.time_ns));
    let other = report.shares.iter().find(|share| share.kind != ShareKind::Computation);
    if let Some(other) = other {
        text.push_str(&format!(", {} {}", percent(other.fraction), other.kind.in_words()));
    }
    if let Some(most) = report.imbalances.first() {
        text.push_str(&format!("; up to {} may be lost to uneven work", time(most.gain_at_most_ns)));
    }
    text
}

/// What the profile cannot tell, one sentence each.
pub(super) fn unknown(card: &ProfileCard, n_negative: u64) -> Vec<String> {
    let mut unknown = Vec::new();
    let mut say = |text: &str| unknown.push(text.to_owned());
    if 0 < n_negative {
        let values = counted(n_negative, "negative value", "negative values");
        let count = if n_negative == 1 { "counts" } else { "count" };
        say(&format!("{values} of time {count} as zero."));
    }
    let Some(metric) = &card.time_metric else {
        say(
            "Without a metric of time it is not known where the time is: `ouzel profile --metric` shows what is counted.",
        );
        return unknown;
    };
    say(
        "A profile has no phases: where first one rank and then another is late, sums look balanced; where ranks do \
         different work at different times, they look uneven.",
    );
    if 1 < card.n_processes {
        say("Who waits for whom is not in sums: serialisation and transfer efficiency cannot be computed.");
        say("When something happened, in which iteration and whether it grew, needs a trace.");
    } else {
        say("With one process there is nothing to compare between ranks.");
    }
    if metric.kind == TimeKind::Cpu {
        say(
            "CPU time does not pass while a thread sleeps, so waiting that sleeps is missing and the run took longer.",
        );
    }
    if card.sampled {
        say("Times come from samples: they are estimates, and short call paths may be missing.");
    }
    if card.visits_metric.is_none() {
        say("Visits are not counted, so it is not known whether a call path is long or called often.");
    }
    if 0 < card.n_accelerator_streams {
        say("How long accelerators were idle is not known from sums.");
    }
    unknown
}
