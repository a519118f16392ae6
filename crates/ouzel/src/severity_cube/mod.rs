//! A trace as a profile: everything counted in it, by metric, call path and location.
//!
//! ```text
//! trace ──one pass──► columns by location ──► rows by metric and call path ──► Profile
//!             └─ too many for memory ─► a part: its rows in a temporary file ─┘
//! ```
//!
//! Waits for other ranks are found in the same pass, or in a second one if there are several parts: they follow from
//! all locations together.
//!
//! For what is counted see [`severity_cube`](ouzel_analyses::severity_cube). The profile covers what the filter
//! selects. Problems in the pass are notices of the profile. Law: the rows do not depend on the number of parts.

mod spill;
mod waiting;

use crate::{Answer, AskError, Options, Profile, Trace, missing};
use ouzel_analyses::severity_cube::{SeverityCube, SeverityCubeOutput, TraceProfile};
use ouzel_engine::{AnalysisSet, IsLast, PassError};
use ouzel_files::memory;
use ouzel_model::{Content, Level, Notice, NoticeCode, Notices, ProfileSource};
use ouzel_waits::{Waits, WaitsOutput};
use spill::Spill;
use std::io;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Where the severities of a trace are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CubeStorage {
    /// Bytes of memory for severities while they are collected; beyond, they go to a temporary file. The default is 1
    /// GiB, which is 40 million values, or an eighth of the memory limit of this process. The values of one location
    /// are always in memory, for each thread.
    pub memory_bytes: u64,
    /// Bytes that the temporary file may take. The default is 64 GiB, which is 5.7 billion values.
    pub scratch_bytes: u64,
    /// The folder of the temporary file, which has no name and is deleted with the profile; `None`: that of the system.
    pub folder: Option<PathBuf>,
}

impl Default for CubeStorage {
    fn default() -> Self {
        CubeStorage { memory_bytes: memory::share(1 << 30), scratch_bytes: 64 << 30, folder: None }
    }
}

impl Trace {
    /// The profile of what is selected; [`severity_cube_in`](Trace::severity_cube_in) the default storage.
    ///
    /// # Errors
    /// If the pass was cancelled, workers could not do their part, or severities could not be kept.
    pub fn severity_cube(&self, options: &Options<'_>) -> Result<Answer<Profile>, AskError> {
        self.severity_cube_in(&CubeStorage::default(), options)
    }

    /// The profile of what is selected, with its severities in `storage`. Workers give all of them to this process,
    /// 12 bytes a value, before they go to a file.
    ///
    /// # Errors
    /// If the pass was cancelled, workers could not do their part, or severities could not be kept.
    pub fn severity_cube_in(
        &self,
        storage: &CubeStorage,
        options: &Options<'_>,
    ) -> Result<Answer<Profile>, AskError> {
        let held_bytes = Arc::new(AtomicU64::new(0));
        let mut set = AnalysisSet::default();
        let key = set.add(SeverityCube::counting(Arc::clone(&held_bytes)));
        let waits = Waits::new(self.definitions()).silent();
        let waits = (waits.has_threads() || self.processes_may_wait()).then_some(waits);
        let waits_key = waits.clone().map(|waits| set.add_silent(waits));
        let Options { filter, jobs, progress, workers, .. } = options;
        let set = set.prepare(self.definitions(), filter);
        let mut collected = Collected { spill: None, last: None };
        let (mut found, mut trouble) = (None, None);
        // Values are in memory twice while the columns of locations become rows.
        let is_full = || storage.memory_bytes / 2 < held_bytes.load(Ordering::Relaxed);
        let report = match workers {
            Some(workers) => {
                let mut report = self.run_on(*workers, &set, *progress)?;
                let output = report.outputs.take(&key)?;
                let is_last = if storage.memory_bytes < VALUE_BYTES * output.n_values() {
                    IsLast::No
                } else {
                    IsLast::Yes
                };
                collected.take(output, is_last, storage)?;
                found = waits_key.map(|key| report.outputs.take(&key)).transpose()?;
                Ok(report)
            }
            None => {
                set.run_in_parts(self.source(), *jobs, *progress, &is_full, &mut |mut outputs, is_last| {
                    held_bytes.store(0, Ordering::Relaxed);
                    let is_whole = is_last == IsLast::Yes && collected.spill.is_none();
                    let mut take = || -> Result<(), AskError> {
                        collected.take(outputs.take(&key)?, is_last, storage)?;
                        let of_all = waits_key.as_ref().filter(|_| is_whole);
                        found = of_all.map(|key| outputs.take(key)).transpose()?;
                        Ok(())
                    };
                    match take() {
                        Ok(()) => ControlFlow::Continue(()),
                        Err(error) => {
                            trouble = Some(error);
                            ControlFlow::Break(())
                        }
                    }
                })
            }
        };
        let mut report = match (report, trouble) {
            (_, Some(trouble)) => return Err(trouble),
            (report, None) => report.map_err(|error: PassError| AskError::from(error))?,
        };
        missing::explain(self.source(), &set, &mut report);
        missing::explain_severities(self.source(), &mut report);
        if let (Some(waits), None) = (waits, &found) {
            found = Some(self.ask(waits, options)?.output);
        }
        if let Some(waits) = found {
            report.notices = with_clocks(report.notices, &waits);
            collected.add(waiting::severities(&waits))?;
        }
        let source = collected.into_source(self, report.notices.clone())?;
        let profile = Profile::of_trace(self, filter, source);
        Ok(Answer::new(profile, report))
    }
}

impl Trace {
    /// Whether one process may wait for another one in a way that the trace records.
    fn processes_may_wait(&self) -> bool {
        let lacks = |content| self.source().lacks(content).is_some();
        1 < self.definitions().processes().len() && !(lacks(Content::Messages) && lacks(Content::Collectives))
    }
}

/// The same with a notice where wrong clocks make waiting wrong.
fn with_clocks(notices: Vec<Notice>, waits: &WaitsOutput) -> Vec<Notice> {
    let all = Notices::default();
    all.extend(notices);
    if 0 < waits.violations.n {
        let message = "waiting for a message ends with its call: it was received before it was sent";
        all.push(Notice::new(Level::Low, NoticeCode::MessageOrder, message).times(waits.violations.n));
    }
    all.to_vec()
}

/// Bytes of a value in memory: the number of its location and the value.
const VALUE_BYTES: u64 = 12;

/// The parts so far.
struct Collected {
    spill: Option<Spill>,
    /// The last one, if it may stay in memory.
    last: Option<SeverityCubeOutput>,
}

impl Collected {
    fn take(&mut self, output: SeverityCubeOutput, is_last: IsLast, storage: &CubeStorage) -> io::Result<()> {
        if is_last == IsLast::Yes && self.spill.is_none() {
            self.last = Some(output);
            return Ok(());
        }
        let spill = match &mut self.spill {
            Some(spill) => spill,
            none => none.insert(Spill::new(storage.folder.as_deref(), storage.scratch_bytes)?),
        };
        spill.add(output)
    }

    /// Adds quantities that no part has.
    fn add(&mut self, more: SeverityCubeOutput) -> io::Result<()> {
        match &mut self.spill {
            Some(spill) => spill.add(more),
            None => {
                self.last = self.last.take().map(|last| last.with(&more));
                Ok(())
            }
        }
    }

    fn into_source(self, trace: &Trace, notices: Vec<Notice>) -> Result<Box<dyn ProfileSource>, AskError> {
        let definitions = trace.definitions();
        Ok(match (self.spill, self.last) {
            (Some(spill), _) => Box::new(spill.into_profile(definitions, notices)?),
            (None, Some(output)) => Box::new(TraceProfile::new(output, definitions, notices)),
            (None, None) => unreachable!("a pass hands out its last part"),
        })
    }
}
