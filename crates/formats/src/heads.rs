//! The beginnings of files that may be packed by gzip.

use flate2::read::MultiGzDecoder;
use std::io::Read;

/// What files of gzip begin with.
pub(crate) const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// The first `n_bytes` of a text whose file begins with `head`: unpacked if it is packed, as far as `head` goes.
pub(crate) fn unpacked(head: Vec<u8>, n_bytes: usize) -> Vec<u8> {
    if !head.starts_with(&GZIP_MAGIC) {
        return head;
    }
    let mut text = Vec::new();
    // The stream is cut where the head ends; what comes before counts.
    let _ = MultiGzDecoder::new(&head[..]).take(n_bytes as u64).read_to_end(&mut text);
    text
}
