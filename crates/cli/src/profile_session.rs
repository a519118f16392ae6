//! A command at work on a profile: sums over the run, without events.

use crate::args::Common;
use crate::exit::Outcome;
use crate::output::Output;
use crate::session::{self, outcome};
use anyhow::bail;
use ouzel::Profile;
use ouzel::model::{Notice, Notices, Table};
use ouzel_export::{Envelope, Input, InputFilter, NoticeEntry};
use serde::Serialize;
use std::io::Write;

/// A profile with what the user asked of it.
#[derive(Debug)]
pub struct ProfileSession<'a> {
    /// The arguments that every command takes.
    pub common: &'a Common,
    /// The profile.
    pub profile: Profile,
}

/// How much of a profile an answer is from.
#[derive(Debug, Clone, Copy, Serialize)]
struct Coverage {
    locations: u64,
    call_paths: u64,
    metrics: u64,
}

impl<'a> ProfileSession<'a> {
    /// Opens the profile at the path that every command takes.
    ///
    /// # Errors
    /// If there is none, or a selection was asked for that only a trace knows.
    pub fn open(common: &'a Common) -> anyhow::Result<Self> {
        let profile = ouzel::open_profile(&common.path)?;
        let filter = &common.filter;
        let is_whole = filter.ranks.is_none()
            && filter.time_ns.is_none()
            && filter.regions.is_empty()
            && filter.predicate.is_none();
        if !is_whole {
            bail!(
                "a profile holds sums over the whole run: --ranks, --time, --region and --where need a trace"
            );
        }
        Ok(ProfileSession { common, profile })
    }

    /// Writes `data` in the envelope of `answer`.
    ///
    /// # Errors
    /// If the output cannot be written.
    pub fn write_json(&self, answer: &str, notices: &[Notice], data: impl Serialize) -> anyhow::Result<()> {
        let definitions = self.profile.definitions();
        let input = Input {
            path: self.profile.path().display().to_string(),
            format: self.profile.format().as_str().to_owned(),
            filter: InputFilter::from(&self.common.filter),
        };
        let coverage = Coverage {
            locations: definitions.locations.len() as u64,
            call_paths: definitions.call_tree.len() as u64,
            metrics: definitions.metrics.len() as u64,
        };
        let entry = |notice: &Notice| NoticeEntry {
            level: notice.level.as_str(),
            code: notice.code.as_str(),
            message: notice.message.clone(),
            count: notice.count,
            file: notice.file.clone(),
            offset: notice.offset,
            location: notice.location.map(|id| definitions.locations[id.index()].native_id),
        };
        let notices = notices.iter().map(entry).collect();
        let mut out = Output::open(self.common.output.as_deref())?;
        serde_json::to_writer_pretty(&mut out, &Envelope::new(answer, input, coverage, notices, data))?;
        writeln!(out)?;
        out.close()
    }

    /// Writes a page.
    ///
    /// # Errors
    /// If the output cannot be written.
    pub fn write_page(&self, lines: &[String]) -> anyhow::Result<()> {
        session::write_lines(self.common, lines)
    }

    /// Writes `table` as CSV or Parquet, whichever was asked for.
    ///
    /// # Errors
    /// If the output cannot be written.
    pub fn write_table(&self, table: &Table) -> anyhow::Result<()> {
        session::write_table_as(self.common, table)
    }

    /// What went wrong while opening and in `more`, sorted.
    pub fn notices(&self, more: Vec<Notice>) -> Vec<Notice> {
        let notices = Notices::default();
        notices.extend(self.profile.notices().iter().cloned());
        notices.extend(more);
        notices.to_vec()
    }

    /// Tells what went wrong, and how the command ends.
    pub fn end(&self, notices: &[Notice]) -> Outcome {
        session::tell_of(self.common, notices);
        outcome(notices)
    }
}
