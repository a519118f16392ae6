//! How much memory this process may take.
//!
//! The limit is one for the process, as that of a job or container is. What counts is its resident memory, as the
//! system tells it: buffers, tables, what allocators keep and the program itself, whoever holds them. It is looked at
//! where data come in ([`check`]), and before a file is read as a whole ([`room_for`]). A program that owns its process
//! also has it [watched](watch), whatever it is doing.
//!
//! Law: without a limit nothing is looked at. Not here: what may go to a file instead ([`share`] says how much may not).

use std::fmt;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The limit in bytes; 0 for none.
static LIMIT_BYTES: AtomicU64 = AtomicU64::new(0);

/// Sets the limit of this process; `None` lifts it.
///
/// # Errors
/// If this system does not tell how much memory a process has.
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

/// What of `default_bytes` a holder may take that can put the rest into a file: an eighth of the limit at most.
pub fn share(default_bytes: u64) -> u64 {
    limit().map_or(default_bytes, |limit| default_bytes.min(limit / 8))
}

/// The limit, and that it is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LimitReached {
    /// The limit.
    pub limit_bytes: u64,
    /// What is in memory, or would be.
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

/// Looks whether the limit is reached.
///
/// # Errors
/// If it is.
pub fn check() -> Result<(), LimitReached> {
    room_for(0)
}

/// Looks whether there is room for `more_bytes`.
///
/// # Errors
/// If they would reach the limit.
pub fn room_for(more_bytes: u64) -> Result<(), LimitReached> {
    let Some(limit_bytes) = limit() else { return Ok(()) };
    let bytes = resident_bytes().unwrap_or(0).saturating_add(more_bytes);
    if bytes < limit_bytes { Ok(()) } else { Err(LimitReached { limit_bytes, bytes }) }
}

/// Between two looks of the [watch].
const LOOK: Duration = Duration::from_millis(20);
/// Looks above the limit before the watch acts: whoever looks for himself has better words.
const MAX_LOOKS_ABOVE: u32 = 5;

/// Looks at the limit from a thread of its own from now on, and calls `end` when the process stays above it.
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

/// Looks until the limit is reached too often in a row.
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

/// Resident memory of this process; `None` where the system does not tell.
fn resident_bytes() -> Option<u64> {
    kilobytes(&std::fs::read_to_string("/proc/self/status").ok()?, "VmRSS:").map(|kilobytes| 1024 * kilobytes)
}

fn kilobytes(status: &str, key: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(key))?;
    line.trim().strip_suffix(" kB")?.parse().ok()
}

/// Looks at the limit once in a while: in loops whose steps are small.
#[derive(Debug, Default)]
pub struct Watch {
    n_steps: u32,
}

impl Watch {
    /// Looks every `every` steps.
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
/// If it is none, or 0, or more than 64 bits hold.
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
