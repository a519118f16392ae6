//! The location of real traces.

use std::path::{Path, PathBuf};

/// The root of the workspace.
pub fn workspace_root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).expect("this crate lies two directories below the root").to_owned()
}

/// The directory of shared data: the environment variable `OUZEL_SHARED`, else `../shared` beside the workspace.
/// If there is none, prints a line about it and returns `None`: the caller skips its test.
#[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
pub fn shared_data() -> Option<PathBuf> {
    let named = std::env::var_os("OUZEL_SHARED").map(PathBuf::from);
    let path = named.or_else(|| Some(workspace_root().parent()?.join("shared")))?;
    if path.is_dir() {
        return Some(path);
    }
    eprintln!("skipped: no shared data at {} (set OUZEL_SHARED)", path.display());
    None
}

/// A file of the shared data; `None`, with a printed line, if it is absent.
pub fn shared_text(path: &str) -> Option<String> {
    let text = std::fs::read_to_string(shared_data()?.join(path)).ok();
    if text.is_none() {
        println!("skipped: no {path} in the shared folder");
    }
    text
}

/// A JSON file of the shared data.
pub fn shared_json(path: &str) -> Option<serde_json::Value> {
    shared_text(path).map(|text| serde_json::from_str(&text).expect("expected values are JSON"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_root_holds_the_workspace_manifest() {
        let manifest = std::fs::read_to_string(workspace_root().join("Cargo.toml")).unwrap();
        assert!(manifest.starts_with("[workspace]"), "{manifest}");
    }
}
