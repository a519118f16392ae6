//! Colours and weights of text, by what it means.

use ouzel::model::{put_visible, visible};
use std::borrow::Cow;

/// What a piece of text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Paint {
    /// Running text.
    Plain,
    /// A heading.
    Heading,
    /// Less important text.
    Dim,
    /// The names of regions, ranks and files.
    Name,
    /// A bar.
    Bar,
    /// Lost data, errors.
    Bad,
    /// What is doubtful.
    Doubtful,
    /// What is well.
    Good,
}

/// Every paint.
const PAINTS: [Paint; 8] = [
    Paint::Plain,
    Paint::Heading,
    Paint::Dim,
    Paint::Name,
    Paint::Bar,
    Paint::Bad,
    Paint::Doubtful,
    Paint::Good,
];

/// Ends what any paint began.
const END: &str = "\x1b[0m";

impl Paint {
    fn begin(self) -> &'static str {
        match self {
            Paint::Plain => "",
            Paint::Heading => "\x1b[1m",
            Paint::Dim => "\x1b[2m",
            Paint::Name => "\x1b[36m",
            Paint::Bar => "\x1b[34m",
            Paint::Bad => "\x1b[1;31m",
            Paint::Doubtful => "\x1b[33m",
            Paint::Good => "\x1b[32m",
        }
    }
}

/// Whether to colour, decided once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    colour: bool,
}

impl Style {
    /// With colours or without.
    pub fn new(colour: bool) -> Self {
        Style { colour }
    }

    /// `text` as it is printed. Control characters of the trace never reach the terminal: see [`clean`].
    pub fn paint(self, paint: Paint, text: &str) -> String {
        let begin = paint.begin();
        if !self.colour || begin.is_empty() || text.is_empty() {
            return text.to_owned();
        }
        format!("{begin}{text}{END}")
    }
}

/// `text` with everything escaped that would control a terminal or be invisible, see [`visible`].
pub fn clean(text: &str) -> String {
    visible(text).into_owned()
}

/// `line` as it is printed, painted or not: only our own paint controls the terminal.
pub fn shown(line: &str) -> Cow<'_, str> {
    if let Cow::Borrowed(line) = visible(line) {
        return Cow::Borrowed(line);
    }
    let mut shown = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(c) = rest.chars().next() {
        let paint = PAINTS.iter().map(|paint| paint.begin()).chain([END]);
        let n_bytes = paint.filter(|code| !code.is_empty()).find(|code| rest.starts_with(code)).map(str::len);
        match n_bytes {
            Some(n_bytes) => shown.push_str(&rest[..n_bytes]),
            None => put_visible(&mut shown, c),
        }
        rest = &rest[n_bytes.unwrap_or(c.len_utf8())..];
    }
    Cow::Owned(shown)
}

/// `text` in at most `width` characters, cut in the middle: both ends distinguish a name from others.
pub fn shortened(text: &str, width: usize) -> String {
    let n_chars = text.chars().count();
    if n_chars <= width {
        return text.to_owned();
    }
    if width == 0 {
        return String::new();
    }
    let n_front = width / 2;
    let n_back = width - 1 - n_front;
    let front: String = text.chars().take(n_front).collect();
    let back: String = text.chars().skip(n_chars - n_back).collect();
    format!("{front}…{back}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_cut_in_the_middle() {
        assert_eq!(shortened("MPI_Allreduce", 20), "MPI_Allreduce");
        assert_eq!(shortened("MPI_Allreduce", 8), "MPI_…uce");
        assert_eq!(shortened("MPI_Allreduce", 1), "…");
        assert_eq!(shortened("MPI_Allreduce", 0), "");
    }

    #[test]
    fn nothing_of_the_trace_controls_the_terminal() {
        assert_eq!(clean("a\x1b[31mb\nc\u{202e}"), r"a\u{1b}[31mb\nc\u{202e}");
        let painted = Style::new(true).paint(Paint::Bad, "x\x1b[2J\u{9b}31m");
        assert_eq!(shown(&painted), "\x1b[1;31mx\\u{1b}[2J\\u{9b}31m\x1b[0m");
        assert!(matches!(shown("█ größe › 3 µs"), Cow::Borrowed(_)));
    }

    #[test]
    fn colours_are_a_matter_of_choice() {
        assert_eq!(Style::new(false).paint(Paint::Bad, "x"), "x");
        assert_eq!(Style::new(true).paint(Paint::Bad, "x"), "\x1b[1;31mx\x1b[0m");
        assert_eq!(Style::new(true).paint(Paint::Plain, "x"), "x");
    }
}
