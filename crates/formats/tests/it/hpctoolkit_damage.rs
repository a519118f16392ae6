//! HPCToolkit's files cut at each percent, with flipped bytes and without each member: what was
//! read before the damage stays, the rest is reported, and nothing hangs.

use ouzel_formats::{Candidate, Opened, Reader};
use ouzel_model::units::count;
use ouzel_model::{
    ChunkBuffer, ContextId, Filter, Level, MetricId, MetricValueType, Needs, Notice, ProfileSource,
    ReadError, ReadPlan, SeverityRow, TraceSource,
};
use ouzel_testkit::hpctoolkit::{DatabaseShape, write_database};
use std::fs;
use std::path::{Path, PathBuf};

const READER: &Reader = &ouzel_formats::hpctoolkit::READER;
const SHAPE: DatabaseShape = DatabaseShape { n_ranks: 3, n_samples: 40, n_phases: 4, n_iterations: 0 };

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
    let candidate = Candidate::at(path);
    if (READER.recognise)(&candidate).is_none() {
        found.errors.push("not recognised".to_owned());
        return found;
    }
    match (READER.open)(&candidate) {
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
            let time_range = filter.resolve(source.definitions()).window;
            let mut buffer = ChunkBuffer::default();
            let mut read = || -> Result<usize, ReadError> {
                let mut n_samples = 0;
                let mut reader = source.open(location, &ReadPlan { needs: Needs::SAMPLES, time_range })?;
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
    let trace = (READER.open)(&Candidate::at(&scratch.0)).unwrap().trace.unwrap();
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

/// Bytes of a sample of `.hpctrace` and `experiment.mt` files of this layout, and of a database.
const SAMPLE_BYTES: usize = 12;

fn is_high(found: &Found) -> bool {
    !found.errors.is_empty() || found.notices.iter().any(|notice| notice.level == Level::High)
}

/// A trace as `hpcrun` writes it: a sample every millisecond, the last one without a frame if it ended well.
fn hpctrace(n_samples: u64, ends_idle: bool) -> Vec<u8> {
    let mut bytes = b"HPCRUN-trace______01.01b".to_vec();
    bytes.extend([0; 8]);
    for i in 0..n_samples {
        let is_last = i + 1 == n_samples;
        bytes.extend((1_700_000_000_000_000_000 + 1_000_000 * i).to_be_bytes());
        bytes.extend(if is_last && ends_idle { 1_u32 } else { 5 }.to_be_bytes());
    }
    bytes
}

/// A database of version 3: two threads with as many samples, idle at their end or not.
fn old_database(folder: &Path, n_samples: [u64; 2], ends_idle: bool, declares_end: bool) {
    fs::create_dir_all(folder).unwrap();
    let last = 1_700_000_000_000_000_000_u64 + 1_000_000 * (n_samples[0].max(n_samples[1]) - 1);
    let end = if declares_end {
        format!(" db-min-time=\"1700000000000000000\" db-max-time=\"{last}\"")
    } else {
        String::new()
    };
    let xml = format!(
        r#"<?xml version="1.0"?>
<HPCToolkitExperiment version="2.2">
<Header n="made"><Info/></Header>
<SecCallPathProfile i="0" n="made"><SecHeader>
<MetricTable></MetricTable><TraceDBTable><TraceDB i="0" u="1000000000"{end}/></TraceDBTable>
<LoadModuleTable></LoadModuleTable><FileTable></FileTable>
<ProcedureTable><Procedure i="1" n="&lt;no activity&gt;"/><Procedure i="2" n="main"/></ProcedureTable>
</SecHeader><SecCallPathProfileData>
<PF i="10" s="1" l="1" n="1"><S i="11" it="1" l="1"/></PF><PF i="12" s="2" l="1" n="2"><S i="13" it="5" l="1"/></PF>
</SecCallPathProfileData></SecCallPathProfile></HPCToolkitExperiment>
"#
    );
    fs::write(folder.join("experiment.xml"), xml).unwrap();
    for (thread, n_samples) in n_samples.into_iter().enumerate() {
        let name = format!("made-000000-{thread:03}-00000001-77-0.hpctrace");
        fs::write(folder.join(name), hpctrace(n_samples, ends_idle)).unwrap();
    }
}

fn first_thread(folder: &Path) -> PathBuf {
    folder.join("made-000000-000-00000001-77-0.hpctrace")
}

#[test]
fn a_rest_of_a_sample_proves_a_cut_wherever_it_is() {
    let scratch = Scratch::new("rest");
    let folder = scratch.0.join("made");
    old_database(&folder, [50, 50], false, false);
    let whole = read(&folder);
    assert!(!is_high(&whole) && whole.n_samples == 100, "{whole:?}");
    let path = first_thread(&folder);
    let bytes = fs::read(&path).unwrap();
    for cut in 0..bytes.len() {
        fs::write(&path, &bytes[..cut]).unwrap();
        let found = read(&folder);
        let at_border = 32 <= cut && (cut - 32).is_multiple_of(SAMPLE_BYTES);
        assert!(at_border || is_high(&found), "cut at {cut}: {found:?}");
        if 32 <= cut && !at_border {
            let rest = (cut - 32) % SAMPLE_BYTES;
            let place = format!(
                "000.hpctrace+{:#x}: the trace was truncated: it ends with {rest} of the 12 bytes",
                cut - rest
            );
            let is_it = |notice: &&Notice| notice.to_string().replace("-00000001-77-0", "").contains(&place);
            assert!(found.notices.iter().any(|notice| is_it(&notice)), "{place}: {:?}", found.notices);
        }
    }
}

/// A file that claims to be of 48 GiB, and has a few samples.
#[test]
fn samples_that_were_never_written_are_lost_and_not_read() {
    let scratch = Scratch::new("unwritten");
    let folder = scratch.0.join("made");
    for n_samples in [50_u64, 1, 0] {
        old_database(&folder, [50, n_samples], false, false);
        let path = folder.join("made-000000-001-00000001-77-0.hpctrace");
        fs::OpenOptions::new().write(true).open(&path).unwrap().set_len((12 << 32) + 32).unwrap();
        let found = read(&folder);
        assert_eq!(found.n_samples as u64, 50 + n_samples, "{found:?}");
        let n_unwritten = count((1 << 32) - n_samples);
        let is_said = |notice: &Notice| {
            notice.level == Level::High && notice.message.contains(&format!("last {n_unwritten} samples"))
        };
        assert!(found.notices.iter().any(is_said), "{n_unwritten}: {:?}", found.notices);
    }
}

#[test]
fn a_cut_between_samples_is_doubtful_where_others_go_on_and_sure_where_the_end_is_declared() {
    let scratch = Scratch::new("border");
    let said = |name: &str, n_samples: [u64; 2], ends_idle: bool, declares_end: bool| {
        let folder = scratch.0.join(name);
        old_database(&folder, n_samples, ends_idle, declares_end);
        let found = read(&folder);
        let about = |notice: &&Notice| notice.message.contains("truncated");
        found.notices.iter().filter(about).map(|notice| notice.level).max()
    };
    assert_eq!(said("alike", [100, 98], false, false), None);
    assert_eq!(said("a-little-early", [100, 91], false, false), None, "a tenth of the run is nothing");
    assert_eq!(said("early", [100, 40], false, false), Some(Level::Medium));
    assert_eq!(said("ended-well", [100, 40], true, false), None, "a thread may end before others");
    assert_eq!(said("declared", [100, 98], false, true), None);
    let folder = scratch.0.join("cut");
    old_database(&folder, [100, 98], false, true);
    let path = first_thread(&folder);
    let bytes = fs::read(&path).unwrap();
    for n_samples in [0, 1, 50, 97, 98, 99] {
        fs::write(&path, &bytes[..32 + SAMPLE_BYTES * n_samples]).unwrap();
        assert!(is_high(&read(&folder)), "cut behind {n_samples} samples");
    }
}

#[test]
fn merged_traces_without_their_end_are_cut() {
    let scratch = Scratch::new("merged");
    let folder = scratch.0.join("made");
    old_database(&folder, [30, 30], true, false);
    let traces = [hpctrace(30, true), hpctrace(30, true)];
    for thread in 0..2 {
        fs::remove_file(folder.join(format!("made-000000-{thread:03}-00000001-77-0.hpctrace"))).unwrap();
    }
    let mut merged = [2_u32.to_be_bytes(), 2_u32.to_be_bytes()].concat();
    let start = 8 + 2 * 16;
    for (thread, start) in [(0_u32, start), (1, start + traces[0].len())] {
        merged.extend([0_u32.to_be_bytes(), thread.to_be_bytes()].concat());
        merged.extend((start as u64).to_be_bytes());
    }
    traces.iter().for_each(|trace| merged.extend(trace));
    merged.extend([0xff, 0xff, 0xff, 0xff, 0xde, 0xad, 0xf0, 0x0d]);
    let path = folder.join("experiment.mt");
    fs::write(&path, &merged).unwrap();
    let whole = read(&folder);
    assert!(!is_high(&whole) && whole.n_samples == 60, "{whole:?}");
    for cut in 0..merged.len() {
        fs::write(&path, &merged[..cut]).unwrap();
        let found = read(&folder);
        assert!(is_high(&found) && found.n_samples <= 60, "cut at {cut}: {found:?}");
    }
}

#[test]
fn measurements_say_when_their_last_sample_was_taken() {
    let Some(shared) = ouzel_testkit::shared_data() else { return };
    let scratch = Scratch::new("declared");
    let from = shared.join("data/hpctoolkit-meas/test-small.m");
    for entry in fs::read_dir(&from).unwrap() {
        let entry = entry.unwrap();
        fs::write(scratch.0.join(entry.file_name()), fs::read(entry.path()).unwrap()).unwrap();
    }
    assert!(!is_high(&read(&scratch.0)), "nothing is missing");
    let path = members(&scratch.0).into_iter().find(|path| path.extension().is_some_and(|e| e == "hpctrace"));
    let path = path.unwrap();
    let bytes = fs::read(&path).unwrap();
    for cut in 0..bytes.len() {
        fs::write(&path, &bytes[..cut]).unwrap();
        assert!(is_high(&read(&scratch.0)), "cut at {cut}");
    }
}

#[test]
fn whole_databases_are_not_called_cut() {
    let Some(shared) = ouzel_testkit::shared_data() else { return };
    let mut n_read = 0;
    for kind in ["hpctoolkit", "hpctoolkit-meas", "hpctoolkit-v2v3"] {
        for entry in fs::read_dir(shared.join("data").join(kind)).unwrap() {
            let path = entry.unwrap().path();
            let Ok(Opened { trace: Some(trace), .. }) = (READER.open)(&Candidate::at(&path)) else {
                continue;
            };
            let cut: Vec<_> =
                trace.notices().iter().filter(|notice| notice.message.contains("truncated")).collect();
            assert!(cut.is_empty(), "{}: {cut:?}", path.display());
            n_read += 1;
        }
    }
    assert!(8 < n_read, "{n_read}");
}
