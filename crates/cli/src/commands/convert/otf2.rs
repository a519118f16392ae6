//! `--to otf2`: an archive with what was selected.
//!
//! OUT is the archive's anchor if it ends in `.otf2`, else the directory of
//! `traces.otf2`. Law: files get their names when all of them are complete, the
//! anchor last, so that there is a whole archive or none.

use super::ConvertArgs;
use super::Written;
use super::tables::answer;
use crate::args::Common;
use crate::exit::Outcome;
use crate::output::refused;
use crate::progress;
use crate::session::{Session, coverage};
use anyhow::Context;
use ouzel::engine::{
    Analysis, AnalysisError, AnalysisSet, FinishCx, Folder, LocationCx, LocationSummary, Partial,
};
use ouzel::formats::otf2::model_archive::{Clocks, Finished, LocationEvents, ModelArchive, WriteError};
use ouzel::model::{EventChunk, Needs, NoticeCode, Notices, Remap};
use ouzel_files::folder::{self, Entry, Others};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

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
    let events = EventArchive::new(ModelArchive::create(in_work.path(), &place.name, definitions)?);
    let mut set = AnalysisSet::default();
    set.add(events.clone());
    let partial = fold(&session, &set, &events);
    let notices = Notices::default();
    notices.extend(session.trace.notices().iter().cloned());
    let coverage = coverage(definitions, partial.locations());
    set.finish(partial, definitions, &notices);
    let unsynchronised = notices.to_vec().iter().any(|n| n.code == NoticeCode::ClocksUnsynchronised);
    let clocks = if unsynchronised { Clocks::Unsynchronised } else { Clocks::Synchronised };
    let Finished { n_events, notices: unsaid } = events.finish_writing(clocks)?;
    notices.extend(unsaid);
    let size_bytes = size_of(in_work.path())?;
    in_work.complete().map_err(refused)?;
    let files = vec![Written::new(&place.anchor(), n_events, size_bytes)];
    answer(&session, coverage, &notices.to_vec(), files)
}

/// One location after the other, in the order of the trace.
fn fold(session: &Session<'_>, set: &AnalysisSet, events: &EventArchive) -> Partial {
    let (trace, filter) = (&session.trace, &session.common.filter);
    progress::with_bar(session.common.progress, trace.event_bytes(filter), |progress| {
        let mut folder = Folder::listing(trace.source(), set, filter);
        for location in filter.locations(trace.definitions()) {
            if events.sink().error.is_some() {
                break;
            }
            folder.fold(location, Some(progress));
        }
        folder.into_partial()
    })
}

/// Writes the events of every location it is folded over. An analysis in form only: it returns nothing but writes.
#[derive(Debug, Clone)]
struct EventArchive(Arc<Mutex<Sink>>);

#[derive(Debug)]
struct Sink {
    archive: Option<ModelArchive>,
    error: Option<WriteError>,
}

impl EventArchive {
    fn new(archive: ModelArchive) -> Self {
        EventArchive(Arc::new(Mutex::new(Sink { archive: Some(archive), error: None })))
    }

    fn sink(&self) -> MutexGuard<'_, Sink> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn finish_writing(&self, clocks: Clocks) -> Result<Finished, WriteError> {
        let mut sink = self.sink();
        match (sink.error.take(), sink.archive.take()) {
            (Some(error), _) => Err(error),
            (None, archive) => archive.expect("an archive is finished once").finish(clocks),
        }
    }
}

impl Sink {
    /// Does `work`, which may fail, unless something failed before.
    fn with<T>(&mut self, work: impl FnOnce(&mut ModelArchive) -> Result<T, WriteError>) -> Option<T> {
        let archive = self.archive.as_mut().filter(|_| self.error.is_none())?;
        match work(archive) {
            Ok(value) => Some(value),
            Err(error) => {
                self.error = Some(error);
                None
            }
        }
    }
}

impl Analysis for EventArchive {
    type Local = Option<LocationEvents>;
    type Partial = ();
    type Output = ();

    const NAME: &'static str = "otf2";
    const PARTIAL_VERSION: u32 = 1;

    fn needs(&self) -> Needs {
        Needs::ALL_EVENTS
    }

    fn empty(&self) {}

    fn begin(&self, cx: &LocationCx<'_>) -> Self::Local {
        self.sink().with(|archive| archive.begin(cx.location))
    }

    fn fold(&self, local: &mut Self::Local, chunk: &EventChunk<'_>) {
        if let Some(events) = local {
            self.sink().with(|archive| archive.write(events, chunk));
        }
    }

    fn end(&self, local: Self::Local, _: &LocationCx<'_>, _: &LocationSummary, _: &mut ()) {
        if let Some(events) = local {
            self.sink().with(|archive| archive.end(events));
        }
    }

    fn remap(&self, _: &mut (), _: &Remap) {}

    fn merge(&self, _: &mut (), _: ()) {}

    fn finish(&self, _: (), _: &FinishCx<'_>) -> Result<(), AnalysisError> {
        Ok(())
    }
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
