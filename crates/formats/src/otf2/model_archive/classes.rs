//! Metric classes: which metrics are read together.
//!
//! The model knows no classes; the metrics of one event are one. Whether a class is
//! strictly synchronous is found out while its events pass by: each must be followed
//! by another event at the same time.

use crate::position::u32_from;
use ouzel_model::{LocationKind, MetricId};
use ouzel_otf2::records::enums::MetricOccurrence;
use rustc_hash::FxHashMap;

/// The classes met so far, by reference.
#[derive(Debug, Default)]
pub(super) struct Classes {
    by_members: FxHashMap<Box<[MetricId]>, u32>,
    classes: Vec<ArchiveClass>,
}

/// One class.
#[derive(Debug)]
pub(super) struct ArchiveClass {
    pub members: Box<[MetricId]>,
    pub occurrence: MetricOccurrence,
}

impl Classes {
    /// The reference of the class of these metrics, whose values were read at a location of this kind.
    pub fn used(&mut self, members: &[MetricId], kind: LocationKind) -> u32 {
        let reference = match self.by_members.get(members) {
            Some(&reference) => reference,
            None => {
                let reference = u32_from(self.classes.len());
                self.by_members.insert(members.into(), reference);
                let occurrence = MetricOccurrence::SynchronousStrict;
                self.classes.push(ArchiveClass { members: members.into(), occurrence });
                reference
            }
        };
        if kind == LocationKind::Metric {
            self.classes[reference as usize].occurrence = MetricOccurrence::Asynchronous;
        }
        reference
    }

    /// An event of the class had no other event at its time.
    pub(crate) fn stands_alone(&mut self, reference: u32) {
        let occurrence = &mut self.classes[reference as usize].occurrence;
        if *occurrence == MetricOccurrence::SynchronousStrict {
            *occurrence = MetricOccurrence::Synchronous;
        }
    }

    /// The classes, in the order of their references.
    pub fn iter(&self) -> std::slice::Iter<'_, ArchiveClass> {
        self.classes.iter()
    }
}
