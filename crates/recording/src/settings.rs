//! How `ouzel record` tells the preloaded library what to do: by the environment.
//!
//! Law: without [`DIRECTORY`] in its environment the library records nothing.

/// The directory of the archive, which has `pieces` in it.
pub const DIRECTORY: &str = "OUZEL_RECORD_DIR";
/// `off`: MPI is not recorded.
pub const MPI: &str = "OUZEL_RECORD_MPI";
/// Bytes that a process may write; nothing is recorded beyond.
pub const LIMIT: &str = "OUZEL_RECORD_LIMIT";
/// Ranks that are recorded, as `0-3,7`.
pub const RANKS: &str = "OUZEL_RECORD_RANKS";
/// Each variable there is.
pub const ALL: [&str; 4] = [DIRECTORY, MPI, LIMIT, RANKS];

/// The folder of the pieces in the directory of the archive.
pub const PIECES: &str = "pieces";
/// The journal of a piece.
pub const JOURNAL: &str = "journal";
/// The table of a piece.
pub const SLOTS: &str = "slots";

/// The file name of a thread's events.
pub fn event_file(slot: u32) -> String {
    format!("{slot}.evt")
}

/// Whether a list of ranks such as `0-3,7` holds `rank`; an empty list holds all.
///
/// # Errors
/// The part that is no rank and no range.
pub fn holds(list: &str, rank: u32) -> Result<bool, String> {
    let mut is_there = list.is_empty();
    for part in list.split(',').filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (Ok(first), Ok(last)) = (first.parse::<u32>(), last.parse::<u32>()) else {
            return Err(part.to_owned());
        };
        if last < first {
            return Err(part.to_owned());
        }
        is_there |= (first..=last).contains(&rank);
    }
    Ok(is_there)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_ranks() {
        for (list, rank, expected) in [
            ("", 9, Ok(true)),
            ("0-3,7", 2, Ok(true)),
            ("0-3,7", 7, Ok(true)),
            ("0-3,7", 5, Ok(false)),
            ("3-1", 2, Err("3-1".to_owned())),
            ("a", 2, Err("a".to_owned())),
        ] {
            assert_eq!(holds(list, rank), expected, "{list}");
        }
    }
}
