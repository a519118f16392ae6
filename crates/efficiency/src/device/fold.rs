//! The fold: for each stream an interval for each change of activity; for each device their unions.
//!
//! Memory: 16 bytes for each change of activity of a device until all its streams are folded, then sums.

use ouzel_analyses::breakdown::{Activity, Intervals, activity};
use ouzel_analyses::semantics::Class;
use ouzel_engine::{Analysis, AnalysisError, FinishCx, LocationCx, LocationSummary, Question, SelectionCx};
use ouzel_model::{
    Content, Contents, EventChunk, EventKind, LocationGroupId, LocationKind, Needs, Remap, Ticks,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What each accelerator does.
#[derive(Debug, Clone)]
pub struct DeviceActivity {
    classes: Vec<Class>,
}

impl DeviceActivity {
    /// `classes` has the class of every region.
    pub fn new(classes: &[Class]) -> Self {
        DeviceActivity { classes: classes.to_vec() }
    }
}

impl Question for DeviceActivity {
    type Analysis = DeviceFold;
    type Output = Vec<DeviceTimes>;

    fn prepare(self: Arc<Self>, cx: &SelectionCx<'_>) -> Arc<DeviceFold> {
        let definitions = cx.definitions;
        let mut n_streams: BTreeMap<LocationGroupId, u32> = BTreeMap::new();
        for &location in &cx.selection.locations {
            let location = definitions.location(location);
            if location.kind == LocationKind::AcceleratorStream {
                *n_streams.entry(location.group).or_default() += 1;
            }
        }
        let activities = activity::stream_activities(definitions, &self.classes);
        Arc::new(DeviceFold { activities, n_streams })
    }
}

/// [`DeviceActivity`] of the selected streams.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct DeviceFold {
    /// By region.
    activities: Vec<Activity>,
    /// Selected streams of each device.
    n_streams: BTreeMap<LocationGroupId, u32>,
}

/// What a device does in the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeviceTimes {
    /// The device: the accelerator context that its streams belong to.
    pub device: LocationGroupId,
    /// Time in which it runs at least one kernel.
    pub kernels: Ticks,
    /// Time in which it runs a kernel, copies or communicates.
    pub active: Ticks,
}

/// When streams do what.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct StreamIntervals {
    kernels: Intervals,
    /// These, copies and communication.
    active: Intervals,
}

/// A stream while it is folded.
#[derive(Debug, Default)]
pub struct DeviceLocal {
    is_stream: bool,
    stack: Vec<Activity>,
    since: Ticks,
    intervals: StreamIntervals,
}

/// The streams of a device folded so far.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct DevicePartial {
    n_folded: u32,
    /// Empty once all streams are folded.
    intervals: StreamIntervals,
    kernels: u64,
    active: u64,
}

/// The devices.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DevicesPartial(BTreeMap<LocationGroupId, DevicePartial>);

impl Analysis for DeviceFold {
    type Local = DeviceLocal;
    type Partial = DevicesPartial;
    type Output = Vec<DeviceTimes>;
    const NAME: &'static str = "device_activity";
    const PARTIAL_VERSION: u32 = 1;

    fn needs(&self) -> Needs {
        Needs::NOTHING
    }

    fn speaks_of(&self) -> Contents {
        Contents::of(&[Content::Calls])
    }

    fn empty(&self) -> DevicesPartial {
        DevicesPartial::default()
    }

    fn begin(&self, cx: &LocationCx<'_>) -> DeviceLocal {
        let is_stream = cx.definitions.location(cx.location).kind == LocationKind::AcceleratorStream;
        DeviceLocal { is_stream, ..DeviceLocal::default() }
    }

    fn fold(&self, local: &mut DeviceLocal, chunk: &EventChunk<'_>) {
        if local.is_stream {
            follow_calls(local, chunk, &self.activities);
        }
    }

    fn end(&self, local: DeviceLocal, cx: &LocationCx<'_>, _: &LocationSummary, into: &mut DevicesPartial) {
        if local.is_stream {
            let partial =
                DevicePartial { n_folded: 1, intervals: local.intervals, ..DevicePartial::default() };
            self.add(into, cx.definitions.location(cx.location).group, &partial);
        }
    }

    fn remap(&self, _: &mut DevicesPartial, _: &Remap) {}

    fn merge(&self, into: &mut DevicesPartial, from: DevicesPartial) {
        from.0.iter().for_each(|(&device, partial)| self.add(into, device, partial));
    }

    fn finish(&self, partial: DevicesPartial, _: &FinishCx<'_>) -> Result<Vec<DeviceTimes>, AnalysisError> {
        let times = |(device, mut partial): (LocationGroupId, DevicePartial)| {
            partial.settle();
            DeviceTimes { device, kernels: Ticks(partial.kernels), active: Ticks(partial.active) }
        };
        Ok(partial.0.into_iter().map(times).collect())
    }
}

impl DeviceFold {
    fn add(&self, into: &mut DevicesPartial, device: LocationGroupId, from: &DevicePartial) {
        let all = self.n_streams.get(&device).copied().unwrap_or(0);
        let partial = into.0.entry(device).or_default();
        partial.n_folded += from.n_folded;
        partial.kernels += from.kernels;
        partial.active += from.active;
        partial.intervals.kernels = partial.intervals.kernels.union(&from.intervals.kernels);
        partial.intervals.active = partial.intervals.active.union(&from.intervals.active);
        if all <= partial.n_folded {
            partial.settle();
        }
    }
}

impl DevicePartial {
    /// Turns intervals into sums.
    fn settle(&mut self) {
        let StreamIntervals { kernels, active } = std::mem::take(&mut self.intervals);
        self.kernels += kernels.n_ticks();
        self.active += active.n_ticks();
    }
}

/// Follows the innermost call: the hot loop.
#[inline(never)]
fn follow_calls(local: &mut DeviceLocal, chunk: &EventChunk<'_>, activities: &[Activity]) {
    for ((&at, &kind), &region) in chunk.time.iter().zip(chunk.kind).zip(chunk.regions_shown()) {
        match kind {
            EventKind::Enter => {
                take(local, at);
                local.stack.push(activities.get(region.index()).copied().unwrap_or(Activity::Unclassified));
            }
            EventKind::Leave => {
                take(local, at);
                local.stack.pop();
            }
            _ => {}
        }
    }
}

/// Gives the time since the last change to what the stream did.
#[inline]
fn take(local: &mut DeviceLocal, at: Ticks) {
    let (start, end) = (local.since.0, at.0);
    local.since = at;
    match local.stack.last() {
        Some(Activity::Computation) => {
            local.intervals.kernels.push(start, end);
            local.intervals.active.push(start, end);
        }
        Some(Activity::Communication | Activity::Transfer) => local.intervals.active.push(start, end),
        Some(Activity::Unclassified | Activity::Other) | None => {}
    }
}
