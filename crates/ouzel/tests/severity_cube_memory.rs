//! What is held in memory while the profile of a trace is made and read: many locations × many call paths.
//!
//! Law: without a limit 12 bytes a value, and once more those of the largest metric; with a limit no more than that, a
//! row, and where rows begin. A program of its own, because it counts every allocation of the process.
#![expect(clippy::unwrap_used, reason = "a test that cannot write its data fails")]

use ouzel::model::SeverityRow;
use ouzel::{CubeStorage, Options, Profile};
use peak_alloc::PeakAlloc;
use std::fmt::Write;
use std::num::NonZeroUsize;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

const N_LOCATIONS: u64 = 200;
const N_REGIONS: u64 = 2000;
/// Time, visits, least and greatest time.
const N_METRICS: u64 = 4;
/// Definitions, call paths, totals of the location at work, windows on files, blocks of the temporary file.
const FIXED: u64 = 6 << 20;

/// Every location calls every region once.
fn table() -> String {
    let mut text = "Timestamp (s),Event Type,Name,Process\n".to_owned();
    for location in 0..N_LOCATIONS {
        for region in 0..N_REGIONS {
            let (enter, leave) = (2 * region, 2 * region + 1);
            writeln!(text, "{enter},Enter,f{region},{location}").unwrap();
            writeln!(text, "{leave},Leave,f{region},{location}").unwrap();
        }
    }
    text
}

/// Sum of all visits, a whole number.
fn n_visits(profile: &Profile) -> u64 {
    let definitions = profile.definitions();
    let id = definitions.metric_by_name("visits").unwrap();
    let mut rows = profile.source().open(id, definitions.call_tree.all()).unwrap();
    let mut row = SeverityRow::new(definitions.metric(id).value_type);
    let mut sum = 0.0;
    while rows.read(&mut row).unwrap() {
        sum += row.iter().map(|(_, value)| value).sum::<f64>();
    }
    sum as u64
}

#[test]
fn memory_is_that_of_the_values_or_of_the_limit() {
    let folder = std::env::temp_dir().join(format!("ouzel-cube-memory-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("calls.csv");
    std::fs::write(&path, table()).unwrap();
    let trace = ouzel::open(&path).unwrap();
    let options = Options { jobs: NonZeroUsize::MIN, ..Options::default() };
    let peak = |memory_bytes: u64| {
        let before = MEMORY.current_usage();
        MEMORY.reset_peak_usage();
        let storage = CubeStorage { memory_bytes, folder: Some(folder.clone()), ..CubeStorage::default() };
        let profile = trace.severity_cube_in(&storage, &options).unwrap().output;
        assert_eq!(n_visits(&profile), N_LOCATIONS * N_REGIONS);
        (MEMORY.peak_usage() - before) as u64
    };
    let value_bytes = 12 * N_LOCATIONS * N_REGIONS * N_METRICS;
    let whole = peak(u64::MAX);
    let limit = 4 << 20;
    let limited = peak(limit);
    println!("{value_bytes} bytes of values: {whole} held without a limit, {limited} with one of {limit}");
    assert!(whole <= value_bytes + value_bytes / N_METRICS + FIXED, "{whole} bytes held for {value_bytes}");
    assert!(value_bytes <= whole, "the values were in memory");
    let starts = 16 * N_REGIONS * N_METRICS * (2 * value_bytes).div_ceil(limit);
    assert!(limited <= limit + starts + FIXED, "{limited} bytes held with a limit of {limit}");
    assert!(limited < value_bytes, "less than all values");
    drop(trace);
    std::fs::remove_dir_all(&folder).unwrap();
}
