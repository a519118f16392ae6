//! Files that have outgrown their noun.
//!
//! Counted in Rust sources is the code before the unit tests: tests are data and may be long.

use super::{Flaw, Source};

/// Above this many lines a file is shown.
const LINES_SHOWN: usize = 500;
/// Above this many lines a file is a flaw.
const LINES_MAX: usize = 700;
/// Above this many bytes a file does not belong into the repository.
const BYTES_MAX: u64 = 1024 * 1024;

/// Flaws and remarks.
pub fn check(sources: &[Source]) -> (Vec<Flaw>, Vec<Flaw>) {
    let (mut flaws, mut remarks) = (vec![], vec![]);
    for source in sources {
        let say = |line, what| Flaw { path: source.path.clone(), line, what };
        if BYTES_MAX < source.n_bytes {
            flaws.push(say(1, format!("{} KiB; at most {} KiB", source.n_bytes / 1024, BYTES_MAX / 1024)));
        }
        if !source.has_extension("rs") {
            continue;
        }
        let n_lines = code_lines(source);
        if LINES_MAX < n_lines {
            flaws.push(say(n_lines, format!("{n_lines} lines of code; at most {LINES_MAX}")));
        } else if LINES_SHOWN < n_lines {
            remarks.push(say(n_lines, format!("{n_lines} lines of code; would a second noun be clearer?")));
        }
    }
    (flaws, remarks)
}

/// Lines before the module of unit tests, or all.
fn code_lines(source: &Source) -> usize {
    let lines: Vec<&str> = source.lines().map(|(_, line)| line).collect();
    let begins_tests = |pair: &[&str]| pair[0] == "#[cfg(test)]" && pair[1].starts_with("mod ");
    lines.windows(2).position(begins_tests).unwrap_or(lines.len())
}

#[cfg(test)]
mod tests {
    use super::super::source;
    use super::*;

    fn found(path: &str, n_code: usize, n_test: usize) -> (usize, usize) {
        let text =
            format!("{}#[cfg(test)]\nmod tests {{\n{}}}\n", "x\n".repeat(n_code), "y\n".repeat(n_test));
        let (flaws, remarks) = check(&[source(path, &text)]);
        (flaws.len(), remarks.len())
    }

    #[test]
    fn only_code_counts() {
        assert_eq!(found("a.rs", 500, 5000), (0, 0));
        assert_eq!(found("a.rs", 501, 0), (0, 1));
        assert_eq!(found("a.rs", 700, 0), (0, 1));
        assert_eq!(found("a.rs", 701, 0), (1, 0));
        assert_eq!(found("a.md", 701, 0), (0, 0));
    }

    #[test]
    fn a_helper_for_tests_does_not_end_the_code() {
        let text = format!("#[cfg(test)]\nuse x;\n{}", "x\n".repeat(800));
        assert_eq!(check(&[source("a.rs", &text)]).0.len(), 1);
    }

    #[test]
    fn large_files_are_flaws() {
        let mut large = source("testdata/a.evt", "");
        large.n_bytes = BYTES_MAX + 1;
        assert_eq!(check(&[large]).0.len(), 1);
    }
}
