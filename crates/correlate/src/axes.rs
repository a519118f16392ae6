//! Sets of axes of a grid: the filter f in {0,1}^n.

use crate::Grid;

/// The axes whose variation is looked at; that along all others is filtered out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AxisSet(u32);

/// Why names are no set of axes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AxisError {
    /// No axis has this name or number.
    #[error("the topology has no axis {name:?}; its axes are {}", known.join(", "))]
    Unknown {
        /// What was asked for.
        name: String,
        /// The names of the axes.
        known: Vec<String>,
    },
    /// Not one axis is named.
    #[error("no axis is selected")]
    Empty,
}

impl AxisSet {
    /// The first `n_axes` axes: nothing is filtered out but the mean.
    pub fn all(n_axes: usize) -> Self {
        AxisSet(u32::MAX.checked_shr(32 - n_axes.min(32) as u32).unwrap_or(0))
    }

    /// The axes of these positions; positions from 32 on are not kept, no grid has so many.
    pub fn from_indices(axes: impl IntoIterator<Item = usize>) -> Self {
        AxisSet(axes.into_iter().filter(|&axis| axis < 32).fold(0, |set, axis| set | 1 << axis))
    }

    /// The axes of these names; a number that is no name counts axes from 0.
    ///
    /// # Errors
    /// If a name is no axis of the grid, or there is none.
    pub fn from_names<'a>(
        grid: &Grid,
        names: impl IntoIterator<Item = &'a str>,
    ) -> Result<AxisSet, AxisError> {
        let axes = grid.axes();
        let find = |name: &str| {
            let by_name = axes.iter().position(|axis| &*axis.name == name);
            let by_number = || name.parse::<usize>().ok().filter(|&at| at < axes.len());
            by_name.or_else(by_number).ok_or_else(|| AxisError::Unknown {
                name: name.to_owned(),
                known: (0..axes.len()).map(|at| grid.axis_name(at)).collect(),
            })
        };
        let indices = names.into_iter().map(find).collect::<Result<Vec<_>, _>>()?;
        let set = AxisSet::from_indices(indices);
        if set.is_empty() { Err(AxisError::Empty) } else { Ok(set) }
    }

    /// Whether the axis at this position is in it.
    pub fn contains(self, axis: usize) -> bool {
        axis < 32 && self.0 >> axis & 1 == 1
    }

    /// Whether it holds none.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The positions, ascending.
    pub fn iter(self) -> impl Iterator<Item = usize> {
        (0..32).filter(move |&axis| self.contains(axis))
    }
}
