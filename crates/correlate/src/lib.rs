//! Which severity views of a profile vary over the topology of the machine like a given one, with chosen axes
//! filtered out in the frequency domain.
//!
//! ```text
//! profile rows ──grid──► views v(x) ──Fourier──► spectra V(k) ──filter, bound, inverse──► ranked list of |r_f|
//! ```
//!
//! The method is that of the poster on filtered correlation analysis; `docs/method.md` lists the differences. Law:
//! |r_f| ≤ 1; a view's scale, offset and toroidal shift do not change r_f, only the shift reported. Formats are read
//! and pictures drawn elsewhere.
#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod axes;
mod cache;
mod cache_files;
mod columns;
mod compare;
mod compute;
mod correlations;
mod fourier;
mod grid;
mod peaks;
mod query;
mod question;
mod ranking;
mod scan;
mod screen;
mod spectra;
mod views;
mod weights;

pub use axes::{AxisError, AxisSet};
pub use cache_files::{Cache, CacheOwner};
pub use correlations::{CacheUse, CorrelateError, Correlation, Correlations};
pub use grid::{Grid, GridError};
pub use query::{correlate, kept_totals};
pub use question::{Peak, Question, Run, View, Weights};
pub use views::view_on_grid;
