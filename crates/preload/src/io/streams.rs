//! Functions of streams. Those that move single characters (`getc`, `putc`) are too short to be recorded, and `scanf`
//! does not say how many bytes it has read.

use super::{RecordedCall, UNKNOWN_BYTES, bytes_of, missing, moved, posix, real, recorded};
use crate::process::Process;
use crate::process::descriptors::{handle, open_file};
use ouzel_otf2::records::enums::{IoAccessMode, IoOperationMode};
use ouzel_recording::io::{FileKind, Interface, IoCall};
use std::cell::Cell;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr;

const ISO_C: Interface = Interface::IsoC;

type Stream = *mut libc::FILE;
type Text = *const c_char;

/// The descriptor of a stream; none of those in memory.
fn descriptor(stream: Stream) -> Option<c_int> {
    if stream.is_null() {
        return None;
    }
    // SAFETY: the caller of the function that is recorded passes a stream that is open.
    Some(unsafe { libc::fileno(stream) }).filter(|&descriptor| 0 <= descriptor)
}

/// The handle of a stream, and what it refers to.
pub(super) fn file_of(process: &Process, stream: Stream) -> Option<(u32, FileKind)> {
    open_file(process, ISO_C, descriptor(stream)?)
}

/// What a mode such as `r+` opens a file for.
fn access(mode: Text) -> IoAccessMode {
    if mode.is_null() {
        return IoAccessMode::ReadWrite;
    }
    // SAFETY: the caller of the function that is recorded passes a text, which has opened a file.
    let mode = unsafe { CStr::from_ptr(mode) }.to_bytes();
    match mode.first() {
        _ if mode.contains(&b'+') => IoAccessMode::ReadWrite,
        Some(b'r') => IoAccessMode::ReadOnly,
        _ => IoAccessMode::WriteOnly,
    }
}

fn opened(begun: &RecordedCall, stream: Stream, mode: Text) {
    if let Some(descriptor) = descriptor(stream) {
        posix::created(begun, ISO_C, descriptor, access(mode));
    }
}

macro_rules! opening {
    ($($name:ident $call:ident ($($a:ident: $t:ty),*) $mode:ident;)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C-unwind" fn $name($($a: $t),*) -> Stream {
            let Some(real) = real!($name($($t),*) -> Stream) else { return missing(ptr::null_mut()) };
            // SAFETY: the caller's arguments.
            let real = || unsafe { real($($a),*) };
            recorded(IoCall::$call, |_| (), real, |begun, &stream| opened(begun, stream, $mode))
        }
    )*};
}

opening! {
    fopen FileOpen (path: Text, mode: Text) mode;
    fopen64 FileOpen (path: Text, mode: Text) mode;
    fdopen FileOfDescriptor (descriptor: c_int, mode: Text) mode;
}

/// Forgets a stream's descriptor before anyone can get the same number again; its handle.
fn leaving(begun: &RecordedCall, stream: Stream) -> Option<u32> {
    let descriptor = descriptor(stream)?;
    let found = handle(begun.process, ISO_C, descriptor);
    if let Some(all) = begun.process.descriptors() {
        all.forget(descriptor);
    }
    found
}

macro_rules! reopening {
    ($($name:ident)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C-unwind" fn $name(path: Text, mode: Text, stream: Stream) -> Stream {
            let Some(real) = real!($name(Text, Text, Stream) -> Stream) else {
                return missing(ptr::null_mut());
            };
            let before = |begun: &mut RecordedCall| {
                if let Some(handle) = leaving(begun, stream) {
                    begun.destroy(handle);
                }
            };
            // SAFETY: the caller's arguments.
            let real = || unsafe { real(path, mode, stream) };
            recorded(IoCall::FileReopen, before, real, |begun, &stream| opened(begun, stream, mode))
        }
    )*};
}

reopening!(freopen freopen64);

macro_rules! closing {
    ($($name:ident)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C-unwind" fn $name(stream: Stream) -> c_int {
            let Some(real) = real!($name(Stream) -> c_int) else { return missing(-1) };
            let closed = Cell::new(None);
            let before = |begun: &mut RecordedCall| closed.set(leaving(begun, stream));
            // SAFETY: the caller's argument.
            let real = || unsafe { real(stream) };
            recorded(IoCall::FileClose, before, real, |begun, _| {
                if let Some(handle) = closed.get() {
                    begun.destroy(handle);
                }
            })
        }
    )*};
}

closing!(fclose pclose);

/// Functions that move bytes.
macro_rules! moving {
    ($($name:ident $call:ident $mode:ident ($($a:ident: $t:ty),*) -> $result:ty, $failed:expr;
       $stream:ident, $asked:expr, $moved:expr;)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C-unwind" fn $name($($a: $t),*) -> $result {
            let Some(real) = real!($name($($t),*) -> $result) else { return missing($failed) };
            moved(
                IoCall::$call,
                IoOperationMode::$mode,
                $asked,
                |process| file_of(process, $stream),
                // SAFETY: the caller's arguments.
                || unsafe { real($($a),*) },
                $moved,
            )
        }
    )*};
}

fn product(size: usize, n: usize) -> u64 {
    (size as u64).saturating_mul(n as u64)
}

/// Bytes of a text that a function has read or written.
fn length(text: Text) -> u64 {
    // SAFETY: the function has succeeded with this text.
    if text.is_null() { 0 } else { unsafe { CStr::from_ptr(text) }.count_bytes() as u64 }
}

/// Bytes of a text that was written, if it was.
fn written(result: c_int, text: Text) -> u64 {
    if result < 0 { 0 } else { length(text) }
}

type Bytes = *mut c_void;
type Line = *mut c_char;

moving! {
    fread FileRead Read (to: Bytes, size: usize, n: usize, stream: Stream) -> usize, 0;
        stream, product(size, n), |&n| product(size, n);
    fread_unlocked FileRead Read (to: Bytes, size: usize, n: usize, stream: Stream) -> usize, 0;
        stream, product(size, n), |&n| product(size, n);
    __fread_chk FileRead Read
        (to: Bytes, room: usize, size: usize, n: usize, stream: Stream) -> usize, 0;
        stream, product(size, n), |&n| product(size, n);
    __fread_unlocked_chk FileRead Read
        (to: Bytes, room: usize, size: usize, n: usize, stream: Stream) -> usize, 0;
        stream, product(size, n), |&n| product(size, n);
    fwrite FileWrite Write (from: Bytes, size: usize, n: usize, stream: Stream) -> usize, 0;
        stream, product(size, n), |&n| product(size, n);
    fwrite_unlocked FileWrite Write (from: Bytes, size: usize, n: usize, stream: Stream) -> usize, 0;
        stream, product(size, n), |&n| product(size, n);
    fgets FileGetString Read (to: Line, n: c_int, stream: Stream) -> Line, ptr::null_mut();
        stream, UNKNOWN_BYTES, |&line| length(line);
    fgets_unlocked FileGetString Read (to: Line, n: c_int, stream: Stream) -> Line, ptr::null_mut();
        stream, UNKNOWN_BYTES, |&line| length(line);
    __fgets_chk FileGetString Read (to: Line, room: usize, n: c_int, stream: Stream) -> Line, ptr::null_mut();
        stream, UNKNOWN_BYTES, |&line| length(line);
    __fgets_unlocked_chk FileGetString Read
        (to: Line, room: usize, n: c_int, stream: Stream) -> Line, ptr::null_mut();
        stream, UNKNOWN_BYTES, |&line| length(line);
    fputs FilePutString Write (text: Text, stream: Stream) -> c_int, -1;
        stream, UNKNOWN_BYTES, |&result| written(result, text);
    fputs_unlocked FilePutString Write (text: Text, stream: Stream) -> c_int, -1;
        stream, UNKNOWN_BYTES, |&result| written(result, text);
    getline GetLine Read (line: *mut Line, n: *mut usize, stream: Stream) -> isize, -1;
        stream, UNKNOWN_BYTES, |&result| bytes_of(result);
    getdelim GetDelimited Read
        (line: *mut Line, n: *mut usize, end: c_int, stream: Stream) -> isize, -1;
        stream, UNKNOWN_BYTES, |&result| bytes_of(result);
    __getdelim GetDelimited Read
        (line: *mut Line, n: *mut usize, end: c_int, stream: Stream) -> isize, -1;
        stream, UNKNOWN_BYTES, |&result| bytes_of(result);
    fflush FileFlush Flush (stream: Stream) -> c_int, -1; stream, 0, |_| 0;
    fflush_unlocked FileFlush Flush (stream: Stream) -> c_int, -1; stream, 0, |_| 0;
}

unsafe extern "C" {
    static stdout: Stream;
}

/// The program's standard output.
pub(super) fn output() -> Stream {
    // SAFETY: C's variable, which programs set, if at all, before they have threads.
    unsafe { stdout }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn puts(text: Text) -> c_int {
    let Some(real) = real!(puts(Text) -> c_int) else { return missing(-1) };
    moved(
        IoCall::PutString,
        IoOperationMode::Write,
        UNKNOWN_BYTES,
        |process| file_of(process, output()),
        // SAFETY: the caller's argument.
        || unsafe { real(text) },
        // With the end of the line.
        |&result| if result < 0 { 0 } else { length(text) + 1 },
    )
}

macro_rules! seeking {
    ($($name:ident $call:ident)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C-unwind" fn $name(stream: Stream, offset: i64, whence: c_int) -> c_int {
            let Some(real) = real!($name(Stream, i64, c_int) -> c_int) else { return missing(-1) };
            // SAFETY: the caller's arguments.
            let real = || unsafe { real(stream, offset, whence) };
            recorded(IoCall::$call, |_| (), real, |begun, &result| sought(begun, stream, offset, whence, result))
        }
    )*};
}

seeking!(fseek FileSeek fseeko FileSeekOffset fseeko64 FileSeekOffset);

fn sought(begun: &RecordedCall, stream: Stream, offset: i64, whence: c_int, result: c_int) {
    if result != 0 {
        return;
    }
    let place = match whence {
        libc::SEEK_SET => offset,
        // SAFETY: the stream was just used.
        _ => unsafe { libc::ftello64(stream) },
    };
    if let (Ok(place), Some((handle, _))) = (u64::try_from(place), file_of(begun.process, stream)) {
        begun.seek(handle, offset, whence, place);
    }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn rewind(stream: Stream) {
    let Some(real) = real!(rewind(Stream) -> ()) else { return };
    // SAFETY: the caller's argument.
    recorded(
        IoCall::FileRewind,
        |_| (),
        || unsafe { real(stream) },
        |begun, ()| {
            sought(begun, stream, 0, libc::SEEK_SET, 0);
        },
    );
}
