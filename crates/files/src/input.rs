//! Opens files that are read.
//!
//! Law: only regular files are opened, and a file that is read as a whole has a limit set by its reader.

use std::fs::{File, Metadata};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::Arc;

/// What a path is; links are followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// Neither: what it is, e.g. `a FIFO`.
    Special(&'static str),
    /// Nothing is there, or its kind cannot be determined.
    Missing,
}

/// Opens a regular file; links to regular files are followed.
///
/// # Errors
/// If it cannot be opened, or is a directory, FIFO, socket or device. Opening a FIFO does not wait for its writer.
pub fn open(path: &Path) -> io::Result<File> {
    regular(&std::fs::metadata(path)?)?;
    let file = File::open(path)?;
    regular(&file.metadata()?)?;
    Ok(file)
}

/// An open file that several readers and writers share, each at an offset of its own. A clone begins where this one is.
#[derive(Debug, Clone)]
pub struct SharedFile {
    file: Arc<File>,
    at: u64,
}

impl SharedFile {
    /// At the start of `file`.
    pub fn new(file: File) -> Self {
        SharedFile { file: Arc::new(file), at: 0 }
    }
}

impl Read for SharedFile {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        #[cfg(unix)]
        let n = std::os::unix::fs::FileExt::read_at(&*self.file, bytes, self.at)?;
        #[cfg(not(unix))]
        let n = std::os::windows::fs::FileExt::seek_read(&*self.file, bytes, self.at)?;
        self.at += n as u64;
        Ok(n)
    }
}

impl Write for SharedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        #[cfg(unix)]
        let n = std::os::unix::fs::FileExt::write_at(&*self.file, bytes, self.at)?;
        #[cfg(not(unix))]
        let n = std::os::windows::fs::FileExt::seek_write(&*self.file, bytes, self.at)?;
        self.at += n as u64;
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for SharedFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let at = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::Current(by) => self.at.checked_add_signed(by),
            SeekFrom::End(by) => self.file.metadata()?.len().checked_add_signed(by),
        };
        self.at =
            at.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "offset outside of every file"))?;
        Ok(self.at)
    }
}

/// Reads the first `n_bytes` of a file, fewer if it is shorter.
///
/// # Errors
/// As [`open`], and if it cannot be read.
pub fn head(path: &Path, n_bytes: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.take(n_bytes).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads a file as a whole.
///
/// # Errors
/// As [`open`], and if it cannot be read, or has more than `max_bytes`: the error has both numbers.
pub fn read_limited(path: &Path, max_bytes: u64) -> io::Result<Vec<u8>> {
    let file = open(path)?;
    let n_bytes = file.metadata()?.len();
    if max_bytes < n_bytes {
        return Err(too_large(n_bytes, max_bytes));
    }
    crate::memory::room_for(n_bytes)?;
    let mut bytes = Vec::new();
    let room = usize::try_from(n_bytes).ok().and_then(|n| bytes.try_reserve_exact(n).ok());
    room.ok_or_else(|| {
        io::Error::new(io::ErrorKind::OutOfMemory, format!("no memory for its {n_bytes} bytes"))
    })?;
    // It may grow meanwhile.
    file.take(max_bytes.saturating_add(1)).read_to_end(&mut bytes)?;
    match bytes.len() as u64 <= max_bytes {
        true => Ok(bytes),
        false => Err(too_large(bytes.len() as u64, max_bytes)),
    }
}

/// Reads a text file as a whole.
///
/// # Errors
/// As [`read_limited`], and if it is no UTF-8.
pub fn read_text(path: &Path, max_bytes: u64) -> io::Result<String> {
    String::from_utf8(read_limited(path, max_bytes)?)
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, format!("it is not UTF-8: {error}")))
}

/// The kind of a path; links are followed.
pub(crate) fn kind(path: &Path) -> Kind {
    match std::fs::metadata(path) {
        Ok(metadata) if metadata.is_file() => Kind::File,
        Ok(metadata) if metadata.is_dir() => Kind::Directory,
        Ok(metadata) => Kind::Special(special(&metadata)),
        Err(_) => Kind::Missing,
    }
}

fn too_large(n_bytes: u64, max_bytes: u64) -> io::Error {
    let message = format!("it has {n_bytes} bytes, and at most {max_bytes} are read");
    io::Error::new(io::ErrorKind::FileTooLarge, message)
}

fn regular(metadata: &Metadata) -> io::Result<()> {
    if metadata.is_file() {
        return Ok(());
    }
    let what = if metadata.is_dir() { "a directory" } else { special(metadata) };
    Err(io::Error::new(io::ErrorKind::InvalidInput, format!("it is {what}, not a regular file")))
}

#[cfg(unix)]
fn special(metadata: &Metadata) -> &'static str {
    use std::os::unix::fs::FileTypeExt;
    let kind = metadata.file_type();
    if kind.is_fifo() {
        "a FIFO"
    } else if kind.is_socket() {
        "a socket"
    } else {
        "a device"
    }
}

#[cfg(not(unix))]
fn special(_: &Metadata) -> &'static str {
    "a special file"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_regular_files_are_opened() {
        assert!(open(Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml").as_path()).is_ok());
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let made = std::process::Command::new("mkfifo").arg(path("fifo")).status();
        assert!(made.is_ok_and(|status| status.success()));
        let _socket = std::os::unix::net::UnixListener::bind(path("socket")).unwrap();
        std::os::unix::fs::symlink(path("fifo"), path("link")).unwrap();
        for (special, what) in [
            (path("fifo"), "a FIFO"),
            (path("link"), "a FIFO"),
            (path("socket"), "a socket"),
            ("/dev/zero".into(), "a device"),
            ("/dev/null".into(), "a device"),
            ("/".into(), "a directory"),
        ] {
            // Some containers replace a device by a regular file.
            if what == "a device" && special.is_file() {
                continue;
            }
            let error = open(&special).expect_err("no regular file").to_string();
            assert_eq!(error, format!("it is {what}, not a regular file"), "{special:?}");
        }
        std::os::unix::fs::symlink(path("loop"), path("loop")).unwrap();
        assert!(open(&path("loop")).is_err());
    }

    #[test]
    fn what_is_too_large_is_refused_with_its_size() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        std::fs::write(&path, b"12345").unwrap();
        assert_eq!(read_limited(&path, 5).unwrap(), b"12345");
        assert_eq!(head(&path, 2).unwrap(), b"12");
        File::options().write(true).open(&path).unwrap().set_len(64 << 30).unwrap();
        let error = read_limited(&path, 1 << 20).expect_err("it is too large");
        assert_eq!(error.to_string(), "it has 68719476736 bytes, and at most 1048576 are read");
    }
}
