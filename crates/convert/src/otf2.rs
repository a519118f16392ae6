//! `--to otf2`: an archive with what was selected.
//!
//! OUT is the archive's anchor if it ends in `.otf2`, else the directory of
//! `traces.otf2`. Law: files get their names when all of them are complete, the
//! anchor last, so that there is a whole archive or none.

use super::ConvertArgs;
use super::Written;
use super::tables::{answer, listed};
use crate::args::Common;
use crate::exit::Outcome;
use crate::output::refused;
use crate::session::Session;
use anyhow::Context;
use ouzel::engine::Listed;
use ouzel::formats::otf2::model_archive::{Clocks, Finished, ModelArchive};
use ouzel::model::NoticeCode;
use ouzel_files::folder::{self, Entry, Others};
use std::fs;
use std::path::{Path, PathBuf};

/// Writes the archive.
///
/// # Errors
/// If the trace cannot be opened, something is in the way, or writing fails.
pub fn run(common: &Common, args: &ConvertArgs) -> anyhow::Result<Outcome> {
    let place = Place::new(&args.out);
    let folder = place.folder(common)?;
    let session = Session::open(common)?;
    let definitions = session.definitions();
    let in_work = folder.begin()?;
    let archive = ModelArchive::create(in_work.path(), &place.name, definitions)?;
    let Listed { sink, outcome, report, .. } = listed(&session, archive)?;
    outcome?;
    let unsynchronised = report.notices.iter().any(|n| n.code == NoticeCode::ClocksUnsynchronised);
    let clocks = if unsynchronised { Clocks::Unsynchronised } else { Clocks::Synchronised };
    let Finished { n_events, notices: unsaid } = sink.finish(clocks)?;
    let size_bytes = size_of(in_work.path())?;
    in_work.complete().map_err(refused)?;
    let files = vec![Written::new(&place.anchor(), n_events, size_bytes)];
    answer(&session, report, unsaid, files)
}

/// Where the archive goes.
#[derive(Debug)]
struct Place {
    dir: PathBuf,
    name: String,
    others: Others,
}

/// Endings of files of locations.
const OF_LOCATIONS: &[&str] = &[".evt", ".def", ".snap"];

impl Place {
    fn new(out: &Path) -> Self {
        let is_anchor = out.extension().is_some_and(|extension| extension == "otf2") && !out.is_dir();
        match out.file_stem().and_then(|stem| stem.to_str()).filter(|_| is_anchor) {
            Some(name) => {
                let parent = out.parent().filter(|parent| !parent.as_os_str().is_empty());
                let dir = parent.unwrap_or(Path::new(".")).to_owned();
                Place { dir, name: name.to_owned(), others: Others::Stay }
            }
            None => Place { dir: out.to_owned(), name: "traces".to_owned(), others: Others::AreInTheWay },
        }
    }

    fn anchor(&self) -> PathBuf {
        self.dir.join(format!("{}.otf2", self.name))
    }

    /// The folder with everything an archive of this name has, its anchor last: without it there is no archive.
    fn folder(&self, common: &Common) -> anyhow::Result<folder::Folder> {
        let file = |ending: &str| Entry::File(format!("{}.{ending}", self.name));
        let locations = Entry::Folder(self.name.clone(), OF_LOCATIONS);
        let entries = vec![locations, file("def"), file("marker"), file("otf2")];
        let inputs = &common.outputs.inputs;
        folder::Folder::new(&self.dir, entries, self.others, common.existing, inputs).map_err(refused)
    }
}

fn size_of(dir: &Path) -> anyhow::Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(dir).with_context(|| format!("cannot read {dir:?}"))? {
        let path = entry?.path();
        bytes += if path.is_dir() { size_of(&path)? } else { path.metadata()?.len() };
    }
    Ok(bytes)
}
