//! The analyses: folds over events and functions over their results.
