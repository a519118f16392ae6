//! What `ouzel --help` shows: the commands by what one wants to know, on one screen.
//!
//! Law: every command of [`COMMANDS`] is shown once; those that no group names come last.

use crate::command::Command;
use crate::commands::COMMANDS;

/// Commands that answer one question.
struct Group {
    question: &'static str,
    commands: &'static [&'static str],
}

const GROUPS: [Group; 8] = [
    Group { question: "Start here", commands: &["report", "info", "view", "record"] },
    Group { question: "How are functions and loops recorded?", commands: &["cc", "f90", "instrument"] },
    Group {
        question: "Where does the time go?",
        commands: &[
            "profile",
            "time-profile",
            "counters-over-time",
            "timeline",
            "calls",
            "call-tree",
            "kernels",
        ],
    },
    Group {
        question: "Why is it lost, and what would a change gain?",
        commands: &[
            "segments",
            "waits",
            "idle",
            "imbalance",
            "critical-path",
            "lateness",
            "what-if",
            "causes",
            "correlate",
        ],
    },
    Group {
        question: "Who communicates with whom?",
        commands: &["comm-matrix", "comm-by-process", "comm-over-time", "messages", "breakdown"],
    },
    Group {
        question: "What repeats, and which ranks are alike?",
        commands: &["iterations", "clusters", "patterns"],
    },
    Group {
        question: "How does it scale, and what has changed?",
        commands: &["efficiency", "compare", "check"],
    },
    Group { question: "Records, tables and other formats", commands: &["query", "print", "convert"] },
];

/// The heading of commands that no group names.
const OTHERS: &str = "More";

const COLUMNS: usize = 80;

const END: &str = "\
First steps:
  ouzel report scorep-run/            where time is lost, and what to do next
  ouzel profile scorep-run/ --top 20  the regions that take most time

ouzel COMMAND --help  options, with examples
ouzel help commands   all commands, in a line each
ouzel help topics     filters, formats, JSON, exit codes …
";

/// The whole text.
pub fn text(about: &str) -> String {
    let mut text = format!("{about}\n\nUsage: ouzel <COMMAND> [TRACE] [OPTIONS]\n");
    let has = |name: &str| COMMANDS.iter().any(|command| command.name == name);
    for Group { question, commands } in &GROUPS {
        let there: Vec<&str> = commands.iter().copied().filter(|name| has(name)).collect();
        text += &format!("\n{question}\n{}", in_lines(&there));
    }
    let others: Vec<&str> =
        COMMANDS.iter().map(|command: &Command| command.name).filter(is_in_no_group).collect();
    if !others.is_empty() {
        text += &format!("\n{OTHERS}\n{}", in_lines(&others));
    }
    text + "\n" + END
}

fn is_in_no_group(name: &&str) -> bool {
    !GROUPS.iter().any(|group| group.commands.contains(name))
}

/// Names with two spaces before each, as many in a line as fit.
fn in_lines(names: &[&str]) -> String {
    let mut lines = String::new();
    let mut width = 0;
    for name in names {
        if COLUMNS < width + 2 + name.len() {
            lines.push('\n');
            width = 0;
        }
        lines += &format!("  {name}");
        width += 2 + name.len();
    }
    lines + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_is_shown_once_on_one_screen() {
        let text = text("About");
        for command in COMMANDS {
            let n_times = text
                .lines()
                .filter(|line| line.starts_with("  ") && !line.starts_with("  ouzel"))
                .flat_map(str::split_whitespace)
                .filter(|word| *word == command.name)
                .count();
            assert_eq!(n_times, 1, "{}", command.name);
        }
        assert!(text.lines().count() <= 40, "{} lines", text.lines().count());
        assert!(text.lines().all(|line| line.chars().count() <= COLUMNS), "{text}");
    }
}
