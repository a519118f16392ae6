//! CUBE profiles (`.cubex`, `.cube`) as a [`ProfileSource`].
//!
//! Definitions are resolved when a profile is opened; rows are read on demand, one at a time.
//! Columns of the file are in the order of location ids, and so are
//! the [`Location`](ouzel_model::Location)s of the model; cnodes nest in the file, so their
//! order is the pre-order of the model. Quirks that end here: two orders of rows, values
//! made of several numbers (a metric each), values that mean "never", formulas in CubePL.

mod contained;
mod definitions;
mod metrics;
mod rows;
mod topologies;
pub mod write;

#[cfg(test)]
mod tests;

use crate::reader::{Format, OpenError, Opened, Reader};
use metrics::Stored;
use ouzel_cube::{Cube, CubeError, Kind};
use ouzel_files::Candidate;
use ouzel_model::{
    CallPathId, Content, Level, MetricId, Notice, NoticeCode, ProfileDefinitions, ProfileSource, ReadError,
    SeverityRows,
};
use rustc_hash::FxHashMap;
use std::ffi::OsStr;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// CUBE among the formats.
pub static READER: Reader = Reader {
    format: Format::Cube,
    writers: "Score-P, Scalasca, TAU, and others",
    reads: &[(
        Content::Severities,
        "`.cubex` and XML `.cube`; system tree, topologies, derived metrics that are arithmetic",
    )],
    recognise,
    open: |candidate| open_candidate(candidate).map(Opened::profile),
    add_files: |candidate, inputs| profiles_at(candidate).into_iter().for_each(|file| inputs.add_file(file)),
};

/// An opened CUBE profile.
#[derive(Debug)]
pub struct CubeSource {
    cube: Cube,
    definitions: ProfileDefinitions,
    notices: Vec<Notice>,
    /// Where the values of each metric lie; `None` for a derived one.
    stored: Vec<Option<Stored>>,
    /// The number that rows of an inclusive metric give each call path.
    wide_index: Vec<u32>,
    /// For rows in XML: by metric and cnode, the position in the table of rows.
    xml_rows: FxHashMap<(u32, u32), u32>,
}

/// Names that tools give the profile of an experiment, the preferred first.
const PREFERRED: [&str; 4] = ["profile.cubex", "summary.cubex", "scout.cubex", "trace.cubex"];

/// The profiles that a path names: a file, or those of a directory.
fn profiles_at(candidate: &Candidate) -> Vec<PathBuf> {
    let path = candidate.path();
    let is_profile = |file: &PathBuf| ouzel_cube::recognise(candidate, file).is_some();
    if !candidate.is_dir() {
        return Vec::from_iter(Some(path.to_owned()).filter(is_profile));
    }
    let preferred =
        PREFERRED.iter().map(|name| path.join(name)).find(|file| file.is_file() && is_profile(file));
    if let Some(file) = preferred {
        return vec![file];
    }
    let is_named_so = |name: &OsStr| {
        let name = name.to_string_lossy();
        [".cubex", ".cube", ".cube.gz"].iter().any(|end| name.ends_with(end))
    };
    let mut found = candidate.paths(path, is_named_so);
    found.retain(is_profile);
    found
}

fn recognise(candidate: &Candidate) -> Option<String> {
    let found = profiles_at(candidate);
    let names: Vec<String> = found.iter().map(|file| file.display().to_string()).collect();
    (!names.is_empty()).then(|| format!("CUBE profile {}", names.join(", ")))
}

/// Opens a profile: a file, or a directory that holds one.
///
/// # Errors
/// If there is none, several, or its definitions cannot be read as a whole.
pub fn open(path: &Path) -> Result<CubeSource, OpenError> {
    open_candidate(&Candidate::at(path))
}

fn open_candidate(candidate: &Candidate) -> Result<CubeSource, OpenError> {
    let path = candidate.path();
    match &profiles_at(candidate)[..] {
        [file] => Ok(CubeSource::open(file).map_err(read_error)?),
        [] if !path.exists() => Err(OpenError::NotFound(path.to_owned())),
        [] => Err(OpenError::NotATrace {
            path: path.to_owned(),
            reason: "neither a CUBE profile nor a directory that holds one".to_owned(),
        }),
        several => Err(OpenError::Ambiguous {
            path: path.to_owned(),
            candidates: several.iter().map(|file| format!("CUBE profile {}", file.display())).collect(),
        }),
    }
}

/// The decoder's error in the model's form.
fn read_error(error: CubeError) -> ReadError {
    let CubeError { file, offset, reason } = error;
    ReadError { file, offset, record: 0, reason }
}

/// Lost severities as a notice.
fn damage_notice(damage: &CubeError, n_rows: u64) -> Notice {
    let message = format!("severities are lost: {}", damage.reason);
    Notice::new(Level::High, NoticeCode::DamagedSeverities, message)
        .in_file(damage.file.clone())
        .at(damage.offset)
        .times(n_rows)
}

impl CubeSource {
    /// Opens a profile and resolves its definitions.
    ///
    /// # Errors
    /// If it is not a CUBE file, or its definitions cannot be read as a whole.
    pub fn open(path: &Path) -> Result<Self, CubeError> {
        let cube = ouzel_cube::open(path)?;
        let anchor = cube.anchor();
        let resolved = definitions::resolve(anchor, cube.file(), cube.kind() == Kind::Archive)?;
        let mut notices = resolved.notices;
        notices.extend(cube.damage().iter().map(|damage| damage_notice(damage, 1)));
        let left_out = |what: String, n: u64| {
            let message = format!("{what} of the profile is left out");
            Notice::new(Level::Low, NoticeCode::NotRepresented, message).times(n).in_file(cube.file().clone())
        };
        notices.extend(anchor.unknown.iter().map(|(name, n)| left_out(format!("element {name:?}"), *n)));
        notices.extend(cube.other_members().iter().map(|name| left_out(format!("file {name:?}"), 1)));
        let parents: Vec<Option<usize>> = anchor.cnodes.iter().map(|cnode| cnode.parent).collect();
        let mut wide_index = vec![0; parents.len()];
        for (index, node) in (0..).zip(ouzel_cube::wide_order(&parents)) {
            wide_index[node as usize] = index;
        }
        let xml_rows = (0..).zip(&anchor.rows).map(|(i, row)| ((row.metric, row.cnode), i)).collect();
        let (definitions, stored) = (resolved.definitions, resolved.stored);
        let mut source = CubeSource { definitions, notices, stored, wide_index, xml_rows, cube };
        let notice = contained::settle(&mut source);
        source.notices.extend(notice);
        Ok(source)
    }
}

impl ProfileSource for CubeSource {
    fn definitions(&self) -> &ProfileDefinitions {
        &self.definitions
    }

    fn notices(&self) -> &[Notice] {
        &self.notices
    }

    fn severity_bytes(&self, metric: MetricId) -> u64 {
        self.stored[metric.index()].as_ref().map_or(0, |stored| self.cube.data_bytes(stored.metric))
    }

    fn open(
        &self,
        metric: MetricId,
        paths: Range<CallPathId>,
    ) -> Result<Box<dyn SeverityRows + '_>, ReadError> {
        rows::open(self, metric, paths)
    }
}
