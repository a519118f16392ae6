//! Opens files that are read.

use std::fs::File;
use std::io;
use std::path::Path;

/// Opens a regular file; links to regular files are followed.
///
/// # Errors
/// If it cannot be opened, or is a directory, FIFO, socket or device. Opening a FIFO does not wait for its writer.
pub fn open(path: &Path) -> io::Result<File> {
    let is_regular = std::fs::metadata(path)?.is_file();
    if !is_regular {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
    }
    let file = File::open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file")),
    }
}

#[cfg(test)]
mod tests {
    use super::open;
    use std::path::Path;

    #[test]
    fn only_regular_files_are_opened() {
        assert!(open(Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml").as_path()).is_ok());
        for special in ["/dev/zero", "/dev/null", "/"] {
            let error = open(Path::new(special)).expect_err("a device or a directory");
            assert_eq!(error.to_string(), "not a regular file", "{special}");
        }
    }
}
