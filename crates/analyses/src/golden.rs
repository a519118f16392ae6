//! Finds stored expected values for tests; they are not part of the repository.

use std::path::{Path, PathBuf};

/// Reads a file of the shared folder: `$OUZEL_SHARED`, else `../shared` beside the workspace.
/// `None`, said aloud, if it is absent.
pub fn shared(path: &str) -> Option<String> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let root = std::env::var_os("OUZEL_SHARED").map_or_else(beside, PathBuf::from);
    let text = std::fs::read_to_string(root.join(path)).ok();
    if text.is_none() {
        println!("skipped: no {path} in the shared folder (set OUZEL_SHARED)");
    }
    text
}

/// Reads a JSON file of the shared folder.
pub fn shared_json(path: &str) -> Option<serde_json::Value> {
    shared(path).map(|text| serde_json::from_str(&text).expect("expected values are JSON"))
}
