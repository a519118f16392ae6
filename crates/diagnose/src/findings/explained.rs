//! What explains the call paths of findings, as evidence.
//!
//! `ouzel_causes` finds them in the severities of the run, after the report: a finding is made without them. A finding
//! whose call path is an external bottleneck, or within one, gets the attributes in which its ranks differ; one that is
//! an internal bottleneck those that are high there. Law: this adds evidence only, so gains and order do not change;
//! where nothing explains a call path, nothing is added.

use super::finding::{Evidence, Finding, FindingKind, Quantity, QuantityUnit};
use ouzel_causes::{BetweenProcesses, Causes, InRegion, RegionName};
use std::sync::Arc;

/// Attributes reported for one finding.
const MAX_ATTRIBUTES: usize = 3;
/// Is high where much is done, and no reason why ranks or threads differ.
const CALLS: &str = "visits";
/// Least correlation of an attribute with the time of the ranks: half of the variation is shared.
const MIN_CORRELATION: f64 = 0.7;

/// Adds to findings what explains their call paths.
pub fn explain(findings: &mut [Finding], causes: &Causes) {
    for finding in findings.iter_mut().filter(|finding| is_about_work(finding.kind)) {
        let path = &finding.call_path;
        let external = causes.external.causes.iter().filter(|cause| holds(&cause.region, path));
        let explaining = external.flat_map(|cause| &cause.explained_by).filter_map(differs);
        let between = explaining.take(MAX_ATTRIBUTES);
        // Of regions within each other, the innermost says most.
        let internal = causes.internal.causes.iter().filter(|cause| holds(&cause.region, path));
        let internal = internal.max_by_key(|cause| cause.region.call_path.len()).into_iter();
        let explaining = internal.flat_map(|cause| &cause.explained_by).filter(|by| by.attribute != CALLS);
        let within = explaining.take(MAX_ATTRIBUTES).map(is_high);
        let evidence: Vec<Evidence> = between.chain(within).collect();
        finding.evidence.extend(evidence);
    }
}

/// Whether work causes the loss. The reason why others wait in a call is not in that call.
fn is_about_work(kind: FindingKind) -> bool {
    matches!(
        kind,
        FindingKind::LoadImbalance
            | FindingKind::GrowingImbalance
            | FindingKind::SlowRank
            | FindingKind::SlowNode
            | FindingKind::Serialisation
            | FindingKind::IoByOneRank
    )
}

/// Whether the call path is the region, or called from it.
fn holds(region: &RegionName, path: &[Arc<str>]) -> bool {
    let is_below = !region.call_path.is_empty() && path.starts_with(&region.call_path);
    is_below && (!region.itself || path.len() == region.call_path.len())
}

fn unit(unit: &str) -> QuantityUnit {
    match unit {
        "" => QuantityUnit::Ratio,
        "bytes" => QuantityUnit::Bytes,
        _ => QuantityUnit::Count,
    }
}

fn quantity(name: &str, value: f64, unit: QuantityUnit) -> Quantity {
    Quantity { name: name.to_owned(), value, unit }
}

/// An attribute that grows with the time of the ranks; one that falls with it is not a reason.
fn differs(by: &BetweenProcesses) -> Option<Evidence> {
    let r = by.correlation.filter(|&r| MIN_CORRELATION <= r)?;
    let least = by.by_cluster.iter().copied().fold(f64::INFINITY, f64::min);
    let most = by.by_cluster.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    Some(Evidence::new(
        format!("the ranks differ in {} there, as they do in time (correlation {r:.2})", by.label),
        "means over ranks of one cluster; see Causes in docs/method.md",
        vec![
            quantity("mean of the ranks with the least", least, unit(&by.unit)),
            quantity("mean of the ranks with the most", most, unit(&by.unit)),
        ],
    ))
}

fn is_high(by: &InRegion) -> Evidence {
    let mut values = vec![
        quantity("value there", by.mean, unit(&by.unit)),
        quantity("value where it is not high", by.elsewhere, unit(&by.unit)),
    ];
    values.extend(
        by.share_of_program.map(|share| quantity("share of the program", share, QuantityUnit::Ratio)),
    );
    Evidence::new(
        format!("high there: {}", by.label),
        "means over ranks, and over the regions of lower classes; see Causes in docs/method.md",
        values,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use ouzel_model::CallPathId;

    fn names(path: &str) -> Vec<Arc<str>> {
        path.split('/').map(Arc::from).collect()
    }

    #[test]
    fn a_finding_belongs_to_the_region_it_is_called_from() {
        let region = |path: &str, itself| RegionName { call_path: names(path), itself, path: CallPathId(0) };
        for (of, itself, path, expected) in [
            ("main/solve", false, "main/solve", true),
            ("main/solve", false, "main/solve/inner", true),
            ("main/solve", true, "main/solve/inner", false),
            ("main/solve", true, "main/solve", true),
            ("main/solve/inner", false, "main/solve", false),
            ("main/solve", false, "main/solver", false),
        ] {
            assert_eq!(holds(&region(of, itself), &names(path)), expected, "{of} {path}");
        }
    }
}
