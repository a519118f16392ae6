//! The lines of a log, compressed or not, one after the other in bounded memory.
//!
//! Law: every byte of the file belongs to exactly one line; `offset` is the place of a
//! line in the uncompressed text. This module does not interpret lines.

use crate::heads::GZIP_MAGIC;
use flate2::bufread::MultiGzDecoder;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

/// Bytes read at once.
const WINDOW_BYTES: usize = 64 << 10;

/// The longest line: a multicast names every receiver, 8 bytes each, and the largest machines had 2^21 of them.
const MAX_LINE_BYTES: u64 = 16 << 20;

/// Reads lines of text.
pub(super) struct LogLines {
    text: BufReader<Box<dyn Read + Send>>,
    line: Vec<u8>,
    /// Where the line begins.
    pub offset: u64,
    next_offset: u64,
    /// Whether the line ends as a line does.
    pub is_terminated: bool,
}

impl LogLines {
    /// Opens a file; one that begins as gzip does is unpacked on the way.
    ///
    /// # Errors
    /// Those of opening and reading.
    pub fn open(path: &Path) -> io::Result<Self> {
        let mut file = BufReader::with_capacity(WINDOW_BYTES, ouzel_files::input::open(path)?);
        let is_gzip = file.fill_buf()?.starts_with(&GZIP_MAGIC);
        Ok(LogLines::new(if is_gzip { Box::new(MultiGzDecoder::new(file)) } else { Box::new(file) }))
    }

    /// The lines of any bytes.
    pub fn new(text: Box<dyn Read + Send>) -> Self {
        let text = BufReader::with_capacity(WINDOW_BYTES, text);
        LogLines { text, line: Vec::new(), offset: 0, next_offset: 0, is_terminated: true }
    }

    /// The next line without its end; `None` after the last.
    ///
    /// # Errors
    /// Those of reading (a damaged compressed stream among them), and a line that is too long.
    pub fn next(&mut self) -> io::Result<Option<&[u8]>> {
        Ok(self.advance()?.then_some(&self.line[..]))
    }

    /// Goes to the next line; `false` after the last.
    ///
    /// # Errors
    /// As [`next`](Self::next).
    pub fn advance(&mut self) -> io::Result<bool> {
        self.line.clear();
        self.offset = self.next_offset;
        self.read_line()?;
        Ok(self.offset < self.next_offset)
    }

    /// Appends the next line to the current one, with the line break between: free text may hold some.
    ///
    /// # Errors
    /// As [`next`](Self::next).
    pub fn extend(&mut self) -> io::Result<bool> {
        let before = self.next_offset;
        self.line.push(b'\n');
        self.read_line()?;
        Ok(before < self.next_offset)
    }

    /// The current line.
    pub fn current(&self) -> &[u8] {
        &self.line
    }

    fn read_line(&mut self) -> io::Result<()> {
        let room = MAX_LINE_BYTES.saturating_sub(self.line.len() as u64);
        let n = self.text.by_ref().take(room).read_until(b'\n', &mut self.line)?;
        self.next_offset += n as u64;
        self.is_terminated = self.line.ends_with(b"\n") && 0 < n;
        if self.is_terminated {
            self.line.pop();
        } else if n as u64 == room {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                format!("a line is longer than {MAX_LINE_BYTES} bytes"),
            ));
        }
        if self.line.last() == Some(&b'\r') {
            self.line.pop();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_know_their_place() {
        let mut lines = LogLines::new(Box::new(&b"one\ntwo\r\n\nlast"[..]));
        let mut all = Vec::new();
        while let Some(line) = lines.next().unwrap().map(<[u8]>::to_vec) {
            all.push((lines.offset, String::from_utf8(line).unwrap(), lines.is_terminated));
        }
        let expected = [(0, "one", true), (4, "two", true), (9, "", true), (10, "last", false)];
        assert_eq!(all, expected.map(|(offset, line, ended)| (offset, line.to_owned(), ended)));
    }

    #[test]
    fn a_line_without_an_end_takes_no_more_than_the_limit() {
        let mut lines = LogLines::new(Box::new(io::repeat(b'7')));
        let error = lines.next().unwrap_err();
        assert!(error.to_string().contains("longer than 16777216 bytes"), "{error}");
    }
}
