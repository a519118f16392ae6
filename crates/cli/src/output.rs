//! Where an answer is written: standard output or a file, which is complete or absent.

use crate::caller::Caller;
use anyhow::anyhow;
use ouzel_files::Inputs;
use ouzel_files::output::{self, Existing, OutputError, Target, Writer};
use ouzel_plot::{ImageFormat, Picture};
use std::io::{self, BufWriter, Stdout, Write};
use std::path::{Path, PathBuf};

/// Where a command may write, decided before any work.
#[derive(Debug, Clone, Default)]
pub struct Outputs {
    /// What is read.
    pub inputs: Inputs,
    /// The answer; standard output if `None`.
    pub answer: Option<Target>,
    /// A picture beside it.
    pub plot: Option<Target>,
    /// Who asks in the place of a user, if anybody does: the answer goes there.
    pub caller: Option<Caller>,
}

impl Outputs {
    /// Checks where a command may write that reads everything in `read`: paths of traces and profiles, and other files.
    ///
    /// # Errors
    /// If an output is an input, equals the other output, exists and may not be replaced, or cannot be written.
    pub fn planned(
        (answer, plot): (Option<&Path>, Option<&Path>),
        existing: Existing,
        read: &Read<'_>,
    ) -> anyhow::Result<Outputs> {
        let inputs = read.inputs();
        let target = |path| Target::file(path, existing, &inputs).map_err(refused);
        let (answer, plot) = (answer.map(target).transpose()?, plot.map(target).transpose()?);
        match (&answer, &plot) {
            (Some(answer), Some(plot)) if answer.is(plot) => {
                Err(anyhow!("{:?} cannot be both the answer and the picture", plot.path()))
            }
            _ => Ok(Outputs { inputs, answer, plot, caller: None }),
        }
    }
}

/// What a command reads.
#[derive(Debug, Default)]
pub struct Read<'a> {
    /// Traces and profiles.
    pub runs: Vec<&'a Path>,
    /// Other files.
    pub files: Vec<&'a Path>,
}

impl Read<'_> {
    fn inputs(&self) -> Inputs {
        let mut inputs = Inputs::default();
        self.runs.iter().for_each(|path| inputs.extend(ouzel::inputs(path)));
        self.files.iter().for_each(|path| inputs.add_file(PathBuf::from(path)));
        inputs
    }
}

/// Writes a picture in the format that its file name ends in.
///
/// # Errors
/// If it cannot be drawn or written.
pub fn draw(picture: &Picture, target: &Target) -> anyhow::Result<()> {
    let bytes = picture.bytes(ImageFormat::of_path(target.path())?)?;
    target.write(&bytes).map_err(refused)
}

/// The error with a hint how to resolve it.
pub fn refused(error: OutputError) -> anyhow::Error {
    match error {
        OutputError::Exists(path) => anyhow!("{path:?} already exists: add --force to replace it"),
        error => error.into(),
    }
}

/// A buffered output that must be closed, so that no error is lost.
#[derive(Debug)]
pub enum Output {
    Stdout(BufWriter<Stdout>),
    File { writer: Writer, output: output::Output, path: PathBuf },
    Caller { bytes: Vec<u8>, caller: Caller },
}

const BUFFER_BYTES: usize = 1 << 16;

impl Output {
    /// Opens the output for the answer of a command: whoever asks in the place of a user, a file, standard output.
    ///
    /// # Errors
    /// If the file cannot be made.
    pub fn of(outputs: &Outputs) -> anyhow::Result<Self> {
        if let Some(caller) = &outputs.caller {
            return Ok(Output::Caller { bytes: Vec::new(), caller: caller.clone() });
        }
        Ok(match &outputs.answer {
            None => Output::Stdout(BufWriter::with_capacity(BUFFER_BYTES, io::stdout())),
            Some(target) => {
                let output = target.begin().map_err(refused)?;
                Output::File { writer: output.writer(), output, path: target.path().to_owned() }
            }
        })
    }

    /// Writes what is left in the buffer, and gives a file its name.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn close(mut self) -> anyhow::Result<()> {
        self.flush()?;
        match self {
            Output::Stdout(_) => Ok(()),
            Output::File { writer, output, .. } => {
                drop(writer);
                output.complete().map(drop).map_err(refused)
            }
            Output::Caller { bytes, caller } => {
                caller.put(bytes);
                Ok(())
            }
        }
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Output::Stdout(out) => out.write(bytes),
            Output::Caller { bytes: all, .. } => all.write(bytes),
            Output::File { writer, path, .. } => writer.write(bytes).map_err(|error| named(path, &error)),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Output::Stdout(out) => out.flush(),
            Output::Caller { .. } => Ok(()),
            Output::File { writer, path, .. } => writer.flush().map_err(|error| named(path, &error)),
        }
    }
}

/// The error with the file that cannot be written.
fn named(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("cannot write {path:?}: {error}"))
}
