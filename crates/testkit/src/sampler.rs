//! Samples taken of an exact trace, as a sampling tracer would have taken them of the same run.
//!
//! Each location is interrupted on its own, beginning anywhere in the first period. A sample shows the calls that are
//! open, and how many of the outermost ones were open at the sample before; a loop leaves no mark of its own, so the
//! innermost frame that is known to have stayed is never a loop. Law: the samples depend on the trace and the seed alone.

use crate::{Rng, ToyEvent, ToyPayload, ToyTrace};
use ouzel_model::{Lca, LocationId, LocationKind, RegionId, RegionRole, Sample, Ticks, TraceSource};

/// What the tracer records of the frames that stayed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SampledLca {
    /// Their number.
    Exact,
    /// A bound: frames beyond did not stay.
    AtMost,
    /// Nothing.
    Nothing,
}

/// How samples are taken.
#[derive(Debug, Clone, Copy)]
pub struct Sampler {
    /// Ticks between samples.
    pub period: u64,
    /// Most ticks by which a sample is early or late; less than half of the period.
    pub jitter: u64,
    /// Of a thousand samples, how many are lost.
    pub lost_per_mille: u64,
    /// What is recorded of the frames that stayed.
    pub lca: SampledLca,
    /// Where sampling begins, jitter and losses.
    pub seed: u64,
}

/// A call that is open.
struct OpenFrame {
    region: RegionId,
    is_loop: bool,
    /// Distinguishes it from every other call of the location.
    instance: usize,
    /// The line of the call in the caller.
    line: Option<u32>,
    /// What it called so far.
    callees: Vec<RegionId>,
}

/// The line at which a call of the first region calls the second for the n-th time.
pub(crate) type CallLine<'a> = &'a dyn Fn(RegionId, RegionId, usize) -> Option<u32>;

impl Sampler {
    /// Regular samples without losses that record what stayed.
    pub fn every(period: u64, seed: u64) -> Self {
        Sampler { period, jitter: 0, lost_per_mille: 0, lca: SampledLca::Exact, seed }
    }

    /// The same locations with samples alone. `line` is the line at which a call of the first region calls the second
    /// for the n-th time, from 0; loops have their own line.
    pub fn samples(&self, exact: &ToyTrace, line: CallLine<'_>) -> ToyTrace {
        let mut sampled = exact.clone();
        for location in exact.definitions().location_ids() {
            let events = self.of_location(exact, location, line, &mut sampled);
            sampled.definitions_mut().locations[location.index()].declared_events = Some(events.len() as u64);
            *sampled.events_mut(location) = events;
        }
        sampled
    }

    /// The same with samples of all but the streams of accelerators, of which tracers record exact times.
    pub fn samples_of_threads(&self, exact: &ToyTrace, line: CallLine<'_>) -> ToyTrace {
        let mut sampled = self.samples(exact, line);
        let is_stream =
            |id: &LocationId| exact.definitions().location(*id).kind == LocationKind::AcceleratorStream;
        for location in exact.definitions().location_ids().filter(is_stream) {
            let events = exact.events(location).to_vec();
            sampled.definitions_mut().locations[location.index()].declared_events = Some(events.len() as u64);
            *sampled.events_mut(location) = events;
        }
        sampled
    }

    /// The same locations with samples beside the recorded calls of the regions that `is_recorded` names.
    pub fn samples_beside_calls(
        &self,
        exact: &ToyTrace,
        line: CallLine<'_>,
        is_recorded: impl Fn(&str) -> bool,
    ) -> ToyTrace {
        let mut sampled = self.samples(exact, line);
        for location in exact.definitions().location_ids() {
            let mut open = Vec::new();
            let is_kept = |event: &&ToyEvent| match event.what {
                ToyPayload::Enter(region) => {
                    open.push(region);
                    is_recorded(&exact.definitions().region(region).name)
                }
                ToyPayload::Leave(_) => {
                    let region = open.pop();
                    region.is_some_and(|region| is_recorded(&exact.definitions().region(region).name))
                }
                _ => true,
            };
            let recorded: Vec<ToyEvent> = exact.events(location).iter().filter(is_kept).cloned().collect();
            let events = sampled.events_mut(location);
            // A sample at the time of an event comes after it.
            events.splice(0..0, recorded);
            events.sort_by_key(|event| event.time);
            let n = events.len() as u64;
            sampled.definitions_mut().locations[location.index()].declared_events = Some(n);
        }
        sampled.completing_calls()
    }

    fn of_location(
        &self,
        exact: &ToyTrace,
        location: LocationId,
        line: CallLine<'_>,
        sampled: &mut ToyTrace,
    ) -> Vec<ToyEvent> {
        let events = exact.events(location);
        let (Some(first), Some(last)) = (events.first(), events.last()) else { return Vec::new() };
        let mut rng = Rng::new(self.seed.wrapping_mul(0x1_0001).wrapping_add(u64::from(location.0)));
        let offset = rng.below(self.period);
        let (mut open, mut before): (Vec<OpenFrame>, Option<Vec<usize>>) = (Vec::new(), None);
        let (mut at, mut samples) = (0, Vec::new());
        for n in 0.. {
            let due = first.time.0 + offset + n * self.period;
            let time = due + rng.below(2 * self.jitter + 1) - self.jitter.min(due);
            let is_lost = rng.below(1000) < self.lost_per_mille;
            if last.time.0 <= time {
                break;
            }
            while at < events.len() && events[at].time.0 <= time {
                step(&mut open, &events[at], at, exact, line);
                at += 1;
            }
            if is_lost {
                continue;
            }
            let lca = self.lca(before.as_deref(), &open);
            before = Some(open.iter().map(|frame| frame.instance).collect());
            let mut frames: Vec<(RegionId, Option<u32>)> = Vec::new();
            for frame in &open {
                if let Some((_, of_call)) = frames.last_mut() {
                    *of_call = frame.line;
                }
                frames.push((frame.region, None));
            }
            let context = sampled.sampled_context(&frames);
            let sample = Sample { row: 0, context, lca, generator: None };
            samples.push(ToyEvent { time: Ticks(time), what: ToyPayload::Sample(sample) });
        }
        samples
    }

    fn lca(&self, before: Option<&[usize]>, open: &[OpenFrame]) -> Lca {
        let Some(before) = before else { return Lca::Unknown };
        let stayed = open.iter().zip(before).take_while(|(frame, instance)| frame.instance == **instance);
        let mut n = stayed.count();
        while 0 < n && open[n - 1].is_loop {
            n -= 1;
        }
        match self.lca {
            SampledLca::Exact => Lca::Exact(n as u32),
            SampledLca::AtMost => Lca::AtMost(n as u32),
            SampledLca::Nothing => Lca::Unknown,
        }
    }
}

fn step(open: &mut Vec<OpenFrame>, event: &ToyEvent, at: usize, exact: &ToyTrace, line: CallLine<'_>) {
    match event.what {
        ToyPayload::Enter(region) => {
            let is_loop = exact.definitions().region(region).role == RegionRole::Loop;
            let line = open.last_mut().and_then(|caller| {
                let nth = caller.callees.iter().filter(|callee| **callee == region).count();
                caller.callees.push(region);
                line(caller.region, region, nth)
            });
            open.push(OpenFrame { region, is_loop, instance: at, line, callees: Vec::new() });
        }
        ToyPayload::Leave(_) => {
            open.pop();
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(sampler: Sampler) -> Vec<(u64, usize, Lca)> {
        let text = "0: enter main @0, enter l @0, enter a @0, leave @25, enter a @25, leave @60, leave @60, leave @100";
        let mut exact = ToyTrace::new(text);
        let looped = exact.region("l");
        exact.definitions_mut().regions[looped.index()].role = RegionRole::Loop;
        let sampled = sampler.samples(&exact, &|_, _, _| Some(7));
        let of = |event: &ToyEvent| match &event.what {
            ToyPayload::Sample(sample) => {
                let context = sample.context.map(|id| sampled.definitions().sampled_contexts.get(id));
                (event.time.0, context.map_or(0, |context| context.depth as usize), sample.lca)
            }
            other => panic!("{other:?}"),
        };
        sampled.events(LocationId(0)).iter().map(of).collect()
    }

    #[test]
    fn samples_show_what_is_open_and_what_stayed() {
        let found = samples(Sampler::every(10, 3));
        let (first, _, _) = found[0];
        assert!(first < 10);
        let depth = |time: u64| if time < 60 { 3 } else { 1 };
        let stayed = |time: u64| match time {
            _ if time < 25 => 3,
            // Another call of `a`, in a loop that leaves no mark.
            _ if time < 35 => 1,
            _ if time < 60 => 3,
            _ => 1,
        };
        let expected: Vec<_> = (0..10)
            .map(|i| (first + 10 * i, if i == 0 { Lca::Unknown } else { Lca::Exact(stayed(first + 10 * i)) }))
            .map(|(time, lca)| (time, depth(time), lca))
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn jitter_and_losses_keep_the_order() {
        let sampler =
            Sampler { jitter: 4, lost_per_mille: 300, lca: SampledLca::AtMost, ..Sampler::every(10, 5) };
        let found = samples(sampler);
        assert!(found.len() < 10 && found.windows(2).all(|pair| pair[0].0 <= pair[1].0), "{found:?}");
        assert!(found[1..].iter().all(|(_, _, lca)| matches!(lca, Lca::AtMost(_))));
        assert!(samples(Sampler { lca: SampledLca::Nothing, ..sampler }).iter().all(|s| s.2 == Lca::Unknown));
    }
}
