//! Remarks on stretches of time that tools wrote beside the events, as OTF2 keeps in marker files.

use crate::clock::Ticks;
use crate::ids::LocationId;
use crate::notice::Level;
use std::sync::Arc;

/// A remark on a stretch of time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Marker {
    /// Its begin.
    pub time: Ticks,
    /// How long it lasts; zero for an instant.
    pub length: Ticks,
    /// What wrote it.
    pub group: Arc<str>,
    /// What it means.
    pub category: Arc<str>,
    /// How much it matters; `None` if that is not said.
    pub level: Option<Level>,
    /// The location that it is about; `None` if it is about several or the whole run.
    pub location: Option<LocationId>,
    /// The remark.
    pub text: Arc<str>,
}
