//! The call tree of an `experiment.xml`, as regions and call paths.

use super::contexts::{ContextIds, ContextsBuilder, PlacedNode};
use super::regions;
use ouzel_hpcdb::experiment::{Experiment, Node, NodeKind, Procedure};
use ouzel_model::{ContextId, Notice, Region, SampledContexts};
use std::sync::Arc;

/// What HPCToolkit calls the time at which nothing runs.
const NO_ACTIVITY: &str = "<no activity>";

/// What the tree of the XML file became.
pub(super) struct XmlTree {
    pub contexts: SampledContexts,
    pub regions: Vec<Region>,
    pub ids: Arc<ContextIds>,
    pub frames: Vec<ouzel_model::CallNode>,
    /// For each node of the XML file its frame; `None` for nodes outside of any.
    pub frame_of: Vec<Option<u32>>,
}

impl XmlTree {
    /// The tree of the nodes, with the names of their procedures and files.
    pub fn new(experiment: &Experiment, notices: &mut Vec<Notice>) -> XmlTree {
        let mut builder = ContextsBuilder::default();
        builder.placeholder(regions::entry(&Arc::from("<unknown call path>")));
        let mut placed: Vec<Option<PlacedNode>> = Vec::with_capacity(experiment.nodes.len());
        // Whether a node is the one for the time at which nothing runs, or below it.
        let mut is_idle: Vec<bool> = Vec::with_capacity(experiment.nodes.len());
        let mut numbers: Vec<(u32, Option<ContextId>)> = Vec::new();
        for node in &experiment.nodes {
            let parent = node.parent.map(|parent| parent as usize);
            let outer = parent.and_then(|parent| placed[parent]);
            let idle = parent.is_some_and(|parent| is_idle[parent])
                || procedure_name(experiment, node).as_deref() == Some(NO_ACTIVITY);
            let here = place(experiment, node, outer, &mut builder);
            if let Some(number) = node.trace_id {
                numbers.push((number, here.map(|here| here.context).filter(|_| !idle)));
            }
            placed.push(here);
            is_idle.push(idle);
        }
        notices.extend(builder.notice());
        let ids = ContextIds::new(&numbers, notices);
        XmlTree {
            contexts: builder.contexts,
            regions: builder.regions.into_vec(),
            ids: Arc::new(ids),
            frames: builder.frames,
            frame_of: placed.iter().map(|placed| placed.map(|placed| placed.frame)).collect(),
        }
    }
}

fn procedure_name(experiment: &Experiment, node: &Node) -> Option<Arc<str>> {
    match node.procedure.as_ref()? {
        Procedure::Number(number) => experiment.procedures.get(number).cloned(),
        Procedure::Name(name) => Some(Arc::clone(name)),
    }
}

fn place(
    experiment: &Experiment,
    node: &Node,
    outer: Option<PlacedNode>,
    builder: &mut ContextsBuilder,
) -> Option<PlacedNode> {
    let file = node.file.and_then(|file| experiment.files.get(&file)).cloned();
    let id = u64::from(node.id);
    match node.kind {
        NodeKind::Procedure | NodeKind::Inlined => {
            let name = procedure_name(experiment, node);
            let name = name.unwrap_or_else(|| Arc::from("<unknown procedure>"));
            let is_root = outer.is_none() && name.starts_with('<') && name.ends_with(" root>");
            let region = match is_root {
                true => regions::entry(&name),
                false => regions::function(&name, file, Some(node.line)),
            };
            Some(builder.frame(outer, region, id))
        }
        NodeKind::Loop => {
            let inside = outer.map(|outer| builder.region(outer));
            let region = regions::of_loop(file, Some(node.line), inside);
            Some(builder.frame(outer, region, id))
        }
        NodeKind::Call | NodeKind::Statement => Some(builder.line(outer?, file, Some(node.line))),
    }
}
