//! How a kernel was launched, where a trace records it.
//!
//! Readers give it as the text of a parameter ([`LaunchShape::PARAMETER`]) of the kernel, so that it survives conversion.
//! Law: what is written by `Display` is read by `FromStr`.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Blocks, threads and resources of a launch.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct LaunchShape {
    /// Blocks (work groups) in each dimension.
    pub grid: [u32; 3],
    /// Threads (work items) of a block in each dimension.
    pub block: [u32; 3],
    /// Registers of each thread.
    pub registers: Option<u32>,
    /// Static and dynamic shared memory of each block.
    pub shared_bytes: Option<u32>,
    /// Part of a multiprocessor's threads that can run at once, in 1/1000, as the profiler estimates it.
    pub occupancy_permille: Option<u16>,
}

impl LaunchShape {
    /// The name of the parameter.
    pub const PARAMETER: &'static str = "launch shape";

    /// Extents as text: `64x1x1`.
    pub fn extent(of: [u32; 3]) -> String {
        format!("{}x{}x{}", of[0], of[1], of[2])
    }
}

impl fmt::Display for LaunchShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "grid={} block={}", Self::extent(self.grid), Self::extent(self.block))?;
        if let Some(registers) = self.registers {
            write!(f, " registers={registers}")?;
        }
        if let Some(bytes) = self.shared_bytes {
            write!(f, " shared_bytes={bytes}")?;
        }
        match self.occupancy_permille {
            Some(permille) => write!(f, " occupancy={}.{:03}", permille / 1000, permille % 1000),
            None => Ok(()),
        }
    }
}

/// The text is no launch shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoLaunchShape;

fn extent(text: &str) -> Option<[u32; 3]> {
    let mut parts = text.split('x').map(|part| part.parse().ok());
    let extent = [parts.next()??, parts.next()??, parts.next()??];
    parts.next().is_none().then_some(extent)
}

impl FromStr for LaunchShape {
    type Err = NoLaunchShape;

    fn from_str(text: &str) -> Result<Self, NoLaunchShape> {
        let mut shape = LaunchShape::default();
        let (mut has_grid, mut has_block) = (false, false);
        for part in text.split(' ') {
            let (key, value) = part.split_once('=').ok_or(NoLaunchShape)?;
            match key {
                "grid" => (shape.grid, has_grid) = (extent(value).ok_or(NoLaunchShape)?, true),
                "block" => (shape.block, has_block) = (extent(value).ok_or(NoLaunchShape)?, true),
                "registers" => shape.registers = Some(value.parse().map_err(|_| NoLaunchShape)?),
                "shared_bytes" => shape.shared_bytes = Some(value.parse().map_err(|_| NoLaunchShape)?),
                "occupancy" => {
                    let (whole, rest) = value.split_once('.').ok_or(NoLaunchShape)?;
                    let number = |text: &str| text.parse::<u16>().map_err(|_| NoLaunchShape);
                    let permille =
                        number(whole)?.checked_mul(1000).and_then(|it| it.checked_add(number(rest).ok()?));
                    shape.occupancy_permille =
                        Some(permille.filter(|_| rest.len() == 3).ok_or(NoLaunchShape)?);
                }
                _ => return Err(NoLaunchShape),
            }
        }
        if has_grid && has_block { Ok(shape) } else { Err(NoLaunchShape) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let least = LaunchShape { grid: [64, 1, 1], block: [128, 2, 1], ..LaunchShape::default() };
        let most = LaunchShape {
            registers: Some(32),
            shared_bytes: Some(0),
            occupancy_permille: Some(1000),
            ..least
        };
        assert_eq!(most.to_string(), "grid=64x1x1 block=128x2x1 registers=32 shared_bytes=0 occupancy=1.000");
        for shape in [least, most, LaunchShape { occupancy_permille: Some(42), ..least }] {
            assert_eq!(shape.to_string().parse(), Ok(shape));
        }
        for text in ["", "grid=1x1x1", "grid=1x1 block=1x1x1", "grid=1x1x1 block=1x1x1 occupancy=1", "solve"]
        {
            assert_eq!(text.parse::<LaunchShape>(), Err(NoLaunchShape), "{text}");
        }
    }
}
