//! How segments are painted.

use crate::terminal::style::Paint;

/// How a segment is painted: waiting, uneven work, both.
pub fn paint(row: u8) -> Paint {
    match row {
        1 => Paint::Name,
        2 => Paint::Good,
        3 | 6 => Paint::Doubtful,
        4 | 5 => Paint::Bad,
        _ => Paint::Dim,
    }
}
