//! One pass over a trace for any number of analyses.
