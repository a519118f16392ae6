//! Why an answer is empty.
//!
//! Law: an analysis that the user asked for and that found none of the data it needs
//! ([`Analysis::speaks_of`](ouzel_engine::Analysis::speaks_of)) is explained by a notice for each kind of data that is
//! missing. Answers that are empty although the data are present are not explained here.

use ouzel_engine::{Prepared, Report};
use ouzel_model::{Content, Contents, Level, Notice, NoticeCode, Notices, TraceSource};

/// Adds the notices that a pass over `set` requires.
pub(crate) fn explain(source: &dyn TraceSource, set: &Prepared, report: &mut Report) {
    // An empty selection has been reported already.
    if report.locations.is_empty() && !source.definitions().locations.is_empty() {
        return;
    }
    let mut missing = Contents::NONE;
    for wanted in set.questions().filter(|wanted| !wanted.overlaps(report.seen)) {
        missing |= wanted;
    }
    if missing.is_empty() {
        return;
    }
    let notices = Notices::default();
    notices.extend(report.notices.drain(..));
    for content in missing.iter() {
        let message = sentence(source, content, report);
        notices.push(Notice::new(Level::Medium, NoticeCode::NotAvailable, message));
    }
    report.notices = notices.to_vec();
}

/// Adds the reasons why a profile of the trace lacks some kinds of metrics, where its format never has them.
pub(crate) fn explain_severities(source: &dyn TraceSource, report: &mut Report) {
    let counted = [Content::Messages, Content::Collectives, Content::Counters];
    let notices = Notices::default();
    notices.extend(report.notices.drain(..));
    for content in counted.into_iter().filter(|&content| !report.seen.contains(content)) {
        if let Some(reason) = source.lacks(content) {
            let message = format!("the profile of the trace has no {}: {reason}", content.as_str());
            notices.push(Notice::new(Level::Low, NoticeCode::NotAvailable, message));
        }
    }
    report.notices = notices.to_vec();
}

fn sentence(source: &dyn TraceSource, content: Content, report: &Report) -> String {
    let what = content.as_str();
    match source.lacks(content) {
        Some(reason) => format!("no {what} in this trace: {reason}"),
        None if !report.filter.is_everything() => {
            format!("no {what} in this trace: none were recorded in the selection")
        }
        None if 0 < report.coverage.locations_damaged => {
            format!("no {what} in this trace: none were found in its undamaged parts")
        }
        None => format!("no {what} in this trace: none were recorded"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ouzel_analyses::breakdown::{Breakdown, HostCode, Requests};
    use ouzel_analyses::call_path_profile::CallPathProfile;
    use ouzel_analyses::comm_matrix::{CommMatrix, Expansion};
    use ouzel_analyses::communication_totals::Communication;
    use ouzel_analyses::inventory::Inventory;
    use ouzel_analyses::metric_profile::MetricProfile;
    use ouzel_analyses::semantics::Semantics;
    use ouzel_engine::AnalysisSet;
    use ouzel_model::{Filter, LocationId};
    use ouzel_testkit::ToyTrace;
    use std::num::NonZeroUsize;

    const CALLS: &str = "0: enter main @0, leave @9";
    const MESSAGES: &str = "0: enter main @0, send>0 bytes 1 @1, recv<0 bytes 1 @2, leave @9";

    fn told(trace: &ToyTrace, filter: &Filter, add: impl FnOnce(&mut AnalysisSet)) -> Vec<String> {
        let mut set = AnalysisSet::default();
        add(&mut set);
        let set = set.prepare(trace.definitions(), filter);
        let mut report = set.run(trace, NonZeroUsize::MIN, None).expect("the pass succeeds");
        explain(trace, &set, &mut report);
        assert!(report.notices.is_sorted_by_key(|notice| std::cmp::Reverse(notice.level)));
        let told = report.notices.into_iter().filter(|notice| notice.code == NoticeCode::NotAvailable);
        told.map(|notice| notice.message).collect()
    }

    fn matrix(set: &mut AnalysisSet) {
        set.add(CommMatrix { expansion: Expansion::PointToPoint });
    }

    #[test]
    fn what_was_not_met_is_said_to_whoever_asks() {
        let all = Filter::default();
        let calls = ToyTrace::new(CALLS);
        assert_eq!(told(&calls, &all, matrix), ["no messages in this trace: none were recorded"]);
        assert!(told(&ToyTrace::new(MESSAGES), &all, matrix).is_empty());
        let metrics = |set: &mut AnalysisSet| {
            set.add(MetricProfile);
        };
        assert_eq!(told(&calls, &all, metrics), ["no counters in this trace: none were recorded"]);
        let profile = |set: &mut AnalysisSet| {
            set.add(CallPathProfile);
        };
        assert!(told(&calls, &all, profile).is_empty());
        let no_calls = ToyTrace::new("0: metric x=1 @3");
        assert_eq!(told(&no_calls, &all, profile), ["no calls in this trace: none were recorded"]);
        let sampled = ToyTrace::new("0: sample main @3, sample main @5");
        assert!(told(&sampled, &all, profile).is_empty(), "calls are made of samples");
    }

    #[test]
    fn one_kind_of_several_is_enough_and_contributors_are_silent() {
        let all = Filter::default();
        let both = |set: &mut AnalysisSet| {
            set.add(Communication);
        };
        assert!(told(&ToyTrace::new(MESSAGES), &all, both).is_empty(), "collectives are missed by nobody");
        let missing = told(&ToyTrace::new(CALLS), &all, both);
        assert_eq!(missing.len(), 2, "{missing:?}");
        let silent = |set: &mut AnalysisSet| {
            set.add_silent(Communication);
            set.add(Inventory);
            let trace = ToyTrace::new(CALLS);
            let definitions = trace.definitions();
            let classes = Semantics::default().classes(definitions);
            let (_filter, host) = (Filter::default(), HostCode::Computes);
            set.add(Breakdown::new(&classes, host, Requests::Included));
        };
        assert!(told(&ToyTrace::new(CALLS), &all, silent).is_empty());
    }

    #[test]
    fn a_selection_and_damage_are_reasons() {
        let trace = ToyTrace::new(MESSAGES);
        let late = Filter { time_ns: Some((5, 9)), ..Filter::default() };
        let said = ["no messages in this trace: none were recorded in the selection"];
        assert_eq!(told(&trace, &late, matrix), said);
        let damaged = ToyTrace::new(MESSAGES).with_damage(LocationId(0), 1);
        let said = ["no messages in this trace: none were found in its undamaged parts"];
        assert_eq!(told(&damaged, &Filter::default(), matrix), said);
        let nobody = Filter { ranks: Some("7".parse().expect("a rank")), ..Filter::default() };
        assert!(told(&trace, &nobody, matrix).is_empty(), "the selection is empty, which is said already");
    }
}
