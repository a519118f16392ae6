//! Inputs that are no regular files, never end, or are larger than their contents: an error in bounded time and memory.

use crate::run::{Ran, Scratch, bounded, testdata};
use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Commands that read their input in different ways.
const COMMANDS: [&[&str]; 7] = [
    &["info"],
    &["profile"],
    &["report"],
    &["print"],
    &["causes"],
    &["correlate", "--metric", "time", "--path", "main"],
    &["compare", "other"],
];

const SPARSE_BYTES: u64 = 64 << 30;

fn ran_on(path: &Path, words: &[&str]) -> Ran {
    let path = path.to_str().expect("paths of tests are UTF-8");
    let (command, rest) = words.split_first().expect("a command");
    let words: Vec<&str> = [*command, path]
        .into_iter()
        .chain(rest.iter().map(|&word| if word == "other" { path } else { word }))
        .collect();
    bounded(&words)
}

fn is_one_line(ran: &Ran, what: &str) {
    assert_eq!(ran.code, Some(1), "{what}: {}", ran.err);
    assert_eq!((ran.out.as_str(), ran.err.lines().count()), ("", 1), "{what}: {}", ran.err);
    assert!(ran.err.starts_with("ouzel: error: "), "{what}: {}", ran.err);
}

fn fifo(path: &Path) {
    let made = Command::new("mkfifo").arg(path).status().expect("mkfifo is there");
    assert!(made.success(), "{path:?}");
}

#[test]
fn only_regular_files_and_directories_are_read() {
    let scratch = Scratch::new("special");
    let path = |name: &str| scratch.0.join(name);
    fifo(&path("fifo"));
    fifo(&path("fifo.json"));
    let _socket = UnixListener::bind(path("socket")).unwrap();
    symlink(path("loop"), path("loop")).unwrap();
    symlink("/dev/zero", path("zero.cubex")).unwrap();
    fs::write(path("empty"), "").unwrap();
    fs::create_dir(path("nothing")).unwrap();
    for (name, what) in [
        (path("fifo"), "a FIFO"),
        (path("fifo.json"), "a FIFO"),
        (path("socket"), "a socket"),
        ("/dev/zero".into(), "a device"),
        ("/dev/null".into(), "a device"),
        (path("zero.cubex"), "a device"),
        (path("loop"), ""),
        (path("empty"), "an empty file"),
        (path("nothing"), "an empty directory"),
    ] {
        // Some containers replace a device by a regular file.
        if what == "a device" && name.is_file() {
            continue;
        }
        for words in COMMANDS {
            let ran = ran_on(&name, words);
            is_one_line(&ran, &format!("{words:?} {name:?}"));
            assert!(ran.err.contains(what), "{words:?} {name:?}: {}", ran.err);
        }
    }
}

/// A file that a format looks for in a directory, and files of archives.
#[test]
fn members_of_directories_are_regular_files() {
    let scratch = Scratch::new("special-members");
    for name in [
        "traces.otf2",
        "experiment.xml",
        "meta.db",
        "profile.cubex",
        "a.json",
        "a.sts",
        "a.0.log",
        "a.sqlite",
        "a.hpcrun",
    ] {
        let folder = scratch.0.join(format!("in-{name}"));
        fs::create_dir(&folder).unwrap();
        fifo(&folder.join(name));
        for words in [&["info"][..], &["causes"]] {
            is_one_line(&ran_on(&folder, words), name);
        }
    }
    for (file, is_answered) in
        [("traces.otf2", true), ("traces.def", true), ("traces/1.evt", true), ("traces/1.def", true)]
    {
        let archive = scratch.copied("pmpi-jacobi");
        fs::remove_file(archive.join(file)).unwrap();
        fifo(&archive.join(file));
        let ran = ran_on(&archive, &["profile"]);
        assert_eq!(ran.code, Some(if is_answered { 2 } else { 1 }), "{file}: {}", ran.err);
        assert!(ran.err.contains("FIFO"), "{file}: {}", ran.err);
        fs::remove_dir_all(archive).unwrap();
    }
}

#[test]
fn files_of_options_are_regular_and_have_a_limit() {
    let scratch = Scratch::new("special-options");
    let fifo_path = scratch.0.join("fifo");
    fifo(&fifo_path);
    let large = scratch.0.join("large.toml");
    File::create(&large).unwrap().set_len(SPARSE_BYTES).unwrap();
    let archive = testdata("pmpi-jacobi");
    for (file, what) in [
        (fifo_path.as_path(), "a FIFO"),
        (Path::new("/dev/zero"), "a device"),
        (scratch.0.as_path(), "a directory"),
        (large.as_path(), "68719476736 bytes, and at most 1048576"),
    ] {
        let ran = ran_on(&archive, &["imbalance", "--rules", file.to_str().unwrap()]);
        is_one_line(&ran, &format!("{file:?}"));
        assert!(ran.err.contains(what) && ran.err.contains(file.to_str().unwrap()), "{}", ran.err);
    }
}

/// The beginning of every format, followed by a hole of 64 GiB.
#[test]
fn files_of_holes_end_soon() {
    let scratch = Scratch::new("sparse");
    let anchor = fs::read(testdata("pmpi-jacobi/traces.otf2")).unwrap();
    let export = fs::read(testdata("nsight-made/small.sqlite")).unwrap();
    let mut tar = vec![0_u8; 512];
    tar[..10].copy_from_slice(b"anchor.xml");
    // 60 GiB in base 256.
    tar[124] = 0x80;
    tar[128..136].copy_from_slice(&(60_u64 << 30).to_be_bytes());
    tar[156] = b'0';
    tar[257..265].copy_from_slice(b"ustar\x0000");
    let beginnings: [(&str, &[u8]); 12] = [
        ("a.cube", b"<?xml version=\"1.0\"?>\n<cube version=\"4.4\">"),
        ("in-tag.cube", b"<?xml version=\"1.0\"?>\n<cube version=\"4.4"),
        ("experiment.xml", b"<?xml version=\"1.0\"?>\n<HPCToolkitExperiment version=\"2.2\">"),
        ("object.json", b"{\"traceEvents\": ["),
        ("array.json", b"[{\"ph\": \"X\", \"ts\": 1, \"dur\": 1, \"pid\": 1, \"tid\": 1, \"name\": \"a\"},"),
        ("member.json", b"{\"schemaVersion\": 1, \"deviceProperties\": \""),
        ("a.sqlite", &export),
        ("a.otf2", &anchor),
        ("a.cubex", &tar),
        ("a.csv", b"Timestamp (ns),Event Type,Name\n1,Enter,a\n2,"),
        ("a.sts", b"TOTAL_CHARES 1\nTOTAL_EPS 1\nTOTAL_MSGS 1\n"),
        ("a.0.log", b"PROJECTIONS-RECORD 1\n"),
    ];
    for (name, begin) in beginnings {
        let folder = scratch.0.join(format!("in-{name}"));
        fs::create_dir(&folder).unwrap();
        let path: PathBuf = folder.join(name);
        fs::write(&path, begin).unwrap();
        if File::options().write(true).open(&path).unwrap().set_len(SPARSE_BYTES).is_err() {
            println!("this file system has no files of {SPARSE_BYTES} bytes");
            return;
        }
        for words in [&["info"][..], &["profile"]] {
            let ran = ran_on(&path, words);
            // An export is complete despite what follows its pages; other formats give what came before, or nothing.
            assert!(matches!(ran.code, Some(0..=2)), "{name} {words:?}: {}", ran.err);
            // A page of `info` reports losses itself.
            assert!(!ran.err.is_empty() || !ran.out.is_empty(), "{name} {words:?}");
            assert!(!ran.err.contains("internal error"), "{name} {words:?}: {}", ran.err);
        }
    }
    // Files of an archive that are read as a whole.
    let archive = scratch.copied("pmpi-jacobi");
    for file in ["traces.def", "traces/1.def", "traces/2.evt"] {
        File::options().write(true).open(archive.join(file)).unwrap().set_len(SPARSE_BYTES).unwrap();
    }
    let ran = ran_on(&archive, &["profile"]);
    assert_eq!(ran.code, Some(2), "{}", ran.err);
    assert!(ran.err.contains("it has 68719476736 bytes, and at most 2147483648 are read"), "{}", ran.err);
}
