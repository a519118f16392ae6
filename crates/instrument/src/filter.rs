//! Which files, functions and loops are instrumented: rules in a text file.
//!
//! ```text
//! # a comment
//! exclude function tiny_*        names as the recording has them, with * and ?
//! include function tiny_solver
//! exclude file */third_party/*
//! ```
//! Law: the last rule that fits decides; what no rule fits is instrumented, unless the first rule of its sort includes:
//! then it is left out. Loops go with their functions, unless a rule fits `loop at FILE:LINE`.

use crate::RegionKind;
use std::path::Path;
use wildmatch::WildMatch;

/// Rules for names or files.
#[derive(Debug, Clone, Default)]
struct RuleList(Vec<(bool, WildMatch)>);

impl RuleList {
    /// What the rules say; none if no rule fits.
    fn verdict(&self, name: &str) -> Option<bool> {
        self.0.iter().rev().find(|(_, pattern)| pattern.matches(name)).map(|(includes, _)| *includes)
    }

    fn includes(&self, name: &str) -> bool {
        self.verdict(name).unwrap_or_else(|| self.0.first().is_none_or(|(includes, _)| !*includes))
    }
}

/// Which files and regions are wanted.
#[derive(Debug, Clone, Default)]
pub struct SourceFilter {
    functions: RuleList,
    files: RuleList,
}

/// A line that is no rule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {text:?} is no rule: write include or exclude, function or file, and a pattern")]
pub struct FilterError {
    /// From 1.
    pub line: usize,
    /// The line.
    pub text: String,
}

impl SourceFilter {
    /// Reads rules.
    ///
    /// # Errors
    /// At the first line that is none.
    pub fn parse(text: &str) -> Result<Self, FilterError> {
        let mut filter = SourceFilter::default();
        for (i, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            filter.add(line).ok_or_else(|| FilterError { line: i + 1, text: line.to_owned() })?;
        }
        Ok(filter)
    }

    fn add(&mut self, line: &str) -> Option<()> {
        let (word, rest) = line.split_once(char::is_whitespace)?;
        let (sort, pattern) = rest.trim_start().split_once(char::is_whitespace)?;
        let includes = match word {
            "include" => true,
            "exclude" => false,
            _ => return None,
        };
        let list = match sort {
            "function" => &mut self.functions,
            "file" => &mut self.files,
            _ => return None,
        };
        list.0.push((includes, WildMatch::new(pattern.trim())));
        Some(())
    }

    /// Whether regions of this name are wanted. Loops of a function that is wanted are, unless a rule fits their names.
    pub fn includes_region(&self, name: &str, kind: RegionKind) -> bool {
        match kind {
            RegionKind::Function => self.functions.includes(name),
            RegionKind::Loop => self.functions.verdict(name).unwrap_or(true),
        }
    }

    /// Whether a file is instrumented at all.
    pub fn includes_file(&self, path: &Path) -> bool {
        self.files.includes(&path.to_string_lossy())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_rule_that_fits_decides() {
        let cases: [(&str, &[&str], &[&str]); 4] = [
            ("", &["a"], &[]),
            (
                "exclude function a*\n\n  include  function ab* # no comment here\n",
                &["b"],
                &["a", "ab", "ac"],
            ),
            (
                "# only these\ninclude function a*\nexclude function ab",
                &["a", "ac", "loop at a.c:3"],
                &["b", "ab"],
            ),
            (
                "exclude function loop at *\ninclude function loop at a.c:1?",
                &["loop at a.c:12"],
                &["loop at a.c:1"],
            ),
        ];
        for (text, included, excluded) in cases {
            let filter = SourceFilter::parse(text).expect("rules");
            let includes = |name: &&str| {
                let kind = if name.starts_with("loop") { RegionKind::Loop } else { RegionKind::Function };
                filter.includes_region(name, kind)
            };
            assert!(included.iter().all(includes), "{text}");
            assert!(!excluded.iter().any(includes), "{text}");
            assert!(filter.includes_file(Path::new("a")), "rules for functions say nothing of files");
        }
        let files = SourceFilter::parse("exclude file *third_party/*\ninclude file *third_party/ours.c")
            .expect("rules");
        for (path, is_included) in [("a/third_party/x.c", false), ("third_party/ours.c", true), ("x.c", true)]
        {
            assert_eq!(files.includes_file(Path::new(path)), is_included, "{path}");
        }
    }

    #[test]
    fn what_is_no_rule_is_refused_with_its_line() {
        for (text, line) in
            [("exclude f", 1), ("\nexcept function f", 2), ("exclude region f", 1), ("exclude file", 1)]
        {
            assert_eq!(SourceFilter::parse(text).expect_err("no rule").line, line, "{text}");
        }
    }
}
