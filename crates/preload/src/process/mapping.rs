//! Event files in mapped memory: what is written there is in the file, whatever happens to the process.
//!
//! Law: space on the disk is reserved before it is mapped, since writing to a mapped page without space on the disk
//! would end the program. Files are opened for one step at a time: programs that close all files do no harm.

use super::Process;
use ouzel_recording::counters::N_MAX;
use ouzel_recording::settings;
use ouzel_recording::slots::{N_FIELDS, SLOT_BYTES, Slot};
use ouzel_recording::stream::{CHUNK_BYTES, Space};
use std::ffi::{CStr, CString};
use std::os::unix::ffi::OsStrExt;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU64, Ordering};

/// A part of a file, mapped and writable.
#[derive(Debug)]
pub struct Mapping {
    start: NonNull<u8>,
    n_bytes: usize,
}

// SAFETY: it is memory that belongs to its owner alone.
unsafe impl Send for Mapping {}

impl Mapping {
    /// Makes room in a file and maps it.
    ///
    /// # Errors
    /// The error number of the step that failed.
    pub fn new(path: &CStr, offset: u64, n_bytes: usize) -> Result<Self, i32> {
        let flags = libc::O_RDWR | libc::O_CREAT | libc::O_CLOEXEC | libc::O_NOFOLLOW;
        // SAFETY: the path ends with a zero byte; a system call, since the function is replaced.
        let file = unsafe { libc::syscall(libc::SYS_openat, libc::AT_FDCWD, path.as_ptr(), flags, 0o666) };
        if file < 0 {
            return Err(errno());
        }
        let file = i32::try_from(file).unwrap_or(-1);
        let offset = libc::off_t::try_from(offset).unwrap_or(libc::off_t::MAX);
        let mapped = reserve(file, offset, n_bytes).and_then(|()| {
            let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED);
            // SAFETY: a new mapping of an open file, at an address that the kernel chooses.
            let start = unsafe { libc::mmap(ptr::null_mut(), n_bytes, access, kind, file, offset) };
            if start == libc::MAP_FAILED {
                Err(errno())
            } else {
                NonNull::new(start.cast()).ok_or(libc::ENOMEM)
            }
        });
        // SAFETY: the file was opened above; the mapping stays.
        unsafe { libc::syscall(libc::SYS_close, file) };
        Ok(Mapping { start: mapped?, n_bytes })
    }

    /// Its first byte.
    pub fn start(&self) -> NonNull<u8> {
        self.start
    }

    fn bytes(&mut self) -> &mut [u8] {
        // SAFETY: the mapping has this length, belongs to this value alone, and bytes are always valid.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.n_bytes) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and nothing refers to it any more.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.n_bytes) };
    }
}

/// Whether this process may make files of this size; a larger one would end it with SIGXFSZ.
pub fn may_reach(n_bytes: u64) -> bool {
    let mut limit = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: the place has this type; where the call fails, it stays as it is.
    unsafe { libc::getrlimit(libc::RLIMIT_FSIZE, &raw mut limit) };
    n_bytes <= limit.rlim_cur
}

/// Gives a file space on the disk.
fn reserve(file: i32, offset: libc::off_t, n_bytes: usize) -> Result<(), i32> {
    let length = libc::off_t::try_from(n_bytes).unwrap_or(libc::off_t::MAX);
    if !may_reach(offset.saturating_add(length).cast_unsigned()) {
        return Err(libc::EFBIG);
    }
    // SAFETY: plain numbers.
    if unsafe { libc::fallocate(file, 0, offset, length) } == 0 {
        return fill(file, offset, n_bytes.min(CHUNK_BYTES));
    }
    match errno() {
        // Some file systems cannot, or stop at each signal, as tmpfs does.
        libc::EOPNOTSUPP | libc::ENOSYS | libc::EINTR => fill(file, offset, n_bytes),
        error => Err(error),
    }
}

/// Writes zeros: a page that was written costs less when it is first used than one that was only reserved.
fn fill(file: i32, offset: libc::off_t, n_bytes: usize) -> Result<(), i32> {
    const ZEROS: [u8; 4096] = [0; 4096];
    let zeros = |n: usize| libc::iovec { iov_base: ZEROS.as_ptr().cast_mut().cast(), iov_len: n };
    let mut parts = [zeros(ZEROS.len()); CHUNK_BYTES / ZEROS.len()];
    let mut at = 0;
    while at < n_bytes {
        let place = offset + libc::off_t::try_from(at).unwrap_or(0);
        let n_parts = parts.len().min((n_bytes - at).div_ceil(ZEROS.len()));
        // The first has what makes the others whole.
        parts[0] = zeros((n_bytes - at - 1) % ZEROS.len() + 1);
        // SAFETY: each part is the page of zeros; the system call, since the function may be replaced.
        let written = unsafe { libc::syscall(libc::SYS_pwritev, file, parts.as_ptr(), n_parts, place, 0) };
        match usize::try_from(written) {
            Ok(0) => return Err(libc::EIO),
            Ok(n) => at += n,
            Err(_) if errno() == libc::EINTR => {}
            Err(_) => return Err(errno()),
        }
    }
    Ok(())
}

/// The error number of the last call.
pub fn errno() -> i32 {
    std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO)
}

/// The table of slots of a process.
#[derive(Debug)]
pub struct SlotTable {
    start: NonNull<AtomicU64>,
    n: usize,
}

// SAFETY: it refers to atomic numbers in a mapping that stays as long as the process.
unsafe impl Send for SlotTable {}
// SAFETY: as above.
unsafe impl Sync for SlotTable {}

impl SlotTable {
    /// Maps a new table of `n` slots, for the rest of the process's life.
    ///
    /// # Errors
    /// The error number of the step that failed.
    pub fn new(path: &CStr, n: usize) -> Result<Self, i32> {
        let mapping = Mapping::new(path, 0, n * SLOT_BYTES)?;
        let start = mapping.start.cast();
        std::mem::forget(mapping);
        Ok(SlotTable { start, n })
    }

    /// Sets a slot. Its events are in place before it says so.
    fn set(&self, at: u32, slot: Slot) {
        let at = at as usize;
        assert!(at < self.n, "slots are given out within the table");
        for (i, value) in slot.fields().into_iter().enumerate() {
            // SAFETY: within the table, which is aligned to pages and stays mapped.
            unsafe { self.start.add(at * N_FIELDS + i).as_ref() }.store(value, Ordering::Release);
        }
    }
}

/// The event file of a thread.
#[derive(Debug)]
pub struct MappedFile {
    process: &'static Process,
    path: CString,
    slot: u32,
    n_chunks: u64,
    chunk: Option<Mapping>,
    /// The last values of the counters of the thread that wrote here before.
    pub counted: [u64; N_MAX],
}

impl MappedFile {
    /// The file of a slot, which is made with its first chunk.
    pub fn new(process: &'static Process, slot: u32) -> Option<Self> {
        let path = process.folder.join(settings::event_file(slot));
        let path = CString::new(path.as_os_str().as_bytes()).ok()?;
        Some(MappedFile { process, path, slot, n_chunks: 0, chunk: None, counted: [0; N_MAX] })
    }

    /// The slot of the file.
    pub fn slot(&self) -> u32 {
        self.slot
    }
}

impl Space for MappedFile {
    fn chunk_bytes(&self) -> usize {
        self.process.chunk_bytes
    }

    fn chunk(&mut self) -> &mut [u8] {
        self.chunk.as_mut().map_or(&mut [], Mapping::bytes)
    }

    fn begin_chunk(&mut self) -> bool {
        let n_bytes = self.chunk_bytes();
        if !self.process.may_write(n_bytes as u64) {
            return false;
        }
        match Mapping::new(&self.path, self.n_chunks * n_bytes as u64, n_bytes) {
            Ok(chunk) => {
                self.chunk = Some(chunk);
                self.n_chunks += 1;
                true
            }
            Err(error) => {
                self.process.lose_by(error);
                false
            }
        }
    }

    fn commit(&mut self, slot: Slot) {
        self.process.slots.set(self.slot, slot);
    }
}
