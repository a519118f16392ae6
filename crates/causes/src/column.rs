//! An attribute by process and by region, as both decision tables need it.

use crate::attributes::{Attribute, Formula};
use crate::classes::classes;
use crate::clusters::{Clustering, partition};
use crate::regions::Values;
use crate::vectors::Vectors;
use std::collections::BTreeMap;

/// An attribute as both tables need it.
pub(crate) struct Column<'a> {
    pub attribute: &'a Attribute,
    /// The cluster of each process by its values in the external bottlenecks.
    pub clusters: Vec<u32>,
    /// For each external bottleneck, its values.
    pub in_cores: BTreeMap<usize, Vec<f64>>,
    /// For each region, the mean over the processes.
    pub means: Vec<f64>,
    /// The class of each.
    pub classes: Vec<u8>,
    /// Mean over the processes of the whole program, for a sum.
    pub program: Option<f64>,
}

impl<'a> Column<'a> {
    pub fn new(attribute: &'a Attribute, values: &Values, cores: &[usize], rule: Clustering) -> Self {
        let n = values.regions.first().map_or(0, Vec::len);
        let dims: Vec<&[f64]> = cores.iter().map(|&core| &values.regions[core][..]).collect();
        let means: Vec<f64> = values.regions.iter().map(|values| mean(values)).collect();
        Column {
            attribute,
            clusters: partition(&Vectors::from_columns(n, &dims), rule).labels().to_vec(),
            in_cores: cores.iter().map(|&core| (core, values.regions[core].clone())).collect(),
            classes: classes(&means),
            means,
            program: matches!(attribute.formula, Formula::Sum(_)).then(|| mean(&values.program)),
        }
    }
}

/// `a / b`; 0 unless `b` is positive.
pub(crate) fn quotient(a: f64, b: f64) -> f64 {
    if b > 0.0 { a / b } else { 0.0 }
}

pub(crate) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}
