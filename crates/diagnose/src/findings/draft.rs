//! A finding in the making: ticks and ids, before they become nanoseconds and names.

use super::context::Context;
use super::finding::{Confidence, Evidence, Finding, FindingKind, Iterations};
use super::ranks::Ranks;
use ouzel_model::{CallPathId, TimeRange};

/// The result of a rule.
#[derive(Debug)]
pub(super) struct Draft {
    pub kind: FindingKind,
    pub title: String,
    pub sentence: String,
    pub path: CallPathId,
    pub ranks: Ranks,
    pub iterations: Option<Iterations>,
    pub range: TimeRange,
    /// In ticks.
    pub gain: u64,
    /// What is lost, in ticks: more than the gain if not all of it can be recovered. Decides whether it matters.
    pub loss: u64,
    pub assumption: String,
    pub confidence: (Confidence, String),
    pub evidence: Vec<Evidence>,
    pub advice: String,
    pub command: Vec<String>,
}

impl Draft {
    pub fn finish(self, cx: &Context<'_>) -> Finding {
        let (confidence, confidence_reason) = self.confidence;
        Finding {
            kind: self.kind,
            title: self.title,
            sentence: self.sentence,
            call_path: cx.names(self.path),
            source: cx.source(self.path),
            ranks: self.ranks,
            iterations: self.iterations,
            time_range_ns: cx.range_ns(self.range),
            gain_ns: cx.ns(self.gain),
            gain_fraction: cx.share(self.gain),
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
