//! `--to otf2`: an archive with what was selected.
//!
//! OUT is the archive's anchor if it ends in `.otf2`, else the directory of
//! `traces.otf2`. Law: files get their names when all of them are complete, the
//! anchor last, so that there is a whole archive or none.

use super::tables::{Written, answer};
use crate::args::{Common, ConvertArgs};
use crate::exit::Outcome;
use crate::progress;
use crate::session::{Session, coverage};
use anyhow::{Context, bail};
use ouzel::engine::{
    Analysis, AnalysisError, AnalysisSet, FinishCx, Folder, LocationCx, LocationSummary, Partial,
};
use ouzel::formats::otf2::model_archive::{Clocks, Finished, LocationEvents, ModelArchive, WriteError};
use ouzel::model::{EventChunk, Needs, NoticeCode, Notices, Remap};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Writes.
///
/// # Errors
/// If the trace cannot be opened, something is in the way, or writing fails.
pub fn run(common: &Common, args: &ConvertArgs) -> anyhow::Result<Outcome> {
    let session = Session::open(common)?;
    let definitions = session.definitions();
    let place = Place::new(&args.out);
    if !args.force {
        place.refuse_to_replace(&args.out)?;
    }
    let in_work = place.begin()?;
    let events = EventArchive::new(ModelArchive::create(&in_work.dir, &place.name, definitions)?);
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
    let size_bytes = in_work.complete(&place)?;
    let path = place.anchor().display().to_string();
    answer(&session, coverage, &notices.to_vec(), vec![Written { path, n_rows: n_events, size_bytes }])
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

/// Writes the events of every location it is folded over. An analysis in form only: its output is what it wrote.
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
    /// Does what may fail, unless something failed before.
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
}

impl Place {
    fn new(out: &Path) -> Self {
        let is_anchor = out.extension().is_some_and(|extension| extension == "otf2") && !out.is_dir();
        match out.file_stem().and_then(|stem| stem.to_str()).filter(|_| is_anchor) {
            Some(name) => {
                let parent = out.parent().filter(|parent| !parent.as_os_str().is_empty());
                Place { dir: parent.unwrap_or(Path::new(".")).to_owned(), name: name.to_owned() }
            }
            None => Place { dir: out.to_owned(), name: "traces".to_owned() },
        }
    }

    fn anchor(&self) -> PathBuf {
        self.dir.join(format!("{}.otf2", self.name))
    }

    /// Everything an archive of this name has, its anchor last.
    fn entries(&self) -> [String; 3] {
        [self.name.clone(), format!("{}.def", self.name), format!("{}.otf2", self.name)]
    }

    fn refuse_to_replace(&self, out: &Path) -> anyhow::Result<()> {
        let is_dir = out.is_dir();
        let is_full =
            is_dir && fs::read_dir(out).with_context(|| format!("cannot read {out:?}"))?.next().is_some();
        let in_the_way =
            self.entries().into_iter().map(|entry| self.dir.join(entry)).find(|path| path.exists());
        match in_the_way {
            Some(path) => bail!("{path:?} is there already; add --force to replace it"),
            None if is_full || (out.exists() && !is_dir) => {
                bail!("{out:?} is there already; add --force to replace it")
            }
            None => Ok(()),
        }
    }

    fn begin(&self) -> anyhow::Result<ArchiveInWork> {
        let had_dir = self.dir.is_dir();
        let dir = self.dir.join(format!(".{}.part", self.name));
        // Left over from a run that was killed.
        remove(&dir)?;
        fs::create_dir_all(&dir).with_context(|| format!("cannot make directory {dir:?}"))?;
        Ok(ArchiveInWork { dir, made: (!had_dir).then(|| self.dir.clone()) })
    }
}

/// An archive that goes away if it is never complete.
#[derive(Debug)]
struct ArchiveInWork {
    dir: PathBuf,
    /// The directory that was made for it.
    made: Option<PathBuf>,
}

impl ArchiveInWork {
    /// Moves the files to their place; gives their size in bytes.
    fn complete(self, place: &Place) -> anyhow::Result<u64> {
        let size_bytes = size_of(&self.dir)?;
        // Without its anchor the archive before is none, and the new one is none yet.
        for entry in place.entries().iter().rev() {
            remove(&place.dir.join(entry))?;
        }
        for entry in place.entries() {
            let to = place.dir.join(&entry);
            fs::rename(self.dir.join(&entry), &to).with_context(|| format!("cannot write {to:?}"))?;
        }
        Ok(size_bytes)
    }
}

impl Drop for ArchiveInWork {
    fn drop(&mut self) {
        // Nothing more can be done about files that do not go away; a directory that holds an archive stays.
        let _ = fs::remove_dir_all(&self.dir);
        if let Some(made) = &self.made {
            let _ = fs::remove_dir(made);
        }
    }
}

/// Removes a file or directory, if there is one.
fn remove(path: &Path) -> anyhow::Result<()> {
    let removed = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    match removed {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {path:?}"))
        }
        _ => Ok(()),
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
