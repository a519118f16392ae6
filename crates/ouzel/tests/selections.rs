//! What is selected in parts adds up to the whole, on real archives, and no part doubts the clocks of a trace that the
//! whole does not doubt.
//!
//! Small programs are held to the same law beside the analyses. Archives that are not part of the repository are
//! skipped, with a word.

use ouzel::analyses::breakdown::{ActivityTimes, Breakdown, HostCode, Requests};
use ouzel::analyses::comm_matrix::CommMatrix;
use ouzel::analyses::message_waits::LateMessages;
use ouzel::analyses::phases::Phases;
use ouzel::analyses::semantics::Semantics;
use ouzel::engine::Question;
use ouzel::model::{CallPathId, CallPathTree, Definitions, Filter, Notice, NoticeCode};
use ouzel::{Options, Trace};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

type Sums = BTreeMap<String, i128>;

const FILTERED: &str = "[filtered]";

fn archives() -> Vec<PathBuf> {
    let own = |name: &str| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata").join(name);
    let mut paths = ["pmpi-jacobi", "eztrace-jacobi", "zoo/late_sender/faulty"].map(own).to_vec();
    for name in ["hpccg-4", "lulesh-8"] {
        paths.extend(ouzel_testkit::shared_path(&format!("data/field/{name}")));
    }
    paths
}

/// Four ranges that touch, from before the first event to behind the last; borders have no meaning.
fn windows(trace: &Trace) -> Vec<Filter> {
    let run = trace.run(&Default::default(), &Options::default()).expect("the pass succeeds").run_range;
    let run = run.expect("there are events");
    let ns = |ticks| trace.definitions().clock.ns_from_ticks(ticks);
    let (start, end) = (ns(run.start), ns(run.end) + 1_000);
    let at = |share: u64| start + (end - start) / 100 * share;
    let borders = [0, at(21), at(50), at(83), end];
    borders.windows(2).map(|pair| Filter { time_ns: Some((pair[0], pair[1])), ..Filter::default() }).collect()
}

fn by_rank() -> Vec<Filter> {
    let ranks = |text: &str| Filter { ranks: Some(text.parse().expect("ranks")), ..Filter::default() };
    vec![ranks("0-1"), ranks("2"), ranks("3-1000")]
}

fn add(sums: &mut Sums, key: String, value: impl Into<i128>) {
    *sums.entry(key).or_default() += value.into();
}

fn name(tree: &CallPathTree, path: CallPathId, definitions: &Definitions) -> String {
    let names = tree.regions(path).into_iter().map(|region| definitions.region(region).name.to_string());
    names.collect::<Vec<_>>().join("/")
}

/// What the analyses that pair say of a selection.
fn sums(trace: &Trace, filter: &Filter) -> (Sums, Vec<Notice>) {
    let definitions = trace.definitions();
    let options = Options { filter: filter.clone(), ..Options::default() };
    let mut sums = Sums::new();
    let mut notices = Vec::new();
    let late = ask(trace, LateMessages::default(), &options, &mut notices);
    for row in &late.rows {
        let waiting = name(&late.call_paths, row.waiting, definitions);
        add(&mut sums, format!("{:?} in {waiting}", row.kind), row.wait.0);
        add(&mut sums, format!("indirect in {waiting}"), row.indirect.0);
    }
    add(&mut sums, "messages".to_owned(), late.n_messages);
    let matrix = ask(trace, CommMatrix::default(), &options, &mut notices);
    for cell in &matrix.cells {
        add(&mut sums, format!("bytes {:?} {:?}", cell.from, cell.to), cell.traffic.bytes);
    }
    let classes = Semantics::default().classes(definitions);
    let breakdown = Breakdown::new(&classes, HostCode::Computes, Requests::Included);
    for row in ask(trace, breakdown, &options, &mut notices).rows {
        let ActivityTimes { computation, overlap, communication, .. } = row.times;
        for (what, ticks) in
            [("computes", computation), ("overlaps", overlap), ("communicates", communication)]
        {
            add(&mut sums, format!("{what} {:?}", row.rank), ticks.0);
        }
    }
    let path = trace.critical_path(&options).expect("there is a path");
    for row in &path.output.rows {
        let of = name(&path.output.call_paths, row.call_path, definitions);
        add(&mut sums, format!("working {of}"), row.time.working.0);
        add(&mut sums, format!("in MPI {of}"), row.time.in_mpi.0);
        add(&mut sums, format!("waiting {of}"), row.time.waiting.0);
        add(&mut sums, format!("message {of}"), row.time.message.0);
        add(&mut sums, format!("collective {of}"), row.time.collective.0);
    }
    notices.extend(path.notices);
    let late = trace.lateness(&options).expect("there is no circle");
    for rank in &late.output.ranks {
        add(&mut sums, format!("operations of {:?}", rank.rank), rank.n_operations);
        add(&mut sums, format!("lateness of {:?}", rank.rank), rank.sum as i128);
        add(&mut sums, format!("added by {:?}", rank.rank), rank.differential_sum as i128);
    }
    notices.extend(late.notices);
    sums.retain(|_, value| *value != 0);
    (sums, notices)
}

fn ask<Q: Question>(
    trace: &Trace,
    question: Q,
    options: &Options<'_>,
    notices: &mut Vec<Notice>,
) -> Q::Output {
    let answer = trace.ask(question, options).expect("the analysis answers");
    notices.extend(answer.notices);
    answer.output
}

fn is_doubt(notice: &Notice) -> bool {
    let codes = [
        NoticeCode::MessageOrder,
        NoticeCode::UnmatchedMessages,
        NoticeCode::UnalignedSynchronisations,
        NoticeCode::ClocksUnsynchronised,
    ];
    codes.contains(&notice.code)
}

#[test]
fn parts_of_real_runs_add_up_and_are_not_doubted() {
    for path in archives() {
        let trace = ouzel::open(&path).expect("opens");
        let (whole, notices) = sums(&trace, &Filter::default());
        let n_doubts = notices.iter().filter(|notice| is_doubt(notice)).count();
        for parts in [windows(&trace), by_rank()] {
            let mut added = Sums::new();
            for filter in &parts {
                let (of_part, notices) = sums(&trace, filter);
                of_part.into_iter().for_each(|(key, value)| add(&mut added, key, value));
                let doubts: Vec<_> = notices.iter().filter(|notice| is_doubt(notice)).collect();
                assert!(doubts.len() <= n_doubts, "{path:?} {filter:?}: {doubts:?}");
            }
            for key in whole.keys().chain(added.keys()) {
                let (all, in_parts) = (whole.get(key), added.get(key));
                assert_eq!(all, in_parts, "{key} of {path:?} in {parts:?}");
            }
        }
    }
}

#[test]
fn phases_of_a_window_are_some_of_those_of_the_run() {
    for path in archives() {
        let trace = ouzel::open(&path).expect("opens");
        let phases = |filter: &Filter| {
            let options = Options { filter: filter.clone(), ..Options::default() };
            let answer = trace.ask(Phases::default(), &options).expect("answers");
            let regions = |group: &ouzel::analyses::phases::PhaseGroup| {
                group.phases.iter().filter_map(|phase| Some(phase.anchor?.region)).collect::<Vec<_>>()
            };
            answer.output.groups.first().map(regions).unwrap_or_default()
        };
        let whole = phases(&Filter::default());
        let mut n_found = 0;
        for filter in windows(&trace) {
            let found = phases(&filter);
            let is_part = found.is_empty() || whole.windows(found.len()).any(|run| run == found);
            assert!(is_part, "{path:?} {filter:?}");
            n_found += found.len();
        }
        // A synchronisation across a border is in both windows, or in neither. The clocks of eztrace's ranks are apart by
        // half of the run, so that most of them are across one.
        let is_short = !path.to_string_lossy().contains("eztrace");
        assert!(!is_short || whole.len().abs_diff(n_found) <= 3, "{path:?}: {n_found} of {}", whole.len());
    }
}

/// A region's name, or that of the one row that all regions which are not selected share.
fn shown_name(region: &str, selected: &[String]) -> String {
    let matches = |pattern: &String| match pattern.strip_suffix('*') {
        Some(start) => region.starts_with(start),
        None => region == pattern,
    };
    if selected.iter().any(matches) { region.to_owned() } else { FILTERED.to_owned() }
}

/// Who waits, and what the critical path is bound by, does not depend on which regions are shown; those that are shown
/// have the names of all their callers.
#[test]
fn waits_and_the_critical_path_of_selected_regions_are_those_of_all() {
    let last = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
    for path in archives() {
        let trace = ouzel::open(&path).expect("opens");
        let definitions = trace.definitions();
        let of = |filter: Filter| {
            let options = Options { filter, ..Options::default() };
            let on_path = trace.critical_path(&options).expect("there is a path").output;
            let (waits, delays) = trace.delays(&options).expect("answers").output;
            let mut sums: BTreeMap<(&str, String), Vec<u64>> = BTreeMap::new();
            let mut add = |what, path: String, values: &[u64]| {
                let sum = sums.entry((what, path)).or_insert_with(|| vec![0; values.len()]);
                sum.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
            };
            for row in &on_path.rows {
                let time = &row.time;
                let parts = [time.working, time.in_mpi, time.waiting, time.message, time.collective];
                add("path", name(&on_path.call_paths, row.call_path, definitions), &parts.map(|it| it.0));
            }
            for wait in &waits.waits {
                add("wait", name(&waits.call_paths, wait.path, definitions), &[wait.ticks().0, 1]);
            }
            for (&(_, path, _), &(short, long)) in &delays.costs {
                add("delay", name(&delays.call_paths, path, definitions), &[short.0, long.0]);
            }
            let activities: Vec<_> = on_path.with_activity().map(|(_, activity)| activity).collect();
            (sums, (on_path.bounds, activities))
        };
        let (all, bounds) = of(Filter::default());
        // Where only the end of a call tells whether it is shown, hidden ones have no names, and do what they do.
        let (_, (bounds_of_long, _)) =
            of(Filter::default().and("inclusive > 1ms".parse().expect("a predicate")));
        assert_eq!(bounds.0, bounds_of_long, "{path:?}");
        for regions in [vec!["MPI_*".to_owned()], vec!["main".to_owned(), "MPI_Recv".to_owned()]] {
            let (shown, bounds_of_shown) = of(Filter { regions: regions.clone(), ..Filter::default() });
            assert_eq!(bounds, bounds_of_shown, "{path:?} {regions:?}");
            let by_region = |sums: &BTreeMap<(&'static str, String), Vec<u64>>| {
                let mut by_region: BTreeMap<(&str, String), Vec<u64>> = BTreeMap::new();
                for ((what, path), values) in sums {
                    let region = shown_name(&last(path), &regions);
                    let sum = by_region.entry((what, region)).or_insert_with(|| vec![0; values.len()]);
                    sum.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
                }
                by_region
            };
            assert_eq!(by_region(&all), by_region(&shown), "{path:?} {regions:?}");
            for ((what, path), values) in &shown {
                if shown_name(&last(path), &regions) != FILTERED {
                    assert_eq!(all.get(&(*what, path.clone())), Some(values), "{what} in {path}");
                }
            }
        }
    }
}
