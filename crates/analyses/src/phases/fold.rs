//! The analysis: its configuration and how its parts are called.

use super::anchors::AnchorRules;
use super::local::PhasesLocal;
use super::output::PhasesOutput;
use super::plan::{AnchorPlan, GroupPlan};
use super::state::PhasesPartial;
use crate::peers::PeerGroups;
use crate::semantics::Semantics;
use ouzel_engine::{
    Analysis, AnalysisError, FinishCx, LocationCx, LocationSummary, Question, Scope, SelectionCx,
};
use ouzel_model::{Content, Contents, EventChunk, Needs, Remap};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

pub(super) const NEEDS: Needs = Needs::COLLECTIVES.union(Needs::CALL_PATHS);

/// Times by call path between one synchronisation of all peers and the next.
#[derive(Debug, Clone, Default)]
pub struct Phases {
    /// What regions mean.
    pub semantics: Semantics,
    /// Which synchronisations the peers had in common, for groups whose own calls do not tell.
    pub plan: AnchorPlan,
}

impl Question for Phases {
    type Analysis = PhasesFold;
    type Output = PhasesOutput;

    fn prepare(self: Arc<Self>, cx: &SelectionCx<'_>) -> Arc<PhasesFold> {
        let peers = PeerGroups::new(cx);
        let classes = self.semantics.classes(cx.definitions);
        let rules = peers.groups().iter().map(|group| AnchorRules::new(cx, group, &classes)).collect();
        Arc::new(PhasesFold { peers, rules, plan: self.plan.clone() })
    }
}

/// [`Phases`] of the selected peers.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct PhasesFold {
    peers: PeerGroups,
    /// By peer group.
    rules: Vec<AnchorRules>,
    plan: AnchorPlan,
}

impl PhasesFold {
    fn plan_of(&self, group: u8) -> Option<&GroupPlan> {
        self.plan.group(self.peers.groups()[usize::from(group)].kind)
    }
}

impl Analysis for PhasesFold {
    type Local = PhasesLocal;
    type Partial = PhasesPartial;
    type Output = PhasesOutput;
    const NAME: &'static str = "phases";
    const PARTIAL_VERSION: u32 = 7;
    /// Who counts anchors from the start of a time range may find others than the peers.
    const SCOPE: Scope = Scope::Locations;

    fn needs(&self) -> Needs {
        NEEDS
    }

    fn speaks_of(&self) -> Contents {
        Contents::of(&[Content::Calls])
    }

    fn empty(&self) -> PhasesPartial {
        PhasesPartial::default()
    }

    fn begin(&self, cx: &LocationCx<'_>) -> PhasesLocal {
        let group = self.peers.place(cx.location).map(|(group, _)| group);
        let n_peers = group.map_or(0, |group| self.peers.groups()[group].members.len());
        let local = PhasesLocal::new(group.map(|group| group as u8), n_peers, cx);
        match group.and_then(|group| self.plan_of(group as u8)) {
            Some(_) => local.planned(self.plan.period(cx.location)),
            None => local,
        }
    }

    fn fold(&self, local: &mut PhasesLocal, chunk: &EventChunk<'_>) {
        if let Some(group) = local.group {
            local.walk(&self.rules[usize::from(group)], self.plan_of(group), chunk);
        }
    }

    fn end(
        &self,
        local: PhasesLocal,
        cx: &LocationCx<'_>,
        summary: &LocationSummary,
        into: &mut PhasesPartial,
    ) {
        let span = summary.span.and_then(|span| cx.selected.clip_span(span));
        let Some(span) = span else { return };
        match local.group.and_then(|group| self.plan_of(group)) {
            Some(plan) => {
                if let Some((group, cut)) = local.finish_planned(plan, cx.location, span) {
                    into.add_cut(group, cut.fine, cut.coarse);
                }
            }
            None => {
                if let Some((key, one)) = local.finish(cx.location, span) {
                    into.add_one(key, one);
                }
            }
        }
    }

    fn remap(&self, partial: &mut PhasesPartial, remap: &Remap) {
        partial.remap(remap);
    }

    fn merge(&self, into: &mut PhasesPartial, from: PhasesPartial) {
        into.merge(from);
    }

    fn finish(&self, partial: PhasesPartial, cx: &FinishCx<'_>) -> Result<PhasesOutput, AnalysisError> {
        Ok(PhasesOutput::new(partial, &self.peers, &self.plan, cx))
    }
}
