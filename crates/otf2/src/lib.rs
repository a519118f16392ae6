//! Reader and writer of the Open Trace Format 2.
#![forbid(unsafe_code)]
