//! Links to files lead somewhere: in Markdown, and in the comments of Rust sources.
//!
//! Two forms are checked: `[text](target)` with a relative target, and, in doc comments,
//! a file name between backticks (as in "see `sizes.rs`"). Links to the web are not
//! checked, as tests do not use the network; links between items are checked by rustdoc.

use super::{Flaw, Source};
use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

/// Files that doc comments name between backticks. Other endings are examples more often than references.
const NAMED_ENDINGS: [&str; 3] = [".rs", ".md", ".py"];

pub fn check(sources: &[Source]) -> Vec<Flaw> {
    let known = Known::of(sources);
    let mut flaws = Vec::new();
    for source in sources {
        if source.has_extension("md") {
            check_markdown(source, &known, &mut flaws);
        } else if source.has_extension("rs") {
            check_comments(source, &known, &mut flaws);
        }
    }
    flaws
}

/// Every file, and every folder that holds one.
struct Known(BTreeSet<PathBuf>);

impl Known {
    fn of(sources: &[Source]) -> Self {
        let ancestors = sources.iter().flat_map(|source| Path::new(&source.path).ancestors());
        Self(ancestors.map(Path::to_path_buf).collect())
    }

    /// Whether a link in `from` reaches something. Its fragment is not looked at.
    fn resolves(&self, from: &str, target: &str) -> bool {
        let target = target.split('#').next().unwrap_or_default();
        let folder = Path::new(from).parent().unwrap_or(Path::new(""));
        normal(&folder.join(target)).is_some_and(|path| self.0.contains(&path))
    }

    /// Whether some file has this name, or a path that ends so.
    fn has_named(&self, name: &str) -> bool {
        self.0.iter().any(|path| path.ends_with(name))
    }
}

/// Without `.` and `..`; `None` when it leads out of the repository.
fn normal(path: &Path) -> Option<PathBuf> {
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::Normal(part) => normal.push(part),
            Component::ParentDir => {
                if !normal.pop() {
                    return None;
                }
            }
            Component::CurDir => {}
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(normal)
}

fn check_markdown(source: &Source, known: &Known, flaws: &mut Vec<Flaw>) {
    let mut in_code = false;
    for (line, text) in source.lines() {
        if text.trim_start().starts_with("```") {
            in_code = !in_code;
        } else if !in_code {
            for target in link_targets(text).iter().filter(|target| is_relative(target)) {
                if !known.resolves(&source.path, target) {
                    flaws.push(broken(source, line, target));
                }
            }
        }
    }
}

fn check_comments(source: &Source, known: &Known, flaws: &mut Vec<Flaw>) {
    for (line, text) in source.lines() {
        let text = text.trim_start();
        let Some(comment) = text.strip_prefix("//!").or_else(|| text.strip_prefix("///")) else { continue };
        for target in
            link_targets(comment).iter().filter(|target| is_relative(target) && is_file_like(target))
        {
            if !known.resolves(&source.path, target) {
                flaws.push(broken(source, line, target));
            }
        }
        for name in comment.split('`').skip(1).step_by(2).filter(|name| is_file_name(name)) {
            if !known.has_named(name) {
                flaws.push(broken(source, line, name));
            }
        }
    }
}

fn broken(source: &Source, line: usize, target: &str) -> Flaw {
    Flaw { path: source.path.clone(), line, what: format!("no file {target:?}") }
}

/// The targets of `[text](target)` and `![text](target)` outside code spans, titles cut off.
fn link_targets(line: &str) -> Vec<String> {
    let prose: String = line.split('`').step_by(2).collect();
    let targets = prose.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
    targets.filter_map(|(target, _)| target.split_whitespace().next()).map(str::to_owned).collect()
}

fn is_relative(target: &str) -> bool {
    !target.starts_with('#') && !target.contains("://") && !target.starts_with("mailto:")
}

/// A target in a doc comment is an item unless it looks like a file.
fn is_file_like(target: &str) -> bool {
    !target.contains("::")
        && (target.contains('/') || is_file_name(target.split('#').next().unwrap_or_default()))
}

fn is_file_name(name: &str) -> bool {
    let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || "_-./".contains(c));
    plain && NAMED_ENDINGS.iter().any(|ending| name.len() > ending.len() && name.ends_with(ending))
}

#[cfg(test)]
mod tests {
    use super::super::source;
    use super::*;

    fn flaws(sources: &[Source]) -> Vec<String> {
        check(sources).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn links_in_markdown_resolve_from_their_own_folder() {
        let docs = source(
            "docs/guide.md",
            "[a](../README.md#top) [b](guide.md) [c](https://example.org/x) [d](#here) ![e](../docs/no.svg \"t\")\n\
             ```\n[f](not-looked-at.md)\n```\n[`g`](gone.md) `[h](code.md)`\n[up](../../README.md)\n",
        );
        assert_eq!(
            flaws(&[docs, source("README.md", "[docs](docs) [docs](docs/)\n")]),
            [
                "docs/guide.md:1: no file \"../docs/no.svg\"",
                "docs/guide.md:5: no file \"gone.md\"",
                "docs/guide.md:6: no file \"../../README.md\"",
            ]
        );
    }

    #[test]
    fn comments_name_files_that_exist() {
        let lines = [
            "//! See `chunk.rs`, `src/chunk.rs`, `traces.otf2` and [the house](../../../ARCHITECTURE.md).",
            "/// As [`Chunk`](crate::Chunk) or [x](Chunk#method.len); not `gone.rs`, not [y](./gone.md).",
            "let s = \"`gone.rs`\";",
        ];
        let code = source("crates/a/src/lib.rs", &lines.join("\n"));
        let sources = [code, source("crates/a/src/chunk.rs", ""), source("ARCHITECTURE.md", "")];
        assert_eq!(
            flaws(&sources),
            ["crates/a/src/lib.rs:2: no file \"./gone.md\"", "crates/a/src/lib.rs:2: no file \"gone.rs\""]
        );
    }
}
