//! HPCToolkit's files cut at each percent, with flipped bytes and without each member: what was
//! read before the damage stays, the rest is told, and nothing hangs.

use ouzel_formats::{Opened, Reader};
use ouzel_model::{
    ChunkBuffer, ContextId, Filter, Level, MetricId, MetricValueType, Needs, Notice, ProfileSource,
    ReadError, SeverityRow, TraceSource,
};
use ouzel_testkit::hpctoolkit::{DatabaseShape, write_database};
use std::fs;
use std::path::{Path, PathBuf};

const READER: &Reader = &ouzel_formats::hpctoolkit::READER;
const SHAPE: DatabaseShape = DatabaseShape { n_ranks: 3, n_samples: 40, n_phases: 4 };

/// A folder that is gone at the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("ouzel-hpctoolkit-{name}-{}", std::process::id()));
        drop(fs::remove_dir_all(&path));
        fs::create_dir_all(&path).unwrap();
        Scratch(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}

/// What a folder gave.
#[derive(Debug, Default)]
struct Found {
    n_samples: usize,
    /// Of the metrics' values.
    n_values: usize,
    notices: Vec<Notice>,
    errors: Vec<String>,
}

impl Found {
    fn says_something(&self) -> bool {
        !self.errors.is_empty() || self.notices.iter().any(|notice| Level::Low < notice.level)
    }
}

fn read(path: &Path) -> Found {
    let mut found = Found::default();
    if (READER.recognise)(path).is_none() {
        found.errors.push("not recognised".to_owned());
        return found;
    }
    match (READER.open)(path) {
        Ok(Opened { trace, profile }) => {
            assert!(trace.is_some() || profile.is_some());
            if let Some(source) = trace {
                read_trace(&*source, &mut found);
            }
            if let Some(source) = profile {
                read_profile(&*source, &mut found);
            }
        }
        Err(error) => {
            let text = error.to_string();
            assert!(text.contains("ouzel-hpctoolkit-"), "the file is named: {text}");
            found.errors.push(text);
        }
    }
    found
}

/// Every id leads somewhere.
fn look_up(source: &dyn TraceSource, id: ContextId) {
    let context = source.definitions().sampled_contexts.get(id);
    source.definitions().region(context.region);
}

fn read_trace(source: &dyn TraceSource, found: &mut Found) {
    found.notices.extend_from_slice(source.notices());
    for range in [None, Some((5_000_000, 20_000_000))] {
        for location in source.definitions().location_ids() {
            let filter = Filter { time_ns: range, ..Filter::default() };
            let mut buffer = ChunkBuffer::default();
            let mut read = || -> Result<usize, ReadError> {
                let mut n_samples = 0;
                let mut reader = source.open(location, &source.plan(Needs::SAMPLES, &filter))?;
                let mut last = 0;
                while reader.read(&mut buffer)? {
                    assert!(buffer.time.is_sorted() && buffer.time.first().is_none_or(|time| last <= time.0));
                    last = buffer.time.last().map_or(last, |time| time.0);
                    buffer
                        .samples
                        .iter()
                        .filter_map(|sample| sample.context)
                        .for_each(|id| look_up(source, id));
                    n_samples += buffer.samples.len();
                }
                found.notices.extend(reader.notices());
                Ok(n_samples)
            };
            match read() {
                Ok(n) if range.is_none() => found.n_samples += n,
                Ok(_) => {}
                Err(error) => found.errors.push(error.to_string()),
            }
        }
    }
}

fn read_profile(source: &dyn ProfileSource, found: &mut Found) {
    found.notices.extend_from_slice(source.notices());
    let definitions = source.definitions();
    for i in 0..definitions.metrics.len() {
        let mut rows = match source.open(MetricId::from_index(i), definitions.call_tree.all()) {
            Ok(rows) => rows,
            Err(error) => {
                found.errors.push(error.to_string());
                continue;
            }
        };
        let mut row = SeverityRow::new(MetricValueType::F64);
        let mut before = None;
        while rows.read(&mut row).unwrap() {
            assert!(
                before.is_none_or(|before| row.path < before) && row.path < definitions.call_tree.all().end
            );
            before = Some(row.path);
            assert!(row.locations.as_ref().unwrap().is_sorted());
            found.n_values += row.iter().filter(|(_, value)| value.is_finite()).count();
        }
        found.notices.extend(rows.notices());
    }
}

/// A made database, or a copy of real ones.
fn subjects(scratch: &Scratch) -> Vec<PathBuf> {
    let made = scratch.0.join("made");
    write_database(&made, SHAPE).unwrap();
    let mut all = vec![made];
    if let Some(shared) = ouzel_testkit::shared_data() {
        for path in [
            "hpctoolkit/test-small.d",
            "hpctoolkit-meas/test-small.m",
            "hpctoolkit-v2v3/hatchet-hpctoolkit-cpi-database",
        ] {
            let to = scratch.0.join(path.replace('/', "-"));
            fs::create_dir_all(&to).unwrap();
            for entry in fs::read_dir(shared.join("data").join(path)).unwrap() {
                let entry = entry.unwrap();
                if entry.file_type().unwrap().is_file() {
                    fs::write(to.join(entry.file_name()), fs::read(entry.path()).unwrap()).unwrap();
                }
            }
            all.push(to);
        }
    }
    all
}

/// Files whose bytes matter to what is read.
fn members(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.file_name().is_some_and(|name| name != "cct.db"));
    files.sort();
    files
}

#[test]
fn a_made_database_is_read_whole() {
    let scratch = Scratch::new("whole");
    write_database(&scratch.0, SHAPE).unwrap();
    let found = read(&scratch.0);
    assert_eq!((found.n_samples, found.n_values, &found.errors[..]), (3 * 40, 3, &[][..]));
    assert!(!found.says_something(), "{:?}", found.notices);
    let trace = (READER.open)(&scratch.0).unwrap().trace.unwrap();
    let definitions = trace.definitions();
    let names: Vec<&str> = definitions.location_groups.iter().map(|group| &*group.name).collect();
    assert_eq!(names, ["MPI Rank 0", "MPI Rank 1", "MPI Rank 2"]);
    let path = definitions.sampled_contexts.iter().last().unwrap();
    assert_eq!((&*definitions.region(path.region).name, path.depth), ("leaf3", 6));
    assert_eq!(definitions.interrupt_generators[0].period, 1_000_000);
}

#[test]
fn files_that_were_cut_lose_their_tail_only() {
    let scratch = Scratch::new("cut");
    for folder in subjects(&scratch) {
        let whole = read(&folder);
        for file in members(&folder) {
            let bytes = fs::read(&file).unwrap();
            for percent in 0..100 {
                fs::write(&file, &bytes[..bytes.len() * percent / 100]).unwrap();
                let found = read(&folder);
                assert!(found.says_something(), "{file:?} cut at {percent} % is not told");
                assert!(found.n_samples <= whole.n_samples && found.n_values <= whole.n_values);
            }
            fs::write(&file, &bytes).unwrap();
        }
    }
}

#[test]
fn samples_before_a_cut_stay() {
    let scratch = Scratch::new("stay");
    write_database(&scratch.0, SHAPE).unwrap();
    let path = scratch.0.join("trace.db");
    let bytes = fs::read(&path).unwrap();
    let data = 64 + 24 * 3;
    for n_samples in 0..3 * 40 {
        fs::write(&path, &bytes[..data + 12 * n_samples + 5]).unwrap();
        assert_eq!(read(&scratch.0).n_samples, n_samples, "those that are there");
    }
}

#[test]
fn flipped_bytes_do_no_harm() {
    let scratch = Scratch::new("flipped");
    let mut rng = ouzel_testkit::Rng::new(20_240_131);
    for folder in subjects(&scratch) {
        for file in members(&folder) {
            let bytes = fs::read(&file).unwrap();
            for _ in 0..200 {
                let mut damaged = bytes.clone();
                for _ in 0..1 + rng.below(3) {
                    let at = rng.below(damaged.len() as u64) as usize;
                    damaged[at] = rng.below(256) as u8;
                }
                fs::write(&file, &damaged).unwrap();
                read(&folder);
            }
            fs::write(&file, &bytes).unwrap();
        }
    }
}

#[test]
fn missing_members_are_told() {
    let scratch = Scratch::new("missing");
    write_database(&scratch.0, SHAPE).unwrap();
    let without = |name: &str| {
        let bytes = fs::read(scratch.0.join(name)).unwrap();
        fs::remove_file(scratch.0.join(name)).unwrap();
        let found = read(&scratch.0);
        fs::write(scratch.0.join(name), bytes).unwrap();
        found
    };
    let found = without("profile.db");
    assert_eq!((found.n_samples, found.n_values), (120, 0));
    assert!(found.notices.iter().any(|notice| notice.message.contains("profile.db is missing")));
    let found = without("trace.db");
    assert_eq!((found.n_samples, found.n_values), (0, 3));
    assert_eq!(without("meta.db").errors, ["not recognised"]);
}
