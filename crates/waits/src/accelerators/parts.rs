//! A run that is replayed in parts, as its records would take too much memory at once.
//!
//! A part is a range of time of all processes, and replayed alone: what is launched before it begins when it did, and what
//! waits for that does not wait. What runs on after its end counts if threads and streams both gain (see
//! [`DeviceReplay::gain`](super::replay::DeviceReplay::gain)). So a part gains at most what it would gain in the whole run,
//! but for what reaches over its borders. Collectives are known for the whole run, and belong to a part if all members begin
//! in it. Law: the gain of a loss is the sum of its gains in all parts.

use super::AcceleratorsOutput;
use super::kept_devices::{KeptDevices, Room};
use super::loss::DeviceLoss;
use super::loss_kind::DeviceLossKind;
use super::members::DeviceMember;
use ouzel_engine::in_order;
use ouzel_model::{LocationId, Ticks, TimeRange};
use std::collections::BTreeMap;
use std::io;
use std::num::NonZeroUsize;

/// Threads that replay parts at the same time, at most: each needs the memory of a part.
const MOST_THREADS: usize = 2;

/// What is found in each part of a run of about `most` records, in order, with the collectives whose members all begin in
/// it; in the run at once if it has no more. `output` has no records, `spans` are the first and last event of each location.
///
/// # Errors
/// If what was put aside cannot be read.
pub(super) fn for_parts<R: Send>(
    mut kept: KeptDevices,
    (most, n_threads): (usize, NonZeroUsize),
    (mut output, spans): (AcceleratorsOutput, &BTreeMap<LocationId, (Ticks, Ticks)>),
    collectives: &[Vec<DeviceMember>],
    of_part: impl Fn(AcceleratorsOutput, &[Vec<DeviceMember>]) -> R + Sync,
) -> io::Result<Vec<R>> {
    if kept.n_records() <= most {
        output.records = kept.all()?;
        output.spans = spans.clone();
        return Ok(vec![of_part(output, collectives)]);
    }
    kept.put_aside(Room::new(most, 1, spans.len()));
    let borders = kept.borders(most);
    let of_nth = |nth: usize| {
        let start = nth.checked_sub(1).map_or(Ticks(0), |before| borders[before]);
        let part_end = borders.get(nth).copied();
        let end = part_end.unwrap_or(Ticks(u64::MAX));
        let range = TimeRange { start, end };
        let part = AcceleratorsOutput {
            records: kept.within(range)?,
            is_continued: start != Ticks(0),
            part_end,
            spans: spans.iter().map(|(&id, &(from, to))| (id, (from, to.min(end)))).collect(),
            ..output.clone()
        };
        let is_inside = |of: &&Vec<DeviceMember>| of.iter().all(|it| range.contains(it.start));
        let inside: Vec<Vec<DeviceMember>> = collectives.iter().filter(is_inside).cloned().collect();
        Ok(of_part(part, &inside))
    };
    let most_threads = NonZeroUsize::MIN.saturating_add(MOST_THREADS - 1);
    in_order(n_threads.min(most_threads), borders.len() + 1, of_nth).into_iter().collect()
}

/// Losses of some parts, and in how many parts a run is.
#[derive(Debug, Default)]
pub(super) struct PartLosses {
    pub list: Vec<DeviceLoss>,
    pub n_parts: usize,
    /// Those that cannot be replayed.
    pub n_failed: usize,
}

impl PartLosses {
    /// Adds the losses of a part; none if it cannot be replayed.
    pub fn add(&mut self, of_part: Option<Vec<DeviceLoss>>) {
        self.n_parts += 1;
        match of_part {
            Some(losses) => losses.into_iter().for_each(|loss| self.add_loss(loss)),
            None => self.n_failed += 1,
        }
    }

    /// Adds a loss to that of the same change in other parts.
    fn add_loss(&mut self, loss: DeviceLoss) {
        let is_same = |it: &&mut DeviceLoss| {
            let paths = it.alternatives.contains(&loss.call_path) || it.call_path == loss.call_path;
            let is_straggler = loss.kind == DeviceLossKind::Straggler;
            it.kind == loss.kind && paths && (!is_straggler || it.locations == loss.locations)
        };
        let Some(same) = self.list.iter_mut().find(is_same) else {
            self.list.push(loss);
            return;
        };
        for path in loss.alternatives {
            if path != same.call_path && !same.alternatives.contains(&path) {
                same.alternatives.push(path);
            }
        }
        same.locations.extend(loss.locations);
        same.range = same.range.and(loss.range);
        same.gain += loss.gain;
        same.n += loss.n;
        same.time += loss.time;
        same.lacks_members |= loss.lacks_members;
    }
}
