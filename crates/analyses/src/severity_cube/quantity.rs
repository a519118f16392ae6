//! What is counted, and what it is called in a profile.

use super::waiting::Waiting;
use ouzel_model::{Aggregation, Definitions, MetricId, MetricKind, MetricValueType, ProfileMetric};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A quantity that has a severity for each call path and location. In the order of the metrics of a profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Quantity {
    /// Ticks from enter to leave without those in callees: `time`, in seconds.
    Time,
    /// Visits: `visits`.
    Visits,
    /// Ticks from enter to leave of the shortest visit: `min_time`, in seconds.
    MinTime,
    /// Ticks from enter to leave of the longest visit: `max_time`, in seconds.
    MaxTime,
    /// Point-to-point messages sent: `messages_sent`.
    MessagesSent,
    /// Point-to-point messages received: `messages_received`.
    MessagesReceived,
    /// Collective operations taken part in: `collectives`.
    Collectives,
    /// Bytes sent in messages and collective operations: `bytes_sent`.
    BytesSent,
    /// Of these, those in messages: `bytes_sent_p2p`. Only where there are both.
    BytesSentP2p,
    /// Of these, those in collective operations: `bytes_sent_coll`. Only where there are both.
    BytesSentColl,
    /// Bytes received in messages and collective operations: `bytes_received`.
    BytesReceived,
    /// Of these, those in messages: `bytes_received_p2p`. Only where there are both.
    BytesReceivedP2p,
    /// Of these, those in collective operations: `bytes_received_coll`. Only where there are both.
    BytesReceivedColl,
    /// Input and output operations that completed: `io_operations`.
    IoOperations,
    /// Bytes that they read: `io_bytes_read`.
    IoBytesRead,
    /// Bytes that they wrote: `io_bytes_written`.
    IoBytesWritten,
    /// Ticks of waiting for other ranks, which no pass over single locations counts: see
    /// [`SeverityCubeOutput::with`](super::SeverityCubeOutput::with).
    Waiting(Waiting),
    /// What an accumulated counter of the trace gained: its own name and unit.
    Counter(MetricId),
}

impl Quantity {
    /// Every quantity that is no counter and no waiting.
    const COUNTED: &[Quantity] = &[
        Quantity::Time,
        Quantity::Visits,
        Quantity::MinTime,
        Quantity::MaxTime,
        Quantity::MessagesSent,
        Quantity::MessagesReceived,
        Quantity::Collectives,
        Quantity::BytesSent,
        Quantity::BytesSentP2p,
        Quantity::BytesSentColl,
        Quantity::BytesReceived,
        Quantity::BytesReceivedP2p,
        Quantity::BytesReceivedColl,
        Quantity::IoOperations,
        Quantity::IoBytesRead,
        Quantity::IoBytesWritten,
    ];

    /// Every quantity that is no counter.
    pub fn built_in() -> impl Iterator<Item = Quantity> {
        Quantity::COUNTED.iter().chain(Quantity::WAITING).copied()
    }

    /// The name of the metric in a profile, unless it is a counter: that has a name of its own.
    pub fn name(self) -> Option<&'static str> {
        Some(self.texts()[0]).filter(|name| !name.is_empty())
    }

    /// What it is part of.
    pub fn whole(self) -> Option<Quantity> {
        match self {
            Quantity::BytesSentP2p | Quantity::BytesSentColl => Some(Quantity::BytesSent),
            Quantity::BytesReceivedP2p | Quantity::BytesReceivedColl => Some(Quantity::BytesReceived),
            Quantity::Waiting(part) => part.whole().map(Quantity::Waiting),
            _ => None,
        }
    }

    /// Whether values are ticks, and seconds in the profile.
    pub fn is_time(self) -> bool {
        matches!(self, Quantity::Time | Quantity::MinTime | Quantity::MaxTime | Quantity::Waiting(_))
    }

    /// How values are put together.
    pub fn aggregation(self) -> Aggregation {
        match self {
            Quantity::MinTime => Aggregation::Min,
            Quantity::MaxTime => Aggregation::Max,
            _ => Aggregation::Sum,
        }
    }

    /// Unique name, display name, unit and description of one that is no counter.
    fn texts(self) -> [&'static str; 4] {
        match self {
            Quantity::Time => ["time", "Time", "sec", "Time from enter to leave without the time in callees"],
            Quantity::Visits => ["visits", "Visits", "occ", "Number of visits"],
            Quantity::MinTime => [
                "min_time",
                "Minimum Inclusive Time",
                "sec",
                "Time from enter to leave of the shortest visit",
            ],
            Quantity::MaxTime => {
                ["max_time", "Maximum Inclusive Time", "sec", "Time from enter to leave of the longest visit"]
            }
            Quantity::MessagesSent => {
                ["messages_sent", "Messages sent", "occ", "Number of point-to-point messages sent"]
            }
            Quantity::MessagesReceived => [
                "messages_received",
                "Messages received",
                "occ",
                "Number of point-to-point messages received",
            ],
            Quantity::Collectives => {
                ["collectives", "Collectives", "occ", "Number of collective operations taken part in"]
            }
            Quantity::BytesSent => {
                ["bytes_sent", "Bytes sent", "bytes", "Bytes sent in messages and collective operations"]
            }
            Quantity::BytesSentP2p => {
                ["bytes_sent_p2p", "Point-to-point", "bytes", "Bytes sent in point-to-point messages"]
            }
            Quantity::BytesSentColl => {
                ["bytes_sent_coll", "Collective", "bytes", "Bytes sent in collective operations"]
            }
            Quantity::BytesReceived => [
                "bytes_received",
                "Bytes received",
                "bytes",
                "Bytes received in messages and collective operations",
            ],
            Quantity::BytesReceivedP2p => {
                ["bytes_received_p2p", "Point-to-point", "bytes", "Bytes received in point-to-point messages"]
            }
            Quantity::BytesReceivedColl => {
                ["bytes_received_coll", "Collective", "bytes", "Bytes received in collective operations"]
            }
            Quantity::IoOperations => {
                ["io_operations", "I/O operations", "occ", "Number of input and output operations"]
            }
            Quantity::IoBytesRead => {
                ["io_bytes_read", "Bytes read", "bytes", "Bytes that I/O operations read"]
            }
            Quantity::IoBytesWritten => {
                ["io_bytes_written", "Bytes written", "bytes", "Bytes that I/O operations wrote"]
            }
            Quantity::Waiting(waiting) => waiting.texts(),
            Quantity::Counter(_) => ["", "", "", ""],
        }
    }

    /// The metric of a profile; its parent is that of `whole`.
    pub(super) fn metric(self, definitions: &Definitions, whole: Option<MetricId>) -> ProfileMetric {
        let [name, display_name, unit, description] = match self {
            Quantity::Counter(id) => {
                let metric = &definitions.metrics[id.index()];
                [&metric.name, &metric.name, &metric.unit, &metric.description].map(Arc::clone)
            }
            other => other.texts().map(Arc::from),
        };
        let value_type = if self.is_time() { MetricValueType::F64 } else { MetricValueType::U64 };
        let (kind, aggregation) = (MetricKind::Exclusive, self.aggregation());
        ProfileMetric {
            name,
            display_name,
            unit,
            description,
            parent: whole,
            value_type,
            kind,
            aggregation,
            hidden: false,
        }
    }
}
