//! Metrics of CUBE as metrics of the model.
//!
//! A value of several numbers becomes a metric for each, named `<metric>.<part>`. A derived
//! metric is kept if its expression is arithmetic over metrics that are kept; what is left
//! out is reported by name.

use ouzel_cube::{Anchor, AnchorMetric, DataType, Part, Primitive, cubepl};
use ouzel_model::{
    Aggregation, Formula, FormulaStep, Level, MetricId, MetricKind, MetricValueType, Notice, NoticeCode,
    ProfileMetric, Scope,
};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Where the values of a metric lie.
#[derive(Debug, Clone)]
pub(super) struct Stored {
    /// Id of the metric in the file.
    pub metric: u32,
    /// Type of a whole value.
    pub data_type: DataType,
    /// The number within it.
    pub part: Part,
    /// Whether rows are numbered in the order of inclusive metrics.
    pub is_wide: bool,
}

/// The metrics, with the place of their values.
pub(super) struct Metrics {
    pub metrics: Vec<ProfileMetric>,
    pub stored: Vec<Option<Stored>>,
    pub notices: Vec<Notice>,
}

/// What a metric of the file is.
enum MetricOrigin {
    Stored(MetricKind, DataType),
    Derived(Option<Scope>, Vec<cubepl::Step>),
}

pub(super) fn resolve(anchor: &Anchor, file: &Arc<str>) -> Metrics {
    let mut notices = Vec::new();
    let is_old = anchor.version.starts_with('3');
    let mut left_out = |metric: &AnchorMetric, reason: &str| {
        let message = format!("metric {:?} is left out: {reason}", name_of(metric));
        notices.push(Notice::new(Level::Medium, NoticeCode::NotRepresented, message).in_file(file.clone()));
    };
    let mut sources: Vec<Option<MetricOrigin>> = Vec::new();
    for metric in &anchor.metrics {
        let source = source_of(metric, is_old);
        sources.push(source.map_err(|reason| left_out(metric, &reason)).ok());
    }
    let kept = keep_computable(anchor, &sources);
    for (metric, (source, kept)) in anchor.metrics.iter().zip(sources.iter_mut().zip(&kept)) {
        if source.is_some() && !kept {
            left_out(metric, "its expression names missing metrics, or itself");
            *source = None;
        }
    }
    let mut built = Metrics { metrics: Vec::new(), stored: Vec::new(), notices };
    build(anchor, &sources, &mut built);
    built
}

fn name_of(metric: &AnchorMetric) -> &str {
    if metric.unique_name.is_empty() { &metric.display_name } else { &metric.unique_name }
}

fn source_of(metric: &AnchorMetric, is_old: bool) -> Result<MetricOrigin, String> {
    let scope = match metric.kind.as_str() {
        "PREDERIVED_EXCLUSIVE" => Some(Scope::Exclusive),
        "PREDERIVED_INCLUSIVE" => Some(Scope::Inclusive),
        "POSTDERIVED" => None,
        kind => return stored(metric, kind, is_old),
    };
    if metric.other_expressions.iter().any(|expression| !expression.is_empty()) {
        return Err("it has initialisation or aggregation expressions".to_owned());
    }
    let steps = cubepl::parse(&metric.expression);
    let steps =
        steps.map_err(|reason| format!("its expression {:?} cannot be used: {reason}", metric.expression))?;
    Ok(MetricOrigin::Derived(scope, steps))
}

fn stored(metric: &AnchorMetric, kind: &str, is_old: bool) -> Result<MetricOrigin, String> {
    let data_type = DataType::from_name(&metric.data_type)
        .ok_or_else(|| format!("value type {:?} is unknown", metric.data_type))?;
    let is_summed = matches!(data_type, DataType::Number(_));
    let kind = match kind {
        "EXCLUSIVE" => MetricKind::Exclusive,
        "INCLUSIVE" => MetricKind::Inclusive,
        "SIMPLE" if is_summed => MetricKind::Simple,
        "" if is_old && is_summed => MetricKind::Simple,
        "" | "SIMPLE" => MetricKind::Exclusive,
        other => return Err(format!("metric type {other:?} is unknown")),
    };
    Ok(MetricOrigin::Stored(kind, data_type))
}

/// Which metrics can be computed: stored ones, and derived ones of these, and so on; never those in a circle.
fn keep_computable(anchor: &Anchor, sources: &[Option<MetricOrigin>]) -> Vec<bool> {
    let mut names: FxHashMap<&str, usize> = FxHashMap::default();
    for (i, metric) in anchor.metrics.iter().enumerate() {
        names.entry(name_of(metric)).or_insert(i);
    }
    // A metric of several numbers has no value of its own.
    let is_number = |source: &Option<MetricOrigin>| {
        matches!(source, Some(MetricOrigin::Stored(_, DataType::Number(_) | DataType::Min | DataType::Max)))
    };
    let mut usable: Vec<bool> = sources.iter().map(is_number).collect();
    loop {
        let is_known = |step: &cubepl::Step| match step {
            cubepl::Step::Metric(name, _) => names.get(name.as_str()).is_some_and(|&i| usable[i]),
            _ => true,
        };
        let found = sources.iter().enumerate().filter(|(i, source)| match source {
            Some(MetricOrigin::Derived(_, steps)) => !usable[*i] && steps.iter().all(is_known),
            _ => false,
        });
        let found: Vec<usize> = found.map(|(i, _)| i).collect();
        if found.is_empty() {
            break;
        }
        for i in found {
            usable[i] = true;
        }
    }
    sources
        .iter()
        .zip(usable)
        .map(|(source, usable)| usable || matches!(source, Some(MetricOrigin::Stored(..))))
        .collect()
}

fn build(anchor: &Anchor, sources: &[Option<MetricOrigin>], built: &mut Metrics) {
    // The ids come first: a formula may name a metric that comes after it.
    let mut first_ids = Vec::new();
    let mut names: FxHashMap<&str, MetricId> = FxHashMap::default();
    let mut next = 0;
    for (metric, source) in anchor.metrics.iter().zip(sources) {
        first_ids.push(source.is_some().then(|| MetricId::from_index(next)));
        let n_parts = match source {
            Some(MetricOrigin::Stored(_, data_type)) => data_type.parts().len(),
            Some(MetricOrigin::Derived(..)) => 1,
            None => 0,
        };
        if n_parts > 0 {
            names.entry(name_of(metric)).or_insert(MetricId::from_index(next));
        }
        next += n_parts;
    }
    for (metric, source) in anchor.metrics.iter().zip(sources) {
        // A metric is a part of the nearest ancestor that is kept.
        let mut holder = metric.parent;
        while let Some(at) = holder.filter(|&at| first_ids[at].is_none()) {
            holder = anchor.metrics[at].parent;
        }
        let base = ProfileMetric {
            name: Arc::from(name_of(metric)),
            display_name: Arc::from(display_name(metric)),
            unit: Arc::from(metric.unit.as_str()),
            description: Arc::from(metric.description.as_str()),
            parent: holder.and_then(|at| first_ids[at]),
            value_type: MetricValueType::F64,
            kind: MetricKind::Exclusive,
            aggregation: Aggregation::Sum,
            hidden: metric.viz_type == "GHOST",
        };
        match source {
            Some(MetricOrigin::Stored(kind, data_type)) => {
                for part in data_type.parts() {
                    built.metrics.push(metric_of_part(&base, kind.clone(), &part));
                    built.stored.push(Some(Stored {
                        metric: metric.id,
                        data_type: *data_type,
                        part,
                        is_wide: *kind == MetricKind::Inclusive,
                    }));
                }
            }
            Some(MetricOrigin::Derived(scope, steps)) => {
                let formula = formula(steps, &names);
                let (kind, aggregation) = match scope {
                    Some(scope) => (MetricKind::DerivedBefore(formula, *scope), Aggregation::Sum),
                    None => (MetricKind::DerivedAfter(formula), Aggregation::Formula),
                };
                built.metrics.push(ProfileMetric { kind, aggregation, ..base });
                built.stored.push(None);
            }
            None => {}
        }
    }
}

fn display_name(metric: &AnchorMetric) -> &str {
    if metric.display_name.is_empty() { &metric.unique_name } else { &metric.display_name }
}

fn metric_of_part(base: &ProfileMetric, kind: MetricKind, part: &Part) -> ProfileMetric {
    let with_suffix = |name: &Arc<str>| match part.suffix.as_str() {
        "" => name.clone(),
        suffix => Arc::from(format!("{name}.{suffix}")),
    };
    ProfileMetric {
        name: with_suffix(&base.name),
        display_name: with_suffix(&base.display_name),
        value_type: match part.primitive {
            Primitive::U8 | Primitive::U16 | Primitive::U32 | Primitive::U64 => MetricValueType::U64,
            Primitive::I8 | Primitive::I16 | Primitive::I32 | Primitive::I64 => MetricValueType::I64,
            Primitive::F64 => MetricValueType::F64,
        },
        kind,
        aggregation: match part.extreme {
            Some(DataType::Min) => Aggregation::Min,
            Some(_) => Aggregation::Max,
            None => Aggregation::Sum,
        },
        ..base.clone()
    }
}

fn formula(steps: &[cubepl::Step], names: &FxHashMap<&str, MetricId>) -> Formula {
    let step = |step: &cubepl::Step| match step {
        cubepl::Step::Number(number) => FormulaStep::Number(*number),
        cubepl::Step::Metric(name, flavour) => {
            let scope = match flavour {
                cubepl::Flavour::Same => None,
                cubepl::Flavour::Inclusive => Some(Scope::Inclusive),
                cubepl::Flavour::Exclusive => Some(Scope::Exclusive),
            };
            FormulaStep::Metric(names[name.as_str()], scope)
        }
        cubepl::Step::Apply(operator) => match operator {
            cubepl::Operator::Negate => FormulaStep::Negate,
            cubepl::Operator::Add => FormulaStep::Add,
            cubepl::Operator::Subtract => FormulaStep::Subtract,
            cubepl::Operator::Multiply => FormulaStep::Multiply,
            cubepl::Operator::Divide => FormulaStep::Divide,
            cubepl::Operator::Power => FormulaStep::Power,
            cubepl::Operator::Abs => FormulaStep::Abs,
            cubepl::Operator::Sqrt => FormulaStep::Sqrt,
            cubepl::Operator::Min => FormulaStep::Min,
            cubepl::Operator::Max => FormulaStep::Max,
        },
    };
    Formula::new(steps.iter().map(step).collect()).expect("the parser leaves one value")
}
