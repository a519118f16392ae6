//! Collective operations on windows: fences, making and freeing windows, and those of other programming models.

use super::{OneSided, RmaWaits};
use crate::calls::CallKind;
use crate::class::WaitClass;
use crate::collectives::{CollectiveWaits, SynchronisedFence, WindowPart, window_collective_waits};
use crate::records::{CollectiveRecord, CollectiveSite, Steps};
use crate::rma_records::{RmaRecord, RmaWhat};
use crate::wait::Wait;
use ouzel_model::{CollectiveRoot, Definitions, LocationId, RmaWindowId, Ticks, WorldRank};
use std::collections::BTreeMap;

/// Where a collective operation stands: which of the locations, and which of its records.
type RecordIndex = (usize, usize);

/// The waits of all collective operations on windows.
pub(super) fn add(
    found: &mut RmaWaits,
    one_sided: &OneSided<'_>,
    kinds: &[CallKind],
    definitions: &Definitions,
) -> CollectiveWaits {
    let mut by_window: BTreeMap<RmaWindowId, Vec<(RecordIndex, WindowPart)>> = BTreeMap::new();
    for (i, &(location, of)) in one_sided.locations.iter().enumerate() {
        for (j, record) in of.records.iter().enumerate() {
            if let Some(part) = part(location, record, one_sided, definitions) {
                by_window.entry(record.window).or_default().push(((i, j), part));
            }
        }
    }
    let mut all = CollectiveWaits::default();
    for (window, parts) in by_window {
        let (places, parts): (Vec<RecordIndex>, Vec<WindowPart>) = parts.into_iter().unzip();
        let (waits, fences) = window_collective_waits(&parts, kinds, definitions);
        for fence in &fences {
            early_fences(found, fence, window, &places, one_sided);
        }
        all.append(waits);
    }
    all
}

fn part(
    location: LocationId,
    record: &RmaRecord,
    one_sided: &OneSided<'_>,
    definitions: &Definitions,
) -> Option<WindowPart> {
    let RmaWhat::Collective { op, root, moves_data, is_fence, begin } = record.what else { return None };
    let &RmaRecord { window, path, enter, leave, is_selected, nth, .. } = record;
    let root = match root {
        CollectiveRoot::Rank(rank) => one_sided.ranks.target(window, location, rank).flatten(),
        CollectiveRoot::This => one_sided.ranks.rank(location),
        CollectiveRoot::None | CollectiveRoot::ThisGroup => None,
    };
    let record = CollectiveRecord {
        op,
        comm: definitions.rma_windows[window.index()].comm,
        root,
        moves_data,
        is_blocking: true,
        is_selected,
        site: if is_fence { CollectiveSite::Fence } else { CollectiveSite::Window },
        arrived_path: path,
        arrived: begin.unwrap_or(enter),
        path,
        enter,
        end: leave,
    };
    Some((location, record, nth.map(|nth| Steps { posted: nth, completed: nth })))
}

/// The parts of waits at a fence until the last access of another rank to the waiting one ended.
fn early_fences(
    found: &mut RmaWaits,
    fence: &SynchronisedFence,
    window: RmaWindowId,
    places: &[RecordIndex],
    one_sided: &OneSided<'_>,
) {
    // Who accessed whom last since the fence before: the two latest origins, as a rank does not wait for itself.
    let mut last: BTreeMap<WorldRank, Vec<(Ticks, LocationId)>> = BTreeMap::new();
    for member in &fence.members {
        let (location, record) = places[*member];
        let (origin, of) = one_sided.locations[location];
        let before = of.records[..record].iter().rev().filter(|it| it.window == window);
        let is_fence = |it: &&RmaRecord| matches!(it.what, RmaWhat::Collective { is_fence: true, .. });
        for access in before.take_while(|it| !is_fence(it)) {
            let RmaWhat::Access { target } = access.what else { continue };
            if let Some(target) = one_sided.ranks.target(window, origin, target).flatten() {
                last.entry(target).or_default().push((access.leave, origin));
            }
        }
    }
    for wait in &fence.waits {
        let Some(rank) = one_sided.ranks.rank(wait.location) else { continue };
        let others = last.get(&rank).into_iter().flatten().filter(|it| it.1 != wait.location);
        let Some(&(accessed, _)) = others.max() else { continue };
        let end = accessed.min(wait.end);
        if wait.start < end {
            found.beside.push(Wait { class: WaitClass::EarlyFence, end, ..*wait });
        }
    }
}
