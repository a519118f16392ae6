//! `ouzel convert`: the trace's events, or the severities of a profile, in another format.

mod batch;
mod chrome;
mod cube;
mod events;
mod otf2;
mod tables;

use crate::args::{Common, ConvertArgs, Target};
use crate::exit::Outcome;

/// Writes.
///
/// # Errors
/// If the trace cannot be opened, something is in the way, or writing fails.
pub fn run(common: &Common, args: &ConvertArgs) -> anyhow::Result<Outcome> {
    match args.to {
        Target::Chrome => chrome::run(common, args),
        Target::Otf2 => otf2::run(common, args),
        Target::Cube => cube::run(common, args),
        Target::Csv | Target::Parquet => tables::run(common, args),
    }
}
