//! How the process ends early, by a signal or by a thread that says so: first what is unfinished is removed.
//!
//! Law: whom a signal ends, it ends as that signal, so that a shell sees 130 or 143 and a batch system what it sent. A signal that
//! is ignored, as `nohup` and background jobs have it, stays ignored. Programs that own their process ask for this;
//! a library in somebody else's (Python) does not.

use crate::unfinished;
use std::sync::atomic::{AtomicBool, Ordering};

static IS_ENDING: AtomicBool = AtomicBool::new(false);

/// Ends the process with an exit code, from any thread, once what is unfinished is removed and `say` has said why.
pub fn end_process(code: i32, say: impl FnOnce()) -> ! {
    IS_ENDING.store(true, Ordering::SeqCst);
    // It stays locked, so that nothing begins or is completed any more.
    let mut unfinished = unfinished::lock();
    unfinished.remove_all();
    say();
    std::process::exit(code)
}

/// Does not return if the process is about to end: errors that come of removed files are no news.
pub fn wait_if_ending() {
    while IS_ENDING.load(Ordering::SeqCst) {
        std::thread::park();
    }
}

#[cfg(unix)]
mod unix {
    use super::IS_ENDING;
    use crate::unfinished;
    use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGXCPU, SIGXFSZ};
    use signal_hook::iterator::Signals;
    use std::io;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    /// What users, terminals and batch systems end programs with.
    const ENDING: [i32; 5] = [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGXCPU];

    /// From now on a signal that ends this process removes first what is unfinished.
    ///
    /// A file that grows over its limit (`ulimit -f`) is an error of writing and no longer the end of the process.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn remove_on_signals() -> io::Result<()> {
        signal_hook::flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)))?;
        let ignored = ignored();
        let mut signals = Signals::new(ENDING.into_iter().filter(|&signal| !is_in(ignored, signal)))?;
        std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
            for signal in signals.forever() {
                IS_ENDING.store(true, Ordering::SeqCst);
                // It stays locked, so that nothing begins or is completed any more.
                let mut unfinished = unfinished::lock();
                unfinished.remove_all();
                // As this ends the process, it returns only from what does not.
                let _ = signal_hook::low_level::emulate_default_handler(signal);
            }
        })?;
        Ok(())
    }

    fn is_in(set: u64, signal: i32) -> bool {
        set >> (signal - 1) & 1 == 1
    }

    /// The set of ignored signals, as far as the system tells it.
    fn ignored() -> u64 {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let set = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
        set.and_then(|digits| u64::from_str_radix(digits.trim(), 16).ok()).unwrap_or(0)
    }
}

#[cfg(not(unix))]
mod other {
    /// Does nothing: there are no signals.
    ///
    /// # Errors
    /// None.
    pub fn remove_on_signals() -> std::io::Result<()> {
        Ok(())
    }
}

#[cfg(not(unix))]
pub use other::remove_on_signals;
#[cfg(unix)]
pub use unix::remove_on_signals;
