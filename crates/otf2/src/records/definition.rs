//! The records of definition files (`.def`).
//!
//! Identical in global and local files but for ids 5 to 8; see [`super::local`].

use super::enums::{
    Base, CartPeriodicity, GroupType, InterruptGeneratorMode, IoAccessMode, IoParadigmClass,
    LocationGroupType, LocationType, MetricOccurrence, MetricScope, MetricType, Paradigm, ParadigmClass,
    ParadigmProperty, ParameterType, RecorderKind, RegionRole, SystemTreeDomain, Type,
};
use super::field::{FieldValue, IoParadigmProperty, RefKind, Text, Value};
use super::list::List;
use super::table::*;
use crate::mapping::MappingTables;
use crate::wire::{Cursor, EncodeError, Fault, RecordBuffer, UNDEFINED_U32, UNDEFINED_U64};

record_table! {
    /// A definition: one record of the global definition file, or of a local one.
    table Definition<'a>, kinds DefinitionKind;

    /// The clock of the trace.
    5 sized ClockProperties {
        /// Ticks per second.
        timer_resolution: u64 as int,
        /// Ticks at the start; no event is earlier.
        global_offset: u64 as int,
        /// Ticks from the start to the end.
        trace_length: u64 as int,
        /// Nanoseconds since 1970 at the start, all ones if unknown.
        realtime_timestamp: u64 as int = UNDEFINED_U64,
    }

    /// A programming model in use.
    6 sized ParadigmDef ["Paradigm"] {
        /// Paradigm.
        paradigm: Paradigm as int,
        name: u32 as refer(String),
        /// Paradigm class.
        paradigm_class: ParadigmClass as int,
    }

    /// A property of a programming model.
    7 sized ParadigmPropertyDef ["ParadigmProperty"] {
        /// Paradigm.
        paradigm: Paradigm as int,
        /// Property.
        property: ParadigmProperty as int,
        /// The value, with its type.
        value: Value as value,
    }

    /// An I/O interface in use.
    8 sized IoParadigm<'a> {
        /// The record's own id.
        id: u8 as key(IoParadigm),
        identification: u32 as refer(String),
        name: u32 as refer(String),
        /// Io paradigm class.
        io_paradigm_class: IoParadigmClass as int,
        /// Bit set.
        io_paradigm_flags: u32 as int,
        /// Its properties.
        properties: List<'a, IoParadigmProperty> as list8,
    }

    /// A text.
    10 sized String<'a> {
        /// The record's own id.
        id: u32 as key(String),
        /// The text.
        string: Text<'a> as int,
    }

    /// An attribute that events can carry.
    11 sized Attribute {
        /// The record's own id.
        id: u32 as key(Attribute),
        name: u32 as refer(String),
        /// Type.
        value_type: Type as int,
        description: u32 as refer(String),
    }

    /// A node of the tree of machines.
    12 sized SystemTreeNode {
        /// The record's own id.
        id: u32 as key(SystemTreeNode),
        name: u32 as refer(String),
        class_name: u32 as refer(String),
        parent: u32 as refer(SystemTreeNode),
    }

    /// What owns locations, normally a process.
    13 sized LocationGroup {
        /// The record's own id.
        id: u32 as key(LocationGroup),
        name: u32 as refer(String),
        /// Location group type.
        location_group_type: LocationGroupType as int,
        system_tree_parent: u32 as refer(SystemTreeNode),
        creating_location_group: u32 as refer(LocationGroup) = UNDEFINED_U32,
    }

    /// A sequence of events: a thread, a stream, a metric source.
    14 sized Location {
        /// The record's own id.
        id: u64 as key(Location),
        name: u32 as refer(String),
        /// Location type.
        location_type: LocationType as int,
        /// Events of the location, as the tracer counted.
        number_of_events: u64 as int,
        location_group: u32 as refer(LocationGroup),
    }

    /// A region of the code.
    15 sized Region {
        /// The record's own id.
        id: u32 as key(Region),
        name: u32 as refer(String),
        description: u32 as refer(String),
        /// Kind of region before version 1.1.
        region_type: u8 as int,
        source_file: u32 as refer(String),
        /// First line.
        begin_line_number: u32 as int,
        /// Last line.
        end_line_number: u32 as int,
        canonical_name: u32 as refer(String) = UNDEFINED_U32,
        /// Region role.
        region_role: RegionRole as int = RegionRole::Unknown,
        /// Paradigm.
        paradigm: Paradigm as int = Paradigm::Unknown,
        /// Bit set.
        region_flags: u32 as int = 0,
    }

    /// A place in a region that enters another.
    16 sized Callsite {
        /// The record's own id.
        id: u32 as key(Callsite),
        source_file: u32 as refer(String),
        /// Line.
        line_number: u32 as int,
        entered_region: u32 as refer(Region),
        left_region: u32 as refer(Region),
    }

    /// A region and the path that leads to it.
    17 sized Callpath {
        /// The record's own id.
        id: u32 as key(Callpath),
        parent: u32 as refer(Callpath),
        region: u32 as refer(Region),
    }

    /// A group of locations, ranks, regions or metrics.
    18 sized Group<'a> {
        /// The record's own id.
        id: u32 as key(Group),
        name: u32 as refer(String),
        /// Type of the group before version 1.2.
        group_type_pre12: u8 as int,
        /// The members; what they are is in `group_type`.
        members: List<'a, u64> as list32,
        /// Group type.
        group_type: GroupType as int = group_type_before_1_2(group_type_pre12),
        /// Paradigm.
        paradigm: Paradigm as int = paradigm_before_1_2(group_type_pre12),
        /// Bit set.
        group_flags: u32 as int = 0,
    }

    /// One metric: name, type and unit.
    19 sized MetricMember {
        /// The record's own id.
        id: u32 as key(MetricMember),
        name: u32 as refer(String),
        description: u32 as refer(String),
        /// Metric type.
        metric_type: MetricType as int,
        /// Kind of values in the low four bits, their time in the high ones.
        metric_mode: u8 as int,
        /// Value type.
        value_type: Type as int,
        /// Base.
        base: Base as int,
        /// Exponent of the scale.
        exponent: i64 as int,
        unit: u32 as refer(String),
    }

    /// A set of metrics recorded together.
    20 sized MetricClass<'a> {
        /// The record's own id.
        id: u32 as key(Metric),
        metric_members: List<'a, u32> as refs8(MetricMember),
        /// Metric occurrence.
        metric_occurrence: MetricOccurrence as int,
        /// Recorder kind.
        recorder_kind: RecorderKind as int,
    }

    /// A metric class recorded on behalf of something else.
    21 sized MetricInstance {
        /// The record's own id.
        id: u32 as key(Metric),
        metric_class: u32 as refer(Metric),
        recorder: u64 as refer(Location),
        /// Metric scope.
        metric_scope: MetricScope as int,
        /// What the metric is for; its kind is in `metric_scope`.
        scope: u64 as int,
    }

    /// A communicator.
    22 sized Comm {
        /// The record's own id.
        id: u32 as key(Comm),
        name: u32 as refer(String),
        group: u32 as refer(Group),
        parent: u32 as refer(Comm),
        /// Bit set.
        flags: u32 as int = 0,
    }

    /// A parameter that events can give values to.
    23 sized Parameter {
        /// The record's own id.
        id: u32 as key(Parameter),
        name: u32 as refer(String),
        /// Parameter type.
        parameter_type: ParameterType as int,
    }

    /// A window of one-sided communication.
    24 sized RmaWin {
        /// The record's own id.
        id: u32 as key(RmaWin),
        name: u32 as refer(String),
        comm: u32 as refer(Comm),
        /// Bit set.
        flags: u32 as int = 0,
    }

    /// A location records a metric class.
    25 sized MetricClassRecorder {
        metric: u32 as refer(Metric),
        recorder: u64 as refer(Location),
    }

    /// A property of a node of the tree of machines.
    26 sized SystemTreeNodeProperty {
        system_tree_node: u32 as refer(SystemTreeNode),
        name: u32 as refer(String),
        /// The value as a text, as before version 2.0.
        string_value: u32 as refer(String),
        /// The value, with its type.
        value: Value as value = Value::string(string_value),
    }

    /// The hardware level of a node of the tree of machines.
    27 sized SystemTreeNodeDomain {
        system_tree_node: u32 as refer(SystemTreeNode),
        /// System tree domain.
        system_tree_domain: SystemTreeDomain as int,
    }

    /// A property of a location group.
    28 sized LocationGroupProperty {
        location_group: u32 as refer(LocationGroup),
        name: u32 as refer(String),
        /// The value as a text, as before version 2.0.
        string_value: u32 as refer(String),
        /// The value, with its type.
        value: Value as value = Value::string(string_value),
    }

    /// A property of a location.
    29 sized LocationProperty {
        location: u64 as refer(Location),
        name: u32 as refer(String),
        /// The value as a text, as before version 2.0.
        string_value: u32 as refer(String),
        /// The value, with its type.
        value: Value as value = Value::string(string_value),
    }

    /// A dimension of a Cartesian topology.
    30 sized CartDimension {
        /// The record's own id.
        id: u32 as key(CartDimension),
        name: u32 as refer(String),
        /// Number of coordinates.
        size: u32 as int,
        /// Cart periodicity.
        cart_periodicity: CartPeriodicity as int,
    }

    /// A Cartesian topology.
    31 sized CartTopology<'a> {
        /// The record's own id.
        id: u32 as key(CartTopology),
        name: u32 as refer(String),
        communicator: u32 as refer(Comm),
        cart_dimensions: List<'a, u32> as refs8(CartDimension),
    }

    /// The place of a rank in a Cartesian topology.
    32 sized CartCoordinate<'a> {
        cart_topology: u32 as refer(CartTopology),
        /// Rank in the topology's communicator.
        rank: u32 as int,
        /// One coordinate for each dimension.
        coordinates: List<'a, u32> as list8,
    }

    /// A line of a source file.
    33 sized SourceCodeLocation {
        /// The record's own id.
        id: u32 as key(SourceCodeLocation),
        file: u32 as refer(String),
        /// Line.
        line_number: u32 as int,
    }

    /// A node of the tree of sampled calling contexts.
    34 sized CallingContext {
        /// The record's own id.
        id: u32 as key(CallingContext),
        region: u32 as refer(Region),
        source_code_location: u32 as refer(SourceCodeLocation),
        parent: u32 as refer(CallingContext),
    }

    /// A property of a calling context.
    35 sized CallingContextProperty {
        calling_context: u32 as refer(CallingContext),
        name: u32 as refer(String),
        /// The value, with its type.
        value: Value as value,
    }

    /// What triggers samples.
    36 sized InterruptGenerator {
        /// The record's own id.
        id: u32 as key(InterruptGenerator),
        name: u32 as refer(String),
        /// Interrupt generator mode.
        interrupt_generator_mode: InterruptGeneratorMode as int,
        /// Base.
        base: Base as int,
        /// Exponent of the scale.
        exponent: i64 as int,
        /// Period, to be scaled by base and exponent.
        period: u64 as int,
    }

    /// A property of a file.
    37 sized IoFileProperty {
        io_file: u32 as refer(IoFile),
        name: u32 as refer(String),
        /// The value, with its type.
        value: Value as value,
    }

    /// A file.
    38 sized IoRegularFile {
        /// The record's own id.
        id: u32 as key(IoFile),
        name: u32 as refer(String),
        scope: u32 as refer(SystemTreeNode),
    }

    /// A directory.
    39 sized IoDirectory {
        /// The record's own id.
        id: u32 as key(IoFile),
        name: u32 as refer(String),
        scope: u32 as refer(SystemTreeNode),
    }

    /// An I/O handle.
    40 sized IoHandle {
        /// The record's own id.
        id: u32 as key(IoHandle),
        name: u32 as refer(String),
        file: u32 as refer(IoFile),
        io_paradigm: u8 as refer(IoParadigm),
        /// Bit set.
        io_handle_flags: u32 as int,
        comm: u32 as refer(Comm),
        parent: u32 as refer(IoHandle),
    }

    /// The state of an I/O handle that was open before the program began.
    41 sized IoPreCreatedHandleState {
        io_handle: u32 as refer(IoHandle),
        /// Mode.
        mode: IoAccessMode as int,
        /// Bit set.
        status_flags: u32 as int,
    }

    /// The value of a parameter in a call path.
    42 sized CallpathParameter {
        callpath: u32 as refer(Callpath),
        parameter: u32 as refer(Parameter),
        /// The value, with its type.
        value: Value as value,
    }

    /// A communicator between two groups.
    43 sized InterComm {
        /// The record's own id.
        id: u32 as key(Comm),
        name: u32 as refer(String),
        group_a: u32 as refer(Group),
        group_b: u32 as refer(Group),
        common_communicator: u32 as refer(Comm),
        /// Bit set.
        flags: u32 as int = 0,
    }
}

/// The type of a group whose record ends before it.
fn group_type_before_1_2(legacy: u8) -> GroupType {
    match legacy {
        1 => GroupType::Locations,
        2 => GroupType::Regions,
        3 => GroupType::Metric,
        4 => GroupType::CommGroup,
        5 => GroupType::CommSelf,
        6 => GroupType::CommLocations,
        _ => GroupType::Unknown,
    }
}

/// The paradigm of a group whose record ends before it.
fn paradigm_before_1_2(legacy: u8) -> Paradigm {
    match legacy {
        4..=6 => Paradigm::Mpi,
        _ => Paradigm::Unknown,
    }
}
