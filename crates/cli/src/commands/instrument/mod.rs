//! `ouzel instrument`: copies of sources with calls of the recorder in them.

pub(super) mod sources;

use crate::command::{Command, Tool};
use crate::exit::Outcome;
use crate::terminal::style::clean;
use crate::terminal::units;
use anyhow::{Context, bail};
use clap::Args;
use ouzel_files::Inputs;
use ouzel_files::output::{Existing, Target};
use ouzel_instrument::language::{SourceKind, kind_of};
use ouzel_instrument::source::{SourceError, SourceOptions};
use ouzel_instrument::{Instrumented, Refusal, RegionKind};
use sources::SourceArgs;
use std::collections::BTreeSet;
use std::fs;
use std::io::{Write, stdout};
use std::path::{Path, PathBuf};

pub const COMMAND: Command = Command::about_the_program::<InstrumentArgs>("instrument");

/// Write copies of sources (C, C++, Fortran) that record their functions and outermost loops
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ouzel instrument src/*.c --out inst                    then: gcc -iquote src inst/*.c
  ouzel instrument solver.f90 --out inst --filter rules  with rules of your own
  ouzel instrument src/*.cpp --out inst --from run1      without what run1 shows to be called too often

The copies compile without any library of Ouzel and behave like the sources; without ouzel record, each
function and loop costs a test of a variable. Messages of compilers and debuggers name the sources.
Record the program with ouzel record --sample off -- ./a.out.
What cannot be parsed for certain (fixed-form Fortran, sources that need the preprocessor to be
understood) is copied as it is, with its line and a word: compile it with -finstrument-functions.
More: docs/instrument.md")]
pub struct InstrumentArgs {
    /// Sources in C, C++ or free-form Fortran
    #[arg(value_name = "SRC", required = true)]
    pub sources: Vec<PathBuf>,

    /// Directory for the copies, which keep their places relative to each other
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,

    #[command(flatten)]
    pub chosen: SourceArgs,

    /// Replace copies that are there
    #[arg(long)]
    pub force: bool,

    /// List what is recorded, and what is left out and why
    #[arg(short, long)]
    pub verbose: bool,
}

impl Tool for InstrumentArgs {
    fn run(&self) -> anyhow::Result<Outcome> {
        let options = self.chosen.options()?;
        let mut inputs = Inputs::default();
        self.sources.iter().for_each(|source| inputs.add_file(source));
        let existing = if self.force { Existing::Replace } else { Existing::Keep };
        let targets = self.targets()?;
        for target in &targets {
            let folder = target.parent().unwrap_or(&self.out);
            fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
        }
        // All are checked before anything is written.
        let targets: Result<Vec<Target>, _> =
            targets.iter().map(|target| Target::file(target, existing, &inputs)).collect();
        let mut outcome = Outcome::Complete;
        for (source, target) in self.sources.iter().zip(&targets?) {
            if !self.one(&options, source, target)? {
                outcome = Outcome::DataLost;
            }
        }
        Ok(outcome)
    }
}

impl InstrumentArgs {
    /// Where the copies go.
    fn targets(&self) -> anyhow::Result<Vec<PathBuf>> {
        let folders = self.sources.iter().map(|source| source.parent().unwrap_or(Path::new("")));
        let mut common: Option<&Path> = None;
        for folder in folders {
            let above = common.unwrap_or(folder);
            common = above.ancestors().find(|above| folder.starts_with(above));
        }
        let common = common.unwrap_or(Path::new(""));
        let targets: Vec<PathBuf> = self
            .sources
            .iter()
            .map(|source| self.out.join(source.strip_prefix(common).unwrap_or(source)))
            .collect();
        let mut seen = BTreeSet::new();
        for (source, target) in self.sources.iter().zip(&targets) {
            let is_inside = !source.strip_prefix(common).unwrap_or(source).components().any(leads_out);
            if !is_inside {
                bail!("{} and the others have no common directory", clean(&source.display().to_string()));
            }
            if !seen.insert(target) {
                bail!("{} is given twice", clean(&source.display().to_string()));
            }
        }
        Ok(targets)
    }

    /// Writes the copy of one source; whether it is instrumented if it was to be.
    fn one(&self, options: &SourceOptions, source: &Path, target: &Target) -> anyhow::Result<bool> {
        let shown = clean(&source.display().to_string());
        let refused = |refusal| SourceError::Refused { path: source.to_owned(), refusal };
        let done = match kind_of(source) {
            SourceKind::Other => bail!("{shown}: no source in C, C++ or Fortran by its name"),
            _ if !options.includes(source) => {
                self.copy(source, target, &format!("{shown}: left out by the filter"))?;
                return Ok(true);
            }
            SourceKind::FixedForm => Err(refused(Refusal::FixedForm)),
            SourceKind::Known(language) => options.instrument(source, language),
        };
        match done {
            Ok(done) => {
                target.write(&done.text)?;
                self.tell(&shown, &done)?;
                Ok(true)
            }
            Err(error @ SourceError::Read { .. }) => Err(error.into()),
            Err(error @ SourceError::Refused { .. }) => {
                let text = format!("{error}: copied as it is; compile it with -finstrument-functions");
                self.copy(source, target, &text)?;
                Ok(false)
            }
        }
    }

    fn copy(&self, source: &Path, target: &Target, why: &str) -> anyhow::Result<()> {
        /// Sources that are too large to be instrumented are copied, too.
        const BYTES_MAX: u64 = 1 << 30;
        let text = ouzel_files::input::read_limited(source, BYTES_MAX);
        target.write(&text.with_context(|| source.display().to_string())?)?;
        sources::say(why);
        Ok(())
    }

    fn tell(&self, shown: &str, done: &Instrumented) -> anyhow::Result<()> {
        let mut out = stdout().lock();
        let n_of = |kind| done.regions.iter().filter(|region| region.kind == kind).count() as u64;
        let mut line = format!(
            "{shown}: {}, {}",
            units::counted(n_of(RegionKind::Function), "function", "functions"),
            units::counted(n_of(RegionKind::Loop), "loop", "loops"),
        );
        if !done.skipped.is_empty() {
            line.push_str(&format!(", {} left out", units::count(done.skipped.len() as u64)));
        }
        writeln!(out, "{line}")?;
        if self.verbose {
            for region in &done.regions {
                writeln!(out, "  {}: {}", region.line, clean(&region.name))?;
            }
            for skipped in &done.skipped {
                writeln!(out, "  {}: {} left out: {}", skipped.line, clean(&skipped.name), skipped.reason)?;
            }
        }
        Ok(())
    }
}

fn leads_out(part: std::path::Component<'_>) -> bool {
    !matches!(part, std::path::Component::Normal(_) | std::path::Component::CurDir)
}
