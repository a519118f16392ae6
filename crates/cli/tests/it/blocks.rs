//! Every block of shell commands in the documentation runs, and ends well.
//!
//! Each runs in a folder of its own, in which the names that pages use stand for small things of their kind: `TRACE` and
//! `run` are traces, `app` is a program with MPI, `src` and `solver.c` are sources, `srun` starts a program as `mpirun`
//! does.

use crate::pages::{blocks, pages, path};
use crate::run::Scratch;
use ouzel_testkit::{has_programs, workspace_root};
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::Command;

/// Blocks that run elsewhere: the page, how the block begins (empty: all of the page), and where.
const ELSEWHERE: [(&str, &str, &str); 9] = [
    ("docs/first-hour.md", "", "first_hour.rs, which also compares the answers"),
    ("docs/cluster.md", "pip install './python[cluster]'", "cargo xtask test, step \"python package\""),
    ("docs/cluster.md", "python -m ouzel.cluster", "python/tests/test_cluster.py"),
    ("docs/cluster.md", "srun --ntasks=33", "python/tests/test_slurm.py"),
    ("CONTRIBUTING.md", "cargo build --release", "cargo xtask test, which is its second line"),
    ("README.md", "cargo run --release", "cargo xtask test, step \"README commands\", and its second line"),
    ("python/README.md", "pip install ./python", "cargo xtask test, step \"python package\""),
    ("tests/python/README.md", "cargo xtask setup", "cargo xtask test, step \"python tests\""),
    ("zoo/README.md", "mpirun --oversubscribe", "cargo xtask zoo, which needs the library of OTF2"),
];

/// Programs that not every machine has.
const PROGRAMS: [&str; 6] = ["cmake", "gcc", "jq", "make", "mpif90", "mpirun"];

const SOLVER: &str = "\
#include <mpi.h>
#include <stdio.h>
double solve(int n) {
    double sum = 0;
    for (int i = 1; i < n; i++) sum += 1.0 / i;
    return sum;
}
int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    double all, part = solve(2000000);
    MPI_Allreduce(&part, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    printf(\"%g\\n\", all);
    MPI_Finalize();
    return 0;
}
";

const FILES: [(&str, &str); 8] = [
    ("solver.c", SOLVER),
    (
        "grid.f90",
        "subroutine grid(n)\n  integer :: n, i\n  do i = 1, 10\n    n = n + i\n  end do\nend subroutine\n",
    ),
    (
        "src/solve.c",
        "#include \"solve.h\"\nint solve(int n) {\n    int sum = 0;\n    for (int i = 0; i < n; i++) sum ^= i;\n    return sum;\n}\n",
    ),
    ("src/main.c", "#include \"solve.h\"\nint main(void) { return solve(1000) == 1; }\n"),
    ("src/solve.h", "int solve(int n);\n"),
    (
        "Makefile",
        ".PHONY: app grid.o\nall: app grid.o\napp:\n\t$(CC) -O1 -g solver.c -o app\ngrid.o:\n\t$(FC) -c grid.f90\n",
    ),
    (
        "CMakeLists.txt",
        "cmake_minimum_required(VERSION 3.18)\nproject(app C Fortran)\nadd_executable(plain src/main.c src/solve.c)\nadd_library(grid grid.f90)\n",
    ),
    ("input", ""),
];

/// The folder that blocks are written for; a trace of 8 ranks is called `TRACE` and `run`.
fn fill(folder: &Path) {
    fs::create_dir_all(folder.join("src")).expect("can be made");
    fs::create_dir_all(folder.join("bin")).expect("can be made");
    for (name, contents) in FILES {
        fs::write(folder.join(name), contents).expect("can be written");
    }
    let testdata = workspace_root().join("testdata");
    symlink(&testdata, folder.join("testdata")).expect("can be linked");
    symlink(testdata.join("pmpi-jacobi"), folder.join("TRACE")).expect("can be linked");
    symlink(testdata.join("pmpi-masterio"), folder.join("run")).expect("can be linked");
    let rules = blocks("docs/rules.md").into_iter().find(|block| block.language == "toml");
    fs::write(folder.join("rules.toml"), rules.expect("an example of rules").text()).expect("can be written");
    let srun = folder.join("bin/srun");
    fs::write(&srun, "#!/bin/sh\nexec mpirun -n 2 \"$@\"\n").expect("can be written");
    fs::set_permissions(&srun, fs::Permissions::from_mode(0o755)).expect("is ours");
}

/// Compiles what stands for the program of a reader.
fn compile(folder: &Path) {
    for words in [
        &["-O1", "-g", "solver.c", "-o", "app"][..],
        &["-O1", "-g", "-fPIC", "-shared", "solver.c", "-o", "libsolver.so"],
    ] {
        let status = Command::new("mpicc").args(words).current_dir(folder).status();
        assert!(status.expect("the compiler is there").success());
    }
}

/// Runs a block; the error has what it said.
fn run(folder: &Path, block: &str) -> Result<(), String> {
    let own = Path::new(env!("CARGO_BIN_EXE_ouzel")).parent().expect("a program is in a folder").to_owned();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = [folder.join("bin"), own].into_iter().chain(std::env::split_paths(&path));
    let mut shell = Command::new("timeout");
    shell.args(["120", "bash", "-e", "-o", "pipefail", "-c", block]).current_dir(folder);
    shell.env("PATH", std::env::join_paths(path).expect("folders without colons"));
    for name in
        ["OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "OMPI_MCA_rmaps_base_oversubscribe"]
    {
        shell.env(name, "1");
    }
    shell.env("OMPI_MCA_mpi_yield_when_idle", "1").env("OMPI_MCA_btl_vader_single_copy_mechanism", "none");
    let output = shell.output().expect("a shell is there");
    match output.status.success() && !output.stdout.is_empty() {
        true => Ok(()),
        false => Err(format!("{block}{}: {}", output.status, String::from_utf8_lossy(&output.stderr))),
    }
}

/// Where a block runs, if not here.
fn elsewhere(page: &str, text: &str) -> Option<usize> {
    ELSEWHERE.iter().position(|(of, begins, _)| *of == page && text.starts_with(begins))
}

#[test]
fn every_block_of_shell_commands_runs() {
    let (mut n_run, mut used, mut faults) = (0, [false; ELSEWHERE.len()], Vec::new());
    for page in pages() {
        for (nth, block) in blocks(&page).iter().enumerate() {
            assert!(
                !["bash", "shell", "console"].contains(&&*block.language),
                "{page}: the language is called sh"
            );
            let text = block.text();
            if block.language != "sh" {
                continue;
            }
            if let Some(known) = elsewhere(&page, &text) {
                used[known] = true;
                continue;
            }
            n_run += 1;
            let is_word =
                |name: &&str| text.split(|one: char| !one.is_ascii_alphanumeric()).any(|word| word == *name);
            let mut programs: Vec<&str> = PROGRAMS.into_iter().filter(is_word).collect();
            let needs_program = text.contains("./app") || text.contains("mpicc");
            programs.extend(needs_program.then_some("mpicc"));
            if !has_programs(&programs) {
                continue;
            }
            let scratch = Scratch::new(&format!("block-{}-{nth}", page.replace('/', "-")));
            fill(&scratch.0);
            if needs_program {
                compile(&scratch.0);
            }
            faults.extend(run(&scratch.0, &text).err().map(|fault| format!("{page}: {fault}")));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(10 <= n_run, "only {n_run} blocks ran");
    let stale = ELSEWHERE.iter().zip(used).filter(|(_, used)| !used).map(|(entry, _)| entry);
    assert_eq!(stale.collect::<Vec<_>>(), Vec::<&(&str, &str, &str)>::new(), "blocks that are gone");
}

/// What runs elsewhere does so in files that name the page.
#[test]
fn tests_of_single_pages_name_them() {
    for (page, _, place) in ELSEWHERE {
        let file = place.split([',', ' ']).next().expect("a word");
        let file = match file {
            "first_hour.rs" => "crates/cli/tests/it/first_hour.rs",
            file if file.starts_with("python/") => file,
            _ => continue,
        };
        let name = Path::new(page).file_name().and_then(|name| name.to_str()).expect("pages have names");
        let text = fs::read_to_string(path(file)).expect("the test is there");
        assert!(text.contains(name), "{file} does not name {page}");
    }
}
