//! Operations about who depends on whom and about what repeats, under the names that Pipit gave them.

use crate::arguments::choice;
use crate::table::Table;
use crate::trace::Trace;
use crate::value::to_python;
use ouzel::analyses::patterns::PatternOptions;
use ouzel::analyses::semantics::Semantics;
use ouzel::model::{Definitions, RegionId, WorldRank};
use ouzel::replay::{Change, ChangeError, Code};
use ouzel::waits::accelerators::DeviceChange;
use ouzel::{ConnectedTimeline, TimelineConnections};
use ouzel_answers::WhatIfAnswer;
use ouzel_plot::pictures::{self, Connections, TimelineRows};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::num::NonZeroUsize;

/// What a row of the critical path is.
#[derive(Debug, Clone, Copy)]
enum PathRows {
    Segments,
    Regions,
    CallPaths,
    Bounds,
}

#[pymethods]
impl Trace {
    #[doc = prose!("Trace.critical_path_analysis")]
    #[pyo3(signature = (*, by="segment", faster=None, fused=false, no_launch_cost=false))]
    fn critical_path_analysis(
        &self,
        py: Python<'_>,
        by: &str,
        faster: Option<Vec<String>>,
        fused: bool,
        no_launch_cost: bool,
    ) -> PyResult<Table> {
        let faster = faster.into_iter().flatten().map(|text| {
            let because = |reason| PyValueError::new_err(format!("faster: {text:?}: {reason}"));
            DeviceChange::faster(&text).map_err(because)
        });
        let changes = DeviceChange::all(faster.collect::<PyResult<_>>()?, fused, no_launch_cost);
        if !changes.is_empty() {
            if by != "segment" {
                return Err(PyValueError::new_err(
                    "by is for the path as recorded: leave it out with changes",
                ));
            }
            return self.table(py, |trace, options| {
                let answer = trace.device_what_if(&changes, options)?;
                Ok(answer.map(|projection| projection.table(trace.definitions())))
            });
        }
        let choices = [
            ("segment", PathRows::Segments),
            ("region", PathRows::Regions),
            ("call_path", PathRows::CallPaths),
            ("bound", PathRows::Bounds),
        ];
        let rows = choice("by", by, &choices)?;
        let origin = self.origin();
        self.drawn(py, |trace, options| {
            let definitions = trace.definitions();
            Ok(trace.critical_path(options)?.map(|path| {
                let table = match rows {
                    PathRows::Segments => path.segments_table(definitions),
                    PathRows::Regions => path.by_region_table(definitions),
                    PathRows::CallPaths => path.table(definitions),
                    PathRows::Bounds => path.bounds_table(definitions),
                };
                (table, pictures::critical_path(&path, definitions, &origin))
            }))
        })
    }

    #[doc = prose!("Trace.calculate_lateness")]
    #[pyo3(signature = (*, per="rank"))]
    fn calculate_lateness(&self, py: Python<'_>, per: &str) -> PyResult<Table> {
        let of_operations = choice("per", per, &[("rank", false), ("operation", true)])?;
        let origin = self.origin();
        self.drawn(py, |trace, options| {
            let definitions = trace.definitions();
            Ok(trace.lateness(options)?.map(|late| {
                let table = match of_operations {
                    true => late.operations_table(definitions),
                    false => late.table(&definitions.clock),
                };
                (table, pictures::lateness(&late, definitions, &origin))
            }))
        })
    }

    #[doc = prose!("Trace.what_if")]
    #[pyo3(signature = (*, faster=None, remove=None, balance=None, network=None))]
    fn what_if<'py>(
        &self,
        py: Python<'py>,
        faster: Option<Vec<String>>,
        remove: Option<Vec<String>>,
        balance: Option<Vec<String>>,
        network: Option<&str>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let codes = |codes: Option<Vec<String>>| {
            codes.into_iter().flatten().map(|code| {
                let Ok(code) = code.parse::<Code>();
                code
            })
        };
        let faster = faster.into_iter().flatten().map(|text| Change::faster(&text));
        let network = network.map(|text| text.parse().map(Change::Network));
        let changes = faster
            .chain(codes(remove).map(|code| Ok(Change::Removed(code))))
            .chain(codes(balance).map(|code| Ok(Change::Balanced(code))))
            .chain(network)
            .collect::<Result<Vec<Change>, ChangeError>>()
            .map_err(|error| PyValueError::new_err(error.to_string()))?;
        let answer = self.answer(py, |trace, options| trace.what_if(changes, options))?;
        to_python(py, &WhatIfAnswer::new(&answer.output, self.inner.definitions()))
    }

    #[doc = prose!("Trace.timeline")]
    #[pyo3(signature = (*, depth=false, messages=false, critical_path=false, interactive=false))]
    fn timeline<'py>(
        &self,
        py: Python<'py>,
        depth: bool,
        messages: bool,
        critical_path: bool,
        interactive: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        if depth && (messages || critical_path) {
            return Err(PyValueError::new_err("depth draws the calls of one rank: nothing connects them"));
        }
        if interactive {
            return self.viewed(
                py,
                Vec::new(),
                None,
                "2h",
                &self.timeline_hash(depth, messages, critical_path),
            );
        }
        let rows = if depth { TimelineRows::Depths } else { TimelineRows::Locations };
        let wanted = TimelineConnections { messages, critical_path };
        let origin = self.origin();
        let table = self.drawn(py, |trace, options| {
            let definitions = trace.definitions();
            let classes = Semantics::default().classes(definitions);
            Ok(trace.timeline(wanted, options)?.map(|ConnectedTimeline { timeline, messages, path }| {
                let over = Connections { messages: messages.as_ref(), path: path.as_ref() };
                let picture = pictures::timeline(&timeline, definitions, &classes, rows, over, &origin);
                (timeline.table(definitions), picture)
            }))
        })?;
        Ok(Bound::new(py, table)?.into_any())
    }

    #[doc = prose!("Trace.pattern_detection")]
    #[pyo3(signature = (start_event=None, iterations=None, window_size=None, process=None, metric="time.exc"))]
    #[expect(clippy::too_many_arguments, reason = "those of Pipit")]
    fn pattern_detection(
        &self,
        py: Python<'_>,
        start_event: Option<&str>,
        iterations: Option<usize>,
        window_size: Option<usize>,
        process: Option<u32>,
        metric: &str,
    ) -> PyResult<Table> {
        choice("metric", metric, &[("time.exc", ())])?;
        let none = || PyValueError::new_err("iterations must be 1 or more");
        let pattern = PatternOptions {
            start: start_event.map(|name| region(self.inner.definitions(), name)).transpose()?,
            iterations: iterations.map(|n| NonZeroUsize::new(n).ok_or_else(none)).transpose()?,
            window: window_size,
            ..PatternOptions::default()
        };
        self.table(py, |trace, options| {
            let clock = &trace.definitions().clock;
            Ok(trace.patterns(process.map(WorldRank), &pattern, options)?.map(|found| found.table(clock)))
        })
    }

    #[doc = prose!("Trace.detect_pattern")]
    #[pyo3(signature = (start_event=None, iterations=None, window_size=None, process=None, metric="time.exc"))]
    #[expect(clippy::too_many_arguments, reason = "those of Pipit")]
    fn detect_pattern(
        &self,
        py: Python<'_>,
        start_event: Option<&str>,
        iterations: Option<usize>,
        window_size: Option<usize>,
        process: Option<u32>,
        metric: &str,
    ) -> PyResult<Table> {
        self.pattern_detection(py, start_event, iterations, window_size, process, metric)
    }
}

/// The first region of a name.
fn region(definitions: &Definitions, name: &str) -> PyResult<RegionId> {
    let found = definitions.regions.iter().position(|region| &*region.name == name);
    let missing =
        || PyValueError::new_err(format!("no region is called {name:?}; trace.regions has the names"));
    found.map(RegionId::from_index).ok_or_else(missing)
}
