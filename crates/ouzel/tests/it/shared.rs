//! The same on archives that are not part of the repository; flips and lengths more coarsely on large ones.

use crate::archive::{Archive, archives_in, test_data};
use crate::{files, flips, lengths, truncation};

#[test]
fn archives_of_other_tracers_bear_the_same_damage() {
    let Some(root) = ouzel_testkit::shared_data() else { return };
    let known: Vec<_> = test_data().iter().filter_map(|path| Some(path.file_name()?.to_owned())).collect();
    for path in archives_in(&root.join("data/otf2")) {
        if path.file_name().is_some_and(|name| known.iter().any(|known| known == name)) {
            continue;
        }
        let archive = Archive::copy(&path, "shared");
        let n_bytes: usize = archive.files.iter().map(|file| file.bytes.len()).sum();
        let is_large = 200_000 < n_bytes;
        truncation::check(&archive, 1);
        flips::check(&archive, if is_large { 1 } else { 8 });
        lengths::check(&archive, if is_large { 1 } else { 4 });
        files::check(&archive);
    }
}
