//! A trace as a profile: everything that is counted of it, by metric, call path and location.
//!
//! ```text
//! trace ──one pass──► columns by location ──► rows by metric and call path ──► Profile
//! ```
//!
//! What is counted: see [`severity_cube`](ouzel_analyses::severity_cube). The profile is of what the filter selects.
//! What went wrong in the pass are notices of the profile.

use crate::{Answer, AskError, Options, Profile, Trace};
use ouzel_analyses::severity_cube::{SeverityCube, TraceProfile};

impl Trace {
    /// The profile of what is selected.
    ///
    /// # Errors
    /// If the pass was cancelled, or workers could not do their part.
    pub fn severity_cube(&self, options: &Options<'_>) -> Result<Answer<Profile>, AskError> {
        let Answer { output, coverage, run_range, notices } = self.ask(SeverityCube::default(), options)?;
        let source = TraceProfile::new(output, self.definitions(), notices.clone());
        let profile = Profile::of_trace(self, Box::new(source));
        Ok(Answer { output: profile, coverage, run_range, notices })
    }
}
