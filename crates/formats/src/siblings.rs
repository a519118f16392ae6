//! Files of a folder that are named like its traces and hold none: a killed rank leaves an empty file.

use ouzel_files::Candidate;
use ouzel_model::units::count;
use ouzel_model::{Level, Notice, NoticeCode};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// The names of some files, with `#` for each number; names without one are left out.
pub(crate) struct Shapes(BTreeSet<String>);

impl Shapes {
    pub fn of(files: &[PathBuf]) -> Self {
        Shapes(files.iter().filter_map(|path| shape(path.file_name()?)).collect())
    }

    /// Whether one of the files is named like `path`.
    pub fn contains(&self, path: &Path) -> bool {
        path.file_name().and_then(shape).is_some_and(|shape| self.0.contains(&shape))
    }
}

fn shape(name: &OsStr) -> Option<String> {
    let name = name.to_str()?;
    let mut shape = String::with_capacity(name.len());
    for letter in name.chars() {
        match letter.is_ascii_digit() {
            true if shape.ends_with('#') => {}
            true => shape.push('#'),
            false => shape.push(letter),
        }
    }
    (shape != name).then_some(shape)
}

/// Notices about files of a folder that are named like those in `read` and are not among them.
pub(crate) fn left_out(candidate: &Candidate, read: &[PathBuf]) -> Vec<Notice> {
    if !candidate.is_dir() {
        return Vec::new();
    }
    let shapes = Shapes::of(read);
    let is_read: BTreeSet<&Path> = read.iter().map(PathBuf::as_path).collect();
    let mut files = candidate.paths(candidate.path(), |_| true);
    files.retain(|path| shapes.contains(path) && !is_read.contains(path.as_path()) && !path.is_dir());
    let is_empty = |path: &PathBuf| path.metadata().is_ok_and(|file| file.len() == 0);
    let (empty, others): (Vec<_>, Vec<_>) = files.into_iter().partition(is_empty);
    let empty = notice(
        &empty,
        Level::High,
        (
            "this file is empty, but is named like the traces beside it",
            "are empty, but are named like the traces beside them",
        ),
    );
    let others = notice(
        &others,
        Level::Medium,
        (
            "this file holds no trace and was left out, but is named like the traces beside it",
            "hold no trace and were left out, but are named like the traces beside them",
        ),
    );
    empty.into_iter().chain(others).collect()
}

/// One notice about all of these files, by the first: what is said of a single one, and of several.
pub(crate) fn notice(files: &[PathBuf], level: Level, (one, several): (&str, &str)) -> Option<Notice> {
    let first = files.first()?;
    let n_more = files.len() as u64 - 1;
    let message = match n_more {
        0 => one.to_owned(),
        n => format!("this file and {} more {several}", count(n)),
    };
    let notice = Notice::new(level, NoticeCode::MissingEvents, message).times(files.len() as u64);
    Some(notice.in_file(first.display().to_string()))
}
