//! JSON tokens over a slice that may end in the middle of a value.
//!
//! Lenient on purpose: nested values are skipped by their brackets, control characters in strings and bare words
//! like `NaN` pass. Law: the position only grows, nothing is allocated, nothing recurses. Not here: what keys mean.

use super::words;

/// Whether a byte may stand in a number or a word.
const IS_BARE: [bool; 256] = {
    let mut is_bare = [false; 256];
    let mut byte = 0_u8;
    while byte < 128 {
        is_bare[byte as usize] = byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'+' | b'.');
        byte += 1;
    }
    is_bare
};

/// Why a token could not be read; the position is where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stop {
    /// The slice ends first.
    End,
    /// It is no JSON; the rule that is broken.
    Bad(&'static str),
}

/// A string without its quotes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Text<'a> {
    /// As written, escapes not resolved.
    pub raw: &'a [u8],
    /// Whether there is a backslash in it.
    pub escaped: bool,
}

/// A value of any kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Value<'a> {
    /// No value.
    #[default]
    Missing,
    /// A string.
    Text(Text<'a>),
    /// A number, `true`, `null`, `NaN`, …
    Bare(&'a [u8]),
    /// An array or an object, with its brackets.
    Nested(&'a [u8]),
}

impl<'a> Value<'a> {
    /// The characters of a string or bare word; empty for the rest.
    pub fn raw(&self) -> &'a [u8] {
        match self {
            Value::Text(text) => text.raw,
            Value::Bare(raw) => raw,
            Value::Missing | Value::Nested(_) => &[],
        }
    }
}

/// A position in a slice.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cursor<'a> {
    pub bytes: &'a [u8],
    pub at: usize,
}

impl<'a> Cursor<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Cursor { bytes, at: 0 }
    }

    /// The next byte that is no white space; the position is on it.
    #[inline]
    pub fn peek(&mut self) -> Result<u8, Stop> {
        while let Some(&byte) = self.bytes.get(self.at) {
            if !matches!(byte, b' ' | b'\n' | b'\r' | b'\t') {
                return Ok(byte);
            }
            self.at += 1;
        }
        Err(Stop::End)
    }

    /// Steps over `wanted`.
    #[inline]
    pub fn expect(&mut self, wanted: u8, rule: &'static str) -> Result<(), Stop> {
        if self.peek()? != wanted {
            return Err(Stop::Bad(rule));
        }
        self.at += 1;
        Ok(())
    }

    /// A string; the position is on its quote.
    #[inline]
    pub fn text(&mut self) -> Result<Text<'a>, Stop> {
        if self.peek()? != b'"' {
            return Err(Stop::Bad("a string is expected"));
        }
        let start = self.at + 1;
        let mut at = start;
        let mut escaped = false;
        // Most strings are short; the search by vectors pays off behind the first words.
        let mut n_words_left = 4;
        loop {
            match words::at(self.bytes, at) {
                Some(word) if 0 < n_words_left => {
                    let ends = words::equal(word, b'"') | words::equal(word, b'\\');
                    if ends == 0 {
                        at += words::BYTES;
                        n_words_left -= 1;
                        continue;
                    }
                    at += words::first(ends);
                }
                _ => {
                    let rest = self.bytes.get(at..).ok_or(Stop::End)?;
                    at += memchr::memchr2(b'"', b'\\', rest).ok_or(Stop::End)?;
                }
            }
            if self.bytes[at] == b'"' {
                return Ok(self.end_text(start, at, escaped));
            }
            escaped = true;
            at += 2;
        }
    }

    #[inline]
    fn end_text(&mut self, start: usize, end: usize, escaped: bool) -> Text<'a> {
        self.at = end + 1;
        Text { raw: &self.bytes[start..end], escaped }
    }

    /// A number or a word; ends before the next sign of structure.
    #[inline]
    fn bare(&mut self) -> Result<&'a [u8], Stop> {
        let start = self.at;
        let mut at = start;
        while let Some(&byte) = self.bytes.get(at) {
            if !IS_BARE[usize::from(byte)] {
                if at == start {
                    return Err(Stop::Bad("a value is expected"));
                }
                self.at = at;
                return Ok(&self.bytes[start..at]);
            }
            at += 1;
        }
        Err(Stop::End)
    }

    /// Any value.
    #[inline]
    pub fn value(&mut self) -> Result<Value<'a>, Stop> {
        match self.peek()? {
            b'"' => Ok(Value::Text(self.text()?)),
            b'{' | b'[' => Ok(Value::Nested(self.nested()?)),
            _ => Ok(Value::Bare(self.bare()?)),
        }
    }

    /// An array or object as a whole, by its brackets.
    pub fn nested(&mut self) -> Result<&'a [u8], Stop> {
        let start = self.at;
        let mut depth = 0_u32;
        'words: while let Some(word) = words::at(self.bytes, self.at) {
            let mut signs = words::equal(word, b'"') | words::brackets(word);
            while signs != 0 {
                let at = self.at + words::first(signs);
                match self.bytes[at] {
                    b'"' => {
                        self.at = at;
                        self.text()?;
                        continue 'words;
                    }
                    b'{' | b'[' => depth += 1,
                    b'}' | b']' if depth > 1 => depth -= 1,
                    b'}' | b']' => {
                        self.at = at + 1;
                        return Ok(&self.bytes[start..self.at]);
                    }
                    _ => {}
                }
                signs &= signs - 1;
            }
            self.at += words::BYTES;
        }
        while let Some(&byte) = self.bytes.get(self.at) {
            match byte {
                b'"' => {
                    self.text()?;
                    continue;
                }
                b'{' | b'[' => depth += 1,
                b'}' | b']' => depth -= 1,
                _ => {}
            }
            self.at += 1;
            if depth == 0 {
                return Ok(&self.bytes[start..self.at]);
            }
        }
        Err(Stop::End)
    }

    /// Goes to the next member of an object and reads its key; `None` at the closing brace, which is stepped over.
    /// Missing and doubled commas pass.
    #[inline]
    pub fn key(&mut self) -> Result<Option<Text<'a>>, Stop> {
        loop {
            match self.peek()? {
                b',' => self.at += 1,
                b'}' => {
                    self.at += 1;
                    return Ok(None);
                }
                b'"' => break,
                _ => return Err(Stop::Bad("a key or the end of an object is expected")),
            }
        }
        let key = self.text()?;
        self.expect(b':', "a colon is expected")?;
        Ok(Some(key))
    }
}

/// The text with its escapes resolved; what is no UTF-8 becomes U+FFFD.
pub(super) fn plain(text: Text<'_>) -> String {
    if !text.escaped {
        return String::from_utf8_lossy(text.raw).into_owned();
    }
    let quoted = [b"\"", text.raw, b"\""].concat();
    serde_json::from_slice(&quoted).unwrap_or_else(|_| String::from_utf8_lossy(text.raw).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_told_apart_and_skipped_whole() {
        let text = br#" "a\"b" , -1.5e3 {"x":[1,"}]"]} NaN "a string that is longer than sixteen \\" ]"#;
        let mut cursor = Cursor::new(text);
        assert_eq!(cursor.value().unwrap().raw(), br#"a\"b"#);
        cursor.expect(b',', "").unwrap();
        assert_eq!(cursor.value().unwrap(), Value::Bare(b"-1.5e3"));
        assert_eq!(cursor.value().unwrap(), Value::Nested(br#"{"x":[1,"}]"]}"#));
        assert_eq!(cursor.value().unwrap(), Value::Bare(b"NaN"));
        let long = cursor.value().unwrap();
        let Value::Text(long) = long else { panic!("{long:?}") };
        assert_eq!(plain(long), r"a string that is longer than sixteen \");
        assert_eq!(cursor.value(), Err(Stop::Bad("a value is expected")));
    }

    /// The same text at every place in a word.
    #[test]
    fn brackets_and_strings_are_found_at_every_place() {
        let nested = br#"{"Y_y[]":[[],["a\"]}"],{},[1,-2.5e3]],"Z":"{\u007d"}"#;
        for shift in 0..17 {
            for behind in 0..9 {
                let text = [&vec![b' '; shift][..], nested, &vec![b'}'; behind][..]].concat();
                let mut cursor = Cursor::new(&text);
                assert_eq!(cursor.value(), Ok(Value::Nested(nested)), "{shift} {behind}");
                assert_eq!(cursor.at, shift + nested.len());
            }
        }
    }

    #[test]
    fn every_cut_is_an_end() {
        let text = br#"{"name":"void f<\"x\">()","a":[1,{"b":"c"}],"n":12}"#;
        for cut in 0..text.len() {
            assert_eq!(Cursor::new(&text[..cut]).value(), Err(Stop::End), "{cut}");
        }
        assert!(Cursor::new(text).value().is_ok());
    }

    #[test]
    fn escapes_are_resolved_and_broken_ones_kept() {
        let of = |raw: &'static [u8]| plain(Text { raw, escaped: true });
        assert_eq!(of(br"a\u00e9\n"), "aé\n");
        assert_eq!(of(br"C:\q"), r"C:\q");
        assert_eq!(plain(Text { raw: b"\xff!", escaped: false }), "\u{fffd}!");
    }
}
