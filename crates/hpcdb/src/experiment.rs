//! `experiment.xml`: the databases before format 4.
//!
//! A header of tables (metrics, modules, files, procedures), then the tree of call paths as
//! nested elements with values. Read element by element; memory is taken for what is there.
//! Law: callers come before callees. An XML error ends the reading, and what came before it
//! stays, with a [`Damage`].

use crate::source::Source;
use crate::{Damage, ReadError, ReadErrorKind};
use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};
use rustc_hash::FxHashMap;
use std::io::{self, BufRead, Read, Seek};
use std::sync::Arc;

/// The outermost element.
const ROOT: &[u8] = b"<HPCToolkitExperiment";
const ROOT_NAME: &str = "HPCToolkitExperiment";

/// Whether a file of these first bytes is an `experiment.xml`: the element follows a document type of some
/// kilobytes.
pub fn is_experiment(first_bytes: &[u8]) -> bool {
    first_bytes.trim_ascii_start().starts_with(b"<?xml")
        && first_bytes.windows(ROOT.len()).any(|window| window == ROOT)
}

/// A whole database but its traces and per-thread values.
#[derive(Debug, Clone, Default)]
pub struct Experiment {
    /// Version of the file, e.g. `2.2`.
    pub version: String,
    /// What was measured.
    pub title: String,
    /// The metrics of [`Node::values`].
    pub metrics: Vec<Metric>,
    /// The metrics of [`ThreadValues`], where there are such files.
    pub thread_metrics: Vec<ThreadMetric>,
    /// Paths of source files by their number.
    pub files: FxHashMap<u32, Arc<str>>,
    /// Names of procedures by their number.
    pub procedures: FxHashMap<u32, Arc<str>>,
    /// Ticks of trace times for each second; `None` for microseconds.
    pub ticks_per_second: Option<u64>,
    /// Earliest and latest time of all traces, as declared, in their unit.
    pub time_range: Option<(u64, u64)>,
    /// The tree of call paths.
    pub nodes: Vec<Node>,
    /// What was lost.
    pub damages: Vec<Damage>,
}

/// A metric.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Metric {
    /// Its number.
    pub id: u32,
    /// Its name, e.g. `CPUTIME (sec):Sum (I)`.
    pub name: Arc<str>,
    /// `inclusive` or `exclusive`, or others.
    pub scope: Arc<str>,
}

/// A metric of the values of each thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadMetric {
    /// Its name, e.g. `CPUTIME (usec) (I)`.
    pub name: Arc<str>,
    /// `inclusive` or `exclusive`, or others.
    pub scope: Arc<str>,
    /// Its column.
    pub column: u32,
}

/// The values of one thread: a `.metric-db` file, a matrix of nodes by metrics.
#[derive(Debug, Clone)]
pub struct ThreadValues {
    n_nodes: u32,
    n_metrics: u32,
    bytes: Vec<u8>,
}

const VALUES_MAGIC: &[u8; 18] = b"HPCPROF-metricdb__";
/// Magic, version, byte order; numbers of nodes and metrics.
const VALUES_HEAD_BYTES: u64 = 32;

impl ThreadValues {
    /// Reads a `.metric-db`.
    ///
    /// # Errors
    /// If it is none, or shorter than it says.
    pub fn read<R: Read + Seek>(file: &Arc<str>, from: R) -> Result<ThreadValues, ReadError> {
        let mut source = Source::new(Arc::clone(file), from)?;
        let mut bytes = source.beginning(VALUES_HEAD_BYTES)?;
        if !bytes.starts_with(VALUES_MAGIC) || bytes.get(23) != Some(&b'b') {
            let expected = String::from_utf8_lossy(VALUES_MAGIC).into_owned();
            return Err(ReadError::of_file(file, ReadErrorKind::Magic { expected }));
        }
        let number = |at: usize| Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
        let (Some(n_nodes), Some(n_metrics)) = (number(24), number(28)) else {
            return Err(source.broken(24, "the file ends in its header"));
        };
        let n_bytes = u64::from(n_nodes).saturating_mul(u64::from(n_metrics)).saturating_mul(8);
        source.read(VALUES_HEAD_BYTES, n_bytes, "values", &mut bytes)?;
        Ok(ThreadValues { n_nodes, n_metrics, bytes })
    }

    /// The value of a node by its number ([`Node::id`], from 1) in a column.
    pub fn get(&self, node: u32, column: u32) -> Option<f64> {
        let row = node.checked_sub(1).filter(|&row| row < self.n_nodes)?;
        let at = (u64::from(row) * u64::from(self.n_metrics) + u64::from(column)) * 8;
        let at = usize::try_from(at).ok().filter(|_| column < self.n_metrics)?;
        Some(f64::from_be_bytes(self.bytes.get(at..at + 8)?.try_into().ok()?))
    }
}

/// A node of the tree.
#[derive(Debug, Clone)]
pub struct Node {
    /// What it is.
    pub kind: NodeKind,
    /// Its number; that of per-thread values.
    pub id: u32,
    /// The number by which samples name it, where they do.
    pub trace_id: Option<u32>,
    /// Index of the node around it.
    pub parent: Option<u32>,
    /// Number of the procedure, or its name in the oldest files.
    pub procedure: Option<Procedure>,
    /// Number of the file.
    pub file: Option<u32>,
    /// The line, 0 if unknown.
    pub line: u32,
    /// Number of a metric, and its value.
    pub values: Vec<(u32, f64)>,
}

/// How a node names its procedure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Procedure {
    /// By its number in [`Experiment::procedures`].
    Number(u32),
    /// By its name.
    Name(Arc<str>),
}

/// What a node is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NodeKind {
    /// A procedure that was called.
    Procedure,
    /// A procedure that the compiler put in place of its call.
    Inlined,
    /// A loop.
    Loop,
    /// A line that calls.
    Call,
    /// A line.
    Statement,
}

/// Nesting of the deepest tree that is read. Parsing is a loop, so this bounds nothing but memory of the stack.
const MAX_DEPTH: usize = 1 << 20;

impl Experiment {
    /// Reads an `experiment.xml`.
    ///
    /// # Errors
    /// If it is none: the outermost element is another, or nothing can be read.
    pub fn read<R: BufRead>(file: &Arc<str>, from: R) -> Result<Experiment, ReadError> {
        let mut reader = Reader::from_reader(Limited { from, n_left: TOKEN_BYTES_MAX });
        let config = reader.config_mut();
        config.expand_empty_elements = true;
        config.check_end_names = true;
        let mut taken = Taken::default();
        let mut buffer = Vec::new();
        let damage = loop {
            buffer.clear();
            let at = reader.buffer_position();
            reader.get_mut().n_left = TOKEN_BYTES_MAX;
            let result = match reader.read_event_into(&mut buffer) {
                Ok(Event::Start(element)) => taken.start(&element),
                Ok(Event::End(element)) => {
                    taken.end(element.local_name().as_ref());
                    Ok(())
                }
                Ok(Event::Eof) if taken.is_whole => break None,
                Ok(Event::Eof) => Err("the file ends within the database".to_owned()),
                Ok(_) => Ok(()),
                Err(error) => Err(error.to_string()),
            };
            if let Err(reason) = result {
                break Some((at, reason));
            }
        };
        if !taken.is_begun {
            let expected = String::from_utf8_lossy(ROOT).into_owned();
            return Err(ReadError::of_file(file, ReadErrorKind::Magic { expected }));
        }
        let mut experiment = taken.experiment;
        experiment.damages.extend(damage.map(|(offset, reason)| Damage {
            file: Arc::clone(file),
            offset,
            reason,
            count: 1,
        }));
        Ok(experiment)
    }
}

/// Longest tag or text: names of C++ have some kilobytes.
const TOKEN_BYTES_MAX: usize = 16 << 20;

/// Gives so many bytes and then an error: the parser itself keeps a token of any length.
struct Limited<R> {
    from: R,
    n_left: usize,
}

impl<R: BufRead> Read for Limited<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let waiting = self.fill_buf()?;
        let n = waiting.len().min(bytes.len());
        bytes[..n].copy_from_slice(&waiting[..n]);
        self.consume(n);
        Ok(n)
    }
}

impl<R: BufRead> BufRead for Limited<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.n_left == 0 {
            return Err(io::Error::other(format!("a tag or text is longer than {TOKEN_BYTES_MAX} bytes")));
        }
        let waiting = self.from.fill_buf()?;
        Ok(&waiting[..waiting.len().min(self.n_left)])
    }

    fn consume(&mut self, n: usize) {
        self.n_left -= n;
        self.from.consume(n);
    }
}

#[derive(Debug, Default)]
struct Taken {
    experiment: Experiment,
    is_begun: bool,
    is_whole: bool,
    /// Nodes that are open.
    open: Vec<u32>,
}

impl Taken {
    fn start(&mut self, element: &BytesStart<'_>) -> Result<(), String> {
        let attributes = Attributes::of(element)?;
        let experiment = &mut self.experiment;
        let name = element.local_name();
        if !self.is_begun {
            if name.as_ref() != ROOT_NAME {
                return Err("not an HPCToolkit experiment".to_owned());
            }
            self.is_begun = true;
            experiment.version = attributes.text("version").unwrap_or_default().to_owned();
            return Ok(());
        }
        let id = attributes.number("i");
        match name.as_ref() {
            "Header" => experiment.title = attributes.text("n").unwrap_or_default().to_owned(),
            "Metric" => {
                let text = |name| Arc::from(attributes.text(name).unwrap_or_default());
                let id = id.ok_or("a metric without a number")?;
                experiment.metrics.push(Metric { id, name: text("n"), scope: text("t") });
            }
            "MetricDB" => {
                let text = |name| Arc::from(attributes.text(name).unwrap_or_default());
                let column = attributes.number("db-id").or(id).ok_or("a metric without a column")?;
                experiment.thread_metrics.push(ThreadMetric { name: text("n"), scope: text("t"), column });
            }
            "File" => insert(&mut experiment.files, id, &attributes)?,
            "Procedure" => insert(&mut experiment.procedures, id, &attributes)?,
            "TraceDB" => {
                experiment.ticks_per_second = attributes.number("u");
                let range = (attributes.number("db-min-time"), attributes.number("db-max-time"));
                experiment.time_range = range.0.zip(range.1);
            }
            "PF" => self.node(NodeKind::Procedure, &attributes)?,
            "Pr" => self.node(NodeKind::Inlined, &attributes)?,
            "L" => self.node(NodeKind::Loop, &attributes)?,
            "C" => self.node(NodeKind::Call, &attributes)?,
            "S" => self.node(NodeKind::Statement, &attributes)?,
            "M" => {
                if let Some(&node) = self.open.last() {
                    let value = attributes.number("n").zip(attributes.number("v"));
                    let value = value.ok_or("a value without its metric or number")?;
                    experiment.nodes[node as usize].values.push(value);
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn node(&mut self, kind: NodeKind, attributes: &Attributes) -> Result<(), String> {
        let nodes = &mut self.experiment.nodes;
        let index = u32::try_from(nodes.len()).map_err(|_| "too many call paths".to_owned())?;
        if self.open.len() == MAX_DEPTH {
            return Err(format!("call paths are more than {MAX_DEPTH} deep"));
        }
        let procedure = attributes.text("n").map(|text| match text.parse() {
            Ok(number) => Procedure::Number(number),
            Err(_) => Procedure::Name(Arc::from(text)),
        });
        let id = attributes.number("i").unwrap_or(0);
        nodes.push(Node {
            kind,
            id,
            trace_id: attributes.number("it"),
            parent: self.open.last().copied(),
            procedure,
            file: attributes.number("f"),
            line: attributes.number("l").unwrap_or(0),
            values: Vec::new(),
        });
        self.open.push(index);
        Ok(())
    }

    fn end(&mut self, name: &str) {
        match name {
            "PF" | "Pr" | "L" | "C" | "S" => {
                self.open.pop();
            }
            _ if name == ROOT_NAME => self.is_whole = true,
            _ => {}
        }
    }
}

fn insert(
    table: &mut FxHashMap<u32, Arc<str>>,
    id: Option<u32>,
    attributes: &Attributes,
) -> Result<(), String> {
    let id = id.ok_or("a definition without a number")?;
    table.entry(id).or_insert_with(|| Arc::from(attributes.text("n").unwrap_or_default()));
    Ok(())
}

/// The attributes of one element.
struct Attributes(Vec<(String, String)>);

impl Attributes {
    fn of(element: &BytesStart<'_>) -> Result<Self, String> {
        let mut all = Vec::new();
        for attribute in element.attributes().with_checks(false) {
            let attribute = attribute.map_err(|error| error.to_string())?;
            let text = quick_xml::escape::unescape(&attribute.value).map_err(|error| error.to_string())?;
            all.push((attribute.key.as_ref().to_owned(), text.into_owned()));
        }
        Ok(Attributes(all))
    }

    fn text(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(key, _)| key == name).map(|(_, text)| &**text)
    }

    fn number<T: std::str::FromStr>(&self, name: &str) -> Option<T> {
        self.text(name)?.trim().parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Experiment, ReadError> {
        Experiment::read(&Arc::from("experiment.xml"), text.as_bytes())
    }

    const TREE: &str = "<?xml version=\"1.0\"?><!DOCTYPE x [<!ELEMENT y (z)*>]>\
        <HPCToolkitExperiment version=\"2.2\"><Header n=\"a&lt;b\"/>\
        <Metric i=\"4\" n=\"cycles:Sum (I)\" t=\"inclusive\"/><Procedure i=\"7\" n=\"main\"/>\
        <PF i=\"2\" l=\"0\" n=\"7\"><M n=\"4\" v=\"1.5e+3\"/><L i=\"3\" l=\"9\"><S i=\"5\" l=\"10\" it=\"19\"/></L></PF>\
        </HPCToolkitExperiment>";

    #[test]
    fn trees_are_read_as_they_are_nested() {
        let experiment = read(TREE).unwrap();
        assert_eq!(experiment.damages, []);
        assert_eq!((&*experiment.title, &*experiment.version), ("a<b", "2.2"));
        let nodes: Vec<_> = experiment.nodes.iter().map(|n| (n.kind, n.parent, n.line, n.trace_id)).collect();
        let expected = [
            (NodeKind::Procedure, None, 0, None),
            (NodeKind::Loop, Some(0), 9, None),
            (NodeKind::Statement, Some(1), 10, Some(19)),
        ];
        assert_eq!(nodes, expected);
        assert_eq!(experiment.nodes[0].values, [(4, 1500.0)]);
        assert_eq!(experiment.nodes[0].procedure, Some(Procedure::Number(7)));
    }

    /// A file that never ends, as one with holes does.
    #[test]
    fn what_is_too_long_is_an_error() {
        for begin in ["", "<L i=\"", "<!--"] {
            let text = format!("<?xml?><HPCToolkitExperiment version=\"2.2\">{begin}");
            let endless = text.as_bytes().chain(io::BufReader::new(io::repeat(0)));
            let experiment = Experiment::read(&Arc::from("experiment.xml"), endless).unwrap();
            assert!(
                experiment.damages[0].reason.contains("longer than 16777216 bytes"),
                "{:?}",
                experiment.damages
            );
        }
    }

    #[test]
    fn what_comes_before_an_error_stays() {
        for n in 0..TREE.len() {
            match read(&TREE[..n]) {
                Ok(experiment) => assert_eq!(experiment.damages.len(), 1, "cut at {n}"),
                Err(error) => assert!(error.to_string().contains("HPCToolkitExperiment"), "{error}"),
            }
        }
    }
}
