//! How the process ends early, by a signal or at the request of a thread: unfinished files are removed first.
//!
//! Law: a process ended by a signal reports that signal, so that a shell sees 130 or 143 and a batch system what it
//! sent. A signal that is ignored, as with `nohup` and background jobs, stays ignored. Programs that own their process
//! enable this; a library in another program (Python) does not.

use crate::unfinished;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

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

/// While another program runs in the place of this one, it gets the signals that would end this one.
#[derive(Debug)]
pub struct PassedSignals(());

/// From now on signals go to a child, until what is returned is dropped.
#[must_use]
pub fn pass_signals_to(pid: u32) -> PassedSignals {
    PASSED_TO.store(pid, Ordering::SeqCst);
    PassedSignals(())
}

impl Drop for PassedSignals {
    fn drop(&mut self) {
        PASSED_TO.store(0, Ordering::SeqCst);
    }
}

/// The process that gets the signals, or 0.
static PASSED_TO: AtomicU32 = AtomicU32::new(0);

#[cfg(unix)]
mod unix {
    use super::{IS_ENDING, PASSED_TO};
    use crate::unfinished;
    use rustix::process::{Pid, Signal, getpgrp, kill_process};
    use rustix::termios::tcgetpgrp;
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
                let pid = PASSED_TO.load(Ordering::SeqCst);
                if pid != 0 {
                    pass(pid, signal);
                    continue;
                }
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

    /// Passes a signal on, unless it comes from the terminal, which sends it to all processes in front.
    fn pass(pid: u32, signal: i32) {
        let is_of_terminal = matches!(signal, SIGINT | SIGQUIT) && is_in_front();
        let target = i32::try_from(pid).ok().and_then(Pid::from_raw);
        if let (false, Some(target), Some(signal)) = (is_of_terminal, target, Signal::from_named_raw(signal))
        {
            // It may have ended meanwhile.
            let _ = kill_process(target, signal);
        }
    }

    fn is_in_front() -> bool {
        let terminal = std::fs::File::open("/dev/tty");
        terminal.is_ok_and(|terminal| tcgetpgrp(&terminal).is_ok_and(|group| group == getpgrp()))
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
