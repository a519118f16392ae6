//! Any profile as `.cubex`.
//!
//! Ids become dense in the order of the model. Metrics keep their kind; parts of a metric
//! that CUBE 3 stored apart are added to it, and formulas are written as CubePL. A row that
//! lacks a location has zero there, or the mark for "never" in a minimum or maximum; these have a row for
//! each call path, as readers take what is missing for zero (or, as pycubexr 2.1.1, fail on it).

use crate::position::{index_from, u32_from};
use ouzel_cube::{
    Anchor, AnchorCart, AnchorCnode, AnchorDimension, AnchorGroup, AnchorLocation, AnchorMetric,
    AnchorParameter, AnchorRegion, AnchorSystemNode, MemberKind, SystemNodeKind, Writer,
};
use ouzel_model::{
    Aggregation, CallNode, CallPathId, CallTree, CartMembers, CartTopology, Formula, FormulaStep, Level,
    LocationGroupKind, LocationKind, MetricId, MetricKind, MetricValueType, Notice, NoticeCode, Paradigm,
    ParameterValue, ProfileDefinitions, ProfileMetric, ProfileSource, RegionId, Scope, ScopedRows,
    Severities, SeverityError, SeverityRow,
};
use std::io::{Seek, Write};

/// Why a profile cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// Its severities cannot be read.
    #[error(transparent)]
    Read(#[from] SeverityError),
    /// The file cannot be written.
    #[error(transparent)]
    Write(#[from] std::io::Error),
}

impl From<ouzel_model::ReadError> for WriteError {
    fn from(error: ouzel_model::ReadError) -> Self {
        WriteError::Read(error.into())
    }
}

/// Writes a profile. Returns what was repaired or left out.
///
/// # Errors
/// If severities cannot be read, or the file cannot be written.
pub fn write<W: Write + Seek>(source: &dyn ProfileSource, out: W) -> Result<Vec<Notice>, WriteError> {
    let definitions = source.definitions();
    let mut notices = Vec::new();
    let mut writer = Writer::new(out);
    let parents: Vec<Option<usize>> =
        definitions.call_tree.nodes().iter().map(|node| node.parent.map(CallPathId::index)).collect();
    let mut wide_index = vec![0_u32; parents.len()];
    for (index, node) in (0..).zip(ouzel_cube::wide_order(&parents)) {
        wide_index[node as usize] = index;
    }
    for id in definitions.metric_ids() {
        let scope = match definitions.metric(id).kind {
            MetricKind::Exclusive | MetricKind::Simple => Scope::Exclusive,
            MetricKind::Inclusive => Scope::Inclusive,
            MetricKind::DerivedBefore(..) | MetricKind::DerivedAfter(_) => continue,
        };
        let tree_index = |path: CallPathId| match scope {
            Scope::Exclusive => path.0,
            Scope::Inclusive => wide_index[path.index()],
        };
        write_metric(source, id, scope, &tree_index, &mut writer, &mut notices)?;
    }
    let anchor = anchor(definitions, &mut notices);
    writer.finish(&anchor)?;
    Ok(notices)
}

/// Two sweeps: one for the rows there are, one that writes them.
fn write_metric<W: Write + Seek>(
    source: &dyn ProfileSource,
    id: MetricId,
    scope: Scope,
    tree_index: &dyn Fn(CallPathId) -> u32,
    writer: &mut Writer<W>,
    notices: &mut Vec<Notice>,
) -> Result<(), WriteError> {
    let definitions = source.definitions();
    let all = definitions.call_tree.all();
    let metric = definitions.metric(id);
    let mut row = SeverityRow::new(metric.value_type);
    let mut indices = Vec::new();
    let mut rows = ScopedRows::open(source, id, scope, all.clone())?;
    while rows.read(&mut row)? {
        indices.push(tree_index(row.path));
    }
    // As the tools of CUBE do: readers (pycubexr 2.1.1) refuse an index without rows.
    if indices.is_empty() {
        notices.extend(rows.notices());
        return Ok(());
    }
    let n_locations = definitions.locations.len();
    let mut bytes = Vec::with_capacity(8 * n_locations);
    let has_marks = matches!(metric.aggregation, Aggregation::Min | Aggregation::Max);
    let missing = if has_marks { without_row(&indices, definitions.call_tree.len()) } else { Vec::new() };
    indices.extend_from_slice(&missing);
    indices.sort_unstable();
    writer.metric(id.0, &indices, 8 * n_locations as u64)?;
    for index in missing {
        bytes.clear();
        bytes.resize(8 * n_locations, 0);
        row.clear();
        encode(&row, metric, &mut bytes);
        writer.row(indices.binary_search(&index).expect("it was added") as u64, &bytes)?;
    }
    let mut rows = ScopedRows::open(source, id, scope, all)?;
    while rows.read(&mut row)? {
        let position = indices.binary_search(&tree_index(row.path)).expect("the first sweep saw this row");
        bytes.clear();
        bytes.resize(8 * n_locations, 0);
        encode(&row, metric, &mut bytes);
        writer.row(position as u64, &bytes)?;
    }
    notices.extend(rows.notices());
    Ok(())
}

/// The tree indices that are not among `indices`.
fn without_row(indices: &[u32], n_paths: usize) -> Vec<u32> {
    let mut has_row = vec![false; n_paths];
    indices.iter().for_each(|&index| has_row[index as usize] = true);
    (0..u32_from(n_paths)).filter(|&index| !has_row[index as usize]).collect()
}

/// The values of a row as bytes, in the type that [`metric_entry`] declares.
fn encode(row: &SeverityRow, metric: &ProfileMetric, bytes: &mut [u8]) {
    let absent = match metric.aggregation {
        Aggregation::Min => Some(f64::MAX),
        Aggregation::Max => Some(f64::MIN),
        Aggregation::Sum | Aggregation::Formula => None,
    };
    let places = bytes.as_chunks_mut::<8>().0;
    if let Some(absent) = absent {
        places.fill(absent.to_le_bytes());
    }
    for i in 0..row.values.len() {
        let at = row.locations.as_ref().map_or(i, |ids| ids[i].index());
        places[at] = match (&row.values, metric.value_type, absent) {
            (Severities::U64(values), MetricValueType::U64, None) => values[i].to_le_bytes(),
            (Severities::I64(values), MetricValueType::I64, None) => values[i].to_le_bytes(),
            (values, MetricValueType::U64, None) => u64_from(values.get(i)).to_le_bytes(),
            (values, MetricValueType::I64, None) => i64_from(values.get(i)).to_le_bytes(),
            (values, _, _) => values.get(i).to_le_bytes(),
        };
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "what does not fit saturates")]
fn u64_from(value: f64) -> u64 {
    value as u64
}

#[expect(clippy::cast_possible_truncation, reason = "what does not fit saturates")]
fn i64_from(value: f64) -> i64 {
    value as i64
}

fn anchor(definitions: &ProfileDefinitions, notices: &mut Vec<Notice>) -> Anchor {
    let creator = definitions.provenance.creator.clone();
    let nodes = system_nodes(definitions);
    let regions = (0..).zip(&definitions.regions).map(|(id, region)| AnchorRegion {
        id,
        file: region.file.as_deref().unwrap_or_default().to_owned(),
        begin: region.line.map_or(-1, i64::from),
        end: region.end_line.map_or(-1, i64::from),
        name: region.name.to_string(),
        mangled_name: region.canonical_name.as_deref().unwrap_or(&region.name).to_owned(),
        paradigm: match region.paradigm {
            Paradigm::MeasurementSystem => "measurement".to_owned(),
            paradigm => paradigm.as_str().to_owned(),
        },
        role: region.role.as_str().to_owned(),
        description: String::new(),
    });
    Anchor {
        version: "4.4".to_owned(),
        attributes: [("Cube anchor.xml syntax version", "4.4"), ("CubePL Version", "1.1")]
            .into_iter()
            .chain((!creator.is_empty()).then_some(("Creator", creator.as_str())))
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .collect(),
        metrics: metrics(definitions),
        regions: regions.collect(),
        cnodes: (0..).zip(definitions.call_tree.nodes()).map(cnode).collect(),
        groups: groups(definitions, &nodes),
        locations: locations(definitions),
        carts: definitions.topologies.iter().filter_map(|topology| cart(topology, &nodes, notices)).collect(),
        system_nodes: nodes.entries,
        ..Anchor::default()
    }
}

/// The place of each entry of a forest when it is written as nested elements.
fn nested(parents: impl Iterator<Item = Option<usize>>) -> (CallTree, Vec<CallPathId>) {
    let node = |(i, parent): (usize, Option<usize>)| {
        CallNode::new(parent.map(CallPathId::from_index), RegionId(0), i as u64)
    };
    let built = CallTree::build(parents.enumerate().map(node).collect());
    (built.tree, built.ids)
}

fn metrics(definitions: &ProfileDefinitions) -> Vec<AnchorMetric> {
    let (tree, _) = nested(definitions.metrics.iter().map(|metric| metric.parent.map(MetricId::index)));
    let entry = |node: &CallNode| {
        let id = MetricId::from_index(index_from(node.native_id));
        metric_entry(definitions, id, node.parent.map(CallPathId::index))
    };
    tree.nodes().iter().map(entry).collect()
}

fn metric_entry(definitions: &ProfileDefinitions, id: MetricId, parent: Option<usize>) -> AnchorMetric {
    let metric = definitions.metric(id);
    let (kind, expression) = match &metric.kind {
        MetricKind::Exclusive | MetricKind::Simple => ("EXCLUSIVE", String::new()),
        MetricKind::Inclusive => ("INCLUSIVE", String::new()),
        MetricKind::DerivedBefore(formula, Scope::Exclusive) => {
            ("PREDERIVED_EXCLUSIVE", expression(definitions, formula))
        }
        MetricKind::DerivedBefore(formula, Scope::Inclusive) => {
            ("PREDERIVED_INCLUSIVE", expression(definitions, formula))
        }
        MetricKind::DerivedAfter(formula) => ("POSTDERIVED", expression(definitions, formula)),
    };
    let data_type = match (metric.aggregation, metric.value_type) {
        (Aggregation::Min, _) => "MINDOUBLE",
        (Aggregation::Max, _) => "MAXDOUBLE",
        (_, MetricValueType::U64) => "UINT64",
        (_, MetricValueType::I64) => "INT64",
        (_, MetricValueType::F64) => "DOUBLE",
    };
    AnchorMetric {
        id: id.0,
        parent,
        kind: kind.to_owned(),
        viz_type: if metric.hidden { "GHOST".to_owned() } else { String::new() },
        display_name: metric.display_name.to_string(),
        unique_name: metric.name.to_string(),
        data_type: data_type.to_owned(),
        unit: metric.unit.to_string(),
        description: metric.description.to_string(),
        expression,
        ..AnchorMetric::default()
    }
}

/// A formula in CubePL, with all of its parentheses.
fn expression(definitions: &ProfileDefinitions, formula: &Formula) -> String {
    let mut stack: Vec<String> = Vec::new();
    for step in formula.steps() {
        let mut pop = || stack.pop().expect("a formula is checked when it is made");
        let text = match step {
            FormulaStep::Number(number) => format!("{number}"),
            FormulaStep::Metric(metric, scope) => {
                let flavour = match scope {
                    None => "",
                    Some(Scope::Inclusive) => "i",
                    Some(Scope::Exclusive) => "e",
                };
                format!("metric::{}({flavour})", definitions.metric(*metric).name)
            }
            FormulaStep::Negate => format!("(-{})", pop()),
            FormulaStep::Abs => format!("abs({})", pop()),
            FormulaStep::Sqrt => format!("sqrt({})", pop()),
            binary => {
                let (right, left) = (pop(), pop());
                match binary {
                    FormulaStep::Add => format!("({left} + {right})"),
                    FormulaStep::Subtract => format!("({left} - {right})"),
                    FormulaStep::Multiply => format!("({left} * {right})"),
                    FormulaStep::Divide => format!("({left} / {right})"),
                    FormulaStep::Power => format!("({left} ^ {right})"),
                    FormulaStep::Min => format!("min({left}, {right})"),
                    _ => format!("max({left}, {right})"),
                }
            }
        };
        stack.push(text);
    }
    stack.pop().unwrap_or_default()
}

fn cnode((id, node): (u32, &CallNode)) -> AnchorCnode {
    let parameter = |(key, value): &(std::sync::Arc<str>, ParameterValue)| {
        let (is_numeric, value) = match value {
            ParameterValue::Text(text) => (false, text.to_string()),
            ParameterValue::I64(number) => (true, number.to_string()),
            ParameterValue::U64(number) => (true, number.to_string()),
        };
        AnchorParameter { is_numeric, key: key.to_string(), value }
    };
    AnchorCnode {
        id,
        callee: node.region.0,
        parent: node.parent.map(CallPathId::index),
        line: node.site_line.map_or(-1, i64::from),
        file: node.site_file.as_deref().unwrap_or_default().to_owned(),
        parameters: node.parameters.iter().map(parameter).collect(),
    }
}

/// The system tree as nested elements.
struct SystemNodes {
    entries: Vec<AnchorSystemNode>,
    /// For each node of the model, its entry, which is its id too.
    places: Vec<usize>,
    /// The entry for groups without a node.
    nowhere: Option<usize>,
}

fn system_nodes(definitions: &ProfileDefinitions) -> SystemNodes {
    let nodes = &definitions.system_tree.nodes;
    let (tree, ids) = nested(nodes.iter().map(|node| node.parent.map(ouzel_model::SystemNodeId::index)));
    let entry = |(id, node): (u32, &CallNode)| {
        let of = &nodes[index_from(node.native_id)];
        AnchorSystemNode {
            id,
            kind: SystemNodeKind::Tree,
            parent: node.parent.map(CallPathId::index),
            name: of.name.to_string(),
            class: of.class.to_string(),
        }
    };
    let mut entries: Vec<AnchorSystemNode> = (0..).zip(tree.nodes()).map(entry).collect();
    let places = ids.into_iter().map(CallPathId::index).collect();
    let mut nowhere = None;
    if definitions.location_groups.iter().any(|group| group.system_node.is_none()) {
        nowhere = Some(entries.len());
        entries.push(AnchorSystemNode {
            id: u32_from(entries.len()),
            kind: SystemNodeKind::Tree,
            parent: None,
            name: "unknown machine".to_owned(),
            class: "machine".to_owned(),
        });
    }
    SystemNodes { entries, places, nowhere }
}

fn groups(definitions: &ProfileDefinitions, nodes: &SystemNodes) -> Vec<AnchorGroup> {
    let entry = |(id, group): (u32, &ouzel_model::LocationGroup)| AnchorGroup {
        id,
        parent: group.system_node.map(|node| nodes.places[node.index()]).or(nodes.nowhere),
        name: group.name.to_string(),
        rank: group.rank.map_or(i64::from(id), |rank| i64::from(rank.0)),
        kind: match group.kind {
            LocationGroupKind::Process | LocationGroupKind::Unknown => "process".to_owned(),
            LocationGroupKind::Accelerator => "accelerator".to_owned(),
        },
    };
    (0..).zip(&definitions.location_groups).map(entry).collect()
}

fn locations(definitions: &ProfileDefinitions) -> Vec<AnchorLocation> {
    let mut n_of_group = vec![0_i64; definitions.location_groups.len()];
    let mut entry = |(id, location): (u32, &ouzel_model::Location)| {
        let n = &mut n_of_group[location.group.index()];
        *n += 1;
        AnchorLocation {
            id,
            group: Some(location.group.index()),
            name: location.name.to_string(),
            rank: *n - 1,
            kind: match location.kind {
                LocationKind::CpuThread | LocationKind::Unknown => "thread".to_owned(),
                LocationKind::AcceleratorStream => "gpu".to_owned(),
                LocationKind::Metric => "metric".to_owned(),
            },
        }
    };
    (0..).zip(&definitions.locations).map(&mut entry).collect()
}

fn cart(topology: &CartTopology, nodes: &SystemNodes, notices: &mut Vec<Notice>) -> Option<AnchorCart> {
    let members = match &topology.members {
        CartMembers::Locations(ids) => ids.iter().map(|id| (MemberKind::Location, id.0)).collect(),
        CartMembers::Groups(ids) => ids.iter().map(|id| (MemberKind::Group, id.0)).collect(),
        CartMembers::SystemNodes(ids) => {
            let place = |id: &ouzel_model::SystemNodeId| u32_from(nodes.places[id.index()]);
            ids.iter().map(|id| (MemberKind::SystemNode(SystemNodeKind::Tree), place(id))).collect()
        }
        CartMembers::Ranks(_) => {
            let message = format!("topology {:?} is left out: it arranges ranks", topology.name);
            notices.push(Notice::new(Level::Medium, NoticeCode::NotRepresented, message));
            return None;
        }
    };
    let axis = |axis: &ouzel_model::CartDimension| AnchorDimension {
        name: axis.name.to_string(),
        size: axis.size,
        periodic: axis.periodic,
    };
    Some(AnchorCart {
        name: topology.name.to_string(),
        dimensions: topology.dimensions.iter().map(axis).collect(),
        members,
        coordinates: topology.coordinates.clone(),
        n_bad: 0,
    })
}
