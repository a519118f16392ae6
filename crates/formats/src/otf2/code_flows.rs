//! What recorders say of functions and loops, from properties of calling contexts.
//!
//! Law: a value that is damaged, or of a context that does not exist, says nothing and is counted in a notice.

use super::collect::Collected;
use ouzel_model::{CodeFlow, CodePart, Level, Notice, NoticeCode, RegionId};
use ouzel_otf2::code_flow::{CodePartText, FLOW_PROPERTY, parts_of_text};
use ouzel_otf2::records::{RefKind, Value};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The flows of functions and loops by their regions.
pub(super) fn code_flows(
    collected: &Collected,
    regions: &FxHashMap<u32, RegionId>,
    notices: &mut Vec<Notice>,
) -> BTreeMap<RegionId, CodeFlow> {
    let mut flows = BTreeMap::new();
    if collected.context_properties.is_empty() {
        return flows;
    }
    let region_of: FxHashMap<u32, u32> =
        collected.calling_contexts.iter().map(|context| (context.id, context.region)).collect();
    let mut n_lost = 0;
    for property in &collected.context_properties {
        let own = collected.strings.get(&property.name).is_some_and(|name| **name == *FLOW_PROPERTY);
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
        let message = "descriptions of code are damaged; the order of samples is used in their place";
        notices.push(Notice::new(Level::Low, NoticeCode::DamagedDefinitions, message).times(n_lost));
    }
    flows
}

fn flow(parts: Vec<CodePartText>) -> CodeFlow {
    let mut flow = CodeFlow::default();
    for CodePartText { line, is_loop, is_always, after, function } in parts {
        flow.parts.push(CodePart { line, is_loop, is_always, function: Arc::from(function) });
        flow.after.push(after);
    }
    flow
}

/// The value of the property.
pub(super) fn text_of_flow(flow: &CodeFlow) -> String {
    let part = |(part, after): (&CodePart, &Vec<u32>)| CodePartText {
        line: part.line,
        is_loop: part.is_loop,
        is_always: part.is_always,
        after: after.clone(),
        function: part.function.to_string(),
    };
    let parts: Vec<CodePartText> = flow.parts.iter().zip(&flow.after).map(part).collect();
    ouzel_otf2::code_flow::text_of_parts(&parts)
}
