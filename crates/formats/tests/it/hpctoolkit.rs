//! HPCToolkit's databases against values that an independent reader found in them.

use ouzel_formats::{Candidate, OpenError, Opened, Reader};
use ouzel_hpcdb::{CctDb, LexicalType, Meta, ProfileDb, Relation};
use ouzel_model::{
    CallPathId, ChunkBuffer, Content, Filter, LocationId, MetricId, Needs, ProfileSource, ReadPlan,
    ScopedRows, SeverityRow, TraceSource,
};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const READER: &Reader = &ouzel_formats::hpctoolkit::READER;

/// Each database that is there with its golden values.
fn databases() -> Vec<(PathBuf, Value)> {
    let Some(shared) = ouzel_testkit::shared_data() else { return Vec::new() };
    let golden = shared.join("golden/formats");
    let mut all = Vec::new();
    for entry in std::fs::read_dir(&golden).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        let Some(name) = name.strip_prefix("hpc4-hpctoolkit_").and_then(|n| n.strip_suffix(".json")) else {
            continue;
        };
        let database = shared.join("data/hpctoolkit").join(name);
        if database.is_dir() {
            let value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
            all.push((database, value));
        }
    }
    assert!(8 <= all.len(), "golden values of {} databases", all.len());
    all.sort_by(|a, b| a.0.cmp(&b.0));
    all
}

fn named(path: &Path) -> (Arc<str>, File) {
    (Arc::from(path.display().to_string()), File::open(path).unwrap())
}

fn meta_of(database: &Path) -> Meta {
    let path = database.join("meta.db");
    let meta = Meta::read(&Arc::from("meta.db"), &std::fs::read(path).unwrap()).unwrap();
    assert_eq!(meta.damages, []);
    meta
}

fn n(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is a number"))
}

/// How often each kind occurs, as the golden values write it.
fn counts(kinds: impl Iterator<Item = u64>) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    for kind in kinds {
        *counts.entry(kind.to_string()).or_default() += 1;
    }
    counts
}

fn golden_counts(value: &Value) -> BTreeMap<String, u64> {
    value.as_object().unwrap().iter().map(|(key, value)| (key.clone(), n(value))).collect()
}

#[test]
fn definitions_are_those_of_the_independent_reader() {
    for (database, golden) in databases() {
        let (meta, golden) = (meta_of(&database), &golden["meta"]);
        assert_eq!(&*meta.title, golden["title"].as_str().unwrap());
        assert_eq!(serde_json::json!([meta.version.major, meta.version.minor]), golden["version"]);
        let kinds: Vec<&str> = meta.kinds.iter().map(|kind| &**kind).collect();
        assert_eq!(serde_json::json!(kinds), golden["idnames"]);
        assert_eq!(meta.modules.len() as u64, n(&golden["n_modules"]));
        assert_eq!(meta.files.len() as u64, n(&golden["n_files"]));
        assert_eq!(meta.functions.len() as u64, n(&golden["n_functions"]));
        let is_entry = |lexical: &LexicalType| matches!(lexical, LexicalType::Entry { .. });
        let entries: Vec<Value> = meta
            .contexts
            .iter()
            .filter_map(|context| match &context.lexical {
                LexicalType::Entry { code, name } => Some(serde_json::json!([context.id, code, &**name])),
                _ => None,
            })
            .collect();
        assert_eq!(Value::from(entries), golden["entry_points"], "{database:?}");
        assert_eq!(meta.contexts.len() as u64 + 1, n(&golden["n_ctx"]), "with the root of everything");
        assert_eq!(meta.contexts.iter().map(|c| u64::from(c.id)).max().unwrap(), n(&golden["max_ctx_id"]));
        let inner = || meta.contexts.iter().filter(|context| !is_entry(&context.lexical));
        let lexical = counts(inner().map(|context| match context.lexical {
            LexicalType::Function => 0,
            LexicalType::Loop => 1,
            LexicalType::Line => 2,
            LexicalType::Instruction => 3,
            LexicalType::Entry { .. } | LexicalType::Unknown(_) => 99,
        }));
        assert_eq!(lexical, golden_counts(&golden["lexical_counts"]), "{database:?}");
        let relations = counts(inner().map(|context| match context.relation {
            Relation::Lexical => 0,
            Relation::Call => 1,
            Relation::InlinedCall => 2,
            Relation::Unknown(_) => 99,
        }));
        assert_eq!(relations, golden_counts(&golden["relation_counts"]), "{database:?}");
    }
}

#[test]
fn metrics_are_those_of_the_independent_reader() {
    for (database, golden) in databases() {
        let meta = meta_of(&database);
        let golden = golden["meta"]["metrics"].as_array().unwrap();
        assert_eq!(meta.metrics.len(), golden.len());
        for (metric, golden) in meta.metrics.iter().zip(golden) {
            assert_eq!(&*metric.name, golden["name"].as_str().unwrap());
            let scope = |scope: Option<usize>| &*meta.scopes[scope.unwrap()].name;
            let values: Vec<Value> =
                metric.values.iter().map(|&(s, id)| serde_json::json!([id, scope(s)])).collect();
            assert_eq!(Value::from(values), golden["prop"]);
            let summaries = metric.summaries.iter().map(|summary| {
                let combine = format!("{:?}", summary.combine).to_lowercase();
                serde_json::json!([summary.id, scope(summary.scope), &*summary.formula, combine])
            });
            assert_eq!(summaries.collect::<Value>(), golden["stat"]);
        }
    }
}

/// Profiles, their identifier tuples and sums; and every value of `cct.db` is one of `profile.db`.
#[test]
fn values_are_those_of_the_independent_reader() {
    for (database, golden) in databases() {
        let (name, file) = named(&database.join("profile.db"));
        let db = ProfileDb::read(&name, file).unwrap();
        assert_eq!(db.damages, []);
        let golden_profiles = golden["profiles"].as_array().unwrap();
        assert_eq!(db.profiles.len(), golden_profiles.len());
        let mut by_context = BTreeMap::new();
        for (i, (profile, golden)) in db.profiles.iter().zip(golden_profiles).enumerate() {
            let id: Vec<Value> = profile
                .id
                .iter()
                .map(|p| serde_json::json!([p.kind, u8::from(p.is_physical), p.logical, p.physical]))
                .collect();
            let golden_id = golden["idtuple"].as_array().unwrap();
            // The golden values have the fields in the order kind, flags, logical, physical.
            assert_eq!(id.len(), golden_id.len());
            for (part, golden) in id.iter().zip(golden_id) {
                assert_eq!(part, golden, "{database:?} profile {i}");
            }
            assert_eq!(profile.n_values(), n(&golden["nvals"]));
            assert_eq!(profile.n_contexts(), n(&golden["nctx"]));
            let (name, file) = named(&database.join("profile.db"));
            let values = ProfileDb::values(&name, file, profile).unwrap();
            assert_eq!(values.len() as u64, profile.n_values());
            for (metric, sum) in golden["root_values"].as_object().unwrap() {
                let found = values.iter().find(|v| v.context == 0 && v.metric.to_string() == *metric);
                let (found, sum) = (found.unwrap().value, sum.as_f64().unwrap());
                // The parser of the golden values rounds in the last digit.
                assert!((found - sum).abs() <= 1e-14 * sum, "{database:?} profile {i}: {found} {sum}");
            }
            if !profile.is_summary {
                by_context
                    .extend(values.iter().map(|v| ((v.context, v.metric, i as u32), v.value.to_bits())));
            }
        }
        let (name, file) = named(&database.join("cct.db"));
        let cct = CctDb::read(&name, file).unwrap();
        assert_eq!((cct.n_contexts, cct.damages.len()), (n(&golden["cct"]["n_ctx"]), 0));
        for context in 0..cct.n_contexts as u32 {
            for value in cct.values(&name, File::open(&*name).unwrap(), context).unwrap() {
                let key = (context, value.metric, value.profile);
                assert_eq!(by_context.remove(&key), Some(value.value.to_bits()), "{database:?} {key:?}");
            }
        }
        assert_eq!(by_context, BTreeMap::new(), "nothing is left");
        assert_eq!(golden["cct_profile_crosscheck"]["mismatch"], 0);
    }
}

/// Every sample of a location: time since the trace start and the innermost function, if any runs.
fn samples(source: &dyn TraceSource, location: LocationId, filter: &Filter) -> Vec<(u64, Option<String>)> {
    let definitions = source.definitions();
    let plan = ReadPlan { needs: Needs::SAMPLES, time_range: filter.resolve(definitions).window };
    let mut reader = source.open(location, &plan).unwrap();
    let (mut buffer, mut all) = (ChunkBuffer::default(), Vec::new());
    while reader.read(&mut buffer).unwrap() {
        for sample in &buffer.samples {
            let name = sample.context.map(|mut at| {
                // Loops are part of their function.
                loop {
                    let context = definitions.sampled_contexts.get(at);
                    let region = definitions.region(context.region);
                    match context.parent {
                        Some(parent) if region.role == ouzel_model::RegionRole::Loop => at = parent,
                        _ => return region.canonical_name.as_ref().unwrap_or(&region.name).to_string(),
                    }
                }
            });
            all.push((buffer.time[sample.row as usize].0, name));
        }
    }
    assert_eq!(reader.notices(), []);
    all
}

#[test]
fn trace_lines_are_those_of_the_independent_reader() {
    for (database, golden) in databases().into_iter().filter(|(_, golden)| golden["traces"].is_array()) {
        let source = (READER.open)(&Candidate::at(&database)).unwrap().trace.unwrap();
        let definitions = source.definitions();
        let start = n(&golden["trace"]["min"]);
        assert_eq!(definitions.clock.offset_ticks, start);
        let lines = golden["traces"].as_array().unwrap();
        assert_eq!(definitions.locations.len(), lines.len());
        let mut time_by_function: BTreeMap<String, u64> = BTreeMap::new();
        for id in definitions.location_ids() {
            let location = definitions.location(id);
            let line = lines.iter().find(|line| n(&line["prof"]) == location.native_id).unwrap();
            let samples = samples(&*source, id, &Filter::default());
            assert_eq!(samples.len() as u64, n(&line["n"]));
            assert_eq!(location.declared_events, Some(samples.len() as u64));
            let Some((first, _)) = samples.first() else { continue };
            assert_eq!(first + start, n(&line["first"][0]));
            assert_eq!(samples[samples.len() - 1].0 + start, n(&line["last"][0]));
            let n_idle = samples.iter().filter(|sample| sample.1.is_none()).count();
            assert_eq!(n_idle as u64, n(&line["idle_samples"]));
            for pair in samples.windows(2) {
                let name = pair[0].1.clone().unwrap_or_else(|| "<global>".to_owned());
                *time_by_function.entry(name).or_default() += pair[1].0 - pair[0].0;
            }
        }
        let (_, by_function) = golden
            .as_object()
            .unwrap()
            .iter()
            .find(|(key, _)| key.starts_with("time_by_innermost_function_ns"))
            .unwrap();
        for (name, ns) in by_function.as_object().unwrap() {
            assert_eq!(time_by_function.get(name), ns.as_u64().as_ref(), "{database:?} {name}");
        }
    }
}

/// Sums over all call paths and threads are what the summary profile says of the root.
#[test]
fn severities_sum_up_to_the_stored_totals() {
    for (database, golden) in databases() {
        let Opened { profile, .. } = (READER.open)(&Candidate::at(&database)).unwrap();
        let profile = profile.unwrap();
        let meta = meta_of(&database);
        let totals = golden["profiles"][0]["root_values"].as_object().unwrap();
        for (i, metric) in profile.definitions().metrics.iter().enumerate() {
            let stored = meta.metrics.iter().find(|m| *m.name == *metric.display_name).unwrap();
            let execution = stored
                .summaries
                .iter()
                .find(|s| s.scope.is_some_and(|scope| &*meta.scopes[scope].name == "execution"))
                .unwrap();
            let Some(total) = totals.get(&execution.id.to_string()).and_then(Value::as_f64) else { continue };
            let found = total_of(&*profile, MetricId::from_index(i));
            assert!(
                (found - total).abs() <= 1e-9 * total.abs(),
                "{database:?} {}: {found} {total}",
                metric.name
            );
        }
    }
}

/// The inclusive value of all roots over all locations.
fn total_of(profile: &dyn ProfileSource, metric: MetricId) -> f64 {
    let tree = &profile.definitions().call_tree;
    let mut rows = ScopedRows::open(profile, metric, ouzel_model::Scope::Inclusive, tree.all()).unwrap();
    let mut row = SeverityRow::new(ouzel_model::MetricValueType::F64);
    let mut total = 0.0;
    let mut before = None;
    while rows.read(&mut row).unwrap() {
        assert!(before.is_none_or(|before: CallPathId| row.path < before), "rows come from the last");
        before = Some(row.path);
        if tree.node(row.path).parent.is_none() {
            total += row.iter().map(|(_, value)| value).sum::<f64>();
        }
    }
    assert_eq!(rows.notices(), []);
    total
}

/// The sampling period, of databases whose metric says it: see the notes on the format.
#[test]
fn periods_are_inferred() {
    let expected = [
        ("test-loops-cputime-t.d", 6_000_000),
        ("viewer-inline.meta.db", 3_334_000),
        ("test-small.d", 101_000_000),
    ];
    for (database, _) in databases() {
        let name = database.file_name().unwrap().to_str().unwrap().to_owned();
        let Some((_, period)) = expected.iter().find(|(at, _)| *at == name) else { continue };
        let source = (READER.open)(&Candidate::at(&database)).unwrap().trace.unwrap();
        let [generator] = &source.definitions().interrupt_generators[..] else { panic!("one generator") };
        assert!(generator.period.abs_diff(*period) * 100 < *period, "{name}: {} ns", generator.period);
        assert!(source.notices().iter().any(|n| n.code == ouzel_model::NoticeCode::InferredPeriod));
    }
}

/// A range of time leaves out what cannot matter to it, and nothing else.
#[test]
fn a_range_of_time_is_pushed_down() {
    let Some((database, _)) =
        databases().into_iter().find(|(path, _)| path.ends_with("viewer-inline.meta.db"))
    else {
        return;
    };
    let source = (READER.open)(&Candidate::at(&database)).unwrap().trace.unwrap();
    let all = samples(&*source, LocationId(0), &Filter::default());
    for (from, to) in [(0, 1), (100, 101), (7, 900), (1000, all.len() - 1)] {
        let range = (all[from].0, all[to].0);
        let some = samples(&*source, LocationId(0), &Filter { time_ns: Some(range), ..Filter::default() });
        assert_eq!(
            some,
            all[from..=to],
            "from the sample that holds at the start to the first behind the end"
        );
    }
}

#[test]
fn what_cannot_be_read_is_named() {
    let Some(shared) = ouzel_testkit::shared_data() else { return };
    let path = shared.join("data/hpctoolkit-prof2/viewer-prof2-loop-inline");
    match (READER.open)(&Candidate::at(&path)) {
        Err(OpenError::Refused { reason, .. }) => {
            assert!(reason.contains("pre-release 4.0 layout"), "{reason}");
        }
        other => panic!("{other:?}"),
    }
    // No trace.db: a profile and nothing else.
    let opened = (READER.open)(&Candidate::at(&shared.join("data/hpctoolkit/hatchet-cpi-v4"))).unwrap();
    assert!(opened.trace.is_none());
    assert_eq!(opened.profile.unwrap().definitions().locations.len(), 16);
}

#[test]
fn a_trace_says_what_it_lacks() {
    let Some((database, _)) = databases().into_iter().find(|(path, _)| path.ends_with("pingpong-pipit"))
    else {
        return;
    };
    let source = (READER.open)(&Candidate::at(&database)).unwrap().trace.unwrap();
    assert!(source.lacks(Content::Messages).unwrap().contains("no messages"));
    assert!(source.lacks(Content::Samples).is_none());
    assert!(source.is_sampled(LocationId(0)));
}

fn open_shared(path: &str) -> Option<Opened> {
    let path = ouzel_testkit::shared_data()?.join("data").join(path);
    Some((READER.open)(&Candidate::at(&path)).unwrap_or_else(|error| panic!("{path:?}: {error}")))
}

/// Number of samples of each location, by its name.
fn lines(source: &dyn TraceSource) -> Vec<(String, usize)> {
    let name = |id| source.definitions().location(id).name.to_string();
    let ids = source.definitions().location_ids();
    ids.map(|id| (name(id), samples(source, id, &Filter::default()).len())).collect()
}

/// No reference tool reads these; the numbers follow from the sizes of the files.
#[test]
fn databases_before_format_4_are_read() {
    let Some(Opened { trace, profile }) = open_shared("hpctoolkit-v2v3/viewer-xml-inline.xml.db") else {
        return;
    };
    let source = trace.unwrap();
    // 133,432 bytes: 8 traces with a header of 32 bytes each after a table of 8 + 8 * 16, and a marker of 8.
    let lines_found = lines(&*source);
    assert_eq!(lines_found.len(), 8);
    assert_eq!(lines_found.iter().map(|line| line.1).sum::<usize>(), (133_432 - 136 - 8 - 8 * 32) / 12);
    let clock = source.definitions().clock;
    assert_eq!(clock.offset_ticks, 1_659_713_364_904_210_000, "db-min-time of the XML file");
    assert_eq!(clock.declared_length.unwrap().0, 1_659_713_370_342_819_000 - 1_659_713_364_904_210_000);
    // The values of the root are printed with six digits.
    let profile = profile.unwrap();
    assert_eq!(&*profile.definitions().metrics[0].name, "cycles");
    let total = total_of(&*profile, MetricId(0));
    assert!((total / 1.13528e11 - 1.0).abs() < 1e-5, "{total}");
}

#[test]
fn streams_of_older_databases_are_streams() {
    let Some(Opened { trace, .. }) = open_shared("hpctoolkit-v2v3/viewer-xml-acc_f3") else { return };
    let source = trace.unwrap();
    let expected = [("Thread 0".to_owned(), (1676 - 32) / 12), ("GPU stream 0".to_owned(), (728 - 32) / 12)];
    assert_eq!(lines(&*source), expected);
    // Every second sample of the stream says that nothing runs.
    let stream = samples(&*source, LocationId(1), &Filter::default());
    assert_eq!(stream.iter().filter(|sample| sample.1.is_none()).count(), stream.len() / 2);
}

/// Sums over the threads' files are the sums of the XML file.
#[test]
fn values_of_threads_are_read() {
    let Some(Opened { trace, profile }) = open_shared("hpctoolkit-v2v3/hatchet-hpctoolkit-cpi-database")
    else {
        return;
    };
    assert!(trace.is_none(), "it has none");
    let profile = profile.unwrap();
    let names: Vec<&str> = profile.definitions().locations.iter().map(|l| &*l.name).collect();
    assert_eq!(names, ["Thread 0"; 4]);
    assert_eq!(profile.definitions().location_groups[3].rank, Some(ouzel_model::WorldRank(3)));
    let xml = ouzel_testkit::shared_data().unwrap();
    let xml = xml.join("data/hpctoolkit-v2v3/hatchet-hpctoolkit-cpi-database/experiment.xml");
    let text = std::fs::read_to_string(xml).unwrap();
    // The first value of the data is that of the root of everything.
    let data = text.split("<SecCallPathProfileData>").nth(1).unwrap();
    let value = data.split("<M n=\"2\" v=\"").nth(1).unwrap().split('"').next().unwrap();
    let (total, expected) = (total_of(&*profile, MetricId(0)), value.parse::<f64>().unwrap());
    assert!((total / expected - 1.0).abs() < 1e-5, "{total} {expected}");
}

#[test]
fn measurements_are_read() {
    let Some(Opened { trace, .. }) = open_shared("hpctoolkit-meas/test-small.m") else { return };
    let source = trace.unwrap();
    assert_eq!(lines(&*source), [("Thread 0".to_owned(), (188 - 32) / 12)]);
    // The database made of it has the same times.
    let Some(Opened { trace: Some(made), .. }) = open_shared("hpctoolkit/test-small.d") else { return };
    let times = |source: &dyn TraceSource| -> Vec<u64> {
        samples(source, LocationId(0), &Filter::default()).into_iter().map(|sample| sample.0).collect()
    };
    assert_eq!(times(&*source), times(&*made));
    assert_eq!(source.definitions().clock, made.definitions().clock);
    let Some(Opened { trace, .. }) = open_shared("hpctoolkit-meas/test-loops-cuda-nvidia-t.m") else {
        return;
    };
    let source = trace.unwrap();
    assert_eq!(lines(&*source), [("Thread 0".to_owned(), 0), ("GPU stream 0".to_owned(), 200)]);
    let stream = samples(&*source, LocationId(1), &Filter::default());
    assert_eq!(stream.iter().filter(|sample| sample.1.is_none()).count(), 100);
}
