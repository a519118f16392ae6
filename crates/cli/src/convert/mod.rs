//! `ouzel convert`: the trace's events, or the severities of a profile, in another format.

mod batch;
mod chrome;
mod cube;
mod events;
mod otf2;
mod tables;

use crate::args::{Common, ConvertArgs, Target};
use crate::exit::Outcome;
use crate::output::refused;
use ouzel::model::{Borders, Filter};
use ouzel_files::output;
use serde::Serialize;
use std::path::Path;

/// One file that was written, or one archive.
#[derive(Debug, Serialize)]
struct Written {
    path: String,
    n_rows: u64,
    size_bytes: u64,
}

impl Written {
    fn new(path: &Path, n_rows: u64, size_bytes: u64) -> Self {
        Written { path: path.display().to_string(), n_rows, size_bytes }
    }
}

/// Runs the command.
///
/// # Errors
/// If the trace cannot be opened, something is in the way, or writing fails.
pub fn run(common: &Common, args: &ConvertArgs) -> anyhow::Result<Outcome> {
    match args.to {
        Target::Chrome => chrome::run(&cut(common), args),
        Target::Otf2 => otf2::run(&cut(common), args),
        Target::Cube => cube::run(common, args),
        Target::Csv | Target::Parquet => tables::run(common, args),
    }
}

/// Where one file goes.
fn file_target(common: &Common, out: &Path) -> anyhow::Result<output::Target> {
    output::Target::file(out, common.existing, &common.outputs.inputs).map_err(refused)
}

/// The context of a write error.
fn cannot_write(out: &Path) -> String {
    format!("cannot write {out:?}")
}

/// With calls cut to the range of time: readers of the output sum it up, and whole calls would give other sums than the
/// range. Tables are listings and keep calls whole unless `--trim` is given.
fn cut(common: &Common) -> Common {
    let filter = Filter { borders: Borders::Trim, ..common.filter.clone() };
    Common { filter, ..common.clone() }
}
