//! The wrappers of MPI functions: each is `call` with its number, its language and its arguments.
//!
//! Law: the real function gets the arguments of the program, but for statuses that the program ignores, which the
//! recorder needs. It is called exactly once.

mod arguments;
mod library;

use crate::clock;
use crate::depth::Outermost;
use crate::language::{Language, N_LANGUAGES};
use crate::next;
use crate::process::{self, Process, sampling, thread};
use arguments::{OwnStatuses, RawArguments};
use library::MpiLibrary;
use ouzel_otf2::records::Event;
use ouzel_recording::journal::Entry;
use ouzel_recording::mpi::calls::{Begun, Call};
use ouzel_recording::mpi::functions::{Effect, Function, functions};
use ouzel_recording::mpi::interface::{Handle, Sink};
use ouzel_recording::stream::Kept;
use std::ffi::{CStr, c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

include!(concat!(env!("OUT_DIR"), "/wrappers.rs"));

/// What a function of MPI returns if all is well.
const SUCCESS: c_int = 0;
/// `MPI_ERR_OTHER` of Open MPI and MPICH: what a program gets that calls MPI without having it.
const ERR_OTHER: c_int = 15;

static NEXT: [[AtomicPtr<c_void>; N_LANGUAGES]; N_FUNCTIONS] =
    [const { [const { AtomicPtr::new(ptr::null_mut()) }; N_LANGUAGES] }; N_FUNCTIONS];

/// The real function; null if the program has no MPI.
fn real(number: usize, language: Language) -> *mut c_void {
    let place = &NEXT[number][language as usize];
    let found = place.load(Ordering::Relaxed);
    if !found.is_null() {
        return found;
    }
    let symbol = language.symbol(&functions()[number].name);
    let found = CStr::from_bytes_with_nul(symbol.as_bytes()).map_or(ptr::null_mut(), next::mpi_symbol);
    place.store(found, Ordering::Relaxed);
    found
}

/// Whether the functions of a language call those of C in this MPI library, so that these record: 0 not known, 1 no,
/// 2 yes. In MPICH those of `mpif.h` do, and those of `mpi_f08` do not.
static CALLS_C: [AtomicU32; N_LANGUAGES] = [const { AtomicU32::new(0) }; N_LANGUAGES];
/// Calls of C functions that were recorded, or would have been.
static N_C_CALLS: AtomicU32 = AtomicU32::new(0);

/// A call of a wrapper.
///
/// # Safety
/// The arguments are those that the function takes in this language.
unsafe fn call(number: usize, language: Language, arguments: &mut [usize]) -> c_int {
    let function = real(number, language);
    if function.is_null() {
        return without_mpi(number, language, arguments);
    }
    // SAFETY: the caller's arguments.
    let pass_on = |arguments: &[usize]| unsafe { next::invoke(function, arguments) };
    if !process::records_mpi() {
        return pass_on(arguments);
    }
    if language == Language::C {
        N_C_CALLS.fetch_add(1, Ordering::Relaxed);
    } else if CALLS_C[language as usize].load(Ordering::Relaxed) == 2 {
        return pass_on(arguments);
    }
    let Some(_outermost) = Outermost::enter() else { return pass_on(arguments) };
    let Some(process) = process::get() else { return pass_on(arguments) };
    let before = N_C_CALLS.load(Ordering::Relaxed);
    let result = record(process, number, language, arguments, &pass_on);
    let calls_c = &CALLS_C[language as usize];
    if language != Language::C && calls_c.load(Ordering::Relaxed) == 0 {
        // The first call shows whether the C function is called, too.
        let is_called = before != N_C_CALLS.load(Ordering::Relaxed);
        calls_c.store(if is_called { 2 } else { 1 }, Ordering::Relaxed);
    }
    result
}

/// A call that is recorded.
fn record(
    process: &'static Process,
    number: usize,
    language: Language,
    arguments: &mut [usize],
    pass_on: &dyn Fn(&[usize]) -> c_int,
) -> c_int {
    let function = &functions()[number];
    let region = process.function_region(number);
    let called_ns = sampling::at_call(process, region);
    let (is_read, begin_ns) = thread::enter_call(process, called_ns, region);
    let is_left_out = function.is_of_files() && !process::records_io();
    let is_plain = function.effect == Effect::Call || is_left_out;
    let library = if is_plain { None } else { library::get(process) };
    let mut statuses = OwnStatuses::default();
    let mut begun = Begun::default();
    if let Some(library) = library {
        statuses.replace(function, arguments, language, library);
        let raw = RawArguments::new(function, arguments, language, library);
        with_call(process, (function, &raw, library), begin_ns, |call| call.before(&mut begun));
    }
    if matches!(function.effect, Effect::Abort) {
        process::end("MPI_Abort");
    }
    thread::begin_call(process, begin_ns);
    let result = pass_on(arguments);
    let end_ns = clock::now_ns();
    if function.effect == Effect::Init {
        library::begin(process);
    }
    if let Some(library) = library {
        let raw = RawArguments::new(function, arguments, language, library);
        let has_succeeded = has_succeeded(language, function, arguments, result);
        with_call(process, (function, &raw, library), end_ns, |call| match has_succeeded {
            true => call.after(&begun),
            false => call.failed(&begun),
        });
    }
    thread::leave_call(process, end_ns, (region, is_read));
    if function.effect == Effect::Finalize {
        // Launchers end ranks that have got so far without asking them; nothing is lost then.
        process.entry(&Entry::End { time_ns: end_ns, how: "MPI_Finalize".to_owned() });
    }
    result
}

/// In C the result says it, in Fortran the last argument, which may be absent.
fn has_succeeded(language: Language, function: &Function, arguments: &[usize], result: c_int) -> bool {
    if language == Language::C {
        return result == SUCCESS;
    }
    let at = arguments::fortran_place(function, function.parameters.len());
    let place = arguments.get(at).copied().unwrap_or(0) as *const c_int;
    // SAFETY: Fortran passes the address of an integer, or null for an optional argument that is absent.
    place.is_null() || unsafe { place.read_unaligned() } == SUCCESS
}

type ThisCall<'a> = Call<'a, RawArguments<'a>, LibraryHandle, EventSink>;

fn with_call(
    process: &'static Process,
    (function, arguments, library): (&Function, &RawArguments<'_>, &'static MpiLibrary),
    time_ns: u64,
    look: impl FnOnce(&mut ThisCall<'_>),
) {
    let mut tables = process.tables();
    if let Some(window) = process.window() {
        let write = |time_ns, event| {
            thread::with(process, |stream| stream.write(time_ns, &event));
        };
        window.open(time_ns, &tables.requests, write, |entry| process.entry(entry));
    }
    let mut sink = EventSink { process, time_ns };
    let mut library = LibraryHandle(library);
    look(&mut Call { function, arguments, library: &mut library, tables: &mut tables, sink: &mut sink });
}

/// The MPI library, as calls ask it.
#[derive(Debug)]
struct LibraryHandle(&'static MpiLibrary);

/// Where events of one moment go.
#[derive(Debug)]
struct EventSink {
    process: &'static Process,
    time_ns: u64,
}

impl Sink for EventSink {
    fn event(&mut self, event: Event<'static>) {
        let write = || thread::with(self.process, |stream| stream.write(self.time_ns, &event));
        let Some(window) = self.process.window() else {
            write();
            return;
        };
        if window.is_of_before(&event) || write() == Some(Kept::Before) {
            window.count(&event, |entry| self.process.entry(entry));
        }
    }

    fn entry(&mut self, entry: &Entry) {
        self.process.entry(entry);
    }
}

/// A program without MPI may ask whether there is one.
fn without_mpi(number: usize, language: Language, arguments: &[usize]) -> c_int {
    let asks = matches!(functions()[number].name.as_str(), "Initialized" | "Finalized");
    if !asks || arguments.is_empty() {
        return ERR_OTHER;
    }
    let flag = arguments[0] as *mut c_int;
    if !flag.is_null() && language == Language::C {
        // SAFETY: the function takes the address of a number.
        unsafe { flag.write(0) };
    }
    SUCCESS
}
