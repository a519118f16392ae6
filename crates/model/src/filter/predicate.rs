//! Expressions over calls and the locations that make them.
//!
//! A predicate is a tree of tests joined by and, or, not. Law: its result for a call depends only on that call as it
//! was recorded, not on what else is selected. A test of something that is not there (a rank where the trace knows
//! none) is false.
//! Written form: [`Predicate::from_str`](std::str::FromStr), which reads what `Display` writes.

use super::NumberSet;
use serde::{Deserialize, Serialize};
use wildmatch::WildMatch;

/// A condition on a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Predicate {
    /// Every one of them holds; true of none.
    All(Vec<Predicate>),
    /// One of them holds; false of none.
    Any(Vec<Predicate>),
    /// It does not hold.
    Not(Box<Predicate>),
    /// The name of the region that was called.
    Name(TextTest),
    /// The names of the regions of the call path, outermost first, joined by `/`.
    Path(TextTest),
    /// The name of the region, or of one that is open around the call.
    Within(TextTest),
    /// The number of calls that are open around it: 0 for the outermost.
    Depth(NumberSet),
    /// The world rank of the location.
    Rank(NumberSet),
    /// The number of the location in its process, see [`Definitions::threads`](crate::Definitions::threads).
    Thread(NumberSet),
    /// Some of the call lies in the half-open range of nanoseconds since the trace start. A call that takes no time
    /// lies where it begins.
    Time {
        /// The first nanosecond inside.
        start_ns: u64,
        /// The first nanosecond after.
        end_ns: u64,
    },
    /// When it was entered, in nanoseconds since the trace start.
    Enter(NumberSet),
    /// When it was left, in the same unit.
    Leave(NumberSet),
    /// Nanoseconds from enter to leave.
    Inclusive(NumberSet),
    /// The same without the time in callees.
    Exclusive(NumberSet),
    /// What a counter gained from enter to leave: its last value at the leave less its last value at the enter.
    Metric {
        /// Name of an accumulated integer counter.
        metric: String,
        /// The condition on the gain.
        gain: NumberSet,
    },
}

/// A condition on a text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum TextTest {
    /// It equals one of these.
    OneOf(Vec<String>),
    /// It matches one of these patterns (`*` any run, `?` one character).
    Like(Vec<String>),
}

impl TextTest {
    /// Whether `text` passes.
    pub fn passes(&self, text: &str) -> bool {
        match self {
            TextTest::OneOf(texts) => texts.iter().any(|t| t == text),
            TextTest::Like(patterns) => patterns.iter().any(|pattern| WildMatch::new(pattern).matches(text)),
        }
    }
}

impl Predicate {
    /// The predicates that hold together if and only if this one does, none of them an and.
    pub(super) fn into_conjuncts(self) -> Vec<Predicate> {
        match self {
            Predicate::All(parts) => parts.into_iter().flat_map(Predicate::into_conjuncts).collect(),
            other => vec![other],
        }
    }

    /// Whether the rank and the thread of a location answer it for all of its calls.
    pub(super) fn is_of_location(&self) -> bool {
        match self {
            Predicate::All(parts) | Predicate::Any(parts) => parts.iter().all(Predicate::is_of_location),
            Predicate::Not(part) => part.is_of_location(),
            Predicate::Rank(_) | Predicate::Thread(_) => true,
            _ => false,
        }
    }

    /// Whether the call path of a call answers it, wherever and whenever it is called.
    pub(super) fn is_of_path(&self) -> bool {
        match self {
            Predicate::All(parts) | Predicate::Any(parts) => parts.iter().all(Predicate::is_of_path),
            Predicate::Not(part) => part.is_of_path(),
            Predicate::Name(_) | Predicate::Path(_) | Predicate::Within(_) | Predicate::Depth(_) => true,
            _ => false,
        }
    }
}

impl std::ops::BitAnd for Predicate {
    type Output = Predicate;
    /// Both hold.
    fn bitand(self, other: Predicate) -> Predicate {
        Predicate::All(vec![self, other])
    }
}

impl std::ops::BitOr for Predicate {
    type Output = Predicate;
    /// At least one of them holds.
    fn bitor(self, other: Predicate) -> Predicate {
        Predicate::Any(vec![self, other])
    }
}

impl std::ops::Not for Predicate {
    type Output = Predicate;
    /// It does not hold.
    fn not(self) -> Predicate {
        Predicate::Not(Box::new(self))
    }
}
