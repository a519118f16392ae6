//! Counters of a thread, and the memory of the process, as metrics in the thread's events.
//!
//! ```text
//! sample, call, region ── due? ──► clock · getrusage · perf groups ──► Metric event
//! ```
//! Law: reading allocates nothing and takes no lock, so a signal handler may; a file of ours is read only where it
//! still is the counter's, since a program may close all files and open its own under the same numbers.

use super::Process;
use super::perf::{EXCLUDE_KERNEL, PerfAttributes};
use crate::clock;
use ouzel_otf2::records::enums::Type;
use ouzel_otf2::records::event::Metric;
use ouzel_otf2::records::{List, MetricValue};
use ouzel_recording::counters::{
    Budget, COUNTERS, Counter, CounterSource, MEMORY, MEMORY_NS, Memory, N_MAX, OpenReads, Usage, Values,
    Wanted, scaled,
};
use ouzel_recording::journal::Entry;
use ouzel_recording::stream::Space;
use ouzel_recording::window::WindowedStream;
use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicU64, Ordering};

/// What the threads of a process are counted by.
#[derive(Debug, Default)]
pub struct ProcessCounters {
    counters: Vec<&'static Counter>,
    absent: Vec<&'static Counter>,
    error: i32,
    flags: u64,
}

impl ProcessCounters {
    /// Those of the wanted ones that this system has, as this thread finds it.
    pub fn new(wanted: &Wanted) -> Self {
        let mut found = ProcessCounters::default();
        let perf = || wanted.counters().iter().filter(|it| matches!(it.source, CounterSource::Perf(..)));
        // Where the kernel may not be counted, none of them counts it.
        let counts_kernel = perf().all(|it| !matches!(open(it, -1, 0), Err(libc::EACCES | libc::EPERM)));
        found.flags = if counts_kernel { 0 } else { EXCLUDE_KERNEL };
        for &counter in wanted.counters() {
            match open(counter, -1, found.flags) {
                Ok(_) => found.counters.push(counter),
                Err(error) => {
                    found.absent.push(counter);
                    found.error = error;
                }
            }
        }
        found
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.counters.is_empty()
    }

    /// What the journal says; nothing if nothing was wanted.
    pub fn entry(&self) -> Option<Entry> {
        if self.counters.is_empty() && self.absent.is_empty() {
            return None;
        }
        let names = |counters: &[&Counter]| {
            let names: Vec<&str> = counters.iter().map(|counter| counter.name).collect();
            names.join(",")
        };
        let has_hardware = self.counters.iter().any(|counter| counter.is_of_hardware());
        Some(Entry::Counters {
            counted: names(&self.counters),
            absent: names(&self.absent),
            error: self.error,
            is_user_only: has_hardware && self.flags != 0,
        })
    }
}

/// An open file of the kernel that counts.
#[derive(Debug)]
struct PerfFile {
    file: i32,
    id: u64,
}

/// Counters that count at the same times, by the file of the first one.
#[derive(Debug)]
struct PerfGroup {
    files: Vec<PerfFile>,
    /// Their places among the values.
    places: Vec<usize>,
}

/// The group at once, with the times that it was enabled and that it counted.
const READ_FORMAT: u64 = 1 | 2 | 8;
const GET_ID: libc::Ioctl = 0x8008_2407_u32 as libc::Ioctl;
/// Number of counters, and two times.
const HEAD: usize = 3;

impl Drop for PerfFile {
    fn drop(&mut self) {
        if self.is_ours() {
            // SAFETY: the file is ours, and is not used again.
            unsafe { libc::syscall(libc::SYS_close, self.file) };
        }
    }
}

impl PerfFile {
    /// Whether the number is still that of the counter. Other files do not know this question.
    fn is_ours(&self) -> bool {
        let mut id = 0_u64;
        // SAFETY: the kernel writes one number for a file that counts, and nothing for others.
        unsafe { libc::ioctl(self.file, GET_ID, &raw mut id) == 0 && id == self.id }
    }
}

/// Opens a counter of this thread in the group of a file, or in one of its own; nothing for those that need no file.
fn open(counter: &Counter, group: i32, flags: u64) -> Result<Option<PerfFile>, i32> {
    let CounterSource::Perf(kind, config) = counter.source else { return Ok(None) };
    let attributes =
        PerfAttributes { kind, config, read_format: READ_FORMAT, flags, ..PerfAttributes::default() };
    let file = attributes.open(group)?;
    let mut id = 0_u64;
    // SAFETY: the kernel writes one number.
    unsafe { libc::ioctl(file, GET_ID, &raw mut id) };
    Ok(Some(PerfFile { file, id }))
}

/// The counters of one thread.
#[derive(Debug)]
pub struct ThreadCounters {
    counters: &'static [&'static Counter],
    groups: Vec<PerfGroup>,
    values: Values,
    budget: Budget,
    open: OpenReads,
    n_estimated: u64,
    has_begun: bool,
}

impl ThreadCounters {
    /// Of this thread, which follows one with these values in its file.
    pub fn new(process: &'static Process, predecessor: [u64; N_MAX]) -> Self {
        let mut made = ThreadCounters {
            counters: &process.counters.counters,
            groups: Vec::new(),
            values: Values::default(),
            budget: Budget::full(),
            open: OpenReads::default(),
            n_estimated: 0,
            has_begun: false,
        };
        if made.open_files(process.counters.flags).is_err() {
            (made.counters, made.groups) = (&[], Vec::new());
            // SAFETY: no arguments.
            let tid = u32::try_from(unsafe { libc::syscall(libc::SYS_gettid) }).unwrap_or(0);
            process.entry(&Entry::Uncounted { tid });
        }
        let begin = made.system_values();
        made.values = Values::after(predecessor, begin);
        made
    }

    /// Counters that fit on the processor together are one group.
    fn open_files(&mut self, flags: u64) -> Result<(), i32> {
        for (place, counter) in self.counters.iter().enumerate() {
            if !matches!(counter.source, CounterSource::Perf(..)) {
                continue;
            }
            let leader = self.groups.last().and_then(|group| group.files.first());
            let together = leader.and_then(|leader| open(counter, leader.file, flags).ok().flatten());
            if let (Some(file), Some(group)) = (together, self.groups.last_mut()) {
                group.files.push(file);
                group.places.push(place);
            } else if let Some(file) = open(counter, -1, flags)? {
                self.groups.push(PerfGroup { files: vec![file], places: vec![place] });
            }
        }
        Ok(())
    }

    /// Ends what is counted, for the child of a fork: these are its parent's.
    pub fn close(&mut self) {
        (self.counters, self.groups) = (&[], Vec::new());
    }

    /// What was written last.
    pub fn last(&self) -> [u64; N_MAX] {
        self.values.last()
    }

    /// What became of reading.
    pub fn entry(&self) -> Option<Entry> {
        let ((n_calls, n_read), n_estimated) = (self.budget.n_calls(), self.n_estimated);
        let is_notable = n_read < n_calls || 0 < n_estimated;
        is_notable.then_some(Entry::CounterReads { n_calls, n_read, n_estimated })
    }

    /// Whether a call that begins now is read, at both of its ends.
    pub fn may_read(&mut self, now_ns: u64) -> bool {
        !self.counters.is_empty() && self.budget.may_read(now_ns)
    }

    /// The regions that are open.
    pub fn open(&mut self) -> &mut OpenReads {
        &mut self.open
    }

    /// Whether a value was written.
    pub fn has_begun(&self) -> bool {
        self.has_begun
    }

    /// Reads all and writes their values.
    pub fn write<S: Space>(&mut self, stream: &mut WindowedStream<S>, time_ns: u64) {
        if self.counters.is_empty() {
            return;
        }
        self.has_begun = true;
        let now = self.system_values();
        let values = self.values.take(&now).map(|bits| MetricValue { value_type: Type::Uint64, bits });
        let values = List::new(&values[..self.counters.len().min(N_MAX)]);
        stream.write(time_ns, &Metric { metric: COUNTERS, values }.into());
    }

    fn system_values(&mut self) -> [u64; N_MAX] {
        let mut values = [0; N_MAX];
        let mut usage = None;
        for (value, counter) in values.iter_mut().zip(self.counters) {
            match counter.source {
                CounterSource::Clock => *value = clock::thread_processor_ns(),
                CounterSource::Usage(part) => {
                    let usage = usage.get_or_insert_with(thread_usage);
                    *value = part_of(usage, part);
                }
                CounterSource::Perf(..) => {}
            }
        }
        for group in &self.groups {
            self.n_estimated += u64::from(group.read(&mut values));
        }
        values
    }
}

impl PerfGroup {
    /// Puts its values in their places; whether they are estimates.
    fn read(&self, values: &mut [u64; N_MAX]) -> bool {
        let mut read = [0_u64; HEAD + N_MAX];
        let Some(leader) = self.files.first().filter(|leader| leader.is_ours()) else { return false };
        // SAFETY: the buffer has this length; the system call, since the function is replaced.
        let n = unsafe { libc::syscall(libc::SYS_read, leader.file, read.as_mut_ptr(), size_of_val(&read)) };
        if n <= 0 {
            return false;
        }
        let [_, enabled_ns, running_ns, ref counted @ ..] = read;
        for (&place, &value) in self.places.iter().zip(counted) {
            if let Some(to) = values.get_mut(place) {
                *to = scaled(value, enabled_ns, running_ns);
            }
        }
        running_ns < enabled_ns
    }
}

fn thread_usage() -> libc::rusage {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the kernel fills it in; all zero is valid, too.
    unsafe {
        libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr());
        usage.assume_init()
    }
}

fn part_of(usage: &libc::rusage, part: Usage) -> u64 {
    let value = match part {
        Usage::Faults => usage.ru_minflt.saturating_add(usage.ru_majflt),
        Usage::MajorFaults => usage.ru_majflt,
        Usage::Switches => usage.ru_nvcsw.saturating_add(usage.ru_nivcsw),
    };
    u64::try_from(value).unwrap_or(0)
}

/// When the memory of a process is read next, and what it had at most.
#[derive(Debug, Default)]
pub struct MemoryClock {
    due_ns: AtomicU64,
    highest_bytes: AtomicU64,
}

impl MemoryClock {
    /// Whether it is time; says so to one thread alone.
    pub fn is_due(&self, now_ns: u64) -> bool {
        let due_ns = self.due_ns.load(Ordering::Relaxed);
        let next_ns = now_ns + MEMORY_NS;
        due_ns <= now_ns
            && self.due_ns.compare_exchange(due_ns, next_ns, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }

    /// Writes the memory of the process.
    pub fn write<S: Space>(&self, stream: &mut WindowedStream<S>, time_ns: u64) {
        let Some(memory) = memory() else { return };
        // The kernel counts in parts, so that what it says is highest may come out less than before.
        let before = self.highest_bytes.fetch_max(memory.highest_bytes, Ordering::Relaxed);
        let value = |bits: u64| MetricValue { value_type: Type::Uint64, bits };
        let values = [value(memory.resident_bytes), value(before.max(memory.highest_bytes))];
        stream.write(time_ns, &Metric { metric: MEMORY, values: List::new(&values) }.into());
    }
}

fn memory() -> Option<Memory> {
    const STATUS: &CStr = c"/proc/self/status";
    /// The lines of memory are among the first.
    const N_BYTES: usize = 2048;
    let mut text = [0_u8; N_BYTES];
    let flags = libc::O_RDONLY | libc::O_CLOEXEC;
    // SAFETY: the path ends with a zero byte and the buffer has its length; system calls, since the functions are
    // replaced.
    let n = unsafe {
        let file = libc::syscall(libc::SYS_openat, libc::AT_FDCWD, STATUS.as_ptr(), flags);
        if file < 0 {
            return None;
        }
        let n = libc::syscall(libc::SYS_read, file, text.as_mut_ptr(), N_BYTES);
        libc::syscall(libc::SYS_close, file);
        n
    };
    Memory::of_status(text.get(..usize::try_from(n).ok()?)?)
}
