//! `ouzel cc` and `ouzel f90`: what they make is what the compiler makes, and a recording of it shows functions and loops.

use crate::run::{Scratch, command, json};
use ouzel_testkit::{has_programs, workspace_root};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const MAIN: &str = "\
#include <stdio.h>
#include \"solve.h\"
int main(int argc, char **argv) {
    double all = 0;
    for (int i = 0; i < STEPS; i++)
        all += solve(i);
    printf(\"%.3f %s %d\\n\", all, argv[argc - 1] ? \"set\" : \"\", __LINE__);
    return 3;
}
";
const SOLVE: &str = "\
#include \"solve.h\"
double solve(int n) {
    double all = 0;
    for (int i = 0; i <= n; i++)
        for (int j = 0; j <= n; j++) all += 1.0 / (1 + i + j);
    return all;
}
";
const HEADER: &str = "#define STEPS 7\ndouble solve(int n);\n";
/// The parser cannot know what the macro does.
const UNCLEAR: &str = "\
#define BEGIN(name) int name(int n) {
BEGIN(twice) return 2 * n; }
int main(void) { return twice(2) - 4; }
";
const MAKEFILE: &str = "\
CFLAGS = -O1 -g -Iinclude
app: main.o solve.o
\t$(CC) $(CFLAGS) -o $@ $^
%.o: src/%.c
\t$(CC) $(CFLAGS) -MD -MP -c -o $@ $<
-include main.d solve.d
";
const CMAKE: &str = "\
cmake_minimum_required(VERSION 3.10)
project(app C)
add_library(solve STATIC src/solve.c)
add_executable(app src/main.c)
target_link_libraries(app solve)
";
const FORTRAN_MODULE: &str = "\
module sums
contains
  subroutine add(total, n)
    integer, intent(inout) :: total
    integer, intent(in) :: n
    include 'step.inc'
    total = total + step * n
  end subroutine
end module
";
const FORTRAN_MAIN: &str = "\
program p
  use sums
  integer :: i, total = 0
  do i = 1, 4
    call add(total, i)
  end do
  print '(i0)', total
end program
";

/// A project: its folder.
struct Project(Scratch);

impl Project {
    fn new(name: &str, files: &[(&str, &str)]) -> Self {
        let scratch = Scratch::new(name);
        for (name, text) in files {
            let path = scratch.0.join(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("can be made");
            fs::write(path, text).expect("can be written");
        }
        Project(scratch)
    }

    fn of_c(name: &str) -> Self {
        let files = [("src/main.c", MAIN), ("src/solve.c", SOLVE), ("src/solve.h", HEADER)];
        Project::new(name, &[&files[..], &[("Makefile", MAKEFILE), ("CMakeLists.txt", CMAKE)]].concat())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.0.join(name)
    }

    /// Runs words in the project; `ouzel` is the binary.
    fn run(&self, line: &str) -> Output {
        let mut words = line.split(' ');
        let program = words.next().expect("a program");
        let mut command = if program == "ouzel" { command() } else { Command::new(program) };
        command.current_dir(&self.0.0).env("LC_ALL", "C").args(words).output().expect("it can be run")
    }

    fn done(&self, line: &str) -> String {
        let output = self.run(line);
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{line}: {text}");
        text
    }

    /// What the program says and its exit code, run bare and recorded; name, role and line of what was recorded.
    fn recorded(&self, program: &str) -> (String, Option<i32>, Vec<(String, u64, u64)>) {
        let bare = Command::new(self.path(program)).current_dir(&self.0.0).output().expect("it can be run");
        let run = self.path(&format!("run-of-{}", program.replace('/', "-")));
        // That of an earlier build.
        let _ = fs::remove_dir_all(&run);
        let mut record = command();
        record
            .args(["record", "--quiet", "--sample", "off", "-o"])
            .arg(&run)
            .arg("--")
            .arg(self.path(program));
        let output = record.current_dir(&self.0.0).output().expect("the binary is there");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "");
        assert_eq!((&output.stdout, output.status.code()), (&bare.stdout, bare.status.code()), "{program}");
        let profile = json(&run, &["profile"]);
        let rows = profile["data"]["rows"].as_array().expect("rows").clone();
        let mut found: Vec<(String, u64, u64)> = rows
            .iter()
            .filter(|row| row["file"].is_string())
            .map(|row| {
                let file = Path::new(row["file"].as_str().unwrap_or_default());
                assert!(
                    file.starts_with(fs::canonicalize(&self.0.0).expect("a folder"))
                        || file.starts_with(&self.0.0),
                    "{row}"
                );
                let name = row["region"].as_str().expect("a name").to_owned();
                (name, row["line"].as_u64().unwrap_or(0), row["visits"].as_u64().expect("visits"))
            })
            .collect();
        found.sort();
        (String::from_utf8(bare.stdout).expect("text"), bare.status.code(), found)
    }

    /// No copy and no module of the hooks is left.
    fn check_clean(&self) {
        for entry in fs::read_dir(&self.0.0).expect("a folder") {
            let name = entry.expect("an entry").file_name().to_string_lossy().into_owned();
            assert!(!name.starts_with("ouzel"), "{name}");
        }
    }
}

fn expected_of_c() -> Vec<(String, u64, u64)> {
    [("loop at main.c:5", 5, 1), ("loop at solve.c:4", 4, 7), ("main", 3, 1), ("solve", 2, 7)]
        .map(|(name, line, visits)| (name.to_owned(), line, visits))
        .to_vec()
}

#[test]
fn a_makefile_builds_what_it_would_build() {
    if !has_programs(&["gcc", "make"]) {
        return;
    }
    let (project, bare) = (Project::of_c("cc-make"), Project::of_c("cc-make-bare"));
    bare.done("make CC=gcc");
    let build = |project: &Project| {
        let mut make = Command::new("make");
        make.current_dir(&project.0.0).arg(format!("CC={} cc -- gcc", env!("CARGO_BIN_EXE_ouzel")));
        make.output().expect("make is there")
    };
    let output = build(&project);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    for name in ["main.d", "solve.d"] {
        // Lines may be broken elsewhere.
        let read = |project: &Project| -> Vec<String> {
            let text = fs::read_to_string(project.path(name)).expect("dependencies");
            text.replace("\\\n", " ").split_whitespace().map(str::to_owned).collect()
        };
        assert_eq!(read(&project), read(&bare), "{name}");
    }
    let (text, code, found) = project.recorded("app");
    assert_eq!((code, found), (Some(3), expected_of_c()));
    assert_eq!(text, String::from_utf8_lossy(&bare.run("./app").stdout));
    project.check_clean();
    // Dependencies are good for the next build.
    fs::write(project.path("src/solve.h"), HEADER.replace('7', "9")).expect("can be written");
    assert!(build(&project).status.success());
    assert!(project.recorded("app").2.contains(&("solve".to_owned(), 2, 9)));
}

#[test]
fn cmake_takes_it_as_a_launcher() {
    if !has_programs(&["gcc", "cmake", "make"]) {
        return;
    }
    let project = Project::of_c("cc-cmake");
    let launcher = format!("-DCMAKE_C_COMPILER_LAUNCHER={};cc;--", env!("CARGO_BIN_EXE_ouzel"));
    project.done(&format!("cmake -S . -B build -DCMAKE_BUILD_TYPE=RelWithDebInfo {launcher}"));
    project.done("cmake --build build");
    assert_eq!(project.recorded("build/app").2, expected_of_c());
}

#[test]
fn several_sources_and_files_of_words_are_compiled_at_once() {
    if !has_programs(&["gcc"]) {
        return;
    }
    let project = Project::of_c("cc-several");
    project.done("ouzel cc -- gcc -O2 -g -Wall -Wextra -Werror src/main.c src/solve.c -o app");
    assert_eq!(project.recorded("app").2, expected_of_c());
    fs::write(project.path("words"), "-O2 'src/main.c'\n -x c src/solve.c -x none").expect("can be written");
    project.done("ouzel cc -- gcc @words -o second");
    assert_eq!(project.recorded("second").2, expected_of_c());
    // Debug information names the sources.
    let structure = json(&project.path("app"), &["structure", "--no-cache"]);
    let rows = structure["data"]["rows"].as_array().expect("rows").clone();
    let of_solve = rows.iter().find(|row| row["kind"] == "function" && row["function"] == "solve");
    let of_solve = of_solve.expect("a function");
    assert!(of_solve["file"].as_str().is_some_and(|file| file.ends_with("src/solve.c")), "{of_solve}");
    assert_eq!(of_solve["line"], 2);
    project.check_clean();
}

#[test]
fn objects_and_answers_pass_through() {
    if !has_programs(&["gcc"]) {
        return;
    }
    let project = Project::of_c("cc-through");
    project.done("ouzel cc -- gcc -c src/solve.c -o solve.o");
    project.done("ouzel cc -- gcc src/main.c solve.o -o app");
    assert_eq!(project.recorded("app").2, expected_of_c());
    for words in ["--version", "-E src/solve.c", "-M src/main.c", "-dumpmachine"] {
        let (own, bare) =
            (project.run(&format!("ouzel cc -- gcc {words}")), project.run(&format!("gcc {words}")));
        assert_eq!((own.stdout, own.stderr, own.status), (bare.stdout, bare.stderr, bare.status), "{words}");
    }
}

#[test]
fn messages_and_exit_codes_are_the_compilers() {
    if !has_programs(&["gcc"]) {
        return;
    }
    let wrong = SOLVE.replace("return all", "return al");
    let project = Project::new("cc-wrong", &[("src/solve.c", &wrong), ("src/solve.h", HEADER)]);
    let (own, bare) = (project.run("ouzel cc -- gcc -c src/solve.c"), project.run("gcc -c src/solve.c"));
    assert_eq!(own.status, bare.status);
    assert!(!own.status.success());
    // Places are the same up to the column, behind what was inserted.
    let first = |output: &Output| {
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        let line = text.lines().find(|line| line.contains("error")).expect("an error").to_owned();
        let (place, message) = line.split_once(": error").expect("a place");
        let (place, _) = place.rsplit_once(':').expect("a column");
        (place.to_owned(), message.to_owned())
    };
    assert_eq!(first(&own), first(&bare));
    let absent = project.run("ouzel cc -- gcc -c src/absent.c");
    assert_eq!(absent.stderr, project.run("gcc -c src/absent.c").stderr);
    let none = project.run("ouzel cc -- no-such-compiler -c src/solve.c");
    assert!(String::from_utf8_lossy(&none.stderr).contains("cannot run \"no-such-compiler\""));
    project.check_clean();
}

#[test]
fn what_is_unclear_is_instrumented_by_the_compiler() {
    if !has_programs(&["gcc"]) {
        return;
    }
    let project = Project::new("cc-unclear", &[("a.c", UNCLEAR), ("b.i", "int main(void) { return 0; }\n")]);
    let said = project.done("ouzel cc -- gcc -g a.c -o a");
    assert_eq!(said, "ouzel: a.c:2: cannot be parsed for certain: compiled with -finstrument-functions\n");
    let names: Vec<String> = project.recorded("a").2.into_iter().map(|(name, ..)| name).collect();
    assert_eq!(names, ["main", "twice"]);
    let said = project.done("ouzel cc -- gcc -g b.i -o b");
    assert_eq!(said, "ouzel: b.i: preprocessed: compiled with -finstrument-functions\n");
}

#[test]
fn fortran_is_built_with_its_modules() {
    if !has_programs(&["gfortran"]) {
        return;
    }
    let files = [
        ("src/sums.f90", FORTRAN_MODULE),
        ("src/p.f90", FORTRAN_MAIN),
        ("src/step.inc", "integer, parameter :: step = 3\n"),
    ];
    let project = Project::new("cc-fortran", &files);
    project.done("ouzel f90 -- gfortran -O2 -g -J . -c src/sums.f90 -o sums.o");
    project.done("ouzel f90 -- gfortran -O2 -g -I . -c src/p.f90 -o p.o");
    project.done("gfortran p.o sums.o -o app");
    let (text, _, found) = project.recorded("app");
    assert_eq!(text, "30\n");
    let expected = [("add", 3, 4), ("loop at p.f90:4", 4, 1), ("p", 1, 1)];
    assert_eq!(found, expected.map(|(name, line, visits)| (name.to_owned(), line, visits)));
    project.check_clean();
}

/// Programs of the zoo: the same output, and the same calls of MPI, with and without.
#[test]
fn programs_of_mpi_behave_as_they_do() {
    if !has_programs(&["mpicc", "mpirun"]) {
        return;
    }
    let project = Project::new("cc-mpi", &[]);
    let programs = workspace_root().join("zoo/programs");
    for source in ["slow_rank.c", "pipeline.c"] {
        // Two sources in different folders, each with headers beside it.
        let sources = format!("{0}/{source} {0}/../record/zoo.c", programs.display());
        project.done(&format!("mpicc -O1 {sources} -o bare -lm"));
        project.done(&format!("ouzel cc -- mpicc -O1 {sources} -o app -lm"));
        let calls = |program: &str| -> Vec<(String, u64)> {
            let run = project.path(&format!("{program}-{source}"));
            let mut record = command();
            record.args(["record", "--quiet", "--sample", "off", "-o"]).arg(&run);
            record
                .args(["--", "mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "2"])
                .arg(project.path(program));
            let output = record.output().expect("the binary is there");
            assert!(output.status.success(), "{source}: {}", String::from_utf8_lossy(&output.stderr));
            let profile = json(&run, &["profile"]);
            let rows = profile["data"]["rows"].as_array().expect("rows").clone();
            let named = rows.iter().filter_map(|row| {
                let name = row["region"].as_str()?.to_owned();
                Some((name, row["visits"].as_u64()?))
            });
            named.collect()
        };
        let (bare, own) = (calls("bare"), calls("app"));
        let of_mpi = |all: &[(String, u64)]| {
            let mut calls: Vec<(String, u64)> =
                all.iter().filter(|(name, _)| name.starts_with("MPI_")).cloned().collect();
            calls.sort();
            calls
        };
        assert_eq!(of_mpi(&own), of_mpi(&bare), "{source}");
        assert!(own.iter().any(|(name, visits)| name == "main" && *visits == 2), "{source}: {own:?}");
    }
}
