//! What a selection names and the trace does not have: usually a typing error, so it is reported.
//!
//! Law: one notice for each name, whatever the number of locations and threads. A selection whose names all exist but
//! that selects nothing is not handled here.

use super::{Filter, Predicate, RankSet, TextTest};
use crate::{Definitions, Level, Notice, NoticeCode, did_you_mean, near_names};
use std::collections::BTreeSet;
use wildmatch::WildMatch;

impl Filter {
    /// A notice for each region, counter or rank that is named but not in the trace, sorted; none if all are there.
    pub(super) fn unmatched(&self, definitions: &Definitions) -> Vec<Notice> {
        if self.regions.is_empty() && self.predicate.is_none() && self.ranks.is_none() {
            return Vec::new();
        }
        let known =
            KnownNames { definitions, regions: definitions.regions.iter().map(|r| &*r.name).collect() };
        let mut found = BTreeSet::new();
        for pattern in self.regions.iter().filter(|pattern| !known.like(pattern)) {
            found.insert((NoticeCode::EmptySelection, known.nobody_like(pattern, "it selects nothing")));
        }
        if let Some(predicate) = &self.predicate {
            known.visit(predicate, &mut found);
        }
        if let Some(ranks) = &self.ranks {
            known.visit_ranks(ranks, &mut found);
        }
        let notice = |(code, message): (NoticeCode, String)| Notice::new(Level::Medium, code, message);
        found.into_iter().map(notice).collect()
    }
}

/// What the trace has.
struct KnownNames<'a> {
    definitions: &'a Definitions,
    regions: BTreeSet<&'a str>,
}

/// Notices by code, each once.
type UnmatchedNotices = BTreeSet<(NoticeCode, String)>;

const NO_CALL: &str = "no call passes this test";

/// Names that a notice suggests.
const N_NEAR: usize = 3;

impl KnownNames<'_> {
    fn like(&self, pattern: &str) -> bool {
        let pattern = WildMatch::new(pattern);
        self.regions.iter().any(|name| pattern.matches(name))
    }

    fn nobody_like(&self, pattern: &str, consequence: &str) -> String {
        let near = self.regions_near(pattern);
        format!("no region of the trace is named like {pattern:?}: {consequence}{near}")
    }

    fn regions_near(&self, name: &str) -> String {
        did_you_mean(&near_names(name, self.regions.iter().copied(), N_NEAR))
    }

    fn visit(&self, predicate: &Predicate, found: &mut UnmatchedNotices) {
        match predicate {
            Predicate::All(parts) | Predicate::Any(parts) => {
                parts.iter().for_each(|part| self.visit(part, found));
            }
            Predicate::Not(part) => self.visit(part, found),
            Predicate::Name(test) | Predicate::Within(test) => self.visit_names(test, found),
            Predicate::Path(test) => self.visit_paths(test, found),
            Predicate::Metric { metric, .. } => {
                let counters = self.definitions.metrics.iter().filter(|metric| metric.is_counter());
                let counters: Vec<&str> = counters.map(|counter| &*counter.name).collect();
                if !counters.contains(&&**metric) {
                    let near = did_you_mean(&near_names(metric, counters, N_NEAR));
                    let message = format!("no counter of the trace is named {metric:?}: {NO_CALL}{near}");
                    found.insert((NoticeCode::NotAvailable, message));
                }
            }
            _ => {}
        }
    }

    fn visit_names(&self, test: &TextTest, found: &mut UnmatchedNotices) {
        let messages: Vec<String> = match test {
            TextTest::OneOf(names) => {
                let missing = names.iter().filter(|name| !self.regions.contains(name.as_str()));
                let told = |name: &String| {
                    let near = self.regions_near(name);
                    format!("no region of the trace is named {name:?}: {NO_CALL}{near}")
                };
                missing.map(told).collect()
            }
            TextTest::Like(patterns) => {
                let missing = patterns.iter().filter(|pattern| !self.like(pattern));
                missing.map(|pattern| self.nobody_like(pattern, NO_CALL)).collect()
            }
        };
        found.extend(messages.into_iter().map(|message| (NoticeCode::EmptySelection, message)));
    }

    /// A path ends with the name of a region. Patterns with wildcards are not checked: call paths are known only after
    /// the pass.
    fn visit_paths(&self, test: &TextTest, found: &mut UnmatchedNotices) {
        let (TextTest::OneOf(paths) | TextTest::Like(paths)) = test;
        let is_pattern = |path: &str| matches!(test, TextTest::Like(_)) && path.contains(['*', '?']);
        for path in paths.iter().filter(|path| !is_pattern(path)) {
            // Names of regions may hold slashes themselves.
            let ends = path.match_indices('/').map(|(at, _)| &path[at + 1..]);
            if !ends.chain([path.as_str()]).any(|end| self.regions.contains(end)) {
                let near = self.regions_near(path.rsplit('/').next().unwrap_or_default());
                let message = format!(
                    "no region of the trace has the name at the end of path {path:?}: {NO_CALL}{near}"
                );
                found.insert((NoticeCode::EmptySelection, message));
            }
        }
    }

    fn visit_ranks(&self, ranks: &RankSet, found: &mut UnmatchedNotices) {
        let there: BTreeSet<u32> = self
            .definitions
            .locations
            .iter()
            .filter_map(|location| location.rank)
            .map(|rank| rank.0)
            .collect();
        let missing: Vec<_> = ranks
            .ranges()
            .iter()
            .filter(|&&(first, last)| there.range(first..=last).next().is_none())
            .collect();
        // The pass reports that nothing is left.
        if missing.len() == ranks.ranges().len() {
            return;
        }
        for &&range in &missing {
            let message =
                format!("no location of the trace belongs to rank {}", RankSet::from_ranges(&[range]));
            found.insert((NoticeCode::EmptySelection, message));
        }
    }
}
