//! The definitions of a profile, as the XML holds them.
//!
//! Tables are in document order; nested elements name their parent by its position. Cnodes
//! nest, so document order is pre-order. Ids are those of the file and need not be dense.

/// Everything `anchor.xml` or a `.cube` defines.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Anchor {
    /// Version of the format, e.g. `4.4`.
    pub version: String,
    /// Attributes of the whole.
    pub attributes: Vec<(String, String)>,
    /// Metrics.
    pub metrics: Vec<AnchorMetric>,
    /// Regions.
    pub regions: Vec<AnchorRegion>,
    /// Call paths, in pre-order.
    pub cnodes: Vec<AnchorCnode>,
    /// Nodes of the machine.
    pub system_nodes: Vec<AnchorSystemNode>,
    /// Processes and the like.
    pub groups: Vec<AnchorGroup>,
    /// Threads and the like.
    pub locations: Vec<AnchorLocation>,
    /// Cartesian topologies.
    pub carts: Vec<AnchorCart>,
    /// Rows of severities that are in the XML itself (`.cube`).
    pub rows: Vec<XmlRow>,
    /// Elements that are not known, by name, with their number; sorted.
    pub unknown: Vec<(String, u64)>,
}

/// A metric.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AnchorMetric {
    /// Its id; names the files `<id>.index` and `<id>.data`.
    pub id: u32,
    /// Position of the metric it is part of.
    pub parent: Option<usize>,
    /// `EXCLUSIVE`, `INCLUSIVE`, `PREDERIVED_EXCLUSIVE`, …; empty if not given.
    pub kind: String,
    /// `GHOST` for a hidden metric; empty if not given.
    pub viz_type: String,
    /// Display name.
    pub display_name: String,
    /// Unique name.
    pub unique_name: String,
    /// Type of the values, as written.
    pub data_type: String,
    /// Unit.
    pub unit: String,
    /// Address of more about it.
    pub url: String,
    /// Description.
    pub description: String,
    /// The expression of a derived metric.
    pub expression: String,
    /// Expressions that are run before, or instead of sums; whichever there are.
    pub other_expressions: Vec<String>,
}

/// A code region.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AnchorRegion {
    /// Its id.
    pub id: u32,
    /// The file that holds it.
    pub file: String,
    /// First line, -1 if unknown.
    pub begin: i64,
    /// Last line, -1 if unknown.
    pub end: i64,
    /// Display name.
    pub name: String,
    /// The linker's name.
    pub mangled_name: String,
    /// Programming model.
    pub paradigm: String,
    /// What it is.
    pub role: String,
    /// Description; old files give the paradigm here.
    pub description: String,
}

/// A call path.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AnchorCnode {
    /// Its id.
    pub id: u32,
    /// Id of the region.
    pub callee: u32,
    /// Position of the caller.
    pub parent: Option<usize>,
    /// Line of the call site, -1 if unknown.
    pub line: i64,
    /// File of the call site; empty if unknown.
    pub file: String,
    /// What it was called with.
    pub parameters: Vec<AnchorParameter>,
}

/// A parameter of a call path.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AnchorParameter {
    /// Whether the value is a number.
    pub is_numeric: bool,
    /// Its name.
    pub key: String,
    /// Its value, as written.
    pub value: String,
}

/// Which element a system node was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SystemNodeKind {
    /// `systemtreenode`.
    Tree,
    /// `machine` of old files.
    Machine,
    /// `node` of old files.
    Node,
}

/// A node of the machine.
#[derive(Debug, Clone, PartialEq)]
pub struct AnchorSystemNode {
    /// Its id; one count for each kind.
    pub id: u32,
    /// Which element.
    pub kind: SystemNodeKind,
    /// Position of what holds it.
    pub parent: Option<usize>,
    /// Name.
    pub name: String,
    /// Class, e.g. `machine`.
    pub class: String,
}

/// A process or another owner of locations.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AnchorGroup {
    /// Its id.
    pub id: u32,
    /// Position of the system node that holds it.
    pub parent: Option<usize>,
    /// Name.
    pub name: String,
    /// Rank; -1 if not given.
    pub rank: i64,
    /// `process`, `metrics` or `accelerator`.
    pub kind: String,
}

/// A thread or another location.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AnchorLocation {
    /// Its id; values of a row are in the order of ids.
    pub id: u32,
    /// Position of its group.
    pub group: Option<usize>,
    /// Name.
    pub name: String,
    /// Its number within the group; -1 if not given.
    pub rank: i64,
    /// `thread`, `gpu` or `metric`.
    pub kind: String,
}

/// What the ids of coordinates name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemberKind {
    /// Locations (or threads).
    Location,
    /// Location groups (or processes).
    Group,
    /// System nodes of a kind.
    SystemNode(SystemNodeKind),
}

/// A Cartesian topology.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AnchorCart {
    /// Name; may be empty.
    pub name: String,
    /// Axes.
    pub dimensions: Vec<AnchorDimension>,
    /// Who has a place, with the kind of the id.
    pub members: Vec<(MemberKind, u32)>,
    /// The places, `dimensions.len()` numbers for each member.
    pub coordinates: Vec<u32>,
    /// Coordinates that could not be read, and were left out.
    pub n_bad: u64,
}

/// An axis of a topology.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AnchorDimension {
    /// Name; may be empty.
    pub name: String,
    /// Number of places.
    pub size: u32,
    /// Whether its ends meet.
    pub periodic: bool,
}

/// Where a row of severities is in the XML.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct XmlRow {
    /// Id of the metric.
    pub metric: u32,
    /// Id of the cnode.
    pub cnode: u32,
    /// Offset of the text.
    pub offset: u64,
    /// Bytes of the text.
    pub n_bytes: u64,
}
