//! Finds a call path of a profile by what people write.
//!
//! ```text
//! 17              the call path of this id, as tables show it
//! MPI_Allreduce   a region: the call path that ends in it
//! solve/MPI_*     several regions one below the other, the last of them at the end; * stands for anything
//! /main/solve     from the outermost region on
//! ```
//!
//! Law: one answer or none. Of several that match, one that is written in full is meant; else all are named.

use ouzel_model::{CallPathId, ProfileDefinitions, near_names};
use std::sync::Arc;
use wildmatch::WildMatch;

/// Why no call path is meant, or several are.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CallPathError {
    /// None matches.
    #[error("the profile has no call path {pattern:?}{}", much_like(.near))]
    Unknown {
        /// The pattern as written.
        pattern: String,
        /// Regions that are spelled much like its last one.
        near: Vec<String>,
    },
    /// Several match.
    #[error("{n} call paths match: {}{}; name one by its id or by more of its regions", .paths.join(", "), and_more(*.n, .paths.len()))]
    Ambiguous {
        /// The pattern as written.
        pattern: String,
        /// The number of matches.
        n: usize,
        /// The first of them, each with its id.
        paths: Vec<String>,
    },
}

/// Maximum number of call paths listed in an error.
const MAX_LISTED: usize = 8;

fn much_like(names: &[String]) -> String {
    if names.is_empty() { String::new() } else { format!("; similar regions: {}", names.join(", ")) }
}

fn and_more(n: usize, n_listed: usize) -> String {
    if n_listed < n { format!(" and {} more", n - n_listed) } else { String::new() }
}

/// The one call path that `pattern` means.
///
/// # Errors
/// If there is none, or there are several.
pub fn call_path(definitions: &ProfileDefinitions, pattern: &str) -> Result<CallPathId, CallPathError> {
    let tree = &definitions.call_tree;
    let name = |path: CallPathId| -> &Arc<str> { &definitions.regions[tree.node(path).region.index()].name };
    let wanted = pattern.trim();
    // A region's name may contain the separator of regions.
    let whole: Vec<CallPathId> = tree.paths().filter(|&path| **name(path) == *wanted).collect();
    let (anchored, parts) = parts(wanted);
    let found = if whole.is_empty() { fitting(definitions, anchored, &parts) } else { whole };
    match found[..] {
        [path] => return Ok(path),
        [] => {}
        _ => {
            let in_full = |path: &&CallPathId| is_whole(definitions, **path, parts.len());
            let mut full = found.iter().filter(in_full);
            if let (Some(&path), None) = (full.next(), full.next()) {
                return Ok(path);
            }
            let paths = found.iter().take(MAX_LISTED);
            let paths = paths.map(|&path| {
                let names = definitions.call_path_names(path).join("/");
                format!("{names} (id {})", tree.node(path).native_id)
            });
            return Err(CallPathError::Ambiguous {
                pattern: pattern.to_owned(),
                n: found.len(),
                paths: paths.collect(),
            });
        }
    }
    let by_id = |id: u64| tree.paths().find(|&path| tree.node(path).native_id == id);
    if let Some(path) = wanted.trim_start_matches('#').parse().ok().and_then(by_id) {
        return Ok(path);
    }
    Err(CallPathError::Unknown { pattern: pattern.to_owned(), near: near_regions(definitions, &parts) })
}

/// Whether it begins at the outermost region, and the patterns of the regions.
fn parts(wanted: &str) -> (bool, Vec<String>) {
    let separated = wanted.replace(['›', '→'], "/");
    let anchored = separated.starts_with('/');
    let parts = separated.split('/').map(str::trim).filter(|part| !part.is_empty());
    (anchored, parts.map(str::to_owned).collect())
}

/// Whether a call path has this many regions, with or without the one used for the program.
fn is_whole(definitions: &ProfileDefinitions, path: CallPathId, n: usize) -> bool {
    n == definitions.call_tree.depth(path) + 1 || n == definitions.call_path_names(path).len()
}

fn fitting(definitions: &ProfileDefinitions, anchored: bool, parts: &[String]) -> Vec<CallPathId> {
    let patterns: Vec<WildMatch> = parts.iter().map(|part| WildMatch::new(part)).collect();
    let tree = &definitions.call_tree;
    let fits = |path: &CallPathId| {
        let n_regions = tree.depth(*path) + 1;
        if patterns.is_empty() || n_regions < patterns.len() {
            return false;
        }
        let up = std::iter::successors(Some(*path), |&at| tree.node(at).parent);
        let name = |at: CallPathId| &definitions.regions[tree.node(at).region.index()].name;
        patterns.iter().rev().zip(up).all(|(pattern, at)| pattern.matches(name(at)))
            && (!anchored || is_whole(definitions, *path, patterns.len()))
    };
    tree.paths().filter(fits).collect()
}

/// Regions spelled much like the last part, the most similar first.
fn near_regions(definitions: &ProfileDefinitions, parts: &[String]) -> Vec<String> {
    let Some(wanted) = parts.last() else { return Vec::new() };
    let regions = definitions.regions.iter().map(|region| &*region.name);
    near_names(wanted, regions, MAX_LISTED).into_iter().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ouzel_model::ProfileSource;
    use ouzel_testkit::ToyProfile;

    fn profile() -> ToyProfile {
        let mut profile = ToyProfile::new(2);
        let main = profile.call(None, "main");
        let solve = profile.call(Some(main), "solve");
        profile.call(Some(solve), "MPI_Allreduce");
        let output = profile.call(Some(main), "output");
        profile.call(Some(output), "MPI_Allreduce");
        profile.call(Some(output), "main");
        profile.call(Some(output), "a/b");
        profile
    }

    fn check(pattern: &str, expected: Result<u32, &str>) {
        let profile = profile();
        match (call_path(profile.definitions(), pattern), expected) {
            (Ok(path), Ok(expected)) => assert_eq!(path.0, expected, "{pattern}"),
            (Err(error), Err(needle)) => {
                let text = error.to_string();
                assert!(text.contains(needle), "{pattern}: {text}");
            }
            (found, expected) => panic!("{pattern}: {found:?}, not {expected:?}"),
        }
    }

    #[test]
    fn regions_paths_patterns_and_ids_name_call_paths() {
        check("solve", Ok(1));
        check("solve/MPI_Allreduce", Ok(2));
        check("output › MPI_*", Ok(4));
        check("/main/output", Ok(3));
        // The outermost one is written in full.
        check("main", Ok(0));
        check("output/main", Ok(5));
        check("a/b", Ok(6));
        check("4", Ok(4));
        check("#1", Ok(1));
    }

    #[test]
    fn what_names_none_or_several_is_told() {
        check("MPI_Allreduce", Err("main/solve/MPI_Allreduce (id 2), main/output/MPI_Allreduce (id 4)"));
        check("MPI_Alreduce", Err("similar regions: MPI_Allreduce"));
        check("/solve", Err("no call path"));
        check("99", Err("no call path"));
        check("", Err("no call path"));
    }
}
