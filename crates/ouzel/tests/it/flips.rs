//! Files with wrong bytes, at places drawn with fixed seeds.

use crate::archive::{Archive, test_data};
use ouzel_testkit::Rng;

/// Breaks every file `n_rounds` times: one byte, a few, or a run of noise.
pub fn check(archive: &Archive, n_rounds: u64) {
    for (i, file) in archive.files.iter().enumerate() {
        for round in 0..n_rounds {
            let mut rng = Rng::new(1000 * i as u64 + round);
            let mut bytes = file.bytes.clone();
            let n_bytes = bytes.len() as u64;
            let n_flips = [1, 1, 8, 64][round as usize % 4];
            let start = rng.below(n_bytes);
            for flip in 0..n_flips {
                // Rounds of 64 are a run, the others lie anywhere.
                let at = if n_flips == 64 { (start + flip) % n_bytes } else { rng.below(n_bytes) };
                bytes[at as usize] ^= rng.next_u64() as u8 | 1;
            }
            let what = format!("{} with {n_flips} bytes flipped in round {round}", file.path.display());
            // An anchor with a wrong byte may be of a form that is refused.
            let Some(answer) = archive.with_bytes(file, &bytes) else {
                assert_eq!(file.role, crate::archive::Role::Anchor, "{what}");
                continue;
            };
            // A wrong chunk size in the anchor is of weight for every file.
            if file.role != crate::archive::Role::Anchor {
                archive.assert_others_unchanged(&answer, file, &what);
            }
        }
    }
}

#[test]
fn flipped_bytes_cost_no_more_than_their_file() {
    for path in test_data() {
        check(&Archive::copy(&path, "flip"), 24);
    }
}
