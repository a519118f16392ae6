//! What locations do over time, who sends to whom, and the critical path over it.

use crate::axis::Scale;
use crate::colour::{Colour, of_region};
use crate::lanes::{Arrow, Interval, Lanes};
use crate::{Marks, Picture};
use ouzel_analyses::critical_path::CriticalPathOutput;
use ouzel_analyses::paired_operations::OperationsOutput;
use ouzel_analyses::semantics::Class;
use ouzel_analyses::timeline::{TimelineOutput, TimelineRow};
use ouzel_model::{CallPathId, CallPathTree, Definitions, LocationId, RegionId, Ticks};
use std::collections::BTreeMap;

/// Regions that the legend names, most time first.
const MAX_LEGEND: usize = 16;
/// Depths that are drawn.
const MAX_DEPTH: usize = 48;

/// What a row of the picture is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimelineRows {
    /// A location, with its innermost call.
    Locations,
    /// A depth of the calls of the first location of the smallest rank: flames over time.
    Depths,
}

/// What is drawn over the rows of locations.
#[derive(Debug, Clone, Copy, Default)]
pub struct Connections<'a> {
    /// Messages as arrows from the enter of the sending call to the leave of the receiving one.
    pub messages: Option<&'a OperationsOutput>,
    /// The critical path.
    pub path: Option<&'a CriticalPathOutput>,
}

/// The state of each location at each instant of the timeline's grid. `classes` has the class of every region.
pub fn timeline(
    output: &TimelineOutput,
    definitions: &Definitions,
    classes: &[Class],
    rows: TimelineRows,
    connections: Connections<'_>,
    of: &str,
) -> Picture {
    let ns = |ticks| definitions.clock.ns_from_ticks(ticks) as f64;
    let range = (ns(output.at(0)), ns(output.at(output.n_columns)));
    let scale = Scale::of_ns(range.1);
    let draft = Draft { output, definitions, classes, divisor: scale.divisor };
    let rows_by_rank = output.rows_by_rank(definitions);
    let of_depths = rows_by_rank.first().map(|row| row.location).filter(|_| rows == TimelineRows::Depths);
    let (names, mut intervals, locations) = match of_depths {
        None => draft.by_location(&rows_by_rank),
        Some(location) => draft.by_depth(location),
    };
    intervals
        .sort_by(|a, b| (a.range.0, a.lane).partial_cmp(&(b.range.0, b.lane)).expect("times are numbers"));
    let lane = |location: LocationId| locations.iter().position(|&of| of == location);
    let mut legend = draft.legend();
    let arrows = connections.messages.map(|operations| draft.arrows(operations, lane)).unwrap_or_default();
    let path = connections.path.map(|path| draft.path(path, lane)).unwrap_or_default();
    if !path.is_empty() {
        legend.insert(0, (path_colour(), "critical path".to_owned()));
    }
    let (title, y_name) = match of_depths {
        None => ("What every location does over time".to_owned(), "rank".to_owned()),
        Some(location) => {
            let name = draft.name(location);
            (format!("The calls of {name} over time"), "depth of the call".to_owned())
        }
    };
    let lanes = Lanes {
        x_name: format!("time since the trace start ({})", scale.unit),
        y_name,
        names,
        range: (range.0 / scale.divisor, range.1 / scale.divisor),
        intervals,
        arrows,
        path,
        legend,
    };
    Picture::new(title, of, Marks::Lanes(lanes))
}

fn path_colour() -> Colour {
    Colour::oklch(0.35, 0.20, 300.0)
}

/// The data from which the parts of the picture are drawn.
struct Draft<'a> {
    output: &'a TimelineOutput,
    definitions: &'a Definitions,
    classes: &'a [Class],
    divisor: f64,
}

/// Names of the lanes, what is on them, and which locations they are.
type LaneRows = (Vec<String>, Vec<Interval>, Vec<LocationId>);

impl Draft<'_> {
    fn time(&self, ticks: Ticks) -> f64 {
        self.definitions.clock.ns_from_ticks(ticks) as f64 / self.divisor
    }

    fn colour(&self, region: Option<RegionId>) -> Colour {
        let named =
            |region: RegionId| of_region(&self.definitions.region(region).name, self.classes[region.index()]);
        region.map_or(Colour::OUTSIDE, named)
    }

    fn region(&self, path: CallPathId) -> Option<RegionId> {
        self.output.call_paths.region(path)
    }

    /// `rank`, or `rank name` where a rank has several locations.
    fn name(&self, location: LocationId) -> String {
        let defined = self.definitions.location(location);
        let is_alone = |of: &TimelineRow| {
            of.location == location || self.definitions.location(of.location).rank != defined.rank
        };
        match defined.rank {
            Some(rank) if self.output.rows.iter().all(is_alone) => rank.0.to_string(),
            Some(rank) => format!("{} {}", rank.0, defined.name),
            None => defined.name.to_string(),
        }
    }

    fn by_location(&self, rows: &[&TimelineRow]) -> LaneRows {
        let mut intervals = Vec::new();
        for (lane, row) in rows.iter().enumerate() {
            let mut column = 0;
            for run in &row.runs {
                let range =
                    (self.time(self.output.at(column)), self.time(self.output.at(column + run.n_columns)));
                column += run.n_columns;
                if let Some(path) = run.call_path {
                    intervals.push(Interval {
                        lane,
                        from_lane: None,
                        range,
                        colour: self.colour(self.region(path)),
                    });
                }
            }
        }
        let names = rows.iter().map(|row| crate::canvas::shortened(&self.name(row.location), 12)).collect();
        (names, intervals, rows.iter().map(|row| row.location).collect())
    }

    /// Frames of the same call path at a depth are one interval as long as no instant shows another.
    fn by_depth(&self, location: LocationId) -> LaneRows {
        let mut open: Vec<(CallPathId, u32)> = Vec::new();
        let mut found: Vec<(usize, CallPathId, u32, u32)> = Vec::new();
        let mut column = 0;
        let runs = self.output.row(location).map(|row| &row.runs[..]).unwrap_or_default();
        for run in runs {
            let mut frames = Vec::new();
            let mut at = run.call_path;
            while let Some(path) = at.filter(|&path| path != CallPathTree::ROOT) {
                frames.push(path);
                at = Some(self.output.call_paths.parent(path));
            }
            frames.reverse();
            frames.truncate(MAX_DEPTH);
            let n_same = open.iter().zip(&frames).take_while(|((path, _), frame)| path == *frame).count();
            found.extend(
                open.drain(n_same..).zip(n_same..).map(|((path, from), depth)| (depth, path, from, column)),
            );
            open.extend(frames[n_same..].iter().map(|&path| (path, column)));
            column += run.n_columns;
        }
        found.extend(open.drain(..).zip(0..).map(|((path, from), depth)| (depth, path, from, column)));
        let n_depths = found.iter().map(|&(depth, ..)| depth + 1).max().unwrap_or(1);
        let interval = |(lane, path, from, to): (usize, CallPathId, u32, u32)| {
            let range = (self.time(self.output.at(from)), self.time(self.output.at(to)));
            Interval { lane, from_lane: None, range, colour: self.colour(self.region(path)) }
        };
        let names = (0..n_depths).map(|depth| depth.to_string()).collect();
        (names, found.into_iter().map(interval).collect(), Vec::new())
    }

    fn arrows(
        &self,
        operations: &OperationsOutput,
        lane: impl Fn(LocationId) -> Option<usize>,
    ) -> Vec<Arrow> {
        let messages = operations.messages.iter().filter_map(|message| {
            let send = &operations.operations[message.send as usize];
            let receive = &operations.operations[message.receive as usize];
            if !send.is_selected && !receive.is_selected {
                return None;
            }
            // Calls from before the time range, or that go on after it, are drawn from border to border.
            let inside =
                |at: Ticks| operations.window.map_or(at, |window| at.max(window.start).min(window.end));
            Some(Arrow {
                from: (self.time(inside(send.enter)), lane(send.location)?),
                to: (self.time(inside(receive.leave)), lane(receive.location)?),
            })
        });
        messages.collect()
    }

    fn path(&self, path: &CriticalPathOutput, lane: impl Fn(LocationId) -> Option<usize>) -> Vec<Interval> {
        let parts = path.segments.iter().filter_map(|segment| {
            Some(Interval {
                lane: lane(segment.location)?,
                from_lane: segment.from.and_then(&lane),
                range: (self.time(segment.range.start), self.time(segment.range.end)),
                colour: path_colour(),
            })
        });
        parts.collect()
    }

    /// The regions by the area that they take.
    fn legend(&self) -> Vec<(Colour, String)> {
        let mut area: BTreeMap<RegionId, u64> = BTreeMap::new();
        let mut outside = 0;
        for run in self.output.rows.iter().flat_map(|row| &row.runs) {
            match run.call_path.map(|path| self.region(path)) {
                Some(Some(region)) => *area.entry(region).or_default() += u64::from(run.n_columns),
                Some(None) => outside += u64::from(run.n_columns),
                None => {}
            }
        }
        let mut regions: Vec<(RegionId, u64)> = area.into_iter().collect();
        regions.sort_by_key(|&(region, n)| (std::cmp::Reverse(n), region));
        let mut legend: Vec<(Colour, String)> = regions
            .iter()
            .take(MAX_LEGEND)
            .map(|&(region, _)| (self.colour(Some(region)), self.definitions.region(region).name.to_string()))
            .collect();
        if MAX_LEGEND < regions.len() {
            let name = format!("and {} more regions", regions.len() - MAX_LEGEND);
            legend.push((Colour::INSIGNIFICANT, name));
        }
        if 0 < outside {
            legend.push((Colour::OUTSIDE, "in no region".to_owned()));
        }
        legend
    }
}
