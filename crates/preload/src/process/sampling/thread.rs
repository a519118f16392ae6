//! What a thread needs for its samples, and how its stack is walked.

use super::modules::{self, ModuleTable};
use super::nodes::ProcessPaths;
use super::timer::ThreadTimer;
use framehop::x86_64::{CacheX86_64, UnwindRegsX86_64};
use framehop::{FrameAddress, MustNotAllocateDuringUnwind, Unwinder};
use ouzel_recording::paths::PathId;
use ouzel_recording::stack::{LastStack, OwnFrames, Walk};
use std::arch::asm;
use std::mem::MaybeUninit;
use std::ops::Range;

/// Sorts of calls whose frames in the recorder are kept.
const N_SORTS: usize = 32;

/// Frames of the deepest stack that is walked.
const N_FRAMES_MAX: usize = 16 * 1024;

/// Where a thread is.
#[derive(Debug, Clone, Copy)]
pub struct Registers {
    instruction: u64,
    stack: u64,
    base: u64,
}

impl Registers {
    /// Of the function that this is inlined into.
    #[inline(always)]
    pub fn here() -> Self {
        let (instruction, stack, base): (u64, u64, u64);
        // SAFETY: it reads registers and changes no memory, flags or stack.
        unsafe {
            asm!(
                "lea {0}, [rip]", "mov {1}, rsp", "mov {2}, rbp",
                out(reg) instruction, out(reg) stack, out(reg) base,
                options(nomem, nostack, preserves_flags)
            );
        }
        Registers { instruction, stack, base }
    }

    /// At the beginning of a function.
    pub fn of_entry(function: u64, stack: u64, base: u64) -> Self {
        Registers { instruction: function, stack, base }
    }

    /// As a signal handler finds them.
    ///
    /// # Safety
    /// It is the context that the kernel has passed to the handler.
    pub unsafe fn of_context(context: *const libc::ucontext_t) -> Self {
        // SAFETY: as the caller says.
        let registers = unsafe { &(*context).uc_mcontext.gregs };
        let get = |which: libc::c_int| registers.get(which as usize).map_or(0, |value| value.cast_unsigned());
        Registers { instruction: get(libc::REG_RIP), stack: get(libc::REG_RSP), base: get(libc::REG_RBP) }
    }
}

/// Where a sample was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Walked {
    pub path: PathId,
    /// Frames that are new since the last sample.
    pub n_new: u32,
    /// Whether the stack was walked to its end.
    pub is_complete: bool,
}

/// What a thread keeps between samples.
pub struct ThreadSampler {
    /// Stops when this is dropped, before the rest goes.
    timer: ThreadTimer,
    cache: Box<CacheX86_64<MustNotAllocateDuringUnwind>>,
    last: LastStack,
    /// The recorder's own frames of the last call of each sort.
    own: [OwnFrames; N_SORTS],
    stack: Range<u64>,
    /// The path of the last sample that was written.
    pub written: Option<PathId>,
}

impl ThreadSampler {
    /// For this thread.
    pub fn new(timer: ThreadTimer) -> Self {
        ThreadSampler {
            timer,
            cache: Box::new(CacheX86_64::new_in()),
            last: LastStack::new(N_FRAMES_MAX),
            own: [OwnFrames::default(); N_SORTS],
            stack: own_stack(),
            written: None,
        }
    }

    /// Takes the timer out, for the child of a fork.
    pub fn into_timer(self) -> ThreadTimer {
        self.timer
    }

    /// The path of the program that is interrupted; in the recorder's own functions, that of their call.
    pub fn interrupted(
        &mut self,
        table: &ModuleTable,
        paths: &ProcessPaths,
        at: Registers,
    ) -> Option<Walked> {
        let is_own = table.is_own(at.instruction);
        let (is_complete, n_new) = self.walk(table, at, is_own, None);
        let outer = self.name(table, paths)?;
        if let Some(path) = outer.filter(|_| is_own) {
            return Some(Walked { path, n_new, is_complete });
        }
        let path = paths.intern(outer, table.frame(at.instruction))?;
        Some(Walked { path, n_new: n_new + 1, is_complete })
    }

    /// The path of the program that has called the recorder: its innermost frame is that of the call. Calls of one sort
    /// mostly come the same way.
    pub fn called(
        &mut self,
        table: &ModuleTable,
        paths: &ProcessPaths,
        (at, sort): (Registers, Option<u32>),
    ) -> Option<Walked> {
        let sort = sort.map(|sort| sort as usize % N_SORTS);
        if let Some(path) = sort.and_then(|sort| self.unchanged(at, sort)) {
            return Some(Walked { path, n_new: 0, is_complete: true });
        }
        let (is_complete, n_new) = self.walk(table, at, true, sort);
        let path = self.name(table, paths)??;
        Some(Walked { path, n_new, is_complete })
    }

    /// The path of the last sample, if the program is still where it was.
    fn unchanged(&mut self, at: Registers, sort: usize) -> Option<PathId> {
        if !self.stack.contains(&at.stack) {
            return None;
        }
        let used = StackInUse { start: at.stack, end: self.stack.end };
        let place = self.own[sort].place(at.instruction, at.stack, |place| used.read(place))?;
        self.last.begin(at.stack, |place| used.read(place));
        self.last.ends_with(place, used.read(place)?)
    }

    fn name(&mut self, table: &ModuleTable, paths: &ProcessPaths) -> Option<Option<PathId>> {
        // The call is in front of the address that it returns to.
        self.last.name(|outer, address| paths.intern(outer, table.frame(address.wrapping_sub(1))))
    }

    /// Walks the stack as far as it has changed; whether its end is known, and how many frames are new. The recorder's are
    /// not counted: calling contexts do not have them.
    fn walk(
        &mut self,
        table: &ModuleTable,
        at: Registers,
        skips_own: bool,
        sort: Option<usize>,
    ) -> (bool, u32) {
        let used = StackInUse { start: at.stack, end: self.stack.end };
        if !self.stack.contains(&at.stack) {
            // A stack of the program's own making, whose limits nobody knows.
            self.last.reached_end();
            return (false, 0);
        }
        self.last.begin(at.stack, |place| used.read(place));
        let mut registers = UnwindRegsX86_64::new(at.instruction, at.stack, at.base);
        let mut address = FrameAddress::from_instruction_pointer(at.instruction);
        let mut n_new = 0;
        let mut own = OwnFrames::at(at.instruction);
        let mut is_in_own = skips_own;
        loop {
            let mut read_word = |place: u64| used.read(place).ok_or(());
            let found = table.unwinder.unwind_frame(address, &mut registers, &mut self.cache, &mut read_word);
            let Ok(Some(return_address)) = found else {
                self.last.reached_end();
                return (found.is_ok(), n_new);
            };
            let Some(next) = FrameAddress::from_return_address(return_address) else {
                self.last.reached_end();
                return (true, n_new);
            };
            address = next;
            let is_own = table.is_own(return_address);
            let place = registers.sp().wrapping_sub(8);
            if is_in_own {
                let distance = place.wrapping_sub(at.stack);
                if is_own {
                    own.push(distance, return_address);
                    continue;
                }
                is_in_own = false;
                own.end(distance);
                sort.into_iter().for_each(|sort| self.own[sort] = own);
            }
            match self.last.step(place, return_address) {
                Walk::Further => n_new += u32::from(!is_own),
                Walk::Known => return (true, n_new),
                Walk::TooDeep => {
                    self.last.reached_end();
                    return (false, n_new);
                }
            }
        }
    }
}

/// The part of this thread's stack that is in use.
#[derive(Debug, Clone, Copy)]
struct StackInUse {
    start: u64,
    end: u64,
}

impl StackInUse {
    /// What is at a place; `None` outside.
    #[inline(always)]
    fn read(self, place: u64) -> Option<u64> {
        let is_inside = (self.start..=self.end - 8).contains(&place) && place.is_multiple_of(8);
        // SAFETY: it is on this thread's own stack, between what is in use and its end.
        is_inside.then(|| unsafe { (place as *const u64).read_volatile() })
    }
}

/// The limits of this thread's stack. The first thread's grows: what counts is its upper end.
fn own_stack() -> Range<u64> {
    let mut attributes = MaybeUninit::<libc::pthread_attr_t>::uninit();
    // SAFETY: the attributes are filled in by the first call, and destroyed by the last.
    unsafe {
        if libc::pthread_getattr_np(libc::pthread_self(), attributes.as_mut_ptr()) != 0 {
            return 0..0;
        }
        let (mut start, mut n_bytes) = (std::ptr::null_mut(), 0);
        let found = libc::pthread_attr_getstack(attributes.as_ptr(), &raw mut start, &raw mut n_bytes);
        libc::pthread_attr_destroy(attributes.as_mut_ptr());
        let start = start.addr() as u64;
        if found == 0 { start..start + n_bytes as u64 } else { 0..0 }
    }
}

/// Reads the table for one walk.
pub fn with_table<R>(read: impl FnOnce(&ModuleTable) -> Option<R>) -> Option<R> {
    modules::with_table(read).flatten()
}
