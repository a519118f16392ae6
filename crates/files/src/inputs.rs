//! The files that a command reads, so that it overwrites none of them.
//!
//! Law: a file that is read now or would be read next time is recognised by device and inode, links followed, by any
//! path; a name that a format would treat as a part of the trace counts as one, even if there is no such file yet.

use crate::place::{Id, Place, folders_around};
use std::fs;
use std::path::{Path, PathBuf};

/// The files of everything that a command reads.
#[derive(Debug, Clone, Default)]
pub struct Inputs(Vec<InputPart>);

/// Files of one input.
#[derive(Debug, Clone)]
enum InputPart {
    File(PathBuf),
    /// Everything in a folder and below.
    Folder(PathBuf),
    /// Files of a folder, by their names.
    Named {
        folder: PathBuf,
        prefix: String,
        endings: &'static [&'static str],
    },
}

impl Inputs {
    /// Adds a file, which need not exist.
    pub fn add_file(&mut self, path: impl Into<PathBuf>) {
        self.0.push(InputPart::File(absolute(path.into())));
    }

    /// Adds a folder with everything that is or would be in it.
    pub fn add_folder(&mut self, path: impl Into<PathBuf>) {
        self.0.push(InputPart::Folder(absolute(path.into())));
    }

    /// Adds the files of a folder whose names begin with `prefix` and end with one of `endings`.
    pub fn add_named(&mut self, folder: impl Into<PathBuf>, prefix: &str, endings: &'static [&'static str]) {
        let folder = absolute(folder.into());
        self.0.push(InputPart::Named { folder, prefix: prefix.to_owned(), endings });
    }

    /// Adds all of `more`.
    pub fn extend(&mut self, more: Inputs) {
        self.0.extend(more.0);
    }

    /// The input that writing `output` would destroy or change; `None` if there is none.
    pub fn touched_by(&self, output: &Path) -> Option<&Path> {
        let place = Place::of(output);
        let around: Vec<Id> = folders_around(output).collect();
        self.0.iter().find(|part| part.holds(&place, &around)).map(InputPart::path)
    }

    /// An input that is `folder` or in it.
    pub fn within(&self, folder: &Path) -> Option<&Path> {
        let id = Id::of(folder)?;
        let is_within = |part: &&InputPart| {
            let inner = part.path().join("any");
            match part {
                InputPart::File(path) => folders_around(path).any(|around| around == id),
                InputPart::Folder(_) | InputPart::Named { .. } => {
                    folders_around(&inner).any(|around| around == id)
                }
            }
        };
        self.0.iter().find(is_within).map(InputPart::path)
    }
}

impl InputPart {
    fn path(&self) -> &Path {
        match self {
            InputPart::File(path) | InputPart::Folder(path) => path,
            InputPart::Named { folder, .. } => folder,
        }
    }

    fn holds(&self, output: &Place, around: &[Id]) -> bool {
        match self {
            InputPart::File(path) => Place::of(path).is(output),
            InputPart::Folder(folder) => {
                let place = Place::of(folder);
                place.is(output)
                    || place.id().is_some_and(|id| around.contains(id))
                    || output.id().is_some_and(|id| is_in_tree(folder, id))
            }
            InputPart::Named { folder, prefix, endings } => {
                let matches = |name: &str| {
                    let rest = name.strip_prefix(prefix.as_str());
                    rest.is_some_and(|rest| endings.iter().any(|ending| rest.ends_with(ending)))
                };
                let is_here = output.folder().is_some() && output.folder() == Id::of(folder).as_ref();
                (is_here && output.name().is_some_and(matches))
                    || output.id().is_some_and(|id| is_among(folder, matches, id))
            }
        }
    }
}

/// Whether a file of `folder` or below is `id`. Follows links to files, but not into folders.
fn is_in_tree(folder: &Path, id: &Id) -> bool {
    let Ok(entries) = fs::read_dir(folder) else { return false };
    entries.filter_map(Result::ok).any(|entry| {
        let path = entry.path();
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        Id::of(&path).as_ref() == Some(id) || (is_folder && is_in_tree(&path, id))
    })
}

/// Whether a file of `folder` whose name matches is `id`.
fn is_among(folder: &Path, matches: impl Fn(&str) -> bool, id: &Id) -> bool {
    let Ok(entries) = fs::read_dir(folder) else { return false };
    entries.filter_map(Result::ok).any(|entry| {
        entry.file_name().to_str().is_some_and(&matches) && Id::of(&entry.path()).as_ref() == Some(id)
    })
}

/// The path that stays the same when the working directory changes.
fn absolute(path: PathBuf) -> PathBuf {
    std::path::absolute(&path).unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// A folder with `run/traces.otf2`, `run/traces/1.evt` and `elsewhere`.
    fn run() -> tempfile::TempDir {
        let scratch = tempfile::tempdir().unwrap();
        let at = |name: &str| scratch.path().join(name);
        fs::create_dir_all(at("run/traces")).unwrap();
        fs::create_dir_all(at("elsewhere")).unwrap();
        for name in ["run/traces.otf2", "run/traces/1.evt", "run/report.html", "run/a.json"] {
            fs::write(at(name), name).unwrap();
        }
        scratch
    }

    fn inputs(scratch: &Path) -> Inputs {
        let mut inputs = Inputs::default();
        inputs.add_file(scratch.join("run/traces.otf2"));
        inputs.add_file(scratch.join("run/traces.def"));
        inputs.add_folder(scratch.join("run/traces"));
        inputs.add_named(scratch.join("run"), "a", &[".json"]);
        inputs
    }

    #[test]
    fn what_is_read_or_would_be_is_found_by_any_path() {
        let scratch = run();
        let inputs = inputs(scratch.path());
        for (output, touches) in [
            ("run/traces.otf2", true),
            ("elsewhere/../run/./traces.otf2", true),
            ("run/traces.def", true),
            ("run/traces", true),
            ("run/traces/1.evt", true),
            ("run/traces/2.evt", true),
            ("run/traces/deep/2.evt", true),
            ("run/a.json", true),
            ("run/abc.json", true),
            ("run/b.json", false),
            ("run/report.html", false),
            ("run/new.html", false),
            ("elsewhere/traces.def", false),
        ] {
            assert_eq!(inputs.touched_by(&scratch.path().join(output)).is_some(), touches, "{output}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn links_do_not_hide_an_input() {
        use std::os::unix::fs::symlink;
        let scratch = run();
        let at = |name: &str| scratch.path().join(name);
        symlink(at("run"), at("alias")).unwrap();
        symlink(at("run/traces.otf2"), at("elsewhere/soft")).unwrap();
        fs::hard_link(at("run/traces/1.evt"), at("elsewhere/hard")).unwrap();
        fs::hard_link(at("run/a.json"), at("elsewhere/named")).unwrap();
        // An archive whose event file is elsewhere.
        fs::write(at("elsewhere/2.evt"), "").unwrap();
        symlink(at("elsewhere/2.evt"), at("run/traces/2.evt")).unwrap();
        let inputs = inputs(scratch.path());
        for output in ["alias/traces.otf2", "alias/traces.def", "alias/traces/9.evt", "elsewhere/soft"] {
            assert!(inputs.touched_by(&at(output)).is_some(), "{output}");
        }
        for output in ["elsewhere/hard", "elsewhere/named", "elsewhere/2.evt"] {
            assert!(inputs.touched_by(&at(output)).is_some(), "{output}");
        }
        assert!(inputs.touched_by(&at("elsewhere/new")).is_none());
        for (folder, holds) in [("run", true), ("alias/traces", true), ("", true), ("elsewhere", false)] {
            assert_eq!(inputs.within(&at(folder)).is_some(), holds, "{folder:?}");
        }
    }
}
