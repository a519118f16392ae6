//! The operations under the names that Pipit gave them (Bhatele et al., *Pipit*, SC 2023).

use crate::arguments;
use crate::arguments::{by_what, choice, per_what, semantics, time_columns, traffic_unit};
use crate::selection::patterns;
use crate::shapes::{CommMatrix, Histogram};
use crate::table::Table;
use crate::trace::Trace;
use ouzel::ProfileQuery;
use ouzel::analyses::breakdown::{Breakdown, HostCode, Requests};
use ouzel::analyses::call_path_profile::CallPathProfile;
use ouzel::analyses::comm_matrix::{CommMatrix as CommMatrixAnalysis, Expansion};
use ouzel::analyses::comm_over_time::CommOverTime;
use ouzel::analyses::counters_over_time::CountersOverTime;
use ouzel::analyses::flat_profile::flat_profile;
use ouzel::analyses::idle::{IDLE, IdleRegions, MPI_WAITS, idle_time};
use ouzel::analyses::imbalance::imbalance;
use ouzel::analyses::message_histogram::MessageHistogram;
use ouzel::analyses::metric_profile::MetricProfile;
use ouzel::analyses::semantics::Semantics;
use ouzel::analyses::time_profile::Scale;
use ouzel::analyses::{By, Per};
use ouzel::model::Filter;
use ouzel::waits::accelerators::StepsAsked;
use ouzel_plot::{ColourScale, pictures};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::path::PathBuf;

#[pymethods]
impl Trace {
    #[doc = prose!("Trace.flat_profile")]
    #[pyo3(signature = (metrics=None, *, by="region", per_process=false))]
    fn flat_profile(
        &self,
        py: Python<'_>,
        metrics: Option<&Bound<'_, PyAny>>,
        by: &str,
        per_process: bool,
    ) -> PyResult<Table> {
        let (kept, by) = (time_columns(metrics)?, by_what(by)?);
        self.table(py, |trace, options| {
            let definitions = trace.definitions();
            Ok(trace.call_path_profile(by, options)?.map(|profile| {
                let mut table = match per_process {
                    true => profile.table(definitions, by, Per::Rank),
                    false => flat_profile(&profile, definitions, by).table(&profile, definitions, by),
                };
                let is_time = |name: &str| name.starts_with("exclusive") || name.starts_with("inclusive");
                table
                    .columns
                    .retain(|c| !is_time(&c.name) || kept.iter().any(|kind| c.name.starts_with(kind)));
                table
            }))
        })
    }

    #[doc = prose!("Trace.profile")]
    #[pyo3(signature = (*, by="region", per="total", messages=false, metrics=None))]
    fn profile(
        &self,
        py: Python<'_>,
        by: &str,
        per: &str,
        messages: bool,
        metrics: Option<Vec<String>>,
    ) -> PyResult<Table> {
        let (by, per, counters) = (by_what(by)?, per_what(per)?, self.counters(metrics)?);
        let query = ProfileQuery { by, per, messages, counters: &counters };
        self.table(py, |trace, options| trace.profile_table(&query, options))
    }

    #[doc = prose!("Trace.metric_profile")]
    #[pyo3(signature = (*, by="region", per="total"))]
    fn metric_profile(&self, py: Python<'_>, by: &str, per: &str) -> PyResult<Table> {
        let (by, per) = (by_what(by)?, per_what(per)?);
        self.table(py, |trace, options| {
            let ask = |options: &ouzel::Options<'_>| trace.ask(MetricProfile, options);
            let answer = trace.with_callers(by, options, ask)?;
            Ok(answer.map(|profile| profile.table(trace.definitions(), by, per)))
        })
    }

    #[doc = prose!("Trace.counters_over_time")]
    #[pyo3(signature = (metrics=None, *, bins=50))]
    fn counters_over_time(&self, py: Python<'_>, metrics: Option<Vec<String>>, bins: i64) -> PyResult<Table> {
        let (n_bins, chosen) = (arguments::bins(bins, "bins")?, self.metrics_named(metrics)?);
        self.table(py, |trace, options| {
            let in_bins = |grid| CountersOverTime::new(grid, chosen.clone());
            Ok(trace.ask_in_bins(n_bins, in_bins, options)?.map(|output| output.table(trace.definitions())))
        })
    }

    #[doc = prose!("Trace.time_profile")]
    #[pyo3(signature = (num_bins=50, normalized=false, *, by="region", idle=false, wide=false))]
    #[expect(clippy::too_many_arguments, reason = "keywords of Python")]
    fn time_profile(
        &self,
        py: Python<'_>,
        num_bins: i64,
        normalized: bool,
        by: &str,
        idle: bool,
        wide: bool,
    ) -> PyResult<Table> {
        let (n_bins, by) = (arguments::bins(num_bins, "num_bins")?, by_what(by)?);
        let scale = if normalized { Scale::Normalised } else { Scale::Time };
        let origin = self.origin();
        self.drawn(py, |trace, options| {
            let definitions = trace.definitions();
            let classes = Semantics::default().classes(definitions);
            Ok(trace.time_profile(n_bins, by, options)?.map(|profile| {
                let table = match (wide, idle) {
                    (true, _) => profile.wide_table(definitions, by, scale),
                    (false, true) => profile.bins_table(definitions),
                    (false, false) => profile.table(definitions, by),
                };
                (table, pictures::time_profile(&profile, definitions, &classes, &origin))
            }))
        })
    }

    #[doc = prose!("Trace.comm_matrix")]
    #[pyo3(signature = (output="bytes", *, collectives=false, log=false))]
    fn comm_matrix(
        &self,
        py: Python<'_>,
        output: &str,
        collectives: bool,
        log: bool,
    ) -> PyResult<Py<CommMatrix>> {
        let unit = traffic_unit(output)?;
        let expansion = if collectives { Expansion::WithCollectives } else { Expansion::PointToPoint };
        let answer =
            self.answer(py, |trace, options| trace.ask(CommMatrixAnalysis { expansion }, options))?;
        let matrix = CommMatrix::new(answer.output.clone(), unit);
        let scale = if log { ColourScale::Logarithmic } else { ColourScale::Linear };
        let picture = pictures::comm_matrix(&answer.output, unit, scale, &self.origin());
        let table = Table::new(py, answer.map(|output| output.table()), self.inner.definitions())?;
        let table = table.with_picture(Some(picture));
        Py::new(py, PyClassInitializer::from(table).add_subclass(matrix))
    }

    #[doc = prose!("Trace.comm_by_process")]
    #[pyo3(signature = (output="bytes", *, collectives=false))]
    fn comm_by_process(&self, py: Python<'_>, output: &str, collectives: bool) -> PyResult<Table> {
        let unit = traffic_unit(output)?;
        let expansion = if collectives { Expansion::WithCollectives } else { Expansion::PointToPoint };
        let origin = self.origin();
        self.drawn(py, |trace, options| {
            Ok(trace
                .ask(CommMatrixAnalysis { expansion }, options)?
                .map(|output| (output.by_process_table(), pictures::comm_by_process(&output, unit, &origin))))
        })
    }

    #[doc = prose!("Trace.message_histogram")]
    #[pyo3(signature = (bins=20, *, log=false))]
    fn message_histogram(&self, py: Python<'_>, bins: i64, log: bool) -> PyResult<Py<Histogram>> {
        let n_bins = arguments::bins(bins, "bins")?;
        let answer = self.answer(py, |trace, options| {
            let answer = trace.ask(MessageHistogram, options)?;
            Ok(answer.map(|sizes| if log { sizes.log2() } else { sizes.linear(n_bins) }))
        })?;
        let histogram =
            Histogram { counts: answer.output.counts.clone(), edges: answer.output.edges.clone() };
        let picture = pictures::message_histogram(&answer.output, log, &self.origin());
        let table = Table::new(py, answer.map(|histogram| histogram.table()), self.inner.definitions())?;
        let table = table.with_picture(Some(picture));
        Py::new(py, PyClassInitializer::from(table).add_subclass(histogram))
    }

    #[doc = prose!("Trace.comm_over_time")]
    #[pyo3(signature = (output="bytes", message_type="send", bins=50))]
    fn comm_over_time(
        &self,
        py: Python<'_>,
        output: &str,
        message_type: &str,
        bins: i64,
    ) -> PyResult<Py<Histogram>> {
        let (n_bins, unit) = (arguments::bins(bins, "bins")?, traffic_unit(output)?);
        let is_send = choice("message_type", message_type, &[("send", true), ("receive", false)])?;
        let definitions = self.inner.definitions();
        let answer =
            self.answer(py, |trace, options| trace.ask_in_bins(n_bins, CommOverTime::new, options))?;
        let traffic = |bin: &ouzel::analyses::comm_over_time::BinTraffic| {
            unit.of(if is_send { bin.sent } else { bin.received })
        };
        let histogram = Histogram {
            counts: answer.output.bins.iter().map(traffic).collect(),
            edges: answer.output.grid.edges_ns(definitions).into_iter().map(|ns| ns as f64).collect(),
        };
        let picture = pictures::comm_over_time(&answer.output, definitions, unit, &self.origin());
        let table = Table::new(py, answer.map(|output| output.table(definitions)), definitions)?;
        let table = table.with_picture(Some(picture));
        Py::new(py, PyClassInitializer::from(table).add_subclass(histogram))
    }

    #[doc = prose!("Trace.comm_comp_breakdown")]
    #[pyo3(signature = (*, host_code="without_streams", requests=true, rules=None))]
    fn comm_comp_breakdown(
        &self,
        py: Python<'_>,
        host_code: &str,
        requests: bool,
        rules: Option<PathBuf>,
    ) -> PyResult<Table> {
        let semantics = semantics(rules)?;
        let host_codes = [
            ("without_streams", HostCode::ComputesWithoutStreams),
            ("always", HostCode::Computes),
            ("never", HostCode::DoesNotCompute),
        ];
        let host_code = choice("host_code", host_code, &host_codes)?;
        let requests = if requests { Requests::Included } else { Requests::LeftOut };
        let origin = self.origin();
        self.drawn(py, |trace, options| {
            let definitions = trace.definitions();
            let classes = semantics.classes(definitions);
            let breakdown = Breakdown::new(&classes, host_code, requests);
            Ok(trace.ask(breakdown, options)?.map(|output| {
                (output.table(definitions), pictures::breakdown(&output, definitions, &origin))
            }))
        })
    }

    #[doc = prose!("Trace.load_imbalance")]
    #[pyo3(signature = (metric="time.exc", *, num_processes=5, by="region", rules=None))]
    fn load_imbalance(
        &self,
        py: Python<'_>,
        metric: &str,
        num_processes: usize,
        by: &str,
        rules: Option<PathBuf>,
    ) -> PyResult<Table> {
        let (by, semantics) = (by_what(by)?, semantics(rules)?);
        if metric != "time.exc" {
            return self.imbalance_of_counter(py, metric, num_processes, by, &semantics);
        }
        let origin = self.origin();
        self.drawn(py, |trace, options| {
            let definitions = trace.definitions();
            let classes = semantics.classes(definitions);
            Ok(trace.call_path_profile(by, options)?.map(|profile| {
                let output = imbalance(&profile, definitions, &classes, by);
                let picture = pictures::imbalance(&output, definitions, &origin);
                (output.table(&profile, definitions, by, num_processes), picture)
            }))
        })
    }

    #[doc = prose!("Trace.idle_time")]
    #[pyo3(signature = (idle_functions=None, mpi_events=None, *, per="rank", by=None, step=None, step_range=None))]
    #[expect(clippy::too_many_arguments, reason = "keywords of Python")]
    fn idle_time(
        &self,
        py: Python<'_>,
        idle_functions: Option<&Bound<'_, PyAny>>,
        mpi_events: Option<bool>,
        per: &str,
        by: Option<&str>,
        step: Option<u64>,
        step_range: Option<&str>,
    ) -> PyResult<Table> {
        let asked = StepsAsked { marks: step_range, step, per_step: false };
        if let Some(by) = by {
            return match choice("by", by, &[("cause", true), ("gap", false)])? {
                true => self.idle_by_cause(py, &asked),
                false => self.longest_gaps(py, &asked),
            };
        }
        if asked != StepsAsked::default() {
            return Err(PyValueError::new_err("step and step_range need by=\"cause\" or \"gap\""));
        }
        let per = per_what(per)?;
        let named = idle_functions.map(patterns).transpose()?;
        // Unknown names are reported, as everywhere, except those of the defaults.
        let asked = Filter { regions: named.clone().unwrap_or_default(), ..Filter::default() };
        let unmatched = asked.resolve(self.inner.definitions()).unmatched;
        // As in Pipit once a parameter of Pipit's is given; else as on the command line.
        let is_default = named.is_none() && mpi_events.is_none();
        let mut names = named.unwrap_or_else(|| IDLE.iter().map(|&name| name.to_owned()).collect());
        let waits = mpi_events.unwrap_or_default().then_some(MPI_WAITS);
        names.extend(waits.into_iter().flatten().map(|&name| name.to_owned()));
        let origin = self.origin();
        self.drawn(py, |trace, options| {
            let definitions = trace.definitions();
            let idle = match is_default {
                true => IdleRegions::known(definitions),
                false => IdleRegions::named(definitions, &names),
            };
            let mut answer = trace.ask(CallPathProfile, options)?;
            answer.notices.extend(unmatched);
            Ok(answer.map(|profile| {
                let output = idle_time(&profile, definitions, &idle);
                (output.table(definitions, per), pictures::idle(&output, definitions, &origin))
            }))
        })
    }
}

impl Trace {
    /// How unevenly what a counter gained is spread.
    fn imbalance_of_counter(
        &self,
        py: Python<'_>,
        name: &str,
        n_top: usize,
        by: By,
        semantics: &Semantics,
    ) -> PyResult<Table> {
        let id = self.counter(name)?;
        let definitions = self.inner.definitions();
        let answer = self.answer(py, |trace, options| {
            Ok(trace.call_path_gains(id, by, options)?.map(|gains| {
                let classes = semantics.classes(definitions);
                let output = imbalance(&gains, definitions, &classes, by);
                let metric = &definitions.metrics[id.index()];
                output.table_of_metric(&gains, definitions, by, metric, n_top)
            }))
        })?;
        Table::new(py, answer, definitions)
    }
}
