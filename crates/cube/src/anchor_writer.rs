//! Writes definitions as XML.

use crate::anchor::*;
use crate::xml::escaped;
use std::fmt::Write as _;

/// The definitions as `anchor.xml`. Rows are not written.
pub(crate) fn write(anchor: &Anchor) -> String {
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let _ = writeln!(out, "<cube version=\"{}\">", escaped(&anchor.version));
    for (key, value) in &anchor.attributes {
        let _ = writeln!(out, "<attr key=\"{}\" value=\"{}\"/>", escaped(key), escaped(value));
    }
    out.push_str("<doc>\n<mirrors>\n</mirrors>\n</doc>\n<metrics>\n");
    write_nested(
        &mut out,
        anchor.metrics.len(),
        |i| anchor.metrics[i].parent,
        "metric",
        |out, i| {
            write_metric(out, &anchor.metrics[i]);
        },
    );
    out.push_str("</metrics>\n<program>\n");
    for region in &anchor.regions {
        let AnchorRegion { id, file, begin, end, .. } = region;
        let _ =
            writeln!(out, "<region id=\"{id}\" mod=\"{}\" begin=\"{begin}\" end=\"{end}\">", escaped(file));
        element(&mut out, "name", &region.name);
        element(&mut out, "mangled_name", &region.mangled_name);
        element(&mut out, "paradigm", &region.paradigm);
        element(&mut out, "role", &region.role);
        element(&mut out, "url", "");
        element(&mut out, "descr", &region.description);
        out.push_str("</region>\n");
    }
    write_nested(
        &mut out,
        anchor.cnodes.len(),
        |i| anchor.cnodes[i].parent,
        "cnode",
        |out, i| {
            write_cnode(out, &anchor.cnodes[i]);
        },
    );
    out.push_str("</program>\n<system>\n");
    write_system(&mut out, anchor);
    out.push_str("<topologies>\n");
    for cart in &anchor.carts {
        write_cart(&mut out, cart);
    }
    out.push_str("</topologies>\n</system>\n</cube>\n");
    out
}

/// Writes elements of a table that nest: each begins at its place, and ends before the first that is not below it.
fn write_nested(
    out: &mut String,
    n: usize,
    parent_of: impl Fn(usize) -> Option<usize>,
    name: &str,
    begin: impl Fn(&mut String, usize),
) {
    let mut open: Vec<usize> = Vec::new();
    for i in 0..n {
        while open.last().is_some_and(|&last| Some(last) != parent_of(i)) {
            let _ = writeln!(out, "</{name}>");
            open.pop();
        }
        begin(out, i);
        open.push(i);
    }
    for _ in open {
        let _ = writeln!(out, "</{name}>");
    }
}

fn element(out: &mut String, name: &str, text: &str) {
    let _ = writeln!(out, "<{name}>{}</{name}>", escaped(text));
}

fn write_metric(out: &mut String, metric: &AnchorMetric) {
    let _ = write!(out, "<metric id=\"{}\" type=\"{}\"", metric.id, escaped(&metric.kind));
    if !metric.viz_type.is_empty() {
        let _ = write!(out, " viztype=\"{}\"", escaped(&metric.viz_type));
    }
    out.push_str(">\n");
    element(out, "disp_name", &metric.display_name);
    element(out, "uniq_name", &metric.unique_name);
    element(out, "dtype", &metric.data_type);
    element(out, "uom", &metric.unit);
    element(out, "url", &metric.url);
    element(out, "descr", &metric.description);
    if !metric.expression.is_empty() {
        element(out, "cubepl", &metric.expression);
    }
}

fn write_cnode(out: &mut String, cnode: &AnchorCnode) {
    let _ = write!(out, "<cnode id=\"{}\" calleeId=\"{}\"", cnode.id, cnode.callee);
    if cnode.line >= 0 {
        let _ = write!(out, " line=\"{}\"", cnode.line);
    }
    if !cnode.file.is_empty() {
        let _ = write!(out, " mod=\"{}\"", escaped(&cnode.file));
    }
    out.push_str(">\n");
    for parameter in &cnode.parameters {
        let kind = if parameter.is_numeric { "numeric" } else { "string" };
        let (key, value) = (escaped(&parameter.key), escaped(&parameter.value));
        let _ = writeln!(out, "<parameter partype=\"{kind}\" parkey=\"{key}\" parvalue=\"{value}\"/>");
    }
}

/// Writes the system tree: nodes in their order, each followed by its groups, and these by their locations.
fn write_system(out: &mut String, anchor: &Anchor) {
    let mut groups_of = vec![Vec::new(); anchor.system_nodes.len()];
    for (i, group) in anchor.groups.iter().enumerate() {
        if let Some(node) = group.parent {
            groups_of[node].push(i);
        }
    }
    let mut locations_of = vec![Vec::new(); anchor.groups.len()];
    for (i, location) in anchor.locations.iter().enumerate() {
        if let Some(group) = location.group {
            locations_of[group].push(i);
        }
    }
    let parent_of = |i: usize| anchor.system_nodes[i].parent;
    write_nested(out, anchor.system_nodes.len(), parent_of, "systemtreenode", |out, i| {
        let node = &anchor.system_nodes[i];
        let _ = writeln!(out, "<systemtreenode Id=\"{}\">", node.id);
        element(out, "name", &node.name);
        element(out, "class", &node.class);
        for &at in &groups_of[i] {
            let group = &anchor.groups[at];
            let _ = writeln!(out, "<locationgroup Id=\"{}\">", group.id);
            element(out, "name", &group.name);
            element(out, "rank", &group.rank.to_string());
            element(out, "type", &group.kind);
            for &at in &locations_of[at] {
                let location = &anchor.locations[at];
                let _ = writeln!(out, "<location Id=\"{}\">", location.id);
                element(out, "name", &location.name);
                element(out, "rank", &location.rank.to_string());
                element(out, "type", &location.kind);
                out.push_str("</location>\n");
            }
            out.push_str("</locationgroup>\n");
        }
    });
}

fn write_cart(out: &mut String, cart: &AnchorCart) {
    let n = cart.dimensions.len();
    let _ = writeln!(out, "<cart name=\"{}\" ndims=\"{n}\">", escaped(&cart.name));
    for AnchorDimension { name, size, periodic } in &cart.dimensions {
        let name = if name.is_empty() { String::new() } else { format!(" name=\"{}\"", escaped(name)) };
        let _ = writeln!(out, "<dim{name} size=\"{size}\" periodic=\"{periodic}\"/>");
    }
    for (i, (kind, id)) in cart.members.iter().enumerate() {
        let attribute = match kind {
            MemberKind::Location => "locId",
            MemberKind::Group => "lgId",
            MemberKind::SystemNode(_) => "stnId",
        };
        let place: Vec<String> = cart.coordinates[i * n..(i + 1) * n].iter().map(u32::to_string).collect();
        let _ = writeln!(out, "<coord {attribute}=\"{id}\">{}</coord>", place.join(" "));
    }
    out.push_str("</cart>\n");
}
