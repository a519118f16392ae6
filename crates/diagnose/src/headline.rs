//! The run in a sentence: the first statement of every page about it.
//!
//! Law: what was not recorded is never called insignificant, and what is only possible never certain.

use crate::findings::words::percent;
use crate::findings::{Confidence, Finding, FindingKind, Findings, SIGNIFICANT};
use crate::{RunCard, TrustCard};
use ouzel_model::units;
use serde::Serialize;

/// How much of the run can be recovered, and whether all of it is known.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Headline {
    /// The summary of the findings.
    pub text: String,
    /// What is missing from the trace; `null` if nothing is.
    pub incomplete: Option<String>,
    /// What the page leaves out if some calls are selected; `null` if all are.
    pub selected: Option<String>,
    /// What the findings would gain together; not more than the run.
    pub gain_ns: u64,
    /// `gain_ns / run time`.
    #[cfg_attr(feature = "schema", schemars(range(min = 0.0, max = 1.0)))]
    pub gain_fraction: f64,
}

impl Headline {
    /// `withheld` is the reason why there are no findings, if there are none.
    pub(crate) fn new(run: &RunCard, trust: &TrustCard, findings: &Findings, withheld: Option<&str>) -> Self {
        let gain_ns = findings.gain_together_ns.min(run.span_ns);
        let gain_fraction = run.share(gain_ns);
        let (gain, span) = (units::time(gain_ns), units::time(run.span_ns));
        let n_elsewhere = findings.n_elsewhere.unwrap_or_default();
        let text = match (gain_ns, trust.lost.is_empty()) {
            _ if gain_ns == 0 && 0 < n_elsewhere => "No findings in the selected calls".to_owned(),
            _ if findings.list.is_empty() => {
                format!("No findings: {}", withheld.unwrap_or("nothing in the selection takes time"))
            }
            (0, true) if findings.is_unexplained => {
                format!("No single change would recover more than {} of {span}", percent(SIGNIFICANT))
            }
            (0, true) => format!("Nothing significant is lost in {span}"),
            (0, false) => format!("Nothing significant in what was recorded ({span})"),
            _ => {
                let mut gaining = findings.list.iter().filter(|finding| 0 < finding.gain_ns);
                let is_bound = gaining.any(|finding| finding.confidence == Confidence::Possible);
                let up_to = if is_bound { "Up to " } else { "" };
                let alone_ns: u64 = findings.list.iter().map(|finding| finding.gain_ns).sum();
                // One change is often in vain as long as another rank, message or call delays the run as much.
                let how = if alone_ns < gain_ns { " by all changes together" } else { "" };
                format!("{up_to}{gain} of {span} ({}) can be recovered{how}", percent(gain_fraction))
            }
        };
        Headline {
            text,
            incomplete: trust.incomplete_in_words(),
            selected: findings.n_elsewhere.map(|n| selected(findings, n)),
            gain_ns,
            gain_fraction,
        }
    }
}

/// What a page about selected calls leaves out, where so many findings are about others.
fn selected(findings: &Findings, n_elsewhere: usize) -> String {
    let is_one = |finding: &&Finding| finding.kind != FindingKind::NothingSignificant;
    let n_all = findings.list.iter().filter(is_one).count() + n_elsewhere;
    let which = match (n_all, n_elsewhere) {
        (0, _) | (_, 0) => String::new(),
        (1, _) => "The one finding of the run is about other calls. ".to_owned(),
        (n, elsewhere) if n == elsewhere => format!("All {n} findings of the run are about other calls. "),
        (n, 1) => format!("Of {n} findings of the run, one is about other calls and is not shown. "),
        (n, elsewhere) => {
            format!("Of {n} findings of the run, {elsewhere} are about other calls and are not shown. ")
        }
    };
    format!(
        "{which}Only findings and losses are limited to the selected calls: efficiencies, segments, groups and loops are \
         those of all calls."
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::Ranks;
    use crate::trust_card::Concern;
    use ouzel_model::NoticeCode;

    fn run_of_two_seconds() -> RunCard {
        RunCard { span_ns: 2_000_000_000, ..RunCard::default() }
    }

    #[test]
    fn a_damaged_run_is_never_called_fine() {
        let lost = Concern {
            code: NoticeCode::MissingEvents,
            count: 1,
            n_locations: 1,
            example: "no file".to_owned(),
            is_one_of_many: false,
        };
        let trust = TrustCard {
            lost: vec![lost],
            ranks_without_events: Ranks::new([5, 6, 7]),
            ranks_cut: Ranks::new([4]),
            ..TrustCard::default()
        };
        let headline =
            Headline::new(&run_of_two_seconds(), &trust, &Findings::default(), Some("definitions are lost"));
        assert_eq!(headline.text, "No findings: definitions are lost");
        let incomplete = "The trace is incomplete: ranks 5–7 have no events; the events of rank 4 end early.";
        assert_eq!(headline.incomplete.as_deref(), Some(incomplete));
        let headline =
            Headline::new(&run_of_two_seconds(), &TrustCard::default(), &Findings::default(), None);
        assert_eq!(
            (headline.text.as_str(), headline.incomplete),
            ("No findings: nothing in the selection takes time", None)
        );
    }
}
