//! What the descriptors of this process refer to.
//!
//! Law: a descriptor's handle is looked up when it is used first, and forgotten when the descriptor is closed, so
//! descriptors that were inherited or made by any function are known, too.

use super::Process;
use ouzel_recording::io::{FileKind, Interface, KnownFiles, file_name, is_of_others};
use ouzel_recording::journal::{IO_HANDLE_LINE_BYTES, io_handle_line};
use std::ffi::c_int;
use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// Descriptors that are remembered; others are looked up each time.
const N_DESCRIPTORS: usize = 1 << 12;

/// The bit from which on a place has the kind of the file; below is the handle.
const KIND_SHIFT: u32 = 24;

/// The handles of descriptors with their kinds, 0 where they are not known.
#[derive(Debug)]
pub struct Descriptors {
    handles: [Box<[AtomicU32]>; 2],
    known: KnownFiles,
    has_others: [AtomicBool; 2],
}

impl Default for Descriptors {
    fn default() -> Self {
        let handles = || (0..N_DESCRIPTORS).map(|_| AtomicU32::new(0)).collect();
        Descriptors {
            handles: [handles(), handles()],
            known: KnownFiles::default(),
            has_others: Default::default(),
        }
    }
}

impl Descriptors {
    fn place(&self, interface: Interface, descriptor: c_int) -> Option<&AtomicU32> {
        self.handles.get(interface as usize)?.get(usize::try_from(descriptor).ok()?)
    }

    /// The descriptor is about to be closed, or to be another one.
    pub fn forget(&self, descriptor: c_int) {
        for interface in Interface::OF_DESCRIPTORS {
            if let Some(place) = self.place(interface, descriptor) {
                place.store(0, Ordering::Release);
            }
        }
    }

    /// All descriptors from one to another may be closed.
    pub fn forget_range(&self, first: u32, last: u32) {
        let last = last.min(u32::try_from(N_DESCRIPTORS).unwrap_or(u32::MAX));
        (first..=last).for_each(|descriptor| self.forget(c_int::try_from(descriptor).unwrap_or(-1)));
    }
}

/// The handle of an open descriptor.
pub fn handle(process: &Process, interface: Interface, descriptor: c_int) -> Option<u32> {
    open_file(process, interface, descriptor).map(|(handle, _)| handle)
}

/// The handle of an open descriptor, and what it refers to.
pub fn open_file(process: &Process, interface: Interface, descriptor: c_int) -> Option<(u32, FileKind)> {
    if descriptor < 0 {
        return None;
    }
    let all = process.descriptors()?;
    let place = all.place(interface, descriptor);
    if let Some(found) = place.map(|place| place.load(Ordering::Acquire)).filter(|&found| found != 0) {
        let kind = FileKind::ALL.get((found >> KIND_SHIFT) as usize)?;
        return Some((found & ((1 << KIND_SHIFT) - 1), *kind));
    }
    let mut link = [0u8; 4096];
    let name = file_name(look(descriptor, &mut link)?);
    let (id, is_new) = all.known.handle(interface, name);
    if is_new || is_of_others(id) && !all.has_others[interface as usize].swap(true, Ordering::Relaxed) {
        let mut line = [0; IO_HANDLE_LINE_BYTES];
        process.line(io_handle_line(&mut line, (id, interface as u8), name));
    }
    let kind = FileKind::new(mode(descriptor), name);
    if let Some(place) = place {
        place.store(id | (kind as u32) << KIND_SHIFT, Ordering::Release);
    }
    Some((id, kind))
}

/// The mode of what a descriptor refers to, with its kind; 0 if it is not open.
fn mode(descriptor: c_int) -> u32 {
    let mut found = std::mem::MaybeUninit::<libc::stat>::zeroed();
    // SAFETY: the kernel fills in what it knows, and all zero is a valid description, too; a system call that nothing replaces.
    unsafe {
        libc::syscall(libc::SYS_fstat, descriptor, found.as_mut_ptr());
        found.assume_init().st_mode
    }
}

/// What the kernel says of a descriptor.
fn look(descriptor: c_int, link: &mut [u8; 4096]) -> Option<&[u8]> {
    let mut path = [0u8; 32];
    // The last byte stays zero: a number has at most ten digits.
    write!(&mut path[..31], "/proc/self/fd/{descriptor}").ok()?;
    // SAFETY: the path ends with a zero byte, the buffer has its length; a system call that nothing replaces.
    let n = unsafe {
        libc::syscall(libc::SYS_readlinkat, libc::AT_FDCWD, path.as_ptr(), link.as_mut_ptr(), link.len())
    };
    link.get(..usize::try_from(n).ok()?)
}
