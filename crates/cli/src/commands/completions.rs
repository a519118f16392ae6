//! `ouzel completions`: a script with which a shell completes command lines.

use crate::command::{Command, Tool};
use crate::exit::Outcome;
use crate::words::program;
use clap::Args;
use clap_complete::{Shell, generate};
use std::io::Write;

pub const COMMAND: Command = Command::about_the_program::<CompletionsArgs>("completions");

/// A script with which a shell completes commands, options and paths
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ouzel completions bash > ~/.local/share/bash-completion/completions/ouzel
  ouzel completions zsh > ~/.zfunc/_ouzel          if ~/.zfunc is in fpath
  ouzel completions fish > ~/.config/fish/completions/ouzel.fish

Write the script again after an update of ouzel.")]
pub struct CompletionsArgs {
    /// The shell that reads the script
    #[arg(value_enum)]
    shell: Shell,
}

impl Tool for CompletionsArgs {
    fn run(&self) -> anyhow::Result<Outcome> {
        let mut script = Vec::new();
        generate(self.shell, &mut program(), "ouzel", &mut script);
        std::io::stdout().write_all(&script)?;
        Ok(Outcome::Complete)
    }
}
