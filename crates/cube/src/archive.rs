//! A profile on disk: which kind, its definitions, its rows.

use crate::anchor_xml::{self, ReadAnchor};
use crate::tar::{self, TarMember};
use crate::{Anchor, CubeError, MetricRows, XmlRow, inflate};
use ouzel_files::{Candidate, input};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Cursor, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Compressed XML is held unpacked in memory, up to so many bytes. The largest real one known has 35 MB; a file that
/// unpacks to more is better unpacked on disk.
const MAX_UNPACKED_BYTES: u64 = 1 << 30;

/// How a profile is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `.cubex`: an archive of definitions and binary rows.
    Archive,
    /// `.cube`: one XML file.
    Xml,
    /// `.cube.gz`: the same, compressed.
    CompressedXml,
}

/// Bytes of the beginning in which XML of CUBE names itself, after its declaration and comments.
const HEAD_BYTES: usize = 4096;

/// What the beginning of a file is, within the bounds of a [`Candidate`]. `None` if it is not a CUBE file.
pub fn recognise(candidate: &Candidate, path: &Path) -> Option<Kind> {
    let head = candidate.head(path, HEAD_BYTES);
    if head.starts_with(&[0x1f, 0x8b]) {
        let mut text = vec![0; HEAD_BYTES];
        let n = read_some(&mut flate2::bufread::GzDecoder::new(&head[..]), &mut text);
        return is_cube_xml(&text[..n]).then_some(Kind::CompressedXml);
    }
    if is_cube_xml(&head) {
        return Some(Kind::Xml);
    }
    // A tar with the members of CUBE: all names are read, as any may come first.
    if head.len() < 512 || (&head[257..262] != b"ustar" && !head[..100].contains(&0)) {
        return None;
    }
    tar::holds(&mut candidate.reader(path), is_member_of_cube).then_some(Kind::Archive)
}

fn is_member_of_cube(name: &str) -> bool {
    let is_number = |stem: &str| !stem.is_empty() && stem.bytes().all(|byte| byte.is_ascii_digit());
    name == "anchor.xml"
        || [".index", ".data"].iter().any(|end| name.strip_suffix(end).is_some_and(is_number))
}

fn read_some(input: &mut impl Read, bytes: &mut [u8]) -> usize {
    let mut n = 0;
    while n < bytes.len() {
        match input.read(&mut bytes[n..]) {
            Ok(0) | Err(_) => break,
            Ok(more) => n += more,
        }
    }
    n
}

/// Whether text begins with `<cube version=`, after a declaration and comments.
fn is_cube_xml(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let text = text.trim_start_matches('\u{FEFF}').trim_start();
    text.starts_with('<')
        && text
            .find("<cube")
            .is_some_and(|at| text[..at].matches('<').count() <= 8 && text[at..].contains("version"))
}

/// An opened profile.
#[derive(Debug)]
pub struct Cube {
    path: PathBuf,
    file: Arc<str>,
    anchor: Anchor,
    damage: Vec<CubeError>,
    contents: Contents,
}

#[derive(Debug)]
enum Contents {
    Archive(BTreeMap<String, TarMember>),
    Xml,
    Unpacked(Arc<[u8]>),
}

/// Opens a profile and reads its definitions.
///
/// # Errors
/// If it is not a CUBE file, or its definitions cannot be read as a whole.
pub fn open(path: &Path) -> Result<Cube, CubeError> {
    let file: Arc<str> = Arc::from(path.display().to_string());
    let kind = recognise(&Candidate::at(path), path);
    let mut input = input::open(path).map_err(|error| CubeError::io(&file, 0, &error))?;
    let mut damage = Vec::new();
    let (read, contents) = match kind {
        Some(Kind::Archive) => {
            let (members, cut) = tar::members(&mut input, &file)?;
            damage.extend(cut);
            (read_member_anchor(&mut input, &file, &members)?, Contents::Archive(members))
        }
        Some(Kind::CompressedXml) => {
            let packed = input::read_limited(path, MAX_UNPACKED_BYTES);
            let packed = packed.map_err(|error| CubeError::io(&file, 0, &error))?;
            let bytes = inflate::file(&packed, MAX_UNPACKED_BYTES);
            let bytes = bytes.map_err(|reason| CubeError::new(&file, 0, reason))?;
            (anchor_xml::read(&bytes[..], file.clone())?, Contents::Unpacked(Arc::from(bytes)))
        }
        Some(Kind::Xml) => (anchor_xml::read(BufReader::new(input), file.clone())?, Contents::Xml),
        None => return Err(CubeError::new(&file, 0, "this is not a CUBE profile")),
    };
    damage.extend(read.damage);
    Ok(Cube { path: path.to_owned(), file, anchor: read.anchor, damage, contents })
}

fn read_member_anchor(
    input: &mut File,
    file: &Arc<str>,
    members: &BTreeMap<String, TarMember>,
) -> Result<ReadAnchor, CubeError> {
    let Some(member) = members.get("anchor.xml") else {
        return Err(CubeError::new(file, 0, "the archive holds no anchor.xml"));
    };
    let name: Arc<str> = Arc::from(format!("{file}:anchor.xml"));
    let failed = |error: std::io::Error| CubeError::io(&name, 0, &error);
    input.seek(SeekFrom::Start(member.offset)).map_err(failed)?;
    let mut text = BufReader::new(input.take(member.n_bytes));
    if text.fill_buf().map_err(failed)?.starts_with(&[0x1f, 0x8b]) {
        if MAX_UNPACKED_BYTES < member.n_bytes {
            let reason =
                format!("it has {} bytes, and at most {MAX_UNPACKED_BYTES} are read", member.n_bytes);
            return Err(CubeError::new(&name, 0, reason));
        }
        let mut packed = Vec::new();
        text.read_to_end(&mut packed).map_err(failed)?;
        let bytes = inflate::file(&packed, MAX_UNPACKED_BYTES);
        let bytes = bytes.map_err(|reason| CubeError::new(&name, 0, reason))?;
        return anchor_xml::read(&bytes[..], name.clone());
    }
    anchor_xml::read(text, name.clone())
}

impl Cube {
    /// The file, as errors name it.
    pub fn file(&self) -> &Arc<str> {
        &self.file
    }

    /// The definitions.
    pub fn anchor(&self) -> &Anchor {
        &self.anchor
    }

    /// What is lost of the archive or of the rows in XML.
    pub fn damage(&self) -> &[CubeError] {
        &self.damage
    }

    /// How it is stored.
    pub fn kind(&self) -> Kind {
        match &self.contents {
            Contents::Archive(_) => Kind::Archive,
            Contents::Xml => Kind::Xml,
            Contents::Unpacked(_) => Kind::CompressedXml,
        }
    }

    /// Members of the archive that are neither definitions nor severities.
    pub fn other_members(&self) -> Vec<&str> {
        let Contents::Archive(members) = &self.contents else { return Vec::new() };
        members.keys().map(String::as_str).filter(|name| !is_member_of_cube(name)).collect()
    }

    /// Bytes of the stored rows of a metric; 0 if it has none.
    pub fn data_bytes(&self, metric: u32) -> u64 {
        match &self.contents {
            Contents::Archive(members) => {
                members.get(&format!("{metric}.data")).map_or(0, |data| data.n_bytes)
            }
            _ => self.anchor.rows.iter().filter(|row| row.metric == metric).map(|row| row.n_bytes).sum(),
        }
    }

    /// The rows of a metric of an archive, each with `value_bytes` for each location; `None` if it has none: all of
    /// its values are zero.
    ///
    /// # Errors
    /// If index or data have no valid head, or only one of them is there.
    pub fn metric_rows(
        &self,
        metric: u32,
        value_bytes: usize,
    ) -> Result<Option<MetricRows<File>>, CubeError> {
        let Contents::Archive(members) = &self.contents else { return Ok(None) };
        let named = |what: &str| format!("{metric}.{what}");
        let (index, data) = match (members.get(&named("index")), members.get(&named("data"))) {
            (Some(&index), Some(&data)) => (index, data),
            (None, None) => return Ok(None),
            (Some(_), None) => return Err(self.missing(&named("data"))),
            (None, Some(_)) => return Err(self.missing(&named("index"))),
        };
        let row_bytes = value_bytes as u64 * self.anchor.locations.len() as u64;
        if row_bytes == 0 {
            return Ok(None);
        }
        let size = (self.anchor.cnodes.len(), row_bytes);
        MetricRows::open(self.reopen()?, self.file.clone(), index, data, size).map(Some)
    }

    fn missing(&self, member: &str) -> CubeError {
        CubeError::new(&self.file, 0, format!("the archive holds no {member}"))
    }

    fn reopen(&self) -> Result<File, CubeError> {
        input::open(&self.path).map_err(|error| CubeError::io(&self.file, 0, &error))
    }

    /// A reader of the rows that are stored in XML.
    ///
    /// # Errors
    /// If the file cannot be opened.
    pub fn xml_rows(&self) -> Result<XmlRows, CubeError> {
        let input: Box<dyn ReadSeek + Send> = match &self.contents {
            Contents::Unpacked(bytes) => Box::new(Cursor::new(bytes.clone())),
            _ => Box::new(self.reopen()?),
        };
        Ok(XmlRows { input, file: self.file.clone(), text: Vec::new() })
    }
}

/// What rows in XML are read from.
trait ReadSeek: Read + Seek {}

impl<T: Read + Seek> ReadSeek for T {}

/// Reads rows that are stored in XML.
pub struct XmlRows {
    input: Box<dyn ReadSeek + Send>,
    file: Arc<str>,
    text: Vec<u8>,
}

impl std::fmt::Debug for XmlRows {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("XmlRows").field("file", &self.file).finish_non_exhaustive()
    }
}

impl XmlRows {
    /// Reads the numbers of a row, at most `n_values`, as written; what is not a number is zero. Returns how many
    /// words were not numbers or too many.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn read<T: FromWord>(
        &mut self,
        row: &XmlRow,
        n_values: usize,
        values: &mut Vec<T>,
    ) -> Result<u64, CubeError> {
        let failed = |error: std::io::Error| CubeError::io(&self.file, row.offset, &error);
        self.input.seek(SeekFrom::Start(row.offset)).map_err(failed)?;
        self.text.clear();
        (&mut self.input).take(row.n_bytes).read_to_end(&mut self.text).map_err(failed)?;
        values.clear();
        let mut n_bad = 0;
        for word in self.text.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()) {
            let value = std::str::from_utf8(word).ok().and_then(T::from_word);
            let fits = values.len() < n_values;
            n_bad += u64::from(value.is_none() || !fits);
            if fits {
                values.push(value.unwrap_or_default());
            }
        }
        Ok(n_bad)
    }
}

/// A type of number that a word of a row may have.
pub trait FromWord: Default {
    /// The number; `None` if the word is none of this type.
    fn from_word(word: &str) -> Option<Self>;
}

impl FromWord for f64 {
    fn from_word(word: &str) -> Option<Self> {
        word.parse().ok()
    }
}

impl FromWord for i64 {
    /// Integers are sometimes written as `3.0` or `1e+06`.
    fn from_word(word: &str) -> Option<Self> {
        let from_float = || {
            let value: f64 = word.parse().ok()?;
            #[expect(clippy::cast_possible_truncation, reason = "whole, and less than 2^63")]
            (value.fract() == 0.0 && value.abs() < 9.0e18).then_some(value as i64)
        };
        word.parse().ok().or_else(from_float)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANCHOR: &str = "<cube version=\"4.4\"><program><cnode id=\"0\" calleeId=\"0\"/><cnode id=\"1\" calleeId=\"0\"/>\
        </program><system><location Id=\"0\"/><location Id=\"1\"/></system></cube>";

    /// The rows of metric 0 of an archive of two call paths and two locations, and what was lost.
    fn rows(name: &str, index: &[u8], data: &[u8]) -> (Vec<Option<Vec<u8>>>, usize) {
        let mut bytes = Vec::new();
        for (name, contents) in [("0.index", index), ("0.data", data), ("anchor.xml", ANCHOR.as_bytes())] {
            bytes.extend_from_slice(&tar::header(name, contents.len() as u64));
            bytes.extend_from_slice(contents);
            bytes.resize(bytes.len().next_multiple_of(512), 0);
        }
        bytes.extend_from_slice(&[0; 1024]);
        let path = std::env::temp_dir().join(format!("ouzel-archive-{}-{name}", std::process::id()));
        std::fs::write(&path, bytes).unwrap();
        assert_eq!(recognise(&Candidate::at(&path), &path), Some(Kind::Archive));
        let mut rows = open(&path).unwrap().metric_rows(0, 1).unwrap().unwrap();
        let found = (0..2).map(|path| rows.read(path).unwrap().map(<[u8]>::to_vec)).collect();
        let n_damage = rows.take_damage().len();
        std::fs::remove_file(&path).unwrap();
        (found, n_damage)
    }

    fn packed(rows: &[(u64, &[u8])]) -> Vec<u8> {
        use std::io::Write;
        let (mut table, mut streams) = (Vec::new(), Vec::new());
        for (start, row) in rows {
            let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
            encoder.write_all(row).unwrap();
            let stream = encoder.finish().unwrap();
            for field in [*start, streams.len() as u64, stream.len() as u64] {
                table.extend_from_slice(&field.to_le_bytes());
            }
            streams.extend_from_slice(&stream);
        }
        [&b"ZCUBEX.DATA"[..], &(rows.len() as u64).to_le_bytes(), &table, &streams].concat()
    }

    #[test]
    fn rows_are_found_however_they_are_stored() {
        let dense_big = b"CUBEX.INDEX\0\0\0\x01\0\0\x03";
        let all = vec![Some(vec![1, 2]), Some(vec![3, 4])];
        assert_eq!(rows("dense", dense_big, b"CUBEX.DATA\x01\x02\x03\x04"), (all.clone(), 0));
        let swapped = b"CUBEX.INDEX\x01\0\0\0\0\0\x01\x02\0\0\0\x01\0\0\0\0\0\0\0";
        assert_eq!(rows("swapped", swapped, b"CUBEX.DATA\x03\x04\x01\x02"), (all.clone(), 0));
        let dense = b"CUBEX.INDEX\x01\0\0\0\0\0\x03";
        assert_eq!(rows("packed", dense, &packed(&[(0, &[1, 2]), (2, &[3, 4])])), (all, 0));
    }

    #[test]
    fn a_row_is_lost_alone() {
        let dense = b"CUBEX.INDEX\x01\0\0\0\0\0\x03";
        let first = vec![Some(vec![1, 2]), None];
        assert_eq!(rows("cut", dense, b"CUBEX.DATA\x01\x02\x03"), (first.clone(), 1));
        // Another size than a row has.
        assert_eq!(rows("short", dense, &packed(&[(0, &[1, 2]), (2, &[3])])), (first, 1));
    }
}
