//! Waiting for other ranks and threads as metrics of a profile.
//!
//! Law: the sums of a metric over call paths and locations are those of its class in `ouzel waits`, without what is
//! only possible.

use ouzel_analyses::severity_cube::{Quantity, SeverityCubeOutput, Waiting};
use ouzel_model::{CallPathId, LocationId};
use ouzel_waits::{ClassRole, WaitClass, WaitsOutput};
use std::collections::BTreeMap;

/// The metric of a class. Parts that only the causes of waits tell have none, nor has waiting for accelerators.
fn metric(class: WaitClass) -> Option<Waiting> {
    Some(match class {
        WaitClass::LateSender => Waiting::LateSender,
        WaitClass::WrongOrderDifferentSource => Waiting::WrongOrderDifferentSource,
        WaitClass::WrongOrderSameSource => Waiting::WrongOrderSameSource,
        WaitClass::LateReceiver => Waiting::LateReceiver,
        WaitClass::WaitAtBarrier => Waiting::Barrier,
        WaitClass::WaitAtNxn => Waiting::Nxn,
        WaitClass::LateBroadcast => Waiting::LateBroadcast,
        WaitClass::WaitForLast => Waiting::Last,
        WaitClass::EarlyReduce => Waiting::EarlyReduce,
        WaitClass::EarlyScan => Waiting::EarlyScan,
        WaitClass::WaitAtInit => Waiting::Init,
        WaitClass::WaitAtFinalize => Waiting::Finalize,
        WaitClass::WaitAtCreate => Waiting::Create,
        WaitClass::WaitAtFence => Waiting::Fence,
        WaitClass::EarlyFence => Waiting::EarlyFence,
        WaitClass::LatePost => Waiting::LatePost,
        WaitClass::EarlyWait => Waiting::EarlyWait,
        WaitClass::LateComplete => Waiting::LateComplete,
        WaitClass::RmaLock => Waiting::RmaLock,
        WaitClass::OpenmpWaitAtBarrier => Waiting::OpenMpBarrier,
        WaitClass::LockContention => Waiting::Lock,
        WaitClass::ConditionWait => Waiting::Condition,
        WaitClass::IdleThreads => Waiting::IdleThreads,
        WaitClass::ThreadJoin => Waiting::Join,
        WaitClass::Management => Waiting::Management,
        WaitClass::LimitedParallelism => Waiting::LimitedParallelism,
        WaitClass::BarrierCompletion => Waiting::BarrierCompletion,
        WaitClass::NxnCompletion => Waiting::NxnCompletion,
        WaitClass::InitCompletion => Waiting::InitCompletion,
        WaitClass::Polling => Waiting::Polling,
        other if other.is_of_devices() => return None,
        other if other.role() == ClassRole::Primary => Waiting::Other,
        _ => return None,
    })
}

/// The waits by metric, call path and location.
pub(super) fn severities(waits: &WaitsOutput) -> SeverityCubeOutput {
    let mut sums: BTreeMap<(Quantity, CallPathId, LocationId), u64> = BTreeMap::new();
    let each = waits.waits.iter().filter(|wait| !wait.is_only_possible());
    let each = each.map(|wait| (wait.class, wait.path, wait.location, wait.ticks()));
    let of_threads = waits.sums.iter().map(|sum| (sum.class, sum.path, sum.location, sum.wait));
    for (class, path, location, ticks) in each.chain(of_threads) {
        let Some(own) = metric(class) else { continue };
        // A part of a class is in the waits once more, so only metrics without a class sum up their parts.
        let wholes = match own {
            Waiting::WrongOrderDifferentSource | Waiting::WrongOrderSameSource => Some(Waiting::WrongOrder),
            Waiting::EarlyReduce | Waiting::EarlyFence | Waiting::LateComplete => None,
            primary => primary.whole(),
        };
        for kind in [own].into_iter().chain(wholes) {
            *sums.entry((Quantity::Waiting(kind), path, location)).or_default() += ticks.0;
        }
    }
    SeverityCubeOutput::of_values(waits.call_paths.clone(), sums)
}
