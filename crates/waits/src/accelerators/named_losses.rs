//! What first use and the handling of memory cost a run: losses that the names of calls tell.
//!
//! In the replay, code of such names takes no time before launches and waits, and calls that release memory neither wait
//! nor take time. First-use costs count before the first launch of a thread, too, and there so does what allocates
//! memory, as the first call of a runtime makes the context; memory that is given before it, and taken back after the
//! last, is no churn.

use super::AcceleratorsOutput;
use super::loss::{Candidate, loss};
use super::loss_kind::DeviceLossKind;
use super::names;
use super::replay::{DeviceReplay, LengthChanges, ReplayCall};
use crate::devices::calls::DeviceApi;
use ouzel_model::{CallPathId, Definitions, LocationId, TimeRange};
use std::cmp::Reverse;
use std::collections::BTreeMap;

impl AcceleratorsOutput {
    /// What code and calls of one kind cost; the call path is that of most time.
    pub(super) fn named_loss(
        &self,
        replay: &DeviceReplay,
        kind: DeviceLossKind,
        definitions: &Definitions,
    ) -> Option<Candidate> {
        // The first call of a runtime makes the context of a device: mostly one that allocates.
        let counts = |found: DeviceLossKind, is_first: bool| {
            let is_first_use = is_first && kind == DeviceLossKind::FirstUse;
            found == kind || (is_first_use && found == DeviceLossKind::MemoryChurn)
        };
        let is_of_kind = |path: CallPathId, is_first: bool| {
            let region = self.call_paths.region(path)?;
            Some(counts(names::host_loss(&definitions.region(region).name), is_first))
        };
        // There are many times more records than call paths.
        let mut known: Vec<[Option<Option<CallPathId>>; 2]> = vec![[None; 2]; self.call_paths.len()];
        let mut named = |path: CallPathId, is_first: bool| {
            let find = || self.chain(path).find(|&at| is_of_kind(at, is_first) == Some(true));
            *known[path.index()][usize::from(is_first)].get_or_insert_with(find)
        };
        let mut changes = LengthChanges::default();
        let mut of_paths: BTreeMap<CallPathId, (u64, usize)> = BTreeMap::new();
        let mut spans: Vec<(LocationId, TimeRange)> = Vec::new();
        let releases = |it: &ReplayCall| {
            it.call.api == DeviceApi::Free && kind == DeviceLossKind::MemoryChurn && it.before.is_some()
        };
        let last_launches =
            if replay.calls.iter().any(releases) { last_launches(replay) } else { BTreeMap::new() };
        for (number, it) in replay.calls.iter().enumerate() {
            let mut add = |path: CallPathId, ticks: u64, span: (LocationId, TimeRange)| {
                let of_path = of_paths.entry(path).or_default();
                (of_path.0, of_path.1) = (of_path.0 + ticks, of_path.1 + 1);
                spans.push(span);
            };
            // Where a part of the run begins, what was before the first call is in the part before.
            let is_first = it.before.is_none() && !self.is_continued;
            if it.before.is_some() || (is_first && kind == DeviceLossKind::FirstUse) {
                let mut left = replay.lengths.before[number];
                for &(path, ticks) in replay.code(it) {
                    let ticks = ticks.min(left);
                    if let Some(path) = named(path, is_first).filter(|_| 0 < ticks) {
                        left -= ticks;
                        add(path, ticks, replay.code_span(number));
                    }
                }
                if left < replay.lengths.before[number] {
                    changes.before.push((number as u32, left));
                }
            }
            if releases(it) && last_launches.get(&it.location).is_some_and(|last| number < *last) {
                changes.waitless.push(number as u32);
                changes.own.push((number as u32, 0));
                add(it.call.path, it.call.leave.since(it.call.enter).0, replay.call_span(number));
            }
        }
        let (&path, _) = of_paths.iter().max_by_key(|(path, of)| (of.0, Reverse(**path)))?;
        let time = of_paths.values().map(|of| of.0).sum();
        let n = of_paths.values().map(|of| of.1).sum();
        Some(Candidate { loss: loss(kind, path, spans.into_iter(), n, time), changes })
    }
}

/// The last call of each thread that launches something.
fn last_launches(replay: &DeviceReplay) -> BTreeMap<LocationId, usize> {
    let launches = replay.calls.iter().enumerate().filter(|(_, it)| it.launches.is_some());
    launches.map(|(number, it)| (it.location, number)).collect()
}
