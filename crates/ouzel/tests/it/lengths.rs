//! Records that claim to be huge, and chunks that claim to hold everything.

use crate::archive::{Archive, ArchiveFile, Role, test_data};

/// A record of a file: where it begins, and where its length byte lies, if it has one.
struct Place {
    start: usize,
    /// Events before it; attributes are no event.
    n_events: u64,
    len_at: Option<usize>,
}

/// Finds the records of the first chunk, by the rules of the format and nothing else.
fn records(file: &ArchiveFile) -> Vec<Place> {
    let is_events = matches!(file.role, Role::Events(_));
    let bare = [12, 13, 16, 17, 20, 21, 24, 28, 29, 30];
    let mut places = Vec::new();
    let (mut at, mut n_events) = (18, 0);
    while let Some(&id) = file.bytes.get(at).filter(|&&id| 5 <= id) {
        let len = usize::from(file.bytes[at + 1]);
        if is_events && id == 5 {
            at += 9;
        } else if is_events && bare.contains(&id) {
            places.push(Place { start: at, n_events, len_at: None });
            at += 2 + len;
        } else if len == 0xff {
            let long = file.bytes[at + 2..at + 10].try_into().expect("eight bytes");
            places.push(Place { start: at, n_events, len_at: Some(at + 1) });
            at += 10 + usize::try_from(u64::from_le_bytes(long)).expect("the file is in memory");
        } else {
            places.push(Place { start: at, n_events, len_at: Some(at + 1) });
            at += 2 + len;
        }
        n_events += u64::from(10 <= id);
    }
    places
}

/// Gives records of every file a huge length, in the long form.
pub fn check(archive: &Archive, n_places: usize) {
    for file in archive.files.iter().filter(|file| file.role != Role::Anchor) {
        let places = records(file);
        let step = (places.len() / n_places).max(1);
        for place in places.iter().step_by(step) {
            let Some(len_at) = place.len_at else { continue };
            for huge in [u64::MAX, i64::MAX as u64, u64::from(u32::MAX), 1 << 20] {
                // The eight bytes take the place of what follows.
                let mut bytes = file.bytes.clone();
                bytes.resize(bytes.len().max(len_at + 9), 0);
                bytes[len_at] = 0xff;
                bytes[len_at + 1..len_at + 9].copy_from_slice(&huge.to_le_bytes());
                let what = format!("{}+{:#x} with a length of {huge}", file.path.display(), place.start);
                let answer = archive.with_bytes(file, &bytes).expect(&what);
                archive.assert_others_unchanged(&answer, file, &what);
                let notice =
                    answer.loss_in(&file.path).unwrap_or_else(|| panic!("{what}: {:#?}", answer.notices));
                if let Role::Events(location) = file.role {
                    assert_eq!(notice.offset, Some(place.start as u64), "{what}: {notice}");
                    assert_eq!(answer.locations[&location].n_events, place.n_events, "{what}: {notice}");
                }
            }
        }
    }
}

#[test]
fn huge_lengths_end_a_file_where_they_stand() {
    for path in test_data() {
        check(&Archive::copy(&path, "length"), 12);
    }
}

#[test]
fn huge_event_numbers_in_chunk_headers_change_nothing() {
    for path in test_data() {
        let archive = Archive::copy(&path, "header");
        for file in archive.files.iter().filter(|file| file.role != Role::Anchor) {
            let mut bytes = file.bytes.clone();
            bytes[2..10].copy_from_slice(&1_u64.to_le_bytes());
            bytes[10..18].copy_from_slice(&u64::MAX.to_le_bytes());
            let what = file.path.display().to_string();
            let answer = archive.with_bytes(file, &bytes).expect(&what);
            assert_eq!(answer.locations, archive.intact.locations, "{what}");
        }
    }
}

#[test]
fn every_number_of_an_anchor_may_be_huge() {
    for path in test_data() {
        let archive = Archive::copy(&path, "anchor");
        let anchor = archive.files.iter().find(|file| file.role == Role::Anchor).expect("there is one");
        // Chunk sizes, numbers of locations and definitions.
        for at in [12, 20, 30, 38] {
            for number in [0, 1, 255, 1 << 40, u64::MAX] {
                let mut bytes = anchor.bytes.clone();
                bytes[at..at + 8].copy_from_slice(&number.to_le_bytes());
                let what = format!("{number} at {at} of {}", anchor.path.display());
                let answer = archive.with_bytes(anchor, &bytes).expect(&what);
                // A chunk size of zero is none, and one that is too large changes nothing in files of one chunk.
                if 30 <= at || number == 0 || 1 << 40 <= number {
                    assert_eq!(answer.locations, archive.intact.locations, "{what}");
                } else {
                    assert!(answer.losses().next().is_some(), "{what}");
                }
            }
        }
    }
}
