//! An archive as a whole: its files, and readers for each of them.
//!
//! Opening reads the anchor and finds names, nothing more; the folder of the locations' files is listed when that is asked
//! for. Law: what can be known without a file is known without it; what is lost comes as a
//! [`Notice`]. Errors are left for what cannot be opened at all.
//! There are no threads here; readers of different locations, or of different chunks of
//! one, are independent and may run anywhere.

mod find;
mod rebuild;

use std::fs::{self, File};
use std::io::{self, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use find::{Files, Located};
use ouzel_files::{Candidate, input};
use rebuild::rebuild_anchor;

use crate::anchor::{ANCHOR_MAGIC_BYTES, Anchor};
use crate::definitions::Definitions;
use crate::error::{ReadError, ReadErrorKind};
use crate::local_definitions::LocalDefinitions;
use crate::notice::{Notice, NoticeKind};
use crate::read::{Chunk, EventReader, EventSource, RecordReader, list_chunks};
use crate::records::MarkerRecord;
use crate::records::definition::Location;

/// An anchor is read as a whole; those of real archives have some hundred bytes.
const ANCHOR_BYTES_MAX: u64 = 16 << 20;

/// Files of definitions, markers and snapshots are read as a whole. A million locations with a thousand regions are
/// 100 MB of definitions.
const DEFINITION_BYTES_MAX: u64 = 2 << 30;

/// An OTF2 archive that is open for reading.
///
/// ```no_run
/// use ouzel_otf2::Archive;
/// let archive = Archive::open("scorep-run".as_ref())?;
/// let (definitions, notices) = archive.read_global_definitions();
/// for location in definitions.locations() {
///     let name = definitions.string(location.name).unwrap_or_default();
///     println!("{name}: {} events", location.number_of_events);
/// }
/// for notice in archive.notices().iter().chain(&notices) {
///     eprintln!("{notice}");
/// }
/// # Ok::<(), ouzel_otf2::ReadError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Archive {
    files: Files,
    anchor: Anchor,
    anchor_is_rebuilt: bool,
    /// Once asked: a folder of 100,000 locations takes as long as their definitions.
    on_disk: OnceLock<OnDisk>,
    notices: Vec<Notice>,
}

/// The locations that have files.
#[derive(Debug, Clone)]
struct OnDisk {
    /// Sorted.
    locations: Vec<u64>,
    /// Whether any location has a file of local definitions.
    has_local_definitions: bool,
}

impl From<Located> for OnDisk {
    fn from(Located { mut events, definitions }: Located) -> OnDisk {
        let has_local_definitions = !definitions.is_empty();
        events.extend(definitions);
        events.sort_unstable();
        events.dedup();
        OnDisk { locations: events, has_local_definitions }
    }
}

/// Where an archive has its anchor, definitions and markers, and the folder of its locations' files, whether or not
/// they are there; `None` if it names no archive. Reads names, no file.
pub fn paths_of(candidate: &Candidate) -> Option<[PathBuf; 4]> {
    let files = Files::find(candidate).ok()?;
    Some([files.anchor(), files.definitions(), files.markers(), files.events_dir()])
}

impl Archive {
    /// Opens an archive: its directory, its anchor (whatever the name), or the
    /// anchor's path without `.otf2`.
    ///
    /// A missing or broken anchor is rebuilt from the other files, with a notice.
    ///
    /// # Errors
    /// If there is no archive, or several in the directory, or one that cannot
    /// be read: SIONlib containers, zlib, a newer anchor format.
    pub fn open(path: &Path) -> Result<Archive, ReadError> {
        Archive::open_candidate(&Candidate::at(path))
    }

    /// Whether an archive is there: an anchor by its content, or the other files of one whose anchor is lost.
    ///
    /// Reads the first bytes of the anchor and lists directories, nothing more.
    pub fn recognise(candidate: &Candidate) -> bool {
        let Ok(files) = Files::find(candidate) else { return false };
        let anchor = files.anchor_of(candidate);
        if Anchor::begins(&candidate.head(&anchor, ANCHOR_MAGIC_BYTES)) {
            return true;
        }
        // A file of another name that begins as no anchor is something else, even beside an archive.
        let ending = candidate.path().extension();
        let is_own = ending.is_some_and(|ending| ending == "otf2" || ending == "def" || ending == "marker");
        (!candidate.is_file() || is_own) && files.hold_data(candidate)
    }

    /// As [`Archive::open`], of what was looked at before.
    ///
    /// # Errors
    /// As [`Archive::open`].
    pub fn open_candidate(candidate: &Candidate) -> Result<Archive, ReadError> {
        let files = Files::find(candidate)?;
        let anchor_path = files.anchor_of(candidate);
        let name = anchor_path.display().to_string();
        let read = read_anchor(&anchor_path, &name);
        let mut notices = Vec::new();
        let on_disk = OnceLock::new();
        let (anchor, anchor_is_rebuilt) = match read {
            Ok(anchor) => (anchor, false),
            Err(error) if is_refusal(&error.kind) => return Err(error),
            Err(error) => {
                let located = files.locations();
                if !files.definitions().is_file() && located.events.is_empty() {
                    return Err(error);
                }
                let missing =
                    matches!(&error.kind, ReadErrorKind::Io(io) if io.kind() == io::ErrorKind::NotFound);
                let text = if missing { String::new() } else { error.kind.to_string() };
                notices.push(Notice::new(&name, error.offset, NoticeKind::AnchorRebuilt { error: text }));
                let anchor = rebuild_anchor(&files, &located.events);
                let _ = on_disk.set(located.into());
                (anchor, true)
            }
        };
        Ok(Archive { files, anchor, anchor_is_rebuilt, on_disk, notices })
    }

    fn on_disk(&self) -> &OnDisk {
        self.on_disk.get_or_init(|| self.files.locations().into())
    }

    /// What the anchor says, or would say.
    pub fn anchor(&self) -> &Anchor {
        &self.anchor
    }

    /// Whether the anchor was missing or broken.
    pub fn anchor_is_rebuilt(&self) -> bool {
        self.anchor_is_rebuilt
    }

    /// The archive's name: that of the anchor without its ending.
    pub fn name(&self) -> &str {
        &self.files.stem
    }

    /// The directory that holds the anchor.
    pub fn directory(&self) -> &Path {
        &self.files.dir
    }

    /// What was lost or rebuilt when the archive was opened.
    pub fn notices(&self) -> &[Notice] {
        &self.notices
    }

    /// The locations that have an event file or a local definition file, sorted. The first call lists their folder.
    pub fn locations_on_disk(&self) -> &[u64] {
        &self.on_disk().locations
    }

    /// Reads the global definitions, as far as they are good.
    ///
    /// Locations that have files and no definition get one made up from the
    /// file's name.
    pub fn read_global_definitions(&self) -> (Definitions, Vec<Notice>) {
        let path = self.files.definitions();
        let name = path.display().to_string();
        let (mut definitions, mut notices) = match input::read_limited(&path, DEFINITION_BYTES_MAX) {
            Ok(bytes) => Definitions::parse(bytes, &name, self.anchor.definition_chunk_size()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                (Definitions::empty(), vec![Notice::new(&name, 0, NoticeKind::NoGlobalDefinitions)])
            }
            Err(error) => {
                let error = ReadError::of_file(&name, ReadErrorKind::Io(error));
                (Definitions::empty(), vec![Notice::damaged(&error, 0)])
            }
        };
        let (claimed, found) = (self.anchor.n_global_definitions, definitions.len() as u64);
        let n_unknown: u64 = notices
            .iter()
            .map(|notice| if let NoticeKind::UnknownRecords { n, .. } = notice.kind { n } else { 0 })
            .sum();
        if !self.anchor_is_rebuilt && claimed != found + n_unknown {
            notices.push(Notice::new(&name, 0, NoticeKind::DefinitionCount { claimed, found }));
        }
        let made_up = definitions.add_undefined_locations(self.locations_on_disk());
        if let Some(&first) = made_up.first() {
            let kind = NoticeKind::UndefinedLocations { n: made_up.len() as u64, first };
            notices.push(Notice::new(&name, 0, kind));
        }
        (definitions, notices)
    }

    /// The bytes of the global definition file, for a [`RecordReader`].
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn global_definition_bytes(&self) -> Result<(String, Vec<u8>), ReadError> {
        read_named(&self.files.definitions())
    }

    /// Reads the local definitions of a location; none at all if it has no such file.
    ///
    /// Archives may do without these files, but where some locations have one, its lack is a notice.
    pub fn read_local_definitions(&self, location: u64) -> (LocalDefinitions, Vec<Notice>) {
        match self.local_definition_bytes(location) {
            Ok((name, bytes)) => LocalDefinitions::parse(&bytes, &name, self.anchor.definition_chunk_size()),
            Err(ReadError { kind: ReadErrorKind::Io(io), file, .. })
                if io.kind() == io::ErrorKind::NotFound =>
            {
                let missing = NoticeKind::NoLocalDefinitions { location };
                let missing = self.on_disk().has_local_definitions.then(|| Notice::new(&file, 0, missing));
                (LocalDefinitions::default(), missing.into_iter().collect())
            }
            Err(error) => (LocalDefinitions::default(), vec![Notice::damaged(&error, 0)]),
        }
    }

    /// The bytes of a location's local definition file, and the file's name.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn local_definition_bytes(&self, location: u64) -> Result<(String, Vec<u8>), ReadError> {
        read_named(&self.files.of_location(location, "def"))
    }

    /// A reader of all events of a location.
    ///
    /// # Errors
    /// [`ReadErrorKind::NoSuchFile`] if the location has no event file (which is
    /// fine if it has no events), and if the file does not begin as one.
    pub fn events(&self, location: u64) -> Result<EventReader<File>, ReadError> {
        let (file, name, n_bytes) = self.open_events(location)?;
        EventReader::new(EventSource::whole(file, &name, n_bytes, self.anchor.event_chunk_size()))
    }

    /// Size of a location's event file in bytes; 0 if it has none.
    pub fn event_bytes(&self, location: u64) -> u64 {
        fs::metadata(self.files.of_location(location, "evt")).map_or(0, |metadata| metadata.len())
    }

    /// The chunks of a location's event file, from their headers alone.
    ///
    /// A file whose chunk size is not known is one chunk. The second value is
    /// what is wrong after the last chunk listed; reading the events reveals more.
    ///
    /// # Errors
    /// [`ReadErrorKind::NoSuchFile`] if the location has no event file.
    pub fn event_chunks(&self, location: u64) -> Result<(Vec<Chunk>, Option<ReadError>), ReadError> {
        let (mut file, name, n_bytes) = self.open_events(location)?;
        let size = self.anchor.event_chunk_size().unwrap_or(std::num::NonZeroU64::MAX);
        Ok(list_chunks(&mut file, &name, n_bytes, size))
    }

    /// A reader of the events of one chunk that [`Archive::event_chunks`] listed.
    ///
    /// The reader's time begins anew, so a step back between two chunks is seen by none of their readers.
    ///
    /// # Errors
    /// As [`Archive::events`].
    pub fn chunk_events(&self, location: u64, chunk: Chunk) -> Result<EventReader<File>, ReadError> {
        let (mut file, name, _) = self.open_events(location)?;
        file.seek(SeekFrom::Start(chunk.offset))
            .map_err(|error| ReadError::of_file(&name, ReadErrorKind::Io(error)))?;
        let size = self.anchor.event_chunk_size();
        let mut source = EventSource::chunk(file, &name, chunk, size);
        source.one_chunk = size.is_some();
        EventReader::new(source)
    }

    /// The path of a location's event file, for readers of mapped files; see [`crate::read::InMemory`].
    pub fn event_path(&self, location: u64) -> PathBuf {
        self.files.of_location(location, "evt")
    }

    fn open_events(&self, location: u64) -> Result<(File, String, u64), ReadError> {
        let path = self.event_path(location);
        let name = path.display().to_string();
        let opened = input::open(&path).and_then(|file| {
            let n_bytes = file.metadata()?.len();
            Ok((file, n_bytes))
        });
        match opened {
            Ok((file, n_bytes)) => Ok((file, name, n_bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Err(ReadError::of_file(&name, ReadErrorKind::NoSuchFile { location }))
            }
            Err(error) => Err(ReadError::of_file(&name, ReadErrorKind::Io(error))),
        }
    }

    /// Compares the event counts of the definitions with the headers of the event files.
    ///
    /// Reads headers only; a location that is defined with events and has no file gets a notice, too.
    pub fn compare_event_counts(&self, definitions: &Definitions) -> Vec<Notice> {
        let mut notices = Vec::new();
        for Location { id, number_of_events: claimed, .. } in definitions.locations() {
            let name = self.event_path(id).display().to_string();
            match self.event_chunks(id) {
                Ok((chunks, _)) => {
                    let found = chunks.iter().fold(0_u64, |sum, chunk| sum.saturating_add(chunk.n_events()));
                    if found != claimed && !definitions.is_made_up(id) {
                        let kind = NoticeKind::EventCount { location: id, claimed, found };
                        notices.push(Notice::new(&name, 0, kind));
                    }
                }
                Err(ReadError { kind: ReadErrorKind::NoSuchFile { .. }, .. }) if claimed > 0 => {
                    notices.push(Notice::new(&name, 0, NoticeKind::NoEventFile { location: id, claimed }));
                }
                Err(_) => {}
            }
        }
        notices
    }

    /// Calls `visit` for each record of the marker file and counts them; 0 without such a file.
    ///
    /// # Errors
    /// What ends the file early, after the good records were visited.
    pub fn markers(&self, visit: &mut dyn FnMut(MarkerRecord<'_>)) -> Result<u64, ReadError> {
        let Some((name, bytes)) = if_there(read_named(&self.files.markers()))? else { return Ok(0) };
        let mut reader = RecordReader::new(&bytes, &name, self.anchor.definition_chunk_size())?;
        while let Some((_, record)) = reader.next_as(MarkerRecord::decode)? {
            if let Some(record) = record {
                visit(record);
            }
        }
        Ok(reader.counts().records)
    }
}

/// Reads an anchor. What does not begin as one is not read further: any file may have been named.
fn read_anchor(path: &Path, name: &str) -> Result<Anchor, ReadError> {
    let failed = |error| ReadError::of_file(name, ReadErrorKind::Io(error));
    let head = input::head(path, ANCHOR_MAGIC_BYTES as u64).map_err(failed)?;
    if !Anchor::begins(&head) {
        return Anchor::parse(&head, name);
    }
    Anchor::parse(&input::read_limited(path, ANCHOR_BYTES_MAX).map_err(failed)?, name)
}

fn read_named(path: &Path) -> Result<(String, Vec<u8>), ReadError> {
    let name = path.display().to_string();
    match input::read_limited(path, DEFINITION_BYTES_MAX) {
        Ok(bytes) => Ok((name, bytes)),
        Err(error) => Err(ReadError::of_file(&name, ReadErrorKind::Io(error))),
    }
}

fn if_there<T>(read: Result<T, ReadError>) -> Result<Option<T>, ReadError> {
    match read {
        Ok(found) => Ok(Some(found)),
        Err(ReadError { kind: ReadErrorKind::Io(io), .. }) if io.kind() == io::ErrorKind::NotFound => {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// Whether the archive is whole, but of a form that this reader does not read.
fn is_refusal(kind: &ReadErrorKind) -> bool {
    use ReadErrorKind as K;
    matches!(kind, K::Sion | K::Zlib | K::AnchorVersion { .. } | K::Substrate { .. } | K::Compression { .. })
}
