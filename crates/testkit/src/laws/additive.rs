//! The law of selections: the parts of a selection add up to the whole.
//!
//! ```text
//! whole run           ├──────────────────────────────┤   sums
//! ranges that touch   ├──────┤────┤──────────┤───────┤   sums of each, added up: the same
//! ```
//!
//! It holds only if related events are matched before anything is selected: a message whose ends are in two ranges, a
//! wait across a border, the n-th collective of each member. Checked on programs ([`random_program`]) and on random
//! traces, with all locations in one pass and in settled buckets.

use super::{Case, Law, Violation, half_sampled};
use crate::rng::Rng;
use crate::toy::{Faults, RandomTrace, ToyTrace, random_program};
use ouzel_engine::{Analysis, Question};
use ouzel_model::{Definitions, Filter, RankSet, TraceSource};
use std::collections::BTreeMap;

/// Programs and traces of each kind per check.
const N_TRACES: u64 = 24;

/// The additive values, by what they measure.
pub type Sums = BTreeMap<String, i128>;

/// How a whole is cut into parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parts {
    /// Ranges of time.
    Times,
    /// Ranges of time, sets of ranks, and both.
    TimesAndRanks,
}

/// Checks that `sums` of an output add up over the parts of a selection. An analysis without an answer has no sums;
/// entries of zero are ignored.
///
/// # Panics
/// If they do not; the message names the case.
pub fn check_additive<Q: Question>(
    parts: Parts,
    make: impl Fn(&Definitions) -> Q,
    sums: impl Fn(Q::Output, &Definitions) -> Sums,
) {
    for seed in 0..N_TRACES {
        let faults = if seed % 2 == 0 { Faults::None } else { Faults::Leaves };
        let senseless =
            RandomTrace { seed, n_locations: 1 + (seed % 6) as u32, n_events: 150, faults }.build();
        let senseless = if seed % 4 == 3 { half_sampled(senseless) } else { senseless };
        for (trace, kind) in [(random_program(seed), "program"), (senseless, "trace")] {
            let found = violation(&trace, seed, parts, &make, &sums);
            if let Some(Violation { law, detail }) = found {
                panic!("{} breaks law {law:?} on {kind} {seed}: {detail}", <Q::Analysis as Analysis>::NAME);
            }
        }
    }
}

/// The first selection of a trace whose parts do not add up, if any.
pub fn violation<Q: Question>(
    trace: &ToyTrace,
    seed: u64,
    parts: Parts,
    make: impl Fn(&Definitions) -> Q,
    sums: impl Fn(Q::Output, &Definitions) -> Sums,
) -> Option<Violation> {
    let describe = |_: &Q::Output| String::new();
    let of = |filter: &Filter, n_buckets| {
        let case = Case { make: &make, describe: &describe, trace, filter, seed };
        let mut of_filter =
            case.output_of_buckets(n_buckets).map_or_else(Sums::new, |it| sums(it, trace.definitions()));
        of_filter.retain(|_, value| *value != 0);
        of_filter
    };
    for base in bases(seed) {
        let whole = of(&base, 0);
        for selections in partitions(trace, seed, parts, &base) {
            for n_buckets in [0, 3] {
                let added = total(selections.iter().map(|filter| of(filter, n_buckets)));
                if added != whole {
                    let detail = format!("{} for {selections:?}", difference(&whole, &added));
                    return Some(Violation { law: Law::Additive, detail });
                }
            }
        }
    }
    None
}

/// The sums of all parts, without zeros.
fn total(parts: impl Iterator<Item = Sums>) -> Sums {
    let mut added = Sums::new();
    for (key, value) in parts.flatten() {
        *added.entry(key).or_default() += value;
    }
    added.retain(|_, value| *value != 0);
    added
}

/// What all parts of a case have in common: nothing, or a selection of calls.
fn bases(seed: u64) -> Vec<Filter> {
    let predicate = ["name like 'MPI_*'", "inclusive > 5ns", "not within = step", "name = solve or rank = 1"];
    let predicate = predicate[seed as usize % 4].parse().expect("a predicate");
    let regions = vec!["main".to_owned(), "s*".to_owned()];
    vec![Filter::default(), Filter { regions, ..Filter::default() }, Filter::default().and(predicate)]
}

/// Selections that cover the whole without overlap, several times.
fn partitions(trace: &ToyTrace, seed: u64, parts: Parts, base: &Filter) -> Vec<Vec<Filter>> {
    let mut rng = Rng::new(seed ^ 0x77);
    let locations = trace.definitions().location_ids();
    let end =
        locations.flat_map(|id| trace.events(id).last().map(|event| event.time.0)).max().unwrap_or(0) + 1;
    let mut borders: Vec<u64> = (0..3).map(|_| rng.below(end)).chain([0, end]).collect();
    borders.sort_unstable();
    let in_time = |of: &Filter| -> Vec<Filter> {
        let range = |pair: &[u64]| Filter { time_ns: Some((pair[0], pair[1])), ..of.clone() };
        borders.windows(2).map(range).collect()
    };
    let mut partitions = vec![in_time(base)];
    if parts == Parts::TimesAndRanks {
        let split = 1 + rng.below(3) as u32;
        let ranks =
            |first, last| Filter { ranks: Some(RankSet::from_ranges(&[(first, last)])), ..base.clone() };
        let by_rank = [ranks(0, split - 1), ranks(split, 1000)];
        partitions.push(by_rank.to_vec());
        partitions.push(by_rank.iter().flat_map(in_time).collect());
    }
    partitions
}

fn difference(whole: &Sums, added: &Sums) -> String {
    let keys = whole.keys().chain(added.keys());
    let of = |sums: &Sums, key| sums.get(key).copied().unwrap_or(0);
    let differing = keys.filter(|key| of(whole, *key) != of(added, *key)).take(4);
    let texts: Vec<String> = differing
        .map(|key| format!("{key}: {} in all and {} in parts", of(whole, key), of(added, key)))
        .collect();
    texts.join("; ")
}
