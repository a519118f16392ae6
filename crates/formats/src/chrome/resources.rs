//! What PyTorch records of the resources of devices: the shapes of launches, the state of its allocator, and metrics that
//! CUPTI counts in ranges.
//!
//! Law: each shape is kept once. The state of the allocator becomes counters on the thread that allocates, so that the
//! call path around it is known.

use super::collect::Collector;
use super::event::{Args, Event};
use super::kinds::ActivityClass;
use super::names::RegionDraft;
use super::number::u64_from;
use super::record::RecordKind;
use super::scan::{JsonCursor, Text};
use super::track::TrackKind;
use ouzel_model::{LaunchShape, Level, NoticeCode};
use rustc_hash::FxHashMap;
use std::io;

/// The name of events of the allocator.
pub(super) const MEMORY: &[u8] = b"[memory]";

/// The category of ranges that CUPTI counts in.
pub(super) const PROFILER_RANGE: &[u8] = b"cuda_profiler_range";

/// Shapes, each once.
#[derive(Debug, Default)]
pub(super) struct LaunchShapes {
    ids: FxHashMap<LaunchShape, u16>,
    pub list: Vec<LaunchShape>,
}

impl LaunchShapes {
    /// The number of a shape plus one; `None` if there is no number left.
    fn id(&mut self, shape: LaunchShape) -> Option<u16> {
        if let Some(&id) = self.ids.get(&shape) {
            return Some(id);
        }
        let id = u16::try_from(self.list.len() + 1).ok()?;
        self.ids.insert(shape, id);
        self.list.push(shape);
        Some(id)
    }
}

/// What calls of HIP say of the operations that they launch: CUDA's operations say it themselves. Calls come before
/// operations in a file.
#[derive(Debug, Default)]
pub(super) struct CallResources {
    shapes: FxHashMap<u64, u16>,
    bytes: FxHashMap<u64, u64>,
}

impl CallResources {
    /// The number of the shape of the kernel that a call launches, plus one; 0 if none is recorded. A call launches one.
    pub fn shape(&mut self, link: u64) -> u16 {
        if self.shapes.is_empty() { 0 } else { self.shapes.remove(&link).unwrap_or(0) }
    }

    /// How much a call copies.
    pub fn bytes(&mut self, link: u64) -> Option<u64> {
        if self.bytes.is_empty() { None } else { self.bytes.remove(&link) }
    }
}

impl Collector {
    /// Keeps what a call of HIP says of the operation that it launches.
    pub(super) fn keep_resources(&mut self, event: &Event<'_>, link: u64) {
        if !event.args.grid.is_empty() {
            let shape = self.shape(&event.args);
            if shape != 0 {
                self.of_calls.shapes.insert(link, shape);
            }
        }
        let is_copy = || memchr::memmem::find(event.name.raw, b"Memcpy").is_some();
        if !event.args.size.is_empty()
            && is_copy()
            && let Some(bytes) = u64_from(event.args.size)
        {
            self.of_calls.bytes.insert(link, bytes);
        }
    }

    /// The number of the shape of a kernel plus one; 0 if none is recorded.
    pub(super) fn shape(&mut self, args: &Args<'_>) -> u16 {
        let (Some(grid), Some(block)) = (extent(args.grid), extent(args.block)) else { return 0 };
        let number = |raw: &[u8]| u64_from(raw).and_then(|it| u32::try_from(it).ok());
        let shape = LaunchShape {
            grid,
            block,
            registers: number(args.registers),
            shared_bytes: number(args.shared_memory),
            occupancy_permille: permille(args.occupancy),
        };
        self.shapes.id(shape).unwrap_or_else(|| {
            let what = "launches with more shapes than 65,535 have none";
            self.note(Level::Low, NoticeCode::NotRepresented, what);
            0
        })
    }

    /// What the allocator has after it gave or took memory.
    ///
    /// # Errors
    /// If the temporary file cannot be written.
    pub(super) fn memory(&mut self, event: &Event<'_>, at_ns: i64) -> io::Result<()> {
        let track = self.track(event, TrackKind::Thread);
        let mut cursor = JsonCursor::new(event.args.raw);
        let (mut device, mut is_host) = (String::new(), false);
        let mut values: [Option<f64>; 3] = [None; 3];
        if cursor.expect(b'{', "").is_ok() {
            while let Ok(Some(key)) = cursor.key() {
                let Ok(value) = cursor.value() else { break };
                let text = || String::from_utf8_lossy(value.raw()).into_owned();
                let number = || text().parse::<f64>().ok().filter(|it| it.is_finite());
                match key.raw {
                    b"Device Id" => device = text(),
                    b"Device Type" => is_host = value.raw() == b"0",
                    b"Total Allocated" => values[0] = number(),
                    b"Total Reserved" => values[1] = number().filter(|it| 0.0 < *it),
                    b"Bytes" => values[2] = number(),
                    _ => {}
                }
            }
        }
        let place = if is_host { "host".to_owned() } else { format!("device {device}") };
        for (what, value) in MEMORY_COUNTERS.iter().zip(values) {
            let Some(value) = value else { continue };
            let name = format!("{what}, {place}");
            let metric = self.metrics.id(Text::plain(name.as_bytes()));
            self.push(track, at_ns, 0, RecordKind::Counter, metric, value.to_bits())?;
        }
        Ok(())
    }
}

impl Collector {
    /// A range of CUPTI's range profiler, which is a kernel or one that the program marks: a call beside the streams of its
    /// device, with a value of each metric. Kineto divides the time of the recording among the ranges, as none is measured.
    ///
    /// # Errors
    /// If the temporary file cannot be written.
    pub(super) fn profiler_range(&mut self, event: &Event<'_>, at_ns: i64) -> io::Result<()> {
        let track = self.track(event, TrackKind::DeviceRanges);
        let (class, length_ns) = (ActivityClass::DeviceRange, self.length(event));
        let what = self.regions.id(class, event.name, |name| RegionDraft { name, class, op: None });
        self.push(track, at_ns, length_ns, RecordKind::Slice, what, 0)?;
        let message = "ranges of CUPTI's range profiler have no measured times: Kineto divides the recording among them";
        self.note(Level::Low, NoticeCode::NotRepresented, message);
        let device = String::from_utf8_lossy(event.pid.raw()).into_owned();
        let mut cursor = JsonCursor::new(event.args.raw);
        if cursor.expect(b'{', "").is_err() {
            return Ok(());
        }
        // Within the call, as times count.
        let at_ns = at_ns + length_ns / 2;
        while let Ok(Some(metric)) = cursor.key() {
            let Ok(value) = cursor.value() else { break };
            let number = std::str::from_utf8(value.raw()).ok().and_then(|text| text.parse::<f64>().ok());
            let Some(number) = number.filter(|number| number.is_finite()) else { continue };
            let name = [metric.raw, b", device ", device.as_bytes()].concat();
            let what = self.metrics.id(Text { raw: &name, escapes: metric.escapes });
            self.push(track, at_ns, 0, RecordKind::Counter, what, number.to_bits())?;
        }
        Ok(())
    }
}

/// What the counters of an allocator begin with: its total, what it holds of the device, and how much it gave or took.
pub(super) const MEMORY_COUNTERS: [&str; 3] = ["memory allocated", "memory reserved", "memory change"];

/// `[64, 1, 1]`
fn extent(raw: &[u8]) -> Option<[u32; 3]> {
    let inner = raw.strip_prefix(b"[")?.strip_suffix(b"]")?;
    let mut parts = inner.split(|&byte| byte == b',').map(|part| {
        let number = u64_from(part.trim_ascii())?;
        u32::try_from(number).ok()
    });
    let extent = [parts.next()??, parts.next()??, parts.next()??];
    parts.next().is_none().then_some(extent)
}

/// Percent, also with decimals.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "whole, and from 0 to 1,000")]
fn permille(raw: &[u8]) -> Option<u16> {
    let percent: f64 = std::str::from_utf8(raw).ok()?.parse().ok()?;
    (0.0..=100.0).contains(&percent).then(|| (percent * 10.0).round() as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extents_and_shares_are_read_as_written() {
        assert_eq!(extent(b"[64, 1,\n 2]"), Some([64, 1, 2]));
        for text in [&b""[..], b"[]", b"[1, 2]", b"[1, 2, 3, 4]", b"[1, -2, 3]", b"[1, 2, 4294967296]"] {
            assert_eq!(extent(text), None);
        }
        assert_eq!(
            [&b"4"[..], b"12.5", b"100", b"101", b""].map(permille),
            [Some(40), Some(125), Some(1000), None, None]
        );
    }
}
