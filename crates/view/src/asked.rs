//! Answers that were given before, so that views that show the same selection share one pass.

use crate::run::{Ask, Refusal};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Most bytes of answers that are kept: some hundred of the usual size.
const MOST_BYTES: usize = 64 << 20;

/// The newest answers, by the text of their question.
#[derive(Debug, Default)]
pub(crate) struct AskedBefore {
    answers: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    n_asked: u64,
    n_bytes: usize,
    /// Each with when it was last asked.
    answers: BTreeMap<String, (u64, Arc<[u8]>)>,
}

impl AskedBefore {
    /// The answer that was given before, or that of `answer`. Refusals are not kept: a disk may come back.
    pub fn answer(
        &self,
        ask: &Ask,
        answer: impl FnOnce() -> Result<Vec<u8>, Refusal>,
    ) -> Result<Arc<[u8]>, Refusal> {
        let key = serde_json::to_string(ask).map_err(|error| Refusal::Question(error.to_string()))?;
        if let Some(known) = self.lock().get(&key) {
            return Ok(known);
        }
        let bytes: Arc<[u8]> = answer()?.into();
        self.lock().put(key, Arc::clone(&bytes));
        Ok(bytes)
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    fn get(&mut self, key: &str) -> Option<Arc<[u8]>> {
        let (last, bytes) = self.answers.get_mut(key)?;
        self.n_asked += 1;
        *last = self.n_asked;
        Some(Arc::clone(bytes))
    }

    fn put(&mut self, key: String, bytes: Arc<[u8]>) {
        self.n_asked += 1;
        self.n_bytes += bytes.len();
        if let Some((_, old)) = self.answers.insert(key, (self.n_asked, bytes)) {
            self.n_bytes -= old.len();
        }
        while MOST_BYTES < self.n_bytes {
            let oldest = self.answers.iter().min_by_key(|(_, (last, _))| *last).map(|(key, _)| key.clone());
            let Some((_, old)) = oldest.and_then(|key| self.answers.remove(&key)) else { return };
            self.n_bytes -= old.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_computed_once_and_a_refusal_each_time() {
        let before = AskedBefore::default();
        let ask = Ask { question: "profile".to_owned(), ..Ask::default() };
        let refused = before.answer(&ask, || Err(Refusal::Run("gone".to_owned())));
        assert_eq!(refused, Err(Refusal::Run("gone".to_owned())));
        assert_eq!(&*before.answer(&ask, || Ok(vec![1])).unwrap(), [1]);
        assert_eq!(&*before.answer(&ask, || Ok(vec![2])).unwrap(), [1]);
    }

    #[test]
    fn the_oldest_answers_make_room() {
        let before = AskedBefore::default();
        let ask = |run| Ask { question: "profile".to_owned(), run, ..Ask::default() };
        for run in 0..3 {
            let large = vec![run as u8; MOST_BYTES / 2];
            assert_eq!(before.answer(&ask(run), || Ok(large)).unwrap()[0], run as u8);
        }
        assert_eq!(before.answer(&ask(2), || Ok(vec![9])).unwrap()[0], 2);
        assert_eq!(before.answer(&ask(0), || Ok(vec![9])).unwrap()[0], 9);
    }
}
