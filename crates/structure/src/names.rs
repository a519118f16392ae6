//! Names of functions: as the source has them, and those that never return.

use addr2line::demangle_auto;
use std::borrow::Cow;

/// The name that a function has in its source: compilers mark parts and copies of it.
pub(crate) fn in_source(name: &str) -> String {
    let marks = [".constprop.", ".isra.", ".part.", ".cold", ".lto_priv."];
    let first = marks.iter().filter_map(|mark| name.find(mark)).min();
    // A version of a library's function.
    let name = name[..first.unwrap_or(name.len())].split('@').next().unwrap_or(name);
    demangle_auto(Cow::Borrowed(name), None).into_owned()
}

/// Functions of the C, C++ and Fortran libraries, of MPI and OpenMP's runtime that never come back to their callers.
const NEVER: [&str; 43] = [
    "abort",
    "exit",
    "_exit",
    "_Exit",
    "quick_exit",
    "pthread_exit",
    "thrd_exit",
    "longjmp",
    "_longjmp",
    "siglongjmp",
    "__longjmp_chk",
    "__assert_fail",
    "__assert_perror_fail",
    "__assert",
    "__stack_chk_fail",
    "__fortify_fail",
    "__chk_fail",
    "__libc_fatal",
    "__libc_start_main",
    "err",
    "errx",
    "verr",
    "verrx",
    "MPI_Abort",
    "_Unwind_Resume",
    "__cxa_throw",
    "__cxa_rethrow",
    "__cxa_bad_cast",
    "__cxa_bad_typeid",
    "__cxa_throw_bad_array_new_length",
    "__cxa_pure_virtual",
    "_ZSt9terminatev",
    "__clang_call_terminate",
    "_gfortran_stop_string",
    "_gfortran_stop_numeric",
    "_gfortran_error_stop_string",
    "_gfortran_error_stop_numeric",
    "_gfortran_runtime_error",
    "_gfortran_runtime_error_at",
    "_gfortran_os_error",
    "_gfortran_os_error_at",
    "rust_begin_unwind",
    "__stack_chk_fail_local",
];

/// Whether a function's name, as symbols have it, is that of one that never comes back.
pub(crate) fn never_returns(name: &str) -> bool {
    let name = name.split('@').next().unwrap_or(name);
    NEVER.contains(&name) || name.starts_with("_ZSt") && name.contains("__throw_")
}
