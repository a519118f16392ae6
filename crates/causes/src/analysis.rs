//! From a profile to bottlenecks and their causes.
//!
//! ```text
//! time ──► regions ──► search ──► CCCRs ─┐                    ┌─► table of processes ─► core ─► causes
//!              └─────► weights ──► classes ┴─ each attribute ──┴─► table of regions ───► core ─► causes
//! ```
//!
//! One attribute is in memory at a time: its values by region and process become two columns.

use crate::attributes::{Attribute, AttributeKind, Attributes, Formula};
use crate::classes::HIGH;
use crate::clusters::Clustering;
use crate::column::{Column, quotient};
use crate::error::CausesError;
use crate::external;
use crate::input::BottleneckInput;
use crate::internal;
use crate::names::seconds;
use crate::output::{
    AttributeCard, Causes, ExplanationCard, ProcessesCard, RegionsCard, RowCard, TableCard, Tables, TimeCard,
};
use crate::processes::{Processes, Unit};
use crate::regions::{Regions, Values};
use crate::rough::{AttributeSet, Core, DecisionTable};
use crate::search::{MAX_EFFORT, Search, search};
use crate::time::{TimeMetrics, time_metrics};
use ouzel_model::{
    Level, MetricId, Notice, NoticeCode, Notices, ProfileDefinitions, ProfileSource, RankSet, SeverityError,
};
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::Arc;

/// How causes are looked for.
#[derive(Debug, Clone, Copy)]
pub struct Options<'a> {
    /// The metric used for time; the best one available if `None`.
    pub metric: Option<&'a str>,
    /// Ranks to leave out, e.g. a master that only manages.
    pub exclude: Option<&'a RankSet>,
    /// How processes are clustered.
    pub clustering: Clustering,
    /// For each region of the profile, whether time in it is communication or waiting. Empty if that is unknown.
    pub waiting: &'a [bool],
    /// Whether miss rates are misses / (misses + accesses), as AutoAnalyzer is printed.
    pub printed_rates: bool,
    /// Maximum number of vector components that the search for composites compares; see `MAX_EFFORT`.
    pub max_effort: u64,
    /// Number of threads; the answer does not depend on it.
    pub jobs: NonZeroUsize,
}

impl Default for Options<'_> {
    fn default() -> Self {
        Options {
            metric: None,
            exclude: None,
            clustering: Clustering::Ball,
            waiting: &[],
            printed_rates: false,
            max_effort: MAX_EFFORT,
            jobs: NonZeroUsize::MIN,
        }
    }
}

/// Looks for bottlenecks and their causes.
///
/// # Errors
/// If no metric represents time, or it is zero everywhere, or severities cannot be read.
pub fn causes(source: &dyn ProfileSource, options: &Options<'_>) -> Result<Causes, CausesError> {
    let definitions = source.definitions();
    let notices = Notices::default();
    let (processes, lost) = Processes::new(definitions, options.exclude);
    notices.extend(lost);
    if processes.is_empty() {
        return Err(CausesError::NoProcess);
    }
    let time = time_metrics(source, options.metric)?;
    let regions = Regions::new(source, time.metric, &processes, options.waiting)?;
    notices.extend(regions.notices.iter().cloned());
    if regions.program.iter().all(|&time| time == 0.0) {
        let name = definitions.metric(time.metric).name.to_string();
        return Err(CausesError::AllZero { name });
    }
    notices.extend(remarks(&processes, &regions));
    let scale = seconds(&definitions.metric(time.metric).unit).unwrap_or(1.0);
    let context = BottleneckInput { definitions, processes: &processes, regions: &regions, scale };
    let tells_waiting = regions.waits.idle.contains(&true);
    let times = [time.metric, time.wall];
    let known = Attributes::new(definitions, &times, tells_waiting, options.printed_rates);
    notices.extend(known.notices.iter().cloned());

    let search = search(&regions.forest(), options.clustering, options.max_effort, options.jobs);
    let weights = internal::weights(source, &context, &time, &known, &notices)?;
    let refined = crate::refine::refine(&weights.weights, &regions.parents());
    let cores: Vec<usize> =
        search.cccr.iter().flat_map(|&at| search.ccr[at].regions.iter().copied()).collect();

    let mut reader = Reader { source, context: &context, kept: BTreeMap::new(), notices: &notices };
    let mut columns: Vec<Column> = Vec::new();
    let mut cards = Vec::new();
    for attribute in &known.attributes {
        let values = reader.values(attribute)?;
        let is_zero = values.regions.iter().all(|values| values.iter().all(|&value| value == 0.0));
        cards.push(card(attribute, is_zero));
        if !is_zero {
            columns.push(Column::new(attribute, &values, &cores, options.clustering));
        }
    }
    let external_table = (!search.cccr.is_empty()).then(|| external_table(&columns, &search, &processes));
    let internal_table =
        (!refined.classes.is_empty()).then(|| internal_table(&columns, &refined.ccr, &context));
    let core_of = |table: &Option<(TableCard, Core, Vec<usize>)>| {
        table.as_ref().map_or_else(Vec::new, |(_, core, of)| core.core().iter().map(|at| of[at]).collect())
    };
    let (external_core, internal_core) = (core_of(&external_table), core_of(&internal_table));
    let external = external::external(&context, &search, &columns, &external_core, &known.attributes);
    let internal =
        internal::internal(&context, &weights, &refined, &columns, &internal_core, &known.attributes);
    let tables = Tables {
        attributes: cards,
        external: external_table.map(|(card, ..)| card),
        internal: internal_table.map(|(card, ..)| card),
    };
    Ok(Causes {
        processes: ProcessesCard {
            unit: processes.unit,
            n: processes.len() as u64,
            n_locations: processes.n_locations as u64,
            excluded: processes.excluded.clone(),
        },
        time: time_card(definitions, &time, &regions),
        regions: RegionsCard {
            n: regions.regions.len() as u64,
            n_of_depth_1: regions.regions.iter().filter(|region| region.depth == 1).count() as u64,
            program: regions.outer.last().map_or_else(Vec::new, |&path| definitions.call_path_names(path)),
        },
        external,
        internal,
        tables,
        notices: notices.to_vec(),
    })
}

fn time_card(definitions: &ProfileDefinitions, time: &TimeMetrics, regions: &Regions) -> TimeCard {
    let metric = definitions.metric(time.metric);
    let unit = if seconds(&metric.unit).is_some() { "sec".to_owned() } else { metric.unit.to_string() };
    TimeCard {
        metric: metric.name.to_string(),
        kind: time.kind,
        unit,
        without_communication: regions.waits.idle.contains(&true),
        wall_metric: definitions.metric(time.wall).name.to_string(),
    }
}

/// What a reader of the answer must know.
fn remarks(processes: &Processes, regions: &Regions) -> Vec<Notice> {
    let mut notices = Vec::new();
    let mut tell = |message: String| notices.push(Notice::new(Level::Low, NoticeCode::NotAvailable, message));
    if processes.len() == 1 {
        tell("there is only one process, so processes cannot be compared".to_owned());
    } else if processes.unit == Unit::Location {
        tell(
            "ranks cannot be compared because there is at most one: threads are compared instead".to_owned(),
        );
    } else if processes.n_locations > processes.len() {
        tell("threads and streams of a rank are summed, and ranks are compared".to_owned());
    }
    if regions.waits.is_all {
        tell(
            "only communication is recorded, so its calls, waiting included, are the regions analysed"
                .to_owned(),
        );
    }
    notices
}

fn card(attribute: &Attribute, is_zero: bool) -> AttributeCard {
    AttributeCard {
        name: attribute.name.clone(),
        label: attribute.label.clone(),
        unit: attribute.unit.clone(),
        kind: attribute.kind,
        formula: attribute.text.clone(),
        is_zero,
    }
}

/// Reads the values of attributes; keeps metrics that several need.
struct Reader<'a> {
    source: &'a dyn ProfileSource,
    context: &'a BottleneckInput<'a>,
    /// The last metric used as a divisor.
    kept: BTreeMap<MetricId, Arc<Values>>,
    notices: &'a Notices,
}

impl Reader<'_> {
    fn values(&mut self, attribute: &Attribute) -> Result<Values, SeverityError> {
        match &attribute.formula {
            Formula::Sum(metrics) => self.sum(metrics),
            Formula::Ratio(above, below) => {
                let above = self.sum(above)?;
                let below = self.divisor(below)?;
                Ok(above.divided_by(&below))
            }
            Formula::Waiting => {
                let regions = self.context.regions;
                let waiting = |(wall, busy): (&Vec<f64>, &Vec<f64>)| -> Vec<f64> {
                    wall.iter().zip(busy).map(|(wall, busy)| quotient(wall - busy, *wall)).collect()
                };
                let values = regions.wall.iter().zip(&regions.busy).map(waiting).collect();
                Ok(Values { regions: values, program: Vec::new(), notices: Vec::new() })
            }
        }
    }

    fn sum(&self, metrics: &[MetricId]) -> Result<Values, SeverityError> {
        let mut sum: Option<Values> = None;
        for &metric in metrics {
            let mut more = self.context.regions.values(self.source, metric, self.context.processes, false)?;
            self.notices.extend(std::mem::take(&mut more.notices));
            sum = Some(match sum {
                None => more,
                Some(sum) => sum.plus(&more),
            });
        }
        Ok(sum.expect("an attribute has metrics"))
    }

    fn divisor(&mut self, metrics: &[MetricId]) -> Result<Arc<Values>, SeverityError> {
        let [metric] = metrics else { return Ok(Arc::new(self.sum(metrics)?)) };
        if let Some(kept) = self.kept.get(metric) {
            return Ok(Arc::clone(kept));
        }
        let values = Arc::new(self.sum(metrics)?);
        self.kept.clear();
        self.kept.insert(*metric, Arc::clone(&values));
        Ok(values)
    }
}

impl Values {
    fn combined(mut self, other: &Values, op: impl Fn(f64, f64) -> f64) -> Values {
        let apply = |mine: &mut [f64], theirs: &[f64]| {
            mine.iter_mut().zip(theirs).for_each(|(mine, theirs)| *mine = op(*mine, *theirs));
        };
        apply(&mut self.program, &other.program);
        self.regions.iter_mut().zip(&other.regions).for_each(|(mine, theirs)| apply(mine, theirs));
        self
    }

    fn plus(self, other: &Values) -> Values {
        self.combined(other, |a, b| a + b)
    }

    fn divided_by(self, other: &Values) -> Values {
        self.combined(other, quotient)
    }
}

/// A table with its core, and the column of each of its attributes.
type Explained = (TableCard, Core, Vec<usize>);

fn external_table(columns: &[Column<'_>], search: &Search, processes: &Processes) -> Explained {
    // Which process waits for which follows from which works longer; it does not explain it.
    let of: Vec<usize> =
        (0..columns.len()).filter(|&at| columns[at].attribute.kind != AttributeKind::Communication).collect();
    let table = DecisionTable {
        columns: of.iter().map(|&at| columns[at].clusters.clone()).collect(),
        decisions: search.partition.labels().to_vec(),
    };
    let row = |at: usize| RowCard { process: Some(processes.numbers[at]), region: None, ..row(&table, at) };
    explained(&table, columns, of, (0..table.n_rows()).map(row).collect())
}

fn internal_table(columns: &[Column<'_>], ccr: &[usize], context: &BottleneckInput<'_>) -> Explained {
    let n = context.regions.regions.len();
    let high = |column: &Column<'_>| column.classes.iter().map(|&class| u32::from(class >= HIGH)).collect();
    let table = DecisionTable {
        columns: columns.iter().map(high).collect(),
        decisions: (0..n).map(|region| u32::from(ccr.contains(&region))).collect(),
    };
    let row = |at: usize| RowCard { process: None, region: Some(context.name(at)), ..row(&table, at) };
    explained(&table, columns, (0..columns.len()).collect(), (0..n).map(row).collect())
}

fn row(table: &DecisionTable, at: usize) -> RowCard {
    RowCard {
        process: None,
        region: None,
        values: table.columns.iter().map(|column| column[at]).collect(),
        decision: table.decisions[at],
    }
}

fn explained(table: &DecisionTable, columns: &[Column<'_>], of: Vec<usize>, rows: Vec<RowCard>) -> Explained {
    let discernment = table.discernment();
    let core = Core::new(&discernment);
    let name = |at: usize| columns[of[at]].attribute.name.clone();
    let names = |set: AttributeSet| -> Vec<String> { set.iter().map(name).collect() };
    let card = TableCard {
        attributes: (0..of.len()).map(name).collect(),
        rows,
        necessary: names(core.necessary),
        core: names(core.core()),
        explanations: core
            .explanations
            .iter()
            .map(|explanation| ExplanationCard {
                attributes: names(explanation.attributes),
                multiplicity: Some(explanation.multiplicity.value()).filter(|value| value.is_finite()),
            })
            .collect(),
        inconsistent: discernment.inconsistent,
        n_inconsistent: discernment.n_inconsistent,
        is_truncated: core.is_truncated,
    };
    (card, core, of)
}
