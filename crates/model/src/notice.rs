//! Problems found while reading or analysing that did not stop the run.
//!
//! Equal notices are one notice with a count; they are sorted before display.
//! [`Level::High`] means that data were lost: the answer is not from everything.

use crate::LocationId;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// How much a notice matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Good to know; results are complete.
    Low,
    /// Something was repaired or is doubtful; results may be off.
    Medium,
    /// Data were lost; results are not from all of the data.
    High,
}

impl Level {
    /// The level in lower case.
    pub fn as_str(self) -> &'static str {
        match self {
            Level::Low => "low",
            Level::Medium => "medium",
            Level::High => "high",
        }
    }
}

macro_rules! notice_codes {
    ($($(#[$doc:meta])* $variant:ident $text:literal,)*) => {
        /// What kind of trouble. The text form is stable and part of the JSON output.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum NoticeCode { $($(#[$doc])* #[serde(rename = $text)] $variant,)* }

        impl NoticeCode {
            /// Every code.
            pub const ALL: &[NoticeCode] = &[$(NoticeCode::$variant,)*];

            /// The stable text form.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }
        }
    };
}

notice_codes! {
    /// The anchor file is missing; its contents were rebuilt from the other files.
    MissingAnchor "missing-anchor",
    /// A file of definitions is missing.
    MissingDefinitions "missing-definitions",
    /// A file of definitions ends early or is corrupt; the valid prefix was kept.
    DamagedDefinitions "damaged-definitions",
    /// An id is defined twice; one definition was kept.
    DuplicateDefinition "duplicate-definition",
    /// An id is used that is not defined; a placeholder is used for it.
    UndefinedReference "undefined-reference",
    /// The events of a location are missing.
    MissingEvents "missing-events",
    /// The events of a location end early; the valid prefix was kept.
    DamagedEvents "damaged-events",
    /// What a recorder says that it lost, or that is good to know of the recording.
    Recording "recording",
    /// The number of events differs from the declared one.
    WrongEventCount "wrong-event-count",
    /// Records of unknown types were skipped by their length.
    UnknownRecords "unknown-records",
    /// Records that the event model does not represent were counted and left out.
    NotRepresented "not-represented",
    /// Time stamps go back within one location; they were raised to the one before.
    TimeGoesBack "time-goes-back",
    /// Time stamps lie before the trace start; they were raised to it.
    TimeBeforeStart "time-before-start",
    /// The clocks of the locations were not synchronised.
    ClocksUnsynchronised "clocks-unsynchronised",
    /// Leaves without an open call were dropped.
    UnmatchedLeaves "unmatched-leaves",
    /// Calls were closed by the leave of an outer call.
    TruncatedCalls "truncated-calls",
    /// Calls were still open at the end and were closed at the last time stamp.
    OpenCalls "open-calls",
    /// The tracer interrupted the program to write its buffers.
    BufferFlushes "buffer-flushes",
    /// Recording was switched off for a part of the run.
    MeasurementOff "measurement-off",
    /// Sends without a receive, or receives without a send.
    UnmatchedMessages "unmatched-messages",
    /// A message arrived before it was sent: clocks are wrong.
    MessageOrder "message-order",
    /// Locations that should synchronise together do so differently; only what they have in common was aligned.
    UnalignedSynchronisations "unaligned-synchronisations",
    /// There are too many phases to keep separate; some were merged.
    CoarsePhases "coarse-phases",
    /// Samples do not distinguish instances of calls, or there are too many to keep.
    UncertainInstances "uncertain-instances",
    /// The sampling period is not recorded and was inferred.
    InferredPeriod "inferred-period",
    /// Severities of a profile are missing or corrupt; the other ones were kept.
    DamagedSeverities "damaged-severities",
    /// Severities are not finite, do not add up, or have no value.
    DoubtfulSeverities "doubtful-severities",
    /// A filter selects nothing.
    EmptySelection "empty-selection",
    /// The trace lacks what an analysis needs.
    NotAvailable "not-available",
}

/// One thing that went wrong.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Notice {
    /// How much it matters. Sorted by it, worst first.
    pub level: Level,
    /// What kind.
    pub code: NoticeCode,
    /// One sentence for people, without a full stop.
    pub message: String,
    /// How often it happened.
    pub count: u64,
    /// The file it is about.
    pub file: Option<Arc<str>>,
    /// Byte offset in the file.
    pub offset: Option<u64>,
    /// The location it is about.
    pub location: Option<LocationId>,
}

impl Notice {
    /// A notice that happened once, with no place given.
    pub fn new(level: Level, code: NoticeCode, message: impl Into<String>) -> Self {
        Notice { level, code, message: message.into(), count: 1, file: None, offset: None, location: None }
    }

    /// The same, `count` times.
    #[must_use]
    pub fn times(self, count: u64) -> Self {
        Notice { count, ..self }
    }

    /// The same, about `file`.
    #[must_use]
    pub fn in_file(self, file: impl Into<Arc<str>>) -> Self {
        Notice { file: Some(file.into()), ..self }
    }

    /// The same, at a byte offset of its file.
    #[must_use]
    pub fn at(self, offset: u64) -> Self {
        Notice { offset: Some(offset), ..self }
    }

    /// The same, about `location`.
    #[must_use]
    pub fn on(self, location: LocationId) -> Self {
        Notice { location: Some(location), ..self }
    }
}

impl std::fmt::Display for Notice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (&self.file, self.offset) {
            (Some(file), Some(offset)) => write!(f, "{file}+{offset:#x}: {}", self.message),
            (Some(file), None) => write!(f, "{file}: {}", self.message),
            _ => f.write_str(&self.message),
        }
    }
}

/// A notice without its count: two notices that are equal in it are merged.
type NoticeKey =
    (std::cmp::Reverse<Level>, NoticeCode, Option<LocationId>, Option<Arc<str>>, Option<u64>, String);

/// Notices, gathered and shared by threads; never thrown away.
#[derive(Debug, Default)]
pub struct Notices(Mutex<BTreeMap<NoticeKey, u64>>);

impl Notices {
    /// Adds one; its count is added to that of an equal one.
    pub fn push(&self, notice: Notice) {
        let Notice { level, code, message, count, file, offset, location } = notice;
        let key = (std::cmp::Reverse(level), code, location, file, offset, message);
        *self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner).entry(key).or_default() += count;
    }

    /// Adds many.
    pub fn extend(&self, notices: impl IntoIterator<Item = Notice>) {
        for notice in notices {
            self.push(notice);
        }
    }

    /// All of them, worst first, then by kind, location and place.
    pub fn to_vec(&self) -> Vec<Notice> {
        let map = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        map.iter()
            .map(|((level, code, location, file, offset, message), &count)| Notice {
                level: level.0,
                code: *code,
                message: message.clone(),
                count,
                file: file.clone(),
                offset: *offset,
                location: *location,
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_notices_are_counted_and_the_worst_comes_first() {
        let notices = Notices::default();
        let low = Notice::new(Level::Low, NoticeCode::OpenCalls, "calls still open").on(LocationId(3));
        notices.push(low.clone().times(4));
        notices
            .push(Notice::new(Level::High, NoticeCode::DamagedEvents, "input ends").in_file("0.evt").at(31));
        notices.push(low);
        let all = notices.to_vec();
        assert_eq!(
            all.iter().map(|n| (n.level, n.count)).collect::<Vec<_>>(),
            [(Level::High, 1), (Level::Low, 5)]
        );
        assert_eq!(all[0].to_string(), "0.evt+0x1f: input ends");
    }

    #[test]
    fn notices_that_differ_in_anything_stay_apart() {
        let base = || Notice::new(Level::Medium, NoticeCode::OpenCalls, "x");
        let all = [
            base(),
            base().in_file("a.evt"),
            base().in_file("a.evt").at(1),
            base().in_file("b.evt"),
            base().on(LocationId(0)),
            base().on(LocationId(1)),
            Notice::new(Level::Medium, NoticeCode::OpenCalls, "y"),
            Notice::new(Level::Medium, NoticeCode::UnmatchedLeaves, "x"),
            Notice::new(Level::High, NoticeCode::OpenCalls, "x"),
        ];
        let notices = Notices::default();
        notices.extend(all.clone());
        notices.extend(all.clone().into_iter().rev());
        let found = notices.to_vec();
        assert_eq!(found.len(), all.len());
        assert!(found.iter().all(|notice| notice.count == 2));
    }

    #[test]
    fn the_order_of_arrival_does_not_show() {
        let (one, other) = (Notices::default(), Notices::default());
        let all: Vec<Notice> = (0..6)
            .map(|i| {
                Notice::new([Level::Low, Level::High][i % 2], NoticeCode::ALL[5 - i], "x").times(i as u64)
            })
            .collect();
        one.extend(all.clone());
        other.extend(all.into_iter().rev());
        assert_eq!(one.to_vec(), other.to_vec());
        assert!(one.to_vec().is_sorted_by_key(|notice| std::cmp::Reverse(notice.level)));
    }

    #[test]
    fn threads_share_notices() {
        let notices = Notices::default();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| notices.push(Notice::new(Level::Low, NoticeCode::OpenCalls, "x")));
            }
        });
        assert_eq!(notices.to_vec()[0].count, 4);
    }

    #[test]
    fn the_text_of_a_code_is_its_own() {
        let texts: std::collections::BTreeSet<_> = NoticeCode::ALL.iter().map(|code| code.as_str()).collect();
        assert_eq!(texts.len(), NoticeCode::ALL.len());
        let is_kebab = |text: &&str| text.chars().all(|c| c.is_ascii_lowercase() || c == '-');
        assert!(texts.iter().all(is_kebab), "{texts:?}");
    }
}
