//! `ouzel help`: the help of a command, texts about topics, and manual pages.

use crate::command::{Command, Tool};
use crate::exit::Outcome;
use crate::topics::TOPICS;
use crate::words::program;
use anyhow::Context;
use clap::Args;
use clap::error::ErrorKind;
use clap_mangen::Man;
use ouzel::model::{did_you_mean, near_names};
use std::fs;
use std::io::{Write, stdout};
use std::path::{Path, PathBuf};

pub const COMMAND: Command = Command::about_the_program::<HelpArgs>("help");

/// Help for a command or a topic; without one, an overview
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ouzel help report               options of a command, with examples
  ouzel help commands             all commands, in a line each
  ouzel help topics               what else there is to read
  ouzel help filters              one of the topics
  ouzel help --man DIR            manual pages of all commands, in a new folder")]
pub struct HelpArgs {
    /// A command, a topic, or one of the lists `commands` and `topics`
    #[arg(value_name = "WORD")]
    pub word: Option<String>,

    /// Write manual pages of all commands into this new folder
    #[arg(long, value_name = "DIR", conflicts_with = "word")]
    pub man: Option<PathBuf>,
}

impl Tool for HelpArgs {
    fn run(&self) -> anyhow::Result<Outcome> {
        match (&self.man, &self.word) {
            (Some(folder), _) => write_pages(folder)?,
            (None, Some(word)) => stdout().write_all(text(word)?.as_bytes())?,
            (None, None) => stdout().write_all(program().render_help().to_string().as_bytes())?,
        }
        Ok(Outcome::Complete)
    }
}

/// What is told about a word.
fn text(word: &str) -> anyhow::Result<String> {
    let mut program = program();
    program.build();
    match word {
        "commands" => {
            let all = program.get_subcommands();
            return Ok(listed(all.map(|it| (it.get_name().to_owned(), about(it)))));
        }
        "topics" => {
            let all = TOPICS.iter().map(|topic| (topic.name.to_owned(), topic.about.to_owned()));
            return Ok(listed(all) + "\nouzel help TOPIC shows one.\n");
        }
        _ => {}
    }
    if program.find_subcommand(word).is_some() {
        // Clap says in an error what is no answer to a question.
        let asked = program.try_get_matches_from(["ouzel", word, "--help"]);
        return Ok(asked.err().map(|help| help.to_string()).unwrap_or_default());
    }
    match TOPICS.iter().find(|topic| topic.name == word) {
        Some(topic) => Ok(topic.text.to_owned()),
        None => Err(unknown(word).into()),
    }
}

/// Words that a message suggests.
const N_NEAR: usize = 3;

fn unknown(word: &str) -> clap::Error {
    let mut program = program();
    let commands = program.get_subcommands().map(clap::Command::get_name);
    let all = commands.chain(TOPICS.iter().map(|topic| topic.name)).chain(["commands", "topics"]);
    let near = did_you_mean(&near_names(word, all, N_NEAR));
    program.error(ErrorKind::InvalidValue, format!("there is no help for {word:?}{near}"))
}

fn about(command: &clap::Command) -> String {
    command.get_about().map(ToString::to_string).unwrap_or_default()
}

/// Names and what they are, in two columns.
fn listed(all: impl Iterator<Item = (String, String)>) -> String {
    let all: Vec<_> = all.collect();
    let width = all.iter().map(|(name, _)| name.len()).max().unwrap_or_default();
    all.iter().map(|(name, about)| format!("  {name:width$}  {about}\n")).collect()
}

/// Writes `ouzel.1` and `ouzel-COMMAND.1` for each command.
fn write_pages(folder: &Path) -> anyhow::Result<()> {
    fs::create_dir(folder).with_context(|| format!("{folder:?} cannot be created"))?;
    let mut program = program();
    program.build();
    let version = format!("ouzel {}", env!("CARGO_PKG_VERSION"));
    let all = std::iter::once(&program).chain(program.get_subcommands());
    for command in all {
        let name = match command.get_name() {
            "ouzel" => "ouzel".to_owned(),
            name => format!("ouzel-{name}"),
        };
        let mut page = Vec::new();
        let man = Man::new(command.clone().display_name(name.clone()).help_template("{all-args}"));
        man.title(name.to_uppercase()).manual("Ouzel").source(&*version).date("").render(&mut page)?;
        let path = folder.join(format!("{name}.1"));
        fs::write(&path, page).with_context(|| format!("{path:?} cannot be written"))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn topics_fit_a_screen_and_are_no_commands() {
        let program = program();
        let mut names: BTreeSet<&str> = program.get_subcommands().map(clap::Command::get_name).collect();
        for topic in TOPICS {
            assert!(names.insert(topic.name), "{} is a command, or there twice", topic.name);
            let lines: Vec<&str> = topic.text.lines().collect();
            assert!(lines.len() <= 30, "{}: {} lines", topic.name, lines.len());
            for line in lines {
                assert!(line.chars().count() <= 90, "{}: {line}", topic.name);
            }
            assert!(topic.text.ends_with('\n') && !topic.text.ends_with("\n\n"), "{}", topic.name);
        }
    }

    #[test]
    fn an_unknown_word_is_answered_by_those_near_it() {
        let message = text("fliters").unwrap_err().to_string();
        assert!(message.contains("there is no help for \"fliters\"; did you mean filters?"), "{message}");
    }
}
