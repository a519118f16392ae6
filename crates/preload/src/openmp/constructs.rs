//! What threads of a team do: share work, wait for each other, exclude each other.
//!
//! Law: a region is left by the call that ends its construct. One construct has no such call: what the thread that runs a
//! `single` does ends with its next barrier or shared work.

use super::locks::{acquired, released};
use super::sites::{self, Site};
use super::{RecordedUse, close, close_single, enter, leave, open};
use crate::next;
use crate::process::Process;
use ouzel_recording::openmp::Construct;
use std::arch::naked_asm;
use std::ffi::{CStr, c_int};

/// What a wrapper gets: the function's name, the address that it returns to, and the program's arguments.
struct Use<'a> {
    name: &'static CStr,
    caller: usize,
    arguments: &'a [usize],
}

impl Use<'_> {
    /// Calls the real function, with something recorded around it.
    unsafe fn around(
        &self,
        before: impl FnOnce(&'static Process, &'static Site),
        after: impl FnOnce(&'static Process, &'static Site, c_int),
    ) -> c_int {
        let Some(site) = sites::site_of_call(self.name, self.caller) else { return 0 };
        let recorded = RecordedUse::begin();
        if let Some(recorded) = &recorded {
            before(recorded.process, site);
        }
        // SAFETY: the program's arguments.
        let result = unsafe { next::invoke(site.real, self.arguments) };
        if let Some(recorded) = &recorded {
            after(recorded.process, site, result);
        }
        result
    }

    /// A construct that is this one call.
    unsafe fn waits(&self, construct: Construct) -> c_int {
        let before = |process, site: &'static Site| {
            close_single(process);
            enter(process, site.region(process, construct));
        };
        // SAFETY: as the caller says.
        unsafe { self.around(before, |process, site, _| leave(process, site.region(process, construct))) }
    }

    /// Work is shared from here on.
    unsafe fn shares(&self, construct: Construct) -> c_int {
        let before = |process, site: &'static Site| {
            close_single(process);
            open(process, construct, site.region(process, construct));
        };
        // SAFETY: as the caller says.
        unsafe { self.around(before, |_, _, _| ()) }
    }

    /// Shared work ends, after a barrier or not.
    unsafe fn ends(&self, construct: Construct, has_barrier: bool) -> c_int {
        let before = |process, site: &'static Site| {
            if has_barrier {
                enter(process, site.region(process, Construct::ImplicitBarrier));
            }
        };
        let after = |process, site: &'static Site, _| {
            if has_barrier {
                leave(process, site.region(process, Construct::ImplicitBarrier));
            }
            close(process, construct);
        };
        // SAFETY: as the caller says.
        unsafe { self.around(before, after) }
    }

    /// The thread for which the runtime says so runs a block.
    unsafe fn single(&self) -> c_int {
        let before = |process, _| close_single(process);
        let after = |process, site: &'static Site, result: c_int| {
            // A C `bool`: only its byte is defined.
            if result & 0xff != 0 {
                open(process, Construct::Single, site.region(process, Construct::Single));
            }
        };
        // SAFETY: as the caller says.
        unsafe { self.around(before, after) }
    }

    /// One thread after the other runs a block.
    unsafe fn excludes(&self, (construct, block): (Construct, Construct), address: Option<usize>) -> c_int {
        let before = |process, site: &'static Site| {
            open(process, construct, site.region(process, construct));
        };
        let after = |process, site: &'static Site, _| {
            if let Some(address) = address {
                acquired(process, address);
            }
            open(process, block, site.region(process, block));
        };
        // SAFETY: as the caller says.
        unsafe { self.around(before, after) }
    }

    /// Such a block ends.
    unsafe fn admits(&self, (construct, block): (Construct, Construct), address: Option<usize>) -> c_int {
        let before = |process, _| {
            close(process, block);
            if let Some(address) = address {
                released(process, address);
            }
        };
        // SAFETY: as the caller says.
        unsafe { self.around(before, |process, _, _| close(process, construct)) }
    }

    /// The program acquires a lock of its own.
    unsafe fn set_lock(&self) -> c_int {
        let before = |process, site: &'static Site| enter(process, site.region(process, Construct::SetLock));
        let after = |process, site: &'static Site, _| {
            acquired(process, self.arguments[0]);
            leave(process, site.region(process, Construct::SetLock));
        };
        // SAFETY: as the caller says.
        unsafe { self.around(before, after) }
    }

    /// It gives it back.
    unsafe fn unset_lock(&self) -> c_int {
        // SAFETY: as the caller says.
        unsafe { self.around(|process, _| released(process, self.arguments[0]), |_, _, _| ()) }
    }
}

/// Wrappers: each passes the address that it returns to behind the program's arguments, whose number says how.
macro_rules! wrap {
    ($($count:tt $name:ident $doing:expr;)*) => {$(wrap!(@ $count $name $doing);)*};
    (@ 0 $name:ident $doing:expr) => { wrap!(# $name ("mov rdi, [rsp]", "jmp {0}"), (), $doing); };
    (@ 1 $name:ident $doing:expr) => { wrap!(# $name ("mov rsi, [rsp]", "jmp {0}"), (a), $doing); };
    (@ 3 $name:ident $doing:expr) => { wrap!(# $name ("mov rcx, [rsp]", "jmp {0}"), (a, b, c), $doing); };
    (@ 4 $name:ident $doing:expr) => { wrap!(# $name ("mov r8, [rsp]", "jmp {0}"), (a, b, c, d), $doing); };
    (@ 5 $name:ident $doing:expr) => { wrap!(# $name ("mov r9, [rsp]", "jmp {0}"), (a, b, c, d, e), $doing); };
    (@ 6 $name:ident $doing:expr) => {
        wrap!(# $name (
            // One more argument, on the stack.
            "push qword ptr [rsp]", "call {0}", "add rsp, 8", "ret"
        ), (a, b, c, d, e, f), $doing);
    };
    (@ 7 $name:ident $doing:expr) => {
        wrap!(# $name (
            // The seventh argument once more, and behind it the address.
            "sub rsp, 8", "push qword ptr [rsp + 8]", "push qword ptr [rsp + 24]", "call {0}", "add rsp, 24", "ret"
        ), (a, b, c, d, e, f, g), $doing);
    };
    (# $name:ident ($($line:literal),*), ($($argument:ident),*), $doing:expr) => {
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        unsafe extern "C-unwind" fn $name() {
            extern "C-unwind" fn target($($argument: usize,)* caller: usize) -> c_int {
                const NAME: &CStr = match CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                    Ok(name) => name,
                    Err(_) => c"",
                };
                let doing: unsafe fn(&Use<'_>) -> c_int = $doing;
                // SAFETY: the arguments of the program, as many as the function takes.
                unsafe { doing(&Use { name: NAME, caller, arguments: &[$($argument),*] }) }
            }
            naked_asm!($($line,)* sym target)
        }
    };
}

/// Criticals and what is inside of them.
pub const CRITICAL: (Construct, Construct) = (Construct::Critical, Construct::CriticalBlock);
/// The same of blocks in the order of iterations.
pub const ORDERED: (Construct, Construct) = (Construct::Ordered, Construct::OrderedBlock);

/// What wrappers do. Each gets arguments of the program for its real function.
///
/// # Safety
/// They are those that the function takes.
mod doing {
    use super::super::locks::UNNAMED;
    use super::{CRITICAL, Construct, ORDERED, Use, c_int};

    macro_rules! doing {
        ($($name:ident |$used:ident| $body:expr;)*) => {$(
            pub unsafe fn $name($used: &Use<'_>) -> c_int {
                // SAFETY: as the caller says.
                unsafe { $body }
            }
        )*};
    }

    doing! {
        barrier |it| it.waits(Construct::Barrier);
        taskwait |it| it.waits(Construct::TaskWait);
        taskgroup_end |it| it.waits(Construct::TaskGroup);
        loop_start |it| it.shares(Construct::Loop);
        loop_end |it| it.ends(Construct::Loop, true);
        loop_end_nowait |it| it.ends(Construct::Loop, false);
        sections_start |it| it.shares(Construct::Sections);
        sections_end |it| it.ends(Construct::Sections, true);
        sections_end_nowait |it| it.ends(Construct::Sections, false);
        single |it| it.single();
        critical_start |it| it.excludes(CRITICAL, Some(UNNAMED));
        critical_end |it| it.admits(CRITICAL, Some(UNNAMED));
        critical_name_start |it| it.excludes(CRITICAL, it.arguments.first().copied());
        critical_name_end |it| it.admits(CRITICAL, it.arguments.first().copied());
        critical_third_start |it| it.excludes(CRITICAL, it.arguments.get(2).copied());
        critical_third_end |it| it.admits(CRITICAL, it.arguments.get(2).copied());
        ordered_start |it| it.excludes(ORDERED, None);
        ordered_end |it| it.admits(ORDERED, None);
        set_lock |it| it.set_lock();
        unset_lock |it| it.unset_lock();
    }
}

mod wrappers {
    use super::{CStr, Use, c_int, doing, naked_asm};

    wrap! {
        0 GOMP_barrier doing::barrier;
        0 GOMP_taskwait doing::taskwait;
        1 GOMP_taskwait_depend doing::taskwait;
        0 GOMP_taskgroup_end doing::taskgroup_end;
        0 GOMP_single_start doing::single;
        0 GOMP_critical_start doing::critical_start;
        0 GOMP_critical_end doing::critical_end;
        1 GOMP_critical_name_start doing::critical_name_start;
        1 GOMP_critical_name_end doing::critical_name_end;
        3 __kmpc_critical doing::critical_third_start;
        4 __kmpc_critical_with_hint doing::critical_third_start;
        3 __kmpc_end_critical doing::critical_third_end;
        0 GOMP_ordered_start doing::ordered_start;
        0 GOMP_ordered_end doing::ordered_end;
        1 GOMP_sections_start doing::sections_start;
        0 GOMP_sections_end doing::sections_end;
        0 GOMP_sections_end_nowait doing::sections_end_nowait;
        0 GOMP_loop_end doing::loop_end;
        0 GOMP_loop_end_nowait doing::loop_end_nowait;
        6 GOMP_loop_static_start doing::loop_start;
        6 GOMP_loop_dynamic_start doing::loop_start;
        6 GOMP_loop_guided_start doing::loop_start;
        5 GOMP_loop_runtime_start doing::loop_start;
        6 GOMP_loop_nonmonotonic_dynamic_start doing::loop_start;
        6 GOMP_loop_nonmonotonic_guided_start doing::loop_start;
        5 GOMP_loop_nonmonotonic_runtime_start doing::loop_start;
        5 GOMP_loop_maybe_nonmonotonic_runtime_start doing::loop_start;
        6 GOMP_loop_ordered_static_start doing::loop_start;
        6 GOMP_loop_ordered_dynamic_start doing::loop_start;
        6 GOMP_loop_ordered_guided_start doing::loop_start;
        5 GOMP_loop_ordered_runtime_start doing::loop_start;
        7 GOMP_loop_ull_static_start doing::loop_start;
        7 GOMP_loop_ull_dynamic_start doing::loop_start;
        7 GOMP_loop_ull_guided_start doing::loop_start;
        6 GOMP_loop_ull_runtime_start doing::loop_start;
        7 GOMP_loop_ull_nonmonotonic_dynamic_start doing::loop_start;
        7 GOMP_loop_ull_nonmonotonic_guided_start doing::loop_start;
        6 GOMP_loop_ull_nonmonotonic_runtime_start doing::loop_start;
        6 GOMP_loop_ull_maybe_nonmonotonic_runtime_start doing::loop_start;
        7 GOMP_loop_ull_ordered_static_start doing::loop_start;
        7 GOMP_loop_ull_ordered_dynamic_start doing::loop_start;
        7 GOMP_loop_ull_ordered_guided_start doing::loop_start;
        6 GOMP_loop_ull_ordered_runtime_start doing::loop_start;
        1 omp_set_lock doing::set_lock;
        1 omp_set_lock_ doing::set_lock;
        1 omp_unset_lock doing::unset_lock;
        1 omp_unset_lock_ doing::unset_lock;
    }
}
