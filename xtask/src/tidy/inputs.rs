//! Inputs are opened by one crate, which refuses what is no regular file and has limits.
//!
//! Law: outside of `ouzel-files` and of tests, nothing opens or reads a file by the standard library's functions.

use super::{Flaw, Source, shipped_lines};

/// What is not called directly, and what is called instead.
const CALLS: [(&str, &str); 3] = [
    ("File::open(", "ouzel_files::input::open, which opens regular files only"),
    ("fs::read(", "ouzel_files::input::read_limited, which has a limit"),
    ("fs::read_to_string(", "ouzel_files::input::read_text, which has a limit"),
];

/// Whether a file is a part of what users run.
fn is_shipped(path: &str) -> bool {
    let is_ours = |krate: &str| path.starts_with(&format!("crates/{krate}/"));
    let in_source =
        path.starts_with("python/src/") || (path.starts_with("crates/") && path.contains("/src/"));
    let stem = path.rsplit('/').next().unwrap_or_default().trim_end_matches(".rs");
    let is_test = path.contains("/tests/") || stem.ends_with("tests") || stem == "golden";
    // The recorder runs in another program and opens nothing that a user names.
    let is_exempt = is_ours("files") || is_ours("testkit") || is_ours("preload");
    in_source && path.ends_with(".rs") && !is_test && !is_exempt
}

pub(super) fn check(sources: &[Source]) -> Vec<Flaw> {
    let mut flaws = Vec::new();
    for source in sources.iter().filter(|source| is_shipped(&source.path)) {
        for (line, text) in shipped_lines(source).filter(|(_, text)| !text.trim_start().starts_with("//")) {
            for (call, instead) in CALLS {
                if text.contains(call) {
                    let call = call.trim_end_matches('(');
                    let what = format!("{call} opens whatever it is given: use {instead}");
                    flaws.push(Flaw { path: source.path.clone(), line, what });
                }
            }
        }
    }
    flaws
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::source;

    #[test]
    fn inputs_are_opened_in_one_way() {
        let text = "#[cfg(test)]\nmod tests;\nfn a() { File::open(x) }\n// File::open(x)\n#[cfg(test)]\nmod tests {\nfs::read(x)\n";
        let n_flaws = |path: &str| check(&[source(path, text)]).len();
        assert_eq!(n_flaws("crates/formats/src/csv/mod.rs"), 1);
        assert_eq!(n_flaws("python/src/trace.rs"), 1);
        for free in [
            "crates/files/src/input.rs",
            "crates/formats/tests/it/main.rs",
            "crates/cube/src/x_tests.rs",
            "xtask/src/fuzz.rs",
        ] {
            assert_eq!(n_flaws(free), 0, "{free}");
        }
    }
}
