//! `ouzel instrument`: the copies, what is refused, and what a recording of them shows. How sources in each language are
//! instrumented is tested in `crates/instrument`.

use crate::run::{Scratch, command, json, ran};
use ouzel_testkit::has_programs;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const SOURCE: &str = "\
#include <setjmp.h>
#include <stdio.h>
#include \"size.h\"
static jmp_buf back;
static void tiny(int i) { if (i == 3) longjmp(back, 1); }
int sum(int n) {
    int all = 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) all += i ^ j;
    return all;
}
int main(void) {
    int all = 0;
    for (int i = 0; i < SIZE; i++) all += sum(10);
    if (!setjmp(back))
        for (int i = 0; i < 5; i++) tiny(i);
    all += sum(10);
    printf(\"%d\\n\", all);
    return 3;
}
";

const FORTRAN: &str = "\
program p
  integer :: i, total = 0
  do i = 1, 4
    call add(i)
  end do
  print '(i0)', total
contains
  subroutine add(n)
    integer, intent(in) :: n
    if (n == 2) return
    total = total + n
  end subroutine
end program
";

fn text(path: &Path) -> &str {
    path.to_str().expect("a path of the tests is text")
}

/// A folder with sources.
fn sources(test: &str, files: &[(&str, &str)]) -> Scratch {
    let scratch = Scratch::new(test);
    for (name, contents) in files {
        let path = scratch.0.join("src").join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("can be made");
        fs::write(path, contents).expect("can be written");
    }
    scratch
}

/// Name, role, line and visits of each region that has a file.
fn profile(run: &Path) -> Vec<(String, u64, u64)> {
    let profile = json(run, &["profile"]);
    let rows = profile["data"]["rows"].as_array().expect("rows").clone();
    let of_source = rows.iter().filter(|row| row["file"].is_string());
    let mut found: Vec<(String, u64, u64)> = of_source
        .map(|row| {
            let name = row["region"].as_str().expect("a name").to_owned();
            (name, row["line"].as_u64().expect("a line"), row["visits"].as_u64().expect("visits"))
        })
        .collect();
    found.sort();
    found
}

fn recorded(scratch: &Scratch, program: &Path, name: &str) -> (PathBuf, String, Option<i32>) {
    let run = scratch.0.join(name);
    let mut record = command();
    record.args(["record", "--quiet", "--sample", "off", "-o"]).arg(&run).arg("--").arg(program);
    let output = record.output().expect("the binary is there");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    (run, String::from_utf8(output.stdout).expect("text"), output.status.code())
}

fn expect(found: &[(String, u64, u64)], expected: &[(&str, u64, u64)]) {
    let expected: Vec<(String, u64, u64)> =
        expected.iter().map(|&(name, line, visits)| (name.to_owned(), line, visits)).collect();
    assert_eq!(found, expected);
}

#[test]
fn a_recording_has_functions_and_loops_with_their_lines() {
    if !has_programs(&["gcc"]) {
        return;
    }
    let scratch = sources("instrument-c", &[("a.c", SOURCE), ("size.h", "#define SIZE 7\n")]);
    let (source, out) = (scratch.0.join("src/a.c"), scratch.0.join("inst"));
    let done = ran(&["instrument", text(&source), "--out", text(&out)]);
    assert_eq!((done.code, done.err.as_str()), (Some(0), ""));
    assert_eq!(done.out, format!("{}: 3 functions, 3 loops\n", source.display()));
    let build = |from: &Path, to: &str| {
        let program = scratch.0.join(to);
        let mut gcc = Command::new("gcc");
        gcc.args(["-O1", "-Wall", "-Werror", "-iquote"]).arg(scratch.0.join("src")).arg(from);
        assert!(gcc.arg("-o").arg(&program).status().expect("gcc is there").success());
        program
    };
    let bare = Command::new(build(&source, "bare")).output().expect("it was built");
    let program = build(&out.join("a.c"), "program");
    let alone = Command::new(&program).output().expect("it was built");
    assert_eq!(alone, bare);
    let (run, output, code) = recorded(&scratch, &program, "run");
    assert_eq!((output.as_bytes(), code), (&*bare.stdout, Some(3)));
    let all = [
        ("loop at a.c:14", 14, 1),
        ("loop at a.c:16", 16, 1),
        ("loop at a.c:8", 8, 8),
        ("main", 12, 1),
        ("sum", 6, 8),
        // The last of them is left by a jump.
        ("tiny", 5, 4),
    ];
    expect(&profile(&run), &all);
    let regions = ran(&["print", text(&run), "--definitions"]).out;
    assert_eq!(regions.matches("LOOP").count(), 3, "{regions}");
}

/// One call of each function in microseconds, `tiny` twenty times a tenth of one; traces of this format have no source files.
fn run_of_known_length(path: &Path) {
    let event = |name: &str, start: u32, length: f64| {
        format!(r#"{{"name":"{name}","ph":"X","ts":{start},"dur":{length},"pid":1,"tid":1}}"#)
    };
    let tiny = (0..20).map(|i| event("tiny", 10 + 2 * i, 0.1));
    let events: Vec<String> =
        [event("main", 0, 100.0), event("sum", 50, 40.0)].into_iter().chain(tiny).collect();
    fs::write(path, format!(r#"{{"traceEvents":[{}]}}"#, events.join(","))).expect("can be written");
}

#[test]
fn filters_and_runs_say_what_is_left_out() {
    let scratch = sources("instrument-filter", &[("a.c", SOURCE), ("rules", "exclude function t*\n")]);
    let at = |name: &str| scratch.0.join("src").join(name).display().to_string();
    let (source, out, run) = (at("a.c"), at("inst"), at("run.json"));
    run_of_known_length(Path::new(&run));
    let words = ["instrument", &source, "--force", "--out", &out];
    let done = ran(&[&words[..], &["--filter", &at("rules"), "--no-loops"]].concat());
    assert_eq!(done.out, format!("{source}: 2 functions, 0 loops, 1 left out\n"), "{}", done.err);
    let done = ran(&[&words[..], &["--from", &run, "--verbose"]].concat());
    assert_eq!(done.code, Some(0), "{}", done.err);
    let said = format!(
        "ouzel: {run}: 1 function or loop is called too often and left out; recording a visit takes "
    );
    let cost = done.err.strip_prefix(&said).and_then(|rest| rest.strip_suffix(" ns here, as measured now\n"));
    let cost: u64 = cost.and_then(|cost| cost.parse().ok()).unwrap_or_else(|| panic!("{:?}", done.err));
    assert!(0 < cost, "a visit takes time");
    let left_out: Vec<&str> = done.out.lines().filter(|line| line.contains(" left out: ")).collect();
    assert_eq!(left_out, ["  5: tiny left out: called too often in the recorded run"], "{}", done.out);
}

#[test]
fn a_recording_of_fortran_has_functions_and_loops() {
    if !has_programs(&["gfortran"]) {
        return;
    }
    let scratch = sources("instrument-fortran", &[("p.f90", FORTRAN)]);
    let out = scratch.0.join("inst");
    let done = ran(&["instrument", text(&scratch.0.join("src/p.f90")), "--out", text(&out)]);
    assert_eq!((done.code, done.err.as_str()), (Some(0), ""));
    let program = scratch.0.join("program");
    let mut gfortran = Command::new("gfortran");
    gfortran.current_dir(&scratch.0).arg(out.join("p.f90")).arg("-o").arg(&program);
    assert!(gfortran.status().expect("gfortran is there").success());
    let (run, output, code) = recorded(&scratch, &program, "run");
    assert_eq!((output.as_str(), code), ("8\n", Some(0)));
    expect(&profile(&run), &[("add", 8, 4), ("loop at p.f90:3", 3, 1), ("p", 1, 1)]);
}

#[test]
fn what_cannot_be_parsed_for_certain_is_copied_as_it_is() {
    let broken = "int f(void) {\n  return (;\n}\n";
    let fixed = "      program p\n      end\n";
    let files = [("broken.c", broken), ("fixed.f", fixed), ("sub/fine.c", "int g(void) { return 1; }\n")];
    let scratch = sources("instrument-refused", &files);
    let at = |name: &str| scratch.0.join(name).display().to_string();
    let paths = [at("src/broken.c"), at("src/fixed.f"), at("src/sub/fine.c")];
    let [broken_path, fixed_path, fine_path] = paths.each_ref().map(String::as_str);
    let out = at("inst");
    let done = ran(&["instrument", broken_path, fixed_path, fine_path, "--out", &out]);
    assert_eq!(done.code, Some(2));
    let advice = "copied as it is; compile it with -finstrument-functions";
    assert_eq!(
        done.err,
        format!(
            "ouzel: {broken_path}:2: cannot be parsed for certain: {advice}\n\
             ouzel: {fixed_path}: fixed form: {advice}\n"
        )
    );
    assert_eq!(done.out, format!("{fine_path}: 1 function, 0 loops\n"));
    let copy = |name: &str| fs::read_to_string(scratch.0.join("inst").join(name)).expect("a copy");
    assert_eq!((copy("broken.c").as_str(), copy("fixed.f").as_str()), (broken, fixed));
    assert!(copy("sub/fine.c").contains("ouzel_in("));
}

#[test]
fn misuse_writes_nothing() {
    let scratch =
        sources("instrument-misuse", &[("a.c", "int a;\n"), ("a.txt", "text\n"), ("rules", "leave a\n")]);
    let at = |name: &str| scratch.0.join("src").join(name).display().to_string();
    let (source, out) = (at("a.c"), at("inst"));
    for (words, needle) in [
        (vec![&*source, "--out", &at("")], "would replace part of the input"),
        (vec![&*at("none.c"), "--out", &out], "none.c"),
        (vec![&*at("a.txt"), "--out", &out], "no source in C, C++ or Fortran"),
        (vec![&*source, &*source, "--out", &out], "given twice"),
        (vec![&*source, "--out", &out, "--filter", &at("rules")], "line 1: \"leave a\" is no rule"),
        (vec![&*source, "--out", &out, "--from", &at("none")], "none"),
    ] {
        let done = ran(&[&["instrument"][..], &words].concat());
        assert_eq!((done.code, done.out.as_str()), (Some(1), ""), "{words:?}: {}", done.err);
        assert!(done.err.contains(needle), "{words:?}: {}", done.err);
        assert!(!Path::new(&out).join("a.c").exists());
    }
    assert_eq!(fs::read_to_string(&source).expect("it is there"), "int a;\n");
}
