//! The page with pictures.

use super::Answer;
use crate::segments::diagnosis;
use crate::session::Session;
use ouzel::analyses::loss_tree::{Thresholds, segments};
use ouzel::analyses::peers::PeerKind;
use ouzel_page::Pictures;

/// The page as one file.
pub fn page(session: &Session<'_>, answer: &Answer) -> String {
    let definitions = session.definitions();
    let path = session.trace.path().display().to_string();
    let Some(timeline) = &answer.timeline else {
        unreachable!("a page with pictures is made from a pass with a timeline");
    };
    let mut pictures = Pictures::new(definitions, &answer.classes, timeline).with_clusters(&answer.trees);
    let phases = answer.material.phases();
    if let Some(group) = phases.groups.iter().find(|group| group.kind == PeerKind::MainThread) {
        let segments = segments(group, &phases.call_paths, &answer.classes, &Thresholds::default());
        let meaning = |row| diagnosis::words(row).0.to_owned();
        pictures = pictures.with_segments(&segments, group, &phases.call_paths, &meaning);
    }
    ouzel_page::html(&answer.report, &pictures, &path)
}
