//! `ouzel licenses`: third-party code in the program.

use crate::command::{Command, Tool};
use crate::exit::Outcome;
use anyhow::bail;
use clap::Args;
use ouzel::licenses::{License, licenses};
use std::collections::BTreeMap;
use std::io::{BufWriter, Write};

pub const COMMAND: Command = Command::about_the_program::<LicensesArgs>("licenses");

/// Third-party crates in this program, and their licenses
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ouzel licenses                  name, version and license of each
  ouzel licenses zlib-rs          the texts of one
  ouzel licenses --texts          all texts")]
pub struct LicensesArgs {
    /// Show only this crate, with the texts of its licenses
    #[arg(value_name = "CRATE")]
    pub name: Option<String>,

    /// Show the texts of the licenses
    #[arg(long)]
    pub texts: bool,
}

impl Tool for LicensesArgs {
    fn run(&self) -> anyhow::Result<Outcome> {
        run(self)
    }
}

/// Writes the list, or license texts.
///
/// # Errors
/// If no crate has that name, or the answer cannot be written.
fn run(args: &LicensesArgs) -> anyhow::Result<Outcome> {
    let mut all = licenses();
    if let Some(name) = &args.name {
        all.retain(|license| license.name == *name);
        if all.is_empty() {
            bail!("this program contains no crate {name:?}; ouzel licenses lists all");
        }
    }
    let mut out = BufWriter::new(std::io::stdout().lock());
    let width = |of: fn(&License) -> &str| all.iter().map(|license| of(license).len()).max().unwrap_or(0);
    let (names, versions) = (width(|of| &of.name), width(|of| &of.version));
    for License { name, version, license, .. } in &all {
        writeln!(out, "{name:names$}  {version:versions$}  {license}")?;
    }
    if args.texts || args.name.is_some() {
        // Each text once, with the crates that it applies to.
        let mut texts: Vec<(&str, Vec<&str>)> = Vec::new();
        let mut at: BTreeMap<&str, usize> = BTreeMap::new();
        for License { name, texts: own, .. } in &all {
            for text in own {
                let at = *at.entry(text).or_insert_with(|| {
                    texts.push((text, Vec::new()));
                    texts.len() - 1
                });
                texts[at].1.push(name);
            }
        }
        for (text, names) in texts {
            write!(out, "\n--- {} ---\n\n{text}\n", names.join(", "))?;
        }
    }
    out.flush()?;
    Ok(Outcome::Complete)
}
