//! The number of messages by size, in bins.
//!
//! ```text
//! sends ──add_sizes──► number of messages by size ──merge──► SizeCounts ──finish──► linear() and log2() bins
//! ```
//!
//! The range of sizes is only known after the pass. So messages are counted by their exact size and put
//! into bins at the end: linear bins are exact whatever their number. Programs use few sizes; where there are more than
//! 65,536 different ones, sizes are counted in steps of `2^s` bytes, with the smallest `s` that leaves no more than
//! 65,536 steps, and a notice says so. The smallest and the greatest size and the logarithmic bins stay exact.
//! Law: the counts depend on the messages alone, not on the order of merging, as the `s` of a part is never greater
//! than that of the whole. Memory: 16 bytes for each different size, at most 1 MB.
//! After Pipit's `message_histogram` (Bhatele et al., SC 2023). Sends are counted; who sends to whom is not.

mod fold;
mod output;
mod state;
#[cfg(test)]
mod tests;

pub use fold::MessageHistogram;
pub use output::{Histogram, MessageHistogramOutput};
pub use state::SizeCounts;
