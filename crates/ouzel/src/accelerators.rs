//! What accelerators do, by the steps that are asked for.

use crate::{Answer, AskError, Options, Trace};
use ouzel_waits::accelerators::{Accelerators, AcceleratorsOutput, StepsAsked};

impl Trace {
    /// What accelerators do, with the steps of the trace.
    ///
    /// # Errors
    /// If the pass was cancelled; if steps are asked for, and there are none or not the one that is asked for.
    pub fn accelerators(
        &self,
        asked: &StepsAsked<'_>,
        options: &Options<'_>,
    ) -> Result<Answer<AcceleratorsOutput>, AskError> {
        let definitions = self.definitions();
        let analysis = Accelerators::new(definitions).with_steps(asked, definitions)?;
        let mut answer = self.ask(analysis, options)?;
        answer.output.select_steps(asked)?;
        Ok(answer)
    }
}
