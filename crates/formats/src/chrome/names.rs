//! Names, each kept once: regions by class, marks, metrics.

use super::kinds::{ActivityClass, N_CLASSES};
use super::scan::{Text, plain};
use crate::position::u32_from;
use ouzel_model::CollectiveOp;
use rustc_hash::FxHashMap;

/// A region as it will be defined.
#[derive(Debug)]
pub(super) struct RegionDraft {
    pub name: String,
    pub class: ActivityClass,
    /// Of a collective; `None` also for a message.
    pub op: Option<CollectiveOp>,
}

/// Texts as written in the file, to dense numbers.
#[derive(Debug, Default)]
pub(super) struct TextTable {
    ids: FxHashMap<Box<[u8]>, u32>,
    pub texts: Vec<String>,
}

impl TextTable {
    /// The number of a text; a new one is appended.
    pub fn id(&mut self, text: Text<'_>) -> u32 {
        if let Some(&id) = self.ids.get(text.raw) {
            return id;
        }
        let id = u32_from(self.texts.len());
        self.ids.insert(text.raw.into(), id);
        self.texts.push(plain(text));
        id
    }

    /// Adds the texts of another table; gives the number of each here.
    pub fn append(&mut self, other: TextTable) -> Vec<u32> {
        let mut written: Vec<(u32, Box<[u8]>)> = other.ids.into_iter().map(|(raw, id)| (id, raw)).collect();
        written.sort_unstable();
        let of_text = |((_, raw), text): ((u32, Box<[u8]>), String)| match self.ids.get(&raw) {
            Some(&id) => id,
            None => {
                let id = u32_from(self.texts.len());
                self.ids.insert(raw, id);
                self.texts.push(text);
                id
            }
        };
        written.into_iter().zip(other.texts).map(of_text).collect()
    }
}

/// The regions. Law: each has one name and class that it is known by.
#[derive(Debug, Default)]
pub(super) struct ChromeRegions {
    ids: [FxHashMap<Box<[u8]>, u32>; N_CLASSES],
    pub drafts: Vec<RegionDraft>,
}

impl ChromeRegions {
    /// The region of a name and class, if it was seen.
    #[inline]
    pub fn known(&self, class: ActivityClass, raw: &[u8]) -> Option<u32> {
        self.ids[class as usize].get(raw).copied()
    }

    /// A new region, to be known by a name and class.
    pub fn add(&mut self, class: ActivityClass, raw: &[u8], draft: RegionDraft) -> u32 {
        let id = u32_from(self.drafts.len());
        self.drafts.push(draft);
        self.ids[class as usize].insert(raw.into(), id);
        id
    }

    /// Adds the regions of another file; gives the number of each here.
    pub fn append(&mut self, other: ChromeRegions) -> Vec<u32> {
        let of_class = |(class, ids): (usize, FxHashMap<Box<[u8]>, u32>)| {
            ids.into_iter().map(move |(raw, id)| (id, class, raw))
        };
        let mut known_by: Vec<_> = other.ids.into_iter().enumerate().flat_map(of_class).collect();
        known_by.sort_unstable();
        let of_region = |((_, class, raw), draft): ((u32, usize, Box<[u8]>), RegionDraft)| {
            *self.ids[class].entry(raw).or_insert_with(|| {
                self.drafts.push(draft);
                u32_from(self.drafts.len() - 1)
            })
        };
        known_by.into_iter().zip(other.drafts).map(of_region).collect()
    }

    /// The region of a name and class, made by `draft` if it is new.
    pub fn id(
        &mut self,
        class: ActivityClass,
        text: Text<'_>,
        draft: impl FnOnce(String) -> RegionDraft,
    ) -> u32 {
        if let Some(id) = self.known(class, text.raw) {
            return id;
        }
        self.add(class, text.raw, draft(plain(text)))
    }
}
