//! One row of severities: one metric, one call path, all locations.

use crate::{Aggregation, CallPathId, LocationId, MetricValueType};

/// The severities of one call path. A location that a row leaves out has zero for a metric that is summed, and no
/// value for any other.
#[derive(Debug, Clone, PartialEq)]
pub struct SeverityRow {
    /// The call path.
    pub path: CallPathId,
    /// The locations that have a value, ascending, each once; `None` if all have one.
    pub locations: Option<Vec<LocationId>>,
    /// Their values.
    pub values: Severities,
}

/// Values of one type. Floating-point values are finite.
#[derive(Debug, Clone, PartialEq)]
pub enum Severities {
    /// Unsigned integers.
    U64(Vec<u64>),
    /// Signed integers.
    I64(Vec<i64>),
    /// Floating-point numbers.
    F64(Vec<f64>),
}

impl Severities {
    /// No values.
    pub fn new(value_type: MetricValueType) -> Self {
        match value_type {
            MetricValueType::U64 => Severities::U64(Vec::new()),
            MetricValueType::I64 => Severities::I64(Vec::new()),
            MetricValueType::F64 => Severities::F64(Vec::new()),
        }
    }

    /// Their type.
    pub fn value_type(&self) -> MetricValueType {
        match self {
            Severities::U64(_) => MetricValueType::U64,
            Severities::I64(_) => MetricValueType::I64,
            Severities::F64(_) => MetricValueType::F64,
        }
    }

    /// Number of values.
    pub fn len(&self) -> usize {
        match self {
            Severities::U64(v) => v.len(),
            Severities::I64(v) => v.len(),
            Severities::F64(v) => v.len(),
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The value at `index`; integers beyond 2^53 are rounded.
    pub fn get(&self, index: usize) -> f64 {
        match self {
            Severities::U64(v) => v[index] as f64,
            Severities::I64(v) => v[index] as f64,
            Severities::F64(v) => v[index],
        }
    }

    /// The values as floating-point numbers, in place: the same buffer where they are so already.
    pub fn make_f64(&mut self) -> &mut Vec<f64> {
        let converted = match self {
            Severities::F64(_) => None,
            Severities::U64(v) => Some(v.iter().map(|&x| x as f64).collect()),
            Severities::I64(v) => Some(v.iter().map(|&x| x as f64).collect()),
        };
        if let Some(converted) = converted {
            *self = Severities::F64(converted);
        }
        let Severities::F64(values) = self else { unreachable!("converted above") };
        values
    }

    fn clear(&mut self) {
        match self {
            Severities::U64(v) => v.clear(),
            Severities::I64(v) => v.clear(),
            Severities::F64(v) => v.clear(),
        }
    }
}

impl SeverityRow {
    /// A row without values.
    pub fn new(value_type: MetricValueType) -> Self {
        SeverityRow { path: CallPathId(0), locations: Some(Vec::new()), values: Severities::new(value_type) }
    }

    /// Whether no location has a value.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Removes all values; the buffers stay.
    pub fn clear(&mut self) {
        self.values.clear();
        match &mut self.locations {
            Some(locations) => locations.clear(),
            none => *none = Some(Vec::new()),
        }
    }

    /// The values that are there, as floating-point numbers.
    pub fn iter(&self) -> impl Iterator<Item = (LocationId, f64)> + '_ {
        (0..self.values.len()).map(|i| {
            let location = self.locations.as_ref().map_or_else(|| LocationId::from_index(i), |ids| ids[i]);
            (location, self.values.get(i))
        })
    }

    /// Puts one value for each location into `values`; `absent` where there is none.
    pub fn write_dense(&self, n_locations: usize, absent: f64, values: &mut Vec<f64>) {
        values.clear();
        if let (None, Severities::F64(all)) = (&self.locations, &self.values) {
            values.extend_from_slice(all);
            return;
        }
        values.resize(n_locations, absent);
        for (location, value) in self.iter() {
            values[location.index()] = value;
        }
    }

    /// Puts `other` to it by the rule of `aggregation`, location by location. Sums of integers stop at the ends of
    /// their type; returns how many did.
    pub fn merge(&mut self, other: &SeverityRow, aggregation: Aggregation) -> u64 {
        match aggregation {
            Aggregation::Min => self.combine(other, Op::Min),
            Aggregation::Max => self.combine(other, Op::Max),
            Aggregation::Sum | Aggregation::Formula => self.combine(other, Op::Add),
        }
    }

    /// Takes `other` from it, location by location. Differences of integers stop at the ends of their type; returns
    /// how many did.
    pub(super) fn subtract(&mut self, other: &SeverityRow) -> u64 {
        self.combine(other, Op::Subtract)
    }

    fn combine(&mut self, other: &SeverityRow, op: Op) -> u64 {
        if other.is_empty() {
            return 0;
        }
        let (mine, theirs) = (&mut self.locations, other.locations.as_deref());
        match (&mut self.values, &other.values) {
            (Severities::U64(a), Severities::U64(b)) => combine(mine, a, theirs, b, op),
            (Severities::I64(a), Severities::I64(b)) => combine(mine, a, theirs, b, op),
            (Severities::F64(a), Severities::F64(b)) => combine(mine, a, theirs, b, op),
            (a, b) => {
                let mut b = b.clone();
                combine(mine, a.make_f64(), theirs, b.make_f64(), op)
            }
        }
    }
}

#[derive(Clone, Copy)]
enum Op {
    Add,
    Subtract,
    Min,
    Max,
}

/// A type of severities: its arithmetic saturates at its limits, and returns 1 if so.
trait SeverityNumber: Copy + Default + PartialOrd {
    fn add(self, other: Self) -> (Self, u64);
    fn subtract(self, other: Self) -> (Self, u64);
}

macro_rules! integer_values {
    ($($type:ty)*) => {$(
        impl SeverityNumber for $type {
            fn add(self, other: Self) -> (Self, u64) {
                (self.saturating_add(other), u64::from(self.checked_add(other).is_none()))
            }

            fn subtract(self, other: Self) -> (Self, u64) {
                (self.saturating_sub(other), u64::from(self.checked_sub(other).is_none()))
            }
        }
    )*};
}

integer_values! { u64 i64 }

impl SeverityNumber for f64 {
    fn add(self, other: Self) -> (Self, u64) {
        (self + other, 0)
    }

    fn subtract(self, other: Self) -> (Self, u64) {
        (self - other, 0)
    }
}

impl Op {
    #[inline]
    fn apply<T: SeverityNumber>(self, mine: T, theirs: T) -> (T, u64) {
        match self {
            Op::Add => mine.add(theirs),
            Op::Subtract => mine.subtract(theirs),
            Op::Min => (if theirs < mine { theirs } else { mine }, 0),
            Op::Max => (if theirs > mine { theirs } else { mine }, 0),
        }
    }

    /// The result where only the other side has a value.
    #[inline]
    fn apply_to_nothing<T: SeverityNumber>(self, theirs: T) -> (T, u64) {
        match self {
            Op::Subtract => T::default().subtract(theirs),
            Op::Add | Op::Min | Op::Max => (theirs, 0),
        }
    }
}

/// `mine op theirs` into `mine`; returns how many results stopped at the end of their type.
fn combine<T: SeverityNumber>(
    my_locations: &mut Option<Vec<LocationId>>,
    mine: &mut Vec<T>,
    their_locations: Option<&[LocationId]>,
    theirs: &[T],
    op: Op,
) -> u64 {
    let mut n_stopped = 0;
    let mut set = |to: &mut T, (value, stopped): (T, u64)| {
        *to = value;
        n_stopped += stopped;
    };
    match (&my_locations, their_locations) {
        (None, None) => {
            for (a, &b) in mine.iter_mut().zip(theirs) {
                set(a, op.apply(*a, b));
            }
        }
        (None, Some(locations)) => {
            for (location, &b) in locations.iter().zip(theirs) {
                let a = &mut mine[location.index()];
                set(a, op.apply(*a, b));
            }
        }
        (Some(locations), None) => {
            let mut all = vec![T::default(); theirs.len()];
            let mut next = 0;
            for (i, (to, &b)) in all.iter_mut().zip(theirs).enumerate() {
                if locations.get(next).is_some_and(|location| location.index() == i) {
                    set(to, op.apply(mine[next], b));
                    next += 1;
                } else {
                    set(to, op.apply_to_nothing(b));
                }
            }
            (*mine, *my_locations) = (all, None);
        }
        (Some(locations), Some(others)) if locations == others => {
            for (a, &b) in mine.iter_mut().zip(theirs) {
                set(a, op.apply(*a, b));
            }
        }
        (Some(locations), Some(others)) => {
            let union = union(locations, others);
            let mut all = vec![T::default(); union.len()];
            let (mut i, mut j) = (0, 0);
            for (to, location) in all.iter_mut().zip(&union) {
                let a = locations.get(i).filter(|&at| at == location).map(|_| mine[i]);
                let b = others.get(j).filter(|&at| at == location).map(|_| theirs[j]);
                i += usize::from(a.is_some());
                j += usize::from(b.is_some());
                match (a, b) {
                    (Some(a), Some(b)) => set(to, op.apply(a, b)),
                    (None, Some(b)) => set(to, op.apply_to_nothing(b)),
                    (a, None) => *to = a.unwrap_or_default(),
                }
            }
            (*mine, *my_locations) = (all, Some(union));
        }
    }
    n_stopped
}

fn union(a: &[LocationId], b: &[LocationId]) -> Vec<LocationId> {
    let mut all = Vec::with_capacity(a.len() + b.len());
    let (mut i, mut j) = (0, 0);
    while i < a.len() && j < b.len() {
        let (at_a, at_b) = (a[i], b[j]);
        all.push(at_a.min(at_b));
        i += usize::from(at_a <= at_b);
        j += usize::from(at_b <= at_a);
    }
    all.extend_from_slice(&a[i..]);
    all.extend_from_slice(&b[j..]);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(locations: Option<&[u32]>, values: Severities) -> SeverityRow {
        let locations = locations.map(|ids| ids.iter().map(|&id| LocationId(id)).collect());
        SeverityRow { path: CallPathId(0), locations, values }
    }

    /// Every way to store two rows of three locations gives one result.
    #[test]
    fn the_way_a_row_is_stored_does_not_show() {
        let cases: [(&[u32], &[i64]); 4] =
            [(&[0, 1, 2], &[1, 2, 3]), (&[1], &[7]), (&[0, 2], &[-5, 9]), (&[], &[])];
        let stored = |(ids, values): (&[u32], &[i64])| {
            let sparse = row(Some(ids), Severities::I64(values.to_vec()));
            let dense = row(None, Severities::I64(values.to_vec()));
            if ids.len() == 3 { vec![sparse, dense] } else { vec![sparse] }
        };
        for (a, b) in cases.iter().flat_map(|a| cases.iter().map(move |b| (*a, *b))) {
            let value = |(ids, values): (&[u32], &[i64]), at: u32| {
                ids.iter().position(|&id| id == at).map(|i| values[i])
            };
            for (mut mine, theirs) in
                stored(a).into_iter().flat_map(|a| stored(b).into_iter().map(move |b| (a.clone(), b)))
            {
                let mut least = mine.clone();
                assert_eq!(least.merge(&theirs, Aggregation::Min), 0);
                let expected: Vec<(u32, f64)> = (0..3)
                    .filter_map(|at| {
                        let both = [value(a, at), value(b, at)];
                        Some((at, both.into_iter().flatten().min()? as f64))
                    })
                    .collect();
                assert_eq!(least.iter().map(|(l, v)| (l.0, v)).collect::<Vec<_>>(), expected);
                assert_eq!(mine.subtract(&theirs), 0);
                let mut dense = Vec::new();
                mine.write_dense(3, 0.0, &mut dense);
                let expected: Vec<f64> =
                    (0..3).map(|at| (value(a, at).unwrap_or(0) - value(b, at).unwrap_or(0)) as f64).collect();
                assert_eq!(dense, expected);
            }
        }
    }

    #[test]
    fn integers_stop_at_their_ends_and_say_so() {
        let mut row_a = row(None, Severities::U64(vec![u64::MAX, 1]));
        let row_b = row(Some(&[0, 1]), Severities::U64(vec![2, 3]));
        assert_eq!(row_a.merge(&row_b, Aggregation::Sum), 1);
        assert_eq!(row_a.values, Severities::U64(vec![u64::MAX, 4]));
        assert_eq!(row_a.subtract(&row(None, Severities::U64(vec![0, 5]))), 1);
        assert_eq!(row_a.values, Severities::U64(vec![u64::MAX, 0]));
    }

    #[test]
    fn types_that_differ_meet_as_floats() {
        let mut sum = row(None, Severities::U64(vec![1]));
        sum.merge(&row(None, Severities::F64(vec![0.5])), Aggregation::Sum);
        assert_eq!(sum.values, Severities::F64(vec![1.5]));
    }
}
