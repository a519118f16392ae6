//! `ouzel cc` and `ouzel f90`: compilers that instrument sources on the way.
//!
//! Law: exit code, output and files are the compiler's; a source that cannot be instrumented for certain is compiled
//! with `-finstrument-functions`, with a word on standard error.

use super::instrument::sources::SourceArgs;
use crate::command::{Command, Tool};
use crate::exit::Outcome;
use crate::terminal::style::clean;
use anyhow::{Context, bail};
use clap::Args;
use ouzel_files::{ending, input};
use ouzel_instrument::compile::{CompilerCommand, InputKind, SourceCopy};
use ouzel_instrument::source::{SourceError, SourceOptions};
use std::ffi::OsString;
use std::fs;
use std::io::{Write, stderr};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process;
use tempfile::TempDir;

pub const CC: Command = Command::about_the_program::<CcArgs>("cc");
pub const F90: Command = Command::about_the_program::<F90Args>("f90");

/// Most bytes of a file of options, and of one of dependencies: more than any build has.
const TEXT_BYTES_MAX: u64 = 256 << 20;

/// Run a compiler (C, C++) so that the program records its functions and outermost loops
#[derive(Debug, Args)]
#[command(
    override_usage = "ouzel cc [OPTIONS] -- COMPILER [ARGUMENTS]…",
    after_help = "\
Examples:
  ouzel cc -- gcc -O2 -c solver.c -o solver.o            instead of: gcc -O2 -c solver.c -o solver.o
  make CC=\"ouzel cc -- mpicc\"                            a whole program
  cmake -D CMAKE_C_COMPILER_LAUNCHER=\"ouzel;cc;--\" …     the same with CMake

Sources are instrumented in temporary copies, as ouzel instrument does it; objects and programs are those
that the compiler makes, under their own names. Messages, debug information and dependencies (-MD) name
the sources. Then: ouzel record -- ./app. Without ouzel record the program behaves as before.
A source that cannot be instrumented for certain is compiled with -finstrument-functions, with a word.
More: docs/instrument.md"
)]
pub struct CcArgs {
    #[command(flatten)]
    pub chosen: SourceArgs,

    /// The compiler and its arguments
    #[arg(last = true, value_name = "COMPILER", required = true)]
    pub command: Vec<OsString>,
}

/// Run a compiler (Fortran) so that the program records its procedures and outermost loops
#[derive(Debug, Args)]
#[command(
    override_usage = "ouzel f90 [OPTIONS] -- COMPILER [ARGUMENTS]…",
    after_help = "\
Examples:
  ouzel f90 -- gfortran -O2 -c solver.f90                instead of: gfortran -O2 -c solver.f90
  make FC=\"ouzel f90 -- mpif90\"                          a whole program

As ouzel cc, for Fortran in free form; fixed form is compiled with -finstrument-functions, with a word.
More: docs/instrument.md"
)]
pub struct F90Args {
    #[command(flatten)]
    pub compiled: CcArgs,
}

impl Tool for F90Args {
    fn run(&self) -> anyhow::Result<Outcome> {
        self.compiled.run()
    }
}

impl Tool for CcArgs {
    fn run(&self) -> anyhow::Result<Outcome> {
        let read = |path: &Path| input::read_text(path, TEXT_BYTES_MAX);
        let command = CompilerCommand::new(&self.command, &read);
        let is_asked =
            |kind| matches!(kind, InputKind::Source(_) | InputKind::FixedForm | InputKind::Preprocessed);
        let has_sources = command.inputs.iter().any(|input| is_asked(input.kind));
        if !has_sources || !command.compiles || command.is_instrumented {
            return self.compile(&self.command[1..]);
        }
        let copies = Copies::new(&command, &self.chosen.options()?)?;
        if !copies.refused.is_empty() {
            for reason in &copies.refused {
                say(&format!("{reason}: compiled with -finstrument-functions"));
            }
            let mut words = vec![OsString::from("-finstrument-functions")];
            words.extend(self.command[1..].iter().cloned());
            return self.compile(&words);
        }
        if copies.list.is_empty() {
            return self.compile(&self.command[1..]);
        }
        let outcome = self.compile(&command.with_copies(&copies.list))?;
        copies.clean_up(&command);
        Ok(outcome)
    }
}

impl CcArgs {
    /// Runs the compiler.
    fn compile(&self, words: &[OsString]) -> anyhow::Result<Outcome> {
        let compiler = &self.command[0];
        let started = process::Command::new(compiler).args(words).spawn();
        let mut child = started.with_context(|| format!("cannot run {compiler:?}"))?;
        let status = {
            let _passed = ending::pass_signals_to(child.id());
            child.wait().context("cannot wait for the compiler")?
        };
        // As a shell says it: 128 and the signal for a program that a signal has ended.
        let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or(1);
        Ok(Outcome::OfProgram(u8::try_from(code).unwrap_or(1)))
    }
}

/// Instrumented copies of a command's sources, which exist as long as this does.
struct Copies {
    list: Vec<SourceCopy>,
    /// What Fortran's compilers leave behind for the hooks.
    modules: Vec<String>,
    /// Why sources are not instrumented.
    refused: Vec<String>,
    /// Removed when this is dropped.
    folder: Option<TempDir>,
}

impl Copies {
    fn new(command: &CompilerCommand, options: &SourceOptions) -> anyhow::Result<Copies> {
        let mut copies = Copies { list: Vec::new(), modules: Vec::new(), refused: Vec::new(), folder: None };
        let mut texts = Vec::new();
        for input in &command.inputs {
            let path = command.path(input);
            let shown = path.display();
            let language = match input.kind {
                InputKind::Other => continue,
                _ if !options.includes(path) => continue,
                InputKind::FixedForm => {
                    copies.refused.push(format!("{shown}: fixed form"));
                    continue;
                }
                InputKind::Preprocessed => {
                    copies.refused.push(format!("{shown}: preprocessed"));
                    continue;
                }
                InputKind::Source(language) => language,
            };
            match options.instrument(path, language) {
                Ok(done) if done.regions.is_empty() => {}
                Ok(done) => {
                    copies.modules.extend(done.module);
                    texts.push((input.at, path.to_owned(), language, done.text));
                }
                Err(error @ SourceError::Refused { .. }) => copies.refused.push(error.to_string()),
                // The compiler says it better.
                Err(SourceError::Read { .. }) => {}
            }
        }
        if texts.is_empty() || !copies.refused.is_empty() {
            return Ok(copies);
        }
        let folder = tempfile::Builder::new().prefix("ouzel-cc-").tempdir();
        let folder = folder.context("cannot make a temporary folder")?;
        for (i, (at, source, language, text)) in texts.into_iter().enumerate() {
            let own = folder.path().join(i.to_string());
            let Some(name) = source.file_name() else { bail!("{}: no file", source.display()) };
            let path = own.join(name);
            fs::create_dir(&own)
                .and_then(|()| fs::write(&path, text))
                .with_context(|| path.display().to_string())?;
            let of = source.parent().filter(|of| !of.as_os_str().is_empty()).unwrap_or(Path::new("."));
            copies.list.push(SourceCopy { at, path, of: of.to_owned(), language });
        }
        copies.folder = Some(folder);
        Ok(copies)
    }

    /// Names the sources in files of dependencies, and removes what only the hooks needed.
    fn clean_up(self, command: &CompilerCommand) {
        for copy in &self.list {
            let of = if copy.of == Path::new(".") { PathBuf::new() } else { copy.of.join("") };
            let (Some(folder), Some(of)) = (copy.path.parent().and_then(Path::to_str), of.to_str()) else {
                continue;
            };
            // In makefiles, spaces and some other characters have a backslash or a dollar before them.
            let of = of.replace('$', "$$").replace(' ', "\\ ").replace('#', "\\#");
            for file in command.dependency_files(copy) {
                let Ok(text) = input::read_text(&file, TEXT_BYTES_MAX) else { continue };
                let named = text.replace(&format!("{folder}/"), &of);
                if named != text
                    && let Err(error) = fs::write(&file, named)
                {
                    say(&format!("{}: {error}", file.display()));
                }
            }
        }
        for module in &self.modules {
            let folder = command.modules.as_deref().unwrap_or(Path::new(""));
            // Another compiler may keep it elsewhere, where it does no harm.
            let _ = fs::remove_file(folder.join(format!("{module}.mod")));
        }
        if let Some(Err(error)) = self.folder.map(TempDir::close) {
            say(&format!("a temporary folder cannot be removed: {error}"));
        }
    }
}

fn say(line: &str) {
    // Nothing is left to be done if standard error is closed.
    let _ = writeln!(stderr(), "ouzel: {}", clean(line));
}
