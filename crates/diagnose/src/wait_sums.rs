//! What findings ask of wait states: sums by call path.

use ouzel_model::{CallPathId, CallPathTree, LocationId};
use ouzel_waits::{WaitClass, WaitsOutput};
use std::collections::BTreeMap;

/// Ticks of waiting by class and call path, then by location.
#[derive(Debug, Default)]
pub(crate) struct WaitSums(BTreeMap<(WaitClass, CallPathId), BTreeMap<LocationId, u64>>);

impl WaitSums {
    /// With the call paths numbered as in `tree`; missing paths are added to it.
    pub fn new(waits: &WaitsOutput, tree: &mut CallPathTree) -> Self {
        let remap = tree.absorb(&waits.call_paths);
        let single = waits.waits.iter().map(|it| (it.class, it.path, it.location, it.end.since(it.start)));
        let summed = waits.sums.iter().map(|it| (it.class, it.path, it.location, it.wait));
        let mut sums = WaitSums::default();
        for (class, path, location, wait) in single.chain(summed) {
            let by_location = sums.0.entry((class, remap.path(path))).or_default();
            *by_location.entry(location).or_default() += wait.0;
        }
        sums
    }

    /// The call paths with waiting of a class, and its ticks by location.
    pub fn of(&self, class: WaitClass) -> impl Iterator<Item = (CallPathId, &BTreeMap<LocationId, u64>)> {
        self.0.iter().filter(move |((of, _), _)| *of == class).map(|((_, path), sums)| (*path, sums))
    }
}
