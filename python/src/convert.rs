//! A trace or a profile in another format, and its records as lines.

use crate::arguments::choice;
use crate::profile::Profile;
use crate::trace::Trace;
use crate::value::to_python;
use crate::{errors, output};
use ouzel::formats::otf2::print::{Layout, PrintOptions, Printer};
use ouzel::model::Borders;
use ouzel_convert::{Conversion, ConvertError, To};
use ouzel_export::CsvText;
use ouzel_files::output::Existing;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

#[pymethods]
impl Trace {
    #[doc = prose!("Trace.convert")]
    #[pyo3(signature = (path, to, *, force=false, csv_raw=false))]
    #[expect(clippy::needless_pass_by_value, reason = "converted from Python's")]
    fn convert<'py>(
        &self,
        py: Python<'py>,
        path: PathBuf,
        to: &str,
        force: bool,
        csv_raw: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let conversion = planned(py, (to, &path), output::existing(force), csv_raw)?;
        let trace = &*self.inner;
        let written =
            crate::pass::run(py, trace, &self.selection, |options| Ok(conversion.trace(trace, options)))?;
        let written = written.map_err(|error| of_convert(py, error))?;
        errors::warn(py, &written.notices)?;
        to_python(py, &written.output)
    }

    #[doc = prose!("Trace.print_records")]
    #[pyo3(signature = (file=None, records=Records::default(), *, location=None, merged=false, raw=false, offsets=false, json=false),
        text_signature = "($self, file=None, records='events', *, location=None, merged=False, raw=False, offsets=False, json=False)")]
    #[expect(
        clippy::too_many_arguments,
        clippy::fn_params_excessive_bools,
        clippy::needless_pass_by_value,
        reason = "keywords of Python"
    )]
    fn print_records(
        &self,
        py: Python<'_>,
        file: Option<Bound<'_, PyAny>>,
        records: Records,
        location: Option<Vec<u64>>,
        merged: bool,
        raw: bool,
        offsets: bool,
        json: bool,
    ) -> PyResult<()> {
        let filter = self.selection.filter.clone();
        if filter.predicate.is_some() || filter.borders == Borders::Trim {
            return Err(PyValueError::new_err(
                "records are printed as they are: select with ranks, time_ns and regions",
            ));
        }
        let all = [("events", 0), ("definitions", 1), ("local", 2), ("markers", 3)];
        let wanted =
            records.names().iter().map(|name| choice("records", name, &all)).collect::<PyResult<Vec<_>>>()?;
        let options = PrintOptions {
            layout: if json { Layout::JsonLines } else { Layout::Text },
            events: wanted.contains(&0),
            definitions: wanted.contains(&1),
            local_definitions: wanted.contains(&2),
            markers: wanted.contains(&3),
            filter,
            locations: location.unwrap_or_default(),
            merged,
            raw,
            offsets,
        };
        let file = match file {
            Some(file) => file,
            None => py.import("sys")?.getattr("stdout")?,
        };
        let mut lines = Lines { write: file.getattr("write")?.unbind() };
        let path = self.inner.path();
        let notices = py.detach(|| {
            let printer = Printer::open(path, options).map_err(errors::failed)?;
            printer.print(&mut lines).map_err(PyErr::from)
        })?;
        errors::warn(py, &notices)
    }
}

/// Kinds of records, by name.
#[derive(Debug, FromPyObject)]
enum Records {
    One(String),
    Several(Vec<String>),
}

impl Default for Records {
    fn default() -> Self {
        Records::One("events".to_owned())
    }
}

impl Records {
    fn names(&self) -> &[String] {
        match self {
            Records::One(name) => std::slice::from_ref(name),
            Records::Several(names) => names,
        }
    }
}

#[pymethods]
impl Profile {
    #[doc = prose!("Profile.convert")]
    #[pyo3(signature = (path, to, *, force=false, csv_raw=false))]
    #[expect(clippy::needless_pass_by_value, reason = "converted from Python's")]
    fn convert<'py>(
        &self,
        py: Python<'py>,
        path: PathBuf,
        to: &str,
        force: bool,
        csv_raw: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let conversion = planned(py, (to, &path), output::existing(force), csv_raw)?;
        let profile = &*self.inner;
        let written = py.detach(|| conversion.profile(profile));
        let (files, notices) = written.map_err(|error| of_convert(py, error))?;
        errors::warn(py, &notices)?;
        to_python(py, &files)
    }
}

/// What is to be written, if it may be: checked before the pass, so that a path that cannot be written fails at once.
fn planned(
    py: Python<'_>,
    (to, path): (&str, &Path),
    existing: Existing,
    csv_raw: bool,
) -> PyResult<Conversion> {
    let formats = [
        ("otf2", To::Otf2),
        ("csv", To::Csv),
        ("parquet", To::Parquet),
        ("chrome", To::Chrome),
        ("cube", To::Cube),
    ];
    let to = choice("to", to, &formats)?;
    let csv_text = if csv_raw { CsvText::Raw } else { CsvText::default() };
    let inputs = output::inputs();
    py.detach(|| Conversion::new((to, path), existing, &inputs, csv_text))
        .map_err(|error| of_convert(py, error))
}

fn of_convert(py: Python<'_>, error: ConvertError) -> PyErr {
    match error {
        ConvertError::Directory(_) | ConvertError::NoEvents => errors::invalid(error),
        ConvertError::Output(error) => output::of_output(error),
        ConvertError::Ask(error) => errors::of_ask(py, &error),
        ConvertError::Write { ref source, .. } => errors::failed(format!("{error}: {source}")),
        error => errors::failed(error),
    }
}

/// A text file of Python's.
struct Lines {
    write: Py<PyAny>,
}

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // Each write of the printer is whole lines.
        let text = std::str::from_utf8(bytes).map_err(io::Error::other)?;
        let written = Python::attach(|py| {
            py.check_signals()?;
            self.write.call1(py, (text,)).map(drop)
        });
        written.map(|()| bytes.len()).map_err(io::Error::other)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
