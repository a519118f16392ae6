//! What a command is: its words with their help, what it needs of a trace, how it answers.
//!
//! Each command is declared as a constant in a file of its own and has one line in [`crate::commands::COMMANDS`].
//! The parser, help, `info`, completion, tests and docs take what they need from there. The words are a struct
//! whose doc comment is the line in `ouzel --help`; `after_help` has the examples.

use crate::args::{Common, LowCommon, OutputFormat};
use crate::exit::Outcome;
use clap::{ArgMatches, Args};
use std::fmt;

/// What a user asks about a run: the words of a command.
pub trait Question: fmt::Debug {
    /// Refuses words that do not go together, and formats that the command does not have.
    ///
    /// # Errors
    /// The reason.
    fn check(&self, _common: &LowCommon, format: OutputFormat) -> Result<(), &'static str> {
        without_html(format)
    }

    /// Answers.
    ///
    /// # Errors
    /// If the trace cannot be opened or the answer cannot be given or written.
    fn run(&self, common: &Common) -> anyhow::Result<Outcome>;
}

/// Refuses HTML.
///
/// # Errors
/// The reason.
pub fn without_html(format: OutputFormat) -> Result<(), &'static str> {
    match format {
        OutputFormat::Html => Err("only report has a page with pictures: use ouzel report -o FILE.html"),
        OutputFormat::Table | OutputFormat::Json | OutputFormat::Csv | OutputFormat::Parquet => Ok(()),
    }
}

/// What a user asks about the program itself: the words of a command that opens no trace.
pub trait Tool: fmt::Debug {
    /// Answers.
    ///
    /// # Errors
    /// If the answer cannot be given or written.
    fn run(&self) -> anyhow::Result<Outcome>;
}

/// What a trace must record for an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// Calls of regions, or samples.
    Calls,
    /// Several ranks.
    Ranks,
    /// Point-to-point messages.
    Messages,
    /// Collective operations.
    Collectives,
    /// Teams of threads and locks.
    Threads,
    /// One-sided communication.
    Rma,
    /// Streams of accelerators.
    Streams,
    /// Counters in call paths.
    Counters,
}

impl Need {
    /// The command cannot answer without it.
    pub const fn always(self) -> Use {
        Use { need: self, option: None }
    }

    /// The command needs it for this option alone.
    pub const fn with(self, option: &'static str) -> Use {
        Use { need: self, option: Some(option) }
    }
}

/// A need of a command.
#[derive(Debug, Clone, Copy)]
pub struct Use {
    /// What is needed.
    pub need: Need,
    /// The option that needs it; `None`: the command.
    pub option: Option<&'static str>,
}

/// How words become what is asked; `T` is [`Question`] or [`Tool`].
struct Words<T: ?Sized> {
    add: fn(clap::Command) -> clap::Command,
    parsed: fn(&ArgMatches) -> clap::error::Result<Box<T>>,
}

enum Kind {
    AboutARun(Words<dyn Question>),
    AboutTheProgram(Words<dyn Tool>),
}

/// What was asked.
pub enum Asked {
    /// About a run, with the words that all these commands share.
    AboutARun(LowCommon, Box<dyn Question>),
    /// About the program.
    AboutTheProgram(Box<dyn Tool>),
}

/// A command.
pub struct Command {
    /// The word on the command line.
    pub name: &'static str,
    /// What it needs of a trace.
    pub needs: &'static [Use],
    kind: Kind,
}

impl Command {
    /// A command with the words `A` that answers about a run which records `needs`.
    pub const fn about_a_run<A: Args + Question + 'static>(
        name: &'static str,
        needs: &'static [Use],
    ) -> Self {
        let words = Words {
            add: A::augment_args,
            parsed: |matches| A::from_arg_matches(matches).map(|words| Box::new(words) as _),
        };
        Command { name, needs, kind: Kind::AboutARun(words) }
    }

    /// A command with the words `A` that opens no trace.
    pub const fn about_the_program<A: Args + Tool + 'static>(name: &'static str) -> Self {
        let words = Words {
            add: A::augment_args,
            parsed: |matches| A::from_arg_matches(matches).map(|words| Box::new(words) as _),
        };
        Command { name, needs: &[], kind: Kind::AboutTheProgram(words) }
    }

    /// How users name it where they need `need`: the command, with the option if it is for this one alone.
    pub fn needing(&self, need: Need) -> Option<String> {
        let found = self.needs.iter().find(|of| of.need == need)?;
        Some(match found.option {
            None => self.name.to_owned(),
            Some(option) => format!("{} {option}", self.name),
        })
    }

    /// The command's part of the parser.
    pub fn parser(&self) -> clap::Command {
        let parser = clap::Command::new(self.name);
        match &self.kind {
            Kind::AboutARun(words) => (words.add)(LowCommon::augment_args(parser)),
            Kind::AboutTheProgram(words) => (words.add)(parser),
        }
    }

    /// What was asked.
    ///
    /// # Errors
    /// If the words were parsed by another command.
    pub fn asked(&self, matches: &ArgMatches) -> clap::error::Result<Asked> {
        use clap::FromArgMatches;
        Ok(match &self.kind {
            Kind::AboutARun(words) => {
                Asked::AboutARun(LowCommon::from_arg_matches(matches)?, (words.parsed)(matches)?)
            }
            Kind::AboutTheProgram(words) => Asked::AboutTheProgram((words.parsed)(matches)?),
        })
    }
}
