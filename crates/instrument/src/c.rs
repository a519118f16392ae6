//! C and C++: a variable at the beginning of each body, whose cleanup leaves the region however the body ends.
//!
//! ```text
//! int f(void) { …guard 0…                 for (…) …   becomes   { …guard 1… for (…) … }
//! ```
//! Law: what jumps into a loop, resumes elsewhere or runs on an accelerator is skipped. Guards balance `return` in
//! macros, `break`, `goto` outwards and exceptions; after `longjmp` the recorder finds out what is left.

use crate::insertions::{Insertions, quoted};
use crate::language::Language;
use crate::parse::{bytes, children, line, words};
use crate::{Choices, Instrumented, InstrumentedRegion, RegionKind, SkippedRegion};
use std::fmt::Write;
use tree_sitter::{Node, Tree};

/// Instruments a tree without errors.
pub fn instrument(text: &[u8], tree: &Tree, language: Language, choices: &Choices<'_>) -> Instrumented {
    let mut work =
        Work { text, language, choices, insertions: Insertions::default(), done: Instrumented::default() };
    work.outside(tree.root_node(), "");
    let Work { insertions: found, mut done, .. } = work;
    if done.regions.is_empty() {
        done.text = text.to_vec();
        return done;
    }
    // What is at the beginning comes first.
    let mut insertions = Insertions::default();
    let n_mark = if text.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
    insertions.add(n_mark, prelude(&done.regions, choices));
    done.text = insertions.followed_by(found).applied(text);
    done
}

/// The hook, found when the program is loaded, and the regions, which are not at lines of the source.
fn prelude(regions: &[InstrumentedRegion], choices: &Choices<'_>) -> String {
    const HOOK: &str = "\
#line 1 \"ouzel_instrument.h\"
#ifndef OUZEL_INSTRUMENT
#define OUZEL_INSTRUMENT
struct ouzel_region { __extension__ unsigned long long cell; int line, what; const char *name, *file; };
static void (*ouzel_hook)(struct ouzel_region *, int, void *);
static void *ouzel_find(void *, const char *) __attribute__((weakref(\"dlsym\")));
__attribute__((constructor(101), no_instrument_function)) static void ouzel_begin(void) {
    void *found = ouzel_find ? ouzel_find(0, \"ouzel_instrument_visit\") : 0;
    __builtin_memcpy(&ouzel_hook, &found, sizeof found);
}
__attribute__((always_inline, unused, no_instrument_function))
static __inline__ struct ouzel_region *ouzel_in(struct ouzel_region *region, void *frame) {
    if (ouzel_hook) ouzel_hook(region, 0, frame);
    return region;
}
__attribute__((always_inline, unused, no_instrument_function))
static __inline__ void ouzel_out(struct ouzel_region *const *region) {
    if (ouzel_hook) ouzel_hook(*region, 1, 0);
}
#endif
";
    let mut prelude = HOOK.to_owned();
    let file = quoted(&choices.recorded_path.to_string_lossy());
    // Writing to a string cannot fail.
    let _ = writeln!(prelude, "static struct ouzel_region ouzel_regions_{:x}[] = {{", choices.tag);
    for region in regions {
        let what = u8::from(region.kind == RegionKind::Loop);
        let _ = writeln!(prelude, "    {{0, {}, {what}, {}, {file}}},", region.line, quoted(&region.name));
    }
    let _ = writeln!(prelude, "}};\n#line 1 {}", quoted(&choices.path.to_string_lossy()));
    prelude
}

struct Work<'a> {
    text: &'a [u8],
    language: Language,
    choices: &'a Choices<'a>,
    insertions: Insertions,
    done: Instrumented,
}

/// How a child of a block is preceded.
#[derive(Debug, Clone, Copy)]
enum Before<'t> {
    /// By nothing that matters.
    Nothing,
    /// By directives that hold for it, of which this is the first.
    Directives(Node<'t>),
    /// By directives that may hold for it, in a way that is not understood.
    Unclear,
}

impl<'t> Before<'t> {
    fn then(self, directive: Node<'t>) -> Self {
        match self {
            Before::Nothing => Before::Directives(directive),
            before => before,
        }
    }
}

impl Work<'_> {
    /// Outside of functions; `scope` are the names of what encloses this, as they stand before a name.
    fn outside(&mut self, node: Node<'_>, scope: &str) {
        for child in children(node) {
            match child.kind() {
                "function_definition" => self.function(child, scope),
                "namespace_definition" | "class_specifier" | "struct_specifier" | "union_specifier" => {
                    let name = child.child_by_field_name("name").map(|name| words(name, self.text));
                    match name {
                        Some(name) => self.outside(child, &format!("{scope}{name}::")),
                        None => self.outside(child, scope),
                    }
                }
                _ => self.outside(child, scope),
            }
        }
    }

    fn function(&mut self, node: Node<'_>, scope: &str) {
        let Some(body) = node.child_by_field_name("body") else { return };
        let written = node.child_by_field_name("declarator").and_then(|it| name_of(it, self.text));
        let name = format!("{scope}{}", written.unwrap_or_else(|| "?".to_owned()));
        if let Some(reason) = self.function_obstacle(node, body, &name) {
            self.skip(name, RegionKind::Function, line(node), reason);
        } else {
            let at_name = node.child_by_field_name("declarator").unwrap_or(node);
            let guard = self.guard(name, RegionKind::Function, line(at_name));
            self.insertions.add(body.start_byte() + 1, guard);
            if self.choices.loops {
                self.loops(body);
            }
        }
        self.outside(body, &format!("{scope}{{}}::"));
    }

    fn function_obstacle(&self, node: Node<'_>, body: Node<'_>, name: &str) -> Option<&'static str> {
        if body.kind() != "compound_statement" {
            return Some("its body is a try block");
        }
        if let Some(reason) = self.choices.obstacle(name, RegionKind::Function) {
            return Some(reason);
        }
        let head = &self.text[node.start_byte()..body.start_byte()];
        let head = String::from_utf8_lossy(head);
        let has = |word: &str| head.split(|c: char| !c.is_alphanumeric() && c != '_').any(|it| it == word);
        let is_inline = has("inline") || has("__inline") || has("__inline__");
        if self.language == Language::C && is_inline && !has("static") {
            return Some("inline without static: cannot refer to what belongs to its file");
        }
        for (words, reason) in [
            (["constexpr", "consteval"], "may be evaluated by the compiler"),
            (["naked", "__naked__"], "naked"),
            (["__global__", "__device__"], "runs on an accelerator"),
            (["no_instrument_function", "__no_instrument_function__"], "its attribute asks for it"),
            (["ifunc", "target_clones"], "chosen by the loader"),
        ] {
            if words.into_iter().any(has) {
                return Some(reason);
            }
        }
        let has_label_declarations = |it: &Node<'_>| bytes(*it, self.text).starts_with(b"__label__");
        if children(body).iter().any(has_label_declarations) {
            return Some("declares labels, which come first");
        }
        let is_coroutine = self.language == Language::Cpp
            && contains(body, &["co_await_expression", "co_return_statement", "co_yield_statement"]);
        is_coroutine.then_some("a coroutine")
    }

    /// The guard of a new region.
    fn guard(&mut self, name: String, kind: RegionKind, line: u32) -> String {
        let number = self.done.regions.len();
        let tag = self.choices.tag;
        self.done.regions.push(InstrumentedRegion { name, kind, line });
        format!(
            " struct ouzel_region *const ouzel_here_{number} __attribute__((cleanup(ouzel_out), unused)) = \
             ouzel_in(&ouzel_regions_{tag:x}[{number}], __builtin_dwarf_cfa());"
        )
    }

    fn skip(&mut self, name: String, kind: RegionKind, line: u32, reason: &'static str) {
        self.done.skipped.push(SkippedRegion { name, kind, line, reason });
    }

    /// The outermost loops in a part of a function's body.
    fn loops(&mut self, node: Node<'_>) {
        let mut before = Before::Nothing;
        for child in children(node) {
            match child.kind() {
                "comment" => continue,
                _ if is_pragma(child, self.text) => {
                    before = before.then(child);
                    continue;
                }
                "preproc_if" | "preproc_ifdef" => {
                    if has_pragmas_alone(child, self.text) {
                        before = before.then(child);
                    } else {
                        self.loops(child);
                        before = match ends_with_pragma(child, self.text) {
                            true => Before::Unclear,
                            false => Before::Nothing,
                        };
                    }
                    continue;
                }
                "for_statement" | "while_statement" | "do_statement" | "for_range_loop" => {
                    self.one_loop(child, before);
                }
                "function_definition" | "class_specifier" | "struct_specifier" => {}
                _ if self.runs_on_device(before, child) => {}
                _ => self.loops(child),
            }
            before = Before::Nothing;
        }
    }

    fn runs_on_device(&self, before: Before<'_>, node: Node<'_>) -> bool {
        let Before::Directives(first) = before else { return false };
        let directives = String::from_utf8_lossy(&self.text[first.start_byte()..node.start_byte()]);
        let mut words = directives.split(|c: char| !c.is_alphanumeric() && c != '_');
        words.any(|word| matches!(word, "target" | "acc"))
    }

    fn one_loop(&mut self, node: Node<'_>, before: Before<'_>) {
        let line = line(node);
        let name = crate::loop_name(self.choices.recorded_path, line);
        let parent = node.parent().map_or("", |parent| parent.kind());
        let is_in_block = matches!(
            parent,
            "compound_statement" | "case_statement" | "preproc_if" | "preproc_ifdef" | "preproc_else"
        );
        let reason = match before {
            Before::Unclear => Some("directives before it are not understood"),
            Before::Directives(_) if !is_in_block => Some("directives before it are not understood"),
            _ if self.runs_on_device(before, node) => Some("runs on an accelerator"),
            _ if is_entered_by_jumps(node) => Some("has labels that may be jumped to"),
            _ => self.choices.obstacle(&name, RegionKind::Loop),
        };
        if let Some(reason) = reason {
            return self.skip(name, RegionKind::Loop, line, reason);
        }
        let guard = self.guard(name, RegionKind::Loop, line);
        match before {
            Before::Directives(first) => {
                let at = first.start_position().row + 1;
                let path = quoted(&self.choices.path.to_string_lossy());
                self.insertions.add(first.start_byte(), format!("{{{guard}\n#line {at} {path}\n"));
            }
            _ => self.insertions.add(node.start_byte(), format!("{{{guard} ")),
        }
        self.insertions.add(node.end_byte(), " }".to_owned());
    }
}

/// The name in a declarator, without its parameters.
fn name_of(declarator: Node<'_>, text: &[u8]) -> Option<String> {
    let mut node = declarator;
    loop {
        match node.kind() {
            "identifier"
            | "field_identifier"
            | "qualified_identifier"
            | "destructor_name"
            | "operator_name"
            | "template_function"
            | "operator_cast"
            | "type_identifier" => {
                let name = words(node, text);
                return Some(name.split_whitespace().collect::<Vec<_>>().join(" "));
            }
            _ => {
                let inner = node.child_by_field_name("declarator");
                node = inner.or_else(|| node.named_children(&mut node.walk()).next())?;
            }
        }
    }
}

fn contains(node: Node<'_>, kinds: &[&str]) -> bool {
    children(node).into_iter().any(|child| kinds.contains(&child.kind()) || contains(child, kinds))
}

fn is_pragma(node: Node<'_>, text: &[u8]) -> bool {
    let directive = bytes(node, text);
    let directive = directive.strip_prefix(b"#").unwrap_or(directive).trim_ascii_start();
    node.kind() == "preproc_call" && directive.starts_with(b"pragma")
}

/// Whether a conditional part holds pragmas and nothing else.
fn has_pragmas_alone(node: Node<'_>, text: &[u8]) -> bool {
    let condition = node.child_by_field_name("condition").or_else(|| node.child_by_field_name("name"));
    children(node).into_iter().filter(|child| child.is_named() && Some(*child) != condition).all(|child| {
        match child.kind() {
            "comment" => true,
            "preproc_else" | "preproc_elif" => has_pragmas_alone(child, text),
            _ => is_pragma(child, text),
        }
    })
}

/// Whether what follows a conditional part may be subject to a pragma in it.
fn ends_with_pragma(node: Node<'_>, text: &[u8]) -> bool {
    let children = children(node);
    let mut last = children.iter().rev().filter(|child| child.is_named() && child.kind() != "comment");
    let branches = |child: &&Node<'_>| matches!(child.kind(), "preproc_else" | "preproc_elif");
    let of_branches = children.iter().filter(branches).any(|branch| ends_with_pragma(*branch, text));
    let is_last = |child: &Node<'_>| match child.kind() {
        "preproc_if" | "preproc_ifdef" => ends_with_pragma(*child, text),
        _ => is_pragma(*child, text),
    };
    of_branches || last.find(|child| !branches(child)).is_some_and(is_last)
}

/// Whether a loop has labels of its function, or of a `switch` around it.
fn is_entered_by_jumps(node: Node<'_>) -> bool {
    children(node).into_iter().any(|child| match child.kind() {
        "labeled_statement" => true,
        "case_statement" => true,
        "switch_statement" => contains(child, &["labeled_statement"]) || has_case_in_block(child),
        "lambda_expression" => false,
        _ => is_entered_by_jumps(child),
    })
}

/// Whether cases of a `switch` are anywhere but in its own block, as in Duff's device: they are refused, too.
fn has_case_in_block(node: Node<'_>) -> bool {
    let Some(body) = node.child_by_field_name("body") else { return true };
    let contents = |case: Node<'_>| children(case).into_iter().any(is_or_has_case);
    children(body).into_iter().any(|child| match child.kind() {
        "case_statement" => contents(child),
        _ => is_or_has_case(child),
    })
}

fn is_or_has_case(node: Node<'_>) -> bool {
    match node.kind() {
        "case_statement" => true,
        "switch_statement" => has_case_in_block(node),
        _ => children(node).into_iter().any(is_or_has_case),
    }
}
