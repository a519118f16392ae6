//! The report on a stored profile: its sums, and what `causes` says of them.

use crate::Profile;
use crate::root_causes::REPORT_EFFORT;
use ouzel_analyses::semantics::Semantics;
use ouzel_causes::Options;
use ouzel_diagnose::{ProfileInputs, ProfileReport};
use ouzel_model::{Notice, Notices, SeverityError};
use std::num::NonZeroUsize;

impl Profile {
    /// The report, and everything that went wrong while opening and reading. `semantics` says what regions mean. A
    /// profile without an answer to `causes` has a report that says why.
    ///
    /// # Errors
    /// If severities cannot be read.
    pub fn report(
        &self,
        semantics: &Semantics,
        jobs: NonZeroUsize,
    ) -> Result<(ProfileReport, Vec<Notice>), SeverityError> {
        let options = Options { jobs, max_effort: REPORT_EFFORT, ..Options::default() };
        let causes = self.causes(Some(semantics), &options);
        let inputs = ProfileInputs {
            semantics,
            notices: self.notices(),
            causes: causes.as_ref().map_err(ToString::to_string),
        };
        let (report, more) = ProfileReport::new(self.source(), &inputs)?;
        let notices = Notices::default();
        notices.extend(self.notices().iter().cloned());
        notices.extend(more);
        Ok((report, notices.to_vec()))
    }
}
