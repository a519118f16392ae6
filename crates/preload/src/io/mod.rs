//! The wrappers of functions of files and streams.
//!
//! ```text
//! read ──► Enter · IoOperationBegin ── C's own read ── IoOperationComplete · Leave
//! ```
//! Law: the real function gets the arguments of the program and is called exactly once; the program sees its result and
//! its error number. What MPI and the recorder read and write is not recorded. Where a thread is cancelled inside of a
//! call, its region is left, too. Nothing is allocated once a thread has its stream, and no lock is taken: programs write
//! in signal handlers.

mod posix;
mod print;
mod streams;

use crate::clock;
use crate::depth::Outermost;
use crate::next::keeping_errno;
use crate::process::{self, Process, sampling, thread};
use ouzel_otf2::records::Event;
use ouzel_otf2::records::enums::{IoOperationMode, IoSeekOption};
use ouzel_otf2::records::event::{
    IoDestroyHandle, IoOperationBegin, IoOperationCancelled, IoOperationComplete, IoSeek,
};
use ouzel_recording::io::{FileKind, Interface, IoCall};
use std::ffi::c_int;
use std::sync::atomic::{AtomicU64, Ordering};

/// How many bytes a call asks for where that is not known before, as Score-P says it.
const UNKNOWN_BYTES: u64 = u64::MAX;

/// Numbers of operations.
static N_OPERATIONS: AtomicU64 = AtomicU64::new(0);

/// A function of C with this name and type; none if this system has none.
macro_rules! real {
    ($name:ident($($type:ty),*) -> $result:ty) => {{
        static NEXT: $crate::next::Next = $crate::next::Next::new(
            match std::ffi::CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                Ok(name) => name,
                Err(_) => c"",
            },
        );
        // SAFETY: null or a function with this type, which C's headers say; null is the `None` of the target.
        unsafe {
            std::mem::transmute::<
                *mut std::ffi::c_void,
                Option<unsafe extern "C-unwind" fn($($type),*) -> $result>,
            >(NEXT.get())
        }
    }};
}
pub(crate) use real;

/// What a function returns that this system does not have.
pub(crate) fn missing<R>(failed: R) -> R {
    // SAFETY: the error number of this thread.
    unsafe { *libc::__errno_location() = libc::ENOSYS };
    failed
}

/// A call that is recorded, until it is dropped.
pub(crate) struct RecordedCall {
    process: &'static Process,
    region: u32,
    /// Handle and number of an operation that has begun.
    operation: Option<(u32, u64)>,
    /// Whether counters were read when it began.
    is_read: bool,
    _outermost: Outermost,
}

impl RecordedCall {
    fn begin(call: IoCall, kind: impl FnOnce(&Process) -> FileKind) -> Option<Self> {
        if !process::records_io() {
            return None;
        }
        let may_walk = call.function().interface == Interface::Posix;
        Self::of(|process| Some(call.number_for(kind(process))), may_walk)
    }

    /// A call of the function of a number, with a sample of the caller's path where its caller `may_walk` the stack.
    /// None where nothing is recorded: inside of another call, or in a child made by vfork.
    pub fn of(number: impl FnOnce(&Process) -> Option<usize>, may_walk: bool) -> Option<Self> {
        let outermost = Outermost::enter()?;
        let process = process::get().filter(|process| process.is_this())?;
        let region = process.function_region(number(process)?);
        let called_ns = if may_walk { sampling::at_safe_call(process, region) } else { clock::now_ns() };
        let (is_read, _) = thread::enter_call(process, called_ns, region);
        Some(RecordedCall { process, region, operation: None, is_read, _outermost: outermost })
    }

    fn write(&self, time_ns: u64, event: Event<'_>) {
        thread::with(self.process, |stream| stream.write(time_ns, &event));
    }

    fn event(&self, event: Event<'_>) {
        self.write(clock::now_ns(), event);
    }

    fn operation(&mut self, handle: u32, mode: IoOperationMode, bytes_request: u64) {
        let matching_id = N_OPERATIONS.fetch_add(1, Ordering::Relaxed);
        self.event(IoOperationBegin { handle, mode, operation_flags: 0, bytes_request, matching_id }.into());
        self.operation = Some((handle, matching_id));
    }

    /// Bytes of an operation that has failed are 0.
    fn complete(&mut self, bytes_result: u64) {
        if let Some((handle, matching_id)) = self.operation.take() {
            self.event(IoOperationComplete { handle, bytes_result, matching_id }.into());
        }
    }

    fn destroy(&self, handle: u32) {
        self.event(IoDestroyHandle { handle }.into());
    }

    fn seek(&self, handle: u32, offset_request: i64, whence: c_int, offset_result: u64) {
        let whence = match whence {
            libc::SEEK_CUR => IoSeekOption::FromCurrent,
            libc::SEEK_END => IoSeekOption::FromEnd,
            libc::SEEK_DATA => IoSeekOption::Data,
            libc::SEEK_HOLE => IoSeekOption::Hole,
            _ => IoSeekOption::FromStart,
        };
        self.event(IoSeek { handle, offset_request, whence, offset_result }.into());
    }
}

impl Drop for RecordedCall {
    fn drop(&mut self) {
        keeping_errno(|| {
            // The thread is cancelled.
            if let Some((handle, matching_id)) = self.operation.take() {
                self.event(IoOperationCancelled { handle, matching_id }.into());
            }
            let now_ns = clock::now_ns();
            thread::leave_call(self.process, now_ns, (self.region, self.is_read));
        });
    }
}

/// A call around which something is recorded: `before` it, and `after` it from its result.
fn recorded<R>(
    call: IoCall,
    before: impl FnOnce(&mut RecordedCall),
    real: impl FnOnce() -> R,
    after: impl FnOnce(&mut RecordedCall, &R),
) -> R {
    let begun = keeping_errno(|| {
        let mut begun = RecordedCall::begin(call, |_| FileKind::File)?;
        before(&mut begun);
        Some(begun)
    });
    completed(begun, real, after)
}

fn completed<R>(
    begun: Option<RecordedCall>,
    real: impl FnOnce() -> R,
    after: impl FnOnce(&mut RecordedCall, &R),
) -> R {
    let result = real();
    if let Some(mut begun) = begun {
        keeping_errno(|| after(&mut begun, &result));
    }
    result
}

/// An operation that moves bytes, of the file that `find` says.
fn moved<R>(
    call: IoCall,
    mode: IoOperationMode,
    bytes_request: u64,
    find: impl FnOnce(&Process) -> Option<(u32, FileKind)>,
    real: impl FnOnce() -> R,
    n_bytes: impl FnOnce(&R) -> u64,
) -> R {
    let begun = keeping_errno(|| {
        let mut file = None;
        let kind = |process: &Process| {
            file = find(process);
            // Who writes has something to do until nobody takes it.
            file.filter(|_| mode == IoOperationMode::Read).map_or(FileKind::File, |(_, kind)| kind)
        };
        let mut begun = RecordedCall::begin(call, kind)?;
        if let Some((handle, _)) = file {
            begun.operation(handle, mode, bytes_request);
        }
        Some(begun)
    });
    completed(begun, real, |begun, result| begun.complete(n_bytes(result)))
}

/// Bytes of a result that is negative where the call has failed.
fn bytes_of(result: isize) -> u64 {
    u64::try_from(result).unwrap_or(0)
}
