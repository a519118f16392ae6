//! What a path holds that no reader recognises, in words: what is there and what was looked for.

use crate::reader::Format;
use crate::readers::READERS;
use ouzel_files::{Candidate, Kind, input};
use std::fs;
use std::path::Path;

/// Names of a folder that are shown.
const N_NAMES: usize = 5;

/// Bytes of a file that are shown.
const N_BYTES: u64 = 24;

/// What `path` holds and what was looked for, as part of a sentence.
pub(crate) fn describe(candidate: &Candidate) -> String {
    let path = candidate.path();
    let holds = match candidate.kind() {
        Kind::Directory => folder(path),
        Kind::Special(what) => return format!("it is {what}; traces are regular files and directories"),
        Kind::File | Kind::Missing => file(path),
    };
    let signs: Vec<String> = READERS
        .iter()
        .map(|reader| format!("{} ({})", reader.format.as_str(), sign(reader.format)))
        .collect();
    format!("{holds}; looked for {}", signs.join(", "))
}

/// By what a format is recognised.
fn sign(format: Format) -> &'static str {
    match format {
        Format::Otf2 => "an anchor *.otf2, or its *.def and *.evt files",
        Format::HpcToolkit => "meta.db, experiment.xml, or *.hpcrun and *.hpctrace files",
        Format::Projections => "*.sts and *.<PE>.log[.gz] files",
        Format::Nsight => "an SQLite export, not *.nsys-rep",
        Format::Rocpd => "an SQLite database with tables rocpd_*",
        Format::Chrome => "JSON with traceEvents, or an array of events, compressed or not",
        Format::Csv => "a first line with Timestamp (ns), Event Type and Name",
        Format::Cube => "*.cubex, or XML that begins with <cube>",
    }
}

fn folder(path: &Path) -> String {
    let entries = match fs::read_dir(path) {
        Ok(entries) => entries,
        Err(error) => return format!("it cannot be read: {error}"),
    };
    let mut names: Vec<String> =
        entries.filter_map(|entry| Some(entry.ok()?.file_name().to_string_lossy().into_owned())).collect();
    names.sort_unstable();
    let shown: Vec<String> = names.iter().take(N_NAMES).map(|name| format!("{name:?}")).collect();
    match names.len() {
        0 => "it is an empty directory".to_owned(),
        n if n <= N_NAMES => format!("it is a directory with {}", shown.join(", ")),
        n => format!("it is a directory with {} and {} more", shown.join(", "), n - N_NAMES),
    }
}

fn file(path: &Path) -> String {
    let begin = match input::head(path, N_BYTES) {
        Ok(begin) => begin,
        Err(error) => return format!("it cannot be read: {error}"),
    };
    let is_text = |b: &u8| b.is_ascii_whitespace() || (b' '..=b'~').contains(b);
    match &begin[..] {
        [] => "it is an empty file".to_owned(),
        [0x1f, 0x8b, ..] => {
            "it is compressed with gzip, and its contents are not recognised either".to_owned()
        }
        text if text.iter().all(is_text) => {
            format!("it is a file that begins with {:?}", String::from_utf8_lossy(text))
        }
        bytes => {
            let bytes: Vec<String> = bytes.iter().take(8).map(|b| format!("{b:02x}")).collect();
            format!("it is a binary file that begins with the bytes {}", bytes.join(" "))
        }
    }
}
