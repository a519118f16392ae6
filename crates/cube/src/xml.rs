//! The XML that CUBE files are made of: elements, attributes, text, entities.
//!
//! A pull parser over a stream; it knows the byte offset of every token. Bytes that are
//! not UTF-8 (old files hold Latin-1) are replaced, never refused. Namespaces and entities
//! that a document defines are not supported.

use crate::CubeError;
use std::borrow::Cow;
use std::io::{self, BufRead};
use std::ops::Range;
use std::sync::Arc;

/// What a text begins with in which nothing is resolved.
const CDATA: &[u8] = b"![CDATA[";

/// Longest tag or text that is kept: a text may hold the environment of a job.
const TOKEN_BYTES_MAX: usize = 16 << 20;

/// One token, as long as the next is not read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Token<'a> {
    /// An element begins.
    Start(Tag<'a>),
    /// An element of this name ends.
    End(&'a [u8]),
    /// Text between tags, entities resolved. Where the text is kept out, its length in bytes alone.
    Text(Cow<'a, str>),
    /// Nothing more.
    Eof,
}

/// The begin of an element.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Tag<'a> {
    /// As in the file: comparing bytes takes less time than proving that they are text.
    name: &'a [u8],
    /// What follows the name; it was walked over once, so it is well formed.
    attributes: &'a [u8],
    /// Whether the element ends at once.
    pub is_empty: bool,
}

impl<'a> Tag<'a> {
    pub fn name(&self) -> &'a [u8] {
        self.name
    }

    /// The name for people; bytes that are not UTF-8 are replaced.
    pub fn name_text(&self) -> Cow<'a, str> {
        text(self.name)
    }

    /// The value of an attribute, entities resolved.
    pub fn attribute(&self, name: &str) -> Option<Cow<'a, str>> {
        let mut rest = self.attributes;
        while let Some((key, value)) = next_attribute(&mut rest)? {
            if key == name.as_bytes() {
                return Some(text_from_bytes(value));
            }
        }
        None
    }
}

/// What the bytes of a token are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TokenKind {
    Text,
    /// Text in which nothing is resolved.
    Verbatim,
    /// A tag without its brackets.
    Tag,
    /// A comment or a declaration.
    Nothing,
    Eof,
}

pub(crate) struct XmlReader<R> {
    input: R,
    file: Arc<str>,
    offset: u64,
    /// The token that was read last, if it was not all in the input's buffer.
    bytes: Vec<u8>,
    /// Bytes of the input's buffer that the last token is in.
    n_lent: usize,
    /// Whether the `<` of the next tag has been read.
    in_tag: bool,
}

impl<R: BufRead> XmlReader<R> {
    pub fn new(input: R, file: Arc<str>) -> Self {
        XmlReader { input, file, offset: 0, bytes: Vec::new(), n_lent: 0, in_tag: false }
    }

    /// Offset of the next unread byte.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    pub fn error(&self, reason: impl Into<String>) -> CubeError {
        CubeError::new(&self.file, self.offset, reason)
    }

    /// Skips text of at most `max_bytes`, of which nothing is kept; returns how many bytes it had.
    pub fn skip_text(&mut self, max_bytes: u64) -> Result<u64, CubeError> {
        self.give_back();
        if self.in_tag {
            return Ok(0);
        }
        let before = self.offset;
        loop {
            let waiting = self.input.fill_buf();
            let waiting = waiting.map_err(|error| CubeError::io(&self.file, self.offset, &error))?;
            let (n, is_end) = match memchr::memchr(b'<', waiting) {
                Some(at) => (at + 1, true),
                None => (waiting.len(), waiting.is_empty()),
            };
            self.in_tag = is_end && !waiting.is_empty();
            self.input.consume(n);
            self.offset += n as u64;
            if max_bytes < self.offset - before {
                return Err(CubeError::new(
                    &self.file,
                    before,
                    format!("a text is longer than {max_bytes} bytes"),
                ));
            }
            if is_end {
                return Ok(self.offset - before - u64::from(self.in_tag));
            }
        }
    }

    /// The next token.
    ///
    /// # Errors
    /// If the document cannot be read or is malformed.
    pub fn next(&mut self) -> Result<Token<'_>, CubeError> {
        self.give_back();
        let (kind, lent) = loop {
            if let Some((kind, range)) = self.in_buffer()? {
                break (kind, Some(range));
            }
            match self.advance()? {
                TokenKind::Nothing => {}
                kind => break (kind, None),
            }
        };
        let XmlReader { input, file, offset, bytes, .. } = self;
        let bytes = match lent {
            Some(range) => &input.fill_buf().map_err(|error| CubeError::io(file, *offset, &error))?[range],
            None => bytes.as_slice(),
        };
        Ok(match kind {
            TokenKind::Text => Token::Text(text_from_bytes(bytes)),
            TokenKind::Verbatim => {
                let verbatim = bytes.strip_prefix(CDATA).and_then(|text| text.strip_suffix(b"]]"));
                Token::Text(String::from_utf8_lossy(verbatim.unwrap_or_default()))
            }
            TokenKind::Tag => match bytes {
                [b'/', name @ ..] => Token::End(name.trim_ascii()),
                bytes => {
                    let start = *offset - bytes.len() as u64 - 1;
                    let malformed = || CubeError::new(file, start, "a tag is malformed");
                    Token::Start(tag_from_bytes(bytes).ok_or_else(malformed)?)
                }
            },
            TokenKind::Nothing | TokenKind::Eof => Token::Eof,
        })
    }

    /// Takes the bytes of the last token off the input, if it lent them.
    fn give_back(&mut self) {
        self.input.consume(std::mem::take(&mut self.n_lent));
    }

    /// The next token if all of it is in the input's buffer, as most are, and where it is there. `None` takes nothing.
    fn in_buffer(&mut self) -> Result<Option<(TokenKind, Range<usize>)>, CubeError> {
        let waiting = match self.input.fill_buf() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(None),
            waiting => waiting.map_err(|error| CubeError::io(&self.file, self.offset, &error))?,
        };
        let mut start = 0;
        if !self.in_tag {
            let Some(end) = memchr::memchr(b'<', waiting) else { return Ok(None) };
            if !waiting[..end].iter().all(u8::is_ascii_whitespace) {
                (self.in_tag, self.n_lent) = (true, end + 1);
                self.offset += self.n_lent as u64;
                return Ok(Some((TokenKind::Text, 0..end)));
            }
            start = end + 1;
        }
        let rest = &waiting[start..];
        // Most tags are names of a few bytes, for which a search with vectors costs more than it saves.
        let first = rest.iter().position(|byte| matches!(byte, b'>' | b'"' | b'\''));
        let Some(mut len) = first else { return Ok(None) };
        if rest[len] != b'>' {
            let Some(after) = memchr::memchr(b'>', &rest[len..]) else { return Ok(None) };
            len += after;
            if !tag_is_complete(&rest[..=len], 0, &mut None) {
                return Ok(None);
            }
        }
        if matches!(rest[0], b'!' | b'?') {
            return Ok(None);
        }
        (self.in_tag, self.n_lent) = (false, start + len + 1);
        self.offset += self.n_lent as u64;
        Ok(Some((TokenKind::Tag, start..start + len)))
    }

    /// Puts the next token into `bytes`.
    fn advance(&mut self) -> Result<TokenKind, CubeError> {
        if !self.in_tag {
            self.read_text()?;
            if self.bytes.iter().any(|byte| !byte.is_ascii_whitespace()) {
                return Ok(TokenKind::Text);
            }
            if !self.in_tag {
                return Ok(TokenKind::Eof);
            }
        }
        self.read_tag()
    }

    /// Reads up to the next `<`, which is taken too.
    fn read_text(&mut self) -> Result<(), CubeError> {
        self.bytes.clear();
        self.read_until(b'<')?;
        self.in_tag = self.bytes.last() == Some(&b'<');
        if self.in_tag {
            self.bytes.pop();
        }
        Ok(())
    }

    /// Adds what comes up to `end`, which is taken too; all that is left if it does not come.
    fn read_until(&mut self, end: u8) -> Result<(), CubeError> {
        loop {
            let waiting = match self.input.fill_buf() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                waiting => waiting.map_err(|error| CubeError::io(&self.file, self.offset, &error))?,
            };
            let found = memchr::memchr(end, waiting);
            let n = found.map_or(waiting.len(), |at| at + 1);
            if TOKEN_BYTES_MAX - self.bytes.len() < n {
                return Err(self.error(format!("a tag or text is longer than {TOKEN_BYTES_MAX} bytes")));
            }
            self.bytes.extend_from_slice(&waiting[..n]);
            self.input.consume(n);
            self.offset += n as u64;
            if n == 0 || found.is_some() {
                return Ok(());
            }
        }
    }

    /// Reads a tag whose `<` has been read, up to its `>`, which is taken too.
    fn read_tag(&mut self) -> Result<TokenKind, CubeError> {
        let start = self.offset;
        self.bytes.clear();
        self.in_tag = false;
        let mut quote = None;
        loop {
            let before = self.bytes.len();
            self.read_until(b'>')?;
            if self.bytes.len() == before || self.bytes.last() != Some(&b'>') {
                return Err(CubeError::new(&self.file, start, "a tag does not end"));
            }
            if tag_is_complete(&self.bytes, before, &mut quote) {
                break;
            }
        }
        self.bytes.pop();
        Ok(match self.bytes.as_slice() {
            bytes if bytes.starts_with(CDATA) => TokenKind::Verbatim,
            [b'!' | b'?', ..] => TokenKind::Nothing,
            _ => TokenKind::Tag,
        })
    }
}

/// Whether the `>` at the end of `bytes` ends the tag, and is not in a comment or a quoted value. Those before
/// `seen` were checked, and left a `quote` open.
fn tag_is_complete(bytes: &[u8], seen: usize, quote: &mut Option<u8>) -> bool {
    if bytes.starts_with(b"!--") {
        return bytes.len() >= 6 && bytes.ends_with(b"-->");
    }
    if bytes.starts_with(CDATA) {
        return bytes.ends_with(b"]]>");
    }
    let mut rest = &bytes[seen..];
    loop {
        let next = match *quote {
            Some(open) => memchr::memchr(open, rest),
            None => memchr::memchr2(b'"', b'\'', rest),
        };
        let Some(at) = next else { return quote.is_none() };
        *quote = if quote.is_none() { Some(rest[at]) } else { None };
        rest = &rest[at + 1..];
    }
}

fn tag_from_bytes(bytes: &[u8]) -> Option<Tag<'_>> {
    let bytes = bytes.trim_ascii();
    let (bytes, is_empty) = bytes.strip_suffix(b"/").map_or((bytes, false), |bytes| (bytes, true));
    let name_len = bytes.iter().position(u8::is_ascii_whitespace).unwrap_or(bytes.len());
    let (name, attributes) = bytes.split_at(name_len);
    let mut rest = attributes;
    while next_attribute(&mut rest)?.is_some() {}
    (!name.is_empty()).then_some(Tag { name, attributes, is_empty })
}

/// Takes the next attribute off `rest`: its name and what is between the quotes, `Some(None)` at the end, `None` if it
/// is malformed.
#[expect(clippy::option_option, reason = "an end is not a fault")]
fn next_attribute<'a>(rest: &mut &'a [u8]) -> Option<Option<(&'a [u8], &'a [u8])>> {
    let bytes = rest.trim_ascii_start();
    if bytes.is_empty() {
        return Some(None);
    }
    let equals = bytes.iter().position(|&byte| byte == b'=')?;
    let (key, value) = (bytes[..equals].trim_ascii_end(), bytes[equals + 1..].trim_ascii_start());
    let (&quote, value) = value.split_first().filter(|&(&quote, _)| quote == b'"' || quote == b'\'')?;
    let end = value.iter().position(|&byte| byte == quote)?;
    *rest = &value[end + 1..];
    Some(Some((key, &value[..end])))
}

/// Text; bytes that are not UTF-8 are replaced.
pub(crate) fn text(bytes: &[u8]) -> Cow<'_, str> {
    // Faster than looking for what is to be replaced.
    std::str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed)
}

/// Text with its entities resolved; what is not an entity stays as it is.
fn text_from_bytes(bytes: &[u8]) -> Cow<'_, str> {
    let text = text(bytes);
    if memchr::memchr(b'&', bytes).is_none() {
        return text;
    }
    let mut resolved = String::with_capacity(text.len());
    let mut rest = &*text;
    while let Some(at) = rest.find('&') {
        resolved.push_str(&rest[..at]);
        rest = &rest[at..];
        // The longest entity, `&#x10FFFF;`, has ten characters.
        let end = rest.bytes().take(12).position(|byte| byte == b';');
        match end.and_then(|end| Some((end, entity(&rest[1..end])?))) {
            Some((end, character)) => {
                resolved.push(character);
                rest = &rest[end + 1..];
            }
            None => {
                resolved.push('&');
                rest = &rest[1..];
            }
        }
    }
    resolved.push_str(rest);
    Cow::Owned(resolved)
}

fn entity(name: &str) -> Option<char> {
    match name {
        "lt" => Some('<'),
        "gt" => Some('>'),
        "amp" => Some('&'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        _ => {
            let number = name.strip_prefix('#')?;
            let code = match number.strip_prefix('x') {
                Some(hex) => u32::from_str_radix(hex, 16).ok()?,
                None => number.parse().ok()?,
            };
            char::from_u32(code)
        }
    }
}

/// Text as allowed in an element or a quoted attribute.
pub(crate) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            '"' => escaped.push_str("&quot;"),
            // What XML cannot hold.
            c if c.is_control() && !matches!(c, '\t' | '\n' | '\r') => escaped.push('\u{FFFD}'),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    fn tokens(text: &[u8]) -> Result<Vec<String>, CubeError> {
        all(XmlReader::new(text, Arc::from("x")))
    }

    /// Tokens in words.
    fn all(mut reader: XmlReader<impl BufRead>) -> Result<Vec<String>, CubeError> {
        let mut tokens = Vec::new();
        loop {
            tokens.push(match reader.next()? {
                Token::Eof => return Ok(tokens),
                Token::Text(text) => format!("text {text}"),
                Token::End(name) => format!("end {}", text(name)),
                Token::Start(tag) => {
                    let values = ["k", "l"].map(|name| tag.attribute(name));
                    format!(
                        "{} {values:?} {}",
                        tag.name_text(),
                        if tag.is_empty { "whole" } else { "begins" }
                    )
                }
            });
        }
    }

    #[test]
    fn tokens_come_with_entities_resolved() {
        let found = tokens(
            b"<?xml?><!-- > <a> --><a k=\"1 > 0\" l='&quot;'>x &lt; &#65;&bad; <b/></a><![CDATA[<&]]>",
        )
        .unwrap();
        let expected = [
            "a [Some(\"1 > 0\"), Some(\"\\\"\")] begins",
            "text x < A&bad; ",
            "b [None, None] whole",
            "end a",
            "text <&",
        ];
        assert_eq!(found, expected);
    }

    /// Most tokens are lent from the buffer; those that reach over its end are copied.
    #[test]
    fn the_size_of_the_buffer_makes_no_difference() {
        let text =
            b"<?xml?>\n<!-- > --><a k=\"1 > 0\" l='&quot;'>x &lt; <b/>\n <c>1</c>\n</a><![CDATA[<&]]> \n";
        let expected = tokens(text).unwrap();
        for n_bytes in 1..=text.len() {
            let reader = XmlReader::new(io::BufReader::with_capacity(n_bytes, &text[..]), Arc::from("x"));
            assert_eq!(all(reader).unwrap(), expected, "{n_bytes}");
            let cut = &text[..n_bytes];
            let reader = XmlReader::new(io::BufReader::with_capacity(3, cut), Arc::from("x"));
            assert_eq!(all(reader), tokens(cut), "{n_bytes}");
        }
    }

    #[test]
    fn bytes_that_are_no_utf8_are_replaced() {
        assert_eq!(tokens(b"J\xfclich").unwrap(), ["text J\u{FFFD}lich"]);
    }

    /// A file that never ends, as one with holes does.
    #[test]
    fn what_is_too_long_is_an_error_and_not_kept() {
        for begin in [&b"<cube>"[..], b"<cube version=\"", b"<!--", b"<![CDATA["] {
            let endless = begin.chain(io::BufReader::new(io::repeat(b'>')));
            let mut reader = XmlReader::new(endless, Arc::from("x"));
            let error = loop {
                match reader.next() {
                    Ok(Token::Eof) => panic!("it has no end"),
                    Ok(_) => {}
                    Err(error) => break error,
                }
            };
            assert!(error.reason.contains("longer than 16777216 bytes"), "{error}");
        }
        let mut reader = XmlReader::new(io::BufReader::new(io::repeat(b'1')), Arc::from("x"));
        assert!(reader.skip_text(1 << 20).is_err());
        assert_eq!(reader.bytes.capacity(), 0, "nothing is kept");
    }

    #[test]
    fn malformed_tags_name_their_place() {
        for (text, offset) in
            [(&b"<a><b"[..], 4), (b"<a k=\"", 1), (b"<>", 1), (b"<a k>", 1), (b"<a k=v>", 1)]
        {
            assert_eq!(tokens(text).unwrap_err().offset, offset, "{text:?}");
        }
    }

    #[test]
    fn escaped_text_comes_back() {
        let text = "a<b>&\"c\" ü";
        assert_eq!(text_from_bytes(escaped(text).as_bytes()), text);
    }
}
