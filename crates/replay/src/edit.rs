//! Changes that rules make, by call path and location; those that people write are [`Change`](crate::Change)s.

use ouzel_model::{CallPathId, LocationId, TimeRange};

/// Code that is edited. Call paths are those that [`Replay::paths_of`](crate::Replay::paths_of) gives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditedCode {
    /// Its call paths.
    pub paths: Vec<CallPathId>,
    /// Whether what they call is part of it: of the program's own work only the own work, of other calls everything.
    pub with_callees: bool,
    /// Where it runs; everywhere if that is `None`.
    pub locations: Option<Vec<LocationId>>,
}

/// One change of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Edit {
    /// The code takes this part of its time: numerator and denominator, which is not zero.
    Scale(EditedCode, (u64, u64)),
    /// In each phase between synchronisations of all ranks, each rank that runs the code takes the mean over all ranks.
    Balance(EditedCode),
    /// The same in each of these parts of the recorded run, which do not overlap and are in order of time. What begins
    /// outside of them stays as it is.
    BalanceIn(EditedCode, Vec<TimeRange>),
    /// The calls find what they wait for.
    Release(EditedCode),
}

impl EditedCode {
    /// A call path with all that it calls, everywhere.
    pub fn with_callees(path: CallPathId) -> Self {
        EditedCode { paths: vec![path], with_callees: true, locations: None }
    }

    /// Exclusive time of call paths, everywhere.
    pub fn exclusive(paths: Vec<CallPathId>) -> Self {
        EditedCode { paths, with_callees: false, locations: None }
    }
}

impl Edit {
    /// The code that is edited.
    pub fn code(&self) -> &EditedCode {
        match self {
            Edit::Scale(code, _) | Edit::Balance(code) | Edit::BalanceIn(code, _) | Edit::Release(code) => {
                code
            }
        }
    }

    /// The code that is edited, to be changed.
    pub fn code_mut(&mut self) -> &mut EditedCode {
        match self {
            Edit::Scale(code, _) | Edit::Balance(code) | Edit::BalanceIn(code, _) | Edit::Release(code) => {
                code
            }
        }
    }
}
