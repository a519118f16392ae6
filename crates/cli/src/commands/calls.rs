//! `ouzel calls`: every call as a row. Files of every format are written while the trace is read, so that memory does
//! not depend on the number of calls.

use super::{first, rows, title};
use crate::args::{Common, OutputFormat, TopArgs};
use crate::command::{Command, Need, Question};
use crate::commands::profile::metrics;
use crate::exit::Outcome;
use crate::output::Output;
use crate::session::{Session, outcome};
use crate::terminal::grid::{Grid, GridColumn};
use crate::terminal::page::Page;
use crate::terminal::style::Paint;
use crate::terminal::units;
use clap::Args;
use ouzel::Answer;
use ouzel::analyses::calls::CallBatch;
use ouzel::model::{MetricId, Table};
use ouzel_answers::{CallsAnswer, StreamedEnvelope};
use ouzel_export::{CsvWriter, ExportError, ParquetWriter, Rows, TableWriter};
use serde::ser::{Error, SerializeSeq};
use serde::{Serialize, Serializer};
use std::cell::OnceCell;
use std::ops::ControlFlow;

pub const COMMAND: Command =
    Command::about_a_run::<CallsArgs>("calls", &[Need::Calls.always(), Need::Counters.with("--metric")]);

/// Every call: when, how long, its caller, and what counters gained
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ouzel calls scorep-run/ --where 'name like \"MPI_*\" and inclusive > 1ms'
  ouzel calls scorep-run/ --ranks 3 --time 10s..20s          calls that overlap the range, whole
  ouzel calls scorep-run/ --metric 'PAPI_*' --format parquet -o calls.parquet

Calls are listed by location, in the order in which they end. They are numbered in the order in which the
calls of their location begin; parent is the number of the enclosing call that is listed.
Files and JSON are written as the trace is read.")]
pub struct CallsArgs {
    /// Add the gains of counters that match this pattern, e.g. 'PAPI_*' (may be repeated)
    #[arg(long, value_name = "PATTERN")]
    pub metric: Vec<String>,

    #[command(flatten)]
    pub top: TopArgs,
}

impl Question for CallsArgs {
    fn run(&self, common: &Common) -> anyhow::Result<Outcome> {
        run(&Session::open(common)?, self)
    }
}

/// The result of a pass, once it has ended.
type Ended = OnceCell<anyhow::Result<Answer<u64>>>;

/// Makes the pass while it is serialised, and then fills `ended`: rows go out as they come.
struct StreamedRows<'s> {
    session: &'s Session<'s>,
    chosen: &'s [MetricId],
    ended: &'s Ended,
}

impl Serialize for StreamedRows<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut rows = serializer.serialize_seq(None)?;
        let mut written = Ok(());
        let answer = self.session.calls(self.chosen, |batch| {
            written = Rows(&batch).add_to(&mut rows);
            if written.is_err() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        written?;
        let trouble = answer.as_ref().err().map(ToString::to_string);
        assert!(self.ended.set(answer).is_ok(), "an answer is written once");
        trouble.map_or_else(|| rows.end(), |trouble| Err(S::Error::custom(trouble)))
    }
}

/// What is known only after the rows.
struct Afterwards<'s, T>(&'s Ended, &'s dyn Fn(&Answer<u64>) -> T);

impl<T: Serialize> Serialize for Afterwards<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let ended = self.0.get().and_then(|answer| answer.as_ref().ok());
        (self.1)(ended.expect("rows come first, and none comes behind trouble")).serialize(serializer)
    }
}

fn run(session: &Session<'_>, args: &CallsArgs) -> anyhow::Result<Outcome> {
    let chosen = metrics::chosen(session.definitions(), &args.metric)?;
    match session.common.format {
        OutputFormat::Csv | OutputFormat::Parquet => write_tables(session, &chosen),
        OutputFormat::Json => write_json(session, &chosen),
        OutputFormat::Table | OutputFormat::Html => write_page(session, args, &chosen),
    }
}

/// One object, its rows written batch after batch.
fn write_json(session: &Session<'_>, chosen: &[MetricId]) -> anyhow::Result<Outcome> {
    let ended = Ended::new();
    let n_calls = |answer: &Answer<u64>| answer.output;
    let coverage = |answer: &Answer<u64>| answer.coverage;
    let notices = |answer: &Answer<u64>| session.entries(&answer.notices);
    let envelope = StreamedEnvelope::new(
        session.common.command,
        session.input(),
        CallsAnswer {
            rows: StreamedRows { session, chosen, ended: &ended },
            n_calls: Afterwards(&ended, &n_calls),
        },
        Afterwards(&ended, &coverage),
        Afterwards(&ended, &notices),
    );
    let written = session.write_envelope(&envelope);
    drop(envelope);
    // The reason why the rows ended matters more than that they could not be written.
    let answer = ended.into_inner().transpose()?;
    written?;
    Ok(outcome(&answer.expect("what was written had rows").notices))
}

/// Batch after batch, so that memory does not depend on the number of calls.
fn write_tables(session: &Session<'_>, chosen: &[MetricId]) -> anyhow::Result<Outcome> {
    let columns = CallBatch::new(chosen.len()).into_table(session.definitions(), chosen);
    let mut out = Output::of(&session.common.outputs)?;
    let mut writer: Box<dyn TableWriter + '_> = match session.common.format {
        OutputFormat::Parquet => Box::new(ParquetWriter::new(&mut out, &columns)?),
        _ => Box::new(CsvWriter::new(&mut out, &columns, session.common.csv_text)?),
    };
    let mut written: Result<(), ExportError> = Ok(());
    let answer = session.calls(chosen, |batch| {
        written = writer.write(&batch);
        if written.is_err() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    written?;
    writer.finish()?;
    out.close()?;
    session.tell(&answer.notices);
    Ok(outcome(&answer.notices))
}

fn write_page(session: &Session<'_>, args: &CallsArgs, chosen: &[MetricId]) -> anyhow::Result<Outcome> {
    let definitions = session.definitions();
    let mut head = CallBatch::new(chosen.len()).into_table(definitions, chosen);
    let answer = session.calls(chosen, |batch| {
        if args.top.top == 0 || head.n_rows() < args.top.top {
            head.append(batch);
        }
        ControlFlow::Continue(())
    })?;
    let n_rows = usize::try_from(answer.output).unwrap_or(usize::MAX);
    let n_shown = args.top.n_shown(n_rows);
    let mut page = Page::new(session.style(), session.common.width);
    title(session, &mut page);
    if n_rows == 0 {
        page.text(0, "no call matches the selection", Paint::Plain);
    } else {
        rows(&mut page, &grid(&head.picked(&first(n_shown))), n_shown, n_rows);
        let n_calls = units::counted(answer.output, "call", "calls");
        page.text(0, &format!("{n_calls}, in the order in which they end"), Paint::Dim);
    }
    session.write_page(&page.lines)?;
    session.tell(&answer.notices);
    Ok(outcome(&answer.notices))
}

fn grid(shown: &Table) -> Grid {
    let column = |name: &str, title: &str| GridColumn::of(shown, name, title);
    let mut grid = Grid::default()
        .with(column("region", "region").naming())
        .with(column("rank", "rank"))
        .with(column("thread", "thread").optional(5))
        .with(column("enter_ns", "enter"))
        .with(column("leave_ns", "leave").optional(4))
        .with(column("inclusive_ns", "inclusive"))
        .with(column("exclusive_ns", "exclusive"))
        .with(column("depth", "depth").optional(2))
        .with(column("call", "call").optional(3))
        .with(column("parent", "parent").optional(3))
        .with(column("n_children", "children").optional(3));
    for metric in shown.columns.iter().filter(|c| c.name.ends_with("clusive")) {
        grid = grid.with(column(&metric.name, &metric.name));
    }
    grid
}
