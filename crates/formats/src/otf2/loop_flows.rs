//! What recorders say of loops, from properties of calling contexts.
//!
//! Law: a value that is damaged, or of a context that is no loop, says nothing and is counted in a notice.

use super::collect::Collected;
use ouzel_model::{Level, LoopFlow, LoopPart, Notice, NoticeCode, RegionId};
use ouzel_otf2::loop_flow::{LOOP_PROPERTY, LoopPartText, parts_of_text};
use ouzel_otf2::records::{RefKind, Value};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The flows of loops by their regions.
pub(super) fn loop_flows(
    collected: &Collected,
    regions: &FxHashMap<u32, RegionId>,
    notices: &mut Vec<Notice>,
) -> BTreeMap<RegionId, LoopFlow> {
    let mut flows = BTreeMap::new();
    if collected.context_properties.is_empty() {
        return flows;
    }
    let region_of: FxHashMap<u32, u32> =
        collected.calling_contexts.iter().map(|context| (context.id, context.region)).collect();
    let mut n_lost = 0;
    for property in &collected.context_properties {
        let own = collected.strings.get(&property.name).is_some_and(|name| **name == *LOOP_PROPERTY);
        if !own {
            continue;
        }
        let region = region_of.get(&property.calling_context).and_then(|region| regions.get(region));
        let value = match property.value {
            Value::Ref(RefKind::String, text) => collected.strings.get(&text),
            _ => None,
        };
        match region.zip(value.and_then(|text| parts_of_text(text))) {
            Some((&region, parts)) => drop(flows.entry(region).or_insert_with(|| flow(parts))),
            None => n_lost += 1,
        }
    }
    if 0 < n_lost {
        let message = "descriptions of loops are damaged; the order of samples is used in their place";
        notices.push(Notice::new(Level::Low, NoticeCode::DamagedDefinitions, message).times(n_lost));
    }
    flows
}

fn flow(parts: Vec<LoopPartText>) -> LoopFlow {
    let mut flow = LoopFlow::default();
    for LoopPartText { line, is_loop, after, function } in parts {
        flow.parts.push(LoopPart { line, is_loop, function: Arc::from(function) });
        flow.after.push(after);
    }
    flow
}

/// The value of the property for a loop.
pub(super) fn text_of_flow(flow: &LoopFlow) -> String {
    let part = |(part, after): (&LoopPart, &Vec<u32>)| LoopPartText {
        line: part.line,
        is_loop: part.is_loop,
        after: after.clone(),
        function: part.function.to_string(),
    };
    let parts: Vec<LoopPartText> = flow.parts.iter().zip(&flow.after).map(part).collect();
    ouzel_otf2::loop_flow::text_of_parts(&parts)
}
