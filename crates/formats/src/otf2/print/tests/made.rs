//! A small archive with every kind of thing that a printer meets.

use super::{json, offset_of};
use crate::otf2::print::PrintOptions;
use ouzel_otf2::records::definition::{
    Attribute, ClockProperties, Location, LocationGroup, MetricClass, MetricMember, Region, SystemTreeNode,
};
use ouzel_otf2::records::enums::{
    Base, CollectiveOp, LocationGroupType, LocationType, MetricOccurrence, MetricType, Paradigm,
    RecorderKind, RegionRole, Type,
};
use ouzel_otf2::records::event::{
    BufferFlush, CommCreate, Enter, IoChangeStatusFlags, Leave, Metric, MpiCollectiveEnd, MpiSend, ProgramEnd,
};
use ouzel_otf2::records::local::ClockOffset;
use ouzel_otf2::records::{AttributeList, EventAttribute, IdMap, List, MetricValue, RefKind, Value as Typed};
use ouzel_otf2::wire::UNDEFINED_U32;
use ouzel_otf2::write::{ArchiveWriter, EventWriter, WriteOptions};
use std::fs;
use std::path::Path;

pub(super) const FAR_LOCATION: u64 = (1 << 32) + 5;

/// Two locations; the second has ids and a clock of its own, and an event of an unknown kind.
pub(super) fn made(dir: &Path) {
    let archive = ArchiveWriter::create(dir, "traces", WriteOptions::default()).unwrap();
    near_events(archive.events(3).unwrap());
    let mut local = archive.local_definitions(3).unwrap();
    local.map(RefKind::Metric, IdMap::Sparse(List::new(&[(5, 0)]))).unwrap();
    local.finish().unwrap();
    let mut events = archive.events(FAR_LOCATION).unwrap();
    events.write(1000, Enter { region: 0 }).unwrap();
    events.write(1500, CommCreate { communicator: 1 }).unwrap();
    events.write(1500, BufferFlush { stop_time: 2000 }).unwrap();
    events.write(2000, Leave { region: 0 }).unwrap();
    events.finish().unwrap();
    let mut local = archive.local_definitions(FAR_LOCATION).unwrap();
    local.map(RefKind::Region, IdMap::Dense(List::new(&[1, 0]))).unwrap();
    local.clock_offset(ClockOffset { time: 1000, offset: 100, standard_deviation: 0.5 }).unwrap();
    local.clock_offset(ClockOffset { time: 2000, offset: 300, standard_deviation: 0.0 }).unwrap();
    local.finish().unwrap();
    define(archive);
    // As if a newer library had written it.
    let path = dir.join(format!("traces/{FAR_LOCATION}.evt"));
    let mut bytes = fs::read(&path).unwrap();
    let options = PrintOptions { offsets: true, ..PrintOptions::default() };
    let records = json(dir, options);
    let create = records.iter().find(|record| record["record"] == "CommCreate").unwrap();
    bytes[offset_of(create)] = 200;
    fs::write(path, bytes).unwrap();
}

fn near_events(mut events: EventWriter) {
    let values = [MetricValue { value_type: Type::Uint64, bits: 42 }];
    let attributes = [
        EventAttribute { attribute: 0, value: Typed::Uint64(7) },
        EventAttribute { attribute: 9, value: Typed::Double(f64::INFINITY) },
        EventAttribute { attribute: 0, value: Typed::Location(FAR_LOCATION) },
    ];
    events.write(1000, Enter { region: 0 }).unwrap();
    events.write(1500, Metric { metric: 5, values: List::new(&values) }).unwrap();
    events.write_with(1500, &AttributeList::new(&attributes), Enter { region: 1 }).unwrap();
    let send = MpiSend { receiver: 1, communicator: UNDEFINED_U32, msg_tag: 2, msg_length: u64::MAX };
    events.write(1600, send).unwrap();
    events.write(1700, Leave { region: 1 }).unwrap();
    let end = MpiCollectiveEnd {
        collective_op: CollectiveOp::Raw(99),
        communicator: 4,
        root: u32::MAX,
        size_sent: 0,
        size_received: 8,
    };
    events.write(1800, end).unwrap();
    events.write(1900, IoChangeStatusFlags { handle: 0, status_flags: 0x1002 }).unwrap();
    events.write(2500, ProgramEnd { exit_status: -1 }).unwrap();
    events.finish().unwrap();
}

fn define(mut archive: ArchiveWriter) {
    let clock = ClockProperties {
        timer_resolution: 1_000_000,
        global_offset: 1000,
        trace_length: 1500,
        realtime_timestamp: u64::MAX,
    };
    archive.define(clock).unwrap();
    let names =
        ["", "main", "MPI_Send \"quoted\"\n", "cycles", "größe"].map(|name| archive.string(name).unwrap());
    let [none, main, send, cycles, size] = names;
    archive.define(SystemTreeNode { id: 0, name: main, class_name: none, parent: UNDEFINED_U32 }).unwrap();
    let group = LocationGroup {
        id: 0,
        name: main,
        location_group_type: LocationGroupType::Process,
        system_tree_parent: 0,
        creating_location_group: UNDEFINED_U32,
    };
    archive.define(group).unwrap();
    for (id, number_of_events) in [(3, 8), (FAR_LOCATION, 4)] {
        let location_type = LocationType::CpuThread;
        archive
            .define(Location { id, name: main, location_type, number_of_events, location_group: 0 })
            .unwrap();
    }
    for (id, name) in [(0, main), (1, send)] {
        let region = Region {
            id,
            name,
            description: none,
            region_type: 0,
            source_file: UNDEFINED_U32,
            begin_line_number: 0,
            end_line_number: 0,
            canonical_name: name,
            region_role: RegionRole::Function,
            paradigm: Paradigm::User,
            region_flags: 0,
        };
        archive.define(region).unwrap();
    }
    archive.define(Attribute { id: 0, name: size, value_type: Type::Uint64, description: none }).unwrap();
    let member = MetricMember {
        id: 0,
        name: cycles,
        description: none,
        metric_type: MetricType::Papi,
        metric_mode: 0,
        value_type: Type::Uint64,
        base: Base::Decimal,
        exponent: 0,
        unit: none,
    };
    archive.define(member).unwrap();
    let class = MetricClass {
        id: 0,
        metric_members: List::new(&[0]),
        metric_occurrence: MetricOccurrence::Synchronous,
        recorder_kind: RecorderKind::Cpu,
    };
    archive.define(class).unwrap();
    archive.finish().unwrap();
}
