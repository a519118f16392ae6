//! Who goes first where processors are few: tiles and the browser, then what takes a pass.

use std::io;
use std::panic::resume_unwind;
use std::thread;

/// Lets other threads and programs go before this thread and those that it starts.
pub(crate) fn behind_others() {
    // Elsewhere it would be all threads of the program.
    #[cfg(target_os = "linux")]
    {
        const BEHIND: i32 = 10;
        // Where it is not allowed, all go side by side.
        let _ = rustix::process::setpriority_process(None, BEHIND);
    }
}

/// Does `work` behind others, on a thread of its own: one that has let others go first never catches up.
///
/// # Errors
/// If the system has no thread left.
pub(crate) fn done_behind_others<T: Send>(work: impl FnOnce() -> T + Send) -> io::Result<T> {
    let work = || {
        behind_others();
        work()
    };
    thread::scope(|scope| {
        let thread = thread::Builder::new().name("question".to_owned()).spawn_scoped(scope, work)?;
        Ok(thread.join().unwrap_or_else(|panic| resume_unwind(panic)))
    })
}
