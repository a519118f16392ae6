//! What a compiled file needs of the system it runs on.

use crate::runner::output;
use anyhow::{Result, ensure};
use std::path::Path;
use std::process::Command;

/// Refuses a binary that needs a dynamic loader.
pub fn check_static(path: &Path) -> Result<()> {
    let headers = output(Command::new("objdump").arg("-p").arg(path))?;
    ensure!(!headers.contains("INTERP") && !headers.contains("NEEDED"), "{path:?} is not linked statically");
    Ok(())
}

/// Refuses a library that needs a newer glibc.
pub fn check_glibc(path: &Path, newest: (u32, u32)) -> Result<()> {
    let symbols = output(Command::new("objdump").arg("-T").arg(path))?;
    let needed = glibc_needed(&symbols);
    ensure!(needed.is_some(), "{path:?} has no symbols of glibc: objdump says nothing");
    ensure!(needed <= Some(newest), "{path:?} needs glibc {needed:?}, newer than {newest:?}");
    Ok(())
}

/// Refuses a library that needs any other than musl's, which its loader knows by this name.
pub fn check_musl(path: &Path) -> Result<()> {
    let headers = output(Command::new("objdump").arg("-p").arg(path))?;
    let needed = libraries_needed(&headers);
    ensure!(needed == ["libc.so"], "{path:?} needs {needed:?}, not musl alone");
    Ok(())
}

fn libraries_needed(headers: &str) -> Vec<&str> {
    headers.lines().filter_map(|line| Some(line.trim().strip_prefix("NEEDED")?.trim())).collect()
}

/// The newest version of glibc among dynamic symbols.
fn glibc_needed(symbols: &str) -> Option<(u32, u32)> {
    let versions = symbols.split("GLIBC_").skip(1).filter_map(|rest| {
        let text = rest.split(|c: char| !c.is_ascii_digit() && c != '.').next()?;
        let mut parts = text.split('.').map_while(|part| part.parse().ok());
        Some((parts.next()?, parts.next()?))
    });
    versions.max()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_are_those_of_the_dynamic_section() {
        let headers = "Dynamic Section:\n  NEEDED               libc.so\n  NEEDED               libz.so.1\n  SONAME               a.so\n";
        assert_eq!(libraries_needed(headers), ["libc.so", "libz.so.1"]);
    }

    #[test]
    fn the_newest_version_counts_by_number() {
        let symbols = "\
0000000000000000      DF *UND*  0000000000000000 (GLIBC_2.2.5) memcpy
0000000000000000      DF *UND*  0000000000000000 (GLIBC_2.17)  clock_gettime
0000000000000000      DF *UND*  0000000000000000 (GLIBC_2.3)   realpath
";
        assert_eq!(glibc_needed(symbols), Some((2, 17)));
        assert_eq!(glibc_needed("no symbols"), None);
    }
}
