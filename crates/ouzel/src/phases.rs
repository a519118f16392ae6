//! Phases of a run, aligned by exact synchronisations where there are such, else by a plan.
//!
//! ```text
//! pass over calls ──do all peers synchronise alike?──► phases
//!                 ├─samples without any────► one phase
//!                 └─no, or samples─► plan of common synchronisations ──second pass──► phases
//! ```
//!
//! Law: where the calls of all peers are exact and agree, there is no second pass.

use crate::{AskError, Options, Trace};
use ouzel_analyses::phases::{
    Alignment, AnchorPlan, AnchorSightings, Phases, PhasesOutput, SamplePeriods, SamplePeriodsOutput,
    SightingsOutput,
};
use ouzel_analyses::semantics::{Category, Semantics};
use ouzel_engine::{AnalysisError, AnalysisSet, Key, Report};
use ouzel_model::{Definitions, Notice, NoticeCode};

/// What a pass has to see for a plan, beside the phases by exact synchronisations.
#[derive(Debug)]
pub(crate) struct PlanKeys(Option<(Key<AnchorSightings>, Key<SamplePeriods>)>);

/// What a plan is made from; `None` if there are no samples.
pub(crate) type PlanInputs = Option<(SightingsOutput, SamplePeriodsOutput)>;

/// Phases that are better than those of the first pass.
#[derive(Debug)]
pub(crate) struct Planned {
    /// The phases.
    pub output: PhasesOutput,
    /// The notices of the second pass, if there was one.
    pub notices: Option<Vec<Notice>>,
}

impl PlanKeys {
    /// Adds what is needed to the set of a pass: nothing if the trace has no samples.
    pub fn add_to(set: &mut AnalysisSet, definitions: &Definitions, semantics: &Semantics) -> Self {
        let has_samples = !definitions.sampled_contexts.is_empty();
        PlanKeys(has_samples.then(|| {
            let sightings = set.add_silent(AnchorSightings { semantics: semantics.clone() });
            (sightings, set.add_silent(SamplePeriods))
        }))
    }

    /// Takes it out of the result.
    pub fn take(self, pass: &mut Report) -> Result<PlanInputs, AnalysisError> {
        let Some((sightings, periods)) = self.0 else { return Ok(None) };
        Ok(Some((pass.outputs.take(&sightings)?, pass.outputs.take(&periods)?)))
    }
}

impl Trace {
    /// Phases of the peers; `semantics` says what regions mean. One pass, and one or two more where peers are sampled or do
    /// not synchronise alike.
    ///
    /// # Errors
    /// If a pass was cancelled, or the analysis cannot answer.
    pub fn phases(
        &self,
        semantics: &Semantics,
        options: &Options<'_>,
    ) -> Result<crate::Answer<PhasesOutput>, AskError> {
        let mut set = AnalysisSet::default();
        let phases = set.add(Phases { semantics: semantics.clone(), ..Phases::default() });
        let keys = PlanKeys::add_to(&mut set, self.definitions(), semantics);
        let mut pass = self.run(&set, options)?;
        let first = pass.outputs.take(&phases)?;
        let inputs = keys.take(&mut pass)?;
        let (output, notices) = match self.planned_phases(&first, inputs, semantics, options)? {
            Some(Planned { output, notices: Some(notices) }) => (output, replaced(&pass.notices, &notices)),
            Some(Planned { output, notices: None }) => (output, pass.notices.clone()),
            None => (first, pass.notices.clone()),
        };
        Ok(crate::Answer { notices, ..crate::Answer::new(output, pass) })
    }

    /// The phases by a plan, or with what is known of samples beside recorded calls; `None` if those of the first pass are
    /// as good.
    pub(crate) fn planned_phases(
        &self,
        first: &PhasesOutput,
        inputs: PlanInputs,
        semantics: &Semantics,
        options: &Options<'_>,
    ) -> Result<Option<Planned>, AskError> {
        let n_aligned = |kind| {
            let group = first.groups.iter().find(|group| group.kind == kind);
            group.and_then(|group| match group.alignment {
                Alignment::Complete => None,
                Alignment::UpTo { n_anchors, .. } => Some(n_anchors),
            })
        };
        let is_cut = |kind| n_aligned(kind).is_some();
        let (sightings, periods) = match inputs {
            Some((sightings, periods)) => (sightings, periods.with_period(options.period)),
            None if first.groups.iter().any(|group| is_cut(group.kind)) => {
                let mut set = AnalysisSet::default();
                let sightings = set.add_silent(AnchorSightings { semantics: semantics.clone() });
                (self.run(&set, options)?.outputs.take(&sightings)?, SamplePeriodsOutput::default())
            }
            None => return Ok(None),
        };
        let mut plan = AnchorPlan::new(&sightings, periods.clone(), is_cut);
        // More can be common to all in order than happens at one time: clocks may be wrong.
        plan.retain_better(|kind| n_aligned(kind).unwrap_or_default());
        let is_waiting =
            |region| semantics.class(self.definitions().region(region)).category != Category::Computation;
        if plan.is_empty() {
            let output = first.beside_samples(&periods, is_waiting);
            return Ok(output.map(|output| Planned { output, notices: None }));
        }
        if let Some((output, notices)) = first.as_planned(&plan, &self.definitions().clock) {
            let output = output.beside_samples(&periods, is_waiting).unwrap_or(output);
            return Ok(Some(Planned { output, notices: Some(notices) }));
        }
        let mut set = AnalysisSet::default();
        let phases = set.add(Phases { semantics: semantics.clone(), plan });
        let mut pass = self.run(&set, options)?;
        let output = pass.outputs.take(&phases)?;
        let output = output.beside_samples(&periods, is_waiting).unwrap_or(output);
        Ok(Some(Planned { output, notices: Some(pass.notices) }))
    }
}

/// The notices of the first pass, with what the second says of phases instead of what the first says of them.
pub(crate) fn replaced(first: &[Notice], second: &[Notice]) -> Vec<Notice> {
    let of_phases = |notice: &&Notice| {
        matches!(notice.code, NoticeCode::UnalignedSynchronisations | NoticeCode::CoarsePhases)
            || notice.code == NoticeCode::UncertainInstances && !first.contains(notice)
    };
    let kept = first.iter().filter(|notice| notice.code != NoticeCode::UnalignedSynchronisations);
    let all = ouzel_model::Notices::default();
    all.extend(kept.cloned());
    all.extend(second.iter().filter(of_phases).cloned());
    all.to_vec()
}
