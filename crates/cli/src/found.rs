//! What the path of a command contains, a trace or a profile or both, recognised once.

use crate::args::Common;
use crate::profile_session::ProfileSession;
use crate::session::Session;
use ouzel::OpenError;
use std::path::Path;

/// A path that was looked at.
#[derive(Debug)]
pub struct Found<'a> {
    common: &'a Common,
    found: ouzel::Found,
}

/// A trace, or a profile where there is no trace.
#[derive(Debug)]
pub enum Either<'a> {
    /// Events.
    Trace(Session<'a>),
    /// Severities.
    Profile(ProfileSession<'a>),
}

impl<'a> Found<'a> {
    /// Looks at the path that every command takes.
    pub fn new(common: &'a Common) -> Self {
        Found::at(common, &common.path)
    }

    /// Looks at another path.
    pub fn at(common: &'a Common, path: &Path) -> Self {
        Found { common, found: ouzel::Found::at(path) }
    }

    /// Whether it looks like a trace or a profile. It may still be damaged.
    #[cfg(feature = "view")]
    pub fn is_recognised(&self) -> bool {
        self.found.is_recognised()
    }

    /// Opens the trace.
    ///
    /// # Errors
    /// If there is none, or none that can be read.
    pub fn trace(&mut self) -> anyhow::Result<Session<'a>> {
        if let Some(session) = self.opened() {
            return Ok(session);
        }
        let trace = self.found.trace().map_err(|error| self.said(error))?;
        Session::of(self.common, trace)
    }

    /// Opens the profile.
    ///
    /// # Errors
    /// If there is none, or none that can be read.
    pub fn profile(&mut self) -> Result<ouzel::Profile, OpenError> {
        self.found.profile()
    }

    /// Opens the trace; where there is none, the profile.
    ///
    /// # Errors
    /// If there is neither, or what is there cannot be read.
    pub fn either(&mut self) -> anyhow::Result<Either<'a>> {
        if let Some(session) = self.opened() {
            return Ok(Either::Trace(session));
        }
        let of_trace = match self.found.trace() {
            Ok(trace) => return Session::of(self.common, trace).map(Either::Trace),
            Err(error) => error,
        };
        let of_profile = match self.found.profile() {
            Ok(profile) => return ProfileSession::of(self.common, profile).map(Either::Profile),
            Err(error) => error,
        };
        // Input without events may hold a profile; if it does not, the first error is the one to report.
        Err(if is_other_kind(&of_trace) { of_profile.into() } else { self.said(of_trace) })
    }

    /// Opens the profile. If there is none, or a selection was asked for, makes one from the trace by a pass, with a
    /// progress bar if enabled.
    ///
    /// # Errors
    /// If there is neither, or what is there cannot be read.
    pub fn profile_or_made(&mut self) -> anyhow::Result<ProfileSession<'a>> {
        let common = self.common;
        let wants_trace = !common.filter.is_everything() || common.repair_clocks;
        let of_profile = match self.found.profile() {
            Ok(profile) if !wants_trace => return ProfileSession::of(common, profile),
            found => found,
        };
        if let Some(session) = self.opened() {
            return ProfileSession::make(&session);
        }
        let of_trace = match self.found.trace() {
            Ok(trace) => return ProfileSession::make(&Session::of(common, trace)?),
            Err(error) => error,
        };
        Err(match of_profile {
            // There is a profile, and no trace to select from.
            Ok(profile) => return ProfileSession::of(common, profile),
            // It is a profile, but a broken one.
            Err(error @ (OpenError::Read(_) | OpenError::Refused { .. })) => error.into(),
            Err(error) if is_other_kind(&of_trace) => error.into(),
            Err(_) => self.said(of_trace),
        })
    }

    /// The trace, if whoever asks has opened it.
    fn opened(&self) -> Option<Session<'a>> {
        let trace = self.common.outputs.caller.as_ref()?.opened(self.found.path())?;
        Some(Session { common: self.common, trace })
    }

    fn said(&self, error: OpenError) -> anyhow::Error {
        let path = self.found.path();
        match path.symlink_metadata() {
            Ok(_) => error.into(),
            // A stem need not exist, so this is checked last.
            Err(_) => anyhow::anyhow!("no trace at {path:?}: there is no such file or directory"),
        }
    }
}

impl<'a> Session<'a> {
    /// Opens the trace.
    ///
    /// # Errors
    /// If it cannot be opened.
    pub fn open(common: &'a Common) -> anyhow::Result<Self> {
        Found::new(common).trace()
    }

    /// Opens another trace than the one that every command takes.
    ///
    /// # Errors
    /// If it cannot be opened.
    pub fn open_at(common: &'a Common, path: &Path) -> anyhow::Result<Self> {
        Found::at(common, path).trace()
    }
}

fn is_other_kind(error: &OpenError) -> bool {
    matches!(error, OpenError::OtherKind { .. })
}
