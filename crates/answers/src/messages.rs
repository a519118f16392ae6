//! `ouzel messages`.

use ouzel::analyses::message_histogram::{Histogram, MessageHistogramOutput};
use serde::Serialize;

/// How many messages there are of which size.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MessagesAnswer {
    /// Edges of the bins in bytes, one more than bins; the last bin includes its end.
    pub edges: Vec<f64>,
    /// Messages in each bin.
    pub counts: Vec<u64>,
    /// Number of messages.
    pub n_messages: u64,
    /// Bytes of all messages.
    pub sum_bytes: u64,
    /// Smallest size; `null` without a message.
    pub min_bytes: Option<u64>,
    /// Greatest size; `null` without a message.
    pub max_bytes: Option<u64>,
}

impl MessagesAnswer {
    /// The shape of `output` in the bins of `histogram`.
    pub fn new(output: &MessageHistogramOutput, Histogram { edges, counts }: Histogram) -> Self {
        MessagesAnswer {
            edges,
            counts,
            n_messages: output.n_messages,
            sum_bytes: output.bytes,
            min_bytes: output.range.map(|(min, _)| min),
            max_bytes: output.range.map(|(_, max)| max),
        }
    }
}
