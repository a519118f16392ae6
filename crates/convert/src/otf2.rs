//! `otf2`: an archive with what was selected.
//!
//! OUT is the archive's anchor if it ends in `.otf2`, else the directory of
//! `traces.otf2`. Law: files get their names when all of them are complete, the
//! anchor last, so that there is a whole archive or none.

use super::{ConvertError, Outcome, failed, listed};
use ouzel::engine::Listed;
use ouzel::formats::otf2::model_archive::{Clocks, Finished, ModelArchive};
use ouzel::model::{Marker, NoticeCode};
use ouzel::{Options, Trace};
use ouzel_answers::Written;
use ouzel_files::Inputs;
use ouzel_files::folder::{Entry, Folder, Others};
use ouzel_files::output::{Existing, OutputError};
use std::path::{Path, PathBuf};
use std::{fs, io};

/// Writes the archive.
pub(crate) fn write(trace: &Trace, options: &Options<'_>, place: Place) -> Result<Outcome, ConvertError> {
    let in_work = place.folder.begin()?;
    let archive = ModelArchive::create(in_work.path(), &place.name, trace.definitions())?;
    let Listed { mut sink, outcome, report, .. } = listed(trace, options, archive)?;
    outcome?;
    let (from_ns, to_ns) = options.filter.time_ns.unwrap_or((0, u64::MAX));
    let is_selected =
        |marker: &&Marker| (from_ns..=to_ns).contains(&trace.definitions().clock.ns_from_ticks(marker.time));
    let markers: Vec<Marker> = trace.source().markers().iter().filter(is_selected).cloned().collect();
    sink.mark(&markers)?;
    let unsynchronised = report.notices.iter().any(|n| n.code == NoticeCode::ClocksUnsynchronised);
    let clocks = if unsynchronised { Clocks::Unsynchronised } else { Clocks::Synchronised };
    let Finished { n_events, notices: unsaid } = sink.finish(clocks)?;
    let size_bytes = size_of(in_work.path()).map_err(|error| failed(&place.anchor, error))?;
    in_work.complete()?;
    Ok((report, unsaid, vec![Written::new(&place.anchor, n_events, size_bytes)]))
}

/// Where the archive goes.
#[derive(Debug)]
pub(crate) struct Place {
    folder: Folder,
    name: String,
    anchor: PathBuf,
}

/// Endings of files of locations.
const OF_LOCATIONS: &[&str] = &[".evt", ".def", ".snap"];

impl Place {
    /// The folder with everything an archive of this name has, its anchor last: without it there is no archive.
    pub(crate) fn new(out: &Path, existing: Existing, inputs: &Inputs) -> Result<Self, OutputError> {
        let is_anchor = out.extension().is_some_and(|extension| extension == "otf2") && !out.is_dir();
        let (dir, name, others) = match out.file_stem().and_then(|stem| stem.to_str()).filter(|_| is_anchor) {
            Some(name) => {
                let parent = out.parent().filter(|parent| !parent.as_os_str().is_empty());
                (parent.unwrap_or(Path::new(".")), name.to_owned(), Others::Stay)
            }
            None => (out, "traces".to_owned(), Others::AreInTheWay),
        };
        let file = |ending: &str| Entry::File(format!("{name}.{ending}"));
        let locations = Entry::Folder(name.clone(), OF_LOCATIONS);
        let entries = vec![locations, file("def"), file("marker"), file("otf2")];
        let folder = Folder::new(dir, entries, others, existing, inputs)?;
        Ok(Place { folder, anchor: dir.join(format!("{name}.otf2")), name })
    }
}

fn size_of(dir: &Path) -> io::Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        bytes += if path.is_dir() { size_of(&path)? } else { path.metadata()?.len() };
    }
    Ok(bytes)
}
