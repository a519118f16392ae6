//! Texts of a file by their offset, each taken once.
//!
//! Law: all texts together take no more than [`TEXT_FACTOR`] times the bytes of the file,
//! whatever a damaged file points at.

use crate::ReadError;
use crate::bytes::Bytes;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Files share a text by pointing at it, so that distinct texts do not overlap; only damage makes them.
const TEXT_FACTOR: u64 = 4;

#[derive(Debug)]
pub(crate) struct Texts {
    by_offset: FxHashMap<u64, Arc<str>>,
    bytes_left: u64,
}

impl Texts {
    /// Of a file of `n_bytes`.
    pub fn new(n_bytes: u64) -> Self {
        Texts { by_offset: FxHashMap::default(), bytes_left: n_bytes.saturating_mul(TEXT_FACTOR) }
    }

    /// The text at `at`, up to its zero byte; what is not UTF-8 is replaced.
    pub fn read(&mut self, bytes: Bytes<'_>, at: u64) -> Result<Arc<str>, ReadError> {
        if let Some(text) = self.by_offset.get(&at) {
            return Ok(Arc::clone(text));
        }
        bytes.slice(at, 1, "text")?;
        let tail = bytes.tail(at).unwrap_or_default();
        let Some(n_bytes) = tail.iter().position(|&byte| byte == 0) else {
            return Err(bytes.broken(at, "an unterminated string"));
        };
        let left = self.bytes_left.checked_sub(n_bytes as u64);
        self.bytes_left = left.ok_or_else(|| bytes.broken(at, "strings overlap"))?;
        let text: Arc<str> = Arc::from(String::from_utf8_lossy(&tail[..n_bytes]));
        self.by_offset.insert(at, Arc::clone(&text));
        Ok(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_shared_and_do_not_outgrow_the_file() {
        let file: Arc<str> = Arc::from("meta.db");
        let mut long = vec![b'x'; 1000];
        long.push(0);
        let bytes = Bytes::new(&file, &long);
        let mut texts = Texts::new(long.len() as u64);
        let first = texts.read(bytes, 0).unwrap();
        for _ in 0..100 {
            assert!(Arc::ptr_eq(&first, &texts.read(bytes, 0).unwrap()));
        }
        let error = (1..1000).find_map(|at| texts.read(bytes, at).err()).unwrap();
        assert!(error.to_string().contains("overlap"), "{error}");
        assert!(
            Texts::new(9).read(Bytes::new(&file, b"ab"), 1).unwrap_err().to_string().contains("unterminated")
        );
    }
}
