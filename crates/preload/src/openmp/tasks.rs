//! Tasks: each runs its body in a region of its own, on whatever thread and inside of whatever call it is run.
//!
//! ```text
//! data of a task   [ TaskHeader · to the alignment of the data ][ data of the program ]
//! ```
//! Law: the data is made as the program would make it, by its own function if it has one. Tasks that the program ends by an
//! event, and those of a `taskloop`, whose bounds the runtime writes into the data, run without regions.

use super::{RecordedUse, close_beyond, n_open, sites};
use crate::depth;
use crate::next;
use crate::process;
use ouzel_recording::openmp::Construct;
use std::ffi::c_void;
use std::ptr;

type Body = unsafe extern "C-unwind" fn(*mut c_void);
type Copy = unsafe extern "C-unwind" fn(*mut c_void, *mut c_void);

/// In front of a task's data.
#[repr(C)]
#[derive(Clone, Copy)]
struct TaskHeader {
    body: Body,
    /// From here to the data.
    offset: usize,
    region: u32,
    /// The fork of the process that the region belongs to.
    generation: u32,
}

/// A task that is created.
struct NewTask {
    header: TaskHeader,
    data: *mut c_void,
    copy: Option<Copy>,
    n_bytes: usize,
}

/// The task is complete when the program says so: the runtime writes its event into the data.
const DETACH: usize = 1 << 13;

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn GOMP_task(
    body: Body,
    data: *mut c_void,
    copy: Option<Copy>,
    n_bytes: usize,
    alignment: usize,
    is_deferred: usize,
    flags: usize,
    depend: usize,
    priority: usize,
    detach: usize,
) {
    let Some(site) = sites::site_of_body(c"GOMP_task", body as *const () as usize) else { return };
    let rest = [is_deferred, flags, depend, priority, detach];
    let invoke = |first: [usize; 5]| {
        let mut arguments = [0; 10];
        arguments[..5].copy_from_slice(&first);
        arguments[5..].copy_from_slice(&rest);
        // SAFETY: the program's arguments, or the recorder's body with its own data. The old runtimes that take fewer ignore
        // those at the end.
        unsafe { next::invoke(site.real, &arguments) };
    };
    let recorded = if flags & DETACH == 0 { RecordedUse::begin() } else { None };
    let Some(RecordedUse { process, _outermost }) = recorded else {
        let copy = copy.map_or(0, |copy| copy as *const () as usize);
        return invoke([body as *const () as usize, data.addr(), copy, n_bytes, alignment]);
    };
    let alignment = alignment.max(align_of::<TaskHeader>());
    let offset = size_of::<TaskHeader>().next_multiple_of(alignment);
    let region = site.region(process, Construct::Task);
    let header = TaskHeader { body, offset, region, generation: process.generation() };
    let mut task = NewTask { header, data, copy, n_bytes };
    invoke([
        in_task as *const () as usize,
        (&raw mut task).addr(),
        copy_task as *const () as usize,
        offset + n_bytes,
        alignment,
    ]);
}

/// Makes the data of a task.
unsafe extern "C-unwind" fn copy_task(to: *mut c_void, from: *mut c_void) {
    // SAFETY: the runtime passes what `GOMP_task` has given it, before that is over, and room as large and aligned as it
    // was asked for.
    unsafe {
        let from = &*from.cast_const().cast::<NewTask>();
        to.cast::<TaskHeader>().write(from.header);
        let data = to.byte_add(from.header.offset);
        match from.copy {
            Some(copy) => {
                // It is the program's: constructors, in C++.
                depth::release();
                copy(data, from.data);
                depth::hold();
            }
            None => ptr::copy_nonoverlapping(from.data.cast::<u8>(), data.cast::<u8>(), from.n_bytes),
        }
    }
}

/// Runs a task.
unsafe extern "C-unwind" fn in_task(data: *mut c_void) {
    // SAFETY: `copy_task` has made it.
    let (header, data) = unsafe {
        let header = data.cast_const().cast::<TaskHeader>().read();
        (header, data.byte_add(header.offset))
    };
    let was_inside = depth::hold();
    let is_same = |process: &&process::Process| process.generation() == header.generation;
    let process = process::begun().filter(|_| process::is_on()).filter(is_same);
    let around = process.map(|process| {
        super::enter(process, header.region);
        n_open(process)
    });
    let around_body = sites::replace_body(header.body as *const () as usize);
    depth::release();
    // SAFETY: the program's body with its data.
    unsafe { (header.body)(data) };
    depth::hold();
    sites::replace_body(around_body);
    if let Some((process, around)) = process.filter(|_| process::is_on()).zip(around) {
        close_beyond(process, around);
        super::leave(process, header.region);
    }
    if !was_inside {
        depth::release();
    }
}
