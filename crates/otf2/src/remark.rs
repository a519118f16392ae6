//! What the writer of an archive says is missing from it, as properties of the anchor.
//!
//! The format has no place for it. Properties whose names begin with [`PROPERTY`] hold one remark each; other
//! readers show them as they are.

use crate::anchor::Anchor;

/// Names of properties that hold remarks begin with it; a number follows.
pub const PROPERTY: &str = "OUZEL::REMARK::";

/// The property of an archive whose samples and recorded calls complete each other.
pub const SAMPLES_PROPERTY: &str = "OUZEL::SAMPLES";

/// Its value: samples show the calls that are not recorded, recorded calls are inside of them, and unwind distances are
/// upper bounds of what stayed.
pub const BESIDE_CALLS: &str = "beside-calls";

/// Something that is missing from an archive, or doubtful in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remark {
    /// Whether data were lost.
    pub is_loss: bool,
    /// One sentence without a full stop.
    pub message: String,
}

impl Remark {
    /// The properties that hold these remarks.
    pub fn properties(remarks: &[Remark]) -> Vec<(String, String)> {
        let value = |it: &Remark| format!("{} {}", if it.is_loss { "lost" } else { "note" }, it.message);
        remarks.iter().enumerate().map(|(i, remark)| (format!("{PROPERTY}{i}"), value(remark))).collect()
    }

    /// The remarks of an anchor.
    pub fn of_anchor(anchor: &Anchor) -> Vec<Remark> {
        let own = anchor.properties.iter().filter(|(name, _)| name.starts_with(PROPERTY));
        let remark = |(_, value): &(String, String)| {
            let (word, message) = value.split_once(' ')?;
            Some(Remark { is_loss: word == "lost", message: message.to_owned() })
        };
        own.filter_map(remark).collect()
    }
}
