//! The call paths of a process in a mapped file.

use crate::process::{Mapping, Process};
use ouzel_recording::paths::{N_INDEX, N_SEGMENTS, NODE_BYTES, NodeFields, NodeSpace, SEGMENT_NODES};
use ouzel_recording::settings;
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::{self, NonNull};
use std::slice;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

/// The segments of a process's paths; each is mapped before it is needed, by a signal handler as well.
#[derive(Debug)]
pub struct MappedNodes {
    path: CString,
    segments: Box<[AtomicPtr<NodeFields>]>,
}

impl MappedNodes {
    /// In the folder of a piece.
    pub fn new(folder: &Path) -> Option<Self> {
        let path = CString::new(folder.join(settings::PATHS).as_os_str().as_bytes()).ok()?;
        let segments = (0..N_SEGMENTS).map(|_| AtomicPtr::new(ptr::null_mut())).collect();
        Some(MappedNodes { path, segments })
    }

    fn map(&self, i: usize) -> Option<*mut NodeFields> {
        const BYTES: usize = SEGMENT_NODES * NODE_BYTES;
        // Without a process there is nobody to say that room is missing.
        let process = crate::process::begun().filter(|process| process.may_write(BYTES as u64))?;
        let mapping = Mapping::new(&self.path, (i * BYTES) as u64, BYTES);
        let mapping = mapping.map_err(|error| process.lose_by(error)).ok()?;
        let start = mapping.start().as_ptr().cast();
        // It stays mapped as long as the process.
        std::mem::forget(mapping);
        Some(start)
    }
}

impl NodeSpace for MappedNodes {
    fn make(&self, i: usize) {
        if let Some(segment) = self.segments.get(i) {
            segment.store(self.map(i).unwrap_or(ptr::null_mut()), Ordering::Release);
        }
    }

    fn segment(&self, i: usize) -> Option<&[NodeFields]> {
        let start = NonNull::new(self.segments.get(i)?.load(Ordering::Acquire))?;
        // SAFETY: segments have this many nodes of atomic numbers, aligned to pages, and are never unmapped.
        Some(unsafe { slice::from_raw_parts(start.as_ptr(), SEGMENT_NODES) })
    }
}

/// Zeros for an index, which take memory only where they are used. None without memory.
pub fn index() -> Option<&'static [AtomicU32]> {
    let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    // SAFETY: new memory at an address that the kernel chooses.
    let start = unsafe { libc::mmap(ptr::null_mut(), N_INDEX * 4, access, kind, -1, 0) };
    // SAFETY: the memory has this length, is zero, and is never unmapped.
    (start != libc::MAP_FAILED).then(|| unsafe { slice::from_raw_parts(start.cast(), N_INDEX) })
}

/// The paths of a process, as samples intern them.
pub type ProcessPaths = ouzel_recording::paths::PathTable<'static, MappedNodes>;

/// The paths of a process that has just begun.
pub fn paths(folder: &Path) -> Option<ProcessPaths> {
    Some(ProcessPaths::new(MappedNodes::new(folder)?, index()?))
}

/// What the process is asked for its paths by.
pub fn of(process: &'static Process) -> Option<&'static ProcessPaths> {
    process.paths.as_ref()
}
