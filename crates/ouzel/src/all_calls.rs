//! Answers that see all calls, whatever calls are selected.
//!
//! A hidden call is time in `[filtered]`, which computes for all that is known: without MPI, a run has other efficiencies,
//! nobody waits, and nothing says who calls what is selected. So reports, segments and efficiencies are made of all calls
//! of the selected locations and times, and what is said of single call paths is limited to the selected ones afterwards.

use crate::{Options, Trace};
use ouzel_model::{Level, Notice, NoticeCode, Selection};

impl Trace {
    /// The same options without a selection of calls, and that selection, if there is one.
    pub(crate) fn of_all_calls<'a>(&self, options: &Options<'a>) -> (Options<'a>, Option<Selection>) {
        let (read, shown) = options.filter.split_calls();
        let selection = (!shown.is_everything()).then(|| shown.resolve(self.definitions()));
        (Options { filter: read, ..options.clone() }, selection)
    }
}

/// What is said where a selection of calls changes nothing of an answer.
pub(crate) fn changes_nothing(of: &str, selection: &Selection) -> Vec<Notice> {
    let message = format!("{of} are those of all calls: a selection of calls does not change them");
    let told = Notice::new(Level::Low, NoticeCode::NotAvailable, message);
    selection.unmatched.iter().cloned().chain([told]).collect()
}
