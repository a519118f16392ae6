//! How `ouzel record` tells the preloaded library what to do: by the environment.
//!
//! Law: without [`DIRECTORY`] in its environment the library records nothing.

use ouzel_model::{RankSet, WorldRank};

/// The directory of the archive, which has `pieces` in it.
pub const DIRECTORY: &str = "OUZEL_RECORD_DIR";
/// The path of the library to preload, for packages that keep it elsewhere than beside the program.
pub const LIBRARY: &str = "OUZEL_RECORD_LIBRARY";
/// `off`: MPI is not recorded.
pub const MPI: &str = "OUZEL_RECORD_MPI";
/// `off`: OpenMP is not recorded.
pub const OPENMP: &str = "OUZEL_RECORD_OPENMP";
/// `on`: calls of files and streams are recorded.
pub const IO: &str = "OUZEL_RECORD_IO";
/// Samples of call paths for each second of processor time of a thread; without it, none are taken.
pub const SAMPLE: &str = "OUZEL_RECORD_SAMPLE";
/// The ranks that are recorded, as `0-3,8`; without it, all are.
pub const RANKS: &str = "OUZEL_RECORD_RANKS";

/// Whether a rank is one of those that [`RANKS`] names; all are where it names none that is understood.
pub fn has_rank(ranks: &str, rank: u32) -> bool {
    ranks.parse::<RankSet>().map_or(true, |ranks| ranks.contains(WorldRank(rank)))
}

/// The [`Window`](crate::window::Window) in nanoseconds since [`ORIGIN`]; without it, everything is recorded.
pub const WINDOW: &str = "OUZEL_RECORD_WINDOW";
/// When the program was started, in nanoseconds since 1970; without it, each process counts from its own start.
pub const ORIGIN: &str = "OUZEL_RECORD_ORIGIN";
/// What threads are counted by, as names with commas between them; without it, nothing is counted.
pub const COUNTERS: &str = "OUZEL_RECORD_COUNTERS";
/// `on`: the memory of processes is read.
pub const MEMORY: &str = "OUZEL_RECORD_MEMORY";
/// Bytes of the chunks of events that are mapped for each thread.
pub const BUFFER: &str = "OUZEL_RECORD_BUFFER";
/// Bytes that a process may write; nothing is recorded beyond.
pub const LIMIT: &str = "OUZEL_RECORD_LIMIT";
/// Visits of a region that the library makes of itself when it is loaded, so that a recording of a program that does
/// nothing shows what a visit costs here.
pub const REHEARSED: &str = "OUZEL_RECORD_REHEARSED";
/// The name of that region.
pub const REHEARSED_VISIT: &str = "[rehearsed visit]";
/// The name of the region around all of them.
pub const REHEARSAL: &str = "[rehearsal]";
/// The folder of the pieces in the directory of the archive.
pub const PIECES: &str = "pieces";
/// The journal of a piece.
pub const JOURNAL: &str = "journal";
/// The call paths of a piece.
pub const PATHS: &str = "paths";
/// The table of a piece.
pub const SLOTS: &str = "slots";

/// The file name of a thread's events.
pub fn event_file(slot: u32) -> String {
    format!("{slot}.evt")
}
