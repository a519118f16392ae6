//! Files that are missing, empty, directories, or those of another location.

use crate::answer::Answer;
use crate::archive::{Archive, ArchiveFile, Role, test_data};
use std::fs;

/// Takes each file away, empties it, and puts a directory in its place.
pub fn check(archive: &Archive) {
    for file in &archive.files {
        let missing = archive.without(file).expect("the other files are there");
        lost(archive, file, &missing, "missing");
        let empty = archive.with_bytes(file, &[]).expect("the other files are there");
        lost(archive, file, &empty, "empty");
        let directory = archive.with_directory(file).expect("the other files are there");
        lost(archive, file, &directory, "a directory");
    }
}

fn lost(archive: &Archive, file: &ArchiveFile, answer: &Answer, how: &str) {
    let what = format!("{} is {how}", file.path.display());
    archive.assert_others_unchanged(answer, file, &what);
    if how == "missing" && declares_nothing(archive, file) {
        return;
    }
    assert!(answer.loss_in(&file.path).is_some(), "{what}: {:#?}", answer.notices);
    if let Role::Events(location) = file.role {
        assert_eq!(answer.locations[&location].n_events, 0, "{what}");
    }
}

/// Whether the definitions say that the location has no events.
fn declares_nothing(archive: &Archive, file: &ArchiveFile) -> bool {
    let Role::Events(location) = file.role else { return false };
    archive.intact.locations[&location].declared_events.is_none_or(|n| n == 0)
}

#[test]
fn lost_files_cost_no_more_than_what_they_held() {
    for path in test_data() {
        check(&Archive::copy(&path, "lost"));
    }
}

#[test]
fn event_files_of_other_locations_are_read_and_cost_no_third_one() {
    for path in test_data() {
        let archive = Archive::copy(&path, "swap");
        let events: Vec<_> = archive.files.iter().filter(|f| matches!(f.role, Role::Events(_))).collect();
        for pair in events.windows(2) {
            let (one, other) = (pair[0], pair[1]);
            fs::write(&one.path, &other.bytes).expect("the copy is ours");
            fs::write(&other.path, &one.bytes).expect("the copy is ours");
            let answer = Answer::of(&archive.dir).expect("the archive opens");
            fs::write(&one.path, &one.bytes).expect("the copy is ours");
            fs::write(&other.path, &other.bytes).expect("the copy is ours");
            for (id, location) in &archive.intact.locations {
                if Role::Events(*id) != one.role && Role::Events(*id) != other.role {
                    assert_eq!(&answer.locations[id], location, "{}", one.name());
                }
            }
        }
    }
}

#[test]
fn files_of_another_kind_are_no_archive_or_a_loss() {
    for path in test_data() {
        let archive = Archive::copy(&path, "kind");
        for file in &archive.files {
            let other = archive.files.iter().find(|f| f.role != file.role).expect("there are several");
            let what = format!("{} holds {}", file.path.display(), other.path.display());
            let answer = archive.with_bytes(file, &other.bytes).expect(&what);
            archive.assert_others_unchanged(&answer, file, &what);
            let text = archive.with_bytes(file, b"this is no trace\n").expect(&what);
            assert!(text.loss_in(&file.path).is_some(), "{what}: {:#?}", text.notices);
        }
    }
}

#[test]
fn without_an_anchor_the_answer_is_the_same() {
    for path in test_data() {
        let archive = Archive::copy(&path, "anchorless");
        let anchor = archive.files.iter().find(|f| f.role == Role::Anchor).expect("there is one");
        let answer = archive.without(anchor).expect("the rest is there");
        assert_eq!(answer.locations, archive.intact.locations);
        assert!(answer.loss_in(&anchor.path).is_some());
    }
}

#[test]
fn what_holds_no_archive_is_refused() {
    let dir = std::env::temp_dir().join(format!("ouzel-none-{}", std::process::id()));
    fs::create_dir_all(&dir).expect("temporary files can be made");
    assert!(Answer::of(&dir).is_none(), "an empty directory");
    assert!(Answer::of(&dir.join("nothing")).is_none(), "nothing at all");
    fs::write(dir.join("notes.txt"), "no trace").expect("temporary files can be made");
    assert!(Answer::of(&dir.join("notes.txt")).is_none(), "another file");
    assert!(Answer::of(&dir).is_none(), "a directory without a trace");
    fs::remove_dir_all(&dir).expect("the directory is ours");
}
