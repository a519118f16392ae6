//! Waiting in operations of several devices together.
//!
//! All members of an instance wait for the last to begin. One that ended before that did not run with it by its clock:
//! such an instance has no value.

use crate::class::{Certainty, WaitClass};
use crate::records::{CollectiveRecord, LocationRecords};
use crate::wait::{Culprit, Wait};
use ouzel_analyses::paired_operations::{CollectiveMember, CollectivePart, instances, n_members};
use ouzel_engine::FinishCx;
use ouzel_model::{Definitions, Level, LocationId, Notice, NoticeCode, Ticks};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// What the collectives of streams say about waiting.
#[derive(Debug, Default)]
pub(crate) struct DeviceCollectiveWaits {
    pub waits: Vec<Wait>,
    /// Selected operations whose instance lacks members.
    n_partial: u64,
    /// Selected operations that did not run at the same time.
    n_disjoint: u64,
}

/// The waits of all devices.
pub(crate) fn device_collective_waits(
    records: &BTreeMap<LocationId, LocationRecords>,
    definitions: &Definitions,
) -> DeviceCollectiveWaits {
    let mut found = DeviceCollectiveWaits::default();
    let parts = records.iter().flat_map(|(&id, of)| of.stream_collectives.iter().map(move |it| (id, it)));
    let all: Vec<(LocationId, &CollectiveRecord)> = parts.collect();
    let member = |(op, &(_, it)): (u32, &(LocationId, &CollectiveRecord))| CollectiveMember {
        op,
        part: CollectivePart { op: it.op, comm: it.comm, root: it.root, arrived: it.arrived },
        leave: it.end,
        is_selected: it.is_selected,
    };
    let members = (0..).zip(&all).map(member);
    let (instances, n_unaligned) = instances(members, |op| all[op as usize].0, definitions);
    found.n_partial += n_unaligned;
    for instance in instances {
        let n_selected = || instance.iter().filter(|it| it.is_selected).count() as u64;
        let comm = definitions.communicator(instance[0].part.comm);
        if instance.len() < n_members(comm) {
            found.n_partial += n_selected();
            continue;
        }
        let members: Vec<(LocationId, &CollectiveRecord)> =
            instance.iter().map(|it| all[it.op as usize]).collect();
        let last = members.iter().max_by_key(|(location, it)| (it.arrived, Reverse(*location)));
        let first_end = members.iter().map(|(_, it)| it.end).min();
        let (Some(&(location, last)), Some(first_end)) = (last, first_end) else { continue };
        if first_end < last.arrived {
            found.n_disjoint += n_selected();
            continue;
        }
        let &CollectiveRecord { path, arrived, end: left, .. } = last;
        let culprit = Some(Culprit { location, path, arrived, left });
        found.waits.extend(members.iter().filter_map(|member| wait(*member, arrived, culprit)));
    }
    found
}

impl DeviceCollectiveWaits {
    /// Says what could not be determined.
    pub fn report(&self, cx: &FinishCx<'_>) {
        let push = |count: u64, code, what: &str| {
            if 0 < count {
                cx.notices.push(Notice::new(Level::Medium, code, what).times(count));
            }
        };
        push(
            self.n_partial,
            NoticeCode::UnalignedSynchronisations,
            "a collective of accelerators has no wait: the operations of its other members are not known, as the \
             traces of their ranks are missing or do not say which belong together",
        );
        push(
            self.n_disjoint,
            NoticeCode::ClocksUnsynchronised,
            "a collective of accelerators has no wait: one of its operations ended before another began, so their \
             clocks differ",
        );
    }
}

fn wait(
    (location, it): (LocationId, &CollectiveRecord),
    last: Ticks,
    culprit: Option<Culprit>,
) -> Option<Wait> {
    (it.arrived < last).then_some(Wait {
        class: WaitClass::WaitInDeviceCollective,
        certainty: Certainty::Certain,
        is_clamped: false,
        location,
        path: it.path,
        enter: it.arrived,
        leave: it.end,
        start: it.arrived,
        end: last,
        culprit,
        nth: 0,
    })
}
