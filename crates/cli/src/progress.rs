//! A progress bar for passes that take long, on a terminal.

use crate::args::Common;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use ouzel::engine::Progress;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::time::Duration;

/// Shorter passes show nothing.
const DELAY: Duration = Duration::from_millis(500);
const REFRESH: Duration = Duration::from_millis(100);

/// Runs `work`, and draws its progress if that is wanted and if it takes longer than half a second. `total_bytes` is only
/// asked if it is.
pub fn with_bar<T>(
    common: &Common,
    total_bytes: impl FnOnce() -> u64,
    work: impl FnOnce(&Progress) -> T,
) -> T {
    if let Some(caller) = &common.outputs.caller {
        return work(&caller.progress);
    }
    let progress = Progress::default();
    if !common.progress {
        return work(&progress);
    }
    let total_bytes = total_bytes();
    std::thread::scope(|scope| {
        let (done, is_done) = mpsc::channel::<()>();
        let seen = &progress;
        scope.spawn(move || draw(seen, total_bytes, &is_done));
        let result = work(&progress);
        drop(done);
        result
    })
}

/// Draws until the other end of `is_done` is dropped, even by a panic.
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

/// A progress callback: takes how many of how many things are done, and returns whether to continue.
pub type Counts<'a> = &'a (dyn Fn(u64, u64) -> bool + Sync);

/// Runs `work`, and draws how many things are done if that is wanted and if it takes longer than half a second.
pub fn with_counts<T>(common: &Common, things: &'static str, work: impl FnOnce(Counts<'_>) -> T) -> T {
    if let Some(caller) = &common.outputs.caller {
        return work(&|_, _| !caller.progress.is_cancelled());
    }
    if !common.progress {
        return work(&|_, _| true);
    }
    let (n_done, n_all) = (AtomicU64::new(0), AtomicU64::new(0));
    let tell = |done: u64, all: u64| {
        n_done.store(done, Ordering::Relaxed);
        n_all.store(all, Ordering::Relaxed);
        true
    };
    std::thread::scope(|scope| {
        let (done, is_done) = mpsc::channel::<()>();
        let seen = || (n_done.load(Ordering::Relaxed), n_all.load(Ordering::Relaxed));
        scope.spawn(move || draw_counts(seen, things, &is_done));
        let result = work(&tell);
        drop(done);
        result
    })
}

/// Draws until the other end of `is_done` is dropped, even by a panic.
fn draw_counts(seen: impl Fn() -> (u64, u64), things: &str, is_done: &mpsc::Receiver<()>) {
    let waits = |time| is_done.recv_timeout(time) == Err(mpsc::RecvTimeoutError::Timeout);
    if !waits(DELAY) {
        return;
    }
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    let template = format!("{{bar:40}} {{percent:>3}} %  {{pos}} of {{len}} {things}  {{eta}} left");
    if let Ok(style) = ProgressStyle::with_template(&template) {
        bar.set_style(style);
    }
    while waits(REFRESH) {
        let (n_done, n_all) = seen();
        bar.set_length(n_all);
        bar.set_position(n_done);
    }
    bar.finish_and_clear();
}
