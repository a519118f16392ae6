//! Outputs from outside: what is replaced, what stays, and what is left when something fails.

use ouzel_files::Inputs;
use ouzel_files::folder::{Entry, Folder, Others};
use ouzel_files::output::{Existing, OutputError, Target};
use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// Every file below a folder with its text.
fn texts(folder: &Path) -> BTreeMap<String, String> {
    fn add(root: &Path, folder: &Path, found: &mut BTreeMap<String, String>) {
        for entry in fs::read_dir(folder).expect("a folder of the test") {
            let path = entry.expect("a folder of the test").path();
            if path.is_dir() {
                add(root, &path, found);
            } else {
                let name = path.strip_prefix(root).expect("a folder of the test").display().to_string();
                found.insert(name, fs::read_to_string(&path).expect("a folder of the test"));
            }
        }
    }
    let mut found = BTreeMap::new();
    add(folder, folder, &mut found);
    found
}

fn expected(files: &[(&str, &str)]) -> BTreeMap<String, String> {
    files.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
}

/// A dropped buffer writes its contents, and ignores the error.
#[test]
#[cfg(target_os = "linux")]
fn what_could_not_be_written_is_an_error_in_the_end() {
    let full = || Target::file(Path::new("/dev/full"), Existing::Keep, &Inputs::default()).unwrap();
    assert!(matches!(full().write(b"few bytes"), Err(OutputError::Io { .. })));
    let output = full().begin().unwrap();
    output.writer().write_all(b"few bytes").expect("they go to the buffer");
    let error = output.complete().unwrap_err().to_string();
    assert!(error.contains("/dev/full"), "{error}");
}

#[test]
fn what_appears_meanwhile_is_kept_unless_it_may_be_replaced() {
    for (existing, text) in [(Existing::Keep, "of another"), (Existing::Replace, "mine")] {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("out");
        let target = Target::file(&path, existing, &Inputs::default()).unwrap();
        let output = target.begin().unwrap();
        let mut writer = output.writer();
        writer.write_all(b"mine").unwrap();
        writer.flush().unwrap();
        drop(writer);
        fs::write(&path, "of another").unwrap();
        let completed = output.complete();
        assert_eq!(
            matches!(completed, Err(OutputError::Exists(_))),
            existing == Existing::Keep,
            "{completed:?}"
        );
        assert_eq!(texts(scratch.path()), expected(&[("out", text)]));
    }
}

#[test]
fn an_output_that_is_dropped_leaves_the_old_file() {
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("out");
    fs::write(&path, "old").unwrap();
    let target = Target::file(&path, Existing::Replace, &Inputs::default()).unwrap();
    let output = target.begin().unwrap();
    output.writer().write_all(b"half").unwrap();
    assert_eq!(fs::read_dir(scratch.path()).unwrap().count(), 2);
    drop(output);
    assert_eq!(texts(scratch.path()), expected(&[("out", "old")]));
}

#[cfg(unix)]
#[test]
fn what_becomes_no_regular_file_meanwhile_is_not_replaced() {
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("out");
    let target = Target::file(&path, Existing::Replace, &Inputs::default()).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(&path).unwrap();
    let error = target.write(b"mine").unwrap_err();
    assert!(matches!(error, OutputError::NotRegular { .. }), "{error}");
    assert_eq!(fs::read_dir(scratch.path()).unwrap().count(), 1);
}

fn entries() -> Vec<Entry> {
    let file = |name: &str| Entry::File(name.to_owned());
    vec![Entry::Folder("traces".to_owned(), &[".evt"]), file("traces.def"), file("traces.otf2")]
}

fn folder(path: &Path, others: Others, existing: Existing) -> Result<Folder, OutputError> {
    Folder::new(path, entries(), others, existing, &Inputs::default())
}

/// Writes an archive whose files all hold `text`.
fn written(path: &Path, existing: Existing, text: &str) -> Result<(), OutputError> {
    let output = folder(path, Others::Stay, existing)?.begin()?;
    fs::create_dir(output.path().join("traces")).expect("a folder of the test");
    for name in [format!("traces/{text}.evt"), "traces.def".to_owned(), "traces.otf2".to_owned()] {
        fs::write(output.path().join(name), text).expect("a folder of the test");
    }
    output.complete()
}

fn archive(text: &str) -> BTreeMap<String, String> {
    expected(&[(&format!("traces/{text}.evt"), text), ("traces.def", text), ("traces.otf2", text)])
}

#[test]
fn a_folder_is_exchanged_as_a_whole() {
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("deep/er");
    written(&path, Existing::Keep, "first").unwrap();
    assert_eq!(texts(&path), archive("first"));
    assert!(matches!(written(&path, Existing::Keep, "second"), Err(OutputError::Exists(_))));
    assert_eq!(texts(&path), archive("first"));
    fs::write(path.join("notes"), "mine").unwrap();
    written(&path, Existing::Replace, "third").unwrap();
    let mut third = archive("third");
    third.insert("notes".to_owned(), "mine".to_owned());
    assert_eq!(texts(&path), third, "nothing of the first is left, and the notes are");
    assert_eq!(fs::read_dir(scratch.path().join("deep")).unwrap().count(), 1);
}

#[test]
fn an_entry_that_is_not_made_anew_goes() {
    let scratch = tempfile::tempdir().unwrap();
    written(scratch.path(), Existing::Keep, "first").unwrap();
    let output = folder(scratch.path(), Others::Stay, Existing::Replace).unwrap().begin().unwrap();
    fs::write(output.path().join("traces.otf2"), "alone").unwrap();
    output.complete().unwrap();
    assert_eq!(texts(scratch.path()), expected(&[("traces.otf2", "alone")]));
}

#[test]
fn a_folder_that_is_dropped_leaves_nothing_not_even_its_parents() {
    let scratch = tempfile::tempdir().unwrap();
    let output =
        folder(&scratch.path().join("a/b/c"), Others::AreInTheWay, Existing::Keep).unwrap().begin().unwrap();
    fs::write(output.path().join("traces.def"), "half").unwrap();
    assert_eq!(texts(scratch.path()).len(), 1);
    drop(output);
    assert_eq!(fs::read_dir(scratch.path()).unwrap().count(), 0);
}

#[test]
fn what_is_in_the_way_of_a_folder_is_said_at_once() {
    let scratch = tempfile::tempdir().unwrap();
    let at = |name: &str| scratch.path().join(name);
    fs::write(at("file"), "").unwrap();
    fs::create_dir_all(at("full/traces")).unwrap();
    fs::write(at("full/traces/notes"), "").unwrap();
    fs::create_dir_all(at("odd/traces.def")).unwrap();
    // What killed runs leave behind does not block the next one.
    fs::create_dir_all(at("left/.left.abc.part")).unwrap();
    let tried = |name: &str, others, existing| folder(&at(name), others, existing).err();
    let (keep, replace) = (Existing::Keep, Existing::Replace);
    assert!(matches!(tried("file", Others::Stay, keep), Some(OutputError::Exists(_))));
    assert!(matches!(tried("file", Others::Stay, replace), Some(OutputError::NotRegular { .. })));
    assert!(matches!(tried("file/below", Others::Stay, replace), Some(OutputError::Io { .. })));
    assert!(matches!(tried("full", Others::AreInTheWay, keep), Some(OutputError::Exists(_))));
    let foreign = tried("full", Others::Stay, replace);
    assert!(matches!(&foreign, Some(OutputError::Foreign { other, .. }) if other == &PathBuf::from("notes")));
    assert!(matches!(tried("odd", Others::Stay, replace), Some(OutputError::NotRegular { .. })));
    assert!(tried("left", Others::AreInTheWay, keep).is_none());
    assert!(tried("new", Others::AreInTheWay, keep).is_none());
}

#[test]
fn no_entry_of_a_folder_is_an_input_or_holds_one() {
    let scratch = tempfile::tempdir().unwrap();
    let at = |name: &str| scratch.path().join(name);
    written(&at("run"), Existing::Keep, "a").unwrap();
    // An archive in the folder that another one would have for its locations.
    written(&at("outer/traces"), Existing::Keep, "b").unwrap();
    let inputs = |run: &str| {
        let mut inputs = Inputs::default();
        inputs.add_file(at(run).join("traces.otf2"));
        inputs.add_folder(at(run).join("traces"));
        inputs
    };
    let tried = |path: &str, run: &str| {
        Folder::new(&at(path), entries(), Others::Stay, Existing::Replace, &inputs(run)).err()
    };
    for (path, run) in
        [("run", "run"), ("run/traces", "run"), ("run/traces/new", "run"), ("outer", "outer/traces")]
    {
        assert!(matches!(tried(path, run), Some(OutputError::Input { .. })), "{path} {run}");
    }
    assert!(tried("outer", "run").is_some_and(|error| !matches!(error, OutputError::Input { .. })));
    assert!(tried("new", "run").is_none());
}

/// Writers in threads of one process: exactly what processes do, with more of them at the same instant.
#[test]
fn of_many_writers_one_wins_as_a_whole() {
    for existing in [Existing::Keep, Existing::Replace] {
        for is_there in [false, true] {
            let scratch = tempfile::tempdir().unwrap();
            let path = scratch.path().join("out");
            if is_there {
                fs::create_dir(&path).unwrap();
            }
            let names: Vec<String> = (0..8).map(|i| format!("writer{i}")).collect();
            let tries = |name| (0..5).map(|_| written(&path, existing, name)).collect::<Vec<_>>();
            let results: Vec<_> = std::thread::scope(|scope| {
                let threads: Vec<_> = names.iter().map(|name| scope.spawn(move || tries(name))).collect();
                threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
            });
            let n_won = results.iter().filter(|result| result.is_ok()).count();
            assert_eq!(n_won, if existing == Existing::Keep { 1 } else { 40 }, "{results:?}");
            let found = texts(&path);
            assert!(names.iter().any(|name| found == archive(name)), "{existing:?} {is_there}: {found:?}");
            assert_eq!(fs::read_dir(scratch.path()).unwrap().count(), 1);
        }
    }
}
