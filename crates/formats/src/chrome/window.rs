//! A file of any size through a window of some megabytes, decompressed on the way.
//!
//! Law: what is in the window is one run of the (decompressed) text; it grows only for a value that is longer.

use crate::heads::GZIP_MAGIC;
use flate2::read::MultiGzDecoder;
use ouzel_files::input;
use ouzel_model::ReadError;
use std::io::{BufReader, ErrorKind, Read, Seek};
use std::path::Path;
use std::sync::Arc;

/// Bytes read at a time. 8 MB were no faster than 1 MB, which stays in the second-level cache.
const STEP_BYTES: usize = 1 << 20;

/// Longest value that is read as a whole: event, stack frames, nodes of a CPU profile.
const VALUE_BYTES_MAX: usize = 256 << 20;

/// A part of a text file.
pub(super) struct Window {
    file: Arc<str>,
    input: Box<dyn Read>,
    buffer: Vec<u8>,
    /// First byte of the buffer that is not read yet.
    pub at: usize,
    end: usize,
    /// Offset of the buffer's start in the text.
    offset: u64,
    is_at_end: bool,
    /// Why the rest cannot be had: a damaged or cut gzip stream.
    pub damage: Option<String>,
    /// Control characters that no JSON text may hold.
    pub n_control: u64,
}

impl Window {
    /// Opens a file, compressed by gzip or not.
    ///
    /// # Errors
    /// If it cannot be opened or its beginning cannot be read.
    pub fn open(path: &Path) -> Result<Self, ReadError> {
        let name: Arc<str> = Arc::from(path.display().to_string());
        let error = |error: std::io::Error| ReadError {
            file: name.clone(),
            offset: 0,
            record: 0,
            reason: error.to_string(),
        };
        let mut file = input::open(path).map_err(error)?;
        let mut head = Vec::new();
        (&file).take(2).read_to_end(&mut head).and_then(|_| file.rewind()).map_err(error)?;
        let is_gzip = head == GZIP_MAGIC;
        let input: Box<dyn Read> = if is_gzip {
            Box::new(MultiGzDecoder::new(BufReader::with_capacity(1 << 16, file)))
        } else {
            Box::new(file)
        };
        Ok(Window::new(name, input))
    }

    /// A window over any text.
    pub fn new(file: Arc<str>, input: Box<dyn Read>) -> Self {
        Window {
            file,
            input,
            buffer: Vec::new(),
            at: 0,
            end: 0,
            offset: 0,
            is_at_end: false,
            damage: None,
            n_control: 0,
        }
    }

    /// The file's name, as the user would give it.
    pub fn file(&self) -> &Arc<str> {
        &self.file
    }

    /// What is in the window and not read yet.
    pub fn rest(&self) -> &[u8] {
        &self.buffer[self.at..self.end]
    }

    /// Offset in the text of the byte `ahead` of the position.
    pub fn offset(&self, ahead: usize) -> u64 {
        self.offset + (self.at + ahead) as u64
    }

    /// Gets more text after what is there; `false` if there is none, or too much is waiting already.
    pub fn grow(&mut self) -> bool {
        if self.is_at_end || VALUE_BYTES_MAX < self.end - self.at {
            return false;
        }
        self.begin_with_rest();
        // Twice the waiting text, so that a long value is looked at a logarithmic number of times.
        self.read((2 * self.end).clamp(STEP_BYTES, VALUE_BYTES_MAX + STEP_BYTES))
    }

    /// Gets more text, until so much is there; `false` if it ends before.
    pub fn fill(&mut self, wanted: usize) -> bool {
        if self.end - self.at < wanted && !self.is_at_end {
            self.begin_with_rest();
            self.read(wanted);
        }
        wanted <= self.end - self.at
    }

    /// Moves what is not read yet to the beginning.
    fn begin_with_rest(&mut self) {
        self.buffer.copy_within(self.at..self.end, 0);
        self.offset += self.at as u64;
        self.end -= self.at;
        self.at = 0;
    }

    /// Reads until the buffer has so many bytes; whether any came.
    fn read(&mut self, wanted: usize) -> bool {
        if self.buffer.len() < wanted {
            self.buffer.resize(wanted, 0);
        }
        let from = self.end;
        while self.end < wanted {
            match self.input.read(&mut self.buffer[self.end..wanted]) {
                Ok(0) => {
                    self.is_at_end = true;
                    break;
                }
                Ok(n) => self.end += n,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => {
                    self.damage = Some(error.to_string());
                    self.is_at_end = true;
                    break;
                }
            }
        }
        self.n_control += n_control(&self.buffer[from..self.end]);
        from < self.end
    }

    /// Reads nothing more: what is in the window is stepped over, and the text ends there.
    pub(crate) fn give_up(&mut self) {
        self.at = self.end;
        self.is_at_end = true;
    }

    /// Whether a value is longer than what is read as a whole.
    pub fn is_full(&self) -> bool {
        VALUE_BYTES_MAX < self.end - self.at
    }

    /// An error at the byte `ahead` of the position.
    pub fn error(&self, ahead: usize, record: u64, reason: impl Into<String>) -> ReadError {
        ReadError { file: self.file.clone(), offset: self.offset(ahead), record, reason: reason.into() }
    }
}

/// Number of control characters that no JSON text may hold. Sums of bytes over short pieces, which compilers turn into
/// vectors; a piece is a whole number of them.
fn n_control(text: &[u8]) -> u64 {
    let is_control = |byte: u8| (byte < 0x20) & (byte != b'\t') & (byte != b'\n') & (byte != b'\r');
    let of_piece = |piece: &[u8]| piece.iter().map(|&byte| u8::from(is_control(byte))).sum::<u8>();
    text.chunks(224).map(|piece| u64::from(of_piece(piece))).sum()
}

#[cfg(test)]
mod tests {
    use super::n_control;

    #[test]
    fn control_characters_are_counted_in_any_length() {
        assert_eq!(n_control(b"a\tb\r\n"), 0);
        assert_eq!(n_control(&[0; 1000]), 1000);
        assert_eq!(n_control(b"\x1fab\x01\x20"), 2);
    }
}
