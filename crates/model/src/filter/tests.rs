//! Selections, and what becomes of them.

use super::*;
use crate::{
    CallPathTree, Clock, Definitions, Location, LocationGroupId, LocationId, LocationKind, Paradigm, Region,
    RegionRole, WorldRank,
};
use std::sync::Arc;

#[test]
fn rank_sets_are_read_as_written() {
    let set: RankSet = "0-3, 8,10-12".parse().unwrap();
    assert!([0, 3, 8, 10, 12].into_iter().all(|r| set.contains(WorldRank(r))));
    assert!([4, 9, 13].into_iter().all(|r| !set.contains(WorldRank(r))));
    assert_eq!(set.to_string(), "0-3,8,10-12");
}

#[test]
fn bad_rank_sets_say_what_is_wrong() {
    for (text, needle) in [("a", "\"a\""), ("5-2", "ends before"), ("", "not a rank"), ("1-", "not a rank")] {
        let error = text.parse::<RankSet>().unwrap_err();
        assert!(error.contains(needle), "{text}: {error}");
    }
}

fn definitions(names: &[&str], ranks: &[Option<u32>]) -> Definitions {
    let clock =
        Clock { ticks_per_second: 1_000_000_000, offset_ticks: 0, realtime_ns: None, declared_length: None };
    let mut definitions = Definitions::empty(clock);
    let region = |name: &&str| Region {
        name: Arc::from(*name),
        canonical_name: None,
        file: None,
        line: None,
        end_line: None,
        role: RegionRole::Function,
        paradigm: Paradigm::User,
    };
    definitions.set_regions(names.iter().map(region).collect());
    definitions.locations = ranks
        .iter()
        .map(|rank| Location {
            name: Arc::from("thread"),
            kind: LocationKind::CpuThread,
            group: LocationGroupId(0),
            rank: rank.map(WorldRank),
            declared_events: None,
            native_id: 0,
        })
        .collect();
    definitions
}

fn kept(patterns: &[&str], names: &[&str]) -> Vec<bool> {
    let filter = Filter { regions: patterns.iter().map(|&p| p.to_owned()).collect(), ..Filter::default() };
    let definitions = definitions(names, &[]);
    let mut kept = filter.resolve(&definitions).regions.expect("there are patterns");
    assert_eq!(kept.len(), definitions.regions.len(), "placeholders have their place");
    kept.truncate(definitions.n_regions());
    kept
}

#[test]
fn patterns_match_whole_names() {
    let names = ["MPI_Send", "MPI_Isend", "PMPI_Send", "main", "mpi_send", ""];
    assert_eq!(kept(&["MPI_*"], &names), [true, true, false, false, false, false]);
    assert_eq!(kept(&["*end"], &names), [true, true, true, false, true, false]);
    assert_eq!(kept(&["MPI_?send"], &names), [false, true, false, false, false, false]);
    assert_eq!(kept(&["mai"], &names), [false; 6]);
    assert_eq!(kept(&["*"], &names), [true; 6]);
    assert_eq!(kept(&["main", "*Isend"], &names), [false, true, false, true, false, false]);
}

#[test]
fn patterns_take_brackets_and_other_signs_as_they_are() {
    let names = ["a[0]", "a0", "f(int*)", "std::vector<int>::push_back", "größe"];
    assert_eq!(kept(&["a[0]"], &names), [true, false, false, false, false]);
    assert_eq!(kept(&["*::push_back"], &names), [false, false, false, true, false]);
    assert_eq!(kept(&["gr??e"], &names), [false, false, false, false, true]);
    assert_eq!(kept(&["f(int*)"], &names), [false, false, true, false, false]);
}

#[test]
fn no_pattern_keeps_every_region() {
    assert_eq!(Filter::default().resolve(&definitions(&["main"], &[])).regions, None);
    assert!(Filter::default().is_everything());
}

#[test]
fn locations_without_a_rank_are_left_out_when_ranks_are_asked_for() {
    let definitions = definitions(&[], &[Some(0), Some(1), None, Some(1), Some(7)]);
    let of = |ranks: Option<&str>| {
        let ranks = ranks.map(|text| text.parse().unwrap());
        Filter { ranks, ..Filter::default() }.resolve(&definitions).locations
    };
    assert_eq!(of(None), [0, 1, 2, 3, 4].map(LocationId));
    assert_eq!(of(Some("1-9")), [1, 3, 4].map(LocationId));
    assert_eq!(of(Some("2")), []);
}

/// Reads `text` and writes it again.
fn rewritten(text: &str) -> String {
    text.parse::<Predicate>().map_or_else(|error| format!("! {error}"), |p| p.to_string())
}

#[test]
fn the_language_reads_what_people_write() {
    for (text, meaning) in [
        ("name = main", "name = \"main\""),
        ("NAME == 'a b'", "name = \"a b\""),
        (r#"name != "say \"hi\"""#, r#"not name = "say \"hi\"""#),
        ("name in (a, b)", "name in (\"a\", \"b\")"),
        ("name not like MPI_*, *wait?", "not name like (\"MPI_*\", \"*wait?\")"),
        (
            "name like 'MPI_*' and rank in 0-3 and not depth > 4",
            "name like \"MPI_*\" and rank <= 3 and not depth >= 5",
        ),
        ("rank = 0 or rank = 2 and depth < 1", "rank = 0 or (rank = 2 and depth = 0)"),
        ("(rank = 0 or rank = 2) and depth < 0", "(rank = 0 or rank = 2) and depth < 0"),
        ("rank in 0-3, 8,10-", "rank in 0-3, 8, 10-"),
        ("thread between 1 and 3", "thread in 1-3"),
        ("time in 10s..20s", "time in 10000000000ns..20000000000ns"),
        ("time between .5ms and 1.5ms", "time in 500000ns..1500000ns"),
        ("time between 2 and 1", "depth < 0"),
        ("time >= 1ms", "time >= 1000000ns"),
        ("time <= 1us", "time < 1001ns"),
        ("inclusive > 1.5us", "inclusive >= 1501ns"),
        ("exclusive in 1us.., 3ns", "exclusive in 1000ns.., 3ns"),
        ("enter >= 2 and leave < 3s", "enter >= 2000000000ns and leave <= 2999999999ns"),
        ("metric(\"PAPI_TOT_INS\") > 1e6", "metric(\"PAPI_TOT_INS\") >= 1000001"),
        ("within like solve*", "within like \"solve*\""),
        ("path = 'main/solve'", "path = \"main/solve\""),
        ("name in ()", "name in ()"),
    ] {
        assert_eq!(rewritten(text), meaning, "{text}");
        assert_eq!(rewritten(meaning), meaning, "{text}: writes what it reads");
    }
}

#[test]
fn what_is_no_filter_says_where_and_why() {
    for (text, needle) in [
        ("", "expected a test of name"),
        ("rank", "expected <, <=, =, !=, >=, >, in or between at character 5"),
        ("rank = x", "\"x\" is not a whole number at character 8"),
        ("rank in 5-2", "\"5-2\" is not a whole number or a range"),
        ("colour = red", "\"colour\" is not a field"),
        ("name > 3", "expected =, !=, in or like at character 6"),
        ("name = \"a", "unclosed quote at character 8"),
        ("depth > 2.5", "\"2.5\" is not a whole number"),
        ("inclusive > 3 apples", "expected \"and\", \"or\" or the end at character 15"),
        ("inclusive > 3min", "is not a time"),
        ("time in 2s..1s", "is not a time range"),
        ("(rank = 0", "expected \")\""),
        ("rank = 0 and", "expected a test of"),
        ("rank ! 0", "unexpected '!'"),
        ("metric > 3", "expected (\"NAME\")"),
        ("rank = 99999999999999999999", "is not a whole number"),
    ] {
        let error = text.parse::<Predicate>().unwrap_err().to_string();
        assert!(error.contains(needle), "{text}: {error}");
    }
    for deep in ["(".repeat(100_000), "not ".repeat(100_000)] {
        let error = deep.parse::<Predicate>().unwrap_err();
        assert!(error.reason.contains("levels"), "{error}");
    }
}

fn predicate(text: &str) -> Predicate {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

#[test]
fn times_that_must_hold_are_a_window() {
    let filter = Filter::default().and(predicate("time in 1s..3s and name = a and time < 2s"));
    assert_eq!(filter.time_ns, Some((1_000_000_000, 2_000_000_000)));
    assert_eq!(filter.predicate, Some(predicate("name = a")));
    let more = filter.and(predicate("rank = 0 and time >= 1.5s"));
    assert_eq!(more.time_ns, Some((1_500_000_000, 2_000_000_000)));
    assert_eq!(more.predicate, Some(predicate("name = a and rank = 0")));
    let of_calls = Filter::default().and(predicate("name = a or time < 2s"));
    assert_eq!((of_calls.time_ns, of_calls.predicate.is_some()), (None, true));
    let nothing = Filter::default().and(predicate("time < 1s and time >= 2s"));
    assert_eq!(nothing.time_ns, Some((2_000_000_000, 2_000_000_000)));
}

#[test]
fn a_predicate_chooses_locations_where_it_can() {
    let definitions = definitions(&["x"], &[Some(0), Some(1), None, Some(2)]);
    for (text, locations) in [
        ("rank = 0", &[0_u32][..]),
        ("not rank = 0", &[1, 2, 3]),
        ("rank = 1 and name = x", &[1]),
        ("rank = 1 or name = x", &[0, 1, 2, 3]),
        ("not (rank = 1 or name = x)", &[0, 2, 3]),
        ("rank >= 1 and rank < 2 or rank = 0", &[0, 1]),
        ("rank in 7-9", &[]),
        ("thread = 0", &[]),
    ] {
        let found = Filter::default().and(predicate(text)).resolve(&definitions).locations;
        assert_eq!(found, locations.iter().map(|&l| LocationId(l)).collect::<Vec<_>>(), "{text}");
    }
}

#[test]
fn what_is_named_and_is_not_there_is_said() {
    let definitions = definitions(&["main", "MPI_Send", "src/a.c"], &[Some(0), Some(1)]);
    let told = |filter: &Filter| {
        filter.resolve(&definitions).unmatched.into_iter().map(|notice| notice.message).collect::<Vec<_>>()
    };
    let no_call = "no call passes this test";
    for (text, messages) in [
        ("name = main and not within like \"MPI_*\"", vec![]),
        ("path in (\"main/MPI_Send\", \"main/src/a.c\", main)", vec![]),
        ("path like (\"*/x\", \"m?in\")", vec![]),
        (
            "name = MPI_Semd",
            vec![format!("no region of the trace is named \"MPI_Semd\": {no_call}; did you mean MPI_Send?")],
        ),
        (
            "path = \"main/MPI_send\"",
            vec![format!(
                "no region of the trace has the name at the end of path \"main/MPI_send\": {no_call}; did you mean MPI_Send?"
            )],
        ),
        ("name in (main, nope)", vec![format!("no region of the trace is named \"nope\": {no_call}")]),
        ("not within like \"n*\"", vec![format!("no region of the trace is named like \"n*\": {no_call}")]),
        (
            "path = \"main/nope\"",
            vec![format!("no region of the trace has the name at the end of path \"main/nope\": {no_call}")],
        ),
        (
            "metric(b) > 1 or not metric(a) > 2 and metric(b) < 9",
            ["a", "b"].map(|name| format!("no counter of the trace is named \"{name}\": {no_call}")).to_vec(),
        ),
    ] {
        assert_eq!(told(&Filter::default().and(predicate(text))), messages, "{text}");
    }
    let regions = ["main", "M?I_*", "X*"].map(str::to_owned).to_vec();
    let filter = Filter { regions, ranks: Some("1-7,9,12-13".parse().unwrap()), ..Filter::default() };
    assert_eq!(
        told(&filter),
        [
            "no location of the trace belongs to rank 12-13",
            "no location of the trace belongs to rank 9",
            "no region of the trace is named like \"X*\": it selects nothing",
        ]
    );
    let nobody = Filter { ranks: Some("7,9".parse().unwrap()), ..Filter::default() };
    assert!(told(&nobody).is_empty(), "the pass says it");
}

#[test]
fn paths_are_selected_by_names_with_what_they_call_and_by_tests_alone() {
    let definitions = definitions(&["main", "solve", "send"], &[Some(0)]);
    let mut paths = CallPathTree::default();
    let mut at = CallPathTree::ROOT;
    for region in (0..3).map(crate::RegionId::from_index) {
        at = paths.child(at, region);
    }
    let of = |filter: Filter| filter.resolve(&definitions).of_paths(&paths, &definitions);
    let named = |name: &str| Filter { regions: vec![name.to_owned()], ..Filter::default() };
    let tested = |text: &str| Filter::default().and(text.parse().expect("a predicate"));
    for (filter, expected) in [
        (Filter::default(), [true, true, true, true]),
        (named("solve"), [false, false, true, true]),
        (named("s*"), [false, false, true, true]),
        (tested("name = solve"), [false, false, true, false]),
        (tested("within = solve"), [false, false, true, true]),
        (tested("name = solve and inclusive > 1s"), [false, false, true, false]),
        (tested("name = solve and rank = 7"), [false, false, true, false]),
        (named("solve").and("name = send".parse().expect("a predicate")), [false, false, false, true]),
    ] {
        assert_eq!(of(filter.clone()), expected, "{filter:?}");
    }
}

#[test]
fn a_selection_splits_into_what_is_read_and_what_is_shown() {
    let filter = Filter { regions: vec!["f".to_owned()], ..Filter::default() };
    let filter =
        filter.and("rank in 0-3 and (rank = 1 or depth = 0) and not thread = 2".parse().expect("valid"));
    let (read, shown) = filter.split_calls();
    assert_eq!((read.regions.len(), shown.regions.len()), (0, 1));
    let text = |filter: &Filter| filter.predicate.as_ref().map(ToString::to_string).unwrap_or_default();
    assert_eq!(text(&read), "rank <= 3 and not thread = 2");
    assert!(!text(&read).contains("depth") && text(&shown).contains("depth"), "{}", text(&shown));
    assert!(Filter::default().split_calls().1.is_everything());
}
