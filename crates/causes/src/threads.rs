//! Questions answered by several threads.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The answers to questions 0 to n, in order, from `jobs` threads.
pub(crate) fn in_order<T: Send>(n: usize, jobs: NonZeroUsize, answer: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let n_threads = jobs.get().min(n);
    if n_threads <= 1 {
        return (0..n).map(answer).collect();
    }
    let next = AtomicUsize::new(0);
    let work = || {
        let mut answers = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            if at >= n {
                return answers;
            }
            answers.push((at, answer(at)));
        }
    };
    let mut answers: Vec<(usize, T)> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..n_threads).map(|_| scope.spawn(work)).collect();
        let done = threads.into_iter().map(std::thread::ScopedJoinHandle::join);
        done.flat_map(|answers| answers.unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
    });
    answers.sort_unstable_by_key(|(at, _)| *at);
    answers.into_iter().map(|(_, answer)| answer).collect()
}
