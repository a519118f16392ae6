//! The best views so far.
//!
//! Views are ordered by what counts (|r|, or r for the greatest R), in steps of 1e-9 so that rounding orders nothing,
//! then by metric and call path: a total order, whatever the order of arrival.

use crate::peaks::TIE;
use crate::{Correlation, Peak, Question, View};

/// The best so far, best first; without a limit in any order until the end.
#[derive(Debug)]
pub struct Ranking<'a> {
    rows: Vec<((i64, View), Correlation)>,
    question: &'a Question,
}

impl<'a> Ranking<'a> {
    /// Without views.
    pub fn new(question: &'a Question) -> Self {
        Ranking { rows: Vec::new(), question }
    }

    /// What |R| a view must reach to be among the best; -1 while there is room. A step below the last of the best, as
    /// rounding may take it there.
    pub fn threshold(&self) -> f64 {
        match self.question.top {
            Some(top) if self.rows.len() >= top.get() => {
                let ((steps, _), _) = &self.rows[top.get() - 1];
                (-steps) as f64 * TIE - 2.0 * TIE
            }
            _ => -1.0,
        }
    }

    /// Adds a view.
    pub fn add(&mut self, row: Correlation) {
        let counts = if self.question.peak == Peak::Greatest { row.r } else { row.r.abs() };
        let key = (-((counts / TIE).round() as i64), row.view);
        let Some(top) = self.question.top else {
            self.rows.push((key, row));
            return;
        };
        let at = self.rows.partition_point(|(other, _)| *other < key);
        if at < top.get() {
            self.rows.insert(at, (key, row));
            self.rows.truncate(top.get());
        }
    }

    /// The best, best first.
    pub(crate) fn into_rows(mut self) -> Vec<Correlation> {
        self.rows.sort_by_key(|(key, _)| *key);
        self.rows.into_iter().map(|(_, row)| row).collect()
    }
}
