//! Whether this thread is inside of the recorder or of a recorded function.
//!
//! Law: only the outermost call is recorded, so that what MPI does by its own functions is not counted twice.

use std::cell::Cell;
use std::sync::atomic::{Ordering, compiler_fence};

thread_local! {
    // Without a destructor, so that it can be used while a thread ends.
    static DEPTH: Cell<u32> = const { Cell::new(0) };
}

/// The outermost call, until it is dropped.
pub struct Outermost(());

impl Outermost {
    /// None inside of another one.
    pub fn enter() -> Option<Self> {
        DEPTH.with(|depth| {
            (depth.get() == 0).then(|| {
                depth.set(1);
                // A signal handler on this thread sees the depth before what is done inside.
                compiler_fence(Ordering::SeqCst);
                Outermost(())
            })
        })
    }
}

/// Whether this thread is inside of the recorder or of a recorded function.
pub fn is_inside() -> bool {
    DEPTH.with(Cell::get) != 0
}

/// This thread is inside of the recorder from now on; whether it was before.
pub fn hold() -> bool {
    let was_inside = DEPTH.with(|depth| depth.replace(1)) != 0;
    compiler_fence(Ordering::SeqCst);
    was_inside
}

/// This thread is in the program from now on, which a recorded function has called back.
pub fn release() {
    compiler_fence(Ordering::SeqCst);
    DEPTH.with(|depth| depth.set(0));
}

impl Drop for Outermost {
    fn drop(&mut self) {
        compiler_fence(Ordering::SeqCst);
        DEPTH.with(|depth| depth.set(0));
    }
}
