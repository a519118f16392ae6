//! Loops of Fortran that are entered and left.

use super::{Work, has_label, is_for_compilers, text};
use crate::parse::{self, children, is_last_of_line, line, words};
use crate::{RegionKind, SkippedRegion};
use std::collections::BTreeSet;
use tree_sitter::Node;

impl Work<'_> {
    /// Enters before a loop and leaves after it, and returns the number of its region; none if it is skipped.
    pub(super) fn enter_loop(&mut self, node: Node<'_>) -> Option<usize> {
        let at = line(node);
        let name = crate::loop_name(self.choices.recorded_path, at);
        let (first, last) = match self.frame(node, &name) {
            Ok(frame) => frame,
            Err(reason) => {
                self.done.skipped.push(SkippedRegion { name, kind: RegionKind::Loop, line: at, reason });
                return None;
            }
        };
        let number = self.region(name, RegionKind::Loop, at);
        let marker = |row: usize| text::marker(self.choices, row + 1);
        let continued = if has_label(first) { "continue" } else { "" };
        let before =
            format!("{continued}\n{}{}", self.call_text("in", number), marker(first.start_position().row));
        let (at, row) = parse::end(last, self.text);
        let after = format!("\n{}{}", self.call_text("out", number), marker(row));
        self.insertions.add(first.start_byte(), before);
        self.insertions.add(at, after);
        Some(number)
    }

    /// The first and the last node of a loop with its directives.
    fn frame<'t>(&self, node: Node<'t>, name: &str) -> Result<(Node<'t>, Node<'t>), &'static str> {
        let parts = children(node);
        let head = parts.iter().find(|it| it.kind() == "do_statement").ok_or("has no do")?;
        let head = words(*head, self.text).to_lowercase();
        if head.split_whitespace().any(|word| word.starts_with("concurrent")) {
            return Err("do concurrent");
        }
        if is_left_by_jumps(node, self.text) {
            return Err("may be left by a jump");
        }
        let end = parts.last().ok_or("has no end")?;
        match end.kind() {
            "end_do_loop_statement" => {}
            "end_do_label_loop_statement"
                if words(*end, self.text).trim().to_lowercase().ends_with("continue") => {}
            _ => return Err("ends with a statement of its own"),
        }
        if !is_last_of_line(parse::end(node, self.text).0, self.text) {
            return Err("statements follow its end on the same line");
        }
        if let Some(reason) = self.choices.obstacle(name, RegionKind::Loop) {
            return Err(reason);
        }
        self.directives(node)
    }

    /// With the directive before it, and its end.
    fn directives<'t>(&self, node: Node<'t>) -> Result<(Node<'t>, Node<'t>), &'static str> {
        let Some(mut directive) = node.prev_sibling().filter(|it| is_for_compilers(*it, self.text)) else {
            return Ok((node, node));
        };
        // Continued lines belong to the first of them.
        while let Some(before) = directive.prev_sibling().filter(|it| is_for_compilers(*it, self.text)) {
            let is_continued = words(before, self.text).trim_end().ends_with('&');
            let continues = words(directive, self.text)
                .chars()
                .skip_while(|c| !c.is_whitespace() && *c != '&')
                .any(|c| c == '&')
                && words(directive, self.text).split_whitespace().next().is_some_and(|it| it.ends_with('&'));
            if !is_continued && !continues {
                break;
            }
            directive = before;
        }
        let said = words(directive, self.text).to_lowercase();
        let said: Vec<&str> = said.split(|c: char| !c.is_alphanumeric() && c != '$' && c != '!').collect();
        if said.first() != Some(&"!$omp") || said.contains(&"target") {
            return Err("directives before it are not understood");
        }
        if !said.iter().any(|word| matches!(*word, "do" | "simd" | "taskloop")) {
            return Err("directives before it are not understood");
        }
        let end = node.next_sibling().filter(|it| is_for_compilers(*it, self.text)).filter(|it| {
            let words = words(*it, self.text).to_lowercase();
            let mut words = words.split_whitespace();
            words.next() == Some("!$omp")
                && words.next().is_some_and(|word| word.starts_with("end"))
                && words.next().is_some_and(|word| said.get(1) == Some(&word))
        });
        Ok((directive, end.unwrap_or(node)))
    }
}

/// Whether a jump may leave a loop: `goto` a label that is not in it, other uses of labels, `exit` and `cycle` of
/// constructs around it. `return` is no jump.
fn is_left_by_jumps(node: Node<'_>, text: &[u8]) -> bool {
    let mut known = Known::default();
    known.gather(node, text);
    !known.used.is_subset(&known.defined)
}

/// Labels and names of constructs in a loop.
#[derive(Debug, Default)]
struct Known {
    defined: BTreeSet<String>,
    used: BTreeSet<String>,
}

impl Known {
    fn gather(&mut self, node: Node<'_>, text: &[u8]) {
        let own = || words(node, text).trim().to_lowercase();
        match node.kind() {
            "statement_label" | "do_label_virtual" => drop(self.defined.insert(own())),
            "block_label_start_expression" => {
                self.defined.insert(own().trim_end_matches(':').trim().to_owned());
            }
            "end_do_label_loop_statement" => {
                let label: String = own().chars().take_while(char::is_ascii_digit).collect();
                self.defined.insert(label);
            }
            "statement_label_reference" => drop(self.used.insert(own())),
            "keyword_argument" => {
                let said: String = own().split_whitespace().collect();
                let label = ["err=", "end=", "eor="].iter().find_map(|key| said.strip_prefix(key));
                let label = label.filter(|label| label.chars().all(|c| c.is_ascii_digit()));
                self.used.extend(label.map(str::to_owned));
            }
            "keyword_statement" => {
                let said = own();
                let mut said = said.split_whitespace();
                if let (Some("exit" | "cycle"), Some(name)) = (said.next(), said.next()) {
                    self.used.insert(name.to_owned());
                }
            }
            "argument_list" => {
                // An alternate return.
                let said: String = own().split_whitespace().collect();
                let jumps = |at: &str| {
                    said.match_indices(at)
                        .any(|(i, _)| said[i + at.len()..].starts_with(|c: char| c.is_ascii_digit()))
                };
                if jumps("(*") || jumps(",*") {
                    self.used.insert("*".to_owned());
                }
            }
            _ => {}
        }
        children(node).into_iter().for_each(|child| self.gather(child, text));
    }
}
