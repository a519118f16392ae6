//! The definitions from XML.
//!
//! Reads with a stack of open elements, so nothing is as deep as the input. What is not
//! known is counted by name. A file that ends early is damaged: its definitions are not
//! complete, except within `<severity>`, where the rows before stay valid.

use crate::CubeError;
use crate::anchor::*;
use crate::tags;
use crate::xml::{Tag, Token, XmlReader, text};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::io::BufRead;
use std::sync::Arc;

/// What reading gave: the definitions, and the damage after the last row if the XML ends within `<severity>`.
pub(crate) struct ReadAnchor {
    pub anchor: Anchor,
    pub damage: Option<CubeError>,
}

macro_rules! names {
    ($($Name:ident $text:literal,)*) => {
        /// The name of an element.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        enum ElementName {
            $($Name,)*
            /// One that no CUBE has.
            Unknown,
        }

        impl ElementName {
            /// Names by their texts: comparing each with forty texts takes longer than reading it.
            fn table() -> FxHashMap<&'static [u8], ElementName> {
                [$(($text.as_bytes(), ElementName::$Name),)*].into_iter().collect()
            }
        }
    };
}

names! {
    Attr "attr",
    Cart "cart",
    Class "class",
    Cnode "cnode",
    Coord "coord",
    Cube "cube",
    Cubepl "cubepl",
    CubeplAggr "cubeplaggr",
    CubeplInit "cubeplinit",
    Descr "descr",
    Dim "dim",
    DispName "disp_name",
    Doc "doc",
    Dtype "dtype",
    Location "location",
    LocationGroup "locationgroup",
    Machine "machine",
    MangledName "mangled_name",
    Matrix "matrix",
    Metric "metric",
    Metrics "metrics",
    Mirrors "mirrors",
    Murl "murl",
    Name "name",
    Node "node",
    Paradigm "paradigm",
    Parameter "parameter",
    Process "process",
    Program "program",
    Rank "rank",
    Region "region",
    Role "role",
    Row "row",
    Severity "severity",
    System "system",
    SystemTreeNode "systemtreenode",
    Thread "thread",
    Topologies "topologies",
    Type "type",
    UniqName "uniq_name",
    Uom "uom",
    Url "url",
    Val "val",
}

/// The elements that are open, each within the one before, with their names and texts.
#[derive(Default)]
struct OpenElements {
    elements: Vec<Element>,
    /// Names of all of them, one after the other, as in the file.
    names: Vec<u8>,
    /// Their texts: what belongs to an element begins after what the elements around it have so far.
    texts: String,
}

/// An open element.
#[derive(Clone, Copy)]
struct Element {
    name: ElementName,
    /// Where its name begins.
    name_text: usize,
    /// Where its text begins.
    text: usize,
    /// Position in its table.
    at: usize,
}

impl OpenElements {
    fn push(&mut self, name: ElementName, text: &[u8], at: usize) {
        let (name_text, text_at) = (self.names.len(), self.texts.len());
        self.elements.push(Element { name, name_text, text: text_at, at });
        self.names.extend_from_slice(text);
    }

    /// Forgets the last element.
    fn pop(&mut self) {
        if let Some(last) = self.elements.pop() {
            self.names.truncate(last.name_text);
            self.texts.truncate(last.text);
        }
    }

    fn len(&self) -> usize {
        self.elements.len()
    }

    /// The name of the last element, as written in the file.
    fn last_name(&self) -> Option<&[u8]> {
        Some(&self.names[self.elements.last()?.name_text..])
    }
}

struct Builder {
    anchor: Anchor,
    open: OpenElements,
    names: FxHashMap<&'static [u8], ElementName>,
    unknown: BTreeMap<String, u64>,
    is_cube: bool,
    /// Whether the definitions are complete: rows of severities have begun.
    has_severities: bool,
}

/// Reads definitions.
///
/// # Errors
/// If it is not a CUBE file, is malformed, or ends before its definitions do.
pub(crate) fn read(input: impl BufRead, file: Arc<str>) -> Result<ReadAnchor, CubeError> {
    let mut reader = XmlReader::new(input, file);
    let mut builder = Builder {
        anchor: Anchor::default(),
        open: OpenElements::default(),
        names: ElementName::table(),
        unknown: BTreeMap::new(),
        is_cube: false,
        has_severities: false,
    };
    let result = builder.read_all(&mut reader);
    let damage = match result {
        Ok(()) if builder.open.len() == 0 => None,
        Ok(()) => Some(reader.error("the file ends before its elements do")),
        Err(error) => Some(error),
    };
    if !builder.is_cube {
        return Err(damage.unwrap_or_else(|| reader.error("there is no element <cube>")));
    }
    match damage {
        Some(damage) if !builder.has_severities => Err(damage),
        damage => {
            let mut anchor = builder.anchor;
            anchor.unknown = builder.unknown.into_iter().collect();
            Ok(ReadAnchor { anchor, damage })
        }
    }
}

/// Bytes of one value of a row, blanks in front of it included.
const VALUE_BYTES_MAX: u64 = 256;

/// Elements that are open at once: call paths nest in each other.
const DEPTH_MAX: usize = 1 << 20;

/// Most levels between an element and the one it describes.
const HOLDER_LEVELS_MAX: usize = 16;

impl Builder {
    fn read_all<R: BufRead>(&mut self, reader: &mut XmlReader<R>) -> Result<(), CubeError> {
        loop {
            match reader.next()? {
                Token::Eof => return Ok(()),
                Token::Text(text) if self.open.len() > 0 => self.open.texts.push_str(&text),
                Token::Text(_) => {}
                Token::Start(tag) => {
                    let name = self.names.get(tag.name()).copied().unwrap_or(ElementName::Unknown);
                    let is_empty = tag.is_empty;
                    let begun = self.begin(name, &tag);
                    if let Ok(at) = begun {
                        self.open.push(name, tag.name(), at);
                    }
                    begun.map_err(|reason| reader.error(reason))?;
                    if DEPTH_MAX < self.open.len() {
                        return Err(reader.error(format!("elements are more than {DEPTH_MAX} deep")));
                    }
                    if is_empty {
                        self.end();
                    } else if name == ElementName::Row {
                        self.row(reader)?;
                    }
                }
                Token::End(name) => {
                    let reason = match self.open.last_name() {
                        Some(open) if open == name => {
                            self.end();
                            continue;
                        }
                        Some(open) => format!("</{}> closes <{}>", text(name), text(open)),
                        None => format!("</{}> closes nothing", text(name)),
                    };
                    return Err(reader.error(reason));
                }
            }
        }
    }

    /// Notes where the text begins of the row that just began.
    fn row<R: BufRead>(&mut self, reader: &mut XmlReader<R>) -> Result<(), CubeError> {
        let offset = reader.offset();
        let max_bytes =
            (self.anchor.locations.len() as u64).saturating_add(1024).saturating_mul(VALUE_BYTES_MAX);
        let n_bytes = reader.skip_text(max_bytes)?;
        let row = self.anchor.rows.last_mut().expect("a row was just begun");
        (row.offset, row.n_bytes) = (offset, n_bytes);
        Ok(())
    }

    /// The position of the nearest open element of this name.
    fn holder(&self, name: ElementName) -> Option<usize> {
        let mut near = self.open.elements.iter().rev().take(HOLDER_LEVELS_MAX);
        near.find(|open| open.name == name).map(|open| open.at)
    }

    /// The position of the element around, if it has one of these names.
    fn parent(&self, names: &[ElementName]) -> Option<usize> {
        self.open.elements.last().filter(|open| names.contains(&open.name)).map(|open| open.at)
    }

    /// Makes room for an element in its table; returns its position there.
    fn begin(&mut self, name: ElementName, tag: &Tag<'_>) -> Result<usize, String> {
        const SYSTEM: [ElementName; 3] =
            [ElementName::SystemTreeNode, ElementName::Machine, ElementName::Node];
        match name {
            ElementName::Cube => {
                self.is_cube = true;
                self.anchor.version = tags::attribute(tag, "version");
            }
            ElementName::Attr if self.open.len() == 1 => {
                let pair = (tags::attribute(tag, "key"), tags::attribute(tag, "value"));
                self.anchor.attributes.push(pair);
            }
            ElementName::Metric => {
                let parent = self.parent(&[ElementName::Metric]);
                return add(&mut self.anchor.metrics, tags::metric(tag, parent)?);
            }
            ElementName::Region => return add(&mut self.anchor.regions, tags::region(tag)?),
            ElementName::Cnode => {
                let parent = self.parent(&[ElementName::Cnode]);
                return add(&mut self.anchor.cnodes, tags::cnode(tag, parent)?);
            }
            ElementName::Parameter => {
                if let Some(cnode) = self.parent(&[ElementName::Cnode]) {
                    self.anchor.cnodes[cnode].parameters.push(tags::parameter(tag));
                }
            }
            ElementName::SystemTreeNode | ElementName::Machine | ElementName::Node => {
                let kind = match name {
                    ElementName::Machine => SystemNodeKind::Machine,
                    ElementName::Node => SystemNodeKind::Node,
                    _ => SystemNodeKind::Tree,
                };
                let parent = self.parent(&SYSTEM);
                return add(&mut self.anchor.system_nodes, tags::system_node(tag, kind, parent)?);
            }
            ElementName::LocationGroup | ElementName::Process => {
                let kind = if name == ElementName::Process { "process" } else { "" };
                let parent = self.parent(&SYSTEM);
                return add(&mut self.anchor.groups, tags::group(tag, kind, parent)?);
            }
            ElementName::Location | ElementName::Thread => {
                let kind = if name == ElementName::Thread { "thread" } else { "" };
                let group = self.parent(&[ElementName::LocationGroup, ElementName::Process]);
                return add(&mut self.anchor.locations, tags::location(tag, kind, group)?);
            }
            ElementName::Cart => {
                let cart = AnchorCart { name: tags::attribute(tag, "name"), ..AnchorCart::default() };
                return add(&mut self.anchor.carts, cart);
            }
            ElementName::Dim => {
                let dimension = tags::dimension(tag)?;
                if let Some(cart) = self.anchor.carts.last_mut().filter(|cart| cart.members.is_empty()) {
                    cart.dimensions.push(dimension);
                }
            }
            ElementName::Coord => return Ok(self.coordinate(tag)),
            ElementName::Severity => self.has_severities = true,
            // Its position is the number of the metric.
            ElementName::Matrix => return Ok(tags::number::<u32>(tag, "metricId")? as usize),
            ElementName::Row => {
                let metric = self.holder(ElementName::Matrix).ok_or("a <row> is outside any <matrix>")?;
                let metric = u32::try_from(metric).expect("the number of a <matrix> has 32 bits");
                let cnode = tags::number(tag, "cnodeId")?;
                self.anchor.rows.push(XmlRow { metric, cnode, offset: 0, n_bytes: 0 });
            }
            ElementName::Attr => {
                let holder = text(self.open.last_name().unwrap_or_default());
                *self.unknown.entry(format!("attr of {holder}")).or_default() += 1;
            }
            ElementName::Unknown => *self.unknown.entry(tag.name_text().into_owned()).or_default() += 1,
            // What they say is their text, or what is in them.
            _ => {}
        }
        Ok(0)
    }

    /// Notes who has the next place. Its numbers come as text; see [`Builder::end`]. Returns the position of the
    /// cart plus one, or 0 if the coordinate belongs nowhere.
    fn coordinate(&mut self, tag: &Tag<'_>) -> usize {
        const KINDS: [(&str, MemberKind); 7] = [
            ("locId", MemberKind::Location),
            ("thrdId", MemberKind::Location),
            ("lgId", MemberKind::Group),
            ("procId", MemberKind::Group),
            ("stnId", MemberKind::SystemNode(SystemNodeKind::Tree)),
            ("nodeId", MemberKind::SystemNode(SystemNodeKind::Node)),
            ("machId", MemberKind::SystemNode(SystemNodeKind::Machine)),
        ];
        let named =
            KINDS.iter().find_map(|(name, kind)| Some((*kind, tag.attribute(name)?.trim().parse().ok()?)));
        let Some(cart) = self.anchor.carts.last_mut() else { return 0 };
        let Some(member) = named else {
            cart.n_bad += 1;
            return 0;
        };
        cart.members.push(member);
        self.anchor.carts.len()
    }

    /// Takes what the text of the last open element says, and closes that.
    fn end(&mut self) {
        let Builder { anchor, open, .. } = self;
        let [.., Element { name: holder, at: slot, .. }, Element { name, text, at, .. }] = open.elements[..]
        else {
            open.pop();
            return;
        };
        let text = &open.texts[text..];
        let trimmed = || text.trim().to_owned();
        match (holder, name) {
            (ElementName::Metric, _) => {
                let metric = &mut anchor.metrics[slot];
                match name {
                    ElementName::DispName => metric.display_name = trimmed(),
                    ElementName::UniqName => metric.unique_name = trimmed(),
                    ElementName::Dtype => metric.data_type = trimmed(),
                    ElementName::Uom => metric.unit = trimmed(),
                    ElementName::Url => metric.url = trimmed(),
                    ElementName::Descr => metric.description = trimmed(),
                    ElementName::Cubepl => metric.expression = trimmed(),
                    ElementName::CubeplInit | ElementName::CubeplAggr => {
                        metric.other_expressions.push(trimmed());
                    }
                    _ => {}
                }
            }
            (ElementName::Region, ElementName::Name) => anchor.regions[slot].name = trimmed(),
            (ElementName::Region, ElementName::MangledName) => anchor.regions[slot].mangled_name = trimmed(),
            (ElementName::Region, ElementName::Paradigm) => anchor.regions[slot].paradigm = trimmed(),
            (ElementName::Region, ElementName::Role) => anchor.regions[slot].role = trimmed(),
            (ElementName::Region, ElementName::Descr) => anchor.regions[slot].description = trimmed(),
            (ElementName::SystemTreeNode | ElementName::Machine | ElementName::Node, ElementName::Name) => {
                anchor.system_nodes[slot].name = trimmed();
            }
            (ElementName::SystemTreeNode, ElementName::Class) => anchor.system_nodes[slot].class = trimmed(),
            (ElementName::LocationGroup | ElementName::Process, ElementName::Name) => {
                anchor.groups[slot].name = trimmed();
            }
            (ElementName::LocationGroup | ElementName::Process, ElementName::Rank) => {
                anchor.groups[slot].rank = text.trim().parse().unwrap_or(-1);
            }
            (ElementName::LocationGroup, ElementName::Type) => anchor.groups[slot].kind = trimmed(),
            (ElementName::Location | ElementName::Thread, ElementName::Name) => {
                anchor.locations[slot].name = trimmed();
            }
            (ElementName::Location | ElementName::Thread, ElementName::Rank) => {
                anchor.locations[slot].rank = text.trim().parse().unwrap_or(-1);
            }
            (ElementName::Location, ElementName::Type) => anchor.locations[slot].kind = trimmed(),
            (ElementName::Cart, ElementName::Coord) if at > 0 => place(&mut anchor.carts[at - 1], text),
            _ => {}
        }
        self.open.pop();
    }
}

/// Reads the numbers of the last member's place; a member without a whole place is removed.
fn place(cart: &mut AnchorCart, text: &str) {
    let before = cart.coordinates.len();
    let numbers = text.split_ascii_whitespace().map_while(|word| word.parse::<u32>().ok());
    cart.coordinates.extend(numbers.take(cart.dimensions.len() + 1));
    if cart.coordinates.len() - before != cart.dimensions.len() {
        cart.coordinates.truncate(before);
        cart.members.pop();
        cart.n_bad += 1;
    }
}

/// Appends to a table; returns the position there, which has 32 bits: so have call paths and locations in indices.
fn add<T>(table: &mut Vec<T>, row: T) -> Result<usize, String> {
    let at = table.len();
    u32::try_from(at).map_err(|_| format!("{at} elements of one kind come before; at most 2^32 are read"))?;
    table.push(row);
    Ok(at)
}

#[cfg(test)]
#[path = "anchor_xml_tests.rs"]
mod tests;
