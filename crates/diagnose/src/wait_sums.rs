//! What findings ask of wait states: sums by call path.

use ouzel_model::{CallPathId, CallPathTree, LocationId, Ticks};
use ouzel_waits::{WaitClass, WaitsOutput};
use std::collections::BTreeMap;

/// Ticks of waiting by class and call path, then by location.
#[derive(Debug, Default)]
pub(crate) struct WaitSums(BTreeMap<(WaitClass, CallPathId), BTreeMap<LocationId, u64>>);

impl WaitSums {
    /// Adds waits, with the call paths numbered as in `tree`; missing paths are added to it.
    pub fn add_all(&mut self, waits: &WaitsOutput, tree: &mut CallPathTree) {
        let remap = tree.absorb(&waits.call_paths);
        let single = waits.waits.iter().map(|it| (it.class, it.path, it.location, it.end.since(it.start)));
        let summed = waits.sums.iter().map(|it| (it.class, it.path, it.location, it.wait));
        for (class, path, location, wait) in single.chain(summed) {
            self.add(class, remap.path(path), (location, wait));
        }
    }

    /// Adds waiting of a class, with call paths as they are numbered here.
    pub fn add(&mut self, class: WaitClass, path: CallPathId, (location, wait): (LocationId, Ticks)) {
        *self.0.entry((class, path)).or_default().entry(location).or_default() += wait.0;
    }

    /// The call paths with waiting of a class, and its ticks by location.
    pub fn of(&self, class: WaitClass) -> impl Iterator<Item = (CallPathId, &BTreeMap<LocationId, u64>)> {
        self.0.iter().filter(move |((of, _), _)| *of == class).map(|((_, path), sums)| (*path, sums))
    }
}
