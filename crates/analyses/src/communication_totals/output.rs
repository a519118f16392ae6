//! Totals of messages and collectives, and their views as tables.

use super::state::{Channel, CollectiveTotals, MessageTotals, PathCollectives, PathMessages};
use crate::view::{By, Per, RowKey, RowView};
use ouzel_model::{CallPathTree, ColumnData, Definitions, LocationId, Table, Unit};
use rustc_hash::FxHashMap;

/// Messages and collectives of every call path at every location.
#[derive(Debug, Clone)]
pub struct CommunicationOutput {
    /// The call paths that the rows refer to.
    pub call_paths: CallPathTree,
    /// The locations read, ascending.
    pub locations: Vec<LocationCommunication>,
    /// Channels with more or fewer sends than receives; sorted. These and the two counts below are not determined
    /// if ranks or a time range are selected.
    pub unmatched: Vec<UnmatchedChannel>,
    /// Number of messages sent and never received.
    pub unmatched_sends: u64,
    /// Number of messages received and never sent.
    pub unmatched_receives: u64,
    /// Number of message ends whose other side is no rank of the communicator; they are not matched.
    pub unresolved_peers: u64,
    /// Number of message ends without another side (`MPI_PROC_NULL`): recorded by some tracers, never sent.
    pub null_peers: u64,
}

/// Messages and collectives of one location.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocationCommunication {
    /// The location.
    pub location: LocationId,
    /// Messages by call path, ascending.
    pub messages: Vec<PathMessages>,
    /// Collectives by call path and operation, ascending.
    pub collectives: Vec<PathCollectives>,
}

/// A channel out of balance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnmatchedChannel {
    /// The channel.
    pub channel: Channel,
    /// Messages sent less messages received.
    pub sends_less_receives: i64,
}

/// One row of a view of messages and collectives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CommunicationRow {
    /// What the row is about.
    pub key: RowKey,
    /// Its messages.
    pub messages: MessageTotals,
    /// Its collectives, all operations together.
    pub collectives: CollectiveTotals,
}

impl CommunicationOutput {
    /// Messages and collectives by region or by call path, most bytes (sent and received) first, then by name.
    /// What happened outside of every region has no row.
    pub fn rows(&self, definitions: &Definitions, by: By, per: Per) -> Vec<CommunicationRow> {
        self.rows_of(&RowView::new(definitions, &self.call_paths, by, per))
    }

    fn rows_of(&self, view: &RowView<'_>) -> Vec<CommunicationRow> {
        let mut sums: FxHashMap<RowKey, (MessageTotals, CollectiveTotals)> = FxHashMap::default();
        for location in &self.locations {
            for row in &location.messages {
                if let Some(key) = view.key(location.location, row.call_path) {
                    sums.entry(key).or_default().0.add(&row.totals);
                }
            }
            for row in &location.collectives {
                if let Some(key) = view.key(location.location, row.call_path) {
                    sums.entry(key).or_default().1.add(&row.totals);
                }
            }
        }
        let mut rows: Vec<CommunicationRow> = sums
            .into_iter()
            .map(|(key, (messages, collectives))| CommunicationRow { key, messages, collectives })
            .collect();
        let bytes = |row: &CommunicationRow| {
            let CommunicationRow { messages: m, collectives: c, .. } = row;
            [m.bytes_sent, m.bytes_received, c.bytes_sent, c.bytes_received]
                .map(u128::from)
                .iter()
                .sum::<u128>()
        };
        rows.sort_unstable_by(|a, b| {
            let by_bytes = bytes(b).cmp(&bytes(a));
            by_bytes.then_with(|| view.tie_break(&a.key).cmp(&view.tie_break(&b.key)))
        });
        rows
    }

    /// Messages of all locations together, also those outside of every region.
    pub fn total_messages(&self) -> MessageTotals {
        let mut total = MessageTotals::default();
        self.locations.iter().flat_map(|l| &l.messages).for_each(|row| total.add(&row.totals));
        total
    }

    /// Collectives of all locations together, also those outside of every region.
    pub fn total_collectives(&self) -> CollectiveTotals {
        let mut total = CollectiveTotals::default();
        self.locations.iter().flat_map(|l| &l.collectives).for_each(|row| total.add(&row.totals));
        total
    }

    /// The [`rows`](CommunicationOutput::rows) as a table.
    pub fn table(&self, definitions: &Definitions, by: By, per: Per) -> Table {
        let view = RowView::new(definitions, &self.call_paths, by, per);
        let rows = self.rows_of(&view);
        let keys: Vec<RowKey> = rows.iter().map(|row| row.key).collect();
        let column =
            |value: &dyn Fn(&CommunicationRow) -> u64| ColumnData::U64(rows.iter().map(value).collect());
        let operations_doc = "Ends of collective operations: one for each location that took part";
        view.name_columns("communication", &keys)
            .with("sends", Unit::Count, "Messages sent", column(&|r| r.messages.sends))
            .with("bytes_sent", Unit::Bytes, "Bytes of messages sent", column(&|r| r.messages.bytes_sent))
            .with("receives", Unit::Count, "Messages received", column(&|r| r.messages.receives))
            .with(
                "bytes_received",
                Unit::Bytes,
                "Bytes of messages received",
                column(&|r| r.messages.bytes_received),
            )
            .with("collectives", Unit::Count, operations_doc, column(&|r| r.collectives.operations))
            .with(
                "collective_bytes_sent",
                Unit::Bytes,
                "Bytes sent in collective operations, as recorded",
                column(&|r| r.collectives.bytes_sent),
            )
            .with(
                "collective_bytes_received",
                Unit::Bytes,
                "Bytes received in collective operations, as recorded",
                column(&|r| r.collectives.bytes_received),
            )
    }
}
