//! From results of analyses to a report.
