//! What the words on the command line mean.
//!
//! [`low`] defines the words and what each does; this module checks them against each
//! other and against the environment, so that commands get consistent values.
//! Inconsistent words are a usage error, reported with the command's usage.

pub mod causes;
pub mod correlate;
pub mod low;
pub mod operations;
mod time_range;

use crate::output::{Outputs, Read};
use causes::CausesArgs;
use clap::error::ErrorKind;
use clap::{CommandFactory, Parser};
use console::Term;
use correlate::CorrelateArgs;
use low::{ColorWhen, LowArgs, LowAsk, LowCommand, LowCommon, RuleArgs};
use operations::Operation;
use ouzel::model::{Borders, Filter};
use ouzel_export::CsvText;
use ouzel_files::output::Existing;
use ouzel_plot::ImageFormat;
use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

pub use low::{
    ClustersArgs, ConvertArgs, InfoArgs, IterationsArgs, LicensesArgs, OutputFormat, Per, PrintArgs,
    ProfileArgs, ReportArgs, Scope, SegmentsArgs, SortBy, Target,
};

/// A command line that makes sense.
#[derive(Debug)]
pub struct Args {
    /// What every command takes.
    pub common: Common,
    /// The command.
    pub command: Command,
}

/// A command with what it alone takes.
#[derive(Debug)]
pub enum Command {
    Report(ReportArgs),
    Segments(SegmentsArgs),
    Clusters(ClustersArgs),
    Iterations(IterationsArgs),
    Info(InfoArgs),
    Print(PrintArgs),
    Profile(ProfileArgs),
    Correlate(Box<CorrelateArgs>),
    Causes(Box<CausesArgs>),
    Operation(Operation),
    Convert(ConvertArgs),
}

/// What every command takes.
#[derive(Debug, Clone)]
pub struct Common {
    /// The trace.
    pub path: PathBuf,
    /// How to answer.
    pub format: OutputFormat,
    /// What becomes of text in CSV.
    pub csv_text: CsvText,
    /// Where to write.
    pub outputs: Outputs,
    /// What becomes of files that are there already.
    pub existing: Existing,
    /// What to look at.
    pub filter: Filter,
    /// Whether clocks are corrected first.
    pub repair_clocks: bool,
    /// Number of threads.
    pub jobs: NonZeroUsize,
    /// Bytes of memory that the process may take.
    pub memory_limit: Option<u64>,
    /// Whether pages are coloured.
    pub page_colour: bool,
    /// Whether notices on standard error are coloured.
    pub notice_colour: bool,
    /// Columns of a page.
    pub width: usize,
    /// Whether a progress bar may be drawn.
    pub progress: bool,
    /// Whether to say nothing on standard error but errors.
    pub quiet: bool,
}

/// What the program is to do.
#[derive(Debug)]
pub enum Words {
    /// Answer a question about a trace.
    Ask(Box<Args>),
    /// Say which crates of others are in the program.
    Licenses(LicensesArgs),
}

impl Words {
    /// Parses and checks a command line, its first word being the program, and where it is going to write.
    ///
    /// # Errors
    /// A [`clap::Error`] for help, version and every misuse; any other if an output must not or cannot be written.
    pub fn parse(words: impl IntoIterator<Item = OsString>) -> anyhow::Result<Self> {
        Ok(match LowArgs::try_parse_from(words)?.command {
            LowCommand::Licenses { args } => Words::Licenses(args),
            LowCommand::Ask(command) => Words::Ask(Box::new(Args::checked(*command)?)),
        })
    }

    /// What the process may take of memory, in bytes.
    pub fn memory_limit(&self) -> Option<u64> {
        match self {
            Words::Ask(args) => args.common.memory_limit,
            Words::Licenses(_) => None,
        }
    }
}

impl Args {
    fn checked(command: LowAsk) -> anyhow::Result<Self> {
        let (low, command) = match command {
            LowAsk::Report { common, args } => (common, Command::Report(args)),
            LowAsk::Segments { common, args } => (common, Command::Segments(args)),
            LowAsk::Clusters { common, args } => (common, Command::Clusters(args)),
            LowAsk::Iterations { common, args } => (common, Command::Iterations(args)),
            LowAsk::Info { common, args } => (common, Command::Info(args)),
            LowAsk::Print { common, args } => (common, Command::Print(args)),
            LowAsk::Profile { common, args } => (common, Command::Profile(args)),
            LowAsk::Correlate { common, args } => (common, Command::Correlate(args)),
            LowAsk::Causes { common, args } => (common, Command::Causes(args)),
            LowAsk::Operation(operation) => {
                let (common, operation) = operation.split();
                (common, Command::Operation(operation))
            }
            LowAsk::Convert { common, args } => (common, Command::Convert(args)),
        };
        check(&low, &command).map_err(|message| usage_error(&command, message))?;
        let existing = if low.force { Existing::Replace } else { Existing::Keep };
        let outputs = match (low.output.as_deref(), command.plot(), &command) {
            // Without an output file nothing needs protection, and recognising inputs takes time.
            (None, None, command) if !matches!(command, Command::Convert(_)) => Outputs::default(),
            (answer, plot, command) => Outputs::planned((answer, plot), existing, &command.read(&low.path))?,
        };
        Ok(Args { common: common(low, outputs, existing), command })
    }
}

impl Command {
    /// The file that a picture is asked for in.
    fn plot(&self) -> Option<&Path> {
        match self {
            Command::Operation(operation) => operation.plot(),
            Command::Correlate(args) => args.plot.plot_file.as_deref(),
            _ => None,
        }
    }

    /// Everything that it reads besides caches of its own.
    fn read<'a>(&'a self, path: &'a Path) -> Read<'a> {
        let (others, file) = match self {
            Command::Operation(operation) => (operation.others(), operation.rules().and_then(RuleArgs::file)),
            Command::Report(args) => (&[][..], args.rules.file()),
            Command::Segments(args) => (&[][..], args.rules.file()),
            Command::Clusters(args) => (&[][..], args.rules.file()),
            Command::Iterations(args) => (&[][..], args.rules.file()),
            Command::Causes(args) => (&[][..], args.rules.file()),
            // The spectra file is written, too, but may only replace a file of spectra.
            Command::Correlate(args) => (&[][..], args.spectra.as_deref()),
            Command::Info(_) | Command::Print(_) | Command::Profile(_) | Command::Convert(_) => {
                (&[][..], None)
            }
        };
        let runs = std::iter::once(path).chain(others.iter().map(PathBuf::as_path)).collect();
        Read { runs, files: file.into_iter().collect() }
    }

    fn name(&self) -> &'static str {
        match self {
            Command::Report(_) => "report",
            Command::Segments(_) => "segments",
            Command::Clusters(_) => "clusters",
            Command::Iterations(_) => "iterations",
            Command::Info(_) => "info",
            Command::Print(_) => "print",
            Command::Profile(_) => "profile",
            Command::Correlate(_) => "correlate",
            Command::Causes(_) => "causes",
            Command::Operation(operation) => operation.name(),
            Command::Convert(_) => "convert",
        }
    }
}

fn check(low: &LowCommon, command: &Command) -> Result<(), &'static str> {
    let format = format(low);
    if format == OutputFormat::Parquet && low.output.is_none() {
        return Err("--format parquet needs a file: add --output FILE");
    }
    let tables = matches!(format, OutputFormat::Csv | OutputFormat::Parquet);
    match command {
        Command::Report(_) => Ok(()),
        Command::Print(_) if low.predicate.is_some() || low.trim => {
            Err("print shows records as they are: use --ranks, --time and --region, or ouzel calls --where")
        }
        Command::Print(_) if low.repair_clocks => {
            Err("print shows records as they are: --repair-clocks does not apply")
        }
        Command::Print(_) if tables || format == OutputFormat::Html => {
            Err("print writes lines: use --format table or json; ouzel convert writes tables of events")
        }
        Command::Convert(_) if tables || format == OutputFormat::Html || low.output.is_some() => {
            Err("convert writes OUT in the format of --to; --output and this --format do not apply")
        }
        _ if command.plot().is_some_and(|path| ImageFormat::of_path(path).is_err()) => {
            Err("--plot draws .svg and .png: the file name must end in one of these")
        }
        Command::Operation(Operation::CommMatrix(args)) if args.dense && format == OutputFormat::Table => {
            Err("--dense needs --format json, csv or parquet")
        }
        _ if format == OutputFormat::Html => {
            Err("only report has a page with pictures: use ouzel report -o FILE.html")
        }
        _ => Ok(()),
    }
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

fn usage_error(command: &Command, message: &str) -> clap::Error {
    let mut program = LowArgs::command();
    program.build();
    match program.find_subcommand_mut(command.name()) {
        Some(sub) => sub.error(ErrorKind::ArgumentConflict, message),
        None => program.error(ErrorKind::ArgumentConflict, message),
    }
}

fn common(low: LowCommon, outputs: Outputs, existing: Existing) -> Common {
    let format = format(&low);
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

    fn parse(line: &str) -> Result<Args, clap::Error> {
        of_words(line.split(' '))
    }

    fn of_words<'a>(words: impl Iterator<Item = &'a str>) -> Result<Args, clap::Error> {
        match Words::parse(words.map(OsString::from))
            .map_err(|error| error.downcast::<clap::Error>().expect("a misuse"))?
        {
            Words::Ask(args) => Ok(*args),
            Words::Licenses(_) => panic!("not a question about a trace"),
        }
    }

    #[test]
    fn the_parser_is_well_formed() {
        LowArgs::command().debug_assert();
    }

    /// Files that a command reads must be known to [`Command::read`], files that it writes to [`Outputs`].
    #[test]
    fn every_path_on_the_command_line_is_known_as_input_or_output() {
        let is_path = |arg: &&clap::Arg| {
            arg.get_value_parser().type_id() == clap::builder::ValueParser::path_buf().type_id()
        };
        let program = LowArgs::command();
        let mut n_paths = 0;
        for command in program.get_subcommands() {
            for arg in command.get_arguments().filter(is_path) {
                let (command, arg) = (command.get_name(), arg.get_id().as_str());
                let is_known = match arg {
                    "path" | "output" | "file" | "plot_file" => true,
                    "others" => command == "compare",
                    "out" => command == "convert",
                    "spectra" => command == "correlate",
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
            ("ouzel report a --rules r.toml", &["a"][..], &["r.toml"][..]),
            ("ouzel imbalance a --rules r.toml", &["a"], &["r.toml"]),
            ("ouzel causes a --rules r.toml", &["a"], &["r.toml"]),
            ("ouzel compare a b c", &["a", "b", "c"], &[]),
            ("ouzel correlate a --spectra s", &["a"], &["s"]),
            ("ouzel print a", &["a"], &[]),
        ] {
            let args = parse(line).unwrap();
            let read = args.command.read(&args.common.path);
            assert_eq!((read.runs, read.files), (paths(runs), paths(files)), "{line}");
        }
    }

    fn paths<'a>(names: &'a [&'a str]) -> Vec<&'a Path> {
        names.iter().map(Path::new).collect()
    }

    #[test]
    fn a_selection_becomes_a_filter() {
        let args =
            parse("ouzel profile t.otf2 --ranks 0-3,7 --time 1.5..2s --region MPI_* --region main --jobs 3")
                .unwrap();
        assert_eq!(args.common.filter.ranks.as_ref().unwrap().to_string(), "0-3,7");
        assert_eq!(args.common.filter.time_ns, Some((1_500_000_000, 2_000_000_000)));
        assert_eq!(args.common.filter.regions, ["MPI_*", "main"]);
        assert_eq!(args.common.jobs.get(), 3);
        let words =
            ["ouzel", "idle", "t", "--time", "1..5", "--where", "time < 2s and name = main", "--trim"];
        let filter = of_words(words.into_iter()).unwrap().common.filter;
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
            assert_eq!(parse(line).unwrap().common.format, format, "{line}");
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
