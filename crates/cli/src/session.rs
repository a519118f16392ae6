//! One command at work: the opened trace, the pass over it, and where the answer goes.

use crate::args::{Common, OutputFormat};
use crate::exit::Outcome;
use crate::output::Output;
use crate::terminal::page::Page;
use crate::terminal::style::{Style, shown};
use crate::{notices, progress};
use anyhow::Context;
use ouzel::analyses::time_grid::TimeGrid;
use ouzel::engine::{Coverage, Question};
use ouzel::model::{Definitions, Filter, Level, MetricId, Notice, Table};
use ouzel::{Answer, AskError, Asked, Options, Profile, Trace};
use ouzel_answers::{Envelope, Input, InputFilter, NoticeEntry};
use ouzel_export::{CsvWriter, ParquetWriter, TableWriter, write_pretty};
use serde::Serialize;
use std::borrow::Borrow;
use std::io::Write;
use std::num::NonZeroU16;
use std::ops::ControlFlow;
use std::sync::Arc;

/// A trace with what the user asked of it.
#[derive(Debug)]
pub struct Session<'a> {
    /// The arguments that every command takes.
    pub common: &'a Common,
    /// The trace.
    pub trace: Arc<Trace>,
}

/// The trace on repaired clocks.
fn repaired(common: &Common, trace: Trace) -> anyhow::Result<Trace> {
    let everything = Filter::default();
    let total_bytes = trace.event_bytes(&everything);
    let jobs = common.jobs;
    Ok(progress::with_bar(
        common,
        || total_bytes,
        |progress| {
            trace.repair_clocks(&Options {
                filter: everything,
                jobs,
                progress: Some(progress),
                ..Options::default()
            })
        },
    )?)
}

impl<'a> Session<'a> {
    /// A trace that was opened.
    ///
    /// # Errors
    /// If its clocks are to be repaired, and cannot be.
    pub fn of(common: &'a Common, trace: Trace) -> anyhow::Result<Self> {
        let trace = if common.repair_clocks { repaired(common, trace)? } else { trace };
        Ok(Session { common, trace: Arc::new(trace) })
    }

    /// The definitions of the trace.
    pub fn definitions(&self) -> &Definitions {
        self.trace.definitions()
    }

    /// The trace as the user calls it, and what is selected of it.
    pub fn asked(&self) -> Asked {
        Asked::new(self.trace.path().display().to_string(), &self.common.filter)
    }

    /// How the page is painted.
    pub fn style(&self) -> Style {
        Style::new(self.common.page_colour)
    }

    /// The output of one analysis over what is selected, with a progress bar if enabled.
    ///
    /// # Errors
    /// If the analysis cannot answer.
    pub fn ask<Q: Question>(&self, question: Q) -> anyhow::Result<Answer<Q::Output>> {
        self.with_bar(|options| self.trace.ask(question, options))
    }

    /// The output of one analysis in bins over the run.
    ///
    /// # Errors
    /// If the analysis cannot answer.
    pub fn ask_in_bins<Q: Question>(
        &self,
        n_bins: NonZeroU16,
        question: impl Fn(TimeGrid) -> Q,
    ) -> anyhow::Result<Answer<Q::Output>> {
        self.with_bar(|options| self.trace.ask_in_bins(n_bins, question, options))
    }

    /// The calls that are selected, batch by batch, with a progress bar if enabled.
    ///
    /// # Errors
    /// If an analysis broke a promise.
    pub fn calls(
        &self,
        metrics: &[MetricId],
        take: impl FnMut(Table) -> ControlFlow<()>,
    ) -> anyhow::Result<Answer<u64>> {
        self.with_bar(|options| self.trace.calls(metrics, options, take))
    }

    /// What is selected as a profile, with a progress bar if enabled.
    ///
    /// # Errors
    /// If the pass fails.
    pub fn severity_cube(&self) -> anyhow::Result<Answer<Profile>> {
        self.with_bar(|options| self.trace.severity_cube(options))
    }

    /// The answer to a question that takes several passes, with a progress bar if enabled.
    ///
    /// # Errors
    /// If there is no answer.
    pub fn answer<T>(
        &self,
        ask: impl FnOnce(&Trace, &Options<'_>) -> Result<Answer<T>, AskError>,
    ) -> anyhow::Result<Answer<T>> {
        self.with_bar(|options| ask(&self.trace, options))
    }

    /// What `work` gives, with a progress bar if enabled.
    ///
    /// # Errors
    /// The error of `work`.
    pub fn with_bar<T, E: Into<anyhow::Error>>(
        &self,
        work: impl FnOnce(&Options<'_>) -> Result<T, E>,
    ) -> anyhow::Result<T> {
        let Common { filter, jobs, period_ns, .. } = self.common;
        let total_bytes = || self.trace.event_bytes(filter);
        let period = period_ns.map(|ns| self.definitions().clock.ticks_from_ns(ns));
        progress::with_bar(self.common, total_bytes, |progress| {
            work(&Options {
                filter: filter.clone(),
                jobs: *jobs,
                progress: Some(progress),
                period,
                workers: None,
            })
        })
        .map_err(Into::into)
    }

    /// Gives an answer in the form that was asked for: `data` for JSON, `table` for files of tables, `page` for people.
    /// Reports notices; they determine how the command ends.
    ///
    /// # Errors
    /// If the output cannot be written.
    pub fn reply<'t, T, D: Serialize, B: InBatches>(
        &self,
        answer: &'t Answer<T>,
        data: impl FnOnce(&'t T) -> D,
        table: impl FnOnce(&'t T) -> B,
        page: impl FnOnce(&T, &mut Page),
    ) -> anyhow::Result<Outcome> {
        match self.common.format {
            OutputFormat::Json => {
                self.write_json(answer.coverage, &answer.notices, data(&answer.output))?;
            }
            OutputFormat::Csv | OutputFormat::Parquet => {
                write_batches_as(self.common, table(&answer.output).batches())?;
            }
            OutputFormat::Table | OutputFormat::Html => {
                let mut lines = Page::new(self.style(), self.common.width);
                page(&answer.output, &mut lines);
                self.write_page(&lines.lines)?;
            }
        }
        self.tell(&answer.notices);
        Ok(outcome(&answer.notices))
    }

    /// Writes a page.
    ///
    /// # Errors
    /// If the output cannot be written.
    pub fn write_page(&self, lines: &[String]) -> anyhow::Result<()> {
        write_lines(self.common, lines)
    }

    /// Writes a page that is one text.
    ///
    /// # Errors
    /// If the output cannot be written.
    pub fn write_text(&self, text: &str) -> anyhow::Result<()> {
        write_text_as(self.common, text)
    }

    /// Writes `data` in the envelope of the command.
    ///
    /// # Errors
    /// If the output cannot be written.
    pub fn write_json(
        &self,
        coverage: Coverage,
        notices: &[Notice],
        data: impl Serialize,
    ) -> anyhow::Result<()> {
        let notices = self.entries(notices);
        self.write_envelope(&Envelope::new(self.common.command, self.input(), coverage, notices, data))
    }

    /// Writes an envelope, whole or streamed.
    ///
    /// # Errors
    /// If the output cannot be written, or the streamed part fails.
    pub fn write_envelope(&self, envelope: &impl Serialize) -> anyhow::Result<()> {
        let mut out = Output::of(&self.common.outputs)?;
        write_pretty(&mut out, envelope)?;
        out.close()
    }

    /// What was asked.
    pub fn input(&self) -> Input {
        Input {
            path: self.trace.path().display().to_string(),
            format: self.trace.format().as_str().to_owned(),
            filter: InputFilter::from(&self.common.filter),
        }
    }

    /// Notices as users see them.
    pub fn entries(&self, notices: &[Notice]) -> Vec<NoticeEntry> {
        notices.iter().map(|n| NoticeEntry::new(n, &self.definitions().locations)).collect()
    }

    /// Writes `table` as CSV or Parquet, whichever was asked for.
    ///
    /// # Errors
    /// If the output cannot be written.
    pub fn write_table(&self, table: &Table) -> anyhow::Result<()> {
        write_table_as(self.common, table)
    }

    /// Reports on standard error what went wrong, unless the answer contains it or `--quiet` is given.
    pub fn tell(&self, notices: &[Notice]) {
        tell_of(self.common, notices);
    }
}

/// Writes a page.
///
/// # Errors
/// If the output cannot be written.
pub fn write_lines(common: &Common, lines: &[String]) -> anyhow::Result<()> {
    let mut out = Output::of(&common.outputs)?;
    for line in lines {
        writeln!(out, "{}", shown(line))?;
    }
    out.close()
}

/// Writes `text` as it is.
///
/// # Errors
/// If the output cannot be written.
pub fn write_text_as(common: &Common, text: &str) -> anyhow::Result<()> {
    let mut out = Output::of(&common.outputs)?;
    out.write_all(text.as_bytes())?;
    out.close()
}

/// A table, whole or in batches that are made when they are written.
pub trait InBatches {
    /// The batches, at least one.
    fn batches(self) -> impl Iterator<Item = Table>;
}

impl InBatches for Table {
    fn batches(self) -> impl Iterator<Item = Table> {
        std::iter::once(self)
    }
}

/// Batches of a table, at least one.
#[derive(Debug)]
pub struct Batched<I>(pub I);

impl<I: Iterator<Item = Table>> InBatches for Batched<I> {
    fn batches(self) -> impl Iterator<Item = Table> {
        self.0
    }
}

/// Writes `table` as CSV or Parquet, whichever was asked for.
///
/// # Errors
/// If the output cannot be written.
pub fn write_table_as(common: &Common, table: &Table) -> anyhow::Result<()> {
    write_batches_as(common, std::iter::once(table))
}

/// Writes batches of a table, at least one, as CSV or Parquet, whichever was asked for.
fn write_batches_as(
    common: &Common,
    batches: impl IntoIterator<Item = impl Borrow<Table>>,
) -> anyhow::Result<()> {
    let mut batches = batches.into_iter();
    let first = batches.next().context("a table without a batch")?;
    let mut out = Output::of(&common.outputs)?;
    let mut writer: Box<dyn TableWriter + '_> = match common.format {
        OutputFormat::Parquet => Box::new(ParquetWriter::new(&mut out, first.borrow())?),
        OutputFormat::Csv | OutputFormat::Json | OutputFormat::Table | OutputFormat::Html => {
            Box::new(CsvWriter::new(&mut out, first.borrow(), common.csv_text)?)
        }
    };
    writer.write(first.borrow())?;
    for batch in batches {
        writer.write(batch.borrow())?;
    }
    writer.finish()?;
    out.close()
}

/// Reports on standard error what went wrong, unless the answer contains it or `--quiet` is given.
pub fn tell_of(common: &Common, notices: &[Notice]) {
    if common.quiet || common.format == OutputFormat::Json {
        return;
    }
    notices::print(notices, &common.path, Style::new(common.notice_colour));
}

/// How a command that answered in spite of `notices` ends.
pub fn outcome(notices: &[Notice]) -> Outcome {
    if notices.iter().any(|notice| notice.level == Level::High) {
        Outcome::DataLost
    } else {
        Outcome::Complete
    }
}
