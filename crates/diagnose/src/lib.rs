//! From results of analyses to a report: what ran, how far it can be trusted, how well
//! the time was used, where it was lost, and what to look at next.
//!
//! Everything here is data; front ends turn it into pages. Law: every number says its
//! unit in its name and its formula in its documentation, and comes from exact sums by
//! one division. Not here: folding events, printing.
#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod advice;
mod cluster_differences;
mod losses;
mod run_card;
mod trust_card;

pub use advice::Advice;
pub use cluster_differences::{PathDifference, cluster_differences};
pub use losses::{Loss, LossKind, RankTime};
pub use run_card::RunCard;
pub use trust_card::{Concern, TrustCard};

use ouzel_analyses::communication::Communication;
use ouzel_analyses::inventory::Inventory;
use ouzel_analyses::pop::{Efficiency, PopOutput, pop};
use ouzel_analyses::profile::Profile;
use ouzel_analyses::semantics::{Class, Semantics};
use ouzel_engine::{AnalysisError, AnalysisSet, Key, Report};
use ouzel_model::{Definitions, Filter, Table};
use serde::Serialize;

/// The one page about a run, as data.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunReport {
    /// What ran.
    pub run: RunCard,
    /// How far the answer can be trusted.
    pub trust: TrustCard,
    /// How well the ranks' time was used; `None` where it cannot be told, see `efficiency_missing`.
    pub efficiency: Option<EfficiencyCard>,
    /// Why there are no efficiencies.
    pub efficiency_missing: Option<String>,
    /// Where time is lost, most first. Uneven work and waiting are two sides of one loss: they do not add up.
    pub losses: Vec<Loss>,
    /// What to look at next.
    pub next: Vec<Advice>,
}

/// Efficiencies of the run, after the POP methodology. All are ratios from 0 to 1;
/// `parallel = load_balance * communication`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct EfficiencyCard {
    /// Number of threads or processes compared.
    pub n_compared: u64,
    /// Whether threads were compared; else processes, which then have one thread each.
    pub of_threads: bool,
    /// Mean computing time / run time.
    pub parallel: f64,
    /// Mean computing time / computing time of the busiest.
    pub load_balance: f64,
    /// Computing time of the busiest / run time.
    pub communication: f64,
}

const LOST_DEFINITIONS: &str =
    "definitions are lost, so it is not known which regions compute and which wait";

impl EfficiencyCard {
    fn of(pop: &PopOutput) -> Self {
        let Efficiency { n, parallel, load_balance, communication, .. } = pop.threads;
        EfficiencyCard {
            n_compared: n,
            of_threads: pop.processes.is_some(),
            parallel,
            load_balance,
            communication,
        }
    }
}

impl RunReport {
    /// The losses as a table.
    pub fn losses_table(&self) -> Table {
        losses::table(&self.losses)
    }
}

/// The analyses that a report is made from.
#[derive(Debug)]
pub struct ReportAnalyses {
    classes: Vec<Class>,
    profile: Key<Profile>,
    inventory: Key<Inventory>,
    communication: Key<Communication>,
}

impl ReportAnalyses {
    /// Adds them to the set of a pass over what `filter` selects; `semantics` says what regions mean.
    pub fn add_to(
        set: &mut AnalysisSet,
        definitions: &Definitions,
        filter: &Filter,
        semantics: &Semantics,
    ) -> Self {
        ReportAnalyses {
            classes: semantics.classes(definitions),
            profile: set.add(Profile),
            inventory: set.add(Inventory),
            communication: set.add(Communication::for_filter(filter)),
        }
    }

    /// The report of the pass.
    ///
    /// # Errors
    /// If one of the analyses could not answer.
    pub fn finish(self, report: &mut Report, definitions: &Definitions) -> Result<RunReport, AnalysisError> {
        let profile = report.outputs.take(&self.profile)?;
        let inventory = report.outputs.take(&self.inventory)?;
        let communication = report.outputs.take(&self.communication)?;
        let classes = self.classes;
        let run = RunCard::new(definitions, report, &inventory, &communication);
        let trust = TrustCard::new(&report.notices, definitions);
        let pop = pop(&profile, definitions, &classes);
        let losses = losses::losses(&profile, definitions, &classes);
        let (efficiency, efficiency_missing) = match pop {
            // Without names nobody knows what is MPI, and everything would look like work.
            _ if trust.lost_definitions() => (None, Some(LOST_DEFINITIONS.to_owned())),
            Ok(pop) => (Some(EfficiencyCard::of(&pop)), None),
            Err(reason) => (None, Some(reason.to_string())),
        };
        let next = advice::advise(&run, &trust, efficiency.as_ref(), &losses, (&profile, &classes));
        Ok(RunReport { run, trust, efficiency, efficiency_missing, losses, next })
    }
}
