//! A trace on repaired clocks.
//!
//! One pass looks for records that come before what they depend on ([`clock_repair`](ouzel_analyses::clock_repair));
//! the source is then wrapped, so that all other code sees corrected times and is unaware of the repair. Law: a trace
//! without such a record is returned unchanged. Time ranges are in corrected time; only the engine applies them, as
//! readers know only recorded times.

use crate::{AskError, Options, Trace};
use ouzel_analyses::clock_repair::{ClockRepair, ClockRepairs, Corrector};
use ouzel_model::{
    ChunkBuffer, ChunkReader, Content, Definitions, Filter, Level, LocationId, Needs, Notice, NoticeCode,
    ReadError, ReadPlan, TraceSource,
};
use std::sync::{Arc, OnceLock};

/// A source whose times are corrected.
struct Repaired {
    inner: Box<dyn TraceSource>,
    notices: Vec<Notice>,
    repair: Arc<ClockRepair>,
}

/// The rows that corrections count must be present.
const SYNC_POINTS: Needs = Needs::MESSAGES.union(Needs::COLLECTIVES);

impl Trace {
    /// What is wrong with the clocks, and a correction. One pass over the whole trace, whatever the filter, on threads
    /// of this process. Memory grows with the number of messages and collectives, see
    /// [`clock_repair`](ouzel_analyses::clock_repair).
    ///
    /// # Errors
    /// If the pass was cancelled.
    pub fn clock_repair(&self, options: &Options<'_>) -> Result<ClockRepair, AskError> {
        let everything = Options { filter: Filter::default(), workers: None, ..options.clone() };
        Ok(self.ask(ClockRepairs::default(), &everything)?.output)
    }

    /// The trace with clocks on which no message is received before it is sent, and no process leaves a collective
    /// before those it waits for have arrived: [`clock_repair`](Trace::clock_repair), then
    /// [`on_clocks`](Trace::on_clocks).
    ///
    /// # Errors
    /// If the pass was cancelled.
    pub fn repair_clocks(self, options: &Options<'_>) -> Result<Trace, AskError> {
        let repair = self.clock_repair(options)?;
        Ok(self.on_clocks(repair))
    }

    /// The fingerprint of the trace as its files have it, before clocks were repaired: what others see who open it.
    pub fn recorded_fingerprint(&self) -> crate::workers::Fingerprint {
        self.recorded.unwrap_or_else(|| self.fingerprint())
    }

    /// The repairs that were made of its clocks, in order: [`on_clocks`](Trace::on_clocks) repeats them on the same files.
    pub fn repairs(&self) -> &[Arc<ClockRepair>] {
        &self.repairs
    }

    /// The trace with its times corrected. A notice reports what was found; without a violation nothing changes.
    #[must_use]
    pub fn on_clocks(self, repair: ClockRepair) -> Trace {
        self.on_shared_clocks(Arc::new(repair))
    }

    /// [`on_clocks`](Trace::on_clocks) with a shared correction.
    pub(crate) fn on_shared_clocks(self, repair: Arc<ClockRepair>) -> Trace {
        if repair.n_violations == 0 {
            return self;
        }
        let mut notices = self.source.notices().to_vec();
        notices.push(notice(&repair, self.definitions()));
        if 0 < repair.n_left {
            let message = "a record still comes before one that it depends on: such records depend on each other in a \
                           circle, so messages are paired wrongly";
            notices.push(Notice::new(Level::Medium, NoticeCode::MessageOrder, message).times(repair.n_left));
        }
        notices.sort_by(|a, b| (b.level, a.code).cmp(&(a.level, b.code)));
        let before = self.fingerprint();
        let fingerprint = OnceLock::from(before.on_clocks(&repair));
        let Trace { path, format, source, recorded, mut repairs, .. } = self;
        repairs.push(Arc::clone(&repair));
        let source = Box::new(Repaired { inner: source, notices, repair });
        let (of_definitions, recorded) = (OnceLock::new(), recorded.or(Some(before)));
        Trace { path, format, source, fingerprint, of_definitions, recorded, repairs }
    }
}

fn notice(repair: &ClockRepair, definitions: &Definitions) -> Notice {
    let worst_ns = definitions.clock.ns_from_ticks(repair.worst);
    let message = format!(
        "some of the {} message and collective records came before a record that they depend on, the worst by \
         {worst_ns} ns: clocks were wrong and have been repaired",
        repair.n_dependent
    );
    Notice::new(Level::Medium, NoticeCode::ClocksUnsynchronised, message).times(repair.n_violations)
}

impl TraceSource for Repaired {
    fn definitions(&self) -> &Definitions {
        self.inner.definitions()
    }

    fn notices(&self) -> &[Notice] {
        &self.notices
    }

    fn location_bytes(&self, location: LocationId) -> u64 {
        self.inner.location_bytes(location)
    }

    fn is_sampled(&self, location: LocationId) -> bool {
        self.inner.is_sampled(location)
    }

    fn completes_calls(&self, location: LocationId) -> bool {
        self.inner.completes_calls(location)
    }

    fn lacks(&self, content: Content) -> Option<String> {
        self.inner.lacks(content)
    }

    fn open(&self, location: LocationId, plan: &ReadPlan) -> Result<Box<dyn ChunkReader + '_>, ReadError> {
        // Times of the recorded clocks lie elsewhere.
        let inner = self.inner.open(location, &ReadPlan::all(plan.needs | SYNC_POINTS))?;
        Ok(match self.repair.corrections.get(&location) {
            Some(correction) => Box::new(RepairedReader { inner, corrector: Corrector::new(correction) }),
            None => inner,
        })
    }
}

struct RepairedReader<'r> {
    inner: Box<dyn ChunkReader + 'r>,
    corrector: Corrector<'r>,
}

impl ChunkReader for RepairedReader<'_> {
    fn read(&mut self, buffer: &mut ChunkBuffer) -> Result<bool, ReadError> {
        let more = self.inner.read(buffer);
        let first = buffer.span.map(|(first, _)| self.corrector.between(first));
        for (time, &kind) in buffer.time.iter_mut().zip(&buffer.kind) {
            *time = self.corrector.time(*time, kind);
        }
        if let Some((_, last)) = buffer.span {
            // The first record may be the one that jumps.
            let first = first.into_iter().chain(buffer.time.first().copied()).min().unwrap_or(last);
            let last = self.corrector.between(last);
            buffer.span = Some((first.min(last), last));
        }
        more
    }

    fn notices(&mut self) -> Vec<Notice> {
        self.inner.notices()
    }
}
