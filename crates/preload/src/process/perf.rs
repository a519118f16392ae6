//! Counters of the kernel for one thread, as files: for samples at each period, and to be read.

use super::errno;

/// The first version of the kernel's `perf_event_attr`.
#[derive(Debug, Default)]
#[repr(C)]
pub struct PerfAttributes {
    /// The sort of counter.
    pub kind: u32,
    /// Set by [`PerfAttributes::open`].
    pub n_bytes: u32,
    /// Which one of its sort.
    pub config: u64,
    /// After how many the file is ready; 0 for never.
    pub period: u64,
    /// 0: a sample has nothing with it.
    pub sample_type: u64,
    /// What is read from the file.
    pub read_format: u64,
    /// Bits such as [`EXCLUDE_KERNEL`].
    pub flags: u64,
    /// After how many periods it is.
    pub wakeup_events: u32,
    /// Not used here.
    pub breakpoint: u32,
    /// Not used here.
    pub config1: u64,
}

/// Nothing is counted until the file is enabled.
pub const DISABLED: u64 = 1;
/// What the kernel does for the thread is not counted.
pub const EXCLUDE_KERNEL: u64 = 1 << 5;
const EXCLUDE_HYPERVISOR: u64 = 1 << 6;
const CLOSE_ON_EXEC: usize = 8;
/// Our files are behind those of programs, which count on small numbers.
const FIRST_FILE: i32 = 500;

impl PerfAttributes {
    /// Opens a counter of this thread in the group of a file; -1 for a group of its own. The number of its file.
    ///
    /// # Errors
    /// The error number of what failed.
    pub fn open(mut self, group: i32) -> Result<i32, i32> {
        self.n_bytes = size_of::<PerfAttributes>() as u32;
        self.flags |= EXCLUDE_HYPERVISOR;
        // SAFETY: the kernel reads as many bytes as the attributes say; this thread on any processor.
        let file =
            unsafe { libc::syscall(libc::SYS_perf_event_open, &raw const self, 0, -1, group, CLOSE_ON_EXEC) };
        let file = i32::try_from(file).ok().filter(|&file| 0 <= file).ok_or_else(errno)?;
        // SAFETY: an open file; the copy is closed when another program is run.
        let behind = unsafe { libc::fcntl(file, libc::F_DUPFD_CLOEXEC, FIRST_FILE) };
        if behind < 0 {
            return Ok(file);
        }
        // SAFETY: the copy stays.
        unsafe { libc::syscall(libc::SYS_close, file) };
        Ok(behind)
    }
}
