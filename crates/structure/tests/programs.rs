//! Programs whose loops are known, compiled here.

use ouzel_structure::{Binary, Explorer, FunctionStructure, Scope, ScopeKind, Structure, StructureError};
use ouzel_testkit::has_programs;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

const SOURCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/sources");

fn source(name: &str) -> PathBuf {
    Path::new(SOURCES).join(name)
}

fn compiler(name: &str) -> &'static str {
    match name.rsplit('.').next() {
        Some("c") => "gcc",
        Some("cpp") => "g++",
        _ => "gfortran",
    }
}

/// Compiles a source; none, with a word, where there is no such compiler.
fn compiled(name: &str, flags: &[&str], folder: &Path) -> Option<PathBuf> {
    let compiler = compiler(name);
    if !has_programs(&[compiler, "strip"]) {
        return None;
    }
    let program = folder.join(format!("{name}{}", flags.concat()));
    // Fortran's modules are written where the compiler runs.
    let mut command = Command::new(compiler);
    let command =
        command.args(flags).arg("-o").arg(&program).arg(source(name)).arg("-lm").current_dir(folder);
    let done = command.output().expect("it can be run");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    Some(program)
}

fn structure(path: &Path) -> Structure {
    Binary::open(path).expect("a binary").structure(2, None)
}

/// The loops that a source's comments promise: for each line the depth.
fn promised(name: &str) -> BTreeMap<u32, u32> {
    let text = std::fs::read_to_string(source(name)).expect("a source");
    let promise = |(line, text): (u32, &str)| {
        let depth = text.split_once("LOOP ")?.1.chars().next()?.to_digit(10)?;
        Some((line, depth))
    };
    (1..).zip(text.lines()).filter_map(promise).collect()
}

/// Loops around each scope of a function, of the same function in the source.
fn loop_depths(function: &FunctionStructure) -> Vec<(&Scope, u32)> {
    let mut around: Vec<(u32, bool)> = Vec::new();
    let mut found = Vec::new();
    for scope in &function.scopes {
        around.truncate(scope.depth as usize - 1);
        around.resize(scope.depth as usize - 1, (0, false));
        let of_callers = around.iter().rposition(|&(_, is_inlined)| is_inlined).map_or(0, |at| at + 1);
        let n_loops: u32 = around[of_callers..].iter().map(|&(n, _)| n).sum();
        let is_loop = scope.kind == ScopeKind::Loop;
        found.push((scope, n_loops + u32::from(is_loop)));
        around.push((u32::from(is_loop), scope.kind == ScopeKind::Inlined));
    }
    found
}

fn is_of_source(scope: &Scope, name: &str) -> bool {
    Path::new(&*scope.file).file_name().is_some_and(|file| file == name)
}

/// The lines of loops are those of the source, at each level of optimisation, and so is their nesting.
#[test]
fn loops_are_those_of_the_source() {
    let folder = tempfile::tempdir().expect("a folder");
    for name in ["loops.c", "rotated.c", "loops.cpp", "loops.f90"] {
        for level in ["-O0", "-O1", "-O2", "-O3"] {
            let Some(program) = compiled(name, &["-g", level], folder.path()) else { return };
            let structure = structure(&program);
            assert_eq!(structure.notices, [""; 0], "{name} {level}");
            let mut found: BTreeMap<u32, u32> = BTreeMap::new();
            for (scope, depth) in structure.functions.iter().flat_map(loop_depths) {
                if scope.kind == ScopeKind::Loop && is_of_source(scope, name) && !scope.is_irreducible {
                    let least = found.entry(scope.line).or_insert(depth);
                    *least = depth.min(*least);
                }
            }
            assert_eq!(found, promised(name), "{name} {level}");
        }
    }
}

fn function<'s>(structure: &'s Structure, name: &str) -> &'s FunctionStructure {
    structure.functions.iter().find(|function| *function.name == *name).expect("a function of that name")
}

fn calls<'s>(function: &'s FunctionStructure, target: &str) -> Vec<&'s Scope> {
    let is_asked = |scope: &&Scope| scope.kind == ScopeKind::Call && *scope.target == *target;
    function.scopes.iter().filter(is_asked).collect()
}

#[test]
fn inlined_loops_are_in_the_functions_that_they_are_of() {
    let folder = tempfile::tempdir().expect("a folder");
    let Some(program) = compiled("loops.c", &["-g", "-O2"], folder.path()) else { return };
    let structure = structure(&program);
    let inlined = function(&structure, "inlined");
    let chain: Vec<(ScopeKind, &str, u32, u32)> = inlined
        .scopes
        .iter()
        .skip_while(|scope| scope.kind != ScopeKind::Loop)
        .take(3)
        .map(|scope| (scope.kind, &*scope.function, scope.line, scope.depth))
        .collect();
    assert_eq!(
        chain,
        [
            (ScopeKind::Loop, "inlined", 29, 1),
            (ScopeKind::Inlined, "product", 30, 2),
            (ScopeKind::Loop, "product", 21, 3)
        ]
    );
    let printf = calls(inlined, "printf");
    assert_eq!(printf.iter().map(|call| call.line).collect::<BTreeSet<_>>(), BTreeSet::from([31]));
}

#[test]
fn a_switch_leads_to_all_of_its_cases_and_a_loop_can_have_two_entries() {
    let folder = tempfile::tempdir().expect("a folder");
    for level in ["-O0", "-O2"] {
        let Some(program) = compiled("loops.c", &["-g", level], folder.path()) else { return };
        let structure = structure(&program);
        let switched = function(&structure, "switched");
        assert_eq!(switched.n_unresolved, 0);
        let puts = calls(switched, "puts");
        let lines: Vec<(u32, u32)> = puts.iter().map(|call| (call.line, call.depth)).collect();
        let expected: Vec<(u32, u32)> = (41..=47).map(|line| (line, 2)).collect();
        assert_eq!(lines, expected, "{level}");
        let two = function(&structure, "two_entries");
        assert_eq!(two.scopes.iter().filter(|scope| scope.is_irreducible).count(), 1, "{level}");
    }
}

/// A call of a function that never returns is in no loop, wherever the compiler has put it.
#[test]
fn calls_that_never_return_are_behind_the_loop() {
    let folder = tempfile::tempdir().expect("a folder");
    for level in ["-O0", "-O2"] {
        let Some(program) = compiled("loops.c", &["-g", level], folder.path()) else { return };
        let structure = structure(&program);
        let checked = function(&structure, "checked");
        let fails = calls(checked, "fail");
        assert!(!fails.is_empty(), "{level}");
        for (call, n_loops) in loop_depths(checked) {
            assert!(*call.target != *"fail" || n_loops == 0, "{level}: {call:?}");
        }
        assert!(!structure.functions.iter().any(|function| function.name.contains(".cold")), "parts join");
    }
}

/// What no iteration and no call can do without: what ends the program before is no way around it.
#[test]
fn parts_are_always_passed_as_the_source_says() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = std::fs::read_to_string(source("always.c")).expect("a source");
    let lines = |word: &str| -> Vec<u32> {
        (1..).zip(text.lines()).filter(|(_, line)| line.contains(word)).map(|(line, _)| line).collect()
    };
    for level in ["-O0", "-O2"] {
        let Some(program) = compiled("always.c", &["-g", level], folder.path()) else { return };
        let structure = structure(&program);
        let binary = std::sync::Arc::new(Binary::open(&program).expect("a binary"));
        let mut explorer = Explorer::new(binary);
        let mut found: [Vec<u32>; 2] = [Vec::new(), Vec::new()];
        for name in ["step", "main"] {
            let calls = calls(function(&structure, name), "last");
            let address = calls.first().expect("it calls it").address;
            let (_, scopes) = explorer.scopes(address).expect("known code");
            let innermost = scopes.last().expect("the function").id;
            let flow = explorer.flow(address, innermost).expect("known order");
            for (vertex, is_always) in flow.vertices.iter().zip(&flow.always) {
                if *vertex.function != *"exit" {
                    found[usize::from(*is_always)].push(vertex.line);
                }
            }
        }
        found.iter_mut().for_each(|lines| lines.sort_unstable());
        assert_eq!(found, [lines("SOMETIMES"), lines("ALWAYS")], "{level}");
    }
}

#[test]
fn without_debug_information_loops_are_the_same_and_have_no_lines() {
    let folder = tempfile::tempdir().expect("a folder");
    let Some(with) = compiled("loops.c", &["-g", "-O2"], folder.path()) else { return };
    let Some(without) = compiled("loops.c", &["-O2"], folder.path()) else { return };
    let stripped = folder.path().join("stripped");
    std::fs::copy(&without, &stripped).expect("a copy");
    let loops = |structure: &Structure| -> Vec<u64> {
        let scopes = structure.functions.iter().flat_map(|function| &function.scopes);
        scopes
            .filter(|scope| scope.kind == ScopeKind::Loop)
            .map(|scope| scope.address)
            .collect::<BTreeSet<_>>()
            .into_iter()
            .collect()
    };
    let of_all = loops(&structure(&with));
    let bare = structure(&without);
    assert_eq!(loops(&bare), of_all);
    assert!(bare.notices.iter().any(|notice| notice.contains("compile with -g")), "{:?}", bare.notices);
    let status = Command::new("strip").arg(&stripped).status();
    assert!(status.is_ok_and(|status| status.success()), "it can be stripped");
    let bare = structure(&stripped);
    assert_eq!(loops(&bare), of_all);
    assert!(bare.notices.iter().any(|notice| notice.starts_with("no symbols")), "{:?}", bare.notices);
}

#[test]
fn files_that_are_cut_off_have_what_is_left_or_an_error() {
    let folder = tempfile::tempdir().expect("a folder");
    let Some(program) = compiled("loops.c", &["-g", "-O2"], folder.path()) else { return };
    let whole = std::fs::read(&program).expect("a program");
    let cut = folder.path().join("cut");
    let mut n_with_loops = 0;
    for percent in (0..100).step_by(5) {
        std::fs::write(&cut, &whole[..whole.len() * percent / 100]).expect("it can be written");
        match Binary::open(&cut) {
            Ok(binary) => {
                let found = binary.structure(2, None);
                assert!(!found.notices.is_empty(), "{percent} %");
                let mut scopes = found.functions.iter().flat_map(|function| &function.scopes);
                n_with_loops += u32::from(scopes.any(|scope| scope.kind == ScopeKind::Loop));
            }
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
    // Code is in the first half of the file; section headers, symbols and lines are at its end.
    assert!(3 <= n_with_loops, "{n_with_loops}");
}

#[test]
fn other_files_are_refused_by_name() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("file");
    let mut header = vec![0u8; 64];
    header[..6].copy_from_slice(b"\x7fELF\x02\x01");
    for (machine, name) in [(183u16, "AArch64"), (243, "RISC-V"), (9999, "machine number 9999, 64 bits")] {
        header[18..20].copy_from_slice(&machine.to_le_bytes());
        std::fs::write(&path, &header).expect("it can be written");
        match Binary::open(&path) {
            Err(StructureError::Machine(found)) => assert_eq!(found, name),
            other => panic!("{other:?}"),
        }
    }
    std::fs::write(&path, b"#!/bin/sh\n").expect("it can be written");
    assert!(matches!(Binary::open(&path), Err(StructureError::NotElf)));
}

/// The number of threads does not matter.
#[test]
fn the_result_is_that_of_one_thread() {
    let own = std::env::current_exe().expect("a program");
    let binary = Binary::open(&own).expect("a binary");
    let some = |structure: Structure| structure.functions;
    assert_eq!(some(binary.structure(1, Some("main"))), some(binary.structure(4, Some("main"))));
    let folder = tempfile::tempdir().expect("a folder");
    let Some(program) = compiled("loops.cpp", &["-g", "-O0"], folder.path()) else { return };
    let binary = Binary::open(&program).expect("a binary");
    assert_eq!(binary.structure(1, None), binary.structure(3, None));
}
