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
}

/// The regions.
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

    /// Remembers `id` for a name and class.
    pub fn remember(&mut self, class: ActivityClass, raw: &[u8], id: u32) {
        self.ids[class as usize].insert(raw.into(), id);
    }

    /// A new region.
    pub fn add(&mut self, draft: RegionDraft) -> u32 {
        self.drafts.push(draft);
        u32_from(self.drafts.len() - 1)
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
        let id = self.add(draft(plain(text)));
        self.remember(class, text.raw, id);
        id
    }
}
