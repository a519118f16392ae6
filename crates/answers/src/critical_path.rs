//! `ouzel critical-path`.

use ouzel::analyses::critical_path::PathProfile;
use ouzel::model::Definitions;
use ouzel::waits::accelerators::DeviceProjection;
use ouzel_export::TableRows;
use serde::Serialize;

/// The chain of work and waiting that determines the run time.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CriticalPathAnswer {
    /// From the start of the path to the end of the run.
    pub length_ns: u64,
    /// In order of time, without gap or overlap.
    #[cfg_attr(feature = "schema", schemars(with = "Vec<crate::words::CriticalPathStep>"))]
    pub segments: TableRows,
    /// Most time first.
    #[cfg_attr(feature = "schema", schemars(with = "Vec<crate::words::CriticalPathRegion>"))]
    pub by_region: TableRows,
    /// What the path is bound by; the times add up to its length.
    pub bounds: Vec<CriticalPathBound>,
    /// With `--faster`, `--fused` or `--no-launch-cost`: how long the run would take; else `null`.
    pub what_if: Option<DeviceWhatIf>,
}

/// The run with changes of what accelerators do, by a replay of hosts and streams.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DeviceWhatIf {
    /// Until the last event, as recorded.
    pub run_time_ns: u64,
    /// The same with the changes.
    pub projected_run_time_ns: u64,
    /// run time − projected run time.
    pub gain_ns: i64,
    /// Operations and launches that are changed.
    pub n_changed: u64,
    /// Mean time between the begins of the first operations of two steps; `null` without steps.
    pub step_ns: Option<f64>,
    /// The same with the changes.
    pub projected_step_ns: Option<f64>,
}

impl DeviceWhatIf {
    fn new(projection: &DeviceProjection, definitions: &Definitions) -> Self {
        let ns = |ticks| definitions.clock.ns_from_ticks(ticks);
        let step = projection.step_ns(definitions);
        let (run_time_ns, projected_run_time_ns) = (ns(projection.run), ns(projection.projected));
        let signed = |ns: u64| i64::try_from(ns).unwrap_or(i64::MAX);
        DeviceWhatIf {
            run_time_ns,
            projected_run_time_ns,
            gain_ns: signed(run_time_ns) - signed(projected_run_time_ns),
            n_changed: projection.n_changed,
            step_ns: step.map(|step| step.0),
            projected_step_ns: step.map(|step| step.1),
        }
    }
}

/// Time on the path that one resource bounds.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CriticalPathBound {
    /// `cpu`, `gpu`, `launch` (from a launch until the operation begins) or `communication`.
    pub bound: &'static str,
    /// How long.
    pub total_ns: u64,
}

impl CriticalPathAnswer {
    /// The shape of `path`.
    pub fn new(path: &PathProfile, what_if: Option<&DeviceProjection>, definitions: &Definitions) -> Self {
        CriticalPathAnswer {
            length_ns: definitions.clock.ns_from_ticks(path.length()),
            segments: TableRows(path.segments_table(definitions)),
            by_region: TableRows(path.by_region_table(definitions)),
            bounds: path
                .bounds
                .ns(&definitions.clock)
                .map(|(bound, total_ns)| CriticalPathBound { bound: bound.as_str(), total_ns })
                .into(),
            what_if: what_if.map(|projection| DeviceWhatIf::new(projection, definitions)),
        }
    }
}
