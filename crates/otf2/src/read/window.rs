//! A window on a file that moves forward.
//!
//! Law: the window holds the bytes `offset()..offset() + available()` of the
//! file; it grows only as far as bytes really come, so a length in a damaged
//! file never leads to an allocation.

use std::io;

/// Bytes read at once. Decoding alone is equally fast from 32 KiB to 1 MiB; with columns and a profile after it,
/// 128 KiB leave room for them in a second-level cache of 512 KiB.
pub const WINDOW_BYTES: usize = 128 * 1024;

/// Where a reader gets its bytes: anything that reads, or [`InMemory`].
pub trait ByteSource {
    /// Puts the next bytes into `buffer` and gives back how many, 0 at the end.
    ///
    /// # Errors
    /// What the operating system says.
    fn next_bytes(&mut self, buffer: &mut [u8]) -> io::Result<usize>;

    /// All bytes at once, if they are in memory; `next_bytes` is not called then.
    fn in_memory(&self) -> Option<&[u8]> {
        None
    }
}

impl<R: io::Read> ByteSource for R {
    fn next_bytes(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.read(buffer)
    }
}

/// Bytes that are in memory, for instance a mapped file; nothing is copied.
#[derive(Debug, Clone, Copy)]
pub struct InMemory<'a>(pub &'a [u8]);

impl ByteSource for InMemory<'_> {
    fn next_bytes(&mut self, _: &mut [u8]) -> io::Result<usize> {
        Ok(0)
    }

    fn in_memory(&self) -> Option<&[u8]> {
        Some(self.0)
    }
}

#[derive(Debug)]
pub(super) struct Window<R> {
    source: R,
    bytes: Vec<u8>,
    start: usize,
    end: usize,
    /// File offset of `bytes[0]`.
    base: u64,
    /// File offset that nothing is read from or after.
    limit: u64,
    ended: bool,
}

impl<R: ByteSource> Window<R> {
    /// A window on `base..limit` of a file; `source` gives the byte at `base` first.
    pub fn new(source: R, base: u64, limit: u64, window_bytes: usize) -> Self {
        let n_bytes = usize::try_from(limit.saturating_sub(base)).unwrap_or(usize::MAX);
        if let Some(bytes) = source.in_memory() {
            let end = bytes.len().min(n_bytes);
            return Window { source, bytes: Vec::new(), start: 0, end, base, limit, ended: true };
        }
        // A record's head must fit.
        let size = n_bytes.clamp(64, window_bytes.max(64));
        Window { source, bytes: vec![0; size], start: 0, end: 0, base, limit, ended: false }
    }

    #[inline]
    fn held(&self) -> &[u8] {
        self.source.in_memory().unwrap_or(&self.bytes)
    }

    /// File offset of the first byte held.
    #[inline]
    pub fn offset(&self) -> u64 {
        self.base + self.start as u64
    }

    /// Number of bytes held.
    #[inline]
    pub fn available(&self) -> usize {
        self.end - self.start
    }

    /// The bytes held.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        &self.held()[self.start..self.end]
    }

    /// The `n` bytes advanced over last and those after them, as long as nothing was read since.
    pub fn behind(&self, n: usize) -> &[u8] {
        &self.held()[self.start.saturating_sub(n)..self.end]
    }

    /// Forgets the first `n` bytes, which must be held.
    #[inline]
    pub fn advance(&mut self, n: usize) {
        debug_assert!(n <= self.available());
        self.start = (self.start + n).min(self.end);
    }

    /// Holds `n` bytes if the file has them; gives back whether it does.
    #[inline]
    pub fn fill(&mut self, n: usize) -> io::Result<bool> {
        if self.available() >= n { Ok(true) } else { self.read_until(n) }
    }

    #[inline(never)]
    fn read_until(&mut self, n: usize) -> io::Result<bool> {
        if self.ended {
            return Ok(false);
        }
        self.bytes.copy_within(self.start..self.end, 0);
        self.base += self.start as u64;
        self.end -= self.start;
        self.start = 0;
        while self.end < n && !self.ended {
            if self.end == self.bytes.len() {
                self.bytes.resize(n.min(2 * self.bytes.len()), 0);
            }
            self.read_once()?;
        }
        Ok(self.end >= n)
    }

    fn read_once(&mut self) -> io::Result<()> {
        let left = usize::try_from(self.limit - self.base - self.end as u64).unwrap_or(usize::MAX);
        let upto = self.bytes.len().min(self.end.saturating_add(left));
        match self.source.next_bytes(&mut self.bytes[self.end..upto]) {
            Ok(0) => self.ended = true,
            Ok(n) => self.end += n.min(upto - self.end),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Moves to a later offset of the file; gives back whether the file reaches as far.
    pub fn skip_to(&mut self, offset: u64) -> io::Result<bool> {
        loop {
            let ahead = offset.saturating_sub(self.offset());
            let held = usize::try_from(ahead).unwrap_or(usize::MAX).min(self.available());
            self.advance(held);
            if held as u64 == ahead {
                return Ok(true);
            }
            if !self.fill(1)? {
                return Ok(false);
            }
        }
    }

    /// Moves to the next byte that is not zero; gives back whether there is one.
    pub fn skip_zeros(&mut self) -> io::Result<bool> {
        loop {
            let zeros = self.bytes().iter().position(|&byte| byte != 0);
            self.advance(zeros.unwrap_or(self.available()));
            if zeros.is_some() {
                return Ok(true);
            }
            if !self.fill(1)? {
                return Ok(false);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_moves_grows_and_ends() {
        let file: Vec<u8> = (0..200).collect();
        let mut window = Window::new(&file[10..], 10, 150, 64);
        assert!(window.fill(64).expect("a slice reads"));
        window.advance(60);
        assert!(window.fill(70).expect("a slice reads"), "grows for a long record");
        assert_eq!((window.offset(), window.bytes()[0], window.bytes()[69]), (70, 70, 139));
        assert!(window.skip_to(140).expect("a slice reads"));
        assert!(window.fill(10).expect("a slice reads"));
        assert!(!window.fill(11).expect("a slice reads"), "the limit holds");
        assert_eq!(window.bytes(), &file[140..150]);
        assert!(!window.skip_to(151).expect("a slice reads"));
    }

    #[test]
    fn a_huge_demand_allocates_no_more_than_comes() {
        let file = [0_u8; 100];
        let mut window = Window::new(&file[..], 0, u64::MAX, 64);
        assert!(!window.fill(usize::MAX).expect("a slice reads"));
        assert!(window.bytes.len() <= 256);
        assert!(!window.skip_zeros().expect("a slice reads"));
    }
}
