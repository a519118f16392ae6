//! The user's request and its trace, as commands that others can paste.

use ouzel_model::Filter;

/// A trace as the user named it, and what is selected of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    path: String,
    /// Options with their values.
    selection: Vec<(&'static str, String)>,
}

impl Asked {
    /// What `filter` selects of the trace at `path`.
    pub fn new(path: impl Into<String>, filter: &Filter) -> Asked {
        // Listings choose for themselves what happens to calls at the borders.
        let Filter { ranks, time_ns, regions, predicate, borders: _ } = filter;
        let mut selection = Vec::new();
        selection.extend(ranks.as_ref().map(|ranks| ("--ranks", ranks.to_string())));
        selection.extend(time_ns.map(|range| ("--time", time(range))));
        selection.extend(regions.iter().map(|region| ("--region", region.clone())));
        selection.extend(predicate.as_ref().map(|predicate| ("--where", predicate.to_string())));
        Asked { path: path.into(), selection }
    }

    /// The trace.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The command for `words` (a command and its arguments) on the selection; empty if there are no words.
    ///
    /// An option in `words` replaces the same option of the selection.
    ///
    /// ```
    /// use ouzel::{Asked, model::Filter};
    /// let half = Filter { time_ns: Some((0, 1_500_000_000)), ..Filter::default() };
    /// let words = ["profile", "--region", "int main(int)"].map(str::to_owned);
    /// let asked = Asked::new("my run", &half);
    /// assert_eq!(asked.command(&words), "ouzel profile 'my run' --region 'int main(int)' --time ..1.5s");
    /// ```
    pub fn command(&self, words: &[String]) -> String {
        let Some((name, arguments)) = words.split_first() else { return String::new() };
        let mut line = vec!["ouzel".to_owned(), name.clone(), shell_word(&self.path)];
        line.extend(arguments.iter().map(|argument| shell_word(argument)));
        let is_new = |option: &str| !arguments.iter().any(|argument| argument == option);
        line.extend(
            self.options()
                .filter(|(option, _)| is_new(option))
                .map(|(option, value)| format!("{option} {value}")),
        );
        line.join(" ")
    }

    /// The options for the selection, as on a command line; empty if everything is selected.
    pub fn selection(&self) -> String {
        self.options().map(|(option, value)| format!("{option} {value}")).collect::<Vec<_>>().join(" ")
    }

    fn options(&self) -> impl Iterator<Item = (&str, String)> {
        self.selection.iter().map(|(option, value)| (*option, shell_word(value)))
    }
}

/// A range of time; an end equal to that of the trace is left out.
fn time((start_ns, end_ns): (u64, u64)) -> String {
    let open = |ns, is_open| if is_open { String::new() } else { seconds(ns) };
    format!("{}..{}", open(start_ns, start_ns == 0), open(end_ns, end_ns == u64::MAX))
}

/// Seconds, exactly.
fn seconds(ns: u64) -> String {
    let text = format!("{}.{:09}", ns / 1_000_000_000, ns % 1_000_000_000);
    format!("{}s", text.trim_end_matches('0').trim_end_matches('.'))
}

/// `word`, quoted for a shell.
fn shell_word(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./+=:,@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(filter: &Filter, words: &[&str]) -> String {
        let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
        Asked::new("a/b.otf2", filter).command(&words)
    }

    #[test]
    fn words_are_quoted_for_the_shell() {
        assert_eq!([shell_word("a/b.otf2"), shell_word("int main(int)")], ["a/b.otf2", "'int main(int)'"]);
        assert_eq!(shell_word("it's"), r"'it'\''s'");
        let all = Filter::default();
        assert_eq!(command(&all, &["segments", "--id", "3"]), "ouzel segments a/b.otf2 --id 3");
        assert_eq!(command(&all, &[]), "");
    }

    #[test]
    fn commands_select_what_was_selected() {
        let part = Filter {
            ranks: Some("0-3,7".parse().unwrap()),
            time_ns: Some((1, u64::MAX)),
            regions: vec!["MPI_*".to_owned()],
            predicate: Some("inclusive >= 1ms".parse().unwrap()),
            ..Filter::default()
        };
        let asked = Asked::new("a", &part);
        let selection =
            "--ranks 0-3,7 --time 0.000000001s.. --region 'MPI_*' --where 'inclusive >= 1000000ns'";
        assert_eq!(asked.selection(), selection);
        assert_eq!(command(&part, &["clusters"]), format!("ouzel clusters a/b.otf2 {selection}"));
        let narrower = command(&part, &["calls", "--region", "solve", "--time", "1s..2s"]);
        let expected = "ouzel calls a/b.otf2 --region solve --time 1s..2s --ranks 0-3,7 --where 'inclusive >= 1000000ns'";
        assert_eq!(narrower, expected);
    }
}
