//! How the accelerators of a run were used, for the top of its page.

use ouzel_model::{Clock, units};
use ouzel_waits::accelerators::{AcceleratorsSummary, IdleCause};
use serde::Serialize;

/// The use of all accelerators together. Times are sums over devices, those of causes over streams.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AcceleratorsCard {
    /// Devices that run anything.
    pub n_devices: u64,
    /// Those of them that several processes drive.
    pub n_shared: u64,
    /// From the first operation of each device to its last.
    pub span_ns: u64,
    /// Time in which a device runs an operation.
    pub busy_ns: u64,
    /// `busy / span`.
    #[cfg_attr(feature = "schema", schemars(range(min = 0.0, max = 1.0)))]
    pub busy_fraction: f64,
    /// `busy / (run time × devices)`.
    #[cfg_attr(feature = "schema", schemars(range(min = 0.0, max = 1.0)))]
    pub busy_of_run: f64,
    /// Time in which a device communicates.
    pub communication_ns: u64,
    /// Time in which a device communicates and does not compute.
    pub exposed_ns: u64,
    /// Idle time of streams by cause, the longest first; causes without time are left out.
    pub idle: Vec<AcceleratorIdle>,
}

/// Idle time of one cause.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AcceleratorIdle {
    /// `host_late`, `host_waits`, `other_stream`, `copy`, `partner`, `dependency`, `start_up` or `other`.
    pub cause: &'static str,
    /// How long, over all streams.
    pub idle_ns: u64,
}

impl AcceleratorsCard {
    pub(crate) fn new(of: &AcceleratorsSummary, run_ns: u64, clock: &Clock) -> Self {
        let ratio = |part: u64, whole: u64| if whole == 0 { 0.0 } else { part as f64 / whole as f64 };
        let ns = |ticks| clock.ns_from_ticks(ticks);
        let causes = clock.ns_of_parts(of.causes);
        let mut idle: Vec<AcceleratorIdle> = IdleCause::ALL
            .iter()
            .map(|&cause| AcceleratorIdle { cause: cause.as_str(), idle_ns: causes[cause as usize] })
            .filter(|it| 0 < it.idle_ns)
            .collect();
        idle.sort_by_key(|it| std::cmp::Reverse(it.idle_ns));
        AcceleratorsCard {
            n_devices: of.n_devices,
            n_shared: of.n_shared,
            span_ns: ns(of.span),
            busy_ns: ns(of.busy),
            busy_fraction: ratio(of.busy.0, of.span.0),
            busy_of_run: ratio(ns(of.busy), run_ns.saturating_mul(of.n_devices)).min(1.0),
            communication_ns: ns(of.communication),
            exposed_ns: ns(of.exposed),
            idle,
        }
    }

    /// The card in a sentence.
    pub fn in_words(&self) -> String {
        let mut devices = units::counted(self.n_devices, "accelerator", "accelerators");
        devices += match (self.n_shared, self.n_devices) {
            (0, _) => "",
            (shared, all) if shared == all => ", shared by several processes",
            _ => ", some shared by several processes",
        };
        let busy = units::percent(Some(self.busy_fraction));
        let of_run = units::percent(Some(self.busy_of_run));
        let mut text = format!(
            "{devices}: busy {busy} of the time between first and last operation, {of_run} of the run"
        );
        if 0 < self.communication_ns {
            text += &format!(
                "; communication {}, of which nothing hides {}",
                units::time(self.communication_ns),
                units::time(self.exposed_ns)
            );
        }
        let causes =
            self.idle.iter().take(4).map(|it| format!("{} {}", in_words(it.cause), units::time(it.idle_ns)));
        let causes: Vec<String> = causes.collect();
        if !causes.is_empty() {
            text += &format!("; streams idle: {}", causes.join(", "));
        }
        text
    }
}

/// The cause as the page says it.
fn in_words(cause: &str) -> &'static str {
    match cause {
        "host_late" => "the host launches late",
        "host_waits" => "the host waits for devices",
        "other_stream" => "another stream comes first",
        "copy" => "copies",
        "partner" => "others are late to a collective",
        "dependency" => "between operations that are queued",
        "start_up" => "start-up",
        _ => "reason not recorded",
    }
}
