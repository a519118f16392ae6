//! `ouzel view`: look at runs in a browser.

mod asker;

use super::COMMANDS;
use crate::args::{Common, LowCommon, OutputFormat};
use crate::command::{Command, Need, Question};
use crate::exit::Outcome;
use crate::found::{Either, Found};
use crate::terminal::style::shown;
use asker::Asker;
use clap::Args;
use ouzel_view::{Answers, Listen, Run, ServeError, Settings, TileCache, serve, view_file};
use std::io::Write as _;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

pub const COMMAND: Command = Command::about_a_run::<ViewArgs>("view", &[Need::Calls.always()]);

/// Look at runs in a browser: timeline, findings, profiles
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ouzel view scorep-run/                       opens a browser, or prints the address
  ouzel view before/ after/                    two runs
  ouzel view scorep-run/ -o view.html          one file to keep or send, which any browser shows
  ouzel view scorep-run/ --cache ~/.cache/ouzel-view     the second start shows the timeline at once
  ouzel view scorep-run/ --no-open --port 8000
  ouzel view scorep-run/ --listen unix:ouzel-view/socket

On a machine without a screen, run the printed ssh line on your own machine, then open the printed
address there. The address contains a secret: who has it sees the run. The server listens on loopback
only. It ends with Ctrl-C, or when no request comes for the time of --idle.")]
pub struct ViewArgs {
    /// Other traces to look at
    #[arg(value_name = "OTHER")]
    pub others: Vec<PathBuf>,

    /// Listen on a Unix socket: unix:PATH, in a folder that only you can enter
    #[arg(long, value_name = "WHERE", conflicts_with = "port")]
    pub listen: Option<Socket>,

    /// Listen on this port of 127.0.0.1 [default: any that is free]
    #[arg(long, value_name = "PORT")]
    pub port: Option<u16>,

    /// Open no browser
    #[arg(long)]
    pub no_open: bool,

    /// Keep the timeline in this folder for the next start: a new one, or one that only you can enter
    #[arg(long, value_name = "DIR", conflicts_with = "output")]
    pub cache: Option<PathBuf>,

    /// End when nobody has asked anything for so long, e.g. 30m
    #[arg(long, value_name = "TIME", default_value = "2h", value_parser = idle)]
    pub idle: Duration,

    /// With --output: most bytes of the file; more show finer times [default: 20M]
    #[arg(long, value_name = "SIZE", value_parser = ouzel_files::memory::parse_bytes, requires = "output")]
    pub detail: Option<u64>,
}

/// Bytes of a file, unless told otherwise: what mail still takes.
const DETAIL_BYTES: u64 = 20_000_000;

/// `unix:PATH`.
#[derive(Debug, Clone)]
pub struct Socket(PathBuf);

impl FromStr for Socket {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let path = text.strip_prefix("unix:").filter(|path| !path.is_empty());
        path.map(|path| Socket(path.into())).ok_or_else(|| "write unix:PATH; for a port, --port".to_owned())
    }
}

/// A number with `h`, `m` or `s`.
fn idle(text: &str) -> Result<Duration, String> {
    let units = [("h", 3600), ("min", 60), ("m", 60), ("s", 1)];
    let found = units.iter().find_map(|(unit, seconds)| Some((text.strip_suffix(unit)?, *seconds)));
    let time = found.and_then(|(number, seconds)| number.trim().parse::<u64>().ok()?.checked_mul(seconds));
    let time = time.filter(|&seconds| 0 < seconds && seconds <= 366 * 24 * 3600);
    time.map(Duration::from_secs).ok_or_else(|| "write a time such as 2h, 30m or 45s".to_owned())
}

impl Question for ViewArgs {
    fn check(&self, common: &LowCommon, format: OutputFormat) -> Result<(), &'static str> {
        match (format, &common.output) {
            (OutputFormat::Table, None) => Ok(()),
            (OutputFormat::Html, Some(_)) if !self.others.is_empty() => Err("a file shows one run"),
            (OutputFormat::Html, Some(_)) if self.listen.is_some() || self.port.is_some() || self.no_open => {
                Err("--listen, --port and --no-open are for the server; with --output there is none")
            }
            (OutputFormat::Html, Some(_)) => Ok(()),
            _ => Err("view shows runs in a browser: no format applies, and --output names a .html file"),
        }
    }

    fn run(&self, common: &Common) -> anyhow::Result<Outcome> {
        run(common, self)
    }
}

/// Writes one file that shows what is selected.
fn write_file(common: &Common, args: &ViewArgs) -> anyhow::Result<Outcome> {
    let run = opened(Found::at(common, &common.path))?;
    let asker = Asker::new(common.clone(), std::slice::from_ref(&run));
    let file = view_file(run, Arc::new(asker), &common.filter, args.detail.unwrap_or(DETAIL_BYTES))?;
    crate::session::write_text_as(common, &file.html)?;
    if !common.quiet {
        let mut to = std::io::stderr().lock();
        // The file says it, too: it is complete if nobody reads this.
        let _ = file.left_out.iter().try_for_each(|what| writeln!(to, "not in the file: {}", shown(what)));
    }
    Ok(Outcome::Complete)
}

fn run(common: &Common, args: &ViewArgs) -> anyhow::Result<Outcome> {
    if common.outputs.answer.is_some() {
        return write_file(common, args);
    }
    let paths = std::iter::once(&common.path).chain(&args.others);
    let found: Vec<Found<'_>> = paths.map(|path| Found::at(common, path)).collect();
    let is_recognised = found.iter().all(Found::is_recognised);
    let open_all = || found.into_iter().map(opened).collect::<anyhow::Result<Vec<Run>>>();
    if !is_recognised {
        // No address for what is no run: the user sees the error alone.
        return open_all().map(|_| Outcome::Complete);
    }
    let open = || {
        let runs = open_all()?;
        let asker = Asker::new(common.clone(), &runs);
        Ok((runs, Arc::new(asker) as Arc<dyn Answers>))
    };
    let any_port = 0;
    let listen = match &args.listen {
        Some(Socket(path)) => Listen::Socket(path.clone()),
        None => Listen::Port(args.port.unwrap_or(any_port)),
    };
    let cache = args.cache.as_deref().map(TileCache::at);
    let settings = Settings { listen, opens_browser: !args.no_open, cache, idle: args.idle };
    let tell = |lines: &[String]| {
        if !common.quiet {
            // Without a reader of these lines, the browser is open all the same.
            let _ = crate::session::write_lines(
                common,
                &lines.iter().map(|line| shown(line).into_owned()).collect::<Vec<_>>(),
            );
        }
    };
    serve(open, &settings, tell).map_err(|error| match error {
        ServeError::Open(error) => error,
        ServeError::Serve(error) => anyhow::Error::new(error).context("cannot serve"),
    })?;
    Ok(Outcome::Complete)
}

fn opened(mut found: Found<'_>) -> anyhow::Result<Run> {
    Ok(match found.either()? {
        Either::Trace(session) => Run::Trace(session.trace),
        Either::Profile(session) => Run::Profile(Arc::new(session.profile)),
    })
}
