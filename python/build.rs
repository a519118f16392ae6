//! Takes the prose of the package's stub apart, so that `help()` shows at run time what editors show.
//!
//! ```text
//! package/ouzel/_core.pyi ──docstrings──► OUT_DIR/Trace.flat_profile, OUT_DIR/Table, … ──prose!──► docstrings of pyo3
//! ```
//!
//! Law: the stub is the only source; a member without prose there has none here. Which member has which prose is said
//! in `src`, and the package's tests compare both.

use std::path::Path;
use std::{env, fs, io};

const STUB: &str = "package/ouzel/_core.pyi";

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed={STUB}");
    println!("cargo::rerun-if-changed=build.rs");
    let stub = fs::read_to_string(STUB)?;
    let folder = env::var_os("OUT_DIR").ok_or(io::ErrorKind::NotFound)?;
    // A docstring that is gone must not be found.
    fs::remove_dir_all(&folder)?;
    fs::create_dir_all(&folder)?;
    for (name, prose) in docstrings(&stub) {
        fs::write(Path::new(&folder).join(name), prose)?;
    }
    Ok(())
}

/// Each class, function and method of a stub that has a docstring, and the docstring without its indentation.
fn docstrings(stub: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut class = "";
    let mut lines = stub.lines();
    while let Some(line) = lines.next() {
        let text = line.trim_start();
        let owner = if let Some(rest) = text.strip_prefix("class ") {
            class = rest.split(['(', ':']).next().unwrap_or_default();
            class.to_owned()
        } else if let Some(rest) = text.strip_prefix("def ") {
            let name = rest.split('(').next().unwrap_or_default();
            if text.len() < line.len() { format!("{class}.{name}") } else { name.to_owned() }
        } else {
            continue;
        };
        // The end of the header; without a body there is no docstring.
        let mut header = line;
        while !header.ends_with([':', '.']) {
            let Some(next) = lines.next() else { return found };
            header = next;
        }
        let Some(next) = lines.clone().next().filter(|_| header.ends_with(':')) else { continue };
        if let Some(begun) = next.trim_start().strip_prefix("\"\"\"") {
            lines.next();
            found.push((owner, docstring(begun, next.len() - next.trim_start().len(), &mut lines)));
        }
    }
    found
}

/// The text of a docstring that has begun, up to its end.
fn docstring<'a>(begun: &str, indent: usize, lines: &mut impl Iterator<Item = &'a str>) -> String {
    let mut text = String::new();
    let mut line = begun;
    loop {
        if let Some((last, _)) = line.split_once("\"\"\"") {
            text.push_str(last.trim_end());
            return text.trim_end().to_owned();
        }
        text.push_str(line.trim_end());
        text.push('\n');
        let Some(next) = lines.next() else { return text };
        line = next.get(indent..).unwrap_or_default();
    }
}
