//! The pages of the documentation, and the blocks of code in them.

use ouzel_testkit::workspace_root;
use std::fs;
use std::path::PathBuf;

/// Every page for users and developers, by its path from the top of the repository; those of `docs` first.
pub fn pages() -> Vec<String> {
    let root = workspace_root();
    let in_folder = |folder: &str| {
        let entries = fs::read_dir(root.join(folder)).expect("the folder is there");
        let mut names: Vec<_> =
            entries.map(|entry| entry.expect("the folder can be read").file_name()).collect();
        names.sort();
        names
            .into_iter()
            .map(|name| format!("{folder}/{}", name.to_str().expect("names are text")))
            .collect::<Vec<_>>()
    };
    let folders = ["docs", "docs/design", "."];
    let mut pages: Vec<String> = folders.iter().flat_map(|folder| in_folder(folder)).collect();
    pages.retain(|page| page.ends_with(".md"));
    let with_readme = ["packaging", "python", "tests/python", "zoo"].map(str::to_owned);
    let readmes =
        with_readme.into_iter().chain(in_folder("crates")).map(|folder| format!("{folder}/README.md"));
    pages.extend(readmes.filter(|page| root.join(page).exists()));
    pages.iter().map(|page| page.trim_start_matches("./").to_owned()).collect()
}

pub fn path(page: &str) -> PathBuf {
    workspace_root().join(page)
}

/// Lines between fences.
#[derive(Debug)]
pub struct Block {
    /// The word behind the first fence.
    pub language: String,
    /// Without what indents the block.
    pub lines: Vec<String>,
}

impl Block {
    pub fn text(&self) -> String {
        self.lines.iter().flat_map(|line| [line, "\n"]).collect()
    }
}

pub fn blocks(page: &str) -> Vec<Block> {
    let text = fs::read_to_string(path(page)).expect("a page can be read");
    let mut blocks = Vec::new();
    let mut open: Option<(usize, Block)> = None;
    for line in text.lines() {
        let indent = line.len() - line.trim_start().len();
        match (line.trim_start().strip_prefix("```"), open.take()) {
            (Some(language), None) => {
                open = Some((indent, Block { language: language.to_owned(), lines: Vec::new() }));
            }
            (Some(_), Some((_, block))) => blocks.push(block),
            (None, Some((of_fence, mut block))) => {
                block.lines.push(line[of_fence.min(indent)..].to_owned());
                open = Some((of_fence, block));
            }
            (None, None) => {}
        }
    }
    assert!(open.is_none(), "{page}: a block does not end");
    blocks
}
