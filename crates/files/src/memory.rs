//! How much memory this process may use.
//!
//! There is one limit for the process, like that of a job or container. It applies to the resident memory that the
//! system reports: buffers, tables, what allocators keep and the program itself. It is checked when data are read
//! ([`check`]), and before a file is read as a whole (`room_for`). A program that owns its process also has it
//! [watched](watch) all the time.
//!
//! Law: without a limit nothing is checked. What may be moved to a file is decided elsewhere, within [`share`].

use std::fmt;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The limit in bytes; 0 for none.
static LIMIT_BYTES: AtomicU64 = AtomicU64::new(0);

/// Sets the limit of this process; `None` lifts it.
///
/// # Errors
/// If this system does not report the memory of a process.
pub fn set_limit(bytes: Option<u64>) -> io::Result<()> {
    if bytes.is_some() && resident_bytes().is_none() {
        let message = "this system does not report how much memory a process uses, so a limit cannot be kept";
        return Err(io::Error::new(io::ErrorKind::Unsupported, message));
    }
    LIMIT_BYTES.store(bytes.map_or(0, |bytes| bytes.max(1)), Ordering::Relaxed);
    Ok(())
}

/// The limit in bytes.
pub fn limit() -> Option<u64> {
    Some(LIMIT_BYTES.load(Ordering::Relaxed)).filter(|&bytes| bytes != 0)
}

/// The part of `default_bytes` that may stay in memory if the rest can go to a file: at most an eighth of the limit.
pub fn share(default_bytes: u64) -> u64 {
    limit().map_or(default_bytes, |limit| default_bytes.min(limit / 8))
}

/// The error that the limit is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LimitReached {
    /// The limit.
    pub limit_bytes: u64,
    /// Bytes that are in memory, or would be.
    pub bytes: u64,
}

impl fmt::Display for LimitReached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mega = |bytes: u64| bytes as f64 / 1e6;
        let (limit, bytes) = (mega(self.limit_bytes), mega(self.bytes));
        write!(
            f,
            "the memory limit of {limit:.1} MB is reached: {bytes:.1} MB are needed; select less with --time, \
                   --ranks or --region, use fewer threads with --jobs, or raise --memory-limit"
        )
    }
}

impl std::error::Error for LimitReached {}

impl From<LimitReached> for io::Error {
    fn from(reached: LimitReached) -> Self {
        io::Error::new(io::ErrorKind::OutOfMemory, reached)
    }
}

/// Checks whether the limit is reached.
///
/// # Errors
/// If it is.
pub fn check() -> Result<(), LimitReached> {
    room_for(0)
}

/// Checks whether there is room for `more_bytes`.
///
/// # Errors
/// If they would reach the limit.
pub(crate) fn room_for(more_bytes: u64) -> Result<(), LimitReached> {
    let Some(limit_bytes) = limit() else { return Ok(()) };
    let bytes = resident_bytes().unwrap_or(0).saturating_add(more_bytes);
    if bytes < limit_bytes { Ok(()) } else { Err(LimitReached { limit_bytes, bytes }) }
}

/// Time between two checks of the [watch].
const LOOK: Duration = Duration::from_millis(20);
/// Checks above the limit before the watch acts: callers that check themselves report better errors.
const MAX_LOOKS_ABOVE: u32 = 5;

/// From now on checks the limit in a separate thread, and calls `end` when the process stays above it.
///
/// # Errors
/// If the thread cannot be started.
pub fn watch(end: impl FnOnce(LimitReached) + Send + 'static) -> io::Result<()> {
    let look = || {
        std::thread::sleep(LOOK);
        check()
    };
    std::thread::Builder::new()
        .name("memory limit".to_owned())
        .spawn(move || end(stays_above(look)))
        .map(drop)
}

/// Checks until the limit is reached too often in a row.
fn stays_above(mut look: impl FnMut() -> Result<(), LimitReached>) -> LimitReached {
    let mut n_above = 0;
    loop {
        match look() {
            Ok(()) => n_above = 0,
            Err(reached) if n_above == MAX_LOOKS_ABOVE => return reached,
            Err(_) => n_above += 1,
        }
    }
}

/// Resident memory of this process; `None` if the system does not report it.
fn resident_bytes() -> Option<u64> {
    kilobytes(&std::fs::read_to_string("/proc/self/status").ok()?, "VmRSS:").map(|kilobytes| 1024 * kilobytes)
}

fn kilobytes(status: &str, key: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(key))?;
    line.trim().strip_suffix(" kB")?.parse().ok()
}

/// Checks the limit once in a while: for loops whose steps are small.
#[derive(Debug, Default)]
pub struct Watch {
    n_steps: u32,
}

impl Watch {
    /// Checks every `every` steps.
    ///
    /// # Errors
    /// If the limit is reached.
    #[inline]
    pub fn step(&mut self, every: u32) -> Result<(), LimitReached> {
        self.n_steps += 1;
        if self.n_steps < every {
            return Ok(());
        }
        self.n_steps = 0;
        check()
    }
}

/// Bytes as people write them: a number, with `K`, `M` or `G` for powers of 1024.
///
/// # Errors
/// If it is no such number, 0, or more than 64 bits can represent.
pub fn parse_bytes(text: &str) -> Result<u64, String> {
    let wrong = || format!("{text:?} is not a size: give a number of bytes, or one with K, M or G, e.g. 2G");
    let upper = text.trim().to_ascii_uppercase();
    let upper = upper.strip_suffix('B').unwrap_or(&upper);
    let upper = upper.strip_suffix('I').unwrap_or(upper);
    let (digits, shift) = [("K", 10), ("M", 20), ("G", 30), ("T", 40)]
        .into_iter()
        .find_map(|(unit, shift)| Some((upper.strip_suffix(unit)?, shift)))
        .unwrap_or((upper, 0));
    let number: u64 = digits.trim().parse().map_err(|_| wrong())?;
    number.checked_mul(1 << shift).filter(|&bytes| bytes != 0).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_people_write_them() {
        for (text, bytes) in [
            ("1", 1),
            ("64K", 65_536),
            ("100m", 104_857_600),
            ("2G", 2 << 30),
            ("3 GiB", 3 << 30),
            ("5KB", 5120),
        ] {
            assert_eq!(parse_bytes(text), Ok(bytes), "{text}");
        }
        for text in ["", "0", "K", "-1", "1.5G", "1X", "99999999999G"] {
            assert!(parse_bytes(text).is_err(), "{text}");
        }
    }

    #[test]
    fn the_systems_words_are_understood() {
        assert_eq!(kilobytes("Name:\tx\nVmHWM:\t  12 kB\nVmRSS:\t    3404 kB\n", "VmRSS:"), Some(3404));
        assert_eq!(kilobytes("Name:\tx\n", "VmRSS:"), None);
        assert!(!cfg!(target_os = "linux") || resident_bytes().is_some_and(|bytes| 100_000 < bytes));
    }

    #[test]
    fn the_watch_ends_what_stays_above_the_limit() {
        let above = |bytes| Err(LimitReached { limit_bytes: 1, bytes });
        let soon_below = [above(2), above(3), Ok(()), Ok(())];
        let mut looks = soon_below.into_iter().chain((10..).map(above));
        assert_eq!(
            stays_above(|| looks.next().expect("they have no end")).bytes,
            10 + u64::from(MAX_LOOKS_ABOVE)
        );
    }

    #[test]
    fn what_is_reached_says_what_to_do() {
        let text = LimitReached { limit_bytes: 100_000_000, bytes: 123_456_789 }.to_string();
        assert!(text.contains("memory limit of 100.0 MB is reached: 123.5 MB"), "{text}");
        assert!(text.contains("--memory-limit"), "{text}");
    }
}
