//! Answers of all records at once, which tests compare with those of processes one by one.

use super::AcceleratorsOutput;
use super::idle::IdleCause;
use super::kernel_sums::KernelsAsked;
use super::kernels::{KernelsBy, KernelsOutput, KernelsPer};
use super::losses::{DeviceLosses, chosen};
use super::steps::{StepError, StepsAsked};
use super::summary::AcceleratorsSummary;
use ouzel_model::Definitions;

impl AcceleratorsOutput {
    /// What the selected streams run, an operation in the time range in which it begins.
    pub fn kernels(&self, by: KernelsBy, per: KernelsPer, definitions: &Definitions) -> KernelsOutput {
        let asked = KernelsAsked { by, per, only_step: self.only_step, pools: self.kept.pools() };
        self.kernel_sums(by, per, definitions).output(&asked, definitions)
    }

    /// The losses of the whole run; none if it cannot be replayed, and samples do not show what hosts do instead.
    pub fn losses(&self, definitions: &Definitions) -> Option<DeviceLosses> {
        let processes = self.processes(definitions);
        let collectives = self.collective_members(&processes, definitions).instances(definitions);
        let waiting =
            self.idle_of(&processes, definitions).iter().map(|row| row.of(IdleCause::Partner)).sum();
        let imbalance = self.kernel_times(&processes, definitions).imbalance(waiting);
        let code = self.code_of_hosts(&processes);
        drop(processes);
        let of_samples = code.losses(self, definitions);
        let found = of_samples.or_else(|| self.replayed_losses(&collectives, definitions))?;
        Some(DeviceLosses { call_paths: self.call_paths.clone(), list: chosen(found, imbalance) })
    }

    /// What the devices of the selection do; none if there is no operation.
    pub fn summary(&self, definitions: &Definitions) -> Option<AcceleratorsSummary> {
        self.summary_of(&self.processes(definitions), definitions)
    }

    /// Leaves only what is asked for, for [`kernels`](Self::kernels) and [`idle`](Self::idle).
    ///
    /// # Errors
    /// If there are no steps, or not the one that is asked for.
    pub fn select_steps(&mut self, asked: &StepsAsked<'_>) -> Result<(), StepError> {
        asked.check(&self.steps.spans)?;
        self.only_step = asked.step;
        Ok(())
    }
}
