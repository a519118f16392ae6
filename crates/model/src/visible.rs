//! Text from files made safe to display: characters that would control a terminal, change the direction of reading, or
//! be invisible are written as escapes.
//!
//! Law: the result has only printable characters, on one line, and equals the input if that had no others; applying it
//! twice is the same as once. Quotes, HTML and CSV have rules of their own and are handled elsewhere.

use std::borrow::Cow;
use std::fmt::Write;

/// `text` with every character that does not show as itself written as Rust writes it: `\n`, `\u{1b}`, `\u{202e}`.
///
/// ```
/// use ouzel_model::visible;
/// assert_eq!(visible("MPI_Send › größe"), "MPI_Send › größe");
/// assert_eq!(visible("a\u{1b}[31m\nb\u{202e}"), "a\\u{1b}[31m\\nb\\u{202e}");
/// ```
pub fn visible(text: &str) -> Cow<'_, str> {
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~')) || text.chars().all(is_visible) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    text.chars().for_each(|c| put_visible(&mut shown, c));
    Cow::Owned(shown)
}

/// Appends `c` as [`visible`] shows it.
pub fn put_visible(out: &mut String, c: char) {
    match c {
        c if is_visible(c) => out.push(c),
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        // A string takes any text.
        c => {
            let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
        }
    }
}

/// `text` for use between the quotes of a JSON string that already escapes what JSON requires: invisible characters are
/// written as in JSON, `\\u202e`, which every reader takes as the same text.
pub fn json_text(text: &str) -> Cow<'_, str> {
    if let Cow::Borrowed(text) = visible(text) {
        return Cow::Borrowed(text);
    }
    let mut written = String::with_capacity(text.len() + 16);
    text.chars().for_each(|c| put_json_text(&mut written, c));
    Cow::Owned(written)
}

/// Appends `c` as [`json_text`] writes it.
pub fn put_json_text(out: &mut String, c: char) {
    if is_visible(c) {
        out.push(c);
        return;
    }
    for unit in c.encode_utf16(&mut [0; 2]) {
        // A string takes any text.
        let _ = write!(out, "\\u{unit:04x}");
    }
}

/// Whether `c` is visible as itself.
pub fn is_visible(c: char) -> bool {
    match c {
        ' '..='~' => true,
        _ if c.is_ascii() || is_ignorable(c) => false,
        // Characters that Rust considers printable are visible; so is a mark that joins the letter before it, here `a`.
        _ => {
            let mut bytes = [0; 8];
            bytes[0] = b'a';
            let n_bytes = 1 + c.encode_utf8(&mut bytes[1..]).len();
            std::str::from_utf8(&bytes[..n_bytes]).is_ok_and(|text| text.escape_debug().nth(1) == Some(c))
        }
    }
}

/// Letters, marks and symbols by their category that take no room of their own: fillers, joiners, variation selectors
/// (Unicode's default ignorable code points that are printable to Rust), and the empty Braille pattern.
fn is_ignorable(c: char) -> bool {
    matches!(
        c,
        '\u{34f}'
            | '\u{115f}'..='\u{1160}'
            | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{2800}'
            | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{ffa0}'
            | '\u{e0100}'..='\u{e01ef}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_steers_or_hides_is_escaped() {
        for hidden in [
            0x00, 0x07, 0x1b, 0x7f, 0x80, 0x9b, 0xad, 0x61c, 0x200b, 0x200d, 0x200e, 0x200f, 0x2028, 0x2029,
            0x202a, 0x202e, 0x2060, 0x2066, 0x2069, 0x3164, 0xfeff, 0xfe0f, 0xe0041,
        ] {
            let c = char::from_u32(hidden).unwrap();
            assert_eq!(visible(&format!("x{c}y")), format!("x\\u{{{hidden:x}}}y"));
        }
        assert_eq!(visible("a\tb\r\n"), "a\\tb\\r\\n");
    }

    #[test]
    fn names_stay_as_they_are() {
        for name in [
            "",
            "int main(int, char**)",
            r#"operator"" _x \ '"#,
            "größe",
            "gro\u{308}sse",
            "計算 › вычислить › حساب",
            "█▏ − 3 µs …",
        ] {
            assert!(matches!(visible(name), Cow::Borrowed(same) if same == name), "{name}");
        }
    }

    #[test]
    fn every_character_is_shown_in_printable_ones() {
        for c in ('\0'..=char::MAX).filter(|c| !c.is_alphanumeric()) {
            let shown = visible(&c.to_string()).into_owned();
            assert!(shown.chars().all(is_visible), "{c:?}");
            assert_eq!(visible(&shown), shown, "{c:?}");
            assert!(!(c.is_control() && shown.contains(c)), "{c:?}");
        }
    }
}
