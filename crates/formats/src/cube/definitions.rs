//! Definitions of CUBE as definitions of the model.

use super::metrics::{self, Stored};
use super::topologies;
use ouzel_cube::{Anchor, AnchorRegion, CubeError};
use ouzel_model::{
    CallNode, CallPathId, CallTree, Level, Location, LocationGroup, LocationGroupId, LocationGroupKind,
    LocationKind, Notice, NoticeCode, Paradigm, ParameterValue, ProfileDefinitions, Provenance, Region,
    RegionId, RegionRole, SystemNode, SystemNodeId, SystemTree, WorldRank,
};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// The definitions, and where the values of each metric lie.
pub(super) struct Resolved {
    pub definitions: ProfileDefinitions,
    pub stored: Vec<Option<Stored>>,
    pub notices: Vec<Notice>,
}

/// Callers on the deepest call path that is read. Sums along the tree keep a row for each level; real call trees have
/// some hundred levels.
const MAX_LEVELS: usize = 10_000;

pub(super) fn resolve(anchor: &Anchor, file: &Arc<str>, is_archive: bool) -> Result<Resolved, CubeError> {
    let metrics::Metrics { metrics, stored, mut notices } = metrics::resolve(anchor, file);
    let mut tell = |code, message: String, n: usize| {
        if n > 0 {
            notices.push(Notice::new(Level::Medium, code, message).times(n as u64).in_file(file.clone()));
        }
    };
    let (regions, nodes, n_unknown) = call_nodes(anchor);
    tell(
        NoticeCode::UndefinedReference,
        "call paths name regions that are not defined".to_owned(),
        n_unknown,
    );
    let call_tree = CallTree::build(nodes).tree;
    if call_tree.n_levels() > MAX_LEVELS {
        return Err(CubeError::new(file, 0, format!("call paths are more than {MAX_LEVELS} regions deep")));
    }
    let system_tree = SystemTree {
        nodes: anchor
            .system_nodes
            .iter()
            .map(|node| SystemNode {
                name: Arc::from(node.name.as_str()),
                class: Arc::from(node.class.as_str()),
                parent: node.parent.map(SystemNodeId::from_index),
                shared_memory: false,
            })
            .collect(),
    };
    let mut location_groups: Vec<LocationGroup> = anchor
        .groups
        .iter()
        .map(|group| {
            let kind = match group.kind.as_str() {
                "process" => LocationGroupKind::Process,
                "accelerator" => LocationGroupKind::Accelerator,
                _ => LocationGroupKind::Unknown,
            };
            LocationGroup {
                name: Arc::from(group.name.as_str()),
                kind,
                system_node: group.parent.map(SystemNodeId::from_index),
                creator: None,
                device: None,
                rank: u32::try_from(group.rank).ok().map(WorldRank),
            }
        })
        .collect();
    let (locations, n_twice) = locations(anchor, &mut location_groups);
    tell(
        NoticeCode::DuplicateDefinition,
        "locations have the same id as another location".to_owned(),
        n_twice,
    );
    let attribute =
        |name: &str| anchor.attributes.iter().find(|(key, _)| key == name).map(|(_, value)| value.clone());
    let creator = attribute("Creator").or_else(|| attribute("CUBE Library version"));
    let provenance = Provenance {
        format: if is_archive { "CUBE" } else { "CUBE XML" }.to_owned(),
        format_version: anchor.version.clone(),
        creator: creator
            .or_else(|| attribute("Cube Version").map(|version| format!("Cube {version}")))
            .unwrap_or_default(),
        machine: anchor.system_nodes.first().map(|node| node.name.clone()).unwrap_or_default(),
        description: attribute("description").unwrap_or_default(),
    };
    let topologies = topologies::resolve(anchor, &locations, file, &mut notices);
    let definitions = ProfileDefinitions {
        provenance,
        metrics,
        regions,
        call_tree,
        system_tree,
        location_groups,
        locations,
        topologies,
    };
    Ok(Resolved { definitions, stored, notices })
}

/// The regions, the call paths in the order of the file, and how many of these name no region.
fn call_nodes(anchor: &Anchor) -> (Vec<Region>, Vec<CallNode>, usize) {
    let mut regions: Vec<Region> = anchor.regions.iter().map(region).collect();
    let mut ids: FxHashMap<u32, RegionId> = FxHashMap::default();
    for (i, region) in anchor.regions.iter().enumerate() {
        ids.entry(region.id).or_insert(RegionId::from_index(i));
    }
    let mut n_unknown = 0;
    let mut nodes = Vec::with_capacity(anchor.cnodes.len());
    for cnode in &anchor.cnodes {
        let region = *ids.entry(cnode.callee).or_insert_with(|| {
            let name = format!("<unknown region {}>", cnode.callee);
            regions.push(Region { name: Arc::from(name), ..region(&AnchorRegion::default()) });
            RegionId::from_index(regions.len() - 1)
        });
        n_unknown += usize::from(region.index() >= anchor.regions.len());
        let parameter = |parameter: &ouzel_cube::AnchorParameter| {
            let text = || ParameterValue::Text(Arc::from(parameter.value.as_str()));
            let number = parameter.is_numeric.then(|| parameter.value.trim().parse().ok()).flatten();
            (Arc::from(parameter.key.as_str()), number.map_or_else(text, ParameterValue::I64))
        };
        nodes.push(CallNode {
            parent: cnode.parent.map(CallPathId::from_index),
            region,
            site_file: (!cnode.file.is_empty()).then(|| Arc::from(cnode.file.as_str())),
            site_line: line(cnode.line),
            parameters: cnode.parameters.iter().map(parameter).collect(),
            native_id: u64::from(cnode.id),
        });
    }
    (regions, nodes, n_unknown)
}

fn region(region: &AnchorRegion) -> Region {
    let some = |text: &str| (!text.is_empty()).then(|| Arc::<str>::from(text));
    // Old files give the paradigm in the description.
    let paradigm = if region.paradigm.is_empty() { &region.description } else { &region.paradigm };
    Region {
        name: Arc::from(region.name.as_str()),
        canonical_name: some(&region.mangled_name).filter(|name| **name != *region.name),
        file: some(&region.file),
        line: line(region.begin),
        end_line: line(region.end),
        role: role(&region.role),
        paradigm: self::paradigm(paradigm),
    }
}

/// A source line; files write 0 or less for none.
fn line(line: i64) -> Option<u32> {
    u32::try_from(line).ok().filter(|&line| line > 0)
}

/// The role of this spelling, which is that of OTF2; `Unknown` for others.
fn role(text: &str) -> RegionRole {
    let text = text.to_ascii_lowercase().replace([' ', '-'], "_");
    (0..=u8::MAX).map(RegionRole::from_code).find(|role| role.as_str() == text).unwrap_or(RegionRole::Unknown)
}

/// The paradigm of this spelling; `Unknown` for others.
fn paradigm(text: &str) -> Paradigm {
    match text.to_ascii_lowercase().as_str() {
        "measurement" => Paradigm::MeasurementSystem,
        "omp" => Paradigm::OpenMp,
        text => {
            (0..=u8::MAX).map(Paradigm::from_code).find(|p| p.as_str() == text).unwrap_or(Paradigm::Unknown)
        }
    }
}

/// The locations in the order of their ids, which is that of the columns, and how many have the id of another.
fn locations(anchor: &Anchor, groups: &mut Vec<LocationGroup>) -> (Vec<Location>, usize) {
    let mut order: Vec<usize> = (0..anchor.locations.len()).collect();
    order.sort_by_key(|&i| anchor.locations[i].id);
    let n_twice =
        order.windows(2).filter(|pair| anchor.locations[pair[0]].id == anchor.locations[pair[1]].id).count();
    let mut without_group = None;
    let locations = order.iter().map(|&i| {
        let location = &anchor.locations[i];
        let group = location.group.map(LocationGroupId::from_index);
        let group = group.unwrap_or_else(|| {
            *without_group.get_or_insert_with(|| {
                let name = Arc::from("<unknown process>");
                let kind = LocationGroupKind::Unknown;
                groups.push(LocationGroup {
                    name,
                    kind,
                    system_node: None,
                    creator: None,
                    device: None,
                    rank: None,
                });
                LocationGroupId::from_index(groups.len() - 1)
            })
        });
        Location {
            name: Arc::from(location.name.as_str()),
            kind: match location.kind.as_str() {
                "thread" => LocationKind::CpuThread,
                "gpu" => LocationKind::AcceleratorStream,
                "metric" => LocationKind::Metric,
                _ => LocationKind::Unknown,
            },
            rank: groups[group.index()].rank,
            group,
            declared_events: None,
            native_id: u64::from(location.id),
        }
    });
    (locations.collect(), n_twice)
}
