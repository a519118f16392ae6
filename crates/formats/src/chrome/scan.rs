//! JSON tokens over a slice that may end in the middle of a value.
//!
//! Lenient on purpose: nested values are skipped by their brackets, control characters in strings and bare words
//! like `NaN` pass. Law: the position only grows, nothing is allocated, nothing recurses. Keys are not interpreted.

use super::block;

/// Why a token could not be read; the position is where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TokenStop {
    /// The slice ends first.
    End,
    /// It is not JSON; the rule that is broken.
    Bad(&'static str),
}

/// Whether there is a backslash in a string. As wide as a pointer, like [`ValueKind`]: a byte that is written and then
/// copied as a word, with the padding beside it, stalls the processor, here for a third of the time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[repr(usize)]
pub(super) enum Escapes {
    #[default]
    None,
    Some,
}

/// A string without its quotes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Text<'a> {
    /// As written, escapes not resolved.
    pub raw: &'a [u8],
    /// Whether there are any.
    pub escapes: Escapes,
}

impl<'a> Text<'a> {
    /// Text that is as it is written.
    pub fn plain(raw: &'a [u8]) -> Self {
        Text { raw, escapes: Escapes::None }
    }
}

/// What a value is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[repr(usize)]
pub(super) enum ValueKind {
    /// No value.
    #[default]
    Missing,
    /// A string.
    Text,
    /// A string with escapes.
    Escaped,
    /// A number, `true`, `null`, `NaN`, …
    Bare,
    /// An array or an object.
    Nested,
}

/// A value of any kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct JsonValue<'a> {
    /// What it is.
    pub kind: ValueKind,
    /// A string without its quotes, an array or object with its brackets.
    written: &'a [u8],
}

impl<'a> JsonValue<'a> {
    /// A number or a word.
    pub fn bare(written: &'a [u8]) -> Self {
        JsonValue { kind: ValueKind::Bare, written }
    }

    /// An array or object with its brackets.
    pub fn nested_as(written: &'a [u8]) -> Self {
        JsonValue { kind: ValueKind::Nested, written }
    }

    /// Where it is in the text that it was read from.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "a window has less than 512 MB")]
    pub fn place(&self, text: &[u8]) -> ValuePlace {
        let at = self.written.as_ptr().addr().wrapping_sub(text.as_ptr().addr());
        ValuePlace {
            at: at as u32,
            n_bytes_and_kind: (self.written.len() as u32) << KIND_BITS | self.kind as u32,
        }
    }

    #[inline]
    fn of_text(text: Text<'a>) -> Self {
        let kind = if text.escapes == Escapes::None { ValueKind::Text } else { ValueKind::Escaped };
        JsonValue { kind, written: text.raw }
    }

    /// Whether there is no value.
    #[inline]
    pub fn is_missing(&self) -> bool {
        self.kind == ValueKind::Missing
    }

    /// The characters of a string or bare word; empty for the rest.
    #[inline]
    pub fn raw(&self) -> &'a [u8] {
        if self.kind == ValueKind::Nested { &[] } else { self.written }
    }

    /// A string, or a bare word like one; empty for the rest.
    #[inline]
    pub fn text(&self) -> Text<'a> {
        let escapes = if self.kind == ValueKind::Escaped { Escapes::Some } else { Escapes::None };
        Text { raw: self.raw(), escapes }
    }

    /// An array or object with its brackets.
    #[inline]
    pub fn nested(&self) -> Option<&'a [u8]> {
        (self.kind == ValueKind::Nested).then_some(self.written)
    }
}

/// The place of a value in a text of less than 4 GB, in two words.
#[derive(Debug, Clone, Copy)]
pub(super) struct ValuePlace {
    at: u32,
    n_bytes_and_kind: u32,
}

/// Bits for the kind of a value; its length has the others, which is twice what a window reads as a whole.
const KIND_BITS: u32 = 3;
const KINDS: [ValueKind; 5] =
    [ValueKind::Missing, ValueKind::Text, ValueKind::Escaped, ValueKind::Bare, ValueKind::Nested];

impl ValuePlace {
    /// The value.
    #[inline]
    pub fn of(self, text: &[u8]) -> JsonValue<'_> {
        let (at, n_bytes) = (self.at as usize, (self.n_bytes_and_kind >> KIND_BITS) as usize);
        let kind = KINDS[(self.n_bytes_and_kind & ((1 << KIND_BITS) - 1)) as usize];
        JsonValue { kind, written: text.get(at..at + n_bytes).unwrap_or_default() }
    }
}

#[inline]
fn is_light(byte: u8) -> bool {
    matches!(byte, b' ' | b'\n' | b'\r' | b'\t')
}

/// A position in a slice.
#[derive(Debug, Clone, Copy)]
pub(super) struct JsonCursor<'a> {
    pub bytes: &'a [u8],
    pub at: usize,
}

impl<'a> JsonCursor<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        JsonCursor { bytes, at: 0 }
    }

    /// The next byte that is not white space; the position is on it.
    #[inline]
    pub fn peek(&mut self) -> Result<u8, TokenStop> {
        // None or one is the rule within a line; line breaks and indents follow each other.
        for _ in 0..2 {
            let &byte = self.bytes.get(self.at).ok_or(TokenStop::End)?;
            if !is_light(byte) {
                return Ok(byte);
            }
            self.at += 1;
        }
        self.behind_space()
    }

    #[inline]
    fn behind_space(&mut self) -> Result<u8, TokenStop> {
        while let Some(block) = block::at(self.bytes, self.at) {
            let dark = block.dark();
            if dark != 0 {
                self.at += block::first(dark);
                return Ok(self.bytes[self.at]);
            }
            self.at += block::BYTES;
        }
        while let Some(&byte) = self.bytes.get(self.at) {
            if !is_light(byte) {
                return Ok(byte);
            }
            self.at += 1;
        }
        Err(TokenStop::End)
    }

    /// Steps over `wanted`.
    #[inline]
    pub fn expect(&mut self, wanted: u8, rule: &'static str) -> Result<(), TokenStop> {
        if self.peek()? != wanted {
            return Err(TokenStop::Bad(rule));
        }
        self.at += 1;
        Ok(())
    }

    /// The string whose quote is at the position.
    #[inline]
    fn text_here(&mut self) -> Result<Text<'a>, TokenStop> {
        let start = self.at + 1;
        let mut at = start;
        let mut escapes = Escapes::None;
        // Most strings are short; the search by longer vectors pays off after the first blocks.
        let mut n_blocks_left = 4;
        loop {
            match block::at(self.bytes, at) {
                Some(block) if 0 < n_blocks_left => {
                    let ends = block.equal(b'"') | block.equal(b'\\');
                    if ends == 0 {
                        at += block::BYTES;
                        n_blocks_left -= 1;
                        continue;
                    }
                    at += block::first(ends);
                }
                _ => {
                    let rest = self.bytes.get(at..).ok_or(TokenStop::End)?;
                    at += memchr::memchr2(b'"', b'\\', rest).ok_or(TokenStop::End)?;
                }
            }
            if self.bytes[at] == b'"' {
                return Ok(self.end_text(start, at, escapes));
            }
            escapes = Escapes::Some;
            at += 2;
        }
    }

    #[inline]
    fn end_text(&mut self, start: usize, end: usize, escapes: Escapes) -> Text<'a> {
        self.at = end + 1;
        Text { raw: &self.bytes[start..end], escapes }
    }

    /// A number or a word; ends before the next sign of structure.
    #[inline]
    fn bare(&mut self) -> Result<&'a [u8], TokenStop> {
        let start = self.at;
        let mut at = start;
        while let Some(block) = block::at(self.bytes, at) {
            let ends = block.not_bare();
            if ends != 0 {
                return self.end_bare(start, at + block::first(ends));
            }
            at += block::BYTES;
        }
        while let Some(&byte) = self.bytes.get(at) {
            if !(byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'+' | b'.')) {
                return self.end_bare(start, at);
            }
            at += 1;
        }
        Err(TokenStop::End)
    }

    #[inline]
    fn end_bare(&mut self, start: usize, end: usize) -> Result<&'a [u8], TokenStop> {
        if end == start {
            return Err(TokenStop::Bad("a value is expected"));
        }
        self.at = end;
        Ok(&self.bytes[start..end])
    }

    /// Any value.
    #[inline]
    pub fn value(&mut self) -> Result<JsonValue<'a>, TokenStop> {
        match self.near_value() {
            Some(value) => Ok(value),
            None => self.far_value(),
        }
    }

    #[inline(never)]
    fn far_value(&mut self) -> Result<JsonValue<'a>, TokenStop> {
        match self.peek()? {
            b'"' => Ok(JsonValue::of_text(self.text_here()?)),
            b'{' | b'[' => Ok(JsonValue { kind: ValueKind::Nested, written: self.nested()? }),
            _ => Ok(JsonValue::bare(self.bare()?)),
        }
    }

    /// A number or a word that ends within two blocks, as times do, or a string without escapes that ends in the first, as
    /// most do; `None` says nothing.
    #[inline]
    fn near_value(&mut self) -> Option<JsonValue<'a>> {
        let at = self.at + usize::from(self.bytes.get(self.at) == Some(&b' '));
        let block = block::at(self.bytes, at)?;
        let quotes = block.equal(b'"');
        if quotes & 1 == 1 {
            // Behind the quote it begins with.
            let end = at + block::first((quotes | block.equal(b'\\')) & !1);
            if self.bytes.get(end) != Some(&b'"') || at + block::BYTES <= end {
                return None;
            }
            self.at = end + 1;
            return Some(JsonValue { kind: ValueKind::Text, written: &self.bytes[at + 1..end] });
        }
        let mut ends = block.not_bare();
        if ends == 0 {
            ends = block::at(self.bytes, at + block::BYTES)?.not_bare() << block::BYTES;
        }
        let n = block::first(ends);
        if n == 0 || ends == 0 {
            return None;
        }
        self.at = at + n;
        Some(JsonValue::bare(&self.bytes[at..at + n]))
    }

    /// An array or object as a whole, by its brackets; the position is on the first.
    fn nested(&mut self) -> Result<&'a [u8], TokenStop> {
        let start = self.at;
        let mut depth = 1;
        // All bits are set where a string goes on from one block to the next.
        let mut in_text = 0;
        self.at += 1;
        while let Some(block) = block::at(self.bytes, self.at) {
            if block.equal(b'\\') != 0 {
                in_text = self.nested_by_bytes(&mut depth, in_text, block::BYTES)?;
                if depth == 0 {
                    return Ok(&self.bytes[start..self.at]);
                }
                continue;
            }
            let texts = block::between(block.equal(b'"')) ^ in_text;
            let (opening, closing) = (block.opening() & !texts, block.closing() & !texts);
            if let Some(sign) = last_bracket(&mut depth, opening, closing) {
                self.at += block::first(sign) + 1;
                return Ok(&self.bytes[start..self.at]);
            }
            in_text = if texts >> (block::BYTES - 1) & 1 == 1 { block::ALL } else { 0 };
            self.at += block::BYTES;
        }
        self.nested_by_bytes(&mut depth, in_text, usize::MAX)?;
        if depth == 0 { Ok(&self.bytes[start..self.at]) } else { Err(TokenStop::End) }
    }

    /// Goes on for so many bytes, one more if the last is a backslash, or until the depth is 0; gives whether a string
    /// goes on, as [`nested`](Self::nested) has it.
    fn nested_by_bytes(&mut self, depth: &mut u32, in_text: u32, n_bytes: usize) -> Result<u32, TokenStop> {
        let mut is_text = in_text != 0;
        let end = self.at.saturating_add(n_bytes);
        while self.at < end
            && let Some(&byte) = self.bytes.get(self.at)
        {
            match byte {
                b'\\' if is_text => self.at += 1,
                b'"' => is_text = !is_text,
                b'{' | b'[' if !is_text => *depth += 1,
                b'}' | b']' if !is_text => *depth -= 1,
                _ => {}
            }
            self.at += 1;
            if *depth == 0 {
                break;
            }
        }
        // A backslash at the end: its letter is missing.
        if self.at > self.bytes.len() {
            Err(TokenStop::End)
        } else {
            Ok(if is_text { block::ALL } else { 0 })
        }
    }

    /// Goes to the next member of an object and reads its key; `None` at the closing brace, which is stepped over.
    /// Missing and doubled commas pass.
    #[inline]
    pub fn key(&mut self) -> Result<Option<Text<'a>>, TokenStop> {
        if let Some(key) = self.near_key() {
            return Ok(Some(key));
        }
        loop {
            match self.peek()? {
                b',' => self.at += 1,
                b'}' => {
                    self.at += 1;
                    return Ok(None);
                }
                b'"' => break,
                _ => return Err(TokenStop::Bad("a key or the end of an object is expected")),
            }
        }
        let key = self.text_here()?;
        self.expect(b':', "a colon is expected")?;
        Ok(Some(key))
    }

    /// A key without escapes that is in the next block with its colon, as most are; `None` says nothing.
    #[inline]
    fn near_key(&mut self) -> Option<Text<'a>> {
        let block = block::at(self.bytes, self.at)?;
        let quotes = block.equal(b'"');
        let (open, close) = (block::first(quotes), block::first(quotes & quotes.wrapping_sub(1)));
        if block::BYTES <= close + 1 {
            return None;
        }
        let (before, until) = ((1_u32 << open) - 1, (1_u32 << close) - 1);
        let has_lead = block.leads() & before == before;
        let has_colon = block.equal(b':') >> (close + 1) & 1 == 1;
        if !has_lead || !has_colon || block.equal(b'\\') & until != 0 {
            return None;
        }
        let key = &self.bytes[self.at + open + 1..self.at + close];
        self.at += close + 2;
        Some(Text::plain(key))
    }
}

/// Counts the brackets of a block in their order; gives the bit of the one that closes the first.
#[inline]
fn last_bracket(depth: &mut u32, opening: u32, closing: u32) -> Option<u32> {
    let mut signs = opening | closing;
    while signs != 0 {
        let sign = signs & signs.wrapping_neg();
        if opening & sign != 0 {
            *depth += 1;
        } else {
            *depth -= 1;
        }
        if *depth == 0 {
            return Some(sign);
        }
        signs ^= sign;
    }
    None
}

/// The text with its escapes resolved; what is not UTF-8 becomes U+FFFD.
pub(super) fn plain(text: Text<'_>) -> String {
    if text.escapes == Escapes::None {
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
        let mut cursor = JsonCursor::new(text);
        assert_eq!(cursor.value().unwrap().raw(), br#"a\"b"#);
        cursor.expect(b',', "").unwrap();
        assert_eq!(cursor.value().unwrap(), JsonValue::bare(b"-1.5e3"));
        assert_eq!(
            cursor.value().unwrap(),
            JsonValue { kind: ValueKind::Nested, written: br#"{"x":[1,"}]"]}"# }
        );
        assert_eq!(cursor.value().unwrap(), JsonValue::bare(b"NaN"));
        let long = cursor.value().unwrap();
        assert_eq!(long.kind, ValueKind::Escaped);
        assert_eq!(plain(long.text()), r"a string that is longer than sixteen \");
        assert_eq!(cursor.value(), Err(TokenStop::Bad("a value is expected")));
    }

    #[test]
    fn values_are_got_again_from_their_places() {
        let text = br#" "a\"b" "" "x" -1.5e3 {"x":[1,"}]"]} NaN [] "#;
        let mut cursor = JsonCursor::new(text);
        for _ in 0..7 {
            let value = cursor.value().unwrap();
            assert_eq!(value.place(text).of(text), value);
        }
        assert_eq!(JsonValue::default().place(text).of(text).kind, ValueKind::Missing);
    }

    #[test]
    fn values_are_read_alike_near_and_far() {
        for written in
            ["", "x", "of 14 letters.", "of 15 letters..", "a string that is longer", r#"a\"b"#, r"\\"]
        {
            for lead in ["", " ", "\n      "] {
                for behind in ["", ",", "}                   "] {
                    let text = format!("{lead}\"{written}\"{behind}");
                    let mut cursor = JsonCursor::new(text.as_bytes());
                    let value = cursor.value().unwrap();
                    assert_eq!(
                        (value.raw(), cursor.at),
                        (written.as_bytes(), text.len() - behind.len()),
                        "{text}"
                    );
                    assert_eq!(value.kind == ValueKind::Escaped, written.contains('\\'), "{text}");
                }
            }
        }
        for written in [
            "7",
            "-1.5e3",
            "4203669604595.407",
            "1234567890123456",
            "null",
            "1712195495505543.25000000000000000000",
        ] {
            for lead in ["", " ", "\n      "] {
                for behind in [",", "}                   "] {
                    let text = format!("{lead}{written}{behind}");
                    let mut cursor = JsonCursor::new(text.as_bytes());
                    assert_eq!(cursor.value(), Ok(JsonValue::bare(written.as_bytes())), "{text}");
                    assert_eq!(cursor.at, text.len() - behind.len());
                }
            }
        }
    }

    /// The same text at every place in a block.
    #[test]
    fn brackets_and_strings_are_found_at_every_place() {
        let nested = br#"{"Y_y[]":[[],["a\"]}"],{},[1,-2.5e3]],"Z":"{\u007d"}"#;
        for shift in 0..17 {
            for behind in 0..9 {
                let text = [&vec![b' '; shift][..], nested, &vec![b'}'; behind][..]].concat();
                let mut cursor = JsonCursor::new(&text);
                assert_eq!(
                    cursor.value(),
                    Ok(JsonValue { kind: ValueKind::Nested, written: nested }),
                    "{shift} {behind}"
                );
                assert_eq!(cursor.at, shift + nested.len());
            }
        }
    }

    #[test]
    fn keys_are_read_alike_near_and_far() {
        let keys =
            ["", "a", "ts", "External id", "a key of 15 let", "registers per thread", r#"a\"b"#, r"\\"];
        for key in keys {
            for lead in ["", ",", ", ", ",\n    ", "\t,", ",\n             ", ",,"] {
                for colon in [":", " :", "\n: "] {
                    let text = format!("{lead}\"{key}\"{colon}1, \"next\": 2}}{:20}", "");
                    let mut cursor = JsonCursor::new(text.as_bytes());
                    let found = cursor.key().unwrap().unwrap();
                    assert_eq!(found.raw, key.as_bytes(), "{text}");
                    assert_eq!(found.escapes == Escapes::Some, key.contains('\\'), "{text}");
                    assert_eq!(cursor.value().unwrap(), JsonValue::bare(b"1"), "{text}");
                    assert_eq!(cursor.key().unwrap().unwrap().raw, b"next");
                    assert_eq!(cursor.value().unwrap(), JsonValue::bare(b"2"));
                    assert_eq!(cursor.key(), Ok(None));
                }
            }
        }
        for bad in ["1: 2                 ", "\"a\" 1               ", "]\"a\": 1            "] {
            assert!(matches!(JsonCursor::new(bad.as_bytes()).key(), Err(TokenStop::Bad(_))), "{bad}");
        }
    }

    #[test]
    fn every_cut_is_an_end() {
        let text = br#"{"name":"void f<\"x\">()","a":[1,{"b":"c"}],"n":12}"#;
        for cut in 0..text.len() {
            assert_eq!(JsonCursor::new(&text[..cut]).value(), Err(TokenStop::End), "{cut}");
        }
        assert!(JsonCursor::new(text).value().is_ok());
    }

    #[test]
    fn escapes_are_resolved_and_broken_ones_kept() {
        let of = |raw: &'static [u8]| plain(Text { raw, escapes: Escapes::Some });
        assert_eq!(of(br"a\u00e9\n"), "aé\n");
        assert_eq!(of(br"C:\q"), r"C:\q");
        assert_eq!(plain(Text::plain(b"\xff!")), "\u{fffd}!");
    }
}
