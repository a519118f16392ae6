//! The user's own rules about what regions mean, from a file.
//!
//! ```toml
//! # First match wins, before everything that is built in.
//! [[rule]]
//! region = "my_mpi_wait.*"        # a regular expression for the whole name
//! category = "wait"               # computation, wait or synchronization
//! family = "MPI"                  # optional: MPI, OpenMP, SHMEM, NCCL/RCCL, CUDA/HIP, pthread, POSIX I/O, user
//! ```
//!
//! Law: a file that cannot be understood is an error; no rule is ever skipped.

use ouzel_analyses::semantics::{Category, Class, Family, Rule, Semantics};
use ouzel_files::input;
use serde::Deserialize;
use std::error::Error;
use std::io;
use std::path::{Path, PathBuf};

/// Longest file that is read: rules are written by hand.
const MAX_BYTES: u64 = 1 << 20;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleFile {
    rule: Vec<RuleEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleEntry {
    region: String,
    category: Category,
    #[serde(default = "user")]
    family: Family,
}

fn user() -> Family {
    Family::User
}

/// Rules that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum RuleError {
    /// The file cannot be read.
    #[error("cannot read rules from {}: {source}", file.display())]
    Read {
        /// The file.
        file: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// It does not hold rules.
    #[error("cannot read rules from {}: {source}", file.display())]
    Rules {
        /// The file.
        file: PathBuf,
        /// The reason.
        source: Box<dyn Error + Send + Sync>,
    },
}

/// The rules of the file, if there is one, followed by the built-in ones.
///
/// # Errors
/// If the file cannot be read, is not such TOML, or contains an invalid regular expression.
pub fn semantics(file: Option<&Path>) -> Result<Semantics, RuleError> {
    let Some(file) = file else { return Ok(Semantics::default()) };
    let text = input::read_text(file, MAX_BYTES)
        .map_err(|source| RuleError::Read { file: file.to_owned(), source })?;
    from_text(&text).map_err(|source| RuleError::Rules { file: file.to_owned(), source })
}

fn from_text(text: &str) -> Result<Semantics, Box<dyn Error + Send + Sync>> {
    let RuleFile { rule } = toml::from_str(text).map_err(|error| in_one_line(text, &error))?;
    let rules: Vec<Rule> = rule
        .into_iter()
        .map(|RuleEntry { region, category, family }| Rule {
            pattern: region,
            class: Class { category, family },
        })
        .collect();
    Ok(Semantics::with_user_rules(&rules)?)
}

/// What is wrong and where, without the parser's drawing of several lines.
fn in_one_line(text: &str, error: &toml::de::Error) -> String {
    let n_line = error.span().map(|span| 1 + text[..span.start.min(text.len())].matches('\n').count());
    let place = n_line.map(|n| format!("line {n}: ")).unwrap_or_default();
    format!("{place}{}", error.message().replace('\n', ", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn category(text: &str, region: &str) -> Category {
        from_text(text).expect("rules").class_of_name(region).category
    }

    #[test]
    fn the_first_rule_of_the_file_wins_over_the_built_in_ones() {
        let text = "[[rule]]\nregion = 'MPI_Send'\ncategory = 'computation'\nfamily = 'MPI'\n\
                    [[rule]]\nregion = 'MPI_.*'\ncategory = 'synchronization'";
        assert_eq!(category(text, "MPI_Send"), Category::Computation);
        assert_eq!(category(text, "MPI_Recv"), Category::Synchronization);
        assert_eq!(category(text, "solve"), Category::Computation);
    }

    #[test]
    fn what_is_not_understood_is_said() {
        let error = |text: &str| format!("{}", from_text(text).expect_err("no rules"));
        assert!(error("[[rule]]\nregion = '('\ncategory = 'wait'").contains("not a regular expression"));
        assert!(error("[[rule]]\nregion = 'a'\ncategory = 'waiting'").contains("line 3: unknown variant"));
        assert!(error("[[rule]]\nname = 'a'\ncategory = 'wait'").contains("unknown field"));
        assert!(error("rule = 3").contains("invalid type"));
    }

    #[test]
    fn a_missing_file_is_named() {
        let error = semantics(Some(Path::new("no-such-rules.toml"))).expect_err("no file");
        assert!(format!("{error:#}").contains("no-such-rules.toml"));
    }
}
