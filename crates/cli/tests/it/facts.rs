//! The program finds what the generator planted, to the nanosecond and to the byte.
//!
//! The generator knows its facts from simulating the run, independently of any decoder.
//! Clocks are skewed, ids permuted, archives in both byte orders and several chunks.

use crate::run::{Scratch, json};
use ouzel_testkit::synth::{self, Counters, Facts, RankFacts, Skew, SynthOptions};
use serde_json::Value;
use std::path::Path;

fn check(test: &str, options: &SynthOptions) {
    let scratch = Scratch::new(test);
    let facts = synth::write_archive(&scratch.0, options).expect("the archive can be written");
    check_info(&scratch.0, &facts);
    let mut words = vec!["profile", "--messages", "--per", "rank", "--jobs", "3"];
    if options.counters == Counters::On {
        words.extend(["--metric", "PAPI_*"]);
    }
    let answer = json(&scratch.0, &words);
    assert_eq!(answer["notices"], serde_json::json!([]), "{test}");
    let rows = answer["data"]["rows"].as_array().expect("a profile has rows");
    let n_expected: usize = facts.ranks.iter().map(|rank| rank.regions.len()).sum();
    assert_eq!(rows.len(), n_expected, "{test}: one row for each region of each rank");
    for rank in &facts.ranks {
        let of_rank: Vec<&Value> = rows.iter().filter(|row| row["rank"] == rank.rank).collect();
        check_rank(rank, &of_rank);
    }
    check_losses(&scratch.0, &facts);
}

fn check_info(archive: &Path, facts: &Facts) {
    let data = &json(archive, &["info"])["data"];
    assert_eq!(data["n_events"], facts.n_events);
    assert_eq!(data["n_processes"], facts.n_ranks);
    assert_eq!(data["span_ns"], facts.span_ns);
    assert_eq!(data["ticks_per_second"], facts.ticks_per_second);
}

fn check_rank(rank: &RankFacts, rows: &[&Value]) {
    for fact in &rank.regions {
        let place = format!("{} on rank {}", fact.region, rank.rank);
        let row = rows
            .iter()
            .find(|row| row["region"] == *fact.region)
            .unwrap_or_else(|| panic!("no row of {place}"));
        assert_eq!(row["visits"], fact.visits, "visits of {place}");
        assert_eq!(row["inclusive_ns"], fact.inclusive_ns, "inclusive time of {place}");
        assert_eq!(row["exclusive_ns"], fact.exclusive_ns, "exclusive time of {place}");
        for (counter, values) in &fact.counters {
            assert_eq!(row[format!("{counter}_inclusive")], values.inclusive, "{counter} of {place}");
            assert_eq!(row[format!("{counter}_exclusive")], values.exclusive, "{counter} of {place}");
        }
    }
    let sum = |key: &str| -> u64 { rows.iter().filter_map(|row| row[key].as_u64()).sum() };
    let messages = &rank.messages;
    assert_eq!(
        (sum("sends"), sum("bytes_sent")),
        (messages.n_sent, messages.bytes_sent),
        "rank {}",
        rank.rank
    );
    let received = (messages.n_received, messages.bytes_received);
    assert_eq!((sum("receives"), sum("bytes_received")), received, "rank {}", rank.rank);
    let collectives =
        |of: fn(&synth::CollectiveFacts) -> u64| -> u64 { rank.collectives.iter().map(of).sum() };
    assert_eq!(sum("collectives"), collectives(|c| c.n_calls), "rank {}", rank.rank);
    assert_eq!(sum("collective_bytes_sent"), collectives(|c| c.bytes_sent), "rank {}", rank.rank);
}

/// The report leads to what was planted: the slow ranks work longest, and the rank that writes is not waiting.
fn check_losses(archive: &Path, facts: &Facts) {
    let answer = json(archive, &["report"]);
    let losses = answer["data"]["losses"].as_array().expect("a report has losses");
    let uneven = losses.iter().filter(|loss| loss["kind"] == "uneven_work");
    let slowest: Vec<u64> = uneven.filter_map(|loss| loss["most"]["rank"].as_u64()).collect();
    let planted =
        |rank: &u64| *rank == 0 || facts.losses.slow_ranks.iter().any(|&slow| u64::from(slow) == *rank);
    assert!(!slowest.is_empty() && planted(&slowest[0]), "{slowest:?} of {:?}", facts.losses.slow_ranks);
}

fn small() -> SynthOptions {
    SynthOptions { n_events: 60_000, n_ranks: 9, ..SynthOptions::default() }
}

#[test]
fn drifting_clocks_and_permuted_ids_change_nothing() {
    check("facts-drifting", &small());
}

#[test]
fn counters_are_attributed_to_the_unit() {
    check("facts-counters", &SynthOptions { counters: Counters::On, seed: 2, ..small() });
}

#[test]
fn any_resolution_is_rounded_once() {
    let options = SynthOptions { ticks_per_second: 3_699_958_577, skew: Skew::Constant, seed: 3, ..small() };
    check("facts-resolution", &options);
}

#[test]
fn byte_order_and_chunks_mean_nothing() {
    let endian = synth::Endian::Big;
    let options = SynthOptions { endian, event_chunk_bytes: 4096, n_ranks: 4, seed: 4, ..small() };
    check("facts-chunks", &options);
}
