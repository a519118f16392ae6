//! Definitions from XML and back.

use super::*;

fn parse(text: &str) -> Result<ReadAnchor, CubeError> {
    read(text.as_bytes(), Arc::from("x"))
}

const OLD: &str = "<cube version=\"3.0\"><metrics><metric id=\"0\"><uniq_name>time</uniq_name><metric id=\"7\">\
    <uniq_name>mpi</uniq_name></metric></metric></metrics><program><region id=\"3\" mod=\"a.c\" begin=\"1\" \
    end=\"x\"><name>&lt;main></name></region><cnode id=\"5\" calleeId=\"3\" line=\"4\"><parameter partype=\"numeric\" \
    parkey=\"n\" parvalue=\"3\"/><cnode id=\"2\" calleeId=\"3\"/></cnode><cnode id=\"9\" calleeId=\"3\"></cnode></program>\
    <system><machine Id=\"0\"><name>M</name><node Id=\"0\"><name>N</name><process Id=\"0\"><rank>1</rank>\
    <thread Id=\"1\"><name>T</name></thread></process></node></machine><topologies><cart name=\"g\" ndims=\"2\">\
    <dim size=\"2\" periodic=\"true\"/><dim name=\"y\" size=\"1\" periodic=\"false\"/><coord thrdId=\"1\">1 0</coord>\
    <coord procId=\"0\">1</coord><coord>0 0</coord><coord nodeId=\"0\"> 0\n0 </coord></cart></topologies></system>\
    <severity><matrix metricId=\"7\"><row cnodeId=\"2\">\n1\n2 </row></matrix></severity></cube>";

#[test]
fn old_files_are_read_with_the_place_of_every_row() {
    let ReadAnchor { anchor, damage } = parse(OLD).unwrap();
    assert_eq!(damage, None);
    assert_eq!(
        anchor.metrics.iter().map(|m| (m.id, m.parent)).collect::<Vec<_>>(),
        [(0, None), (7, Some(0))]
    );
    let cnodes: Vec<_> = anchor.cnodes.iter().map(|c| (c.id, c.parent, c.line)).collect();
    assert_eq!(cnodes, [(5, None, 4), (2, Some(0), -1), (9, None, -1)]);
    assert_eq!(anchor.cnodes[0].parameters[0].value, "3");
    assert_eq!((anchor.regions[0].name.as_str(), anchor.regions[0].end), ("<main>", -1));
    assert_eq!(anchor.system_nodes.iter().map(|n| n.class.as_str()).collect::<Vec<_>>(), ["machine", "node"]);
    assert_eq!((anchor.groups[0].rank, anchor.groups[0].parent), (1, Some(1)));
    assert_eq!((anchor.locations[0].id, anchor.locations[0].group), (1, Some(0)));
    let cart = &anchor.carts[0];
    let node = MemberKind::SystemNode(SystemNodeKind::Node);
    assert_eq!(cart.members, [(MemberKind::Location, 1), (node, 0)]);
    assert_eq!((&cart.coordinates[..], cart.n_bad), (&[1, 0, 0, 0][..], 2));
    let row = anchor.rows[0];
    assert_eq!((row.metric, row.cnode), (7, 2));
    assert_eq!(&OLD[row.offset as usize..(row.offset + row.n_bytes) as usize], "\n1\n2 ");
}

#[test]
fn definitions_come_back_from_what_is_written() {
    let mut anchor = parse(OLD).unwrap().anchor;
    anchor.rows.clear();
    // What the new form cannot distinguish, or always gives.
    for node in &mut anchor.system_nodes {
        node.kind = SystemNodeKind::Tree;
    }
    anchor.system_nodes[1].id = 1;
    for (kind, id) in &mut anchor.carts[0].members {
        if let MemberKind::SystemNode(_) = kind {
            (*kind, *id) = (MemberKind::SystemNode(SystemNodeKind::Tree), 1);
        }
    }
    anchor.carts[0].n_bad = 0;
    let again = parse(&crate::anchor_writer::write(&anchor)).unwrap();
    assert_eq!(again.damage, None);
    assert_eq!(again.anchor, anchor);
}

#[test]
fn a_cut_file_is_damaged_and_keeps_rows_alone() {
    let severity = OLD.find("<severity>").unwrap() + "<severity>".len();
    for n in 0..OLD.len() {
        let read = parse(&OLD[..n]);
        if n < severity {
            assert!(read.is_err(), "at {n}");
        } else {
            assert!(read.unwrap().damage.is_some(), "at {n}");
        }
    }
}

#[test]
fn malformed_definitions_are_refused() {
    for text in [
        "",
        "<html></html>",
        "<cube><metrics></cube>",
        "<cube></cube></cube>",
        "<cube><metric id=\"x\"/></cube>",
        "<cube><cnode id=\"1\"/></cube>",
        "<cube><row cnodeId=\"1\"/></cube>",
    ] {
        assert!(parse(text).is_err(), "{text}");
    }
}

#[test]
fn what_is_not_known_is_counted() {
    let anchor = parse("<cube version=\"9\"><new/><new><b/></new></cube>").unwrap().anchor;
    assert_eq!(anchor.unknown, [("b".to_owned(), 1), ("new".to_owned(), 2)]);
}
