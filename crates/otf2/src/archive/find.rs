//! Which files an archive consists of, from whatever path a user gives.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::error::{ReadError, ReadErrorKind};

/// The files of an archive: `dir/stem.otf2`, `dir/stem.def`, `dir/stem/*.evt` and so on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Files {
    pub dir: PathBuf,
    pub stem: String,
}

impl Files {
    /// From a directory, an anchor of any name, or a path without the anchor's ending.
    pub fn find(path: &Path) -> Result<Files, ReadError> {
        if path.is_dir() {
            return Files::in_dir(path);
        }
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("otf2" | "def" | "marker") => {
                let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
                let files = Files { dir: parent(path), stem };
                if path.is_file() || files.exist() { Ok(files) } else { Err(missing(path)) }
            }
            _ if path.is_file() => {
                // Not by name, so it must be an anchor by content; reading it tells.
                let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
                Ok(Files { dir: parent(path), stem })
            }
            _ => {
                let stem = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                let files = Files { dir: parent(path), stem };
                if files.exist() { Ok(files) } else { Err(missing(path)) }
            }
        }
    }

    fn in_dir(dir: &Path) -> Result<Files, ReadError> {
        let name = dir.display().to_string();
        let entries = list(dir).map_err(|error| ReadError::of_file(&name, ReadErrorKind::Io(error)))?;
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
            if outer.anchor().is_file() || (holds_events && outer.exist()) {
                return Ok(outer);
            }
        }
        // No anchor: a definition file, or a directory of event files, tells the name.
        let mut rest = stems(".def");
        if rest.is_empty() {
            rest = entries.into_iter().filter(|name| holds_event_files(&dir.join(name))).collect();
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

    fn exist(&self) -> bool {
        self.anchor().is_file() || self.definitions().is_file() || holds_event_files(&self.events_dir())
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

    /// The locations that have a file with this ending, sorted.
    pub fn locations(&self, ending: &str) -> Vec<u64> {
        let ending = format!(".{ending}");
        let names = list(&self.events_dir()).unwrap_or_default();
        let mut locations: Vec<u64> = names
            .iter()
            .filter_map(|name| name.strip_suffix(&ending))
            .filter_map(|digits| digits.parse().ok().filter(|id: &u64| id.to_string() == digits))
            .collect();
        locations.sort_unstable();
        locations
    }
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

fn holds_event_files(dir: &Path) -> bool {
    list(dir).is_ok_and(|names| names.iter().any(|name| name.ends_with(".evt")))
}

/// The names in a directory, sorted.
fn list(dir: &Path) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(dir)? {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    names.sort_unstable();
    Ok(names)
}
