//! Decompression that knows how much may come out.

use flate2::bufread::{GzDecoder, ZlibDecoder};
use std::io::Read;

/// Inflates a row that must have `n_bytes`.
///
/// # Errors
/// If it is corrupt, or has another size.
pub(crate) fn row(compressed: &[u8], n_bytes: usize, out: &mut Vec<u8>) -> Result<(), String> {
    out.clear();
    let mut decoder = ZlibDecoder::new(compressed).take(n_bytes as u64 + 1);
    decoder.read_to_end(out).map_err(|error| format!("a compressed row is corrupt: {error}"))?;
    if out.len() == n_bytes {
        return Ok(());
    }
    Err(format!("a compressed row has {} bytes or more, but should have {n_bytes}", out.len()))
}

/// Inflates a whole gzip file to at most `limit_bytes`.
///
/// # Errors
/// If it is corrupt, or too large.
pub(crate) fn file(compressed: &[u8], limit_bytes: u64) -> Result<Vec<u8>, String> {
    let mut out = Vec::new();
    let mut decoder = GzDecoder::new(compressed).take(limit_bytes + 1);
    decoder.read_to_end(&mut out).map_err(|error| format!("the gzip data are corrupt: {error}"))?;
    if out.len() as u64 > limit_bytes {
        return Err(format!("the gzip data are larger than {limit_bytes} bytes; unpack them first"));
    }
    Ok(out)
}
