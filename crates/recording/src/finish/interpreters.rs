//! Interpreters on call paths: what runs inside of one says nothing of the program that it runs.
//!
//! ```text
//! _PyEval_EvalFrameDefault › loop at ceval.c:1748 › math_sin › … › loop at ceval.c:1767
//! [Python interpreter] › math_sin › [Python interpreter]
//! ```
//! Law: frames of the interpreter that follow each other are one; functions of its library that programs call by name, and
//! those of other files, stay. What the program's own functions are called in its language is not known here.

use super::symbols::SymbolFrame;

/// What frames of the interpreter of Python are called.
pub(super) const PYTHON: &str = "[Python interpreter]";

/// Sources beside those of the library that are the interpreter.
const NOT_LIBRARY: [&str; 3] = ["main.c", "getpath.c", "gcmodule.c"];

/// Whether a file is an interpreter, by its name: `python3.11`, `libpython3.11.so.1.0`.
pub(super) fn is_interpreter(file_name: &str) -> bool {
    let is_version = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    match file_name.strip_prefix("libpython") {
        Some(rest) => rest.split_once(".so").is_some_and(|(version, _)| !version.is_empty()),
        None => file_name.strip_prefix("python").is_some_and(is_version),
    }
}

/// The frames of an address in an interpreter, without what is inside of it.
pub(super) fn frames(found: Vec<SymbolFrame>) -> Vec<SymbolFrame> {
    let mut kept: Vec<SymbolFrame> = Vec::new();
    for frame in found {
        if is_library(&frame) {
            kept.push(frame);
        } else if kept.last().is_none_or(|last| last.name != PYTHON) {
            kept.push(SymbolFrame { name: PYTHON.to_owned(), file: String::new(), line: 0, place: None });
        }
    }
    kept
}

/// Whether it is in the library that the interpreter is built with, as `math` is.
fn is_library(frame: &SymbolFrame) -> bool {
    let Some((_, path)) = frame.file.rsplit_once("/Modules/") else { return false };
    !NOT_LIBRARY.contains(&path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interpreters_are_known_by_their_names() {
        for name in ["python", "python3", "python3.11", "libpython3.11.so.1.0", "libpython3.13t.so"] {
            assert!(is_interpreter(name), "{name}");
        }
        for name in
            ["pythonic", "libpython", "libpython.so", "python-config", "python3.11-dbg-tool", "libm.so.6"]
        {
            assert!(!is_interpreter(name), "{name}");
        }
    }

    #[test]
    fn what_programs_call_by_name_stays() {
        let frame = |name: &str, file: &str| SymbolFrame {
            name: name.to_owned(),
            file: file.to_owned(),
            line: 7,
            place: Some((file.to_owned(), 9)),
        };
        let found = vec![
            frame("_PyEval_EvalFrameDefault", "/build/Python/ceval.c"),
            frame("cfunction_call", "/build/Objects/methodobject.c"),
            frame("math_sin", "/build/Modules/mathmodule.c"),
            frame("pymain_run_python", "/build/Modules/main.c"),
            frame("[libpython3.11.so.1.0]", ""),
        ];
        let frames = frames(found.clone());
        let names: Vec<&str> = frames.iter().map(|frame| frame.name.as_str()).collect();
        assert_eq!(names, [PYTHON, "math_sin", PYTHON]);
        assert_eq!(frames[1], found[2]);
    }
}
