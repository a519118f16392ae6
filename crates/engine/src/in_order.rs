//! Work that several threads share, with its results in order.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{Builder, scope};

/// What `of` gives for each number below `n`, in order, found by at most so many threads. A panic is passed on.
pub fn in_order<R: Send>(n_threads: NonZeroUsize, n: usize, of: impl Fn(usize) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let work = || {
        let numbers =
            std::iter::repeat_with(|| next.fetch_add(1, Ordering::Relaxed)).take_while(|nth| *nth < n);
        numbers.map(|nth| (nth, of(nth))).collect::<Vec<_>>()
    };
    let mut all = scope(|scope| {
        // Where no more threads may be begun, there are fewer.
        let begin = |_| Builder::new().spawn_scoped(scope, work).ok();
        let others: Vec<_> = (1..n_threads.get().min(n)).filter_map(begin).collect();
        let mut all = work();
        for other in others {
            all.extend(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        all
    });
    all.sort_unstable_by_key(|(nth, _)| *nth);
    all.into_iter().map(|(_, found)| found).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_order_whoever_finds_them() {
        let squares: Vec<usize> = (0..1000).map(|it| it * it).collect();
        for n_threads in [1, 2, 7] {
            let n_threads = NonZeroUsize::new(n_threads).unwrap();
            assert_eq!(in_order(n_threads, squares.len(), |it| it * it), squares);
            assert_eq!(in_order(n_threads, 0, |it| it), []);
        }
    }

    #[test]
    #[should_panic(expected = "the fifth")]
    fn a_panic_is_passed_on() {
        in_order(NonZeroUsize::new(3).unwrap(), 9, |it| assert_ne!(it, 5, "the fifth"));
    }
}
