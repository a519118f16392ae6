//! How the process ends early, by a signal or at the request of a thread: unfinished files are removed first.
//!
//! Law: a process ended by a signal reports that signal, so that a shell sees 130 or 143 and a batch system what it
//! sent. A signal that is ignored, as with `nohup` and background jobs, stays ignored. Programs that own their process
//! enable this; a library in another program (Python) does not.

use crate::unfinished;
use std::sync::atomic::{AtomicBool, Ordering};

static IS_ENDING: AtomicBool = AtomicBool::new(false);

/// Ends the process with an exit code, from any thread, after removing unfinished files and calling `say`.
pub fn end_process(code: i32, say: impl FnOnce()) -> ! {
    IS_ENDING.store(true, Ordering::SeqCst);
    // It stays locked, so that nothing begins or is completed after this.
    let mut unfinished = unfinished::lock();
    unfinished.remove_all();
    say();
    std::process::exit(code)
}

/// Does not return if the process is about to end: errors from removed files need no report.
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

    /// The signals by which users, terminals and batch systems end programs.
    const ENDING: [i32; 5] = [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGXCPU];

    /// From now on a signal that ends this process first removes unfinished files.
    ///
    /// A file that exceeds its size limit (`ulimit -f`) is a write error and no longer ends the process.
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
                // It stays locked, so that nothing begins or is completed after this.
                let mut unfinished = unfinished::lock();
                unfinished.remove_all();
                // This ends the process; it returns only for signals that do not.
                let _ = signal_hook::low_level::emulate_default_handler(signal);
            }
        })?;
        Ok(())
    }

    fn is_in(set: u64, signal: i32) -> bool {
        set >> (signal - 1) & 1 == 1
    }

    /// The set of ignored signals, as far as the system reports it.
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
