//! docs/first-hour.md: its commands run, its quotations are what they print, and its pictures what they draw.

use crate::pages::blocks;
use crate::run::command;
use ouzel_testkit::workspace_root;
use std::fs;

#[test]
fn the_page_says_what_the_commands_answer() {
    let root = workspace_root();
    let folder = tempfile::tempdir().expect("a folder");
    let (mut answer, mut n_commands, mut n_pictures) = (String::new(), 0, 0);
    for block in blocks("docs/first-hour.md") {
        if block.language == "text" {
            for line in &block.lines {
                assert!(answer.contains(line), "the page quotes\n{line}\nand the command says\n{answer}");
            }
            continue;
        }
        for line in &block.lines {
            let words = line.strip_prefix("ouzel ").expect("a command of ours").split_whitespace();
            let picture = line.split_whitespace().find(|word| word.ends_with(".svg"));
            let drawn = picture.map(|name| folder.path().join(name));
            let words = words.map(|word| match &drawn {
                Some(path) if Some(word) == picture => path.as_os_str().to_owned(),
                _ => word.into(),
            });
            let ran = command().args(words).env("COLUMNS", "100").current_dir(&root).output();
            let ran = ran.expect("the binary is there");
            assert_eq!(ran.status.code(), Some(0), "{line}: {}", String::from_utf8_lossy(&ran.stderr));
            answer = String::from_utf8(ran.stdout).expect("text");
            n_commands += 1;
            let (Some(name), Some(drawn)) = (picture, drawn) else { continue };
            let drawn = fs::read_to_string(drawn).expect("a picture");
            let kept =
                fs::read_to_string(root.join("docs/pictures").join(name)).expect("a picture of the docs");
            assert!(drawn == kept, "docs/pictures/{name} is not what the command draws: {line}");
            n_pictures += 1;
        }
    }
    assert!(10 <= n_commands && n_pictures == 3, "{n_commands} commands, {n_pictures} pictures");
}
