//! The XML that CUBE files are made of: elements, attributes, text, entities.
//!
//! A pull parser over a stream; it knows the byte offset of every token. Bytes that are
//! not UTF-8 (old files hold Latin-1) are replaced, never refused. Not here: namespaces,
//! entities that a document defines.

use crate::CubeError;
use std::io::{BufRead, Read};
use std::sync::Arc;

/// Longest tag or text that is kept: environments of jobs stand in one.
const TOKEN_BYTES_MAX: usize = 16 << 20;

/// One token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Token {
    /// An element begins.
    Start(Tag),
    /// An element ends.
    End(String),
    /// Text between tags, entities resolved. Where the text is kept out, its length in bytes alone.
    Text(String),
    /// Nothing more.
    Eof,
}

/// The begin of an element.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Tag {
    pub name: String,
    pub attributes: Vec<(String, String)>,
    /// Whether the element ends at once.
    pub is_empty: bool,
}

impl Tag {
    pub fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

pub(crate) struct XmlReader<R> {
    input: R,
    file: Arc<str>,
    offset: u64,
    bytes: Vec<u8>,
    /// Whether the `<` of the next tag has been read.
    in_tag: bool,
}

impl<R: BufRead> XmlReader<R> {
    pub fn new(input: R, file: Arc<str>) -> Self {
        XmlReader { input, file, offset: 0, bytes: Vec::new(), in_tag: false }
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
        if self.in_tag {
            return Ok(0);
        }
        let before = self.offset;
        loop {
            let waiting = self.input.fill_buf();
            let waiting = waiting.map_err(|error| CubeError::io(&self.file, self.offset, &error))?;
            let (n, is_end) = match waiting.iter().position(|&byte| byte == b'<') {
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

    pub fn next(&mut self) -> Result<Token, CubeError> {
        loop {
            if !self.in_tag {
                self.read_text()?;
                if self.bytes.iter().any(|byte| !byte.is_ascii_whitespace()) {
                    return Ok(Token::Text(text_from_bytes(&self.bytes)));
                }
                if !self.in_tag {
                    return Ok(Token::Eof);
                }
            }
            if let Some(token) = self.read_tag()? {
                return Ok(token);
            }
        }
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

    fn read_until(&mut self, end: u8) -> Result<(), CubeError> {
        let room = (TOKEN_BYTES_MAX - self.bytes.len()) as u64;
        let n = (&mut self.input).take(room).read_until(end, &mut self.bytes);
        let n = n.map_err(|error| CubeError::io(&self.file, self.offset, &error))?;
        self.offset += n as u64;
        if room == 0 || (n as u64 == room && self.bytes.last() != Some(&end)) {
            return Err(self.error(format!("a tag or text is longer than {TOKEN_BYTES_MAX} bytes")));
        }
        Ok(())
    }

    /// Reads a tag whose `<` has been read; `None` for what carries nothing (comments, declarations).
    fn read_tag(&mut self) -> Result<Option<Token>, CubeError> {
        let start = self.offset;
        let cut = |reader: &Self| CubeError::new(&reader.file, start, "a tag does not end");
        self.bytes.clear();
        self.in_tag = false;
        let mut quote = None;
        loop {
            let before = self.bytes.len();
            self.read_until(b'>')?;
            if self.bytes.len() == before || self.bytes.last() != Some(&b'>') {
                return Err(cut(self));
            }
            if tag_is_complete(&self.bytes, before, &mut quote) {
                break;
            }
        }
        self.bytes.pop();
        let bytes = self.bytes.as_slice();
        match bytes {
            [b'!', b'[', b'C', b'D', b'A', b'T', b'A', b'[', text @ .., b']', b']'] => {
                Ok(Some(Token::Text(String::from_utf8_lossy(text).into_owned())))
            }
            [b'!' | b'?', ..] => Ok(None),
            [b'/', name @ ..] => {
                Ok(Some(Token::End(String::from_utf8_lossy(name.trim_ascii()).into_owned())))
            }
            _ => tag_from_bytes(bytes)
                .map(|tag| Some(Token::Start(tag)))
                .ok_or_else(|| CubeError::new(&self.file, start, "a tag is malformed")),
        }
    }
}

/// Whether the `>` at the end of `bytes` ends the tag, and does not stand in a comment or a quoted value. Those before
/// `seen` were looked at, and left a `quote` open.
fn tag_is_complete(bytes: &[u8], seen: usize, quote: &mut Option<u8>) -> bool {
    if bytes.starts_with(b"!--") {
        return bytes.len() >= 6 && bytes.ends_with(b"-->");
    }
    if bytes.starts_with(b"![CDATA[") {
        return bytes.ends_with(b"]]>");
    }
    for &byte in &bytes[seen..] {
        match *quote {
            Some(open) if byte == open => *quote = None,
            None if byte == b'"' || byte == b'\'' => *quote = Some(byte),
            _ => {}
        }
    }
    quote.is_none()
}

fn tag_from_bytes(bytes: &[u8]) -> Option<Tag> {
    let bytes = bytes.trim_ascii();
    let (bytes, is_empty) = bytes.strip_suffix(b"/").map_or((bytes, false), |bytes| (bytes, true));
    let name_len = bytes.iter().position(u8::is_ascii_whitespace).unwrap_or(bytes.len());
    let name = String::from_utf8_lossy(&bytes[..name_len]).into_owned();
    let mut rest = bytes[name_len..].trim_ascii();
    let mut attributes = Vec::new();
    while !rest.is_empty() {
        let equals = rest.iter().position(|&byte| byte == b'=')?;
        let key = String::from_utf8_lossy(rest[..equals].trim_ascii()).into_owned();
        rest = rest[equals + 1..].trim_ascii_start();
        let quote = *rest.first().filter(|&&byte| byte == b'"' || byte == b'\'')?;
        let end = 1 + rest[1..].iter().position(|&byte| byte == quote)?;
        attributes.push((key, text_from_bytes(&rest[1..end])));
        rest = rest[end + 1..].trim_ascii_start();
    }
    (!name.is_empty()).then_some(Tag { name, attributes, is_empty })
}

/// Text with its entities resolved; what is no entity stays as it is.
fn text_from_bytes(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    if !text.contains('&') {
        return text.into_owned();
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
    resolved
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

/// Text as it may stand in an element or a quoted attribute.
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

    fn tokens(text: &[u8]) -> Result<Vec<Token>, CubeError> {
        let mut reader = XmlReader::new(text, Arc::from("x"));
        let mut tokens = Vec::new();
        loop {
            match reader.next()? {
                Token::Eof => return Ok(tokens),
                token => tokens.push(token),
            }
        }
    }

    #[test]
    fn tokens_come_with_entities_resolved() {
        let found = tokens(
            b"<?xml?><!-- > <a> --><a k=\"1 > 0\" l='&quot;'>x &lt; &#65;&bad; <b/></a><![CDATA[<&]]>",
        )
        .unwrap();
        let tag = |name: &str, attributes: &[(&str, &str)], is_empty| {
            let attributes = attributes.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
            Token::Start(Tag { name: name.to_owned(), attributes, is_empty })
        };
        assert_eq!(
            found,
            [
                tag("a", &[("k", "1 > 0"), ("l", "\"")], false),
                Token::Text("x < A&bad; ".to_owned()),
                tag("b", &[], true),
                Token::End("a".to_owned()),
                Token::Text("<&".to_owned()),
            ]
        );
    }

    #[test]
    fn bytes_that_are_no_utf8_are_replaced() {
        assert_eq!(tokens(b"J\xfclich").unwrap(), [Token::Text("J\u{FFFD}lich".to_owned())]);
    }

    /// A file that never ends, as one with holes does.
    #[test]
    fn what_is_too_long_is_an_error_and_not_kept() {
        for begin in [&b"<cube>"[..], b"<cube version=\"", b"<!--", b"<![CDATA["] {
            let endless = begin.chain(std::io::BufReader::new(std::io::repeat(b'>')));
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
        let mut reader = XmlReader::new(std::io::BufReader::new(std::io::repeat(b'1')), Arc::from("x"));
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
