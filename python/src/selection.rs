//! What the user asked to look at, and how: from Python's arguments to a filter.

use crate::cluster::Cluster;
use ouzel::Options;
use ouzel::engine::Progress;
use ouzel::model::{Borders, Filter, FilterError, Predicate, RankSet};
use ouzel::workers::Workers;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use std::num::NonZeroUsize;

/// A selection and how passes over it run.
#[derive(Debug)]
pub struct Selection {
    pub filter: Filter,
    /// Number of threads; `None` is one for each core.
    pub jobs: Option<NonZeroUsize>,
    /// Called with the bytes read and all bytes.
    pub progress: Option<Py<PyAny>>,
    /// Who makes the passes; `None`: this process.
    pub workers: Option<Cluster>,
}

/// Start and end of a range of time as given, `None` being open.
pub type TimeNs<'py> = (Option<Bound<'py, PyAny>>, Option<Bound<'py, PyAny>>);

/// The arguments that make a selection, as given.
#[derive(Debug)]
pub struct Arguments<'py> {
    /// Anything whose text is a filter.
    pub r#where: Option<Bound<'py, PyAny>>,
    pub ranks: Option<Bound<'py, PyAny>>,
    pub time_ns: Option<TimeNs<'py>>,
    pub regions: Option<Bound<'py, PyAny>>,
    /// Whether listings cut calls at the borders of the time range.
    pub trim: Option<bool>,
    pub jobs: Option<usize>,
    pub progress: Option<Py<PyAny>>,
}

impl Selection {
    /// Everything.
    pub fn everything() -> Self {
        Selection { filter: Filter::default(), jobs: None, progress: None, workers: None }
    }

    /// Like `self`, with the given arguments applied. Selections narrow: an event must be in both, which a filter
    /// cannot express for two sets of ranks or regions, so that is an error.
    pub fn narrowed(&self, py: Python<'_>, arguments: Arguments<'_>) -> PyResult<Self> {
        let Arguments { r#where, ranks, time_ns, regions, trim, jobs, progress } = arguments;
        let mut filter = self.filter.clone();
        if let Some(ranks) = ranks {
            once(filter.ranks.is_none(), "ranks")?;
            filter.ranks = Some(rank_set(&ranks)?);
        }
        if let Some((start, end)) = time_ns {
            let (old_start, old_end) = filter.time_ns.unwrap_or((0, u64::MAX));
            let start = start.map_or(Ok(0), |start| nanosecond(&start))?;
            let end = end.map_or(Ok(u64::MAX), |end| nanosecond(&end))?;
            if end <= start {
                return Err(PyValueError::new_err(format!(
                    "time range [{start}, {end}) ends before it begins"
                )));
            }
            let start = old_start.max(start);
            filter.time_ns = Some((start, old_end.min(end).max(start)));
        }
        if let Some(regions) = regions {
            once(filter.regions.is_empty(), "regions")?;
            filter.regions = patterns(&regions)?;
        }
        if let Some(expression) = r#where {
            let text = expression.str()?.to_string();
            let predicate: Predicate = text
                .parse()
                .map_err(|error: FilterError| PyValueError::new_err(format!("{error}: {text}")))?;
            filter = filter.and(predicate);
        }
        if let Some(trim) = trim {
            filter.borders = if trim { Borders::Trim } else { Borders::Keep };
        }
        let jobs = match jobs {
            None => self.jobs,
            Some(jobs) => {
                Some(NonZeroUsize::new(jobs).ok_or_else(|| PyValueError::new_err("jobs must be 1 or more"))?)
            }
        };
        let progress = match progress {
            None => self.progress.as_ref().map(|old| old.clone_ref(py)),
            Some(given) => shown(given.bind(py))?,
        };
        Ok(Selection { filter, jobs, progress, ..self.clone_ref(py) })
    }

    /// The same again.
    pub fn clone_ref(&self, py: Python<'_>) -> Self {
        let Selection { filter, jobs, progress, workers } = self;
        Selection {
            filter: filter.clone(),
            jobs: *jobs,
            progress: progress.as_ref().map(|progress| progress.clone_ref(py)),
            workers: workers.as_ref().map(|workers| workers.clone_ref(py)),
        }
    }

    /// The options of a pass.
    pub fn options<'a>(&'a self, progress: &'a Progress) -> Options<'a> {
        let defaults = Options::default();
        let jobs = self.jobs.unwrap_or(defaults.jobs);
        let workers = self.workers.as_ref().map(|workers| workers as &dyn Workers);
        Options { filter: self.filter.clone(), jobs, progress: Some(progress), workers, ..defaults }
    }
}

/// The function to call: none for `False`, a bar on standard error for `True`.
fn shown(progress: &Bound<'_, PyAny>) -> PyResult<Option<Py<PyAny>>> {
    match progress.extract::<bool>() {
        Ok(false) => Ok(None),
        Ok(true) => Ok(Some(progress.py().import("ouzel._progress")?.getattr("bar")?.unbind())),
        Err(_) if progress.is_callable() => Ok(Some(progress.clone().unbind())),
        Err(_) => {
            Err(PyTypeError::new_err("progress must be True, False or a function of bytes done and total"))
        }
    }
}

fn once(is_first: bool, what: &str) -> PyResult<()> {
    if is_first {
        return Ok(());
    }
    Err(PyValueError::new_err(format!(
        "{what} are already selected; filter the whole trace once with all of them"
    )))
}

/// The first whole nanosecond that is not before the given one: `[1.5, 3.5)` holds 2 and 3, as `[2, 4)` does.
/// Infinity is beyond all.
fn nanosecond(time: &Bound<'_, PyAny>) -> PyResult<u64> {
    if let Ok(whole) = time.extract::<u64>() {
        return Ok(whole);
    }
    let wrong = |_| PyTypeError::new_err("time_ns must be a pair of nanoseconds, None for an open end");
    let ns = time.extract::<f64>().map_err(wrong)?.ceil();
    if ns.is_nan() || ns < 0.0 {
        return Err(PyValueError::new_err(format!("time_ns: {time} is not zero or more nanoseconds")));
    }
    // Saturates.
    Ok(ns as u64)
}

/// `3`, `"0-63,128"`, `range(8)` or `[0, 2]`.
fn rank_set(ranks: &Bound<'_, PyAny>) -> PyResult<RankSet> {
    if let Ok(text) = ranks.extract::<String>() {
        return text.parse().map_err(PyValueError::new_err);
    }
    if let Ok(rank) = ranks.extract::<u32>() {
        return Ok(RankSet::from_ranges(&[(rank, rank)]));
    }
    let wrong = || PyTypeError::new_err("ranks must be a number, a text such as \"0-63,128\", or numbers");
    let each = ranks.try_iter().map_err(|_| wrong())?;
    let each = each.map(|rank| rank?.extract::<u32>().map(|rank| (rank, rank)).map_err(|_| wrong()));
    Ok(RankSet::from_ranges(&each.collect::<PyResult<Vec<_>>>()?))
}

/// `"MPI_*"` or `["MPI_*", "main"]`; none would select everything, so that is an error.
pub fn patterns(regions: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
    if let Ok(pattern) = regions.extract::<String>() {
        return Ok(vec![pattern]);
    }
    let wrong = || PyTypeError::new_err("regions must be a name or names, with * and ? as wildcards");
    let each = regions.try_iter().map_err(|_| wrong())?;
    let patterns =
        each.map(|name| name?.extract::<String>().map_err(|_| wrong())).collect::<PyResult<Vec<_>>>()?;
    if patterns.is_empty() {
        return Err(PyValueError::new_err("no region is given"));
    }
    Ok(patterns)
}
