//! Fortran in free form: calls at the beginning, before each `return` and at the end of procedures and loops.
//!
//! ```text
//! module of the file: hook, regions          if (…) return   becomes   if (…) then
//! subroutine s                                                          call leave
//!   use that module                                                     return
//!   …declarations…                                                      end if
//!   call enter
//! ```
//! Each piece has a line of its own, followed by a line marker, so no line grows. Law: pure procedures, and those whose
//! declarations do not end for certain, are skipped; so are loops that something leaves but their end, `return`, and
//! `cycle` and `exit` of their own names.

mod loops;
mod text;

use crate::insertions::Insertions;
use crate::parse::{children, end, is_last_of_line, line, words};
use crate::{Choices, Instrumented, InstrumentedRegion, RegionKind, SkippedRegion};
use text::{is_directive, is_specification_directive, marker, module, module_name};
use tree_sitter::{Node, Tree};

/// Instruments a tree without errors.
pub fn instrument(text: &[u8], tree: &Tree, choices: &Choices<'_>) -> Instrumented {
    let mut work = Work { text, choices, insertions: Insertions::default(), done: Instrumented::default() };
    work.procedures(tree.root_node());
    let Work { insertions: found, mut done, .. } = work;
    if done.regions.is_empty() {
        done.text = text.to_vec();
        return done;
    }
    let mut insertions = Insertions::default();
    insertions.add(0, module(&done.regions, choices));
    done.module = Some(module_name(choices));
    done.text = insertions.followed_by(found).applied(text);
    done
}

struct Work<'a> {
    text: &'a [u8],
    choices: &'a Choices<'a>,
    insertions: Insertions,
    done: Instrumented,
}

/// What a statement is in a procedure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Specification,
    Execution,
    /// May be in both.
    Either,
    /// Both: conditional parts.
    Mixed,
}

impl Work<'_> {
    fn procedures(&mut self, node: Node<'_>) {
        for child in children(node) {
            match child.kind() {
                "subroutine" | "function" | "program" => {
                    self.procedure(child);
                    self.procedures(child);
                }
                "module"
                | "submodule"
                | "internal_procedures"
                | "preproc_if"
                | "preproc_ifdef"
                | "preproc_else"
                | "preproc_elif" => self.procedures(child),
                _ => {}
            }
        }
    }

    fn procedure(&mut self, node: Node<'_>) {
        let parts = children(node);
        let head = parts.iter().find(|it| it.kind().ends_with("_statement") && it.kind() != "end_statement");
        let Some(&head) = head else { return };
        let name = head.named_children(&mut head.walk()).find(|it| it.kind() == "name");
        let name = name.map_or_else(|| "main".to_owned(), |name| words(name, self.text).to_lowercase());
        let line = line(head);
        match self.body(&parts, head, &name) {
            Err(reason) => {
                let kind = RegionKind::Function;
                self.done.skipped.push(SkippedRegion { name, kind, line, reason });
            }
            Ok(body) => {
                let first = self.done.regions.len();
                let number = self.region(name, RegionKind::Function, line);
                let inside: Vec<Node<'_>> = parts.iter().filter(|it| body.contains(it)).copied().collect();
                self.call(body.begin, "in", number);
                for part in &inside {
                    self.statements(*part, &[number]);
                }
                self.call(body.end, "out", number);
                let last = self.done.regions.len();
                let (at, row) = end(head, self.text);
                let used = text::uses(self.choices, first..last);
                let marker = marker(self.choices, row + 1);
                self.insertions.add(at, format!("\n{used}{marker}"));
            }
        }
    }

    /// Where the statements of a procedure begin and end.
    fn body(&self, parts: &[Node<'_>], head: Node<'_>, name: &str) -> Result<Body, &'static str> {
        let is_head =
            matches!(head.kind(), "subroutine_statement" | "function_statement" | "program_statement");
        if !is_head {
            return Err("has no statement at its beginning");
        }
        let qualifiers = words(head, self.text).to_lowercase();
        let mut before_name =
            qualifiers.split(|c: char| !c.is_alphanumeric() && c != '_').take_while(|it| *it != name);
        if before_name.any(|word| matches!(word, "pure" | "elemental" | "simple" | "attributes")) {
            return Err("pure, elemental or for a device");
        }
        if let Some(reason) = self.choices.obstacle(name, RegionKind::Function) {
            return Err(reason);
        }
        if !is_last_of_line(end(head, self.text).0, self.text) {
            return Err("statements follow its first one on the same line");
        }
        let last = parts.iter().rev().find(|it| it.kind().starts_with("end_"));
        let last = last.ok_or("has no end")?;
        let inner = parts.iter().find(|it| it.kind() == "internal_procedures");
        let closing = inner.unwrap_or(last);
        let place = (closing.start_byte(), closing.start_position().row);
        let before_end = parts.iter().rev().find(|it| it.end_byte() <= place.0 && it.is_named());
        if before_end.is_some_and(|it| it.kind() == "statement_label") {
            return Err("its end has a label");
        }
        let statements: Vec<Node<'_>> = parts
            .iter()
            .filter(|it| it.is_named() && head.end_byte() <= it.start_byte() && it.start_byte() < place.0)
            .copied()
            .collect();
        let begin = self.first_statement(&statements)?.unwrap_or(place);
        Ok(Body { begin, end: place, n_head: head.end_byte() })
    }

    /// Where the first statement that is executed begins, with its label and the directives before it.
    fn first_statement(&self, statements: &[Node<'_>]) -> Result<Option<(usize, usize)>, &'static str> {
        let mut begin = None;
        let mut candidate = None;
        for &node in statements {
            let place = (node.start_byte(), node.start_position().row);
            match self.part(node) {
                Part::Mixed => return Err("declarations and statements in one conditional part"),
                Part::Specification if begin.is_some() => return Err("declarations after statements"),
                Part::Specification => candidate = None,
                Part::Either if begin.is_none() => candidate = candidate.or(Some(place)),
                Part::Either => {}
                Part::Execution => begin = begin.or(candidate).or(Some(place)),
            }
            if node.kind() == "entry_statement" {
                return Err("has further entries");
            }
        }
        Ok(begin)
    }

    fn part(&self, node: Node<'_>) -> Part {
        match node.kind() {
            "use_statement"
            | "implicit_statement"
            | "save_statement"
            | "import_statement"
            | "public_statement"
            | "private_statement"
            | "bind_statement"
            | "enum"
            | "enumeration_type"
            | "namelist_statement"
            | "common_statement"
            | "variable_declaration"
            | "variable_modification"
            | "parameter_statement"
            | "equivalence_statement"
            | "cray_pointer_declaration"
            | "interface"
            | "derived_type_definition"
            | "include_statement"
            | "preproc_include" => Part::Specification,
            "comment" => self.part_of_comment(node),
            "data_statement"
            | "format_statement"
            | "entry_statement"
            | "preproc_def"
            | "preproc_function_def"
            | "preproc_call" => Part::Either,
            "statement_label" | "preproc_comment" => Part::Either,
            "preproc_if" | "preproc_ifdef" | "preproc_else" | "preproc_elif" => {
                let condition =
                    node.child_by_field_name("condition").or_else(|| node.child_by_field_name("name"));
                let inside = children(node);
                let parts = inside.iter().filter(|it| it.is_named() && Some(**it) != condition);
                parts.map(|it| self.part(*it)).fold(Part::Either, |all, part| match (all, part) {
                    (Part::Either, part) => part,
                    (all, Part::Either) => all,
                    (all, part) if all == part => all,
                    _ => Part::Mixed,
                })
            }
            _ => Part::Execution,
        }
    }

    fn part_of_comment(&self, node: Node<'_>) -> Part {
        let comment = words(node, self.text);
        match is_specification_directive(&comment) {
            true => Part::Specification,
            false => Part::Either,
        }
    }

    /// Statements of a body; `open` are the regions that a `return` leaves, the innermost last.
    fn statements(&mut self, node: Node<'_>, open: &[usize]) {
        match node.kind() {
            "keyword_statement" if is_return(node, self.text) => return self.leave_before(node, open),
            "do_loop" if self.choices.loops && open.len() == 1 => {
                if let Some(number) = self.enter_loop(node) {
                    let inner: Vec<usize> = open.iter().copied().chain([number]).collect();
                    children(node).into_iter().for_each(|child| self.statements(child, &inner));
                    return;
                }
                // A loop within one that is no region is not outermost.
                let inner: Vec<usize> = open.iter().copied().chain([usize::MAX]).collect();
                children(node).into_iter().for_each(|child| self.statements(child, &inner));
                return;
            }
            "interface" | "derived_type_definition" => return,
            _ => {}
        }
        children(node).into_iter().for_each(|child| self.statements(child, open));
    }

    fn leave_before(&mut self, node: Node<'_>, open: &[usize]) {
        let calls: String =
            open.iter().rev().filter(|it| **it != usize::MAX).map(|it| self.call_text("out", *it)).collect();
        let marker = marker(self.choices, node.start_position().row + 1);
        let is_conditional = node.parent().is_some_and(|parent| {
            parent.kind() == "if_statement"
                && !children(parent).iter().any(|it| it.kind() == "end_if_statement")
        });
        if is_conditional {
            self.insertions.add(node.start_byte(), format!("then\n{calls}{marker}"));
            let (at, row) = end(node, self.text);
            let marker = text::marker(self.choices, row + 1);
            self.insertions.add(at, format!("\n{marker}end if"));
        } else {
            let first = if has_label(node) { "continue" } else { "" };
            self.insertions.add(node.start_byte(), format!("{first}\n{calls}{marker}"));
        }
    }

    fn region(&mut self, name: String, kind: RegionKind, line: u32) -> usize {
        self.done.regions.push(InstrumentedRegion { name, kind, line });
        self.done.regions.len() - 1
    }

    /// Inserts a call in a line of its own.
    fn call(&mut self, (at, row): (usize, usize), which: &str, number: usize) {
        let text = format!("\n{}{}", self.call_text(which, number), marker(self.choices, row + 1));
        self.insertions.add(at, text);
    }

    fn call_text(&self, which: &str, number: usize) -> String {
        text::call(self.choices, which, number)
    }
}

/// Offsets and rows in which a body begins and ends.
#[derive(Debug, Clone, Copy)]
struct Body {
    begin: (usize, usize),
    end: (usize, usize),
    n_head: usize,
}

impl Body {
    fn contains(&self, node: &Node<'_>) -> bool {
        self.n_head <= node.start_byte() && node.start_byte() < self.end.0
    }
}

fn is_return(node: Node<'_>, text: &[u8]) -> bool {
    words(node, text).to_lowercase().starts_with("return")
}

/// Whether the statement has a label for jumps.
fn has_label(node: Node<'_>) -> bool {
    node.prev_sibling().is_some_and(|it| it.kind() == "statement_label")
}

/// Whether a comment speaks to the compiler.
fn is_for_compilers(node: Node<'_>, text: &[u8]) -> bool {
    node.kind() == "comment" && is_directive(&words(node, text))
}
