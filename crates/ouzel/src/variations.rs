//! What varies over the topology like the findings of a report.
//!
//! ```text
//! wanted? ──yes──► SeverityCube in the report's own pass ──► correlate for each large finding ──► Finding::varies_like
//! ```
//!
//! Law: a finding is otherwise the same with and without it; where nothing can be compared, nothing is added. The
//! method is in `ouzel_correlate`, the wording for people elsewhere.

use crate::CorrelationError;
use crate::correlation::topology;
use ouzel_analyses::severity_cube::{SeverityCubeOutput, TraceProfile};
use ouzel_correlate::{
    AxisSet, CorrelateError, Correlation, Correlations, Grid, Question, Run, View, correlate, view_on_grid,
};
use ouzel_diagnose::RunReport;
use ouzel_diagnose::findings::{TopologyAxis, VariesLike, VariesRow};
use ouzel_model::{
    CallPathId, CartTopology, Definitions, Level, Notice, NoticeCode, ProfileDefinitions, ProfileSource,
    Scope,
};
use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::sync::Arc;

/// Fewer places give no reliable result.
const MIN_PLACES: u64 = 8;
/// The same where the places are numbers of ranks and threads: neighbours need have nothing in common then.
const MIN_NUMBERS: u64 = 16;
/// Number of findings for which this is computed.
const MAX_FINDINGS: usize = 3;
/// Least share of the run that such a finding must gain.
const MIN_GAIN: f64 = 0.02;
/// Views reported for each finding.
const MAX_ROWS: usize = 3;
/// Views examined: some are of the finding's own call path.
const N_ASKED: usize = 16;
/// Least size of r that is reported, however many places there are: below, half of the variation has other causes.
const MIN_R: f64 = 0.7;
/// A variation that rests on fewer places is that of one of them.
const LEAST_EFFECTIVE_PLACES: f64 = 2.0;
/// Of this many reports on unrelated views, one would list a view by chance.
const RARITY: f64 = 100.0;

/// Whether a report on such a trace should say what varies like its findings: a topology has at least eight members and
/// two places along each axis, or there are sixteen threads.
pub fn wants_variations(definitions: &Definitions) -> bool {
    let is_worth = |topology: &CartTopology| {
        topology.dimensions.iter().all(|axis| 1 < axis.size) && MIN_PLACES <= topology.members.len() as u64
    };
    // The one from the system tree has a place for each thread.
    let threads = definitions.locations.iter().filter(|location| location.kind.runs_code());
    definitions.topologies.iter().any(is_worth) || MIN_NUMBERS <= threads.count() as u64
}

/// What varies like the findings of a report, and the data needed to draw it.
#[derive(Debug)]
pub struct Variations {
    source: TraceProfile,
    grid: Option<Grid>,
    /// Whether the places are those of a recorded topology; else they are rank numbers, whose rotation means nothing.
    is_recorded: bool,
    /// Problems with topologies.
    notices: Vec<Notice>,
    /// By finding.
    of_findings: Vec<Option<Variation>>,
}

/// What varies like one finding.
#[derive(Debug)]
pub struct Variation {
    /// The question.
    pub question: Question,
    /// The views that are reported, the most similar first.
    pub rows: Vec<Correlation>,
}

impl Variations {
    /// The places over which the severities of a trace are compared.
    pub fn new(cube: SeverityCubeOutput, definitions: &Definitions) -> Variations {
        let source = TraceProfile::new(cube, definitions, Vec::new());
        let (grid, mut notices) = match topology::grid(source.definitions(), None) {
            Ok((grid, _, notices)) => (Some(grid), notices),
            Err(CorrelationError::NoTopology { .. }) => (None, Vec::new()),
            Err(error) => {
                let message = format!("views that vary with a finding were not searched for: {error}");
                (None, vec![Notice::new(Level::Low, NoticeCode::NotAvailable, message)])
            }
        };
        notices.extend(grid.as_ref().and_then(Grid::cut_notice));
        // The findings are the same without it.
        notices.iter_mut().for_each(|notice| notice.level = Level::Low);
        let is_recorded = !definitions.topologies.is_empty();
        Variations { source, grid, is_recorded, notices, of_findings: Vec::new() }
    }

    /// Topologies that are not used, or only in part, as notices.
    pub fn notices(&self) -> &[Notice] {
        &self.notices
    }

    /// Asks for the large findings of `report`, and adds to them what was found.
    pub fn add_to(&mut self, report: &mut RunReport, jobs: NonZeroUsize) {
        let mut n_left = MAX_FINDINGS;
        for finding in &mut report.findings {
            let is_large = 0 < n_left && MIN_GAIN <= finding.gain_fraction;
            let variation = if is_large { self.of_path(&finding.call_path, jobs) } else { None };
            n_left -= usize::from(variation.is_some());
            finding.varies_like = variation.as_ref().and_then(|variation| self.in_words(variation));
            self.of_findings.push(variation);
        }
    }

    /// The profile used for the questions, row by row.
    pub(crate) fn source(&self) -> &dyn ProfileSource {
        &self.source
    }

    /// The profile used for the questions.
    pub fn definitions(&self) -> &ProfileDefinitions {
        self.source.definitions()
    }

    /// What varies like the finding at this position, and over which places.
    pub fn of_finding(&self, finding: usize) -> Option<(&Grid, &Variation)> {
        let variation = self.of_findings.get(finding)?.as_ref()?;
        Some((self.grid.as_ref()?, variation))
    }

    /// The values of a view on the places.
    ///
    /// # Errors
    /// If the profile has no such view.
    pub fn on_grid(&self, grid: &Grid, view: View, scope: Scope) -> Result<Vec<f64>, CorrelateError> {
        view_on_grid(&self.source, grid, view, scope)
    }

    /// Views that vary like the time of a call path; `None` if there are none, or this cannot be computed.
    fn of_path(&self, names: &[Arc<str>], jobs: NonZeroUsize) -> Option<Variation> {
        let least_places = if self.is_recorded { MIN_PLACES } else { MIN_NUMBERS };
        let grid = self.grid.as_ref().filter(|grid| least_places <= grid.n_located() as u64)?;
        let definitions = self.source.definitions();
        let metric = definitions.metric_by_name("time")?;
        let path = path_of(definitions, names)?;
        let mut question = Question::new(View { metric, path }, AxisSet::all(grid.axes().len()));
        question.top = NonZeroUsize::new(N_ASKED);
        let mut found = self.asked(grid, &question, jobs);
        if matches!(found, Err(CorrelateError::EmptyReference { .. })) {
            question.scope = Scope::Inclusive;
            found = self.asked(grid, &question, jobs);
        }
        let found = found.ok()?;
        if !self.varies_widely(grid, &question) {
            return None;
        }
        let least = least_r(grid.n_located(), found.n_views);
        let mut rows = found.rows;
        // Of several metrics of one call path, the most similar one is reported.
        let mut seen = BTreeSet::new();
        rows.retain(|row| {
            let is_in_place = self.is_recorded || row.shift.iter().all(|&step| step == 0);
            least <= row.r.abs() && is_in_place && self.is_other(&question, row) && seen.insert(row.view.path)
        });
        rows.truncate(MAX_ROWS);
        (!rows.is_empty()).then_some(Variation { question, rows })
    }

    fn asked(
        &self,
        grid: &Grid,
        question: &Question,
        jobs: NonZeroUsize,
    ) -> Result<Correlations, CorrelateError> {
        correlate(&self.source, grid, question, &Run::new(jobs))
    }

    /// Whether the view varies over more than a place or two. What only one rank does, or the first threads of processes,
    /// varies like all that they alone do, which says nothing.
    fn varies_widely(&self, grid: &Grid, question: &Question) -> bool {
        let Ok(values) = self.on_grid(grid, question.reference, question.scope) else { return false };
        let values: Vec<f64> = values.into_iter().filter(|value| value.is_finite()).collect();
        let n_nonzero = values.iter().filter(|value| **value != 0.0).count();
        let is_everywhere = self.is_recorded || values.len() <= 2 * n_nonzero;
        is_everywhere && LEAST_EFFECTIVE_PLACES <= effective_places(&values)
    }

    /// Whether the view differs from the finding's own; with callees, its callers and callees count as its own, too.
    fn is_other(&self, question: &Question, row: &Correlation) -> bool {
        let tree = &self.source.definitions().call_tree;
        let (own, other) = (question.reference.path, row.view.path);
        let is_within = tree.subtree(own).contains(&other) || tree.subtree(other).contains(&own);
        own != other && !(question.scope == Scope::Inclusive && is_within)
    }

    fn in_words(&self, variation: &Variation) -> Option<VariesLike> {
        let (grid, definitions) = (self.grid.as_ref()?, self.source.definitions());
        let axis = |(i, axis): (usize, &ouzel_model::CartDimension)| TopologyAxis {
            name: grid.axis_name(i),
            size: axis.size,
        };
        let row = |row: &Correlation| VariesRow {
            metric: definitions.metric(row.view.metric).name.clone(),
            call_path: definitions.call_path_names(row.view.path),
            r: row.r,
            shift: row.shift.clone(),
        };
        Some(VariesLike {
            metric: definitions.metric(variation.question.reference.metric).name.clone(),
            scope: variation.question.scope.as_str(),
            topology: grid.name().to_owned(),
            axes: grid.axes().iter().enumerate().map(axis).collect(),
            rows: variation.rows.iter().map(row).collect(),
        })
    }
}

/// The size of r that chance rarely gives: max(0.7, tanh √(2 ln(100 · shifts · views) / (places − 3))), with as many
/// shifts as places. By Fisher's transformation, atanh r of unrelated normal values is normal with variance 1 / (places
/// − 3), and the largest of n of them exceeds √(2 ln(100 n)) deviations in fewer than one of 100 cases.
fn least_r(n_places: usize, n_views: u64) -> f64 {
    let n_tries = RARITY * n_places as f64 * n_views.max(1) as f64;
    let freedom = (n_places as f64 - 3.0).max(1.0);
    (2.0 * n_tries.ln() / freedom).sqrt().tanh().max(MIN_R)
}

/// On how many places the variation of these values rests: `(Σ d²)² / Σ d⁴` with the deviations d from their mean; 1 if
/// a single value differs from the others.
fn effective_places(values: &[f64]) -> f64 {
    let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
    let squares = || values.iter().map(|value| (value - mean).powi(2));
    let fourth = squares().map(|square| square.powi(2)).sum::<f64>();
    if fourth == 0.0 { 0.0 } else { squares().sum::<f64>().powi(2) / fourth }
}

/// The call path of these regions.
fn path_of(definitions: &ProfileDefinitions, names: &[Arc<str>]) -> Option<CallPathId> {
    let tree = &definitions.call_tree;
    let last = names.last()?;
    let is_last = |path: &CallPathId| definitions.regions[tree.node(*path).region.index()].name == *last;
    tree.paths().find(|path| is_last(path) && definitions.call_path_names(*path) == *names)
}
