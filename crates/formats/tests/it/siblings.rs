//! Files of a folder that are named like its traces and cannot be read as one.

use ouzel_formats::open;
use ouzel_model::{Level, NoticeCode};
use ouzel_testkit::workspace_root;
use std::path::Path;

const TRACE: &str = r#"[{"ph":"X","pid":1,"tid":1,"ts":1,"dur":5,"name":"work"}]"#;

/// The notices about missing events: level, count, name of the file, message.
fn missing(folder: &Path) -> Vec<(Level, u64, String, String)> {
    let (_, source) = open(folder).unwrap();
    let notices = source.notices().iter().filter(|notice| notice.code == NoticeCode::MissingEvents);
    let name = |file: &str| Path::new(file).file_name().unwrap().to_str().unwrap().to_owned();
    let parts = |notice: &ouzel_model::Notice| {
        (notice.level, notice.count, name(notice.file.as_ref().unwrap()), notice.message.clone())
    };
    notices.map(parts).collect()
}

#[test]
fn empty_files_and_others_of_ranks_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("rank-0.json", TRACE);
    write("rank-10.json", TRACE);
    // Named otherwise, or no file at all.
    write("settings.json", "{}");
    write("rank-0.settings.json", "{}");
    std::fs::create_dir(folder.path().join("rank-4.json")).unwrap();
    assert_eq!(missing(folder.path()), []);

    for rank in [1, 2, 3] {
        write(&format!("rank-{rank}.json"), "");
    }
    write("rank-11.json", "{}");
    let empty = "this file and 2 more are empty, but are named like the traces beside them";
    let other = "this file holds no trace and was left out, but is named like the traces beside it";
    assert_eq!(
        missing(folder.path()),
        [
            (Level::High, 3, "rank-1.json".to_owned(), empty.to_owned()),
            (Level::Medium, 1, "rank-11.json".to_owned(), other.to_owned()),
        ]
    );
    // Who asks for one file does not ask for those beside it.
    assert_eq!(missing(&folder.path().join("rank-0.json")), []);
}

#[test]
fn reports_of_ranks_that_are_not_exported_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let export = workspace_root().join("testdata/nsight-made/small.sqlite");
    for file in ["report1.sqlite", "report2.sqlite"] {
        std::fs::copy(&export, folder.path().join(file)).unwrap();
    }
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    // Exported, and of another run.
    write("report1.nsys-rep", "x");
    write("other1.nsys-rep", "x");
    assert_eq!(missing(folder.path()), []);
    write("report3.nsys-rep", "x");
    write("report4.nsys-rep", "x");
    write("report5.sqlite", "");
    let report = "this file and 1 more are not exported and were left out";
    let empty = "this file is empty, but is named like the traces beside it";
    assert_eq!(
        missing(folder.path()),
        [
            (Level::High, 1, "report5.sqlite".to_owned(), empty.to_owned()),
            (Level::High, 2, "report3.nsys-rep".to_owned(), report.to_owned()),
        ]
    );
}
