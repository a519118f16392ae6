//! Programs that read and write: what is recorded is what they have counted themselves, and they notice nothing.

use crate::sampled::Workshop;
use crate::shop::{LIBRARIES, N_RANKS, Shop, check_with_reference_tool};
use ouzel_otf2::Archive;
use ouzel_otf2::records::{Definition, Event};
use ouzel_recording::launch::Choices;
use ouzel_testkit::{has_programs, workspace_root};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Calls and bytes of each function, and bytes written and read of each file.
#[derive(Debug, Default, PartialEq, Eq)]
struct RecordedFiles {
    calls: BTreeMap<String, (u64, u64)>,
    files: BTreeMap<String, u64>,
}

impl RecordedFiles {
    fn read(folder: &Path) -> Self {
        let archive = Archive::open(folder).expect("an archive");
        let (definitions, notices) = archive.read_global_definitions();
        assert!(notices.is_empty(), "{notices:?}");
        let (mut texts, mut regions) = (BTreeMap::new(), BTreeMap::new());
        let (mut files, mut handles) = (BTreeMap::new(), BTreeMap::new());
        for definition in definitions.records() {
            match definition {
                Definition::String(it) => {
                    texts.insert(it.id, String::from_utf8_lossy(it.string.bytes()).into_owned());
                }
                Definition::Region(it) => {
                    // Reads from pipes and sockets are counted with those from files.
                    let name = texts[&it.name].split(" [").next().unwrap_or_default().to_owned();
                    regions.insert(it.id, name);
                }
                Definition::IoRegularFile(it) => drop(files.insert(it.id, texts[&it.name].clone())),
                Definition::IoHandle(it) => drop(handles.insert(it.id, files[&it.file].clone())),
                _ => {}
            }
        }
        let mut recorded = RecordedFiles::default();
        for &location in archive.locations_on_disk() {
            let (local, notices) = archive.read_local_definitions(location);
            assert!(notices.is_empty(), "{notices:?}");
            let mut events = archive.events(location).expect("an event file");
            let (mut open, mut begun) = (Vec::new(), BTreeMap::new());
            while let Some(record) = events.next_record().expect("events are valid") {
                let Some(mut event) = record.event else { panic!("an unknown event") };
                event.map_refs(&local.mapping);
                match event {
                    Event::Enter(it) => {
                        open.push(regions[&it.region].clone());
                        recorded.calls.entry(regions[&it.region].clone()).or_default().0 += 1;
                    }
                    Event::Leave(it) => assert_eq!(open.pop().as_ref(), Some(&regions[&it.region])),
                    Event::IoOperationBegin(it) => drop(begun.insert(it.matching_id, it.handle)),
                    Event::IoOperationComplete(it) => {
                        assert_eq!(begun.remove(&it.matching_id), Some(it.handle));
                        let function = open.last().expect("it is inside of its call").clone();
                        recorded.calls.entry(function).or_default().1 += it.bytes_result;
                        *recorded.files.entry(handles[&it.handle].clone()).or_default() += it.bytes_result;
                    }
                    Event::IoOperationCancelled(it) => {
                        assert_eq!(begun.remove(&it.matching_id), Some(it.handle));
                    }
                    Event::IoCreateHandle(it) => assert!(handles.contains_key(&it.handle)),
                    Event::IoDestroyHandle(it) => assert!(handles.contains_key(&it.handle)),
                    _ => {}
                }
            }
            assert_eq!(begun, BTreeMap::new(), "each operation ends");
        }
        recorded
    }

    /// The bytes of a file, by the last part of its name.
    fn bytes_of(&self, name: &str) -> Option<u64> {
        let of_name =
            |(file, &bytes): (&String, &u64)| (file.rsplit('/').next() == Some(name)).then_some(bytes);
        self.files.iter().find_map(of_name)
    }
}

/// What a program has said of itself: name, calls, bytes.
fn said(output: &[u8]) -> BTreeMap<String, (u64, u64)> {
    let row = |line: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        let number = |i: usize| words[i].parse().expect("a number");
        (words[0].to_owned(), (number(1), number(2)))
    };
    std::str::from_utf8(output).expect("text").lines().map(row).collect()
}

fn with_io(sample_hz: Option<u32>) -> Choices {
    Choices { with_io: true, sample_hz, ..Choices::default() }
}

/// As programs are compiled, and as distributions compile them, which calls checked functions.
const WAYS: [&[&str]; 2] = [&["-O0"], &["-O2", "-D_FORTIFY_SOURCE=2"]];

#[test]
fn calls_and_bytes_are_those_that_programs_count() {
    let Some(shop) = Workshop::open() else { return };
    for (way, words) in WAYS.into_iter().enumerate() {
        let program = shop.compile("files.c", &format!("files-{way}"), words);
        for what in ["all", "fork", "threads"] {
            for hz in [None, Some(1000)] {
                let run = format!("{what}-{way}-{}", hz.unwrap_or(0));
                let folder = shop.path(&format!("folder-{run}"));
                fs::create_dir(&folder).expect("a folder for the program");
                let folder = folder.to_str().expect("text");
                let output = shop.run_with(&program, &run, &[what, folder], &with_io(hz));
                assert!(output.status.success(), "{run}: {output:?}");
                let finished = shop.finish(&run);
                assert!(finished.archives[0].notices.iter().all(|it| !it.is_loss), "{finished:?}");
                let recorded = RecordedFiles::read(&shop.path(&run));
                let mut calls = recorded.calls.clone();
                // The program itself, as a region, and its child.
                calls.remove(&format!("files-{way}"));
                // Where samples are, so is waiting for the child and for threads.
                calls.retain(|name, _| !["waitpid", "pthread_join"].contains(&name.as_str()));
                assert_eq!(calls, said(&output.stdout), "{run}");
                match what {
                    "all" => {
                        let bytes = ["descriptor", "descriptor64", "stream", "socket"]
                            .map(|it| recorded.bytes_of(it));
                        let of_descriptor = 1000 + 500 + 42 + 400 + 50 + 42 + 7;
                        assert_eq!(
                            bytes,
                            [Some(of_descriptor), Some(6), Some(500 + 7 + 12 + 600 + 19), Some(22)]
                        );
                    }
                    "fork" => assert_eq!(recorded.bytes_of("forked"), Some(60)),
                    _ => assert_eq!(["0", "3"].map(|it| recorded.bytes_of(it)), [Some(10_000); 2]),
                }
            }
        }
    }
}

#[test]
fn programs_print_what_they_would() {
    let Some(shop) = Workshop::open() else { return };
    for (way, words) in WAYS.into_iter().enumerate() {
        let program = shop.compile("files.c", &format!("files-{way}"), words);
        let alone = Command::new(&program).arg("print").output().expect("it can be run");
        let run = format!("print-{way}");
        let output = shop.run_with(&program, &run, &["print"], &with_io(Some(1000)));
        assert_eq!(output, alone, "{run}");
        shop.finish(&run);
        let recorded = RecordedFiles::read(&shop.path(&run));
        let bytes: u64 = recorded.calls.values().map(|(_, bytes)| bytes).sum();
        assert_eq!(bytes, (alone.stdout.len() + alone.stderr.len()) as u64, "{:?}", recorded.calls);
    }
}

#[test]
fn cancelled_threads_and_signal_handlers_go_on() {
    let Some(shop) = Workshop::open() else { return };
    let program = shop.compile("files.c", "files", &["-O1"]);
    let folder = shop.path("folder");
    fs::create_dir(&folder).expect("a folder for the program");
    for what in ["cancel", "handler"] {
        for hz in [None, Some(1000)] {
            let run = format!("{what}-{}", hz.unwrap_or(0));
            let output = shop.run_with(&program, &run, &[what, folder.to_str().expect("text")], &with_io(hz));
            assert!(output.status.success(), "{run}: {output:?}");
            shop.finish(&run);
            RecordedFiles::read(&shop.path(&run));
        }
    }
}

/// Calls and bytes of all four ranks, as `parallel.c` and `parallel.f90` say them.
const PARALLEL_C: [(&str, (u64, u64)); 16] = [
    // One of three fails, for there is no such file.
    ("MPI_File_open", (12, 0)),
    ("MPI_File_write_at", (4, 400)),
    ("MPI_File_sync", (4, 0)),
    ("MPI_File_read_at_all", (4, 1600)),
    // As many as there are before the end of the file.
    ("MPI_File_read_at", (4, 80)),
    ("MPI_File_iwrite_at", (4, 0)),
    ("MPI_Wait", (4, 32)),
    ("MPI_File_iread_at", (4, 0)),
    ("MPI_Waitall", (4, 32)),
    ("MPI_File_write_at_all_begin", (4, 0)),
    ("MPI_File_write_at_all_end", (4, 48)),
    ("MPI_File_write_all", (4, 64)),
    // The file is open for reading alone.
    ("MPI_File_write", (4, 0)),
    ("MPI_File_read", (4, 480)),
    ("MPI_File_close", (8, 0)),
    ("fprintf", (4, 20)),
];
const PARALLEL_FORTRAN: [(&str, (u64, u64)); 5] = [
    ("MPI_File_open", (4, 0)),
    ("MPI_File_write_at", (4, 160)),
    ("MPI_File_iread_at", (4, 0)),
    ("MPI_Wait", (4, 80)),
    ("MPI_File_close", (4, 0)),
];

#[test]
fn files_of_mpi_have_the_bytes_that_ranks_move() {
    let fortran: &[&str] = &["-cpp", "-DMODULE=mpi"];
    let fortran_2008: &[&str] = &["-cpp", "-DMODULE=mpi_f08", "-DF08"];
    let ways: [(&str, &str, &[&str], &[_]); 3] = [
        ("mpicc", "parallel.c", &[], &PARALLEL_C),
        ("mpif90", "parallel.f90", fortran, &PARALLEL_FORTRAN),
        ("mpif90", "parallel.f90", fortran_2008, &PARALLEL_FORTRAN),
    ];
    for (way, (compiler, source, words, expected)) in ways.into_iter().enumerate() {
        for shop in LIBRARIES.into_iter().filter_map(|library| Shop::open(library, compiler)) {
            let what = format!("{} {source} {way}", shop.library);
            let program = shop.compile(compiler, source, "program", words);
            let folder = shop.path("folder");
            fs::create_dir(&folder).expect("a folder for the program");
            let folder = [folder.to_str().expect("text")];
            let output = shop.run_with(&program, "run", &folder, None, &with_io(None));
            assert!(output.status.success(), "{what}: {output:?}");
            let finished = shop.finish("run");
            assert_eq!(
                (finished.archives[0].n_processes, &*finished.archives[0].notices),
                (N_RANKS, &[][..])
            );
            check_with_reference_tool(&shop.path("run"));
            let recorded = RecordedFiles::read(&shop.path("run"));
            let found = |name| (name, recorded.calls.get(name).copied().unwrap_or_default());
            let found: Vec<(&str, (u64, u64))> = expected.iter().map(|&(name, _)| found(name)).collect();
            assert_eq!(found, expected, "{what}");
            // What MPI reads and writes by C's functions is part of its own.
            let n_bytes = expected.iter().filter(|(name, _)| name.starts_with("MPI")).map(|(_, it)| it.1);
            assert_eq!(recorded.bytes_of("parallel"), Some(n_bytes.sum()), "{what}");
        }
    }
}

#[test]
fn without_files_their_functions_of_mpi_are_plain_calls() {
    for shop in LIBRARIES.into_iter().filter_map(|library| Shop::open(library, "mpicc")) {
        let program = shop.compile("mpicc", "parallel.c", "program", &[]);
        let folder = shop.path("folder");
        fs::create_dir(&folder).expect("a folder for the program");
        let output = shop.run(&program, "run", &[folder.to_str().expect("text")], None);
        assert!(output.status.success(), "{}: {output:?}", shop.library);
        shop.finish("run");
        let recorded = RecordedFiles::read(&shop.path("run"));
        assert_eq!(recorded.files, BTreeMap::new(), "{}", shop.library);
        assert_eq!(recorded.calls.get("MPI_File_write_all"), Some(&(4, 0)), "{}", shop.library);
    }
}

/// Programs that none of us wrote do what they would, and their files are in the recording.
#[test]
fn programs_of_others_do_what_they_would() {
    let Some(shop) = Workshop::open() else { return };
    let folder = shop.path("folder");
    fs::create_dir(&folder).expect("a folder");
    fs::write(folder.join("data"), vec![b'x'; 300_000]).expect("a file");
    let data = folder.join("data").to_str().expect("text").to_owned();
    let bash = "for i in 1 2 3; do echo $i; done | cat; x=$(cat \"$0\" | wc -c); echo $x; (exit 4) || exit 5";
    let python = "import subprocess, sys; print(len(open(sys.argv[1]).read())); \
                  subprocess.run(['cat', '/dev/null']); sys.exit(3)";
    let source = workspace_root().join("zoo/record/files.c");
    let source = source.to_str().expect("text");
    let from = format!("if={data}");
    let to = folder.join("compiled");
    let compile = "gcc -O1 -pthread -o \"$0\" \"$1\" && \"$0\" print; wc -c < \"$2\"";
    let cases: [(&str, &[&str], Option<i32>); 7] = [
        ("bash", &["-c", bash, &data], Some(5)),
        ("python3", &["-c", python, &data], Some(3)),
        ("tar", &["-cf", "-", "--mtime=@0", "-P", &data], Some(0)),
        ("cat", &[&data, "/no/such/file"], Some(1)),
        ("dd", &[&from, "bs=1000", "skip=7", "status=none"], Some(0)),
        ("sort", &["--parallel=2", &data, source], Some(0)),
        ("sh", &["-c", compile, to.to_str().expect("text"), source, &data], Some(0)),
    ];
    for (program, words, code) in cases {
        if !has_programs(&[program, "gcc"]) {
            continue;
        }
        let alone = Command::new(program).args(words).output().expect("it can be run");
        let output = shop.run_with(Path::new(program), program, words, &with_io(Some(1000)));
        assert_eq!((output.status.code(), alone.status.code()), (code, code), "{program}: {output:?}");
        assert!(output.stdout == alone.stdout && output.stderr == alone.stderr, "{program}: {output:?}");
        shop.finish(program);
        check_with_reference_tool(&shop.path(program));
        let recorded = RecordedFiles::read(&shop.path(program));
        let n_bytes = if program == "dd" { 293_000 } else { 300_000 };
        assert!(program == "sh" || recorded.bytes_of("data") >= Some(n_bytes), "{program}: {recorded:?}");
    }
}
