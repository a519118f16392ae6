//! HPCToolkit's files: each decoder alone, and a database of several of them.

use crate::allocation::{ARCHIVE, DECODER, bounded};
use crate::archive::dir;
use ouzel_analyses::call_path_profile::CallPathProfile;
use ouzel_engine::{AnalysisSet, Pass};
use ouzel_hpcdb::experiment::{Experiment, ThreadValues};
use ouzel_hpcdb::measurement::{Measurement, merged_lines, trace_line};
use ouzel_hpcdb::{CctDb, Line, Lines, Meta, ProfileDb, TraceDb};
use ouzel_model::{Filter, MetricId, MetricValueType, SeverityRow};
use std::fs;
use std::io::Cursor;
use std::num::NonZeroUsize;
use std::sync::Arc;

/// One file; the first byte selects its kind.
pub fn decoder(data: &[u8]) {
    let Some((kind, file)) = data.split_first() else { return };
    let name: Arc<str> = Arc::from("fuzz");
    let cursor = || Cursor::new(file);
    bounded(file.len(), DECODER, || match kind % 8 {
        0 => {
            let Ok(meta) = Meta::read(&name, file) else { return };
            for (i, context) in meta.contexts.iter().enumerate() {
                assert!(context.parent.is_none_or(|parent| (parent as usize) < i), "parents come first");
            }
        }
        1 => {
            let Ok(db) = ProfileDb::read(&name, cursor()) else { return };
            for profile in db.profiles.iter().take(16) {
                if let Ok(values) = ProfileDb::values(&name, cursor(), profile) {
                    assert!(values.len() <= file.len() / 10);
                }
            }
        }
        2 => {
            let Ok(db) = CctDb::read(&name, cursor()) else { return };
            for context in 0..db.n_contexts.min(64) as u32 {
                if let Ok(values) = db.values(&name, cursor(), context) {
                    assert!(values.len() <= file.len() / 12);
                }
            }
        }
        3 => {
            let Ok(db) = TraceDb::read(&name, cursor()) else { return };
            db.lines.iter().take(16).for_each(|line| samples(file, *line));
        }
        4 => {
            if let Ok(line) = trace_line(&name, cursor(), 0, None) {
                samples(file, line);
            }
        }
        5 => {
            let Ok(merged) = merged_lines(&name, cursor()) else { return };
            merged.lines.iter().take(16).for_each(|merged| samples(file, merged.line));
        }
        6 => drop(Measurement::read(&name, cursor())),
        _ => {
            drop(Experiment::read(&name, file));
            if let Ok(values) = ThreadValues::read(&name, cursor()) {
                let _ = (values.get(0, 0), values.get(1, 0), values.get(u32::MAX, u32::MAX));
            }
        }
    });
}

/// Every sample of a line lies in the file.
fn samples(file: &[u8], line: Line) {
    assert!(line.n_bytes() <= file.len() as u64);
    let Ok(mut lines) = Lines::new(Arc::from("fuzz"), Cursor::new(file), line) else { return };
    let mut n_samples = 0;
    while let Ok(samples) = lines.read(u64::MAX) {
        if samples.len() == 0 {
            break;
        }
        n_samples += samples.len() as u64;
    }
    assert_eq!(n_samples, line.n_samples);
}

/// Files of a database; the number of one is its place here.
pub const FILES: [&str; 6] = [
    "meta.db",
    "profile.db",
    "trace.db",
    "experiment.xml",
    "made-000000-000-1-1-0.hpctrace",
    "made-000000-000-1-1-0.hpcrun",
];

/// A database of files packed as those of an archive are: a profile of its trace, and its severities.
pub fn database(data: &[u8]) {
    let folder = dir("hpctoolkit");
    for (name, bytes) in FILES.iter().zip(crate::archive::unpack::<{ FILES.len() }>(data)) {
        let path = folder.join(name);
        match bytes {
            Some(bytes) => fs::write(&path, bytes).expect("the directory is ours"),
            None => drop(fs::remove_file(&path)),
        }
    }
    bounded(data.len(), ARCHIVE, || {
        let Ok(opened) = (ouzel_formats::hpctoolkit::READER.open)(&ouzel_formats::Candidate::at(&folder)) else { return };
        if let Some(source) = opened.trace {
            let mut set = AnalysisSet::default();
            let profile = set.add(CallPathProfile);
            let filter = Filter::default();
            let pass = Pass { filter: &filter, jobs: NonZeroUsize::MIN, progress: None };
            let mut report = set.run(&*source, pass).expect("whatever the files hold, the pass ends");
            report.outputs.take(&profile).expect("the profile answers");
        }
        if let Some(source) = opened.profile {
            let tree = &source.definitions().call_tree;
            for metric in (0..source.definitions().metrics.len()).map(MetricId::from_index) {
                let Ok(mut rows) = source.open(metric, tree.all()) else { continue };
                let mut row = SeverityRow::new(MetricValueType::F64);
                while let Ok(true) = rows.read(&mut row) {
                    assert!(row.path < tree.all().end);
                }
            }
        }
    });
}
