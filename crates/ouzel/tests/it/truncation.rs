//! Files that end early: each file of each archive, cut at each percent of its length.

use crate::archive::{Archive, ArchiveFile, Role, test_data};

/// Cuts every file at every `step` percent.
pub fn check(archive: &Archive, step: usize) {
    for file in &archive.files {
        for percent in (0..100).step_by(step) {
            let n_kept = file.bytes.len() * percent / 100;
            cut(archive, file, n_kept);
        }
        // The last byte alone.
        cut(archive, file, file.bytes.len() - 1);
    }
}

fn cut(archive: &Archive, file: &ArchiveFile, n_kept: usize) {
    let what = format!("{} cut to {n_kept} of {} bytes", file.path.display(), file.bytes.len());
    let answer = archive.with_bytes(file, &file.bytes[..n_kept]).expect(&what);
    archive.assert_others_unchanged(&answer, file, &what);
    // The anchor's last three bytes end it and say nothing else.
    if file.role == Role::Anchor && file.bytes.len() - 3 <= n_kept {
        assert_eq!(answer.notices, archive.intact.notices, "{what}");
        return;
    }
    let notice = answer.loss_in(&file.path).unwrap_or_else(|| panic!("{what}: {:#?}", answer.notices));
    let offset = notice.offset.unwrap_or_else(|| panic!("{what}: {notice}"));
    assert!(offset <= n_kept as u64, "{what}: {notice}");
    let about_others = answer.losses().find(|notice| {
        notice.file.as_deref().is_some_and(|name| !file.is_named_by(name))
            && !archive.intact.notices.contains(notice)
    });
    // Without their definitions the files of locations are doubtful as well.
    if file.role != Role::Definitions {
        assert_eq!(about_others, None, "{what}: only one file is damaged");
    }
    if let Role::Events(location) = file.role {
        let (found, whole) = (&answer.locations[&location], &archive.intact.locations[&location]);
        assert!(found.n_events <= whole.n_events, "{what}: a prefix is kept");
        assert!(found.kinds.iter().zip(&whole.kinds).all(|(found, whole)| found <= whole), "{what}");
        let paths = found.rows.keys().all(|path| whole.rows.contains_key(path));
        assert!(paths, "{what}: a prefix holds no other call paths");
    }
}

macro_rules! each_archive {
    ($($name:ident: $number:literal,)*) => {
        $(
            #[test]
            fn $name() {
                let archives = test_data();
                let archive = Archive::copy(&archives[$number], "cut");
                check(&archive, 1);
            }
        )*

        #[test]
        fn every_archive_is_cut() {
            // One test each, so that they run side by side.
            let numbers = [$($number),*];
            assert_eq!(numbers.len(), test_data().len());
        }
    };
}

each_archive! {
    the_first_archive_is_cut: 0,
    the_second_archive_is_cut: 1,
    the_third_archive_is_cut: 2,
    the_fourth_archive_is_cut: 3,
    the_fifth_archive_is_cut: 4,
    the_sixth_archive_is_cut: 5,
}
