//! `ouzel completions`: a script with which a shell completes command lines.

mod values;

use crate::command::{Command, Tool};
use crate::exit::Outcome;
use crate::words::program;
use anyhow::Context;
use clap::{Args, ValueEnum};
use clap_complete::{Shell, generate};
use ouzel::model::visible;
use std::io::Write;
use std::path::PathBuf;
use values::{NamesOf, names, with_values};

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
    #[arg(value_enum, required_unless_present = "names")]
    shell: Option<Shell>,

    /// List the names in a trace, as the scripts do
    #[arg(long, num_args = 2, value_names = ["region|metric", "TRACE"], conflicts_with = "shell")]
    names: Vec<PathBuf>,
}

impl Tool for CompletionsArgs {
    fn run(&self) -> anyhow::Result<Outcome> {
        let text = match (&self.names[..], self.shell) {
            ([of, path], _) => {
                let of = of.to_str().and_then(|of| NamesOf::from_str(of, false).ok());
                let of = of.context("--names lists those of a region or a metric")?;
                names(of, path).iter().map(|name| format!("{}\n", visible(name))).collect()
            }
            (_, Some(shell)) => {
                let mut script = Vec::new();
                generate(shell, &mut program(), "ouzel", &mut script);
                with_values(shell, String::from_utf8(script)?)
            }
            (_, None) => String::new(),
        };
        std::io::stdout().write_all(text.as_bytes())?;
        Ok(Outcome::Complete)
    }
}
