//! Answers that were given before: views that show the same selection share one pass, and tiles are compressed once.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The newest answers, by the text of their question.
#[derive(Debug)]
pub(crate) struct KeptAnswers {
    most_bytes: usize,
    /// Held while an answer is computed that is computed alone.
    alone: Mutex<()>,
    answers: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    n_asked: u64,
    n_bytes: usize,
    /// Each with when it was last asked.
    answers: BTreeMap<String, (u64, Arc<[u8]>)>,
}

impl KeptAnswers {
    /// None yet, of at most so many bytes.
    pub fn new(most_bytes: usize) -> Self {
        KeptAnswers { most_bytes, alone: Mutex::default(), answers: Mutex::default() }
    }

    /// The answer that was given before, or that of `answer`.
    ///
    /// # Errors
    /// What `answer` says. Refusals are not kept: a disk may come back.
    pub fn answer<E>(
        &self,
        key: String,
        answer: impl FnOnce() -> Result<Vec<u8>, E>,
    ) -> Result<Arc<[u8]>, E> {
        if let Some(known) = self.lock().get(&key) {
            return Ok(known);
        }
        let bytes: Arc<[u8]> = answer()?.into();
        self.lock().put(key, Arc::clone(&bytes), self.most_bytes);
        Ok(bytes)
    }

    /// The same, one after the other: who asks the same meanwhile gets the answer of the first, and the memory is that of
    /// one.
    ///
    /// # Errors
    /// What `answer` says.
    pub fn answer_alone<E>(
        &self,
        key: String,
        answer: impl FnOnce() -> Result<Vec<u8>, E>,
    ) -> Result<Arc<[u8]>, E> {
        if let Some(known) = self.lock().get(&key) {
            return Ok(known);
        }
        let _alone = self.alone.lock().unwrap_or_else(PoisonError::into_inner);
        self.answer(key, answer)
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

    fn put(&mut self, key: String, bytes: Arc<[u8]>, most_bytes: usize) {
        self.n_asked += 1;
        self.n_bytes += bytes.len();
        if let Some((_, old)) = self.answers.insert(key, (self.n_asked, bytes)) {
            self.n_bytes -= old.len();
        }
        while most_bytes < self.n_bytes {
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
        let kept = KeptAnswers::new(10);
        let ask = |answer| kept.answer("profile".to_owned(), || answer);
        assert_eq!(ask(Err("gone")), Err("gone"));
        assert_eq!(&*ask(Ok(vec![1])).unwrap(), [1]);
        assert_eq!(&*ask(Ok(vec![2])).unwrap(), [1]);
        assert_eq!(&*ask(Err("gone")).unwrap(), [1]);
    }

    #[test]
    fn the_oldest_answers_make_room() {
        let kept = KeptAnswers::new(10);
        let ask = |run: u8, answer| kept.answer(run.to_string(), || Ok::<_, ()>(answer)).unwrap()[0];
        for run in 0..3 {
            assert_eq!(ask(run, vec![run; 5]), run);
        }
        assert_eq!((ask(2, vec![9]), ask(0, vec![9])), (2, 9));
    }
}
