//! What changes while a page is open, numbered, so that it can wait for more.

use serde_json::{Value, json};
use std::sync::{Mutex, PoisonError};
use tokio::sync::watch;

/// What is known by now.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Known {
    /// Rows whose tiles are complete.
    pub n_done: usize,
    /// All rows.
    pub n_all: usize,
    /// Of each block of rows, how often one of them changed: its tiles change when this does.
    pub n_changes_of_blocks: Vec<usize>,
    /// Whether nothing more will come.
    pub is_complete: bool,
    /// Call paths that have a number.
    pub n_call_paths: usize,
    /// The end of the run as far as known.
    pub end_ns: u64,
    /// Nanoseconds of a bin of the finest level.
    pub bin0_ns: f64,
    /// Levels of tiles.
    pub n_levels: u32,
    /// The finest level that all rows have. Tiles of it and of coarser ones stay as they are when the pass is over.
    pub finest_of_all: u32,
    /// How often all rows were taken back: what a page has of them is of another trace.
    pub n_taken_back: usize,
    /// What went wrong: texts for people.
    pub notices: Vec<String>,
}

/// The news of one run.
#[derive(Debug)]
pub(crate) struct News {
    known: Mutex<Known>,
    generation: watch::Sender<u64>,
}

impl Default for News {
    fn default() -> Self {
        News { known: Mutex::default(), generation: watch::Sender::new(1) }
    }
}

impl News {
    /// Changes what is known, and wakes who waits.
    pub fn change(&self, change: impl FnOnce(&mut Known)) {
        change(&mut self.known.lock().unwrap_or_else(PoisonError::into_inner));
        self.generation.send_modify(|generation| *generation += 1);
    }

    /// What is known.
    pub fn known(&self) -> Known {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The document about it.
    pub fn now(&self) -> Value {
        let generation = *self.generation.borrow();
        let Known {
            n_done,
            n_all,
            n_changes_of_blocks,
            is_complete,
            n_call_paths,
            end_ns,
            bin0_ns,
            n_levels,
            finest_of_all,
            n_taken_back,
            notices,
        } = self.known();
        json!({
            "generation": generation,
            "tiles": {
                "done": n_done, "total": n_all, "complete": is_complete, "bin0_ns": bin0_ns, "n_levels": n_levels,
                "blocks": n_changes_of_blocks, "finest": finest_of_all, "taken_back": n_taken_back,
            },
            "time_ns": [0, end_ns],
            "call_paths_known": n_call_paths,
            "notices": notices.iter().map(|message| {
                json!({"level": "medium", "code": "timeline", "message": message, "count": 1})
            }).collect::<Vec<_>>(),
        })
    }

    /// Waits until there is something newer than `since`.
    pub async fn wait(&self, since: u64) {
        // The sender lives as long as this does.
        let _ = self.generation.subscribe().wait_for(|&generation| since < generation).await;
    }

    /// Waits until what is known `is` so.
    pub async fn wait_until(&self, is: impl Fn(&Known) -> bool) {
        let mut generation = self.generation.subscribe();
        // The sender lives as long as this does.
        while !is(&self.known.lock().unwrap_or_else(PoisonError::into_inner)) {
            let _ = generation.changed().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn who_waits_for_a_state_is_woken_when_it_is_there_and_not_before() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let news = Arc::<News>::default();
        let other = Arc::clone(&news);
        let (seen, changed) = runtime.block_on(async move {
            let waits = tokio::spawn({
                let news = Arc::clone(&other);
                async move {
                    news.wait_until(|known| known.n_done == 2).await;
                    news.known().n_done
                }
            });
            tokio::task::yield_now().await;
            other.change(|known| known.n_done = 1);
            tokio::task::yield_now().await;
            let is_early = waits.is_finished();
            other.change(|known| known.n_done = 2);
            (waits.await.unwrap(), is_early)
        });
        assert_eq!((seen, changed), (2, false));
        // What is so already is not waited for.
        runtime.block_on(news.wait_until(|known| known.n_done == 2));
    }
}
