//! Losses of a run that is replayed in parts, as its records would take too much memory at once.
//!
//! A part is a range of time of all processes, and replayed alone: what is launched before it begins when it did, and what
//! waits for that does not wait. So a part gains at most what it would gain in the whole run, but for what reaches over its
//! borders. Collectives are known for the whole run, and belong to a part if all members begin in it. Law: the gain of a
//! loss is the sum of its gains in all parts.

use super::AcceleratorsOutput;
use super::kept_devices::KeptDevices;
use super::loss::DeviceLoss;
use super::loss_kind::DeviceLossKind;
use super::members::DeviceMember;
use ouzel_model::{Definitions, LocationId, Ticks, TimeRange};
use std::collections::BTreeMap;
use std::io;

/// Losses of some parts, and in how many parts a run is.
#[derive(Debug, Default)]
pub(super) struct PartLosses {
    pub list: Vec<DeviceLoss>,
    pub n_parts: usize,
    /// Those that cannot be replayed.
    pub n_failed: usize,
}

impl PartLosses {
    /// The losses of all parts of about `most` records.
    ///
    /// # Errors
    /// If what was put aside cannot be read.
    pub fn new(
        kept: &KeptDevices,
        most: usize,
        (output, spans): (&mut AcceleratorsOutput, &BTreeMap<LocationId, (Ticks, Ticks)>),
        collectives: &[Vec<DeviceMember>],
        definitions: &Definitions,
    ) -> io::Result<PartLosses> {
        let mut ends = kept.borders(most);
        ends.push(Ticks(u64::MAX));
        let mut found = PartLosses { n_parts: ends.len(), ..PartLosses::default() };
        let mut start = Ticks(0);
        for end in ends {
            let range = TimeRange { start, end };
            output.records = kept.within(range)?;
            output.is_continued = start != Ticks(0);
            output.spans = spans.iter().map(|(&id, &(from, to))| (id, (from, to.min(end)))).collect();
            let is_inside = |of: &&Vec<DeviceMember>| of.iter().all(|it| range.contains(it.start));
            let inside: Vec<Vec<DeviceMember>> = collectives.iter().filter(is_inside).cloned().collect();
            match output.replayed_losses(&inside, definitions) {
                Some(losses) => losses.into_iter().for_each(|loss| found.add(loss)),
                None => found.n_failed += 1,
            }
            start = end;
        }
        output.records.clear();
        Ok(found)
    }

    /// Adds a loss to that of the same change in other parts.
    fn add(&mut self, loss: DeviceLoss) {
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
