//! Who goes first where processors are few: questions and the browser, then the pass.

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
