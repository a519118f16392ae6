//! A pass at work while Python continues: other threads run, Ctrl-C stops it, progress is reported.
//!
//! ```text
//! this thread   ─ waits without the lock, 50 ms ─ signals? progress? ─ waits ─ … ─► result
//! worker        ─ pass ──────────────────────────────────────────────────────────► result
//! ```
//!
//! Law: no work continues after it returns, however it ends; a panic in our code is an error like any other.

use crate::errors;
use crate::selection::Selection;
use ouzel::engine::Progress;
use ouzel::{AskError, Options};
use pyo3::prelude::*;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::Duration;

/// How long Ctrl-C may go unnoticed: below what people feel, above what costs.
const POLL: Duration = Duration::from_millis(50);

/// Runs `work` over `trace` with `selection`.
///
/// # Errors
/// `KeyboardInterrupt` after Ctrl-C, whatever the progress function raises, `OuzelError` if there is no answer.
pub fn run<T: Send>(
    py: Python<'_>,
    trace: &ouzel::Trace,
    selection: &Selection,
    work: impl FnOnce(&Options<'_>) -> Result<T, AskError> + Send,
) -> PyResult<T> {
    let progress = Progress::default();
    let options = selection.options(&progress);
    let total_bytes = trace.event_bytes(&options.filter);
    let tell = || match &selection.progress {
        // A second pass reads the same bytes again.
        Some(function) => function.call1(py, (progress.bytes().min(total_bytes), total_bytes)).map(drop),
        None => Ok(()),
    };
    std::thread::scope(|scope| {
        let (sender, mut receiver) = sync_channel(1);
        let options = &options;
        scope.spawn(move || {
            // The other side waits until the result is there.
            let _ = sender.send(catch_unwind(AssertUnwindSafe(|| work(options))));
        });
        loop {
            let waiting = &mut receiver;
            match py.detach(move || waiting.recv_timeout(POLL)) {
                Ok(result) => {
                    tell()?;
                    let result = result.map_err(|panic| errors::of_panic(&*panic))?;
                    return result.map_err(|error| errors::of_ask(py, &error));
                }
                Err(RecvTimeoutError::Timeout) => {
                    if let Err(error) = py.check_signals().and_then(|()| tell()) {
                        progress.cancel();
                        py.detach(move || drop(receiver.recv()));
                        return Err(error);
                    }
                }
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(errors::OuzelError::new_err("internal error: a pass ended without a result"));
                }
            }
        }
    })
}
