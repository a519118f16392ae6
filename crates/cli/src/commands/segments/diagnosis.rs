//! How segments are painted.

use crate::terminal::style::Paint;
use ouzel::analyses::loss_tree::Diagnosis;

/// How a segment is painted: waiting, uneven work, both.
pub fn paint(kind: Diagnosis) -> Paint {
    match kind {
        Diagnosis::Waiting => Paint::Name,
        Diagnosis::TradedOff => Paint::Good,
        Diagnosis::Imbalance | Diagnosis::Unexplained => Paint::Doubtful,
        Diagnosis::Serialised | Diagnosis::ImbalanceAndWaiting => Paint::Bad,
        Diagnosis::Nothing => Paint::Dim,
    }
}
