//! The events of a stretch of text, read by several threads and handed on in order.
//!
//! ```text
//! text   │ {…}, {…}, {…}, │ {…}, {…}, │ {…}, {…}, {…}, │ {…
//!          piece 0          piece 1     piece 2           left for the next stretch
//! ```
//! Where an event begins is known only if all before it was read. It is guessed, at a brace that follows an object and a comma:
//! that may be inside of an event. So a piece counts only if the one before ends where this one begins; the text from
//! the first that does not is read again, by one thread.
//!
//! Law: events come in the order of the text, and are those that one thread reads.

use super::event::{Event, EventReader};
use super::scan::{JsonCursor, TokenStop};
use ouzel_files::threads;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// How a text is read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ahead {
    /// One of them also puts the events in their places.
    pub n_threads: usize,
    /// Length of a piece: with its events, which are three times as long, it fits into a second-level cache.
    pub piece_bytes: usize,
}

/// Most threads that read: putting events in their places is about a quarter of the work, so more would wait for that.
const MAX_THREADS: usize = 8;
/// Pieces of each thread in a stretch.
const PIECES: usize = 32;
/// Text in which a piece must find its end.
const END_WITHIN: usize = 1 << 16;

impl Default for Ahead {
    fn default() -> Self {
        Ahead::by(threads::most())
    }
}

/// How far a stretch was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Done {
    pub n_bytes: usize,
    /// Whether all pieces were as guessed.
    pub is_clean: bool,
}

impl Ahead {
    /// By so many threads, if they are not more than are of use.
    pub fn by(n_threads: usize) -> Self {
        Ahead { n_threads: n_threads.min(MAX_THREADS), piece_bytes: 1 << 16 }
    }

    /// Bytes of a stretch; 0 if one thread reads alone.
    pub fn n_bytes(self) -> usize {
        if self.n_threads < 2 { 0 } else { self.n_threads * PIECES * self.piece_bytes }
    }

    /// Reads what is as guessed; `take` gets each event and its place in the text. `readers` are those of the
    /// stretch before.
    ///
    /// # Errors
    /// That of `take`, and the place of the event.
    pub fn read(
        self,
        text: &[u8],
        readers: &mut EventReaders,
        mut take: impl FnMut(&mut Event<'_>, usize) -> io::Result<()>,
    ) -> Result<Done, (usize, io::Error)> {
        let pieces = self.pieces(text);
        let work = Work::new(&pieces, std::mem::take(&mut readers.0));
        let done = std::thread::scope(|scope| {
            for _ in 1..self.n_threads.min(pieces.len()) {
                // Where no more threads may be begun, there are fewer.
                let read = || while work.step().is_some() {};
                drop(std::thread::Builder::new().spawn_scoped(scope, read));
            }
            let done = work.hand_on(&mut take);
            work.stop();
            done
        });
        readers.0 = work.free.into_inner().unwrap_or_else(PoisonError::into_inner);
        done
    }

    /// Pieces that seem to end behind the comma between two events.
    fn pieces(self, text: &[u8]) -> Vec<&[u8]> {
        let mut pieces = Vec::new();
        let mut rest = text;
        while self.piece_bytes < rest.len() {
            let Some(end) = next_begin(rest, self.piece_bytes) else { break };
            let (piece, after) = rest.split_at(end);
            pieces.push(piece);
            rest = after;
        }
        pieces
    }
}

/// Where an event seems to begin soon after a place: behind the comma before it.
fn next_begin(text: &[u8], from: usize) -> Option<usize> {
    let until = text.len().min(from + END_WITHIN);
    let dark_before = |end: usize| text[..end].iter().rposition(|byte| !byte.is_ascii_whitespace());
    let comma_before = |at: usize| {
        let comma = dark_before(at).filter(|&it| text[it] == b',')?;
        let key = text[at + 1..].iter().find(|byte| !byte.is_ascii_whitespace());
        let is_after_object = dark_before(comma).is_some_and(|it| text[it] == b'}');
        (is_after_object && key == Some(&b'"')).then_some(comma)
    };
    let braces = memchr::memchr_iter(b'{', &text[from..until]).map(|at| from + at);
    braces.filter_map(comma_before).next().map(|comma| comma + 1)
}

/// Readers without a piece, for the next stretch.
#[derive(Default)]
pub(super) struct EventReaders(Vec<EventReader>);

/// A piece that was read.
#[derive(Default)]
struct Tokens {
    reader: EventReader,
    /// How far it was read.
    n_bytes: usize,
    /// Whether that is all.
    is_clean: bool,
}

/// Reads a piece; the reader holds no events before.
fn tokens(reader: EventReader, piece: &[u8]) -> Tokens {
    let mut tokens = Tokens { reader, n_bytes: 0, is_clean: false };
    let mut cursor = JsonCursor::new(piece);
    let stop = loop {
        match cursor.peek() {
            Ok(b',') => cursor.at += 1,
            // The array ends: what follows is for the caller.
            Ok(b']') => return tokens,
            Ok(_) => {
                if let Err(stop) = tokens.reader.read(&mut cursor, tokens.n_bytes) {
                    break stop;
                }
            }
            Err(stop) => break stop,
        }
        tokens.n_bytes = cursor.at;
    };
    let is_read = piece[tokens.n_bytes..].iter().all(u8::is_ascii_whitespace);
    tokens.is_clean = stop == TokenStop::End && is_read;
    tokens
}

/// The pieces of a stretch, each to be read once.
struct Work<'p, 't> {
    pieces: &'p [&'t [u8]],
    next: AtomicUsize,
    /// By piece, once it is read and until it is handed on.
    read: Mutex<Vec<Option<Tokens>>>,
    is_read: Condvar,
    /// Readers without a piece.
    free: Mutex<Vec<EventReader>>,
}

/// A piece that a thread reads. If it cannot, nobody waits for it forever.
struct Claim<'w, 'p, 't> {
    work: &'w Work<'p, 't>,
    nth: usize,
    tokens: Tokens,
}

impl<'p, 't> Work<'p, 't> {
    fn new(pieces: &'p [&'t [u8]], free: Vec<EventReader>) -> Self {
        let read = Mutex::new(pieces.iter().map(|_| None).collect());
        Work { pieces, next: AtomicUsize::new(0), read, is_read: Condvar::new(), free: Mutex::new(free) }
    }

    /// Readers without a piece.
    fn free(&self) -> MutexGuard<'_, Vec<EventReader>> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads a piece that nobody has begun; `None` if there is none.
    fn step(&self) -> Option<()> {
        let nth = self.next.fetch_add(1, Ordering::Relaxed);
        let piece = self.pieces.get(nth)?;
        let mut claim = Claim { work: self, nth, tokens: Tokens::default() };
        let reader = self.free().pop();
        claim.tokens = tokens(reader.unwrap_or_default(), piece);
        Some(())
    }

    /// Hands on the events of all pieces, as long as each begins where the one before ends.
    fn hand_on(
        &self,
        take: &mut impl FnMut(&mut Event<'_>, usize) -> io::Result<()>,
    ) -> Result<Done, (usize, io::Error)> {
        let mut start = 0;
        for (nth, piece) in self.pieces.iter().enumerate() {
            let Tokens { mut reader, n_bytes, is_clean } = self.wait_for(nth);
            for nth in 0..reader.len() {
                let mut event = Event::default();
                let at = start + reader.get(nth, piece, &mut event);
                take(&mut event, at).map_err(|error| (at, error))?;
            }
            reader.clear();
            self.free().push(reader);
            if !is_clean {
                return Ok(Done { n_bytes: start + n_bytes, is_clean: false });
            }
            start += piece.len();
        }
        Ok(Done { n_bytes: start, is_clean: true })
    }

    /// Lets nobody begin another piece.
    fn stop(&self) {
        self.next.store(self.pieces.len(), Ordering::Relaxed);
    }

    /// The events of a piece; reads others while it is not there yet.
    fn wait_for(&self, nth: usize) -> Tokens {
        loop {
            if let Some(tokens) = self.read.lock().unwrap_or_else(PoisonError::into_inner)[nth].take() {
                return tokens;
            }
            if self.step().is_none() {
                break;
            }
        }
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(tokens) = read[nth].take() {
                return tokens;
            }
            read = self.is_read.wait(read).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Drop for Claim<'_, '_, '_> {
    fn drop(&mut self) {
        let tokens = std::mem::take(&mut self.tokens);
        self.work.read.lock().unwrap_or_else(PoisonError::into_inner)[self.nth] = Some(tokens);
        self.work.is_read.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Phases and places of the events, by pieces of so many bytes, and how far they were read.
    fn read(text: &str, piece_bytes: usize) -> (Vec<(u8, usize)>, Done) {
        let (mut found, mut readers) = (Vec::new(), EventReaders::default());
        let done = Ahead { n_threads: 3, piece_bytes }.read(text.as_bytes(), &mut readers, |event, at| {
            found.push((event.phase, at));
            Ok(())
        });
        (found, done.expect("nothing fails"))
    }

    #[test]
    fn events_come_in_order() {
        let text: String = (0..500).map(|i| format!("{{\"ph\": \"{}\"}},\n", i % 10)).collect();
        let event_bytes = text.len() / 500;
        let (found, done) = read(&text, 40);
        assert!(done.is_clean && text.len() - 60 < done.n_bytes && done.n_bytes <= text.len(), "{done:?}");
        let expected = (0..done.n_bytes.div_ceil(event_bytes)).map(|i| b'0' + (i % 10) as u8);
        assert!(found.iter().map(|it| it.0).eq(expected));
        assert!(
            found.iter().all(|&(_, at)| text[at..].trim_start_matches([',', '\n']).starts_with("{\"ph\""))
        );
    }

    #[test]
    fn what_is_not_as_guessed_is_left() {
        let event = "{\"ph\": \"X\", \"args\": {\"list\": [{\"a\": 1}, {\"b\": 2}, {\"c\": 3}]}},\n";
        let text = event.repeat(40);
        let (found, done) = read(&text, 70);
        assert!(!done.is_clean && done.n_bytes <= found.len() * event.len(), "{done:?}");
        // Damage, and the end of the array.
        for bad in ["{\"ph\": nonsense!},\n", "]\n"] {
            let text = format!("{}{bad}{}", "{\"ph\": \"X\"},\n".repeat(20), "{\"ph\": \"Y\"},\n".repeat(40));
            let (found, done) = read(&text, 30);
            assert!(
                !done.is_clean
                    && found.len() == 20
                    && done.n_bytes < text.find(bad).expect("it is there") + 2
            );
        }
    }

    #[test]
    fn with_one_thread_nothing_is_read_ahead() {
        threads::set_most(std::num::NonZeroUsize::MIN);
        assert_eq!(Ahead::default().n_bytes(), 0);
        assert_eq!(Ahead::by(64).n_threads, MAX_THREADS);
    }

    #[test]
    fn an_error_ends_it() {
        let text = "{\"ph\": \"X\"},\n".repeat(100);
        let mut n = 0;
        let done = Ahead { n_threads: 2, piece_bytes: 50 }.read(
            text.as_bytes(),
            &mut EventReaders::default(),
            |_, _| {
                n += 1;
                if n == 30 { Err(io::Error::other("full")) } else { Ok(()) }
            },
        );
        assert!(done.is_err_and(|(at, _)| (13 * 28..13 * 30).contains(&at)));
    }
}
