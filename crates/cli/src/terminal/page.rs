//! A page for people, line by line: headings, running text, commands, call paths.
//!
//! Law: running text is broken between words and never wider than the page; all text from
//! the trace is escaped.

use super::grid::Grid;
use super::style::{Paint, Style, clean, shortened};
use ouzel::Asked;
use ouzel::diagnose::NO_REGION;
use ouzel::model::short_name;

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

/// A region's name as people say it, safe for a terminal; JSON has the whole one.
pub fn region(name: &str) -> String {
    clean(&short_name(name))
}

/// The call path in at most `room` characters: the innermost regions are the most important. Names are short.
pub fn call_path<T: AsRef<str>>(regions: &[T], room: usize) -> String {
    if regions.is_empty() {
        return format!("({NO_REGION})");
    }
    let mut text = String::new();
    for (i, region) in regions.iter().rev().enumerate() {
        let region = self::region(region.as_ref());
        let longer = if i == 0 { region } else { format!("{region} › {text}") };
        let n_more = if i + 1 == regions.len() { 0 } else { ABOVE.chars().count() };
        if 0 < i && room < longer.chars().count() + n_more {
            return shortened(&format!("{ABOVE}{text}"), room.max(ABOVE.chars().count() + MIN_REGION));
        }
        text = longer;
    }
    shortened(&text, room)
}

/// The call paths of a table, each in at most its room. Those that would read alike begin with the caller that tells them
/// apart.
pub fn call_paths<T: AsRef<str> + PartialEq>(paths: &[(&[T], usize)]) -> Vec<String> {
    let texts: Vec<String> = paths.iter().map(|(path, room)| call_path(path, *room)).collect();
    let told_apart = |i: usize| {
        let (path, room) = paths[i];
        let alike = (0..paths.len()).filter(|&other| other != i && texts[other] == texts[i]);
        let n_common = |other: usize| path.iter().zip(paths[other].0).take_while(|(a, b)| a == b).count();
        let at = alike.map(n_common).min()?;
        let (caller, rest) = path.get(at..)?.split_first().filter(|(_, rest)| !rest.is_empty())?;
        let caller = shortened(&region(caller.as_ref()), (room / 3).max(MIN_REGION));
        let caller = format!("{}{caller} › ", if at == 0 { "" } else { ABOVE });
        let room = room.saturating_sub(caller.chars().count());
        (MIN_REGION < room).then(|| format!("{caller}{}", call_path(rest, room)))
    };
    (0..paths.len()).map(|i| told_apart(i).unwrap_or_else(|| texts[i].clone())).collect()
}

/// Stands for callers that do not fit.
const ABOVE: &str = "… › ";
/// Characters of the innermost region that are always shown.
const MIN_REGION: usize = 8;

/// The text with its first letter capitalised.
pub fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn call_paths_keep_their_innermost_regions() {
        let path = ["main", "timestep", "output", "write_hdf5"];
        assert_eq!(call_path(&path, 40), "main › timestep › output › write_hdf5");
        assert_eq!(call_path(&path, 37), "main › timestep › output › write_hdf5");
        assert_eq!(call_path(&path, 30), "… › output › write_hdf5");
        assert_eq!(call_path(&path, 12), "… › wr…_hdf5");
        assert_eq!(call_path(&path[3..], 8), "writ…df5");
        assert_eq!(call_path::<&str>(&[], 8), format!("({NO_REGION})"));
        let path = ["main", "CommSend(Domain&, int, double& (Domain::**)(int), bool)", "MPI_Wait"];
        assert_eq!(call_path(&path, 40), "main › CommSend › MPI_Wait");
    }

    #[test]
    fn call_paths_that_read_alike_are_told_apart() {
        let of = |root| [root, "start_thread", "gomp_thread_start", "compute", "loop at pair.cpp:113"];
        let (main, thread) = (of("main thread"), of("thread"));
        let other = ["main thread", "start_thread", "finish"];
        let texts = call_paths(&[(&main[..], 44), (&thread, 44), (&other, 44)]);
        let expected = [
            "main thread › … › loop at pair.cpp:113",
            "thread › … › compute › loop at pair.cpp:113",
            "main thread › start_thread › finish",
        ];
        assert_eq!(texts, expected);
        assert_eq!(call_paths(&[(&main[..], 24), (&main, 24)]), ["… › loop at pair.cpp:113"; 2]);
    }

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
