//! What the tags of elements say: a row of the anchor's tables each, without the text that follows.

use crate::anchor::*;
use crate::xml::Tag;

pub(crate) fn metric(tag: &Tag<'_>, parent: Option<usize>) -> Result<AnchorMetric, String> {
    Ok(AnchorMetric {
        id: number(tag, "id")?,
        parent,
        kind: attribute(tag, "type"),
        viz_type: attribute(tag, "viztype"),
        ..AnchorMetric::default()
    })
}

pub(crate) fn region(tag: &Tag<'_>) -> Result<AnchorRegion, String> {
    Ok(AnchorRegion {
        id: number(tag, "id")?,
        file: attribute(tag, "mod"),
        begin: line(tag, "begin"),
        end: line(tag, "end"),
        ..AnchorRegion::default()
    })
}

pub(crate) fn cnode(tag: &Tag<'_>, parent: Option<usize>) -> Result<AnchorCnode, String> {
    Ok(AnchorCnode {
        id: number(tag, "id")?,
        callee: number(tag, "calleeId")?,
        parent,
        line: line(tag, "line"),
        file: attribute(tag, "mod"),
        parameters: Vec::new(),
    })
}

pub(crate) fn parameter(tag: &Tag<'_>) -> AnchorParameter {
    AnchorParameter {
        is_numeric: attribute(tag, "partype") == "numeric",
        key: attribute(tag, "parkey"),
        value: attribute(tag, "parvalue"),
    }
}

/// The class of a machine or node is the name of its element.
pub(crate) fn system_node(
    tag: &Tag<'_>,
    kind: SystemNodeKind,
    parent: Option<usize>,
) -> Result<AnchorSystemNode, String> {
    let class = if kind == SystemNodeKind::Tree { String::new() } else { tag.name_text().into_owned() };
    Ok(AnchorSystemNode { id: number(tag, "Id")?, kind, parent, name: String::new(), class })
}

pub(crate) fn group(tag: &Tag<'_>, kind: &str, parent: Option<usize>) -> Result<AnchorGroup, String> {
    Ok(AnchorGroup { id: number(tag, "Id")?, parent, name: String::new(), rank: -1, kind: kind.to_owned() })
}

pub(crate) fn location(tag: &Tag<'_>, kind: &str, group: Option<usize>) -> Result<AnchorLocation, String> {
    Ok(AnchorLocation { id: number(tag, "Id")?, group, name: String::new(), rank: -1, kind: kind.to_owned() })
}

pub(crate) fn dimension(tag: &Tag<'_>) -> Result<AnchorDimension, String> {
    Ok(AnchorDimension {
        name: attribute(tag, "name"),
        size: number(tag, "size")?,
        periodic: matches!(&*attribute(tag, "periodic"), "true" | "1"),
    })
}

pub(crate) fn attribute(tag: &Tag<'_>, name: &str) -> String {
    tag.attribute(name).unwrap_or_default().into_owned()
}

pub(crate) fn number<T: std::str::FromStr>(tag: &Tag<'_>, name: &str) -> Result<T, String> {
    let text =
        tag.attribute(name).ok_or_else(|| format!("<{}> has no attribute {name:?}", tag.name_text()))?;
    let malformed = |_| format!("attribute {name:?} of <{}> is not a number: {text:?}", tag.name_text());
    text.trim().parse().map_err(malformed)
}

/// A line number; -1 if there is none.
fn line(tag: &Tag<'_>, name: &str) -> i64 {
    tag.attribute(name).and_then(|text| text.trim().parse().ok()).unwrap_or(-1)
}
