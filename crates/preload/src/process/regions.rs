//! Regions of the program: functions that the compiler instruments, and parts that the program names itself.
//!
//! `-finstrument-functions` (GCC, Clang, gfortran) calls [`__cyg_profile_func_enter`] and its counterpart; a program
//! may call [`ouzel_region_enter`] and [`ouzel_region_leave`]. Law: a region is entered and left on one thread.

use super::{Process, begun, get, is_on, thread};
use crate::clock;
use crate::depth::Outermost;
use ouzel_recording::journal::{Entry, ROOT_REGION, function_line};
use ouzel_recording::openmp::Construct;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

const N_FUNCTIONS: usize = ROOT_REGION as usize;

/// What a region of the program is known by.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Known {
    Address(usize),
    /// A construct of OpenMP.
    Construct(Construct, usize),
    /// Where `ouzel instrument` has put it.
    Instrumented(usize),
    Name(Vec<u8>, Vec<u8>, u32),
}

/// The regions that a process has met.
#[derive(Debug)]
pub struct Regions {
    functions: Box<[AtomicBool]>,
    known: Mutex<BTreeMap<Known, u32>>,
}

impl Default for Regions {
    fn default() -> Self {
        let functions = (0..N_FUNCTIONS).map(|_| AtomicBool::new(false)).collect();
        Regions { functions, known: Mutex::default() }
    }
}

impl Process {
    /// The region of a function of MPI or of files, which is written down when it is met first.
    pub fn function_region(&self, number: usize) -> u32 {
        let region = u32::try_from(number).unwrap_or(0);
        if !self.regions.functions[number].load(Ordering::Relaxed)
            && !self.regions.functions[number].swap(true, Ordering::Relaxed)
        {
            self.line(function_line(&mut [0; 32], region));
        }
        region
    }

    /// The number of a region, which is written down when it is met first.
    pub fn region(&self, known: Known, entry: impl FnOnce(u32) -> Entry) -> u32 {
        let mut all = self.regions.known.lock().unwrap_or_else(PoisonError::into_inner);
        let next = ROOT_REGION + 1 + u32::try_from(all.len()).unwrap_or(0);
        *all.entry(known).or_insert_with(|| {
            self.entry(&entry(next));
            next
        })
    }
}

thread_local! {
    /// Regions of addresses that this thread has met, with the fork that they belong to.
    static MET: RefCell<(u32, BTreeMap<usize, u32>)> = const { RefCell::new((0, BTreeMap::new())) };
}

fn of_address(process: &Process, address: usize) -> u32 {
    let met = MET.try_with(|met| {
        let mut met = met.try_borrow_mut().ok()?;
        if met.0 != process.generation() {
            *met = (process.generation(), BTreeMap::new());
        }
        let region = met.1.entry(address);
        Some(*region.or_insert_with(|| process.region(Known::Address(address), |id| describe(id, address))))
    });
    let new = || process.region(Known::Address(address), |id| describe(id, address));
    met.ok().flatten().unwrap_or_else(new)
}

/// What the journal says of a construct of OpenMP.
pub fn describe_construct(id: u32, construct: Construct, address: usize) -> Entry {
    let (module, offset) = place(address);
    Entry::Construct { id, construct, offset, module }
}

/// What the journal says of the function that is the body of a construct.
pub fn describe_body(id: u32, address: usize) -> Entry {
    let (module, offset) = place(address);
    Entry::Body { id, offset, module }
}

fn describe(id: u32, address: usize) -> Entry {
    let (module, offset) = place(address);
    Entry::Address { id, offset, module }
}

/// The file that an address is mapped from, and the offset in it.
fn place(address: usize) -> (String, u64) {
    let mut found = MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: the loader fills in what it knows; all zero is a valid description, too.
    let (is_found, info) = unsafe {
        let is_found = libc::dladdr(address as *const c_void, found.as_mut_ptr());
        (is_found != 0, found.assume_init())
    };
    if !is_found || info.dli_fname.is_null() {
        return (String::new(), address as u64);
    }
    // SAFETY: names of loaded files end with a zero byte.
    let module = unsafe { CStr::from_ptr(info.dli_fname) }.to_string_lossy().into_owned();
    // The program itself may be named as it was called; the others have their paths.
    let path = std::fs::canonicalize(&module).map(|path| path.to_string_lossy().into_owned());
    let offset = address.saturating_sub(info.dli_fbase as usize) as u64;
    (path.unwrap_or(module), offset)
}

fn enter(find: impl FnOnce(&Process) -> u32) {
    let Some(_outermost) = Outermost::enter() else { return };
    let Some(process) = get() else { return };
    let region = find(process);
    thread::enter_region(process, region);
}

fn leave(find: impl FnOnce(&Process) -> u32) {
    let Some(_outermost) = Outermost::enter() else { return };
    let Some(process) = begun().filter(|_| is_on()) else { return };
    let region = find(process);
    thread::leave_region(process, clock::now_ns(), region);
}

#[unsafe(no_mangle)]
extern "C" fn __cyg_profile_func_enter(function: *const c_void, _call_site: *const c_void) {
    if is_on() {
        enter(|process| of_address(process, function.addr()));
    }
}

#[unsafe(no_mangle)]
extern "C" fn __cyg_profile_func_exit(function: *const c_void, _call_site: *const c_void) {
    if is_on() {
        leave(|process| of_address(process, function.addr()));
    }
}

/// Enters a region that the program names; all texts are C's.
///
/// # Safety
/// The texts end with zero bytes, or are null.
#[unsafe(no_mangle)]
unsafe extern "C" fn ouzel_region_enter(name: *const c_char, file: *const c_char, line: c_int) {
    if is_on() {
        // SAFETY: as the caller says.
        let named = unsafe { named(name, file, line) };
        enter(|process| of_name(process, named));
    }
}

/// Leaves it.
///
/// # Safety
/// As of [`ouzel_region_enter`].
#[unsafe(no_mangle)]
unsafe extern "C" fn ouzel_region_leave(name: *const c_char, file: *const c_char, line: c_int) {
    if is_on() {
        // SAFETY: as the caller says.
        let named = unsafe { named(name, file, line) };
        leave(|process| of_name(process, named));
    }
}

unsafe fn named(name: *const c_char, file: *const c_char, line: c_int) -> (Vec<u8>, Vec<u8>, u32) {
    let text = |text: *const c_char| match text.is_null() {
        true => Vec::new(),
        // SAFETY: as the caller of this function says.
        false => unsafe { CStr::from_ptr(text) }.to_bytes().to_vec(),
    };
    (text(name), text(file), u32::try_from(line).unwrap_or(0))
}

fn of_name(process: &Process, (name, file, line): (Vec<u8>, Vec<u8>, u32)) -> u32 {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let entry = {
        let (name, file) = (text(&name), text(&file));
        move |id| Entry::Region { id, line, name, file }
    };
    process.region(Known::Name(name, file, line), entry)
}
