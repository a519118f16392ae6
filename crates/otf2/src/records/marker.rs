//! The records of marker files (`.marker`) and thumbnails (`.thumb`).

use super::enums::{MarkerScope, MarkerSeverity};
use super::field::{FieldValue, RefKind, Text};
use super::list::List;
use super::table::*;
use crate::mapping::MappingTables;
use crate::wire::{Cursor, EncodeError, Fault, RecordBuffer};

record_table! {
    /// A record of a marker file.
    table MarkerRecord<'a>, kinds MarkerKind;

    /// A kind of markers.
    5 sized DefMarker<'a> {
        /// The record's own id.
        id: u32 as key(Marker),
        /// What made the markers.
        group: Text<'a> as int,
        /// What the markers mean.
        category: Text<'a> as int,
        /// How much they matter.
        severity: MarkerSeverity as int,
    }

    /// A marker: a remark on a stretch of time.
    6 sized Marker<'a> {
        /// Ticks of its begin.
        time: u64 as int,
        /// Ticks that it lasts.
        duration: u64 as int,
        marker: u32 as refer(Marker),
        /// What it is for.
        scope: MarkerScope as int,
        /// Id of what it is for, in the table that `scope` names.
        scope_ref: u64 as int,
        /// The remark.
        text: Text<'a> as int,
    }
}

/// The records of thumbnails.
pub mod thumbnail {
    use super::*;

    record_table! {
        /// A record of a thumbnail: the trace seen from far away.
        table ThumbnailRecord<'a>, kinds ThumbnailKind;

        /// What the thumbnail shows.
        10 sized ThumbnailHeader<'a> {
            /// Its name.
            name: Text<'a> as int,
            /// What it shows, in words.
            description: Text<'a> as int,
            /// What `refs` refer to: regions, metrics or attributes.
            thumbnail_type: u8 as int,
            /// Samples that follow.
            number_of_samples: u32 as int,
            /// One reference for each value of a sample.
            refs: List<'a, u64> as list32,
        }

        /// One sample.
        11 sized ThumbnailSample<'a> {
            /// What the values are parts of.
            baseline: u64 as int,
            /// One value for each reference of the header.
            values: List<'a, u64> as list32,
        }
    }
}
