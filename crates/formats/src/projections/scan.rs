//! One sweep over a log: its records with their numbers, and what is wrong with it.

use super::lines::LogLines;
use super::record::{LogRecord, Parsed, RecordLayout, record, split};
use ouzel_model::ReadError;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

/// A log that can be read.
#[derive(Debug, Clone)]
pub(super) struct Log {
    pub path: PathBuf,
    /// As users see it.
    pub file: Arc<str>,
    pub layout: RecordLayout,
}

/// One record and its place.
#[derive(Debug, Clone, Copy)]
pub(super) struct ScannedRecord<'a> {
    pub record: LogRecord<'a>,
    /// Counts the lines of the log, good and bad ones.
    pub number: u64,
}

/// What a sweep found beside records.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct SweepFindings {
    /// Records the first line declares.
    pub declared: Option<u64>,
    /// Lines that are no records.
    pub n_bad: u64,
    /// Offset of the first of them.
    pub first_bad: u64,
    /// Whether the log ends as it should, with the end of the run.
    pub is_complete: bool,
    /// Lines read.
    pub n_lines: u64,
}

/// Reads a log record by record.
pub(super) struct LogReader {
    lines: LogLines,
    fields: Vec<i64>,
    layout: RecordLayout,
    file: Arc<str>,
    pub found: SweepFindings,
}

impl LogReader {
    /// Opens a log and reads its first line.
    ///
    /// # Errors
    /// If it cannot be read or is no log.
    pub fn open(log: &Log) -> Result<Self, ReadError> {
        let error = |reason: String| ReadError { file: log.file.clone(), offset: 0, record: 0, reason };
        let mut lines = LogLines::open(&log.path).map_err(|e| error(e.to_string()))?;
        let first = lines.next().map_err(|e| error(e.to_string()))?.unwrap_or_default();
        let Some(rest) = first.strip_prefix(super::files::LOG_MAGIC) else {
            return Err(error("the log does not begin with PROJECTIONS-RECORD".to_owned()));
        };
        let declared = std::str::from_utf8(rest).ok().and_then(|rest| rest.trim().parse().ok());
        let found = SweepFindings { declared, ..SweepFindings::default() };
        Ok(LogReader { lines, fields: Vec::new(), layout: log.layout, file: log.file.clone(), found })
    }

    /// The next record; `None` at the end of the run or of the file. Lines that are no records are counted.
    ///
    /// # Errors
    /// If the rest cannot be read.
    pub fn next(&mut self) -> Result<Option<ScannedRecord<'_>>, ReadError> {
        if self.found.is_complete || !self.find()? {
            return Ok(None);
        }
        match record(self.lines.current(), self.layout, &self.fields) {
            Parsed::Record(record) => Ok(Some(ScannedRecord { record, number: self.found.n_lines })),
            Parsed::Unfinished | Parsed::Bad => Ok(None),
        }
    }

    /// Goes to the next line that is a record; `false` at the end.
    fn find(&mut self) -> Result<bool, ReadError> {
        while self.lines.advance().map_err(|error| self.error(&error))? {
            self.found.n_lines += 1;
            if self.is_record()? {
                return Ok(true);
            }
            if self.found.n_bad == 0 {
                self.found.first_bad = self.lines.offset;
            }
            self.found.n_bad += 1;
        }
        Ok(false)
    }

    /// Whether the current line is a record, with the lines after it that its text takes.
    fn is_record(&mut self) -> Result<bool, ReadError> {
        loop {
            split(self.lines.current(), &mut self.fields);
            match record(self.lines.current(), self.layout, &self.fields) {
                Parsed::Record(record) => {
                    self.found.is_complete = matches!(record, LogRecord::EndComputation(_));
                    // The end of the file may cut a number, which then reads as another.
                    return Ok(self.lines.is_terminated || self.found.is_complete);
                }
                Parsed::Bad => return Ok(false),
                Parsed::Unfinished => {
                    if !self.lines.extend().map_err(|error| self.error(&error))? {
                        return Ok(false);
                    }
                }
            }
        }
    }

    fn error(&self, error: &io::Error) -> ReadError {
        ReadError {
            file: self.file.clone(),
            offset: self.lines.offset,
            record: self.found.n_lines,
            reason: error.to_string(),
        }
    }
}

/// Shows every record of a log to `see`.
///
/// # Errors
/// If the log cannot be read to its end.
pub(super) fn scan(log: &Log, see: &mut dyn FnMut(ScannedRecord<'_>)) -> Result<SweepFindings, ReadError> {
    let mut reader = LogReader::open(log)?;
    while let Some(scan) = reader.next()? {
        see(scan);
    }
    Ok(reader.found)
}
