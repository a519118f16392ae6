//! Copies by direction and by size: how fast they are, what memory of the host they have, what they overlap with.
//!
//! A copy overlaps with kernels in the time in which its device computes on any of its streams. Sizes are in ranges from a
//! power of two to the next.

use super::AcceleratorsOutput;
use super::names::direction;
use crate::devices::records::OperationValue;
use ouzel_analyses::breakdown::Intervals;
use ouzel_model::units::count;
use ouzel_model::{Definitions, Level, LocationId, Notice, NoticeCode, RegionId};
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Copies of one direction.
#[derive(Debug, Clone, PartialEq)]
pub struct Copies {
    /// From where to where.
    pub direction: &'static str,
    /// How many.
    pub n: u64,
    /// How much; of those copies whose size is recorded, `None` without any.
    pub bytes: Option<u64>,
    /// How long they run.
    pub total_ns: u64,
    /// The part of it in which their device computes.
    pub overlapped_ns: u64,
    /// Bytes / time, over all copies whose size is recorded; `None` without any.
    pub mean_gb_per_s: Option<f64>,
    /// The highest of a single copy.
    pub max_gb_per_s: Option<f64>,
    /// How many have pageable memory at the host; `None` if none says what it has.
    pub n_pageable: Option<u64>,
    /// Bytes / time of these.
    pub pageable_gb_per_s: Option<f64>,
    /// Bytes / time of those with pinned memory at the host.
    pub pinned_gb_per_s: Option<f64>,
}

/// Copies of one direction and size.
#[derive(Debug, Clone, PartialEq)]
pub struct CopySizes {
    /// From where to where.
    pub direction: &'static str,
    /// From so many bytes.
    pub from_bytes: u64,
    /// To so many, which belong to the next.
    pub to_bytes: u64,
    /// How many.
    pub n: u64,
    /// How much.
    pub bytes: u64,
    /// How long they run.
    pub total_ns: u64,
    /// Bytes / time.
    pub mean_gb_per_s: Option<f64>,
}

/// Bytes and time of copies with a size.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct CopyRate {
    pub n: u64,
    pub bytes: u64,
    pub ns: u64,
}

impl CopyRate {
    pub fn add(&mut self, bytes: u64, ns: u64) {
        self.n += 1;
        self.bytes = self.bytes.saturating_add(bytes);
        self.ns += ns;
    }

    pub fn merge(&mut self, from: CopyRate) {
        self.n += from.n;
        self.bytes = self.bytes.saturating_add(from.bytes);
        self.ns += from.ns;
    }

    /// 10⁹ bytes per second.
    pub fn gb_per_s(self) -> Option<f64> {
        (0 < self.ns && 0 < self.n).then(|| self.bytes as f64 / self.ns as f64)
    }
}

/// Sums over the copies of one name, or of one direction.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct CopySum {
    n: u64,
    total_ns: u64,
    overlapped_ns: u64,
    sized: CopyRate,
    /// Bytes and time of the fastest.
    fastest: Option<(u64, u64)>,
    n_pageable: Option<u64>,
    pageable: CopyRate,
    pinned: CopyRate,
    /// By the binary digits of the size.
    sizes: BTreeMap<u32, CopyRate>,
}

/// A copy.
pub(super) struct CopyFacts {
    pub ns: u64,
    pub overlapped_ns: u64,
    pub bytes: Option<u64>,
    /// Whether the memory of the host is pageable, if the trace says so.
    pub pageable: Option<bool>,
}

/// The faster of two; of equally fast ones the larger.
fn faster(a: (u64, u64), b: (u64, u64)) -> (u64, u64) {
    let [by_a, by_b] = [(a, b), (b, a)].map(|(of, other)| u128::from(of.0) * u128::from(other.1));
    if (by_a, a) < (by_b, b) { b } else { a }
}

impl CopySum {
    /// Adds a copy.
    pub fn add(&mut self, copy: &CopyFacts) {
        self.n += 1;
        self.total_ns += copy.ns;
        self.overlapped_ns += copy.overlapped_ns;
        if let Some(is_pageable) = copy.pageable {
            *self.n_pageable.get_or_insert(0) += u64::from(is_pageable);
        }
        let Some(bytes) = copy.bytes else { return };
        self.sized.add(bytes, copy.ns);
        match copy.pageable {
            Some(true) => self.pageable.add(bytes, copy.ns),
            Some(false) => self.pinned.add(bytes, copy.ns),
            None => {}
        }
        self.sizes.entry(u64::BITS - bytes.leading_zeros()).or_default().add(bytes, copy.ns);
        if 0 < copy.ns {
            let own = (bytes, copy.ns);
            self.fastest = Some(self.fastest.map_or(own, |fastest| faster(fastest, own)));
        }
    }

    /// Adds other copies.
    pub fn merge(&mut self, from: &CopySum) {
        self.n += from.n;
        self.total_ns += from.total_ns;
        self.overlapped_ns += from.overlapped_ns;
        self.sized.merge(from.sized);
        self.pageable.merge(from.pageable);
        self.pinned.merge(from.pinned);
        if let Some(n) = from.n_pageable {
            *self.n_pageable.get_or_insert(0) += n;
        }
        if let Some(own) = from.fastest {
            self.fastest = Some(self.fastest.map_or(own, |fastest| faster(fastest, own)));
        }
        from.sizes.iter().for_each(|(&digits, rate)| self.sizes.entry(digits).or_default().merge(*rate));
    }

    fn sizes(&self, direction: &'static str) -> Vec<CopySizes> {
        let range = |(&digits, rate): (&u32, &CopyRate)| CopySizes {
            direction,
            from_bytes: digits.checked_sub(1).map_or(0, |digit| 1 << digit),
            to_bytes: 1_u64.checked_shl(digits).unwrap_or(u64::MAX),
            n: rate.n,
            bytes: rate.bytes,
            total_ns: rate.ns,
            mean_gb_per_s: rate.gb_per_s(),
        };
        self.sizes.iter().map(range).collect()
    }

    fn row(&self, direction: &'static str) -> Copies {
        Copies {
            direction,
            n: self.n,
            bytes: (0 < self.sized.n).then_some(self.sized.bytes),
            total_ns: self.total_ns,
            overlapped_ns: self.overlapped_ns,
            mean_gb_per_s: self.sized.gb_per_s(),
            max_gb_per_s: self.fastest.map(|(bytes, ns)| bytes as f64 / ns as f64),
            n_pageable: self.n_pageable,
            pageable_gb_per_s: self.pageable.gb_per_s(),
            pinned_gb_per_s: self.pinned.gb_per_s(),
        }
    }
}

/// By direction, the most time first; and by direction and size.
pub(super) fn copy_rows(
    of_regions: &BTreeMap<RegionId, CopySum>,
    definitions: &Definitions,
) -> (Vec<Copies>, Vec<CopySizes>) {
    let mut sums: BTreeMap<&'static str, CopySum> = BTreeMap::new();
    for (&region, sum) in of_regions {
        if let Some(direction) = direction(&definitions.region(region).name) {
            sums.entry(direction).or_default().merge(sum);
        }
    }
    let sizes = sums.iter().flat_map(|(direction, sum)| sum.sizes(direction)).collect();
    let mut rows: Vec<Copies> = sums.iter().map(|(direction, sum)| sum.row(direction)).collect();
    rows.sort_by_key(|row| Reverse(row.total_ns));
    (rows, sizes)
}

/// What is said of copies whose size the trace does not record.
pub(super) fn without_size(
    of_regions: &BTreeMap<RegionId, CopySum>,
    definitions: &Definitions,
) -> Option<Notice> {
    let is_copy = |it: &(&RegionId, &CopySum)| direction(&definitions.region(*it.0).name).is_some();
    let (mut n, mut n_sized) = (0, 0);
    for (_, sum) in of_regions.iter().filter(is_copy) {
        n += sum.n;
        n_sized += sum.sized.n;
    }
    let what = match n - n_sized {
        0 => return None,
        left if left == n => {
            "the trace does not record how much is copied: bytes and rates of copies are unknown".to_owned()
        }
        left => format!(
            "the trace does not record the size of {} of {} copies: bytes and rates are those of the others",
            count(left),
            count(n)
        ),
    };
    Some(Notice::new(Level::Low, NoticeCode::NotAvailable, what))
}

impl AcceleratorsOutput {
    /// A value of an operation.
    pub(super) fn value(&self, stream: LocationId, nth: usize, wanted: OperationValue) -> Option<u64> {
        let values = &self.details(stream)?.values;
        let first = values.partition_point(|it| (it.0 as usize) < nth);
        let of_operation = values[first..].iter().take_while(|it| it.0 as usize == nth);
        of_operation.filter(|it| it.1 == wanted).map(|it| it.2).next()
    }
}

/// How much of a range lies in intervals.
pub(super) fn overlap(of: &Intervals, (start, end): (u64, u64)) -> u64 {
    let all = of.as_slice();
    let first = all.partition_point(|it| it.1 <= start);
    let inside = all[first..].iter().take_while(|it| it.0 < end);
    inside.map(|it| it.1.min(end) - it.0.max(start)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_by_size_and_memory_add_up_to_all() {
        let (mut pageable, mut sum) = (CopySum::default(), CopySum::default());
        let copy = |bytes, ns, pageable| CopyFacts { ns, overlapped_ns: ns / 2, bytes, pageable };
        pageable.add(&copy(Some(1000), 100, Some(true)));
        sum.add(&copy(Some(3000), 100, Some(false)));
        sum.add(&copy(Some(0), 10, Some(false)));
        sum.add(&copy(None, 10, None));
        sum.merge(&pageable);
        let (row, sizes) = (sum.row("host_to_device"), sum.sizes("host_to_device"));
        assert_eq!(
            (row.n, row.bytes, row.total_ns, row.overlapped_ns, row.n_pageable),
            (4, Some(4000), 220, 110, Some(1))
        );
        assert_eq!([row.pageable_gb_per_s, row.max_gb_per_s], [Some(10.0), Some(30.0)]);
        assert_eq!(row.pinned_gb_per_s, Some(3000.0 / 110.0));
        let ranges: Vec<_> = sizes.iter().map(|it| (it.from_bytes, it.to_bytes, it.n, it.bytes)).collect();
        assert_eq!(ranges, [(0, 1, 1, 0), (512, 1024, 1, 1000), (2048, 4096, 1, 3000)]);
    }

    #[test]
    fn copies_without_size_have_no_bytes() {
        let mut sum = CopySum::default();
        sum.add(&CopyFacts { ns: 10, overlapped_ns: 0, bytes: None, pageable: None });
        let row = sum.row("host_to_device");
        assert_eq!((row.n, row.bytes, row.mean_gb_per_s, row.max_gb_per_s), (1, None, None, None));
        assert_eq!(sum.sizes("host_to_device"), []);
    }

    #[test]
    fn the_fastest_copy_does_not_depend_on_the_order() {
        let copies = [(1000, 100), (3000, 300), (10, 2), (0, 5)];
        for a in copies {
            for b in copies {
                assert_eq!(faster(a, b), faster(b, a));
            }
        }
        assert_eq!(faster((1000, 100), (3000, 300)), (3000, 300));
        assert_eq!(faster((1000, 100), (10, 2)), (1000, 100));
    }
}
