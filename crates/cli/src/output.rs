//! Where an answer is written: standard output or a file.

use anyhow::Context;
use std::fs::File;
use std::io::{BufWriter, Stdout, Write};
use std::path::Path;

/// A buffered output that must be closed, so that no error is lost.
#[derive(Debug)]
pub enum Output {
    Stdout(BufWriter<Stdout>),
    File(BufWriter<File>),
}

const BUFFER_BYTES: usize = 1 << 16;

impl Output {
    /// Opens `path`, or standard output.
    ///
    /// # Errors
    /// If the file cannot be created.
    pub fn open(path: Option<&Path>) -> anyhow::Result<Self> {
        Ok(match path {
            None => Output::Stdout(BufWriter::with_capacity(BUFFER_BYTES, std::io::stdout())),
            Some(path) => {
                let file = File::create(path).with_context(|| format!("cannot write {path:?}"))?;
                Output::File(BufWriter::with_capacity(BUFFER_BYTES, file))
            }
        })
    }

    /// Writes what is left in the buffer.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn close(mut self) -> anyhow::Result<()> {
        Ok(self.flush()?)
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        match self {
            Output::Stdout(out) => out.write(bytes),
            Output::File(out) => out.write(bytes),
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        match self {
            Output::Stdout(out) => out.flush(),
            Output::File(out) => out.flush(),
        }
    }
}
