//! The tool of OpenMP 5 (OMPT) that libomp reports to: it says what the wrappers of libgomp's functions see.
//!
//! ```text
//! the runtime begins ── ompt_start_tool ──► initialize ── set_callback ──► what it does, told at the thread that does it
//! ```
//! Law: one tool at a time. Where the program has one of its own, it is that one; where nothing is recorded, there is none. A
//! thread is in the runtime from the report that begins a wait to that which ends it, so that nothing is recorded inside but
//! tasks. What a report begins while the thread is in a function that is recorded already is not recorded, nor is its end.

mod tasks;
mod teams;
mod waits;

use super::sites::{self, Site};
use crate::depth;
use crate::next;
use crate::process::{self, Process};
use ouzel_recording::journal::Entry;
use std::cell::{RefCell, UnsafeCell};
use std::env;
use std::ffi::{CStr, c_char, c_int, c_uint};

/// What a runtime keeps for the tool with each thing that it reports on (`ompt_data_t`).
type Data = *mut u64;
/// A function of the runtime, or one that it is to call.
type AnyFunction = unsafe extern "C" fn();
type Lookup = unsafe extern "C" fn(*const c_char) -> Option<AnyFunction>;
type SetCallback = unsafe extern "C" fn(c_int, AnyFunction) -> c_int;

/// `ompt_start_tool_result_t`.
#[repr(C)]
pub struct StartToolResult {
    initialize: unsafe extern "C" fn(Lookup, c_int, Data) -> c_int,
    finalize: unsafe extern "C" fn(Data),
    tool_data: UnsafeCell<u64>,
}

// SAFETY: the runtime alone writes the only part that changes.
unsafe impl Sync for StartToolResult {}

static TOOL: StartToolResult = StartToolResult { initialize, finalize, tool_data: UnsafeCell::new(0) };

/// `ompt_scope_endpoint_t`.
const BEGIN: c_int = 1;
const END: c_int = 2;

/// What a thread does that the runtime reports on, innermost last; none where it is not recorded.
#[derive(Default)]
struct Reported {
    /// The fork of the process that it belongs to.
    generation: u32,
    members: Vec<Option<teams::Member>>,
    stays: Vec<Option<waits::Stay>>,
    tasks: Vec<tasks::RunningTask>,
}

thread_local! {
    static REPORTED: RefCell<Reported> = RefCell::default();
}

/// None while the thread ends.
fn with_reported<R>(change: impl FnOnce(&mut Reported) -> R) -> Option<R> {
    let change = |reported: &RefCell<Reported>| {
        let mut reported = reported.try_borrow_mut().ok()?;
        if reported.generation != process::generation() {
            *reported = Reported { generation: process::generation(), ..Reported::default() };
        }
        Some(change(&mut reported))
    };
    REPORTED.try_with(change).ok().flatten()
}

/// This thread comes from the program, and is in the runtime from now on. None where nothing is recorded; it is then where
/// it was.
fn come() -> Option<&'static Process> {
    if !process::records_openmp() || depth::hold() {
        return None;
    }
    let process = process::get().filter(|process| process.is_current());
    if process.is_none() {
        depth::release();
    }
    process
}

/// The site of a call. Where the body of a parallel region has ended with a jump, it is that of the region.
fn site(call: usize) -> Option<&'static Site> {
    let of_region = || with_reported(|it| Some(it.members.last()?.as_ref()?.fork.site)).flatten();
    sites::site_of_address(call).or_else(of_region)
}

/// Whether what was begun in this process is still recorded.
fn goes_on(process: &Process) -> bool {
    process::is_on() && process.is_current()
}

/// A runtime of OpenMP asks for the tool that it is to report to.
///
/// # Safety
/// The runtime passes the version of the standard, and its own as a text.
#[unsafe(no_mangle)]
unsafe extern "C" fn ompt_start_tool(version: c_uint, runtime: *const c_char) -> *const StartToolResult {
    type StartTool = unsafe extern "C" fn(c_uint, *const c_char) -> *const StartToolResult;
    let others = next::symbol(c"ompt_start_tool");
    let tool = match others.is_null() {
        true => std::ptr::null(),
        // SAFETY: the standard says its type; it gets what this one has got.
        false => unsafe { std::mem::transmute::<*mut std::ffi::c_void, StartTool>(others)(version, runtime) },
    };
    if !process::records_openmp() {
        return tool;
    }
    let is_asked_for = env::var_os("OMP_TOOL_LIBRARIES").is_some_and(|names| !names.is_empty());
    if tool.is_null() && !is_asked_for {
        return &raw const TOOL;
    }
    if let Some(process) = process::get().filter(|process| process.is_this()) {
        process.entry(&Entry::OtherTool);
    }
    tool
}

/// Says what is to be reported; 0 for a runtime that does not report on teams.
unsafe extern "C" fn initialize(lookup: Lookup, _device: c_int, _tool_data: Data) -> c_int {
    const NAME: &CStr = c"ompt_set_callback";
    // SAFETY: the name ends with a zero byte.
    let Some(set) = (unsafe { lookup(NAME.as_ptr()) }) else { return 0 };
    sites::know_runtime(set as *const () as usize);
    // SAFETY: the standard says the type of the function of this name.
    let set = unsafe { std::mem::transmute::<AnyFunction, SetCallback>(set) };
    let callbacks = [teams::CALLBACKS, waits::CALLBACKS, tasks::CALLBACKS];
    let reports = |&(number, function): &(c_int, *const ())| {
        // SAFETY: the functions have the types that the standard says for these numbers.
        let result = unsafe { set(number, std::mem::transmute::<*const (), AnyFunction>(function)) };
        /// `ompt_set_sometimes`, `ompt_set_sometimes_paired` and `ompt_set_always`.
        const SOMETIMES: c_int = 3;
        SOMETIMES <= result
    };
    // Without some of the others, their constructs are missing.
    let n_reported = callbacks.map(|some| some.iter().filter(|it| reports(it)).count());
    c_int::from(n_reported[0] == teams::CALLBACKS.len())
}

unsafe extern "C" fn finalize(_tool_data: Data) {}
