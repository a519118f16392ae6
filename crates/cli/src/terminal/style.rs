//! Colours and weights of text, by what it means.

/// What a piece of text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Paint {
    /// Running text.
    Plain,
    /// A heading.
    Heading,
    /// Something that matters less.
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

    /// `text` as it is to be printed. Nothing of the trace can carry control characters to the terminal: see [`clean`].
    pub fn paint(self, paint: Paint, text: &str) -> String {
        let code = match paint {
            Paint::Plain => "",
            Paint::Heading => "1",
            Paint::Dim => "2",
            Paint::Name => "36",
            Paint::Bar => "34",
            Paint::Bad => "1;31",
            Paint::Doubtful => "33",
            Paint::Good => "32",
        };
        if !self.colour || code.is_empty() || text.is_empty() {
            return text.to_owned();
        }
        format!("\x1b[{code}m{text}\x1b[0m")
    }
}

/// `text` without control characters, which could take over a terminal.
pub fn clean(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

/// `text` in at most `width` characters, cut in the middle: both ends of a name tell it from others.
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
        assert_eq!(clean("a\x1b[31mb\nc"), "a\u{fffd}[31mb\u{fffd}c");
    }

    #[test]
    fn colours_are_a_matter_of_choice() {
        assert_eq!(Style::new(false).paint(Paint::Bad, "x"), "x");
        assert_eq!(Style::new(true).paint(Paint::Bad, "x"), "\x1b[1;31mx\x1b[0m");
        assert_eq!(Style::new(true).paint(Paint::Plain, "x"), "x");
    }
}
