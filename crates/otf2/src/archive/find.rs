//! Which files an archive consists of, from whatever path a user gives.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use ouzel_files::Candidate;

use crate::error::{ReadError, ReadErrorKind};

/// The files of an archive: `dir/stem.otf2`, `dir/stem.def`, `dir/stem/*.evt` and so on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Files {
    pub dir: PathBuf,
    pub stem: String,
}

impl Files {
    /// From a directory, an anchor of any name, or a path without the anchor's ending.
    pub fn find(candidate: &Candidate) -> Result<Files, ReadError> {
        let path = candidate.path();
        if candidate.is_dir() {
            return Files::in_dir(candidate);
        }
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("otf2" | "def" | "marker") => {
                let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
                let files = Files { dir: parent(path), stem };
                if candidate.is_file() || files.exist(candidate) { Ok(files) } else { Err(missing(path)) }
            }
            _ if candidate.is_file() => {
                // Not by name, so it must be an anchor by content; reading it shows whether it is.
                let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
                Ok(Files { dir: parent(path), stem })
            }
            _ => {
                let stem = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                let files = Files { dir: parent(path), stem };
                if files.exist(candidate) { Ok(files) } else { Err(missing(path)) }
            }
        }
    }

    fn in_dir(candidate: &Candidate) -> Result<Files, ReadError> {
        let dir = candidate.path();
        let name = dir.display().to_string();
        let entries = list(candidate, dir);
        let stems = |ending: &str| -> Vec<String> {
            entries.iter().filter_map(|name| name.strip_suffix(ending)).map(str::to_owned).collect()
        };
        let at = |stem: String| Files { dir: dir.to_owned(), stem };
        let mut anchors = stems(".otf2");
        if anchors.len() > 1 {
            let names = anchors.into_iter().map(|stem| stem + ".otf2").collect();
            return Err(ReadError::of_file(&name, ReadErrorKind::SeveralArchives { names }));
        }
        if let Some(stem) = anchors.pop() {
            return Ok(at(stem));
        }
        // The directory may be the inner one, that of the event files.
        if let Some(inner) = dir.file_name() {
            let outer = Files { dir: parent(dir), stem: inner.to_string_lossy().into_owned() };
            let holds_events = entries.iter().any(|name| name.ends_with(".evt"));
            if outer.anchor().is_file() || (holds_events && outer.exist(candidate)) {
                return Ok(outer);
            }
        }
        // No anchor: a definition file, or a directory of event files, gives the name.
        let mut rest = stems(".def");
        if rest.is_empty() {
            rest = entries.into_iter().filter(|name| holds_event_files(candidate, &dir.join(name))).collect();
        }
        match (rest.pop(), rest.len()) {
            (Some(stem), 0) => Ok(at(stem)),
            (Some(last), _) => {
                rest.push(last);
                Err(ReadError::of_file(&name, ReadErrorKind::SeveralArchives { names: rest }))
            }
            (None, _) => Err(ReadError::of_file(&name, ReadErrorKind::NoArchive)),
        }
    }

    /// Whether there is anything of the archive.
    pub fn exist(&self, candidate: &Candidate) -> bool {
        self.anchor().is_file() || self.hold_data(candidate)
    }

    /// Whether there is anything of the archive but its anchor.
    pub fn hold_data(&self, candidate: &Candidate) -> bool {
        self.definitions().is_file() || holds_event_files(candidate, &self.events_dir())
    }

    /// The anchor: the candidate itself if it is a file, whatever its name.
    pub fn anchor_of(&self, candidate: &Candidate) -> PathBuf {
        let ending = candidate.path().extension();
        let is_other = ending.is_some_and(|ending| ending == "def" || ending == "marker");
        if candidate.is_file() && !is_other { candidate.path().to_owned() } else { self.anchor() }
    }

    pub fn anchor(&self) -> PathBuf {
        self.dir.join(format!("{}.otf2", self.stem))
    }

    pub fn definitions(&self) -> PathBuf {
        self.dir.join(format!("{}.def", self.stem))
    }

    pub fn markers(&self) -> PathBuf {
        self.dir.join(format!("{}.marker", self.stem))
    }

    pub fn events_dir(&self) -> PathBuf {
        self.dir.join(&self.stem)
    }

    pub fn of_location(&self, location: u64, ending: &str) -> PathBuf {
        self.events_dir().join(format!("{location}.{ending}"))
    }

    /// Lists the folder of the locations' files.
    pub fn locations(&self) -> Located {
        let id = |name: &OsStr, ending| {
            let digits = name.to_str()?.strip_suffix(ending)?;
            // As the library writes it: no sign, no leading zero.
            let is_plain = digits == "0" || digits.starts_with(|digit: char| ('1'..='9').contains(&digit));
            digits.parse().ok().filter(|_: &u64| is_plain)
        };
        let mut located = Located::default();
        for entry in fs::read_dir(self.events_dir()).into_iter().flatten().flatten() {
            let name = entry.file_name();
            located.events.extend(id(&name, ".evt"));
            located.definitions.extend(id(&name, ".def"));
        }
        located.events.sort_unstable();
        located.definitions.sort_unstable();
        located
    }
}

/// The locations that have files, sorted.
#[derive(Debug, Clone, Default)]
pub(super) struct Located {
    /// Those with events.
    pub events: Vec<u64>,
    /// Those with local definitions.
    pub definitions: Vec<u64>,
}

fn parent(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    }
}

fn missing(path: &Path) -> ReadError {
    ReadError::of_file(&path.display().to_string(), ReadErrorKind::NoArchive)
}

fn holds_event_files(candidate: &Candidate, dir: &Path) -> bool {
    candidate.names(dir).iter().any(|name| name.as_encoded_bytes().ends_with(b".evt"))
}

/// The names in a directory, sorted.
fn list(candidate: &Candidate, dir: &Path) -> Vec<String> {
    candidate.names(dir).iter().map(|name| name.to_string_lossy().into_owned()).collect()
}
