//! What `ouzel help` has to say beside the help of commands: texts of a screen, one file each.

/// A text.
#[derive(Debug)]
pub struct Topic {
    /// The word after `ouzel help`.
    pub name: &'static str,
    /// What it is about, in a line.
    pub about: &'static str,
    /// The text, with a line end at its end.
    pub text: &'static str,
}

/// All topics, in the order of `ouzel help topics`.
pub const TOPICS: &[Topic] = &[
    Topic {
        name: "traces",
        about: "How to name a trace, and which formats are read",
        text: include_str!("traces.txt"),
    },
    Topic {
        name: "filters",
        about: "How to look at a part of a trace: ranks, time, regions, conditions",
        text: include_str!("filters.txt"),
    },
    Topic {
        name: "formats",
        about: "Answers as pages, JSON, CSV, Parquet, HTML and pictures",
        text: include_str!("formats.txt"),
    },
    Topic {
        name: "json",
        about: "What an answer in JSON consists of, and how scripts use it",
        text: include_str!("json.txt"),
    },
    Topic {
        name: "terminals",
        about: "Colours, width, progress and notices",
        text: include_str!("terminals.txt"),
    },
    Topic {
        name: "environment",
        about: "Environment variables that are read",
        text: include_str!("environment.txt"),
    },
    Topic { name: "exit-codes", about: "What the exit code says", text: include_str!("exit-codes.txt") },
];
