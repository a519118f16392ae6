//! Regions of sources that `ouzel instrument` has changed: their programs look up [`ouzel_instrument_visit`] by its name.
//!
//! Law: the layout of a region is that of the texts which `ouzel-instrument` inserts.

use super::regions::Known;
use super::{Process, begun, get, is_on, thread};
use crate::clock;
use crate::depth::Outermost;
use ouzel_recording::journal::Entry;
use ouzel_recording::open_regions::{OPEN_MAX, OpenRegions};
use ouzel_recording::settings;
use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};

/// What `what` of a region says: it is a loop.
const LOOP: c_int = 1;
/// Its texts follow the numbers, as Fortran lays them out, instead of pointers to them.
const TEXTS_FOLLOW: c_int = 256;
/// What `what` of a visit says.
const ENTER: c_int = 0;

/// A region in the memory of the program.
#[repr(C)]
pub struct RegionOfProgram {
    /// The number of its region here, below the number of the fork.
    cell: AtomicU64,
    line: c_int,
    what: c_int,
    name: *const c_char,
    file: *const c_char,
}

thread_local! {
    /// With the fork that they belong to.
    static OPEN: RefCell<(u32, OpenRegions)> = const { RefCell::new((0, OpenRegions::new())) };
}

/// Enters (`what` 0) or leaves (1) a region in a stack frame.
///
/// # Safety
/// The region lives as long as the program, and is laid out as [`RegionOfProgram`] says.
#[unsafe(no_mangle)]
unsafe extern "C" fn ouzel_instrument_visit(
    region: *const RegionOfProgram,
    what: c_int,
    frame: *const c_void,
) {
    if !is_on() {
        return;
    }
    let Some(_outermost) = Outermost::enter() else { return };
    let process = if what == ENTER { get() } else { begun() };
    let Some(process) = process.filter(|_| is_on()) else { return };
    // SAFETY: as the caller says.
    let number = unsafe { number(process, region) };
    let visit = |open: &RefCell<(u32, OpenRegions)>| {
        let Ok(mut open) = open.try_borrow_mut() else { return };
        if open.0 != process.generation() {
            // What is open belongs to the parent's recording.
            open.0 = process.generation();
            open.1.clear();
        }
        write(process, &mut open.1, (number, what), frame.addr());
    };
    // While a thread ends, what it is in may be gone: then nothing more is recorded of it.
    let _ = OPEN.try_with(visit);
}

/// Visits a region as instrumented programs do, so many times.
pub fn rehearse(n_visits: u32) {
    let region = |name: &str| -> Option<&'static RegionOfProgram> {
        let name = CString::new(name).ok()?.into_raw().cast_const();
        let (cell, file) = (AtomicU64::new(0), c"".as_ptr());
        Some(Box::leak(Box::new(RegionOfProgram { cell, line: 0, what: 0, name, file })))
    };
    let (Some(around), Some(inside)) = (region(settings::REHEARSAL), region(settings::REHEARSED_VISIT))
    else {
        return;
    };
    // SAFETY: regions and their texts are leaked.
    let visit = |region, what| unsafe { ouzel_instrument_visit(region, what, ptr::null()) };
    visit(around, ENTER);
    for _ in 0..n_visits {
        visit(inside, ENTER);
        visit(inside, ENTER + 1);
    }
    visit(around, ENTER + 1);
}

fn write(process: &'static Process, open: &mut OpenRegions, (region, what): (u32, c_int), frame: usize) {
    let now_ns = clock::now_ns();
    let leave = |region| thread::leave_region(process, now_ns, region);
    if what == ENTER {
        if open.enter(region, frame, leave) {
            thread::enter_region(process, region);
        } else {
            process.lose(&format_args!("more than {OPEN_MAX} regions are open at a time"));
        }
    } else {
        open.leave(region, leave);
    }
}

/// The number of a region, which is written down when it is met first.
unsafe fn number(process: &Process, region: *const RegionOfProgram) -> u32 {
    // SAFETY: it lives as long as the program; the cell is the recorder's.
    let cell = unsafe { &(*region).cell };
    let fork = u64::from(process.generation()) << 32;
    let known = cell.load(Ordering::Relaxed);
    if known != 0 && known & !u64::from(u32::MAX) == fork {
        return (known & u64::from(u32::MAX)) as u32;
    }
    let number = process.region(Known::Instrumented(region.addr()), |id| {
        // SAFETY: as the caller says.
        unsafe { describe(id, region) }
    });
    cell.store(fork | u64::from(number), Ordering::Relaxed);
    number
}

unsafe fn describe(id: u32, region: *const RegionOfProgram) -> Entry {
    // SAFETY: the numbers are there in both layouts; texts end with zero bytes, and where they follow the numbers, they
    // begin where the pointers would be.
    let (line, what, name, file) = unsafe {
        let (line, what) = ((*region).line, (*region).what);
        match what & TEXTS_FOLLOW {
            0 => (line, what, CStr::from_ptr((*region).name), CStr::from_ptr((*region).file)),
            _ => {
                let name = CStr::from_ptr((&raw const (*region).name).cast());
                let file = name.as_ptr().add(name.count_bytes() + 1);
                (line, what, name, CStr::from_ptr(file))
            }
        }
    };
    let text = |text: &CStr| text.to_string_lossy().into_owned();
    let (line, name, file) = (u32::try_from(line).unwrap_or(0), text(name), text(file));
    match what & LOOP {
        0 => Entry::Region { id, line, name, file },
        _ => Entry::Loop { id, line, name, file },
    }
}
