//! The forward part of the controlled logical clock: points move to where nothing is before its cause.
//!
//! Locations advance point by point. One that comes to a point whose cause is not yet corrected waits; when none can
//! go on, causes form a circle, and the first location that waits goes on without. Law: the result does not depend
//! on the order in which locations are taken, but for circles, where the order is that of the locations.

use super::line::{Jump, after};
use super::points::{Cause, Dependencies, Point};
use ouzel_model::Ticks;
use rustc_hash::FxHashMap;
use std::collections::{BTreeSet, VecDeque};

/// How far one location is.
struct Progress {
    /// The next point.
    next: u32,
    /// The next entry of its causes.
    next_cause: usize,
    jump: Jump,
}

/// Begins that are waited for together.
#[derive(Clone, Copy)]
struct Gathering {
    n_missing: u32,
    latest: Ticks,
}

struct Clock<'d> {
    dependencies: &'d Dependencies,
    on_line: &'d [Vec<Ticks>],
    /// Corrected times of the points done.
    done: Vec<Vec<Ticks>>,
    gatherings: Vec<Gathering>,
    /// The gatherings that a point is part of.
    gathered: FxHashMap<Point, Vec<u32>>,
    /// Who waits for a point, or for a gathering.
    waiting: FxHashMap<Point, Vec<u32>>,
    waiting_for_all: FxHashMap<u32, Vec<u32>>,
    ready: VecDeque<u32>,
    jumps: Vec<Vec<Jump>>,
}

/// The jumps of each location, and the number of violations that are left.
pub(super) fn jumps(dependencies: &Dependencies, on_line: &[Vec<Ticks>]) -> (Vec<Vec<Jump>>, u64) {
    let n = dependencies.locations.len();
    let mut gathered: FxHashMap<Point, Vec<u32>> = FxHashMap::default();
    for (i, points) in (0..).zip(&dependencies.gatherings) {
        points.iter().for_each(|&point| gathered.entry(point).or_default().push(i));
    }
    let gathering = |points: &Vec<Point>| Gathering { n_missing: points.len() as u32, latest: Ticks(0) };
    let mut clock = Clock {
        dependencies,
        on_line,
        done: on_line.iter().map(|times| Vec::with_capacity(times.len())).collect(),
        gatherings: dependencies.gatherings.iter().map(gathering).collect(),
        gathered,
        waiting: FxHashMap::default(),
        waiting_for_all: FxHashMap::default(),
        ready: (0..n as u32).collect(),
        jumps: vec![Vec::new(); n],
    };
    let nowhere = Jump { point: 0, from: Ticks(0), to: Ticks(0) };
    let mut progress: Vec<Progress> =
        (0..n).map(|_| Progress { next: 0, next_cause: 0, jump: nowhere }).collect();
    let mut unfinished: BTreeSet<u32> = (0..n as u32).collect();
    loop {
        while let Some(location) = clock.ready.pop_front() {
            if clock.advance(location, &mut progress[location as usize], false) {
                unfinished.remove(&location);
            }
        }
        let Some(&first) = unfinished.first() else { break };
        if clock.advance(first, &mut progress[first as usize], true) {
            unfinished.remove(&first);
        }
    }
    let at = |(location, point): Point| clock.done[location as usize][point as usize].0;
    let (n_left, _) = dependencies.violations(at);
    (clock.jumps, n_left)
}

impl Clock<'_> {
    /// Goes on until the end, or a cause that is not done; `true` at the end. The first point goes without its cause
    /// if `is_forced`.
    fn advance(&mut self, location: u32, progress: &mut Progress, mut is_forced: bool) -> bool {
        let on_line = &self.on_line[location as usize];
        let causes = &self.dependencies.causes[location as usize];
        while let Some(&at) = on_line.get(progress.next as usize) {
            let point = (location, progress.next);
            let mut time = after(progress.jump, at);
            while let Some(&(_, cause)) = causes.get(progress.next_cause).filter(|cause| cause.0 == point.1) {
                match self.time_of(cause) {
                    Some(cause) => time = time.max(cause),
                    None if is_forced => {}
                    None => {
                        self.wait(cause, location);
                        return false;
                    }
                }
                progress.next_cause += 1;
            }
            is_forced = false;
            if after(progress.jump, at) < time {
                progress.jump = Jump { point: point.1, from: at, to: time };
                self.jumps[location as usize].push(progress.jump);
            }
            progress.next += 1;
            self.finish(point, time);
        }
        true
    }

    fn time_of(&self, cause: Cause) -> Option<Ticks> {
        match cause {
            Cause::Point((location, point)) => self.done[location as usize].get(point as usize).copied(),
            Cause::Gathering(i) => {
                let Gathering { n_missing, latest } = self.gatherings[i as usize];
                (n_missing == 0).then_some(latest)
            }
        }
    }

    fn wait(&mut self, cause: Cause, location: u32) {
        match cause {
            Cause::Point(point) => self.waiting.entry(point).or_default().push(location),
            Cause::Gathering(i) => self.waiting_for_all.entry(i).or_default().push(location),
        }
    }

    fn finish(&mut self, point: Point, time: Ticks) {
        self.done[point.0 as usize].push(time);
        self.ready.extend(self.waiting.remove(&point).into_iter().flatten());
        for i in self.gathered.get(&point).into_iter().flatten() {
            let gathering = &mut self.gatherings[*i as usize];
            gathering.n_missing -= 1;
            gathering.latest = gathering.latest.max(time);
            if gathering.n_missing == 0 {
                self.ready.extend(self.waiting_for_all.remove(i).into_iter().flatten());
            }
        }
    }
}
