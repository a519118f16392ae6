//! Compiles a program as it is and instrumented, and runs it alone and with a watcher in the recorder's place.

use ouzel_instrument::language::{SourceKind, kind_of};
use ouzel_instrument::{Choices, Instrumented, instrument};
use ouzel_testkit::has_programs;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Instruments a text as if it were the file of this name.
pub fn instrumented(name: &str, text: &str) -> Instrumented {
    let SourceKind::Known(language) = kind_of(Path::new(name)) else { panic!("{name}") };
    let path = PathBuf::from(name);
    let choices =
        Choices { path: &path, recorded_path: &path, loops: true, obstacle: &|_, _| None, tag: 0xab };
    instrument(text.as_bytes(), language, &choices).expect("nothing to refuse")
}

fn run(command: &mut Command) -> Output {
    let output = command.output().expect("it was found");
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    output
}

/// Checks that the program behaves the same, and that these are the visits: `enters name file:line`.
pub fn check(compiler: &[&str], name: &str, text: &str, expected: &[&str]) {
    if !has_programs(&[compiler[0], "gcc"]) {
        return;
    }
    let folder = tempfile::tempdir().expect("the folder of temporary files can be written");
    let at = |name: &str| folder.path().join(name);
    let done = instrumented(name, text);
    fs::write(at(name), text).expect("the folder of temporary files can be written");
    fs::create_dir(at("copy")).expect("the folder of temporary files can be written");
    fs::write(at("copy").join(name), &done.text).expect("the folder of temporary files can be written");
    fs::write(at("watcher.c"), include_str!("watcher.c"))
        .expect("the folder of temporary files can be written");
    run(Command::new("gcc").args(["-shared", "-fPIC", "-o", "watcher.so", "watcher.c"]).current_dir(&folder));
    for optimised in ["-O0", "-O2"] {
        let build = |source: &str, program: &str| {
            let mut command = Command::new(compiler[0]);
            command.args(&compiler[1..]).args([optimised, "-o", program, source]).current_dir(&folder);
            let output = run(&mut command);
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!(said, "", "{command:?}");
        };
        build(name, "bare");
        build(&format!("copy/{name}"), "hooked");
        let bare = Command::new(at("bare")).output().expect("the folder of temporary files can be written");
        let alone =
            Command::new(at("hooked")).output().expect("the folder of temporary files can be written");
        let mut watched = Command::new(at("hooked"));
        watched.env("LD_PRELOAD", at("watcher.so")).env("WATCHED", at("watched"));
        let watched = watched.output().expect("the folder of temporary files can be written");
        assert_eq!(bare, alone, "{optimised}");
        assert_eq!(bare, watched, "{optimised}");
        let said = fs::read_to_string(at("watched")).expect("the folder of temporary files can be written");
        let mut lines: Vec<&str> = said.lines().collect();
        let end = lines.pop().unwrap_or_default().to_owned();
        let mut visits: Vec<String> = lines.iter().map(|line| visits(line)).collect();
        let mut expected: Vec<&str> = expected.to_vec();
        visits.sort();
        expected.sort_unstable();
        assert_eq!(visits, expected, "{optimised}: {:?}", done.skipped);
        assert_eq!(end, "wrong 0 open 0", "{optimised}");
    }
}

/// One number where there are as many leaves as enters.
fn visits(line: &str) -> String {
    let mut words = line.splitn(3, ' ');
    let mut next = || words.next().expect("three words");
    let (enters, leaves, name) = (next(), next(), next());
    if enters == leaves { format!("{enters} {name}") } else { line.to_owned() }
}
