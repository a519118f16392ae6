//! A progress bar for passes that take long, on a terminal.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use ouzel::engine::Progress;
use std::sync::mpsc;
use std::time::Duration;

/// Shorter passes show nothing.
const DELAY: Duration = Duration::from_millis(500);
const REFRESH: Duration = Duration::from_millis(100);

/// Runs `work`, and draws how far it is if `wanted` and if it takes longer than half a second.
pub fn with_bar<T>(wanted: bool, total_bytes: u64, work: impl FnOnce(&Progress) -> T) -> T {
    let progress = Progress::default();
    if !wanted {
        return work(&progress);
    }
    std::thread::scope(|scope| {
        let (done, is_done) = mpsc::channel::<()>();
        let seen = &progress;
        scope.spawn(move || draw(seen, total_bytes, &is_done));
        let result = work(&progress);
        drop(done);
        result
    })
}

/// Draws until the other end of `is_done` goes away, be it by a panic.
fn draw(progress: &Progress, total_bytes: u64, is_done: &mpsc::Receiver<()>) {
    let waits = |time| is_done.recv_timeout(time) == Err(mpsc::RecvTimeoutError::Timeout);
    if !waits(DELAY) {
        return;
    }
    let bar = ProgressBar::with_draw_target(Some(total_bytes), ProgressDrawTarget::stderr());
    let style = ProgressStyle::with_template(
        "{bar:40} {percent:>3} %  {bytes}/{total_bytes}  {bytes_per_sec}  {eta} left",
    );
    if let Ok(style) = style {
        bar.set_style(style);
    }
    while waits(REFRESH) {
        bar.set_position(progress.bytes());
    }
    bar.finish_and_clear();
}
