//! `ouzel convert`: the trace's events, or the severities of a profile, in another format.

mod batch;
mod chrome;
mod cube;
mod events;
mod otf2;
mod tables;

use crate::args::{Common, ConvertArgs, Target};
use crate::exit::Outcome;
use ouzel::model::{Borders, Filter};

/// Writes.
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

/// With calls cut to the range of time: a trace is summed up by whoever reads it, so one with whole calls would give
/// other sums than the range it is of. Tables are listings and keep calls whole unless `--trim` is given.
fn cut(common: &Common) -> Common {
    let filter = Filter { borders: Borders::Trim, ..common.filter.clone() };
    Common { filter, ..common.clone() }
}
