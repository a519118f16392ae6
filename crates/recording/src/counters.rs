//! What a thread is counted by: which counters there are, when they are read, and how their values are put together.
//!
//! Law: a value that is written never is less than the one before it, whatever the system says; a thread that takes the
//! place of one that has ended goes on from its values.

use std::fmt;

/// Counters that a process has at most.
pub const N_MAX: usize = 16;
/// The number of the counters' class in events.
pub const COUNTERS: u32 = 0;
/// The number of the class of memory in events.
pub const MEMORY: u32 = 1;

/// Where a value comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CounterSource {
    /// The clock of the thread's processor time.
    Clock,
    /// What the kernel keeps of each thread (`getrusage`).
    Usage(Usage),
    /// `perf_event_open`, with its type and configuration.
    Perf(u32, u64),
}

/// A part of what the kernel keeps of each thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Usage {
    /// Faults of pages of both kinds.
    Faults,
    /// Those that took a read from a disk.
    MajorFaults,
    /// Switches to another thread, whoever wanted them.
    Switches,
}

/// A counter.
#[derive(Debug, PartialEq, Eq)]
pub struct Counter {
    /// As `perf` names it.
    pub name: &'static str,
    /// Of its values.
    pub unit: &'static str,
    /// For people.
    pub description: &'static str,
    /// Where its values come from.
    pub source: CounterSource,
    /// Whether it is counted where the user names none.
    pub is_automatic: bool,
}

const HARDWARE: u32 = 0;
const SOFTWARE: u32 = 1;

const fn hardware(name: &'static str, config: u64, description: &'static str) -> Counter {
    Counter {
        name,
        unit: "#",
        description,
        source: CounterSource::Perf(HARDWARE, config),
        is_automatic: true,
    }
}

const fn usage(name: &'static str, part: Usage, description: &'static str) -> Counter {
    Counter { name, unit: "#", description, source: CounterSource::Usage(part), is_automatic: true }
}

/// All that can be named, in the order in which they are recorded.
pub static ALL: [Counter; 13] = [
    Counter {
        name: "task-clock",
        unit: "ns",
        description: "Processor time of the thread",
        source: CounterSource::Clock,
        is_automatic: true,
    },
    usage("page-faults", Usage::Faults, "Pages that were not mapped"),
    Counter { is_automatic: false, ..usage("major-faults", Usage::MajorFaults, "Pages read from a disk") },
    usage("context-switches", Usage::Switches, "Switches to another thread"),
    hardware("cycles", 0, "Processor cycles"),
    hardware("instructions", 1, "Instructions executed"),
    hardware("cache-references", 2, "Accesses of the last-level cache"),
    hardware("cache-misses", 3, "Misses of the last-level cache"),
    hardware("branches", 4, "Branch instructions"),
    hardware("branch-misses", 5, "Branches that were predicted wrongly"),
    Counter { is_automatic: false, ..hardware("stalled-cycles-frontend", 7, "Cycles without new work") },
    Counter { is_automatic: false, ..hardware("stalled-cycles-backend", 8, "Cycles that wait for results") },
    Counter {
        name: "cpu-clock",
        unit: "ns",
        description: "Time on a processor",
        source: CounterSource::Perf(SOFTWARE, 0),
        is_automatic: false,
    },
];

impl Counter {
    /// Whether the processor counts it, and not the kernel.
    pub fn is_of_hardware(&self) -> bool {
        matches!(self.source, CounterSource::Perf(HARDWARE, _))
    }
}

/// Which counters are wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted(Vec<&'static Counter>);

/// The word for all that a system has of the usual ones.
pub const AUTO: &str = "auto";
/// The word for no counters.
pub const NONE: &str = "none";

impl Wanted {
    /// The usual ones.
    pub fn automatic() -> Self {
        Wanted(ALL.iter().filter(|counter| counter.is_automatic).collect())
    }

    /// `auto`, `none`, or names with commas between them.
    ///
    /// # Errors
    /// A sentence that says which name is unknown, and which are known.
    pub fn parse(text: &str) -> Result<Self, String> {
        match text {
            AUTO => return Ok(Wanted::automatic()),
            NONE => return Ok(Wanted(Vec::new())),
            _ => {}
        }
        let names: Vec<&str> = text.split(',').map(str::trim).collect();
        if let Some(unknown) = names.iter().find(|name| ALL.iter().all(|known| known.name != **name)) {
            let known: Vec<&str> = ALL.iter().map(|counter| counter.name).collect();
            return Err(format!("{unknown:?} is no counter; there are auto, none, {}", known.join(", ")));
        }
        Ok(Wanted(ALL.iter().filter(|counter| names.contains(&counter.name)).collect()))
    }

    /// In the order in which they are recorded.
    pub fn counters(&self) -> &[&'static Counter] {
        &self.0
    }
}

impl fmt::Display for Wanted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.0.iter().map(|counter| counter.name).collect();
        f.write_str(&names.join(","))
    }
}

/// Limits how often counters are read at calls, so that short calls stay cheap.
///
/// A call is read at both of its ends or at none. Each thread saves up one call for every [`Budget::CALL_NS`], up to
/// [`Budget::SAVED_NS`]; what a call gains that is not read is counted with its caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Budget {
    saved_ns: u64,
    last_ns: u64,
    n_calls: u64,
    n_read: u64,
}

impl Budget {
    /// Time for each call that is read: 1000 values of a second cost a third of a percent where the program has emptied
    /// the caches since the last one, so that reading takes three microseconds, and a tenth where it has not.
    pub const CALL_NS: u64 = 2_000_000;
    /// Room for 256 calls at once.
    pub const SAVED_NS: u64 = 256 * Budget::CALL_NS;

    /// One that may read 256 calls at once.
    pub fn full() -> Self {
        Budget { saved_ns: Budget::SAVED_NS, ..Budget::default() }
    }

    /// Whether a call that begins now is read.
    pub fn may_read(&mut self, now_ns: u64) -> bool {
        let passed_ns = now_ns.saturating_sub(self.last_ns);
        self.last_ns = self.last_ns.max(now_ns);
        self.saved_ns = self.saved_ns.saturating_add(passed_ns).min(Budget::SAVED_NS);
        self.n_calls += 1;
        let may = Budget::CALL_NS <= self.saved_ns;
        if may {
            self.saved_ns -= Budget::CALL_NS;
            self.n_read += 1;
        }
        may
    }

    /// Calls that were asked for, and those that were read.
    pub fn n_calls(&self) -> (u64, u64) {
        (self.n_calls, self.n_read)
    }
}

/// Which of the open regions were read at their enter, so that they are read at their leave.
#[derive(Debug, Clone, Copy, Default)]
pub struct OpenReads {
    bits: [u64; OpenReads::WORDS],
    depth: usize,
}

impl OpenReads {
    const WORDS: usize = 16;

    /// A region is entered.
    pub fn enter(&mut self, is_read: bool) {
        if let Some(word) = self.bits.get_mut(self.depth / 64) {
            let bit = 1 << (self.depth % 64);
            *word = if is_read { *word | bit } else { *word & !bit };
        }
        self.depth += 1;
    }

    /// The innermost one is left; whether it was read. Regions deeper than there is room for were not.
    pub fn leave(&mut self) -> bool {
        let Some(depth) = self.depth.checked_sub(1) else { return false };
        self.depth = depth;
        self.bits.get(depth / 64).is_some_and(|word| word >> (depth % 64) & 1 == 1)
    }
}

/// Why a counter is absent, by the error number of Linux.
pub fn reason(error: i32) -> String {
    match error {
        1 | 13 => "this system lets only root count".to_owned(),
        2 => "the processor shows no counters, as in most virtual machines".to_owned(),
        22 | 95 => "the processor has none".to_owned(),
        24 => "too many files are open".to_owned(),
        38 => "this kernel counts nothing".to_owned(),
        error => format!("error {error} of the operating system"),
    }
}

/// What a counter would have counted if it had been on the processor all the time that it was enabled.
pub fn scaled(value: u64, enabled_ns: u64, running_ns: u64) -> u64 {
    if running_ns == 0 || enabled_ns <= running_ns {
        return value;
    }
    let scaled = u128::from(value) * u128::from(enabled_ns) / u128::from(running_ns);
    u64::try_from(scaled).unwrap_or(u64::MAX)
}

/// The values of one thread, from those that the system gives.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Values {
    /// What the thread had when it began, as the system counts.
    begin: [u64; N_MAX],
    /// What its predecessor had, as it is written.
    base: [u64; N_MAX],
    last: [u64; N_MAX],
}

impl Values {
    /// Of a thread that follows another one in its file, with the values of its beginning.
    pub fn after(predecessor: [u64; N_MAX], begin: [u64; N_MAX]) -> Self {
        Values { begin, base: predecessor, last: predecessor }
    }

    /// Takes what the system says now; what is to be written.
    pub fn take(&mut self, now: &[u64; N_MAX]) -> &[u64; N_MAX] {
        for (i, last) in self.last.iter_mut().enumerate() {
            let gained = now[i].saturating_sub(self.begin[i]);
            // A value that is scaled may come out less than the one before.
            *last = (*last).max(self.base[i].saturating_add(gained));
        }
        &self.last
    }

    /// What was written last.
    pub fn last(&self) -> [u64; N_MAX] {
        self.last
    }
}

/// Memory of a process, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Memory {
    /// Now.
    pub resident_bytes: u64,
    /// At its highest.
    pub highest_bytes: u64,
}

/// Time between two values of a process's memory.
pub const MEMORY_NS: u64 = 250_000_000;

impl Memory {
    /// From the beginning of `/proc/self/status`. Allocates nothing.
    pub fn of_status(status: &[u8]) -> Option<Self> {
        let resident_bytes = bytes_after(status, b"\nVmRSS:")?;
        // What is highest is written down seldom, so that it may be behind.
        let highest_bytes = bytes_after(status, b"\nVmHWM:")?.max(resident_bytes);
        Some(Memory { resident_bytes, highest_bytes })
    }
}

fn bytes_after(status: &[u8], word: &[u8]) -> Option<u64> {
    let at = status.windows(word.len()).position(|window| window == word)? + word.len();
    let digits = status[at..].iter().skip_while(|byte| byte.is_ascii_whitespace());
    let mut number = None;
    for digit in digits.take_while(|byte| byte.is_ascii_digit()) {
        let before: u64 = number.unwrap_or(0);
        number = Some(before.checked_mul(10)?.checked_add(u64::from(digit - b'0'))?);
    }
    number?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_named_as_perf_names_them() {
        let names = |text: &str| Wanted::parse(text).map(|wanted| wanted.to_string());
        assert_eq!(names("none").as_deref(), Ok(""));
        assert_eq!(
            names("auto").as_deref(),
            Ok("task-clock,page-faults,context-switches,cycles,instructions,cache-references,cache-misses,\
                branches,branch-misses")
        );
        assert_eq!(names("instructions, task-clock").as_deref(), Ok("task-clock,instructions"));
        let error = names("cycles,flops").expect_err("there is no such counter");
        assert!(error.starts_with("\"flops\" is no counter; there are auto, none, task-clock"), "{error}");
        assert!(names("").is_err() && ALL.len() <= N_MAX);
    }

    #[test]
    fn short_calls_are_read_as_often_as_they_may() {
        let mut budget = Budget::full();
        // Calls of ten microseconds for a second: what is saved, and one for each two milliseconds.
        let n = (0..100_000).filter(|i| budget.may_read(i * 10_000)).count() as u64;
        assert_eq!((n, budget.n_calls()), (256 + 499, (100_000, n)));
        // Calls that are long enough are all read, and nothing is saved beyond the most.
        assert!((0..1000).all(|i| budget.may_read(2_000_000_000 + i * Budget::CALL_NS)));
        let now_ns = 1 << 60;
        assert_eq!((0..1000).filter(|_| budget.may_read(now_ns)).count(), 256);
    }

    #[test]
    fn a_region_is_read_at_both_ends_or_at_none() {
        let mut open = OpenReads::default();
        assert!(!open.leave());
        let is_read = |i: usize| i.is_multiple_of(3);
        (0..2000).for_each(|i| open.enter(is_read(i)));
        for i in (0..2000).rev() {
            assert_eq!(open.leave(), is_read(i) && i < 1024, "{i}");
        }
        open.enter(true);
        assert!(open.leave() && !open.leave());
    }

    #[test]
    fn values_grow_and_go_on() {
        let of = |value: u64| [value; N_MAX];
        let mut values = Values::after(of(100), of(7));
        assert_eq!(values.take(&of(10)), &of(103));
        assert_eq!(values.take(&of(8)), &of(103), "never less");
        assert_eq!(values.take(&of(17)), &of(110));
        assert_eq!(values.last(), of(110));
    }

    #[test]
    fn counters_that_take_turns_are_scaled() {
        assert_eq!(scaled(100, 50, 50), 100);
        assert_eq!(scaled(100, 50, 25), 200);
        assert_eq!(scaled(0, 50, 0), 0, "it never ran");
        assert_eq!(scaled(u64::MAX, u64::MAX, 1), u64::MAX);
    }

    #[test]
    fn memory_is_read_from_the_kernels_text() {
        let status = b"Name:\tVmRSS:\nVmPeak:\t 9 kB\nVmHWM:\t    2032 kB\nVmRSS:\t  2000 kB\n";
        let expected = Memory { resident_bytes: 2_048_000, highest_bytes: 2_080_768 };
        assert_eq!(Memory::of_status(status), Some(expected));
        let behind = b"x\nVmHWM:\t1 kB\nVmRSS:\t2 kB\n";
        assert_eq!(Memory::of_status(behind).map(|memory| memory.highest_bytes), Some(2048));
        for text in [
            &b""[..],
            b"\nVmHWM:\t1 kB\n",
            b"\nVmHWM:\tx kB\nVmRSS:\t1 kB",
            b"\nVmHWM:\t99999999999999999999 kB\nVmRSS:\t1",
        ] {
            assert_eq!(Memory::of_status(text), None, "{}", String::from_utf8_lossy(text));
        }
    }
}
