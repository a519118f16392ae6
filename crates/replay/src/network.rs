//! Networks: what a transfer takes, in the record and on another one.

use crate::error::ChangeError;
use crate::graph::Transfer;
use std::fmt;
use std::str::FromStr;

/// A network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Network {
    /// Calls of MPI take no time but waiting.
    Ideal,
    /// A transfer of messages takes `latency + bytes / bandwidth`.
    Linear {
        /// Nanoseconds of an empty message.
        latency_ns: u64,
        /// Bytes in a second; `None` is any number at once.
        bytes_per_second: Option<u64>,
    },
}

impl Network {
    /// How long a message is on its way.
    pub(crate) fn ticks(self, bytes: u64, ticks_per_second: u64) -> u64 {
        match self {
            Network::Ideal => 0,
            Network::Linear { latency_ns, bytes_per_second } => {
                let per_second = u128::from(ticks_per_second);
                let latency = u128::from(latency_ns) * per_second / 1_000_000_000;
                let transfer =
                    bytes_per_second.map_or(0, |rate| u128::from(bytes) * per_second / u128::from(rate));
                u64::try_from(latency + transfer).unwrap_or(u64::MAX)
            }
        }
    }
}

impl FromStr for Network {
    type Err = ChangeError;

    fn from_str(text: &str) -> Result<Self, ChangeError> {
        let bad = || ChangeError::Network(text.to_owned());
        if text == "ideal" {
            return Ok(Network::Ideal);
        }
        let (mut latency, mut rate) = (None, None);
        for part in text.split(',') {
            let (name, value) = part.split_once('=').ok_or_else(bad)?;
            let (place, units) = match name {
                "latency" => (&mut latency, LATENCY_UNITS),
                "bandwidth" => (&mut rate, RATE_UNITS),
                _ => return Err(bad()),
            };
            if place.replace(number(value, units).ok_or_else(bad)?).is_some() {
                return Err(bad());
            }
        }
        if rate == Some(0) {
            return Err(bad());
        }
        Ok(Network::Linear { latency_ns: latency.unwrap_or(0), bytes_per_second: rate })
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Network::Linear { latency_ns, bytes_per_second } = *self else {
            return f.write_str("ideal network");
        };
        write!(f, "network with a latency of {} µs", latency_ns as f64 / 1e3)?;
        bytes_per_second.map_or(Ok(()), |rate| write!(f, " and {} GB/s", rate as f64 / 1e9))
    }
}

/// Longer units first where one ends with another.
const LATENCY_UNITS: &[(&str, f64)] = &[("ns", 1.0), ("us", 1e3), ("µs", 1e3), ("ms", 1e6), ("s", 1e9)];
const RATE_UNITS: &[(&str, f64)] = &[
    ("KiB/s", 1024.0),
    ("MiB/s", 1_048_576.0),
    ("GiB/s", 1_073_741_824.0),
    ("kB/s", 1e3),
    ("KB/s", 1e3),
    ("MB/s", 1e6),
    ("GB/s", 1e9),
    ("TB/s", 1e12),
    ("B/s", 1.0),
];

/// A number with a unit, rounded.
fn number(text: &str, units: &[(&str, f64)]) -> Option<u64> {
    let unit = units.iter().find_map(|&(unit, factor)| Some((text.strip_suffix(unit)?, factor)));
    let (digits, factor) = unit?;
    let value = digits.trim().parse::<f64>().ok()? * factor;
    // Exact up to 2⁵³; no network is beyond that.
    (0.0..9e15).contains(&value).then(|| value.round() as u64)
}

/// What transfers of the record took at least, as a straight line over their lengths.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct NetworkFit {
    /// Ticks of an empty message.
    pub latency: f64,
    /// Ticks of a byte.
    pub per_byte: f64,
}

impl NetworkFit {
    /// The line below all transfers that is nearest to them in the mean, and does not fall.
    pub fn of(transfers: &[Transfer]) -> Self {
        let mut least: Vec<(f64, f64)> = Vec::new();
        let mut sorted: Vec<(u64, u64)> = transfers.iter().map(|it| (it.bytes, it.rest)).collect();
        sorted.sort_unstable();
        let n = sorted.len() as f64;
        let mean = sorted.iter().map(|it| it.0 as f64).sum::<f64>() / n;
        sorted.dedup_by_key(|it| it.0);
        for (bytes, rest) in sorted {
            let point = (bytes as f64, rest as f64);
            // Leaves the lower hull, from which the last point falls out if it lies above the line to the new one.
            while let [.., a, b] = least[..]
                && (b.1 - a.1) * (point.0 - a.0) >= (point.1 - a.1) * (b.0 - a.0)
            {
                least.pop();
            }
            least.push(point);
        }
        let at_mean = least.windows(2).find(|pair| mean <= pair[1].0);
        let flat =
            NetworkFit { latency: least.iter().map(|it| it.1).fold(f64::INFINITY, f64::min), per_byte: 0.0 };
        match at_mean {
            Some(&[a, b]) if a.1 < b.1 => {
                let per_byte = (b.1 - a.1) / (b.0 - a.0);
                // A message of no bytes cannot take less than no time.
                let latency = (a.1 - per_byte * a.0).max(0.0);
                NetworkFit { latency, per_byte }
            }
            _ if least.is_empty() => NetworkFit::default(),
            _ => flat,
        }
    }

    /// What a message took at least.
    pub fn ticks(self, bytes: u64) -> u64 {
        (self.latency + self.per_byte * bytes as f64).round() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_are_read() {
        let linear = |latency_ns, bytes_per_second| Ok(Network::Linear { latency_ns, bytes_per_second });
        assert_eq!("ideal".parse(), Ok(Network::Ideal));
        assert_eq!("latency=5us,bandwidth=12GB/s".parse(), linear(5000, Some(12_000_000_000)));
        assert_eq!("bandwidth=1.5GiB/s".parse(), linear(0, Some(1_610_612_736)));
        assert_eq!("latency=0.5ms".parse(), linear(500_000, None));
        for bad in ["", "fast", "latency=5", "latency=-5us", "bandwidth=0B/s", "latency=1us,latency=2us"] {
            assert_eq!(bad.parse::<Network>(), Err(ChangeError::Network(bad.to_owned())));
        }
    }

    #[test]
    fn the_fit_lies_below_all_transfers() {
        let transfers = |of: &[(u64, u64)]| -> Vec<Transfer> {
            of.iter().map(|&(bytes, rest)| Transfer { point: 0, bytes, rest }).collect()
        };
        // 20 ticks and 50 bytes a tick, some with more.
        let line = NetworkFit::of(&transfers(&[(0, 20), (100, 22), (100, 90), (5000, 120), (1000, 45)]));
        assert!((line.latency - 20.0).abs() < 1e-9 && (line.per_byte - 0.02).abs() < 1e-9, "{line:?}");
        assert_eq!(line.ticks(5000), 120);
        assert_eq!(NetworkFit::of(&[]), NetworkFit::default());
        let falling = NetworkFit::of(&transfers(&[(10, 30), (1000, 5)]));
        assert_eq!((falling.ticks(0), falling.ticks(1000)), (5, 5));
    }
}
