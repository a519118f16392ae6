//! Whole profiles: what the answer says of them.
