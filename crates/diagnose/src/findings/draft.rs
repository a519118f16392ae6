//! A finding in the making: ticks and ids, before they become nanoseconds and names.

use super::context::Context;
use super::finding::{Confidence, Evidence, Finding, FindingKind, GainBy, Iterations};
use super::ranks::Ranks;
use ouzel_model::{CallPathId, TimeRange};
use ouzel_replay::Edit;

/// The result of a rule.
#[derive(Debug)]
pub(super) struct Draft {
    pub kind: FindingKind,
    pub title: String,
    /// What happens; what a change would save follows.
    pub sentence: String,
    pub saving: Saving,
    pub path: CallPathId,
    pub ranks: Ranks,
    pub iterations: Option<Iterations>,
    pub range: TimeRange,
    /// In ticks, from the times between synchronisations.
    pub gain: u64,
    /// What is replayed to find the gain for the run; empty if no replay can tell it.
    pub remedy: Vec<Edit>,
    /// Changes of another finding about the same calls, which are made before: this one has what they leave.
    pub remedy_before: Vec<Edit>,
    /// What that replay gains, in ticks.
    pub replayed: Option<u64>,
    /// What is lost, in ticks: more than the gain if not all of it can be recovered. Decides whether it matters.
    pub loss: u64,
    pub assumption: String,
    pub confidence: (Confidence, String),
    pub evidence: Vec<Evidence>,
    pub advice: String,
    pub command: Vec<String>,
}

/// The end of a sentence around a gain: *before* 2 s (10 %)*after*.
#[derive(Debug, Default)]
pub(super) struct Saving {
    /// "Doing so would save"; empty if there is nothing to save.
    pub before: String,
    pub after: String,
}

impl Saving {
    pub fn new(before: impl Into<String>) -> Self {
        Saving { before: before.into(), after: ".".to_owned() }
    }

    /// A saving that grows with the number of iterations.
    pub fn in_a_longer_run(before: impl Into<String>) -> Self {
        Saving { after: ", and more in a longer run.".to_owned(), ..Saving::new(before) }
    }
}

impl Draft {
    /// What the run would gain, in ticks.
    pub fn stated_gain(&self) -> u64 {
        self.replayed.unwrap_or(self.gain)
    }

    /// What decides whether it matters, in ticks.
    pub fn stated_loss(&self) -> u64 {
        self.replayed.unwrap_or(self.loss)
    }

    fn sentence(&self, cx: &Context<'_>) -> String {
        let (Draft { sentence, saving, .. }, gain) = (self, self.stated_gain());
        match saving.before.is_empty() {
            true => sentence.clone(),
            false => {
                let (time, percent) = (cx.time(gain), cx.percent(gain));
                format!("{sentence} {} {time} ({percent}){}", saving.before, saving.after)
            }
        }
    }

    pub fn finish(self, cx: &Context<'_>) -> Finding {
        let (sentence, gain) = (self.sentence(cx), self.stated_gain());
        let (confidence, confidence_reason) = self.confidence;
        Finding {
            kind: self.kind,
            title: self.title,
            sentence,
            call_path: cx.names(self.path),
            source: cx.source(self.path),
            ranks: self.ranks,
            iterations: self.iterations,
            time_range_ns: cx.range_ns(self.range),
            gain_ns: cx.ns(gain),
            gain_fraction: cx.share(gain),
            gain_by: if self.replayed.is_some() { GainBy::Replay } else { GainBy::Phases },
            phases_gain_ns: cx.ns(self.gain),
            assumption: self.assumption,
            confidence,
            confidence_reason,
            evidence: self.evidence,
            advice: self.advice,
            command: self.command,
            varies_like: None,
        }
    }
}

/// `ouzel` arguments that compare the ranks in a region.
pub(super) fn compare_ranks(cx: &Context<'_>, path: CallPathId) -> Vec<String> {
    let words: &[&str] = match cx.names(path).last() {
        Some(region) => &["profile", "--call-paths", "--per", "rank", "--region", &region.clone()],
        None => &["profile", "--per", "rank"],
    };
    words.iter().map(|&word| word.to_owned()).collect()
}
