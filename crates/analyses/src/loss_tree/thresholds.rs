//! All constants of the diagnosis, each with its source.

/// Which loss makes a call path worth showing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Significance {
    /// Its own imbalance, or waiting, is more than this part of the run time.
    Own(f64),
    /// The sum of imbalance, or waiting, below it is more than this part of the run time.
    Sum(f64),
}

/// Whether the time of a call path outside of its callees is a path of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SelfTime {
    /// It is: code between calls can be out of balance, too.
    Apart,
    /// It is not, as in the paper: sums are over callees.
    NotApart,
}

/// The constants of the diagnosis. All comparisons are strict.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Thresholds {
    /// Default: own loss above 0.1 % of the run time (paper, §4.3.2). Its slides have a sum above 1 %.
    pub significance: Significance,
    /// A loss comes from a path itself, and not from paths below it, if it is more than this part of their sum.
    /// Default 0.7 (paper and slides).
    pub origin_ratio: f64,
    /// A loss is high above this part of the run time. Default 0.01; the paper gives none, and with this its table 5
    /// leads to the diagnoses in its text.
    pub high_ratio: f64,
    /// The imbalance of a synchronisation is high only above this part of the imbalance before it: otherwise the
    /// imbalance was made up for before. Default 0.1, so that segment 1 of table 5 agrees with the text.
    /// Zero for the plain table.
    pub sync_ratio: f64,
    /// Default: [`SelfTime::Apart`].
    pub self_time: SelfTime,
}

impl Default for Thresholds {
    fn default() -> Self {
        Thresholds {
            significance: Significance::Own(0.001),
            origin_ratio: 0.7,
            high_ratio: 0.01,
            sync_ratio: 0.1,
            self_time: SelfTime::Apart,
        }
    }
}

impl Thresholds {
    /// As printed in the paper.
    pub fn paper() -> Self {
        Thresholds { self_time: SelfTime::NotApart, ..Thresholds::default() }
    }
}
