//! Help, version and misuse.

use crate::run::{ran, testdata};
use std::path::Path;
use std::process::Command;

/// The words of all commands.
pub fn commands() -> Vec<String> {
    ouzel_cli::command_line().get_subcommands().map(|command| command.get_name().to_owned()).collect()
}

#[test]
fn every_command_teaches_with_examples() {
    for command in &commands() {
        let help = ran(&[command, "--help"]);
        assert_eq!((help.code, help.err.as_str()), (Some(0), ""), "{command}");
        assert!(help.out.contains(&format!("  ouzel {command} ")), "{command}: no example in\n{}", help.out);
        let all = ran(&["--help"]);
        assert!(all.out.split_whitespace().any(|word| word == command), "{command} is not listed");
        assert_eq!(ran(&["help", command]).out, help.out, "{command}");
    }
}

#[test]
fn help_lines_fit_a_page() {
    for command in &commands() {
        let help = ran(&[command, "--help"]).out;
        let longest = help.lines().max_by_key(|line| line.chars().count()).unwrap_or_default();
        assert!(longest.chars().count() <= 110, "{command}: {longest}");
    }
}

#[test]
fn commands_that_are_mistyped_are_suggested() {
    let ran = ran(&["reprot", "t"]);
    assert_eq!(ran.code, Some(64));
    assert!(ran.err.contains("'report'"), "{}", ran.err);
}

#[test]
fn topics_are_listed_and_shown() {
    let topics = ran(&["help", "topics"]).out;
    let names = topics.lines().filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    let names: Vec<&str> = names.collect();
    assert!(["filters", "formats", "json", "environment", "exit-codes"].iter().all(|it| names.contains(it)));
    for name in names {
        let topic = ran(&["help", name]);
        assert_eq!((topic.code, topic.err.as_str()), (Some(0), ""), "{name}");
        assert!(3 < topic.out.lines().count(), "{name}");
    }
    let unknown = ran(&["help", "filtres"]);
    assert_eq!((unknown.code, unknown.out.as_str()), (Some(64), ""));
    assert!(unknown.err.contains("did you mean filters?"), "{}", unknown.err);
}

#[test]
fn every_command_has_a_manual_page_that_is_written_once() {
    let folder = std::env::temp_dir().join(format!("ouzel-man-{}", std::process::id()));
    let folder = folder.to_str().expect("a name in UTF-8");
    let first = ran(&["help", "--man", folder]);
    assert_eq!((first.code, first.err.as_str()), (Some(0), ""));
    for command in commands() {
        let page = std::fs::read_to_string(format!("{folder}/ouzel-{command}.1")).expect("a page");
        assert!(page.contains(&format!("ouzel\\-{}", command.replace('-', "\\-"))), "{page}");
        assert!(page.contains("Examples:"), "{page}");
    }
    assert_eq!(ran(&["help", "--man", folder]).code, Some(1), "the folder is there");
    std::fs::remove_dir_all(folder).expect("it was written");
}

#[test]
fn misuse_ends_with_64() {
    for words in [
        &["profile"][..],
        &["nothing"],
        &[],
        &["profile", "t", "--ranks", "5-2"],
        &["profile", "t", "--time", "now"],
        &["profile", "t", "--jobs", "0"],
        &["profile", "t", "--format", "parquet"],
        &["info", "t", "--format", "html"],
        &["segments", "t", "-o", "t.html"],
        &["segments", "t", "--id", "1", "--top", "1"],
        &["convert", "t", "out"],
        &["time-profile", "t", "--bins", "0"],
        &["compare", "t"],
        &["idle", "t", "--plot", "t.pdf"],
        &["messages", "t", "--log", "--bins", "3"],
        &["comm-matrix", "t", "--unit", "words"],
        &["idle", "t", "--format", "html"],
    ] {
        let ran = ran(words);
        assert_eq!((ran.code, ran.out.as_str()), (Some(64), ""), "{words:?}");
        assert!(ran.err.contains("--help"), "{words:?}: {}", ran.err);
    }
}

#[test]
fn the_version_is_told() {
    let ran = ran(&["--version"]);
    assert_eq!((ran.code, ran.out), (Some(0), format!("ouzel {}\n", env!("CARGO_PKG_VERSION"))));
}

#[test]
fn shells_complete_commands_and_options() {
    for shell in ["bash", "zsh", "fish"] {
        let script = ran(&["completions", shell]);
        assert_eq!((script.code, script.err.as_str()), (Some(0), ""), "{shell}");
        for command in commands() {
            assert!(script.out.contains(&command), "{shell} does not know {command}");
        }
    }
    let path = format!(
        "{}:{}",
        Path::new(env!("CARGO_BIN_EXE_ouzel")).parent().expect("a folder").display(),
        std::env::var("PATH").unwrap_or_default()
    );
    let trace = testdata("pmpi-jacobi").display().to_string();
    for (words, expected) in [
        ("ouzel comm-o", "comm-over-time\n"),
        ("ouzel idle t --plo", "--plot\n"),
        (&*format!("ouzel profile {trace} --region MPI_Ini"), "MPI_Init\n"),
    ] {
        let each: Vec<&str> = words.split(' ').collect();
        let last = each.len() - 1;
        let (word, before) = (each[last], each[last - 1]);
        let ask = format!(
            "COMP_WORDS=({words}); COMP_CWORD={last}; _ouzel ouzel {word} {before}; echo ${{COMPREPLY[@]}}"
        );
        let script = ran(&["completions", "bash"]).out + &ask;
        let answer =
            Command::new("bash").args(["-c", &script]).env("PATH", &path).output().expect("a shell is there");
        assert_eq!(String::from_utf8_lossy(&answer.stdout), expected, "{words}");
    }
}
