//! The table "format × what is read" in README.md is made of what the readers declare.
//! `UPDATE_EXPECT=1 cargo test -p ouzel-formats` writes it.

use ouzel_formats::READERS;
use ouzel_model::Content;
use ouzel_testkit::workspace_root;

const BEGIN: &str = "<!-- formats: made by the tests of ouzel-formats -->\n";
const END: &str = "<!-- end of formats -->";

/// A row for each format, a column for each kind of data.
fn table() -> String {
    let heads: Vec<&str> = Content::ALL.iter().map(|content| content.as_str()).collect();
    let mut text =
        format!("| format | written by | {} |\n|---|---|{}\n", heads.join(" | "), "---|".repeat(heads.len()));
    for reader in READERS {
        let cell = |content: &Content| match reader.reads.iter().find(|(known, _)| known == content) {
            Some((_, "")) => "yes".to_owned(),
            Some((_, remark)) => format!("yes: {remark}"),
            None => String::new(),
        };
        let cells: Vec<String> = Content::ALL.iter().map(cell).collect();
        text += &format!("| {} | {} | {} |\n", reader.format.as_str(), reader.writers, cells.join(" | "));
    }
    text
}

#[test]
fn the_table_in_the_readme_is_what_the_readers_declare() {
    let path = workspace_root().join("README.md");
    let readme = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = readme.split_once(BEGIN).unwrap();
    let (_, after) = rest.split_once(END).unwrap();
    let made = format!("{before}{BEGIN}{}{END}{after}", table());
    expect_test::expect_file![path].assert_eq(&made);
}
