//! Trees of sources, and what is refused before anything is inserted.

use crate::Refusal;
use crate::language::Language;
use std::ops::ControlFlow;
use tree_sitter::{Node, ParseOptions, ParseState, Parser, Tree};

/// Deeper trees are refused, since they are walked by recursion. Expressions of real programs nest 100 deep at most.
const DEPTH_MAX: usize = 600;

/// A tree without errors.
pub fn parse(text: &[u8], language: Language) -> Result<Tree, Refusal> {
    let grammar = match language {
        Language::C => tree_sitter_c::LANGUAGE,
        Language::Cpp => tree_sitter_cpp::LANGUAGE,
        Language::Fortran => tree_sitter_fortran::LANGUAGE,
    };
    let mut parser = Parser::new();
    parser.set_language(&grammar.into()).map_err(|_| Refusal::TooComplex)?;
    // The parser asks after each hundred steps. Sources take a few steps a byte.
    let mut n_left = 10_000 + text.len();
    let mut go_on = |_: &ParseState| match n_left.checked_sub(1) {
        Some(n) => {
            n_left = n;
            ControlFlow::Continue(())
        }
        None => ControlFlow::Break(()),
    };
    let options = ParseOptions::new().progress_callback(&mut go_on);
    let mut read = |at: usize, _| text.get(at..).unwrap_or_default();
    let tree = parser.parse_with_options(&mut read, None, Some(options)).ok_or(Refusal::TooComplex)?;
    check(&tree, text)?;
    Ok(tree)
}

/// Refuses errors, what nests too deeply, and code for accelerators.
fn check(tree: &Tree, text: &[u8]) -> Result<(), Refusal> {
    let mut cursor = tree.walk();
    let mut depth = 0;
    loop {
        let node = cursor.node();
        if node.is_error() || node.is_missing() && !is_end_of_label(node) {
            return Err(Refusal::Syntax { line: line(node) });
        }
        if matches!(node.kind(), "preproc_call" | "comment") && declares_device_code(bytes(node, text)) {
            return Err(Refusal::Device { line: line(node) });
        }
        if DEPTH_MAX < depth {
            return Err(Refusal::TooComplex);
        }
        if cursor.goto_first_child() {
            depth += 1;
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return Ok(());
            }
            depth -= 1;
        }
    }
}

/// A label before a directive or a closing brace, which the grammar of C takes for one before an empty statement.
fn is_end_of_label(node: Node<'_>) -> bool {
    let parent = node.parent().filter(|parent| parent.kind() == "expression_statement");
    node.kind() == ";" && parent.and_then(|it| it.parent()).is_some_and(|it| it.kind() == "labeled_statement")
}

fn declares_device_code(text: &[u8]) -> bool {
    let text = String::from_utf8_lossy(text).to_ascii_lowercase();
    let is_directive = text.trim_start().starts_with(['#', '!', '*', 'c']);
    is_directive
        && ["declare target", "acc routine", "begin declare variant"]
            .iter()
            .any(|words| (text.contains("omp ") || text.contains("acc ")) && text.contains(words))
}

/// The bytes of a node.
pub fn bytes<'t>(node: Node<'_>, text: &'t [u8]) -> &'t [u8] {
    text.get(node.byte_range()).unwrap_or_default()
}

/// The text of a node.
pub fn words(node: Node<'_>, text: &[u8]) -> String {
    String::from_utf8_lossy(bytes(node, text)).into_owned()
}

/// The line that a node begins in, from 1.
pub fn line(node: Node<'_>) -> u32 {
    u32::try_from(node.start_position().row).map_or(u32::MAX, |row| row.saturating_add(1))
}

/// The children of a node.
pub fn children(node: Node<'_>) -> Vec<Node<'_>> {
    node.children(&mut node.walk()).collect()
}

/// Offset and row at which the words of a node end, without the end of the line that Fortran's statements include.
pub fn end(node: Node<'_>, text: &[u8]) -> (usize, usize) {
    let words = bytes(node, text).trim_ascii_end();
    let n_lines = words.iter().filter(|byte| **byte == b'\n').count();
    (node.start_byte() + words.len(), node.start_position().row + n_lines)
}

/// Whether nothing but a comment of Fortran follows on the line.
pub fn is_last_of_line(offset: usize, text: &[u8]) -> bool {
    let rest = text.get(offset..).unwrap_or_default();
    let next = rest.iter().find(|byte| !matches!(byte, b' ' | b'\t'));
    matches!(next, Some(b'\n' | b'\r' | b'!') | None)
}
