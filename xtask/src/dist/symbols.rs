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
