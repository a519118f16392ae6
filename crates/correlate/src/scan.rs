//! All views of a profile, once, in rounds.
//!
//! Metric by metric, each from the last call path to the first. Views that are zero everywhere are no views.

use crate::views::{Layout, Variation, aggregation};
use crate::{CorrelateError, View};
use ouzel_model::{
    Level, MetricId, Notice, NoticeCode, Notices, ProfileSource, Scope, ScopedRows, SeverityError,
    SeverityRow,
};

/// The views that are still to come.
pub struct Scan<'a> {
    source: &'a dyn ProfileSource,
    layout: &'a Layout,
    scope: Scope,
    metrics: std::vec::IntoIter<MetricId>,
    open: Option<(MetricId, ScopedRows<'a>, SeverityRow)>,
    notices: &'a Notices,
    n_infinite: u64,
}

impl<'a> Scan<'a> {
    /// The views of all metrics that people see.
    pub fn new(
        source: &'a dyn ProfileSource,
        layout: &'a Layout,
        scope: Scope,
        notices: &'a Notices,
    ) -> Self {
        let definitions = source.definitions();
        let metrics: Vec<_> = definitions.metric_ids().filter(|&id| !definitions.metric(id).hidden).collect();
        Scan { source, layout, scope, metrics: metrics.into_iter(), open: None, notices, n_infinite: 0 }
    }

    /// The next views, at most so many; none at the end.
    pub fn round(&mut self, n_at_most: usize) -> Result<Vec<(View, Variation)>, CorrelateError> {
        let mut round = Vec::new();
        while round.len() < n_at_most && self.open_next()? {
            let Some((metric, rows, row)) = &mut self.open else { break };
            if !rows.read(row).map_err(SeverityError::from)? {
                self.notices.extend(rows.notices());
                self.open = None;
                continue;
            }
            let view = View { metric: *metric, path: row.path };
            let aggregation = aggregation(self.source, view.metric);
            if let Some(variation) = self.layout.variation(row, rows.not_finite(), aggregation) {
                self.n_infinite += variation.n_infinite;
                round.push((view, variation));
            }
        }
        Ok(round)
    }

    /// Number of views, if every metric had a row for every call path.
    pub(crate) fn n_at_most(&self) -> u64 {
        let definitions = self.source.definitions();
        (definitions.metrics.len() * definitions.call_tree.len()) as u64
    }

    /// Opens the next metric that has values in the scope, if none is open; `false` if there is none.
    fn open_next(&mut self) -> Result<bool, CorrelateError> {
        while self.open.is_none() {
            let Some(metric) = self.metrics.next() else {
                self.tell_infinite();
                return Ok(false);
            };
            let definitions = self.source.definitions();
            match ScopedRows::open(self.source, metric, self.scope, definitions.call_tree.all()) {
                Ok(rows) => {
                    let row = SeverityRow::new(definitions.metric(metric).value_type);
                    self.open = Some((metric, rows, row));
                }
                Err(error @ SeverityError::NotAdditive { .. }) => {
                    let message = format!("{error}; its views are left out");
                    self.notices.push(Notice::new(Level::Low, NoticeCode::NotAvailable, message));
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(true)
    }

    fn tell_infinite(&mut self) {
        let n = std::mem::take(&mut self.n_infinite);
        if n > 0 {
            let message = "severities that are not finite were replaced by the mean of the others";
            self.notices.push(Notice::new(Level::Medium, NoticeCode::DoubtfulSeverities, message).times(n));
        }
    }
}
