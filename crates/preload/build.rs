//! Writes the wrappers of MPI functions from the table that gives them their meaning.
//!
//! Each function has its C name and, for Fortran, the names that compilers make of it: in lower case with none, one
//! or two underscores, in upper case, and those of the module `mpi_f08` in Open MPI and MPICH.

use std::fmt::Write;
use std::path::Path;
use std::{env, fs, io};

const TABLE: &str = "../recording/src/mpi/functions.table";

fn main() -> io::Result<()> {
    println!("cargo:rerun-if-changed={TABLE}");
    println!("cargo:rerun-if-changed=build.rs");
    let table = fs::read_to_string(TABLE)?;
    let mut code = String::new();
    let mut number = 0;
    for line in table.lines().filter(|line| !line.starts_with('#')) {
        let Some((head, parameters)) = line.split_once(':') else { continue };
        let words: Vec<&str> = head.split(' ').collect();
        let parameters: Vec<&str> = parameters.split_whitespace().collect();
        let (name, forms, effect) = (words[0], words[1], words[2]);
        let n = parameters.len();
        wrapper(&mut code, &format!("MPI_{name}"), number, "C", n);
        // Fortran's forms of MPI_Init have no arguments of the program; each has the error code as its last parameter.
        let n_left_out = if effect == "init" { 2 } else { 0 };
        let n_texts = parameters[n_left_out..].iter().filter(|&&parameter| parameter == "text").count();
        let n_fortran = n - n_left_out + 1 + n_texts;
        let lower = name.to_ascii_lowercase();
        for (symbol, language) in [
            (format!("mpi_{lower}"), "FortranPlain"),
            (format!("mpi_{lower}_"), "FortranOne"),
            (format!("mpi_{lower}__"), "FortranTwo"),
            (format!("MPI_{}", name.to_ascii_uppercase()), "FortranUpper"),
            (format!("mpi_{lower}_f08_"), "Fortran2008"),
            (format!("mpi_{lower}_f08ts_"), "Fortran2008Descriptors"),
        ] {
            wrapper(&mut code, &symbol, number, language, n_fortran);
        }
        number += 1;
        if forms == "c" {
            wrapper(&mut code, &format!("MPI_{name}_c"), number, "C", n);
            number += 1;
        }
    }
    let _ = writeln!(code, "/// Functions of the table.\npub const N_FUNCTIONS: usize = {number};");
    let out = env::var("OUT_DIR").map_err(io::Error::other)?;
    fs::write(Path::new(&out).join("wrappers.rs"), code)
}

fn wrapper(code: &mut String, symbol: &str, number: usize, language: &str, n: usize) {
    let parameters: Vec<String> = (0..n).map(|i| format!("a{i}: usize")).collect();
    let arguments: Vec<String> = (0..n).map(|i| format!("a{i}")).collect();
    let (parameters, arguments) = (parameters.join(", "), arguments.join(", "));
    // Writing to a string cannot fail.
    let _ = writeln!(
        code,
        "#[unsafe(no_mangle)]\nunsafe extern \"C\" fn {symbol}({parameters}) -> c_int {{\n    \
         // SAFETY: the caller passes what the function of this name takes.\n    \
         unsafe {{ call({number}, Language::{language}, &mut [{arguments}]) }}\n}}"
    );
}
