//! Help, version and misuse.

use crate::run::ran;
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
        assert!(all.out.contains(&format!("  {command} ")), "{command} is not listed in\n{}", all.out);
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
    for (words, expected) in [("ouzel comm-o", "comm-over-time\n"), ("ouzel idle t --plo", "--plot\n")] {
        let each: Vec<&str> = words.split(' ').collect();
        let last = each.len() - 1;
        let (word, before) = (each[last], each[last - 1]);
        let ask = format!(
            "COMP_WORDS=({words}); COMP_CWORD={last}; _ouzel ouzel {word} {before}; echo ${{COMPREPLY[@]}}"
        );
        let script = ran(&["completions", "bash"]).out + &ask;
        let answer = Command::new("bash").args(["-c", &script]).output().expect("a shell is there");
        assert_eq!(String::from_utf8_lossy(&answer.stdout), expected, "{words}");
    }
}
