//! A command at work on a profile: sums over the run, without events. Read from a file, or made from a trace.

use crate::args::Common;
use crate::exit::Outcome;
use crate::output::Output;
use crate::session::{self, Session, outcome};
use anyhow::bail;
use ouzel::Profile;
use ouzel::model::{Notice, Notices, Table};
use ouzel_answers::{Envelope, Input, InputFilter, NoticeEntry, ProfileCoverage};
use ouzel_export::write_pretty;
use serde::Serialize;

/// A profile with what the user asked of it.
#[derive(Debug)]
pub struct ProfileSession<'a> {
    /// The arguments that every command takes.
    pub common: &'a Common,
    /// The profile.
    pub profile: Profile,
}

impl<'a> ProfileSession<'a> {
    /// A profile that was opened.
    ///
    /// # Errors
    /// If the selection needs a trace.
    pub fn of(common: &'a Common, profile: Profile) -> anyhow::Result<Self> {
        if !common.filter.is_everything() {
            bail!(
                "a profile holds sums over the whole run: --ranks, --time, --region and --where need a trace"
            );
        }
        if common.repair_clocks {
            bail!("a profile has no clocks: --repair-clocks needs a trace");
        }
        Ok(ProfileSession { common, profile })
    }

    /// The profile of what is selected of a trace.
    ///
    /// # Errors
    /// If the pass fails.
    pub fn make(session: &Session<'a>) -> anyhow::Result<Self> {
        let common = session.common;
        let (path, caller) = (session.trace.path(), common.outputs.caller.as_ref());
        if let Some(profile) = caller.and_then(|caller| caller.made.last(path, &common.filter)) {
            return Ok(ProfileSession { common, profile });
        }
        let profile = session.severity_cube()?.output;
        if let Some(caller) = caller {
            caller.made.keep(path, &common.filter, &profile);
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
        let coverage = ProfileCoverage::of(&self.profile);
        let entry = |notice: &Notice| NoticeEntry::new(notice, &definitions.locations);
        let notices = notices.iter().map(entry).collect();
        let mut out = Output::of(&self.common.outputs)?;
        write_pretty(&mut out, &Envelope::new(answer, input, coverage, notices, data))?;
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

    /// Reports what went wrong, and how the command ends.
    pub fn end(&self, notices: &[Notice]) -> Outcome {
        session::tell_of(self.common, notices);
        outcome(notices)
    }
}
