//! What every file of a database begins and ends with.
//!
//! `HPCTOOLKIT`, four letters for the kind, major and minor version, then size and offset
//! of each section; eight letters at the end, which a file that was cut lacks.

use crate::bytes::Bytes;
use crate::{Damage, ReadError, ReadErrorKind};
use std::fmt;
use std::sync::Arc;

const MAGIC: &[u8; 10] = b"HPCTOOLKIT";
/// Bytes before the table of sections.
const PREFIX_BYTES: u64 = 16;

/// Which file of a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// `meta.db`.
    Meta,
    /// `profile.db`.
    Profile,
    /// `cct.db`.
    Cct,
    /// `trace.db`.
    Trace,
}

impl FileKind {
    const ALL: [FileKind; 4] = [FileKind::Meta, FileKind::Profile, FileKind::Cct, FileKind::Trace];

    /// Its usual name.
    pub fn file_name(self) -> &'static str {
        match self {
            FileKind::Meta => "meta.db",
            FileKind::Profile => "profile.db",
            FileKind::Cct => "cct.db",
            FileKind::Trace => "trace.db",
        }
    }

    fn tag(self) -> &'static [u8; 4] {
        match self {
            FileKind::Meta => b"meta",
            FileKind::Profile => b"prof",
            FileKind::Cct => b"ctxt",
            FileKind::Trace => b"trce",
        }
    }

    fn footer(self) -> &'static [u8; 8] {
        match self {
            FileKind::Meta => b"_meta.db",
            FileKind::Profile => b"_prof.db",
            FileKind::Cct => b"__ctx.db",
            FileKind::Trace => b"trace.db",
        }
    }

    /// Number of sections of version 4.0.
    fn n_sections(self) -> u64 {
        match self {
            FileKind::Meta => 8,
            FileKind::Profile => 2,
            FileKind::Cct | FileKind::Trace => 1,
        }
    }

    /// Bytes of the header: all that must be there to find the sections.
    pub(crate) fn header_bytes(self) -> u64 {
        PREFIX_BYTES + 16 * self.n_sections()
    }
}

/// Version of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    /// Changes break readers.
    pub major: u8,
    /// Changes add fields and sections.
    pub minor: u8,
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// Which file begins like this, and of which version; `None` if it is none of a database. 16 bytes are enough.
pub fn recognise(first_bytes: &[u8]) -> Option<(FileKind, Version)> {
    let rest = first_bytes.strip_prefix(MAGIC)?;
    let kind = FileKind::ALL.into_iter().find(|kind| rest.starts_with(kind.tag()))?;
    let [major, minor, ..] = rest[4..] else { return None };
    Some((kind, Version { major, minor }))
}

/// Version and sections.
#[derive(Debug, Clone)]
pub(crate) struct FileHeader {
    pub version: Version,
    /// Size and offset of each.
    pub sections: Vec<Section>,
}

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Section {
    pub n_bytes: u64,
    pub offset: u64,
}

impl FileHeader {
    /// Reads the header from the first bytes of a file.
    pub fn read(bytes: Bytes<'_>, kind: FileKind) -> Result<FileHeader, ReadError> {
        let found = recognise(bytes.bytes).filter(|(found, _)| *found == kind);
        let Some((_, version)) = found else {
            let expected = [&MAGIC[..], &kind.tag()[..]].concat();
            let expected = String::from_utf8_lossy(&expected).into_owned();
            return Err(bytes.error(0, ReadErrorKind::Magic { expected }));
        };
        if version.major != 4 {
            return Err(bytes.error(14, ReadErrorKind::Version { found: version }));
        }
        let section = |i| {
            let at = PREFIX_BYTES + 16 * i;
            Ok(Section { n_bytes: bytes.u64(at, "section")?, offset: bytes.u64(at + 8, "section")? })
        };
        let sections = (0..kind.n_sections()).map(section).collect::<Result<_, ReadError>>()?;
        Ok(FileHeader { version, sections })
    }
}

/// What a file says that does not end as it must.
pub(crate) fn check_footer(
    file: &Arc<str>,
    kind: FileKind,
    n_bytes: u64,
    last_bytes: &[u8],
) -> Option<Damage> {
    (!last_bytes.ends_with(kind.footer())).then(|| Damage {
        file: Arc::clone(file),
        offset: n_bytes,
        reason: format!(
            "the file does not end with {:?}: it was truncated or is still being written",
            String::from_utf8_lossy(kind.footer())
        ),
        count: 1,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_recognised_by_their_first_bytes() {
        let version = Version { major: 4, minor: 2 };
        assert_eq!(recognise(b"HPCTOOLKITmeta\x04\x02"), Some((FileKind::Meta, version)));
        assert_eq!(recognise(b"HPCTOOLKITtrce\x04\x02more"), Some((FileKind::Trace, version)));
        for other in [&b"HPCTOOLKITmeta\x04"[..], b"HPCTOOLKITxxxx\x04\x00", b"HPCPROF-tmsdb_____", b""] {
            assert_eq!(recognise(other), None);
        }
    }

    #[test]
    fn a_file_of_another_kind_or_version_is_refused() {
        let file: Arc<str> = Arc::from("x");
        let check = |bytes: &[u8], expected: &str| {
            let error = FileHeader::read(Bytes::new(&file, bytes), FileKind::Trace).unwrap_err();
            assert!(error.to_string().contains(expected), "{error}");
        };
        check(b"HPCTOOLKITmeta\x04\x00", "HPCTOOLKITtrce");
        check(b"HPCTOOLKITtrce\x05\x01", "5.1");
        check(b"HPCTOOLKITtrce\x04\x01", "outside the file");
    }
}
