//! The functions that the wrappers stand in front of.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

/// A function of C that is replaced, found when it is first called.
pub struct Next {
    name: &'static CStr,
    found: AtomicPtr<c_void>,
}

impl Next {
    /// One that is not looked up yet.
    pub const fn new(name: &'static CStr) -> Self {
        Next { name, found: AtomicPtr::new(ptr::null_mut()) }
    }

    /// Its address; null if this system does not have it.
    pub fn get(&self) -> *mut c_void {
        let found = self.found.load(Ordering::Relaxed);
        if !found.is_null() {
            return found;
        }
        let found = symbol(self.name);
        self.found.store(found, Ordering::Relaxed);
        found
    }

    /// Calls it with arguments that are numbers or pointers.
    ///
    /// # Safety
    /// The arguments are those of the function.
    pub unsafe fn call(&self, arguments: &[usize]) -> c_int {
        let function = self.get();
        if function.is_null() {
            return -1;
        }
        // SAFETY: as the caller says.
        unsafe { invoke(function, arguments) }
    }
}

/// The program sees the error number of its own call.
pub fn keeping_errno<R>(work: impl FnOnce() -> R) -> R {
    // SAFETY: the error number of this thread.
    unsafe {
        let place = libc::__errno_location();
        let before = *place;
        let result = work();
        *place = before;
        result
    }
}

unsafe extern "C" {
    /// Of glibc alone, where recorded programs run. A binary that is linked with musl comes with this crate compiled for
    /// musl, too, which nobody loads, and whose `libc` does not have the function.
    pub fn dlvsym(file: *mut c_void, name: *const c_char, version: *const c_char) -> *mut c_void;
}

/// The next definition of a symbol after this library; null if there is none.
pub fn symbol(name: &CStr) -> *mut c_void {
    // Conditions have two versions on x86-64, and old loaders find the one that programs from before 2003 use.
    if name.to_bytes().starts_with(b"pthread_cond_") {
        // SAFETY: both texts end with a zero byte.
        let newer = unsafe { dlvsym(libc::RTLD_NEXT, name.as_ptr(), c"GLIBC_2.3.2".as_ptr()) };
        if !newer.is_null() {
            return newer;
        }
    }
    // SAFETY: the name ends with a zero byte.
    unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) }
}

/// A symbol as the file of an address finds it, but for this library: files that are loaded for themselves alone, as Python
/// does, may each have a library of their own.
#[cfg(target_arch = "x86_64")]
pub fn symbol_of_caller(name: &CStr, address: usize) -> *mut c_void {
    let Some(caller) = file_of(address) else { return symbol(name) };
    // SAFETY: the path is that of a loaded file; nothing is loaded, and the symbol's name ends with a zero byte. The file
    // stays loaded while its code calls this function.
    let found = unsafe {
        let file = libc::dlopen(caller.dli_fname, libc::RTLD_LAZY | libc::RTLD_NOLOAD);
        if file.is_null() {
            return symbol(name);
        }
        let found = libc::dlsym(file, name.as_ptr());
        // The real one: the file stays, so the recorder need not know.
        invoke(symbol(c"dlclose"), &[file.addr()]);
        found
    };
    // The program itself searches where this library comes first.
    if found.is_null() || is_own(found.addr()) { symbol(name) } else { found }
}

/// Whether an address is in this library.
#[cfg(target_arch = "x86_64")]
pub fn is_own(address: usize) -> bool {
    are_in_one_file(address, is_own as *const () as usize)
}

/// Whether two addresses are in one loaded file.
#[cfg(target_arch = "x86_64")]
pub fn are_in_one_file(one: usize, other: usize) -> bool {
    file_of(one).zip(file_of(other)).is_some_and(|(one, other)| one.dli_fbase == other.dli_fbase)
}

/// What the loader says of an address.
#[cfg(target_arch = "x86_64")]
fn file_of(address: usize) -> Option<libc::Dl_info> {
    let mut found = std::mem::MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: the loader fills in what it knows; all zero is a valid description, too.
    let (is_found, info) = unsafe {
        let is_found = libc::dladdr(address as *const c_void, found.as_mut_ptr());
        (is_found != 0, found.assume_init())
    };
    (is_found && !info.dli_fname.is_null()).then_some(info)
}

/// A function of MPI, wherever the library is: programs may have loaded it for themselves alone, as Python does.
pub fn mpi_symbol(name: &CStr) -> *mut c_void {
    let found = symbol(name);
    if found.is_null() { in_loaded(name) } else { found }
}

/// A variable of MPI. The linker may have moved it into the program, which comes before this library.
pub fn mpi_variable(name: &CStr) -> *mut c_void {
    // SAFETY: the name ends with a zero byte.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    if found.is_null() { in_loaded(name) } else { found }
}

/// A symbol in any loaded file of MPI.
fn in_loaded(name: &CStr) -> *mut c_void {
    let mut paths: Vec<CString> = Vec::new();
    // SAFETY: `look` gets the pointer to `paths`, which lives until the call is over.
    unsafe { libc::dl_iterate_phdr(Some(look), (&raw mut paths).cast()) };
    let all = paths.iter().map(|path| of_loaded(path, name));
    all.into_iter().find(|found| !found.is_null()).unwrap_or(ptr::null_mut())
}

/// Keeps the path of a loaded file that may be MPI.
unsafe extern "C" fn look(info: *mut libc::dl_phdr_info, _: usize, paths: *mut c_void) -> c_int {
    // SAFETY: the loader passes a valid description, and our own pointer.
    let (path, paths) = unsafe { ((*info).dlpi_name, &mut *paths.cast::<Vec<CString>>()) };
    if path.is_null() {
        return 0;
    }
    // SAFETY: names of loaded files end with a zero byte.
    let path = unsafe { CStr::from_ptr(path) };
    let file = path.to_bytes().rsplit(|&byte| byte == b'/').next().unwrap_or_default();
    if file.starts_with(b"libmpi") {
        paths.push(path.to_owned());
    }
    0
}

fn of_loaded(path: &CStr, name: &CStr) -> *mut c_void {
    // SAFETY: the path is that of a loaded file; nothing is loaded, and the symbol's name ends with a zero byte.
    unsafe {
        let file = libc::dlopen(path.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD);
        if file.is_null() { ptr::null_mut() } else { libc::dlsym(file, name.as_ptr()) }
    }
}

/// Calls a function of C or Fortran with these arguments; all are numbers or pointers.
///
/// # Safety
/// `function` takes at most as many arguments, each in an integer register or a slot of the stack.
pub unsafe fn invoke(function: *mut c_void, arguments: &[usize]) -> c_int {
    type Six = unsafe extern "C" fn(usize, usize, usize, usize, usize, usize) -> c_int;
    let a = |i: usize| arguments.get(i).copied().unwrap_or(0);
    if arguments.len() <= 6 {
        // SAFETY: further arguments than a function takes are ignored, as the caller cleans up.
        return unsafe {
            let function: Six = std::mem::transmute(function);
            function(a(0), a(1), a(2), a(3), a(4), a(5))
        };
    }
    // SAFETY: as the caller says.
    unsafe { invoke_many(function, a) }
}

/// As [`invoke`], for up to 26 arguments.
unsafe fn invoke_many(function: *mut c_void, a: impl Fn(usize) -> usize) -> c_int {
    type U = usize;
    type Many = unsafe extern "C" fn(
        U,
        U,
        U,
        U,
        U,
        U,
        U,
        U,
        U,
        U,
        U,
        U,
        U,
        U,
        U,
        U,
        U,
        U,
        U,
        U,
        U,
        U,
        U,
        U,
        U,
        U,
    ) -> c_int;
    // SAFETY: as above.
    unsafe {
        let function: Many = std::mem::transmute(function);
        function(
            a(0),
            a(1),
            a(2),
            a(3),
            a(4),
            a(5),
            a(6),
            a(7),
            a(8),
            a(9),
            a(10),
            a(11),
            a(12),
            a(13),
            a(14),
            a(15),
            a(16),
            a(17),
            a(18),
            a(19),
            a(20),
            a(21),
            a(22),
            a(23),
            a(24),
            a(25),
        )
    }
}
