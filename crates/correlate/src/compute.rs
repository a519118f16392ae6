//! From rows to answers, and to a file of spectra where that pays.
//!
//! A round of views is in memory while the next is read: spectrum, bound, R, one view a thread. Spectra wait in
//! memory until there are enough of them that a file pays.

use crate::cache::Writing;
use crate::compare::{Buffers, Reference};
use crate::ranking::Ranking;
use crate::scan::Scan;
use crate::spectra::{Plane, Portrait, checksum, join, split};
use crate::views::Variation;
use crate::{Cache, CorrelateError, Correlation, Run, View};
use num_complex::Complex;
use std::fs::File;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Values that the views of a round hold together, at most, but one view: 256 MB.
const ROUND_VALUES: usize = 1 << 25;
/// Views of a round, at most.
const ROUND_VIEWS: usize = 64;

/// How far it went.
#[derive(Debug, Default)]
pub struct Counts {
    /// Views, without the reference.
    pub n_views: u64,
    /// Those whose R was computed.
    pub n_transformed: u64,
}

/// Where spectra go.
#[derive(Debug)]
pub enum Sink<'a> {
    /// Nowhere.
    None,
    /// Into memory, until they are worth a file; into that then.
    Waiting {
        /// The file.
        cache: &'a Cache,
        /// What waits.
        planes: Vec<(Plane, Plane)>,
        /// Of all views so far.
        portraits: Vec<Portrait>,
    },
    /// Into a file.
    Writing {
        /// The file.
        file: Writing<'a>,
        /// Of all views so far.
        portraits: Vec<Portrait>,
    },
    /// They could not be written.
    Failed(io::Error),
}

/// What became of one view.
struct Done {
    at: usize,
    is_reference: bool,
    correlation: Option<Correlation>,
    portrait: Option<Portrait>,
    planes: Option<(Plane, Plane)>,
    failure: Option<io::Error>,
}

/// One round, shared by threads.
struct Round<'a> {
    reference: &'a Reference<'a>,
    slots: Vec<Mutex<Option<(View, Variation)>>>,
    next: AtomicUsize,
    threshold: f64,
    /// Number of views before.
    first: usize,
    sink: &'a Sink<'a>,
}

/// Compares every view of a scan with the reference.
pub fn compute(
    scan: &mut Scan<'_>,
    reference: &Reference<'_>,
    run: &Run<'_>,
    sink: &mut Sink<'_>,
    ranking: &mut Ranking<'_>,
) -> Result<Counts, CorrelateError> {
    let n_round = (ROUND_VALUES / reference.shape.n_places()).clamp(1, ROUND_VIEWS);
    let mut counts = Counts::default();
    let mut n_done = 0;
    let mut coming = scan.round(n_round)?;
    while !coming.is_empty() {
        let n = coming.len();
        let slots = coming.into_iter().map(|view| Mutex::new(Some(view))).collect();
        let threshold = ranking.threshold();
        let round = Round { reference, slots, next: AtomicUsize::new(0), threshold, first: n_done, sink };
        let (done, next) = std::thread::scope(|scope| {
            let others: Vec<_> = (1..run.jobs.get().min(n)).map(|_| scope.spawn(|| round.work())).collect();
            let next = scan.round(n_round);
            let mut done = round.work();
            for other in others {
                done.extend(other.join().expect("comparing does not panic"));
            }
            done.sort_unstable_by_key(|done| done.at);
            (done, next)
        });
        coming = next?;
        n_done += n;
        for mut done in done {
            counts.n_views += u64::from(!done.is_reference);
            counts.n_transformed += u64::from(done.correlation.is_some());
            if let Some(row) = done.correlation.take() {
                ranking.add(row);
            }
            sink.take(done, reference.shape.n_half());
        }
        if run.progress.is_some_and(|progress| !progress(n_done as u64, scan.n_at_most())) {
            return Err(CorrelateError::Cancelled);
        }
    }
    Ok(counts)
}

impl Round<'_> {
    /// Takes views until there is none.
    fn work(&self) -> Vec<Done> {
        let mut buffers = self.reference.buffers();
        let mut planes = (Plane::new(), Plane::new());
        let mut file = match self.sink {
            Sink::Writing { file, .. } => Some(file.file()),
            Sink::None | Sink::Waiting { .. } | Sink::Failed(_) => None,
        };
        let mut done = Vec::new();
        loop {
            let at = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(slot) = self.slots.get(at) else { return done };
            let taken = slot.lock().unwrap_or_else(PoisonError::into_inner).take();
            let Some((view, variation)) = taken else { continue };
            done.push(self.one(at, view, variation, (&mut buffers, &mut planes), &mut file));
        }
    }

    fn one(
        &self,
        at: usize,
        view: View,
        variation: Variation,
        (buffers, planes): (&mut Buffers, &mut (Plane, Plane)),
        file: &mut Option<io::Result<File>>,
    ) -> Done {
        let Reference { shape, transforms, question, .. } = self.reference;
        let Variation { mut values, square_mean, coverage, total, .. } = variation;
        transforms.forward(&mut values, &mut buffers.spectrum, &mut buffers.scratch);
        drop(values);
        let (coarse, fine) = planes;
        split(&buffers.spectrum, coarse, fine);
        join(coarse, fine, &mut buffers.spectrum);
        let is_reference = view == question.reference;
        let mut done =
            Done { at, is_reference, correlation: None, portrait: None, planes: None, failure: None };
        if matches!(self.sink, Sink::Waiting { .. } | Sink::Writing { .. }) {
            let mut portrait = Portrait::new(view, shape, &buffers.spectrum, (coverage, square_mean, total));
            portrait.sums = [checksum(coarse), checksum(fine)];
            done.portrait = Some(portrait);
        }
        match (self.sink, file) {
            (Sink::Writing { file, .. }, Some(Ok(open))) => {
                done.failure = file.write(open, self.first + at, coarse, fine).err();
            }
            (_, Some(Err(error))) => done.failure = Some(io::Error::new(error.kind(), error.to_string())),
            (Sink::Waiting { .. }, _) => done.planes = Some((coarse.clone(), fine.clone())),
            _ => {}
        }
        if !is_reference {
            done.correlation = self.reference.compare(view, (coverage, square_mean), self.threshold, buffers);
        }
        done
    }
}

impl Sink<'_> {
    /// Takes what is to be kept of a view.
    fn take(&mut self, done: Done, n_half: usize) {
        if let Some(error) = done.failure {
            *self = Sink::Failed(error);
        }
        match self {
            Sink::None | Sink::Failed(_) => {}
            Sink::Writing { file, portraits } => {
                // Of the round in which the file was begun.
                let late = done.planes.map_or(Ok(()), |(coarse, fine)| {
                    file.write(&mut file.file()?, portraits.len(), &coarse, &fine)
                });
                portraits.extend(done.portrait);
                if let Err(error) = late {
                    *self = Sink::Failed(error);
                }
            }
            Sink::Waiting { cache, planes, portraits } => {
                portraits.extend(done.portrait);
                planes.extend(done.planes);
                let n_bytes = planes.len() * n_half * 2 * size_of::<Complex<f32>>();
                if cache.min_bytes() <= n_bytes as u64 {
                    *self = begin(cache, &std::mem::take(planes), std::mem::take(portraits), n_half)
                        .unwrap_or_else(Sink::Failed);
                }
            }
        }
    }
}

/// Begins a file with what waited.
fn begin<'a>(
    cache: &'a Cache,
    planes: &[(Plane, Plane)],
    portraits: Vec<Portrait>,
    n_half: usize,
) -> io::Result<Sink<'a>> {
    let writing = Writing::begin(cache, n_half)?;
    let mut file = writing.file()?;
    for (at, (coarse, fine)) in planes.iter().enumerate() {
        writing.write(&mut file, at, coarse, fine)?;
    }
    Ok(Sink::Writing { file: writing, portraits })
}
