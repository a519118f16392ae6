//! Copies by direction and by size: how fast they are, what memory of the host they have, what they overlap with.
//!
//! A copy overlaps with kernels in the time in which its device computes on any of its streams. Sizes are in ranges from a
//! power of two to the next.

use super::AcceleratorsOutput;
use super::names::is_pageable;
use crate::devices::records::OperationValue;
use ouzel_analyses::breakdown::Intervals;
use ouzel_model::LocationId;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Copies of one direction.
#[derive(Debug, Clone, PartialEq)]
pub struct Copies {
    /// From where to where.
    pub direction: &'static str,
    /// How many.
    pub n: u64,
    /// How much; of those copies whose size is recorded.
    pub bytes: u64,
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
#[derive(Debug, Clone, Copy, Default)]
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

    /// 10⁹ bytes per second.
    pub fn gb_per_s(self) -> Option<f64> {
        (0 < self.ns && 0 < self.n).then(|| self.bytes as f64 / self.ns as f64)
    }
}

/// Sums over the copies of one direction.
#[derive(Default)]
struct CopySum {
    n: u64,
    total_ns: u64,
    overlapped_ns: u64,
    sized: CopyRate,
    max_gb_per_s: Option<f64>,
    n_pageable: Option<u64>,
    pageable: CopyRate,
    pinned: CopyRate,
    /// By the binary digits of the size.
    sizes: BTreeMap<u32, CopyRate>,
}

/// A copy.
pub(super) struct CopyFacts<'a> {
    pub name: &'a str,
    pub ns: u64,
    pub overlapped_ns: u64,
    pub bytes: Option<u64>,
    /// Whether the memory of the host is pageable, if the trace says so beside the name.
    pub pageable: Option<bool>,
}

/// Copies by direction, while they are counted.
#[derive(Default)]
pub(super) struct CopySums(BTreeMap<&'static str, CopySum>);

impl CopySums {
    /// Adds a copy.
    pub fn add(&mut self, direction: &'static str, copy: &CopyFacts<'_>) {
        let sum = self.0.entry(direction).or_default();
        sum.n += 1;
        sum.total_ns += copy.ns;
        sum.overlapped_ns += copy.overlapped_ns;
        let pageable = copy.pageable.or_else(|| is_pageable(copy.name));
        if let Some(is_pageable) = pageable {
            *sum.n_pageable.get_or_insert(0) += u64::from(is_pageable);
        }
        let Some(bytes) = copy.bytes else { return };
        sum.sized.add(bytes, copy.ns);
        match pageable {
            Some(true) => sum.pageable.add(bytes, copy.ns),
            Some(false) => sum.pinned.add(bytes, copy.ns),
            None => {}
        }
        sum.sizes.entry(u64::BITS - bytes.leading_zeros()).or_default().add(bytes, copy.ns);
        if 0 < copy.ns {
            let rate = bytes as f64 / copy.ns as f64;
            sum.max_gb_per_s = Some(sum.max_gb_per_s.map_or(rate, |max| max.max(rate)));
        }
    }

    /// By direction, the most time first; and by direction and size.
    pub fn rows(self) -> (Vec<Copies>, Vec<CopySizes>) {
        let mut sizes = Vec::new();
        let mut rows = Vec::new();
        for (direction, sum) in self.0 {
            sizes.extend(sum.sizes.iter().map(|(&digits, rate)| CopySizes {
                direction,
                from_bytes: digits.checked_sub(1).map_or(0, |digit| 1 << digit),
                to_bytes: 1_u64.checked_shl(digits).unwrap_or(u64::MAX),
                n: rate.n,
                bytes: rate.bytes,
                total_ns: rate.ns,
                mean_gb_per_s: rate.gb_per_s(),
            }));
            rows.push(Copies {
                direction,
                n: sum.n,
                bytes: sum.sized.bytes,
                total_ns: sum.total_ns,
                overlapped_ns: sum.overlapped_ns,
                mean_gb_per_s: sum.sized.gb_per_s(),
                max_gb_per_s: sum.max_gb_per_s,
                n_pageable: sum.n_pageable,
                pageable_gb_per_s: sum.pageable.gb_per_s(),
                pinned_gb_per_s: sum.pinned.gb_per_s(),
            });
        }
        rows.sort_by_key(|row: &Copies| Reverse(row.total_ns));
        (rows, sizes)
    }
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
        let mut sums = CopySums::default();
        let copy = |name, bytes, ns| CopyFacts { name, ns, overlapped_ns: ns / 2, bytes, pageable: None };
        sums.add("host_to_device", &copy("Memcpy HtoD (Pageable -> Device)", Some(1000), 100));
        sums.add("host_to_device", &copy("Memcpy HtoD (Pinned -> Device)", Some(3000), 100));
        sums.add("host_to_device", &copy("Memcpy HtoD (Pinned -> Device)", Some(0), 10));
        sums.add("host_to_device", &copy("[memcpy]", None, 10));
        let (rows, sizes) = sums.rows();
        let row = &rows[0];
        assert_eq!(
            (row.n, row.bytes, row.total_ns, row.overlapped_ns, row.n_pageable),
            (4, 4000, 220, 110, Some(1))
        );
        assert_eq!([row.pageable_gb_per_s, row.max_gb_per_s], [Some(10.0), Some(30.0)]);
        assert_eq!(row.pinned_gb_per_s, Some(3000.0 / 110.0));
        let ranges: Vec<_> = sizes.iter().map(|it| (it.from_bytes, it.to_bytes, it.n, it.bytes)).collect();
        assert_eq!(ranges, [(0, 1, 1, 0), (512, 1024, 1, 1000), (2048, 4096, 1, 3000)]);
    }
}
