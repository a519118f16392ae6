//! The next key of an object, guessed from what followed the key before in earlier objects.
//!
//! ```text
//! {"ph": "X", "cat": …          behind the value of "ph": `, "cat": `, compared as it is, with its white space
//! {"ph": "s", "id": …                                     or `, "id": `
//! ```
//! Tracers write the members of their events in few orders, so most keys need one comparison, and none a look at what
//! they mean. What is new is read as JSON, and learned.
//!
//! Law: keys are those that [`JsonCursor::key`] reads.

use super::block::{self, ByteBlock};
use super::scan::{JsonCursor, TokenStop};

/// Blocks of the longest text that is learned: a line break, an indent and the longest key of the PyTorch profiler.
const TEXT_BLOCKS: usize = 3;
/// Texts that are learned at most: as many as a byte can number.
const TEXTS_MAX: usize = 255;
/// Texts that are compared behind a key.
const FOLLOWERS: usize = 8;
/// The number of the text before the first key of an object, which is empty.
const BEGIN: u8 = 0;
/// That of all texts that were not learned: nothing is known of what follows them.
const OTHER: u8 = 1;

/// The text from the end of a value to the next value, or the end of the object.
#[derive(Debug)]
struct KeyText<F> {
    blocks: [ByteBlock; TEXT_BLOCKS],
    n_bytes: usize,
    /// `None` at the end of an object.
    field: Option<F>,
    /// The texts that followed, in the order in which they were learned.
    followers: [u8; FOLLOWERS],
    n_followers: usize,
}

impl<F> KeyText<F> {
    fn new(text: &[u8], field: Option<F>) -> Self {
        let part = |nth: usize| {
            let mut bytes = [0; block::BYTES];
            let part = text.chunks(block::BYTES).nth(nth).unwrap_or_default();
            bytes[..part.len()].copy_from_slice(part);
            ByteBlock::new(bytes)
        };
        let blocks = std::array::from_fn(part);
        KeyText { blocks, n_bytes: text.len(), field, followers: [0; FOLLOWERS], n_followers: 0 }
    }

    #[inline]
    fn is_at(&self, bytes: &[u8], at: usize) -> bool {
        let mut n_left = self.n_bytes;
        for (nth, known) in self.blocks.iter().enumerate() {
            let Some(found) = block::at(bytes, at + nth * block::BYTES) else { return false };
            let differ = !found.equal_to(*known);
            if n_left <= block::BYTES {
                return differ & ((1 << n_left) - 1) == 0;
            }
            if differ & block::ALL != 0 {
                return false;
            }
            n_left -= block::BYTES;
        }
        false
    }
}

/// What is known of the keys of objects of one kind. `F` is what a key means.
#[derive(Debug)]
pub(super) struct Keys<F> {
    texts: Vec<KeyText<F>>,
    /// The text before the value that was read last.
    last: u8,
}

impl<F> Default for Keys<F> {
    fn default() -> Self {
        Keys { texts: vec![KeyText::new(b"", None), KeyText::new(b"", None)], last: BEGIN }
    }
}

impl<F: Copy> Keys<F> {
    /// The position is behind the brace of an object.
    #[inline]
    pub fn begin(&mut self) {
        self.last = BEGIN;
    }

    /// Goes to the next member and gives what its key means, by `meaning` where it is new; `None` at the closing brace,
    /// which is stepped over. The position is behind the colon, and a space that follows it.
    ///
    /// # Errors
    /// As [`JsonCursor::key`].
    #[inline]
    pub fn next(
        &mut self,
        cursor: &mut JsonCursor<'_>,
        meaning: impl Fn(&[u8]) -> F,
    ) -> Result<Option<F>, TokenStop> {
        let last = &self.texts[usize::from(self.last)];
        for &nth in &last.followers[..last.n_followers] {
            let text = &self.texts[usize::from(nth)];
            if text.is_at(cursor.bytes, cursor.at) {
                cursor.at += text.n_bytes;
                self.last = nth;
                return Ok(text.field);
            }
        }
        self.learn(cursor, meaning)
    }

    #[inline(never)]
    fn learn(
        &mut self,
        cursor: &mut JsonCursor<'_>,
        meaning: impl Fn(&[u8]) -> F,
    ) -> Result<Option<F>, TokenStop> {
        let start = cursor.at;
        let key = cursor.key()?;
        if key.is_some() && cursor.bytes.get(cursor.at) == Some(&b' ') {
            cursor.at += 1;
        }
        let field = key.map(|key| meaning(key.raw));
        self.last = self.follower(&cursor.bytes[start..cursor.at], field).unwrap_or(OTHER);
        Ok(field)
    }

    /// The number of a text that followed the last one; `None` if it is not learned.
    fn follower(&mut self, text: &[u8], field: Option<F>) -> Option<u8> {
        let n_followers = self.texts[usize::from(self.last)].n_followers;
        if self.last == OTHER || n_followers == FOLLOWERS || TEXT_BLOCKS * block::BYTES < text.len() {
            return None;
        }
        let written = KeyText::new(text, field);
        let is_same = |known: &KeyText<F>| (known.n_bytes, known.blocks) == (written.n_bytes, written.blocks);
        let nth = match self.texts.iter().position(is_same) {
            Some(nth) => nth,
            None if self.texts.len() < TEXTS_MAX => {
                self.texts.push(written);
                self.texts.len() - 1
            }
            None => return None,
        };
        let nth = u8::try_from(nth).ok()?;
        let last = &mut self.texts[usize::from(self.last)];
        last.followers[n_followers] = nth;
        last.n_followers += 1;
        Some(nth)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ouzel_testkit::Rng;

    /// The keys of the objects of a text, as they are read with what the objects before have taught, and their ends.
    fn guessed(text: &str) -> Result<Vec<(usize, usize)>, TokenStop> {
        let mut keys = Keys::default();
        let mut cursor = JsonCursor::new(text.as_bytes());
        let mut found = Vec::new();
        while cursor.peek() == Ok(b'{') {
            cursor.at += 1;
            keys.begin();
            while let Some(n) = keys.next(&mut cursor, <[u8]>::len)? {
                cursor.value()?;
                found.push((n, cursor.at));
            }
            found.push((usize::MAX, cursor.at));
        }
        Ok(found)
    }

    /// The same, each key read as JSON.
    fn read(text: &str) -> Result<Vec<(usize, usize)>, TokenStop> {
        let mut cursor = JsonCursor::new(text.as_bytes());
        let mut found = Vec::new();
        while cursor.peek() == Ok(b'{') {
            cursor.at += 1;
            while let Some(key) = cursor.key()? {
                cursor.value()?;
                found.push((key.raw.len(), cursor.at));
            }
            found.push((usize::MAX, cursor.at));
        }
        Ok(found)
    }

    /// One of some texts.
    fn any(rng: &mut Rng, of: &[&'static str]) -> &'static str {
        of[rng.below(of.len() as u64) as usize]
    }

    /// A member whose key has one of `n_keys` lengths.
    fn member(rng: &mut Rng, n_keys: u64) -> String {
        let key = "a key that may be long".repeat(3);
        let key = &key[..rng.below(n_keys) as usize];
        let colon = any(rng, &[":", ": ", " : ", ":  "]);
        let value = any(rng, &["1", "\"x\"", "[1, {\"a\": 2}]", "null"]);
        format!("\"{key}\"{colon}{value}")
    }

    fn object(rng: &mut Rng, n_keys: u64) -> String {
        let indent = " ".repeat(50);
        let mut text = "{".to_owned();
        for nth in 0..rng.below(12) {
            match (nth, rng.below(5)) {
                (0, _) => {}
                (_, 0) => text += &format!(",\n{indent}"),
                _ => text += any(rng, &[",", ", ", ",\n    ", ",,"]),
            }
            text += &member(rng, n_keys);
        }
        text + any(rng, &["}", " }\n", "\n  }"])
    }

    #[test]
    fn keys_are_those_that_are_read_one_by_one() {
        let mut rng = Rng::new(5);
        for _ in 0..200 {
            // In few or in many orders, and more and longer keys than are learned.
            let n_keys = 1 + rng.below(40);
            let text: String = (0..40).map(|_| object(&mut rng, n_keys)).collect();
            assert_eq!(guessed(&text), read(&text), "{text}");
            for cut in (0..text.len()).rev().step_by(17) {
                assert_eq!(guessed(&text[..cut]), read(&text[..cut]), "{}", &text[..cut]);
            }
        }
    }

    #[test]
    fn no_more_is_learned_than_has_a_number() {
        let mut keys = Keys::default();
        let text: String = (0..2000).map(|n| format!("\"{}\": 1,", "k".repeat(n % 30))).collect();
        let text = format!("{text}}}                   ");
        let mut cursor = JsonCursor::new(text.as_bytes());
        for nth in 0..2000 {
            if nth % 7 == 0 {
                keys.begin();
            }
            assert_eq!(keys.next(&mut cursor, <[u8]>::len), Ok(Some(nth % 30)));
            cursor.value().unwrap();
        }
        assert_eq!(keys.next(&mut cursor, <[u8]>::len), Ok(None));
        assert!(keys.texts.len() <= TEXTS_MAX);
    }
}
