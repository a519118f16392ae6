//! The command line: parsed, and checked.
//!
//! [`args`](crate::args) has the words that commands share, each command's file its own. This module checks them against
//! each other and against the environment, so that commands get consistent values. Inconsistent words are a usage error,
//! reported with the command's usage.

use crate::args::{ColorWhen, Common, LowCommon, OutputFormat};
use crate::command::{Asked, Command, Question, Tool};
use crate::commands::COMMANDS;
use crate::output::{Outputs, Read};
use crate::overview;
use anyhow::Context;
use clap::ArgMatches;
use clap::builder::ValueParser;
use clap::error::ErrorKind;
use console::Term;
use ouzel::model::{Borders, Filter};
use ouzel_export::CsvText;
use ouzel_files::output::Existing;
use ouzel_plot::ImageFormat;
use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

/// What the program is to do.
#[derive(Debug)]
pub enum Words {
    /// Answer a question about a run.
    AboutARun(Box<Common>, Box<dyn Question>),
    /// Answer a question about the program itself.
    AboutTheProgram(Box<dyn Tool>),
}

const ABOUT: &str = "Finds where parallel programs lose time, from the trace you already have";

/// The command line, with all commands.
pub fn program() -> clap::Command {
    clap::Command::new("ouzel")
        .version(env!("CARGO_PKG_VERSION"))
        .about(ABOUT)
        .override_help(overview::text(ABOUT))
        .disable_help_subcommand(true)
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommands(COMMANDS.iter().map(Command::parser))
}

impl Words {
    /// Parses and checks a command line, its first word being the program, and where it is going to write.
    ///
    /// # Errors
    /// A [`clap::Error`] for help, version and every misuse; any other if an output must not or cannot be written.
    pub fn parse(words: impl IntoIterator<Item = OsString>) -> anyhow::Result<Self> {
        let matches = program().try_get_matches_from(words)?;
        let (name, matches) = matches.subcommand().context("no command")?;
        let command = COMMANDS.iter().find(|command| command.name == name).context("an unknown command")?;
        match command.asked(matches)? {
            Asked::AboutTheProgram(tool) => Ok(Words::AboutTheProgram(tool)),
            Asked::AboutARun(low, question) => {
                let format = format(&low);
                check(matches, &low, format, &*question)
                    .map_err(|message| usage_error(command.name, message))?;
                let existing = if low.force { Existing::Replace } else { Existing::Keep };
                let outputs = outputs(command, matches, existing)?;
                Ok(Words::AboutARun(
                    Box::new(common(command.name, low, format, (outputs, existing))),
                    question,
                ))
            }
        }
    }

    /// What the process may take of memory, in bytes.
    pub fn memory_limit(&self) -> Option<u64> {
        match self {
            Words::AboutARun(common, _) => common.memory_limit,
            Words::AboutTheProgram(_) => None,
        }
    }
}

const ANSWER: &str = "output";
const PLOT: &str = "plot_file";

/// The paths on command lines that are written. All others are read.
const WRITTEN: [&str; 3] = [ANSWER, PLOT, "out"];

fn path<'a>(matches: &'a ArgMatches, id: &str) -> Option<&'a Path> {
    matches.try_get_one::<PathBuf>(id).ok().flatten().map(PathBuf::as_path)
}

fn check(
    matches: &ArgMatches,
    low: &LowCommon,
    format: OutputFormat,
    question: &dyn Question,
) -> Result<(), &'static str> {
    if format == OutputFormat::Parquet && low.output.is_none() {
        return Err("--format parquet needs a file: add --output FILE");
    }
    question.check(low, format)?;
    if path(matches, PLOT).is_some_and(|path| ImageFormat::of_path(path).is_err()) {
        return Err("--plot draws .svg and .png: the file name must end in one of these");
    }
    Ok(())
}

/// Where the command writes.
fn outputs(command: &Command, matches: &ArgMatches, existing: Existing) -> anyhow::Result<Outputs> {
    if WRITTEN.iter().all(|id| path(matches, id).is_none()) {
        // Without an output file nothing needs protection, and recognising inputs takes time.
        return Ok(Outputs::default());
    }
    let answer_and_plot = (path(matches, ANSWER), path(matches, PLOT));
    Outputs::planned(answer_and_plot, existing, &read(command, matches))
}

/// Everything that a command line reads besides caches of its own: in places, runs; in options, other files.
fn read<'a>(command: &Command, matches: &'a ArgMatches) -> Read<'a> {
    let mut read = Read::default();
    for word in command.parser().get_arguments() {
        let id = word.get_id().as_str();
        if is_path(word) && !WRITTEN.contains(&id) {
            let paths = matches
                .try_get_many::<PathBuf>(id)
                .ok()
                .flatten()
                .into_iter()
                .flatten()
                .map(PathBuf::as_path);
            if word.is_positional() { read.runs.extend(paths) } else { read.files.extend(paths) }
        }
    }
    read
}

pub fn is_path(word: &clap::Arg) -> bool {
    word.get_value_parser().type_id() == ValueParser::path_buf().type_id()
}

/// The format asked for, else what the ending of the output file says, else a page.
fn format(low: &LowCommon) -> OutputFormat {
    let by_ending = || {
        let ending = low.output.as_deref()?.extension()?.to_str()?.to_ascii_lowercase();
        match &*ending {
            "html" | "htm" => Some(OutputFormat::Html),
            "json" => Some(OutputFormat::Json),
            "csv" => Some(OutputFormat::Csv),
            "parquet" => Some(OutputFormat::Parquet),
            _ => None,
        }
    };
    low.format.or_else(by_ending).unwrap_or(OutputFormat::Table)
}

fn usage_error(command: &str, message: &str) -> clap::Error {
    let mut program = program();
    program.build();
    match program.find_subcommand_mut(command) {
        Some(sub) => sub.error(ErrorKind::ArgumentConflict, message),
        None => program.error(ErrorKind::ArgumentConflict, message),
    }
}

fn common(
    command: &'static str,
    low: LowCommon,
    format: OutputFormat,
    (outputs, existing): (Outputs, Existing),
) -> Common {
    let LowCommon {
        path,
        format: _,
        output: _,
        force: _,
        csv_raw,
        ranks,
        time,
        region,
        predicate,
        trim,
        jobs,
        color,
        no_progress,
        quiet,
        repair_clocks,
        memory_limit,
    } = low;
    let borders = if trim { Borders::Trim } else { Borders::Keep };
    let filter = Filter { ranks, time_ns: time, regions: region, predicate: None, borders };
    let filter = predicate.into_iter().fold(filter, Filter::and);
    let to_terminal = outputs.answer.is_none() && Term::stdout().is_term();
    let stderr_is_terminal = Term::stderr().is_term();
    let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let colour = |terminal: bool| match color {
        ColorWhen::Auto => terminal && !no_color && console::colors_enabled(),
        ColorWhen::Always => true,
        ColorWhen::Never => false,
    };
    let csv_text = match (csv_raw, to_terminal) {
        (true, _) => CsvText::Raw,
        (false, true) => CsvText::ForTerminal,
        (false, false) => CsvText::Guarded,
    };
    Common {
        command,
        path,
        format,
        csv_text,
        page_colour: colour(to_terminal),
        notice_colour: colour(stderr_is_terminal),
        width: width(to_terminal),
        progress: stderr_is_terminal && !no_progress && !quiet,
        outputs,
        existing,
        filter,
        repair_clocks,
        period_ns: None,
        jobs: jobs.unwrap_or_else(default_jobs),
        memory_limit,
        quiet,
    }
}

/// Columns of a page where there is no terminal.
const DEFAULT_WIDTH: usize = 100;

/// `COLUMNS` if set, else the terminal's width, else [`DEFAULT_WIDTH`].
fn width(to_terminal: bool) -> usize {
    let asked = std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok());
    let terminal = || if to_terminal { Term::stdout().size_checked() } else { None };
    asked.or_else(|| terminal().map(|(_, columns)| usize::from(columns))).unwrap_or(DEFAULT_WIDTH).max(40)
}

/// The cores that a batch system gave to this task, else all that the operating system lets us use.
fn default_jobs() -> NonZeroUsize {
    let granted = std::env::var("SLURM_CPUS_PER_TASK").ok().and_then(|text| text.trim().parse().ok());
    granted.or_else(|| std::thread::available_parallelism().ok()).unwrap_or(NonZeroUsize::MIN)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Common, clap::Error> {
        of_words(line.split(' '))
    }

    fn of_words<'a>(words: impl Iterator<Item = &'a str>) -> Result<Common, clap::Error> {
        match Words::parse(words.map(OsString::from))
            .map_err(|error| error.downcast::<clap::Error>().expect("a misuse"))?
        {
            Words::AboutARun(common, _) => Ok(*common),
            Words::AboutTheProgram(_) => panic!("not a question about a trace"),
        }
    }

    #[test]
    fn the_parser_is_well_formed() {
        program().debug_assert();
    }

    /// Every path is read or in [`WRITTEN`].
    #[test]
    fn every_path_on_the_command_line_is_known_as_input_or_output() {
        let program = program();
        let mut n_paths = 0;
        for command in program.get_subcommands() {
            for arg in command.get_arguments().filter(|arg| is_path(arg)) {
                let (command, arg) = (command.get_name(), arg.get_id().as_str());
                let is_known = match arg {
                    "path" | "output" | "file" | "plot_file" => true,
                    "others" => matches!(command, "compare" | "efficiency" | "view"),
                    "out" => matches!(command, "convert" | "instrument"),
                    "sources" => command == "instrument",
                    "filter" | "from" => matches!(command, "cc" | "f90" | "instrument"),
                    "binaries" => command == "structure",
                    "spectra" => command == "correlate",
                    "cache" => command == "view",
                    // It makes a directory of its own.
                    "directory" | "finish" => command == "record",
                    "man" => command == "help",
                    "names" => command == "completions",
                    _ => false,
                };
                assert!(is_known, "{command}: is {arg} read or written?");
                n_paths += 1;
            }
        }
        assert!(50 < n_paths, "the types of arguments are not found any more");
    }

    #[test]
    fn what_a_command_reads_is_known() {
        for (line, runs, files) in [
            ("ouzel report a --rules r.toml -o x", &["a"][..], &["r.toml"][..]),
            ("ouzel imbalance a --rules r.toml --plot p.svg", &["a"], &["r.toml"]),
            ("ouzel causes a --rules r.toml", &["a"], &["r.toml"]),
            ("ouzel compare a b c", &["a", "b", "c"], &[]),
            ("ouzel efficiency a b c", &["a", "b", "c"], &[]),
            ("ouzel correlate a --spectra s", &["a"], &["s"]),
            ("ouzel print a", &["a"], &[]),
            ("ouzel convert a b --to csv", &["a"], &[]),
        ] {
            let matches = program().try_get_matches_from(line.split(' ')).unwrap();
            let (name, matches) = matches.subcommand().unwrap();
            let command = COMMANDS.iter().find(|command| command.name == name).unwrap();
            let read = read(command, matches);
            assert_eq!((read.runs, read.files), (paths(runs), paths(files)), "{line}");
        }
    }

    fn paths<'a>(names: &'a [&'a str]) -> Vec<&'a Path> {
        names.iter().map(Path::new).collect()
    }

    #[test]
    fn a_selection_becomes_a_filter() {
        let common =
            parse("ouzel profile t.otf2 --ranks 0-3,7 --time 1.5..2s --region MPI_* --region main --jobs 3")
                .unwrap();
        assert_eq!(common.filter.ranks.as_ref().unwrap().to_string(), "0-3,7");
        assert_eq!(common.filter.time_ns, Some((1_500_000_000, 2_000_000_000)));
        assert_eq!(common.filter.regions, ["MPI_*", "main"]);
        assert_eq!(common.jobs.get(), 3);
        let words =
            ["ouzel", "idle", "t", "--time", "1..5", "--where", "time < 2s and name = main", "--trim"];
        let filter = of_words(words.into_iter()).unwrap().filter;
        assert_eq!(filter.time_ns, Some((1_000_000_000, 2_000_000_000)));
        assert_eq!(filter.predicate.unwrap().to_string(), "name = \"main\"");
        assert_eq!(filter.borders, Borders::Trim);
    }

    #[test]
    fn the_ending_of_the_output_says_the_format_unless_told() {
        for (line, format) in [
            ("ouzel report t -o report.html", OutputFormat::Html),
            ("ouzel profile t -o a.b.CSV", OutputFormat::Csv),
            ("ouzel profile t -o a.parquet", OutputFormat::Parquet),
            ("ouzel profile t -o a.json", OutputFormat::Json),
            ("ouzel profile t -o a.txt", OutputFormat::Table),
            ("ouzel profile t -o a.csv --format table", OutputFormat::Table),
            ("ouzel profile t", OutputFormat::Table),
        ] {
            assert_eq!(parse(line).unwrap().format, format, "{line}");
        }
    }

    #[test]
    fn what_does_not_fit_together_is_a_usage_error() {
        for (line, needle) in [
            ("ouzel profile t --format parquet", "add --output"),
            ("ouzel info t --format html", "only report"),
            ("ouzel segments t -o page.html", "only report"),
            ("ouzel segments t --id 3 --top 2", "--top"),
            ("ouzel print t --format csv", "print writes lines"),
            ("ouzel convert t out --to csv --format csv", "do not apply"),
            ("ouzel profile t --jobs 0", "--jobs"),
            ("ouzel idle t --plot picture.pdf", ".svg"),
            ("ouzel comm-matrix t --log", "--plot"),
            ("ouzel comm-matrix t --dense", "--format json"),
            ("ouzel profile t --time 3..2", "ends before"),
            ("ouzel profile t --where rank=x", "is not a whole number"),
            ("ouzel print t --where rank=1", "ouzel calls"),
        ] {
            let error = parse(line).unwrap_err();
            assert!(error.use_stderr(), "{line}");
            let text = error.to_string();
            assert!(text.contains(needle), "{line}: {text}");
        }
    }
}
