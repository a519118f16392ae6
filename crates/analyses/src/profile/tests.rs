use super::*;
use crate::{By, Per};
use ouzel_model::{
    CallPathTree, Clock, ColumnData, Definitions, Location, LocationGroup, LocationGroupId,
    LocationGroupKind, LocationId, LocationKind, Paradigm, Region, RegionId, RegionRole, Ticks, WorldRank,
};
use std::sync::Arc;

/// Regions of these names; one process with one location for each of `ranks`.
fn definitions(names: &[&str], ranks: &[Option<u32>]) -> Definitions {
    let clock =
        Clock { ticks_per_second: 500_000_000, offset_ticks: 0, realtime_ns: None, declared_length: None };
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
    for (i, rank) in ranks.iter().enumerate() {
        let rank = rank.map(WorldRank);
        let kind = LocationGroupKind::Process;
        definitions.location_groups.push(LocationGroup {
            name: Arc::from("process"),
            kind,
            system_node: None,
            creator: None,
            rank,
        });
        definitions.locations.push(Location {
            name: Arc::from("Master thread"),
            kind: LocationKind::CpuThread,
            group: LocationGroupId::from_index(i),
            rank,
            declared_events: None,
            native_id: 100 + i as u64,
        });
    }
    definitions
}

fn times(visits: u64, inclusive: u64, exclusive: u64, min: u64, max: u64) -> Times {
    let [inclusive, exclusive, min, max] = [inclusive, exclusive, min, max].map(Ticks);
    Times { visits, inclusive, exclusive, min, max }
}

/// f(100) calls g(60), which calls f again(40); the same on two locations.
fn recursive_profile() -> ProfileOutput {
    let mut call_paths = CallPathTree::default();
    let f = call_paths.child(CallPathTree::ROOT, RegionId(0));
    let g = call_paths.child(f, RegionId(1));
    let again = call_paths.child(g, RegionId(0));
    let rows = vec![
        PathTimes { call_path: f, times: times(1, 100, 40, 100, 100) },
        PathTimes { call_path: g, times: times(2, 60, 20, 25, 35) },
        PathTimes { call_path: again, times: times(4, 40, 40, 1, 30) },
    ];
    let location = |i| LocationProfile {
        location: LocationId(i),
        span: Some((Ticks(0), Ticks(120))),
        outside: Ticks(20),
        rows: rows.clone(),
    };
    ProfileOutput { call_paths, locations: vec![location(0), location(1)], run_range: None }
}

#[test]
fn a_recursive_call_adds_its_inclusive_time_once() {
    let definitions = definitions(&["f", "g"], &[Some(0), Some(1)]);
    let rows = recursive_profile().rows(&definitions, By::Region, Per::Total);
    let seen: Vec<(u32, Times)> = rows.iter().map(|row| (row.key.region.0, row.times)).collect();
    assert_eq!(seen, [(0, times(10, 200, 160, 1, 100)), (1, times(4, 120, 40, 25, 35))]);
}

#[test]
fn rows_of_equal_time_are_sorted_by_path_then_rank() {
    let definitions = definitions(&["f", "g"], &[Some(7), None]);
    let rows = recursive_profile().rows(&definitions, By::CallPath, Per::Rank);
    let seen: Vec<(usize, Option<u32>)> = rows
        .iter()
        .map(|row| (row.key.call_path.unwrap().index(), row.key.rank.map(|rank| rank.0)))
        .collect();
    assert_eq!(seen, [(1, None), (1, Some(7)), (3, None), (3, Some(7)), (2, None), (2, Some(7))]);
}

#[test]
fn tables_speak_nanoseconds_and_names() {
    let definitions = definitions(&["f", "g"], &[Some(0), Some(1)]);
    let table = recursive_profile().table(&definitions, By::CallPath, Per::Location);
    let names: Vec<&str> = table.columns.iter().map(|column| column.name.as_str()).collect();
    let values = ["visits", "inclusive_ns", "exclusive_ns", "min_ns", "max_ns"];
    let described = ["paradigm", "role", "file", "line"];
    assert_eq!(names, [&["region", "call_path", "rank", "location"][..], &values, &described].concat());
    assert_eq!(table.column("location").unwrap().data.len(), 6);
    let exclusive = &table.column("exclusive_ns").unwrap().data;
    assert_eq!(*exclusive, ColumnData::U64(vec![80, 80, 80, 80, 40, 40]));
    let ColumnData::TextList(paths) = &table.column("call_path").unwrap().data else { panic!("not a list") };
    assert_eq!(paths[2].iter().map(|name| &**name).collect::<Vec<_>>(), ["f", "g", "f"]);
}
