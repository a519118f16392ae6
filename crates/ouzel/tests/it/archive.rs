//! A copy of an archive in a directory of its own, one file of which is broken at a time.

use crate::answer::Answer;
use std::fs;
use std::path::{Path, PathBuf};

/// What a file of an archive is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    Anchor,
    Definitions,
    /// Of the location with this id in the files.
    LocalDefinitions(u64),
    Events(u64),
}

/// One file of an archive.
#[derive(Debug, Clone)]
pub struct ArchiveFile {
    pub path: PathBuf,
    pub role: Role,
    pub bytes: Vec<u8>,
}

impl ArchiveFile {
    /// Whether a notice or error text is about this file.
    pub fn is_named_by(&self, text: &str) -> bool {
        Path::new(text) == self.path
    }

    /// What a name shorter than the path says.
    pub fn name(&self) -> String {
        self.path.file_name().expect("a file has a name").to_string_lossy().into_owned()
    }
}

/// A copy of an archive that goes when it is dropped.
pub struct Archive {
    pub dir: PathBuf,
    /// Sorted by path.
    pub files: Vec<ArchiveFile>,
    /// The answer while nothing is broken.
    pub intact: Answer,
}

impl Archive {
    /// Copies an archive; `purpose` is a word that no other test uses for it.
    pub fn copy(from: &Path, purpose: &str) -> Archive {
        let name = from.file_name().expect("an archive has a directory").to_string_lossy();
        let dir = std::env::temp_dir().join(format!("ouzel-{purpose}-{name}-{}", std::process::id()));
        // Left over by a test that was stopped, perhaps.
        let _ = fs::remove_dir_all(&dir);
        let mut files = Vec::new();
        copy_files(from, &dir, &mut files);
        files.sort_by(|a, b| a.path.cmp(&b.path));
        assert!(files.iter().any(|file| file.role == Role::Anchor), "{dir:?} holds no archive");
        let intact = Answer::of(&dir).expect("the archive is whole");
        Archive { dir, files, intact }
    }

    /// The answer with other bytes in one file, which is whole again afterwards.
    pub fn with_bytes(&self, file: &ArchiveFile, bytes: &[u8]) -> Option<Answer> {
        fs::write(&file.path, bytes).expect("the copy is ours");
        let answer = Answer::of(&self.dir);
        fs::write(&file.path, &file.bytes).expect("the copy is ours");
        answer
    }

    /// The answer without one file.
    pub fn without(&self, file: &ArchiveFile) -> Option<Answer> {
        fs::remove_file(&file.path).expect("the copy is ours");
        let answer = Answer::of(&self.dir);
        fs::write(&file.path, &file.bytes).expect("the copy is ours");
        answer
    }

    /// The answer with a directory where a file was.
    pub fn with_directory(&self, file: &ArchiveFile) -> Option<Answer> {
        fs::remove_file(&file.path).expect("the copy is ours");
        fs::create_dir(&file.path).expect("the copy is ours");
        let answer = Answer::of(&self.dir);
        fs::remove_dir(&file.path).expect("the copy is ours");
        fs::write(&file.path, &file.bytes).expect("the copy is ours");
        answer
    }

    /// Fails unless the locations that `file` does not belong to have their rows as before.
    pub fn assert_others_unchanged(&self, answer: &Answer, file: &ArchiveFile, what: &str) {
        let own = match file.role {
            Role::Anchor => None,
            // What regions are called, and the trace start, may have changed.
            Role::Definitions => return,
            Role::LocalDefinitions(location) | Role::Events(location) => Some(location),
        };
        assert_eq!(answer.locations.len(), self.intact.locations.len(), "{what}");
        for (id, location) in &self.intact.locations {
            if Some(*id) != own {
                assert_eq!(answer.locations.get(id), Some(location), "location {id}, {what}");
            }
        }
    }
}

impl Drop for Archive {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.dir);
    }
}

fn copy_files(from: &Path, to: &Path, files: &mut Vec<ArchiveFile>) {
    fs::create_dir_all(to).expect("temporary files can be made");
    for entry in fs::read_dir(from).expect("the archive is there") {
        let source = entry.expect("the archive can be listed").path();
        let path = to.join(source.file_name().expect("a listed file has a name"));
        if source.is_dir() {
            copy_files(&source, &path, files);
            continue;
        }
        let bytes = fs::read(&source).expect("the archive can be read");
        fs::write(&path, &bytes).expect("temporary files can be made");
        if let Some(role) = role(&path) {
            files.push(ArchiveFile { path, role, bytes });
        }
    }
}

fn role(path: &Path) -> Option<Role> {
    let location = path.file_stem()?.to_str()?.parse();
    match (path.extension()?.to_str()?, location) {
        ("otf2", _) => Some(Role::Anchor),
        ("def", Ok(location)) => Some(Role::LocalDefinitions(location)),
        ("def", Err(_)) => Some(Role::Definitions),
        ("evt", Ok(location)) => Some(Role::Events(location)),
        _ => None,
    }
}

/// The archives that ship with the repository.
pub fn test_data() -> Vec<PathBuf> {
    let root = ouzel_testkit::workspace_root().join("testdata");
    let archives = archives_in(&root);
    assert!(archives.len() >= 5, "{root:?} holds archives");
    archives
}

/// The directories in `root` that hold an anchor, sorted.
pub fn archives_in(root: &Path) -> Vec<PathBuf> {
    let list = |dir: &Path| -> Vec<PathBuf> {
        let entries = fs::read_dir(dir).into_iter().flatten();
        entries.filter_map(|entry| Some(entry.ok()?.path())).collect()
    };
    let is_anchor = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "otf2");
    let mut archives = list(root);
    archives.retain(|dir| list(dir).iter().any(is_anchor));
    archives.sort();
    archives
}
