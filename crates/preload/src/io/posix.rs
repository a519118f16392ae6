//! Functions of descriptors.

use super::{RecordedCall, UNKNOWN_BYTES, bytes_of, missing, moved, real, recorded};
use crate::process;
use crate::process::descriptors::{handle, open_file};
use ouzel_otf2::records::enums::{IoAccessMode, IoOperationMode};
use ouzel_otf2::records::event::{IoCreateHandle, IoDuplicateHandle};
use ouzel_recording::io::{Interface, IoCall};
use std::cell::Cell;
use std::ffi::{c_char, c_int, c_uint, c_void};

const POSIX: Interface = Interface::Posix;

/// The way a file is opened.
pub(super) fn access(flags: c_int) -> IoAccessMode {
    match flags & libc::O_ACCMODE {
        libc::O_RDONLY => IoAccessMode::ReadOnly,
        libc::O_WRONLY => IoAccessMode::WriteOnly,
        _ => IoAccessMode::ReadWrite,
    }
}

/// A descriptor that was opened just now.
pub(super) fn created(begun: &RecordedCall, interface: Interface, descriptor: c_int, mode: IoAccessMode) {
    if let Some(all) = begun.process.descriptors() {
        all.forget(descriptor);
    }
    if let Some(handle) = handle(begun.process, interface, descriptor) {
        begun.event(IoCreateHandle { handle, mode, creation_flags: 0, status_flags: 0 }.into());
    }
}

fn opened(call: IoCall, flags: c_int, real: impl FnOnce() -> c_int) -> c_int {
    recorded(
        call,
        |_| (),
        real,
        |begun, &result| {
            if 0 <= result {
                created(begun, POSIX, result, access(flags));
            }
        },
    )
}

/// Functions that open files. The last argument is there only if the flags say that a file may be made; else it is what
/// happens to be in its register, and not looked at by anyone.
macro_rules! opening {
    ($($name:ident $call:ident ($($a:ident: $t:ty),*) $flags:expr;)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C-unwind" fn $name($($a: $t),*) -> c_int {
            let Some(real) = real!($name($($t),*) -> c_int) else { return missing(-1) };
            // SAFETY: the caller's arguments.
            opened(IoCall::$call, $flags, || unsafe { real($($a),*) })
        }
    )*};
}

type Path = *const c_char;

opening! {
    open Open (path: Path, flags: c_int, mode: usize) flags;
    open64 Open (path: Path, flags: c_int, mode: usize) flags;
    openat OpenAt (folder: c_int, path: Path, flags: c_int, mode: usize) flags;
    openat64 OpenAt (folder: c_int, path: Path, flags: c_int, mode: usize) flags;
    __open_2 Open (path: Path, flags: c_int) flags;
    __open64_2 Open (path: Path, flags: c_int) flags;
    __openat_2 OpenAt (folder: c_int, path: Path, flags: c_int) flags;
    __openat64_2 OpenAt (folder: c_int, path: Path, flags: c_int) flags;
    creat Create (path: Path, mode: usize) libc::O_WRONLY;
    creat64 Create (path: Path, mode: usize) libc::O_WRONLY;
}

/// Functions that move bytes.
macro_rules! moving {
    ($($name:ident $call:ident $mode:ident ($($a:ident: $t:ty),*) $bytes:expr;)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C-unwind" fn $name(descriptor: c_int, $($a: $t),*) -> isize {
            let Some(real) = real!($name(c_int, $($t),*) -> isize) else { return missing(-1) };
            moved(
                IoCall::$call,
                IoOperationMode::$mode,
                $bytes,
                |process| open_file(process, POSIX, descriptor),
                // SAFETY: the caller's arguments.
                || unsafe { real(descriptor, $($a),*) },
                |&result| bytes_of(result),
            )
        }
    )*};
}

type Bytes = *mut c_void;

moving! {
    read Read Read (to: Bytes, n: usize) n as u64;
    __read_chk Read Read (to: Bytes, n: usize, room: usize) n as u64;
    write Write Write (from: Bytes, n: usize) n as u64;
    pread PositionedRead Read (to: Bytes, n: usize, at: i64) n as u64;
    pread64 PositionedRead Read (to: Bytes, n: usize, at: i64) n as u64;
    __pread_chk PositionedRead Read (to: Bytes, n: usize, at: i64, room: usize) n as u64;
    __pread64_chk PositionedRead Read (to: Bytes, n: usize, at: i64, room: usize) n as u64;
    pwrite PositionedWrite Write (from: Bytes, n: usize, at: i64) n as u64;
    pwrite64 PositionedWrite Write (from: Bytes, n: usize, at: i64) n as u64;
    readv VectorRead Read (parts: Bytes, n: c_int) UNKNOWN_BYTES;
    writev VectorWrite Write (parts: Bytes, n: c_int) UNKNOWN_BYTES;
    preadv PositionedVectorRead Read (parts: Bytes, n: c_int, at: i64) UNKNOWN_BYTES;
    preadv64 PositionedVectorRead Read (parts: Bytes, n: c_int, at: i64) UNKNOWN_BYTES;
    pwritev PositionedVectorWrite Write (parts: Bytes, n: c_int, at: i64) UNKNOWN_BYTES;
    pwritev64 PositionedVectorWrite Write (parts: Bytes, n: c_int, at: i64) UNKNOWN_BYTES;
    recv Receive Read (to: Bytes, n: usize, flags: c_int) n as u64;
    __recv_chk Receive Read (to: Bytes, n: usize, room: usize, flags: c_int) n as u64;
    recvfrom ReceiveFrom Read (to: Bytes, n: usize, flags: c_int, from: Bytes, length: Bytes) n as u64;
    __recvfrom_chk ReceiveFrom Read
        (to: Bytes, n: usize, room: usize, flags: c_int, from: Bytes, length: Bytes) n as u64;
    recvmsg ReceiveMessage Read (message: Bytes, flags: c_int) UNKNOWN_BYTES;
    send Send Write (from: Bytes, n: usize, flags: c_int) n as u64;
    sendto SendTo Write (from: Bytes, n: usize, flags: c_int, to: Bytes, length: c_uint) n as u64;
    sendmsg SendMessage Write (message: Bytes, flags: c_int) UNKNOWN_BYTES;
}

/// Forgets a descriptor before anyone can get the same number again; its handle.
fn leaving(begun: &RecordedCall, descriptor: c_int) -> Option<u32> {
    let found = handle(begun.process, POSIX, descriptor);
    if let Some(all) = begun.process.descriptors() {
        all.forget(descriptor);
    }
    found
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn close(descriptor: c_int) -> c_int {
    let Some(real) = real!(close(c_int) -> c_int) else { return missing(-1) };
    let closed = Cell::new(None);
    let before = |begun: &mut RecordedCall| closed.set(leaving(begun, descriptor));
    // SAFETY: the caller's argument.
    let real = || unsafe { real(descriptor) };
    recorded(IoCall::Close, before, real, |begun, &result| {
        if let (0, Some(handle)) = (result, closed.get()) {
            begun.destroy(handle);
        }
    })
}

/// Functions that bring a file's data to the disk.
macro_rules! flushing {
    ($($name:ident $call:ident;)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C-unwind" fn $name(descriptor: c_int) -> c_int {
            let Some(real) = real!($name(c_int) -> c_int) else { return missing(-1) };
            moved(
                IoCall::$call,
                IoOperationMode::Flush,
                0,
                |process| open_file(process, POSIX, descriptor),
                // SAFETY: the caller's argument.
                || unsafe { real(descriptor) },
                |_| 0,
            )
        }
    )*};
}

flushing! {
    fsync Synchronise;
    fdatasync SynchroniseData;
}

/// Functions that move the position.
macro_rules! seeking {
    ($($name:ident)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C-unwind" fn $name(descriptor: c_int, offset: i64, whence: c_int) -> i64 {
            let Some(real) = real!($name(c_int, i64, c_int) -> i64) else { return missing(-1) };
            // SAFETY: the caller's arguments.
            let real = || unsafe { real(descriptor, offset, whence) };
            recorded(IoCall::Seek, |_| (), real, |begun, &result| {
                let of_result = u64::try_from(result).ok().zip(handle(begun.process, POSIX, descriptor));
                if let Some((place, handle)) = of_result {
                    begun.seek(handle, offset, whence, place);
                }
            })
        }
    )*};
}

seeking!(lseek lseek64);

fn duplicated(call: IoCall, old: c_int, target: Option<c_int>, real: impl FnOnce() -> c_int) -> c_int {
    let before = |begun: &mut RecordedCall| {
        // The target is closed by the call, unless it is the same.
        if let (Some(target), Some(all)) =
            (target.filter(|&target| target != old), begun.process.descriptors())
        {
            all.forget(target);
        }
    };
    recorded(call, before, real, |begun, &new| {
        if 0 <= new
            && let (Some(old_handle), Some(new_handle)) =
                (handle(begun.process, POSIX, old), handle(begun.process, POSIX, new))
        {
            begun.event(IoDuplicateHandle { old_handle, new_handle, status_flags: 0 }.into());
        }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn dup(old: c_int) -> c_int {
    let Some(real) = real!(dup(c_int) -> c_int) else { return missing(-1) };
    // SAFETY: the caller's argument.
    duplicated(IoCall::Duplicate, old, None, || unsafe { real(old) })
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn dup2(old: c_int, new: c_int) -> c_int {
    let Some(real) = real!(dup2(c_int, c_int) -> c_int) else { return missing(-1) };
    // SAFETY: the caller's arguments.
    duplicated(IoCall::DuplicateTo, old, Some(new), || unsafe { real(old, new) })
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn dup3(old: c_int, new: c_int, flags: c_int) -> c_int {
    let Some(real) = real!(dup3(c_int, c_int, c_int) -> c_int) else { return missing(-1) };
    // SAFETY: the caller's arguments.
    duplicated(IoCall::DuplicateWith, old, Some(new), || unsafe { real(old, new, flags) })
}

/// Descriptors that are closed many at a time are forgotten, and nothing else is recorded.
fn forget(first: c_uint, last: c_uint) {
    if let Some(all) = process::begun().filter(|it| it.is_this()).and_then(|process| process.descriptors()) {
        all.forget_range(first, last);
    }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn close_range(first: c_uint, last: c_uint, flags: c_int) -> c_int {
    let Some(real) = real!(close_range(c_uint, c_uint, c_int) -> c_int) else { return missing(-1) };
    forget(first, last);
    // SAFETY: the caller's arguments.
    unsafe { real(first, last, flags) }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn closefrom(first: c_int) {
    let Some(real) = real!(closefrom(c_int) -> ()) else { return missing(()) };
    forget(c_uint::try_from(first).unwrap_or(0), c_uint::MAX);
    // SAFETY: the caller's argument.
    unsafe { real(first) }
}
