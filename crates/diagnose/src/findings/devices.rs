//! Findings about accelerators: idle while the host prepares what they do next.
//!
//! Each gap between kernels of a device is charged to the call path in which the thread that ended it spent most time since
//! it last launched or waited (`ouzel_waits`). Gaps that are charged to calls that wait are told where these wait.

use super::context::{Context, greatest_first};
use super::draft::{Draft, Saving};
use super::finding::{Confidence, Evidence, FindingKind, Quantity};
use super::words::capitalised;
use ouzel_analyses::semantics::Category;
use ouzel_model::{CallPathId, LocationId};
use ouzel_waits::WaitClass;
use std::collections::{BTreeMap, BTreeSet};

/// Least share of the run that devices must be idle for the same code.
const LEAST: f64 = 0.05;
/// A caller is named instead of its callee if more gaps are charged to it by this factor.
const CALLER_EXPLAINS_MORE: (u64, u64) = (11, 10);

/// The finding about the code that most idle time is charged to.
pub(super) fn idle(cx: &Context<'_>) -> Option<Draft> {
    let mut own: BTreeMap<CallPathId, u64> = BTreeMap::new();
    let mut with_callees: BTreeMap<CallPathId, u64> = BTreeMap::new();
    let mut hosts: BTreeSet<LocationId> = BTreeSet::new();
    for (path, sums) in cx.waits.of(WaitClass::DeviceIdle) {
        if cx.category(path, false) != Category::Computation || cx.is_inside_waiting(path) {
            continue;
        }
        let ticks: u64 = sums.values().sum();
        *own.entry(path).or_default() += ticks;
        cx.chain(path).for_each(|at| *with_callees.entry(at).or_default() += ticks);
        hosts.extend(sums.keys());
    }
    let all = greatest_first(&own);
    let (mut path, mut ticks) = *all.first()?;
    for at in cx.chain(path) {
        let sum = with_callees[&at];
        if ticks * CALLER_EXPLAINS_MORE.0 < sum * CALLER_EXPLAINS_MORE.1 {
            (path, ticks) = (at, sum);
        }
    }
    let n_hosts = hosts.len().max(1) as u64;
    let gain = ticks / n_hosts;
    if cx.share(gain) < LEAST {
        return None;
    }
    let ranks = cx.ranks(hosts);
    let name = cx.name(path);
    let shown: Vec<CallPathId> = all.iter().take(4).map(|&(path, _)| path).collect();
    let values = cx.places(&shown).into_iter().zip(&all);
    let (confidence, reason) = cx.confidence_of_phases();
    Some(Draft {
        title: format!("Accelerators are idle while {name} runs on the host"),
        sentence: format!(
            "{}, accelerators have nothing to do for {} ({}) of the run because the host is in {name} before it launches \
             more.",
            capitalised(&format!("on {}", cx.in_words(&ranks))),
            cx.time(gain),
            cx.percent(gain)
        ),
        saving: Saving::new("Keeping them busy would save at most"),
        ranks,
        gain,
        loss: gain,
        assumption: "the host prepares and launches early enough that kernels follow each other".to_owned(),
        confidence: (
            confidence.min(Confidence::Likely),
            format!("{reason}; what the device could do earlier depends on the program"),
        ),
        evidence: vec![Evidence::new(
            "gaps between the kernels of a device, by what the host did before it ended them",
            "Σ of the gaps / threads that launch; see device_idle in docs/method.md",
            values.map(|(place, &(_, ticks))| Quantity::ns(&place, cx.ns(ticks / n_hosts))).collect(),
        )],
        advice: format!(
            "Prepare the next step in {name} while the device computes the one before (another thread, prefetching, \
             several streams), make it faster, or move it to the device."
        ),
        ..Draft::about(cx, FindingKind::IdleDevice, path)
    })
}
