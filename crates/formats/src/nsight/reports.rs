//! Which reports a path holds, and what each says of itself: versions, host, start of the session, ranks.
//!
//! A folder of exports is one run, a report for each rank. Ranks come from, in this order: the table of MPI ranks,
//! the environment the program was started in, the names of the files, their order. A notice reports the source.

use super::database::Database;
use super::recognise_file;
use super::scan::process_id;
use super::schema::is_sqlite;
use crate::siblings::{self, Shapes};
use ouzel_files::Candidate;
use ouzel_model::{Level, Notice, ReadError};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Entries of a folder that are looked at. A run has a report for each rank.
const MAX_ENTRIES: usize = 65_536;

/// Variables that launchers set to the rank of a process.
pub(crate) const RANK_VARIABLES: [&str; 7] = [
    "OMPI_COMM_WORLD_RANK",
    "PMI_RANK",
    "PMIX_RANK",
    "MV2_COMM_WORLD_RANK",
    "PALS_RANKID",
    "SLURM_PROCID",
    "RANK",
];

/// The exports of a folder, in order of their names; the file itself if it is one.
pub(crate) fn exports_in(candidate: &Candidate) -> Vec<PathBuf> {
    let mut files = if candidate.is_file() { vec![candidate.path().to_owned()] } else { files_in(candidate) };
    files.retain(|path| recognise_file(candidate, path));
    files
}

/// The entries of a folder, in order of their names.
pub(crate) fn files_in(candidate: &Candidate) -> Vec<PathBuf> {
    let mut files = candidate.paths(candidate.path(), |_| true);
    files.truncate(MAX_ENTRIES);
    files
}

/// Whether a file is a report before its export. Its format is not published: the name is all there is to go by, and
/// that it is not a database.
pub(crate) fn is_unexported(candidate: &Candidate, path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    ["nsys-rep", "qdrep", "qdstrm"].contains(&extension) && path.is_file() && !is_sqlite(candidate, path)
}

/// A notice about reports that are named like those of `exports` and are not exported.
pub(crate) fn not_exported(candidate: &Candidate, exports: &[PathBuf]) -> Option<Notice> {
    if !candidate.is_dir() {
        return None;
    }
    let shapes = Shapes::of(exports);
    let mut reports = files_in(candidate);
    reports.retain(|path| {
        let export = path.with_extension("sqlite");
        is_unexported(candidate, path) && !exports.contains(&export) && shapes.contains(&export)
    });
    let said = ("this report is not exported and was left out", "are not exported and were left out");
    siblings::notice(&reports, Level::High, said)
}

/// What a report says of itself.
#[derive(Debug, Default)]
pub(crate) struct About {
    /// Version of the schema; empty if it is older than its versions.
    pub schema: String,
    /// Name and version of the exporter.
    pub product: String,
    pub host: String,
    /// Start of the session in nanoseconds from 1970-01-01 UTC.
    pub utc_ns: Option<i64>,
    /// Rank of each process, by the serialised id.
    pub mpi_ranks: BTreeMap<u64, u32>,
    /// The rank that the environment names, if it names one.
    pub environment_rank: Option<u32>,
    pub process_names: BTreeMap<u64, String>,
    /// By the serialised id.
    pub thread_names: BTreeMap<u64, String>,
    /// By the number of the list of the system.
    pub devices: BTreeMap<i64, Device>,
    /// For a process id and a number that CUDA gives it: the number of the list, and the id of the device.
    of_processes: BTreeMap<(i64, i64), (i64, String)>,
    /// Streams that are the default stream of their context: process id, context, stream.
    pub null_streams: BTreeSet<(i64, i64, i64)>,
}

/// A device of the system.
#[derive(Debug, Clone, Default)]
pub(crate) struct Device {
    pub name: String,
    /// Names it among all devices.
    pub uuid: String,
}

impl Device {
    /// Whether it has an id: others can run no CUDA.
    fn is_known(&self) -> bool {
        self.uuid.bytes().any(|it| it.is_ascii_alphanumeric() && it != b'0')
    }
}

impl About {
    /// The device that CUDA numbers so for a process: processes may see other devices than the system has. Without a
    /// table of these numbers it is known only if there is a single one.
    pub fn device(&self, pid: u32, number: i64) -> Option<Device> {
        if !self.of_processes.is_empty() {
            let (id, uuid) = self.of_processes.get(&(i64::from(pid), number))?;
            let listed = self.devices.get(id).cloned().unwrap_or_default();
            // A part of a device has an id of its own.
            let device = Device { uuid: uuid.clone(), ..listed.clone() };
            return [device, listed].into_iter().find(Device::is_known);
        }
        let mut known = self.devices.values().filter(|it| it.is_known());
        known.next().filter(|_| known.next().is_none()).cloned()
    }

    /// Adds a device that a process numbers so, the first of several with that number.
    pub(crate) fn add_device(&mut self, (pid, number): (i64, i64), id: i64, name: &str, uuid: &str) {
        let device = Device { name: name.to_owned(), uuid: uuid.to_owned() };
        self.devices.entry(id).or_insert(device);
        self.of_processes.entry((pid & 0xff_ffff, number)).or_insert((id, uuid.to_owned()));
    }

    /// Reads the tables about the report. What is missing or damaged stays empty.
    ///
    /// # Errors
    /// If the strings cannot be read.
    pub fn read(database: &Database) -> Result<About, ReadError> {
        let mut about = About::default();
        about.read_metadata(database);
        about.read_environment(database);
        let mut strings = database.strings()?;
        // Damage of these tables costs names only; the tables of events are read to see how far they go.
        let _ = database.scan("PROCESSES", &["globalPid", "name"], None, |row| {
            if let (Some(process), Some(name)) = (row.int(0), row.text(1)) {
                about.process_names.insert(process_id(process), name);
            }
            Ok(())
        });
        let _ = database.scan("ThreadNames", &["globalTid", "nameId", "priority"], None, |row| {
            let name = row.int(1).and_then(|id| strings.get(id));
            if let (Some(thread), Some(name)) = (row.int(0), name) {
                about.thread_names.insert(thread.cast_unsigned(), name.to_string());
            }
            Ok(())
        });
        let _ = database.scan("TARGET_INFO_GPU", &["id", "uuid", "name"], None, |row| {
            if let (Some(id), Some(name)) = (row.int(0), row.text(2)) {
                let uuid = row.text(1).unwrap_or_default();
                about.devices.entry(id).or_insert(Device { name, uuid });
            }
            Ok(())
        });
        let _ = database.scan("TARGET_INFO_CUDA_DEVICE", &["gpuId", "cudaId", "pid", "uuid"], None, |row| {
            if let (Some(id), Some(number), Some(pid)) = (row.int(0), row.int(1), row.int(2)) {
                about.of_processes.insert((pid, number), (id, row.text(3).unwrap_or_default()));
            }
            Ok(())
        });
        for (table, stream) in
            [("TARGET_INFO_CUDA_NULL_STREAM", "streamId"), ("TARGET_INFO_CUDA_CONTEXT_INFO", "nullStreamId")]
        {
            let _ = database.scan(table, &["processId", "contextId", stream], None, |row| {
                if let (Some(process), Some(context), Some(stream)) = (row.int(0), row.int(1), row.int(2)) {
                    about.null_streams.insert((process, context, stream));
                }
                Ok(())
            });
        }
        let _ = database.scan("MPI_RANKS", &["globalTid", "rank"], None, |row| {
            if let (Some(thread), Some(Ok(rank))) = (row.int(0), row.int(1).map(u32::try_from)) {
                about.mpi_ranks.insert(process_id(thread), rank);
            }
            Ok(())
        });
        Ok(about)
    }

    fn read_metadata(&mut self, database: &Database) {
        for table in ["META_DATA_EXPORT", "EXPORT_META_DATA"] {
            let (mut name, mut version) = (String::new(), String::new());
            let _ = database.scan(table, &["name", "value"], None, |row| {
                let value = row.text(1).unwrap_or_default();
                match row.bytes(0) {
                    Some(b"EXPORT_SCHEMA_VERSION") => self.schema = value,
                    Some(b"EXPORT_PRODUCT_NAME") => name = value,
                    Some(b"EXPORT_PRODUCT_VERSION") => version = value,
                    _ => {}
                }
                Ok(())
            });
            if !(name.is_empty() && version.is_empty()) {
                self.product = format!("{name} {version}").trim().to_owned();
            }
        }
        let _ = database.scan("TARGET_INFO_SESSION_START_TIME", &["utcEpochNs"], None, |row| {
            self.utc_ns = row.int(0).filter(|&ns| 0 <= ns).or(self.utc_ns);
            Ok(())
        });
    }

    /// Host and rank, from the environment of the programs and of the session.
    fn read_environment(&mut self, database: &Database) {
        let mut best: Option<(usize, u32)> = None;
        let mut take = |variable: &str| {
            let Some((name, value)) = variable.split_once('=') else { return };
            let Some(place) = RANK_VARIABLES.iter().position(|known| *known == name) else { return };
            if let Ok(rank) = value.trim_matches('"').parse::<u32>() {
                best = best.into_iter().chain([(place, rank)]).min();
            }
        };
        let _ = database.scan("META_DATA_CAPTURE", &["name", "value"], None, |row| {
            if row.bytes(0).is_some_and(|name| name.ends_with(b"ENVIRONMENT_VARIABLE")) {
                take(&row.text(1).unwrap_or_default());
            }
            Ok(())
        });
        let _ = database.scan("TARGET_INFO_SYSTEM_ENV", &["name", "value"], None, |row| {
            match row.bytes(0) {
                Some(b"Hostname") => self.host = row.text(1).unwrap_or_default(),
                Some(b"DeviceEnvironment") => row.text(1).unwrap_or_default().split(';').for_each(&mut take),
                _ => {}
            }
            Ok(())
        });
        self.environment_rank = best.map(|(_, rank)| rank);
    }
}

/// Ranks from the names of files: the number after the last `rank`, else the one number in which they differ.
/// `None` unless every file has one and all differ.
pub(crate) fn ranks_from_names(files: &[PathBuf]) -> Option<Vec<u32>> {
    let stems: Vec<String> = files
        .iter()
        .map(|file| file.file_stem().unwrap_or_default().to_string_lossy().into_owned())
        .collect();
    let all_differ = |ranks: Vec<u32>| {
        let distinct: BTreeSet<u32> = ranks.iter().copied().collect();
        (distinct.len() == files.len()).then_some(ranks)
    };
    let behind_rank = |stem: &String| {
        let lower = stem.to_ascii_lowercase();
        let rest = lower.rsplit_once("rank")?.1.trim_start_matches(['_', '-', '.', '=']);
        leading_number(rest)
    };
    if let Some(ranks) = stems.iter().map(behind_rank).collect::<Option<Vec<u32>>>().and_then(all_differ) {
        return Some(ranks);
    }
    let numbers: Vec<Vec<u32>> = stems.iter().map(|stem| numbers_in(stem)).collect();
    let n_numbers = numbers.iter().map(Vec::len).min()?;
    let mut varying = (0..n_numbers).filter_map(|i| all_differ(numbers.iter().map(|n| n[i]).collect()));
    match (varying.next(), varying.next()) {
        (Some(ranks), None) => Some(ranks),
        _ => None,
    }
}

fn leading_number(text: &str) -> Option<u32> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    text[..end].parse().ok()
}

fn numbers_in(text: &str) -> Vec<u32> {
    text.split(|c: char| !c.is_ascii_digit()).filter_map(|digits| digits.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_stand_in_names() {
        let ranks = |names: &[&str]| ranks_from_names(&names.iter().map(PathBuf::from).collect::<Vec<_>>());
        assert_eq!(ranks(&["run8.rank0.sqlite", "run8.rank1.sqlite"]), Some(vec![0, 1]));
        assert_eq!(ranks(&["report_job17_Rank-3.sqlite", "report_job17_rank-1.sqlite"]), Some(vec![3, 1]));
        assert_eq!(ranks(&["p.2023.0.sqlite", "p.2023.1.sqlite"]), Some(vec![0, 1]));
        assert_eq!(ranks(&["n1.0.sqlite", "n2.1.sqlite"]), None, "two numbers differ");
        assert_eq!(ranks(&["a.sqlite", "b.sqlite"]), None);
        assert_eq!(ranks(&["rank0a.sqlite", "rank0b.sqlite"]), None, "not all differ");
    }
}
