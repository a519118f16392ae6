//! What an analysis puts aside until it finishes: in a temporary file, so that its memory has a bound.
//!
//! Law: what was put is got again, unchanged, or an error says why not. If no file can be written, values stay in memory,
//! encoded. The file is removed once no shelf refers to it.

use ouzel_files::input::SharedFile;
use ouzel_files::unfinished::Unfinished;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::{self, Read, Seek, SeekFrom, Write};

/// Values that are put aside.
#[derive(Debug, Default)]
pub struct Shelf {
    file: Option<(Unfinished, SharedFile)>,
    /// Whether a file could not be written.
    is_full: bool,
}

/// Where a value is.
#[derive(Debug)]
pub enum ShelfPlace {
    /// In the file of the shelf.
    File {
        /// First byte.
        at: u64,
        /// Number of bytes.
        n_bytes: usize,
    },
    /// Here, as no file could be written.
    Memory(Vec<u8>),
}

impl Shelf {
    /// Puts a value aside.
    ///
    /// # Errors
    /// If it cannot be encoded.
    pub fn put(&mut self, value: &impl Serialize) -> io::Result<ShelfPlace> {
        let bytes = postcard::to_stdvec(value).map_err(io::Error::other)?;
        if !self.is_full {
            match self.append(&bytes) {
                Ok(at) => return Ok(ShelfPlace::File { at, n_bytes: bytes.len() }),
                Err(_) => self.is_full = true,
            }
        }
        Ok(ShelfPlace::Memory(bytes))
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<u64> {
        if self.file.is_none() {
            let (unfinished, file) = Unfinished::temporary()?;
            self.file = Some((unfinished, SharedFile::new(file)));
        }
        let Some((_, file)) = &mut self.file else { return Ok(0) };
        let at = file.seek(SeekFrom::End(0))?;
        file.write_all(bytes)?;
        Ok(at)
    }

    /// Gets a value that this shelf was given.
    ///
    /// # Errors
    /// If the file cannot be read, or was changed.
    pub fn get<T: DeserializeOwned>(&self, place: &ShelfPlace) -> io::Result<T> {
        match place {
            ShelfPlace::Memory(bytes) => postcard::from_bytes(bytes).map_err(io::Error::other),
            ShelfPlace::File { at, n_bytes } => {
                let Some((_, file)) = &self.file else { return Err(io::ErrorKind::NotFound.into()) };
                let mut bytes = vec![0; *n_bytes];
                let mut file = file.clone();
                file.seek(SeekFrom::Start(*at))?;
                file.read_exact(&mut bytes)?;
                postcard::from_bytes(&bytes).map_err(io::Error::other)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_put_aside_is_got_again() {
        let mut shelf = Shelf::default();
        let values: Vec<Vec<u64>> = (0..20).map(|n| (0..n * 100).collect()).collect();
        let places: Vec<ShelfPlace> = values.iter().map(|value| shelf.put(value).unwrap()).collect();
        for (value, place) in values.iter().zip(&places).rev() {
            assert!(matches!(place, ShelfPlace::File { .. }));
            assert_eq!(&shelf.get::<Vec<u64>>(place).unwrap(), value);
        }
    }

    #[test]
    fn without_a_file_values_stay_in_memory() {
        let mut shelf = Shelf { is_full: true, ..Shelf::default() };
        let place = shelf.put(&"abc").unwrap();
        assert!(matches!(place, ShelfPlace::Memory(_)));
        assert_eq!(shelf.get::<String>(&place).unwrap(), "abc");
        let gone = ShelfPlace::File { at: 0, n_bytes: 3 };
        assert!(shelf.get::<String>(&gone).is_err());
    }
}
