//! The fold: notes when each record of a message or collective was made.

use super::output::{ClockRepair, repair};
use super::points::{ClockRepairsLocal, ClockRepairsPartial, CollectivePoint, Dependencies, NONE};
use crate::communication_totals::peer_rank;
use crate::message_matching::{self, for_each_pair};
use ouzel_engine::{
    Analysis, AnalysisError, FinishCx, LocationCx, LocationSummary, Pairing, Scope, SettleCx,
};
use ouzel_model::{
    Collective, CollectiveRoot, Contents, EventChunk, EventKind, Needs, Remap, RequestEvent, Ticks,
};
use serde::{Deserialize, Serialize};

/// A correction of the clocks of the whole trace: what is selected plays no part.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct ClockRepairs {}

impl Analysis for ClockRepairs {
    type Local = ClockRepairsLocal;
    type Partial = ClockRepairsPartial;
    type Output = ClockRepair;
    const NAME: &'static str = "clock_repair";
    const PARTIAL_VERSION: u32 = 4;
    const SCOPE: Scope = Scope::Trace;

    fn needs(&self) -> Needs {
        Needs::MESSAGES | Needs::COLLECTIVES | Needs::CALL_PATHS | Needs::VISITS
    }

    fn speaks_of(&self) -> Contents {
        // Without messages there is nothing to repair.
        Contents::NONE
    }

    fn empty(&self) -> ClockRepairsPartial {
        ClockRepairsPartial::default()
    }

    fn begin(&self, _: &LocationCx<'_>) -> ClockRepairsLocal {
        ClockRepairsLocal::default()
    }

    fn fold(&self, local: &mut ClockRepairsLocal, chunk: &EventChunk<'_>) {
        local.nths.0.clear();
        message_matching::fold(&mut local.messages, &mut local.nths, chunk);
        let mut next_end = 0;
        let (mut collectives, mut requests) = (chunk.collectives.iter(), chunk.requests.iter());
        for (&kind, &at) in chunk.kind.iter().zip(chunk.time) {
            match kind {
                EventKind::MessageSend | EventKind::MessageRecv => {
                    let point = local.point(at);
                    let nth = local.nths.0[next_end] as usize;
                    next_end += 1;
                    let of_end = &mut local.points.of_end;
                    if of_end.len() <= nth {
                        of_end.resize(nth + 1, NONE);
                    }
                    of_end[nth] = point;
                }
                EventKind::Request => {
                    let point = local.point(at);
                    if let Some(request) = requests.next()
                        && request.event == RequestEvent::CollectivePosted
                    {
                        local.posted.insert(request.request, point);
                    }
                }
                EventKind::CollectiveBegin => local.begun = Some(local.point(at)),
                EventKind::CollectiveEnd => {
                    let point = local.point(at);
                    if let Some(end) = collectives.next() {
                        local.collective(end, point);
                    }
                }
                _ => {}
            }
        }
    }

    fn end(
        &self,
        local: ClockRepairsLocal,
        cx: &LocationCx<'_>,
        _: &LocationSummary,
        into: &mut ClockRepairsPartial,
    ) {
        let ClockRepairsLocal { messages, mut points, roots, .. } = local;
        messages.end(cx, &mut into.messages);
        if points.times.is_empty() {
            return;
        }
        let me = cx.definitions.location(cx.location).rank;
        for (part, root) in points.collectives.iter_mut().zip(roots) {
            part.root = match (root, me) {
                (CollectiveRoot::This, me) => me,
                (CollectiveRoot::Rank(rank), Some(me)) => peer_rank(cx.definitions, part.comm, me, rank),
                _ => None,
            };
        }
        into.locations.insert(cx.location, points);
    }

    fn remap(&self, partial: &mut ClockRepairsPartial, remap: &Remap) {
        partial.messages.remap(remap);
    }

    fn merge(&self, into: &mut ClockRepairsPartial, mut from: ClockRepairsPartial) {
        into.messages.merge(from.messages);
        into.matched.merge(from.matched);
        into.locations.append(&mut from.locations);
    }

    fn pairing(&self) -> Option<&dyn Pairing<ClockRepairsPartial>> {
        Some(self)
    }

    fn finish(&self, partial: ClockRepairsPartial, cx: &FinishCx<'_>) -> Result<ClockRepair, AnalysisError> {
        Ok(repair(&Dependencies::new(partial, cx), cx))
    }
}

impl Pairing<ClockRepairsPartial> for ClockRepairs {
    fn split(&self, rest: &mut ClockRepairsPartial, n_buckets: usize) -> Vec<ClockRepairsPartial> {
        let of_bucket = |messages| ClockRepairsPartial { messages, ..ClockRepairsPartial::default() };
        rest.messages.split(n_buckets).into_iter().map(of_bucket).collect()
    }

    fn settle(&self, mut bucket: ClockRepairsPartial, cx: &SettleCx<'_>) -> ClockRepairsPartial {
        let mut pairs = Vec::with_capacity(bucket.messages.n_ends() / 2);
        for_each_pair(&bucket.messages, cx.definitions, |pair| pairs.push(pair));
        bucket.matched.extend(pairs);
        bucket.messages.locations.clear();
        bucket
    }
}

impl ClockRepairsLocal {
    /// The next point. Kinds of rows that make one: see [`Corrector`](super::Corrector).
    fn point(&mut self, at: Ticks) -> u32 {
        let point = self.points.times.len() as u32;
        self.points.times.push(at);
        point
    }

    fn collective(&mut self, end: &Collective, point: u32) {
        let begin = match end.request {
            Some(request) => self.posted.remove(&request),
            None => self.begun.take(),
        };
        let moves_data = 0 < end.bytes_sent + end.bytes_received;
        let Collective { op, comm, root, .. } = *end;
        self.points.collectives.push(CollectivePoint { op, comm, root: None, moves_data, begin, end: point });
        self.roots.push(root);
    }
}
