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
    /// From the first operation of each device to its last.
    pub span_ns: u64,
    /// Time in which a device runs an operation.
    pub busy_ns: u64,
    /// `busy / span`.
    #[cfg_attr(feature = "schema", schemars(range(min = 0.0, max = 1.0)))]
    pub busy_fraction: f64,
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
    pub(crate) fn new(of: &AcceleratorsSummary, clock: &Clock) -> Self {
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
            span_ns: ns(of.span),
            busy_ns: ns(of.busy),
            busy_fraction: if of.span.0 == 0 { 0.0 } else { of.busy.0 as f64 / of.span.0 as f64 },
            communication_ns: ns(of.communication),
            exposed_ns: ns(of.exposed),
            idle,
        }
    }

    /// The card in a sentence.
    pub fn in_words(&self) -> String {
        let devices = units::counted(self.n_devices, "accelerator", "accelerators");
        let busy = units::percent(Some(self.busy_fraction));
        let mut text = format!("{devices}: busy {busy} of the time between first and last operation");
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
fn in_words(cause: &str) -> String {
    match cause {
        "partner" => "others late to a collective".to_owned(),
        _ => cause.replace('_', " "),
    }
}
