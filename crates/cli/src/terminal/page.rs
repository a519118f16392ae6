//! A page for people, line by line: headings, running text, commands.
//!
//! Law: running text is broken between words and never wider than the page; all text from
//! the trace is escaped.

use super::grid::Grid;
use super::style::{Paint, Style, clean};
use ouzel::Asked;

/// Widest running text that is still easy to read.
const MAX_TEXT_WIDTH: usize = 110;

/// Lines that become a page.
#[derive(Debug)]
pub struct Page {
    /// How it is painted.
    pub style: Style,
    /// Columns.
    pub width: usize,
    /// The lines so far.
    pub lines: Vec<String>,
}

impl Page {
    /// An empty page.
    pub fn new(style: Style, width: usize) -> Self {
        Page { style, width, lines: Vec::new() }
    }

    /// Columns that running text takes.
    pub fn text_width(&self) -> usize {
        self.width.min(MAX_TEXT_WIDTH)
    }

    /// An empty line.
    pub fn gap(&mut self) {
        self.lines.push(String::new());
    }

    /// The trace, and what is selected of it.
    pub fn title(&mut self, asked: &Asked) {
        let path = self.style.paint(Paint::Heading, &clean(asked.path()));
        let selection = match asked.selection() {
            all if all.is_empty() => all,
            part => format!("  {}", self.style.paint(Paint::Doubtful, &clean(&part))),
        };
        self.lines.push(path + &selection);
    }

    /// A heading below an empty line.
    pub fn heading(&mut self, text: &str) {
        self.gap();
        self.lines.push(self.style.paint(Paint::Heading, &clean(text)));
    }

    /// Running text behind `indent` spaces, broken between words.
    pub fn text(&mut self, indent: usize, text: &str, paint: Paint) {
        self.hanging(&" ".repeat(indent), indent, text, paint);
    }

    /// Running text behind `first`, further lines behind `indent` spaces.
    pub fn hanging(&mut self, first: &str, indent: usize, text: &str, paint: Paint) {
        let n_first = first.chars().count();
        let width = self.text_width().saturating_sub(indent.max(n_first)).max(20);
        for (i, line) in wrapped(text, width).iter().enumerate() {
            let before = if i == 0 { first.to_owned() } else { " ".repeat(indent) };
            self.lines.push(format!("{before}{}", self.style.paint(paint, line)));
        }
    }

    /// A table behind `indent` spaces.
    pub fn grid(&mut self, indent: usize, grid: &Grid) {
        let lines = grid.lines(self.width.saturating_sub(indent), self.style);
        self.lines.extend(lines.into_iter().map(|line| format!("{:indent$}{line}", "")));
    }
}

/// `text` in lines of at most `width` characters, broken between words, but not between a number and its unit, and
/// not at hyphens, which belong to names and ranges.
pub fn wrapped(text: &str, width: usize) -> Vec<String> {
    const UNITS: [&str; 10] = ["%", "ns", "µs", "ms", "s", "B", "kB", "MB", "GB", "×"];
    let mut glued = String::new();
    for word in clean(text).split(' ') {
        let unit = word.trim_end_matches(|c: char| ".,;:)".contains(c));
        let after_number = glued.ends_with(|c: char| c.is_ascii_digit());
        if !glued.is_empty() {
            glued.push(if after_number && UNITS.contains(&unit) { '\u{a0}' } else { ' ' });
        }
        glued += word;
    }
    let options = textwrap::Options::new(width)
        .word_separator(textwrap::WordSeparator::AsciiSpace)
        .word_splitter(textwrap::WordSplitter::NoHyphenation);
    textwrap::wrap(&glued, options).iter().map(|line| line.replace('\u{a0}', " ")).collect()
}

/// A command that can be pasted.
pub fn command_line(asked: &Asked, words: &[String]) -> String {
    clean(&asked.command(words))
}

/// The text with its first letter capitalised.
pub fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_their_units_and_names_their_hyphens() {
        assert_eq!(
            wrapped("gains 302 ms (7.2 %). With MPI-IO", 10),
            ["gains", "302 ms", "(7.2 %).", "With", "MPI-IO"]
        );
    }

    #[test]
    fn text_hangs_below_its_first_line() {
        let mut page = Page::new(Style::new(false), 30);
        page.hanging("  1  ", 5, "one two three four five six seven", Paint::Plain);
        assert_eq!(page.lines, ["  1  one two three four five", "     six seven"]);
    }
}
