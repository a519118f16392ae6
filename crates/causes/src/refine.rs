//! Which regions cost most, and where in them: internal bottlenecks.
//!
//! A region of class high or very high is a critical code region. It is the core of one if all
//! of its callees are of a lower class; leaves always are. A caller whose callee is of the same
//! class is not: the callee is where to look.

use crate::classes::{HIGH, classes};

/// Regions by class.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Refined {
    /// The class of each region, 0 to 4.
    pub classes: Vec<u8>,
    /// Critical code regions, ascending.
    pub ccr: Vec<usize>,
    /// Their cores, ascending: the internal bottlenecks.
    pub cccr: Vec<usize>,
}

/// Classifies regions by `weights`; `parents` names the caller of each.
pub(crate) fn refine(weights: &[f64], parents: &[Option<usize>]) -> Refined {
    let classes = classes(weights);
    let mut highest_below = vec![None; classes.len()];
    for (region, parent) in parents.iter().enumerate() {
        if let Some(parent) = parent {
            highest_below[*parent] = highest_below[*parent].max(Some(classes[region]));
        }
    }
    let ccr: Vec<usize> = (0..classes.len()).filter(|&region| classes[region] >= HIGH).collect();
    let is_core = |&region: &usize| highest_below[region].is_none_or(|below| below < classes[region]);
    let cccr = ccr.iter().copied().filter(is_core).collect();
    Refined { classes, ccr, cccr }
}
