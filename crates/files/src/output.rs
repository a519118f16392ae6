//! Output files: complete or absent, and never in place of a file that must be kept.
//!
//! ```text
//! Target::file(path, existing, inputs) ──refused, before any work──► OutputError
//!        └──► begin ──► Output ──writer──► complete ──► the file, in one step
//! ```
//!
//! Laws: no output is an input. A file is replaced only if the user requests it, and only if it is regular. A symbolic
//! link is followed once, when the target is named: the file it leads to is replaced, the link stays. FIFOs, character
//! devices (`/dev/null`, a process substitution) and open descriptors (`/dev/stdout`, `/dev/fd/3`) are streams: they
//! are written to, not replaced. Everything else that is no regular file is refused.

use crate::Inputs;
use crate::place::folder_of;
pub use crate::unfinished::Existing;
use crate::unfinished::Unfinished;
use std::fs::{self, File, FileType};
use std::io::{self, BufWriter, ErrorKind, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// Why something is not written.
#[derive(Debug, thiserror::Error)]
pub enum OutputError {
    /// The file exists, and the user did not request to replace it.
    #[error("{0:?} already exists")]
    Exists(PathBuf),
    /// It would destroy an input.
    #[error("{output:?} would replace part of the input ({input:?}): write somewhere else")]
    Input {
        /// The output.
        output: PathBuf,
        /// The input.
        input: PathBuf,
    },
    /// Only regular files are replaced.
    #[error("{path:?} is {what}: only regular files are replaced")]
    NotRegular {
        /// The output.
        path: PathBuf,
        /// What is there.
        what: &'static str,
    },
    /// A folder that is to be replaced contains something else.
    #[error("{path:?} holds {other:?}, which does not belong to it: remove it or write somewhere else")]
    Foreign {
        /// The folder.
        path: PathBuf,
        /// What is in it.
        other: PathBuf,
    },
    /// The operating system reports an error.
    #[error("cannot write {path:?}: {source}")]
    Io {
        /// The output.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
}

impl OutputError {
    /// An operating system error about the output that a user calls `path`.
    pub fn io(path: &Path, source: io::Error) -> OutputError {
        match source.kind() {
            ErrorKind::AlreadyExists => OutputError::Exists(path.to_owned()),
            _ => OutputError::Io { path: path.to_owned(), source },
        }
    }
}

/// Where a file may be written.
#[derive(Debug, Clone)]
pub struct Target {
    /// The path as the user wrote it.
    named: PathBuf,
    /// Absolute, links resolved.
    resolved: PathBuf,
    kind: OutputKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OutputKind {
    File(Existing),
    /// Written to as it is.
    Stream,
}

impl Target {
    /// Checks that a file may be written at `path`, and that it can be.
    ///
    /// # Errors
    /// If it is an input or a part of one, exists and must be kept, is no regular file, or if its folder does not exist
    /// or cannot be written.
    pub fn file(path: &Path, existing: Existing, inputs: &Inputs) -> Result<Target, OutputError> {
        let touches = |at: &Path| match inputs.touched_by(at) {
            Some(input) => Err(OutputError::Input { output: path.to_owned(), input: input.to_owned() }),
            None => Ok(()),
        };
        touches(path)?;
        let kind = kind_at(path, existing)?;
        if kind == OutputKind::Stream {
            return Ok(Target { named: path.to_owned(), resolved: path.to_owned(), kind });
        }
        let resolved = resolved(path).map_err(|error| OutputError::io(path, error))?;
        touches(&resolved)?;
        // Only creating a file shows that one can be created.
        drop(Unfinished::file_beside(&resolved).map_err(|error| OutputError::io(path, error))?);
        Ok(Target { named: path.to_owned(), resolved, kind })
    }

    /// The path as the user wrote it.
    pub fn path(&self) -> &Path {
        &self.named
    }

    /// Whether both are one file.
    pub fn is(&self, other: &Target) -> bool {
        self.resolved == other.resolved && self.kind != OutputKind::Stream
    }

    /// Begins to write.
    ///
    /// # Errors
    /// If the file cannot be made, or the stream cannot be opened.
    pub fn begin(&self) -> Result<Output, OutputError> {
        let failed = |error| OutputError::io(&self.named, error);
        let (unfinished, file) = match self.kind {
            OutputKind::Stream => (None, File::options().append(true).open(&self.resolved).map_err(failed)?),
            OutputKind::File(existing) => {
                let (unfinished, file) = Unfinished::file_beside(&self.resolved).map_err(failed)?;
                (Some((unfinished, existing)), file)
            }
        };
        Ok(Output { target: self.clone(), unfinished, handle: Handle::new(file) })
    }

    /// Writes all of `bytes`.
    ///
    /// # Errors
    /// If they cannot be written, or the file appeared meanwhile.
    pub fn write(&self, bytes: &[u8]) -> Result<(), OutputError> {
        let output = self.begin()?;
        output.handle.clone().write_all(bytes).map_err(|error| OutputError::io(&self.named, error))?;
        output.complete().map(drop)
    }
}

/// How `path` is to be written.
fn kind_at(path: &Path, existing: Existing) -> Result<OutputKind, OutputError> {
    let metadata = match fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return match path.symlink_metadata() {
                Ok(_) => Err(not_regular(path, "a symbolic link to a missing file")),
                Err(_) => Ok(OutputKind::File(existing)),
            };
        }
        Err(error) => return Err(OutputError::io(path, error)),
    };
    if is_stream(metadata.file_type()) || is_descriptor(path) {
        return Ok(OutputKind::Stream);
    }
    match metadata.file_type() {
        kind if kind.is_file() && existing == Existing::Replace => Ok(OutputKind::File(existing)),
        kind if kind.is_file() => Err(OutputError::Exists(path.to_owned())),
        kind if kind.is_dir() => Err(not_regular(path, "a directory")),
        _ => Err(not_regular(path, "a device or socket")),
    }
}

fn not_regular(path: &Path, what: &'static str) -> OutputError {
    OutputError::NotRegular { path: path.to_owned(), what }
}

/// An open descriptor of this process, by the names that systems have for it.
fn is_descriptor(path: &Path) -> bool {
    let is_numbered = |folder: &str| path.parent() == Some(Path::new(folder));
    path == Path::new("/dev/stdout")
        || path == Path::new("/dev/stderr")
        || ["/dev/fd", "/proc/self/fd"].into_iter().any(is_numbered)
}

#[cfg(unix)]
fn is_stream(kind: FileType) -> bool {
    use std::os::unix::fs::FileTypeExt as _;
    kind.is_fifo() || kind.is_char_device()
}

#[cfg(not(unix))]
fn is_stream(_: FileType) -> bool {
    false
}

/// The absolute path of a file that exists, or will exist in an existing folder.
fn resolved(path: &Path) -> io::Result<PathBuf> {
    if path.symlink_metadata().is_ok() {
        return path.canonicalize();
    }
    let name = path
        .file_name()
        .ok_or_else(|| io::Error::new(ErrorKind::InvalidInput, "it does not end in a file name"))?;
    Ok(folder_of(path).canonicalize()?.join(name))
}

/// A file that is being written. It gets its name when it is complete; otherwise it is removed.
#[derive(Debug)]
#[must_use = "it must be completed"]
pub struct Output {
    target: Target,
    unfinished: Option<(Unfinished, Existing)>,
    handle: Handle,
}

/// A buffered writer to the file.
pub type Writer = BufWriter<Handle>;

const BUFFER_BYTES: usize = 1 << 18;

/// What a writer writes to; the [`Output`] closes it.
///
/// Law: a failed write also fails the completion of the output. A writer that is dropped with bytes in its buffer
/// writes them and does not report errors.
#[derive(Debug, Clone)]
pub struct Handle {
    file: Arc<File>,
    n_bytes: Arc<AtomicU64>,
    failure: Arc<OnceLock<(ErrorKind, String)>>,
}

impl Handle {
    fn new(file: File) -> Self {
        Handle { file: Arc::new(file), n_bytes: Arc::default(), failure: Arc::default() }
    }
}

impl Write for Handle {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let n = (&*self.file).write(bytes).inspect_err(|error| {
            // An interrupted write is repeated by its caller.
            if error.kind() != ErrorKind::Interrupted {
                let _ = self.failure.set((error.kind(), error.to_string()));
            }
        })?;
        self.n_bytes.fetch_add(n as u64, Ordering::Relaxed);
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        (&*self.file).flush()
    }
}

impl Seek for Handle {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        (&*self.file).seek(to)
    }
}

impl Output {
    /// A file in a folder that is itself unfinished.
    pub(crate) fn within(named: PathBuf, file: File) -> Output {
        let target = Target { resolved: named.clone(), named, kind: OutputKind::Stream };
        Output { target, unfinished: None, handle: Handle::new(file) }
    }

    /// A writer that appends. It must be flushed and dropped before the output is complete.
    pub fn writer(&self) -> Writer {
        BufWriter::with_capacity(BUFFER_BYTES, self.handle.clone())
    }

    /// Ends the file and gives it its name; its size in bytes.
    ///
    /// # Errors
    /// If a write failed, if it cannot be closed, or if something appeared at its place that must be kept. The
    /// unfinished file is removed then.
    ///
    /// # Panics
    /// If one of its writers still exists.
    pub fn complete(self) -> Result<u64, OutputError> {
        let Output { target, unfinished, handle } = self;
        let failed = |error| OutputError::io(&target.named, error);
        let file = Arc::into_inner(handle.file).expect("writers are dropped before their output is complete");
        if let Some((kind, text)) = handle.failure.get() {
            return Err(failed(io::Error::new(*kind, text.clone())));
        }
        let written = handle.n_bytes.load(Ordering::Relaxed);
        let Some((mut unfinished, existing)) = unfinished else {
            return Ok(written);
        };
        let n_bytes = file.metadata().map_err(failed)?.len();
        settle(&file).map_err(failed)?;
        drop(file);
        // The path may have become something else since it was named.
        if kind_at(&target.resolved, existing)? == OutputKind::Stream {
            return Err(not_regular(&target.named, "now a FIFO or device"));
        }
        unfinished.become_at(&target.resolved, existing).map_err(failed)?;
        Ok(n_bytes)
    }
}

/// Forces a file to be written if errors may appear after the last write.
///
/// A local file system accepts bytes only if it has room. A shared one reports errors only when it is made to write;
/// closing a file would do so, too, but gives no error in Rust.
fn settle(file: &File) -> io::Result<()> {
    if is_shared(file) { file.sync_data() } else { Ok(()) }
}

/// Whether a file is in a network file system, or in one that a program implements.
#[cfg(target_os = "linux")]
fn is_shared(file: &File) -> bool {
    // NFS, CIFS, SMB 1 and 2, Lustre, GPFS, BeeGFS, Ceph, AFS, 9P and FUSE, by linux/magic.h and their own sources.
    const MAGIC: [u32; 11] = [
        0x6969,
        0xff53_4d42,
        0x517b,
        0xfe53_4d42,
        0x0bd0_0bd0,
        0x4750_4653,
        0x1983_0326,
        0x00c3_6400,
        0x5346_414f,
        0x0102_1997,
        0x6573_5546,
    ];
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the type is a machine word, signed or not; its low 32 bits are the number"
    )]
    let magic = |known: rustix::fs::StatFs| known.f_type as u32;
    rustix::fs::fstatfs(file).is_ok_and(|known| MAGIC.contains(&magic(known)))
}

#[cfg(not(target_os = "linux"))]
fn is_shared(_: &File) -> bool {
    true
}
