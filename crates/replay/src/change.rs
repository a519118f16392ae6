//! Changes of a program, and what they make of the pieces.

use crate::edit::{Edit, EditedCode};
use crate::error::ChangeError;
use crate::graph::Graph;
use crate::network::{Network, NetworkFit};
use crate::pieces::Pieces;
use crate::replayed::Replayed;
use ouzel_model::{CallPathId, RankSet, Ticks, TimeRange, short_name};
use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

/// Of more shares than one in so many, all are looked at rather than some sorted.
const MANY: usize = 8;

/// Something that somebody could change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// The code takes `denominator / numerator` of its time: `2/1` is twice as fast. On each rank the sum is rounded
    /// down.
    Faster {
        /// The code.
        code: Code,
        /// How many times faster,
        numerator: u64,
        /// divided by this.
        denominator: u64,
    },
    /// The code takes no time.
    Removed(Code),
    /// In each phase between synchronisations of all ranks, each rank that runs the code takes the mean over all ranks.
    /// Ranks that do not run it count as zero and get nothing.
    Balanced(Code),
    /// Another network.
    Network(Network),
}

/// Code that is changed: the exclusive time of a region wherever it is called (`solve`), of one call path
/// (`main/step/solve`), or of either with all that it calls except MPI and waiting (`solve/**`); `@0-3` limits it to ranks.
/// Functions of C++ may be named without their parameters, as pages show them, unless that is another's whole name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Code {
    /// The region or call path.
    name: String,
    with_callees: bool,
    ranks: Option<RankSet>,
}

impl FromStr for Code {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        // What follows the last @ may belong to the name.
        let of_ranks = text.rsplit_once('@').and_then(|(name, ranks)| Some((name, ranks.parse().ok()?)));
        let (name, ranks) = of_ranks.map_or((text, None), |(name, ranks)| (name, Some(ranks)));
        let with_callees = name.strip_suffix("/**");
        let name = with_callees.unwrap_or(name).to_owned();
        Ok(Code { name, with_callees: with_callees.is_some(), ranks })
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        if self.with_callees {
            f.write_str("/**")?;
        }
        self.ranks.as_ref().map_or(Ok(()), |ranks| write!(f, "@{ranks}"))
    }
}

impl Change {
    /// From `CODE=FACTOR`.
    ///
    /// # Errors
    /// If it has another form, or the factor is no number above zero.
    pub fn faster(text: &str) -> Result<Self, ChangeError> {
        let (code, factor) = text.rsplit_once('=').ok_or_else(|| ChangeError::Form(text.to_owned()))?;
        let (numerator, denominator) =
            decimal(factor).ok_or_else(|| ChangeError::Factor(factor.to_owned()))?;
        let Ok(code) = code.parse();
        Ok(Change::Faster { code, numerator, denominator })
    }

    /// Whether calls of MPI take less of their own time.
    pub(crate) fn shortens_mpi(&self, graph: &Graph, pieces: &Pieces) -> bool {
        let (Change::Faster { code, .. } | Change::Removed(code)) = self else { return false };
        let is_in_mpi = |selection: Selection| {
            let mut paths = pieces.call_paths.paths();
            paths.any(|path| selection.paths[path.index()] && pieces.is_in_mpi(path))
        };
        Selection::of_code(code, graph, pieces).is_ok_and(is_in_mpi)
    }

    /// The code that is changed; a network is none.
    fn code(&self) -> Option<&Code> {
        match self {
            Change::Faster { code, .. } | Change::Removed(code) | Change::Balanced(code) => Some(code),
            Change::Network(_) => None,
        }
    }
}

/// A decimal number from 0.001 to 1,000,000 as an exact quotient, with at most nine digits after the point.
fn decimal(text: &str) -> Option<(u64, u64)> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = [whole, fraction].concat();
    let are_digits = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    if !are_digits || 9 < fraction.len() {
        return None;
    }
    let denominator = 10_u64.pow(fraction.len() as u32);
    let numerator: u64 = digits.parse().ok()?;
    let is_in_range =
        denominator <= numerator.checked_mul(1000)? && numerator <= denominator.checked_mul(1_000_000)?;
    is_in_range.then_some((numerator, denominator))
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Change::Faster { code, numerator, denominator } => {
                write!(f, "{code} {} times as fast", *numerator as f64 / *denominator as f64)
            }
            Change::Removed(code) => write!(f, "{code} removed"),
            Change::Balanced(code) => write!(f, "{code} balanced"),
            Change::Network(network) => write!(f, "{network}"),
        }
    }
}

/// Call paths and timelines of a change; without timelines it is of all.
pub(crate) struct Selection {
    paths: Vec<bool>,
    timelines: Option<Vec<bool>>,
}

impl Selection {
    /// One call path on all ranks.
    pub fn of_path(path: CallPathId, pieces: &Pieces) -> Self {
        let mut paths = vec![false; pieces.call_paths.len()];
        paths[path.index()] = true;
        Selection { paths, timelines: None }
    }

    fn of_edited(code: &EditedCode, graph: &Graph, pieces: &Pieces) -> Self {
        let tree = &pieces.call_paths;
        let mut paths = vec![false; tree.len()];
        code.paths.iter().for_each(|path| paths[path.index()] = true);
        if code.with_callees {
            let any_works = code.paths.iter().any(|&path| pieces.works(path));
            // What is called from work without being work itself hides no work below it.
            for path in tree.paths() {
                let is_below = paths[tree.parent(path).index()] && (!any_works || pieces.works(path));
                paths[path.index()] |= is_below;
            }
        }
        let is_one =
            |locations: &Vec<_>| graph.timelines.iter().map(|it| locations.contains(&it.location)).collect();
        Selection { paths, timelines: code.locations.as_ref().map(is_one) }
    }

    fn of_code(code: &Code, graph: &Graph, pieces: &Pieces) -> Result<Self, ChangeError> {
        // Names as they are recorded come before those that pages show.
        let whole = Self::paths_named(code, pieces, |name| Cow::Borrowed(name));
        let paths = match whole.contains(&true) {
            true => whole,
            false => Self::paths_named(code, pieces, short_name),
        };
        let has_rank = |ranks: &RankSet| {
            let ranks_of = graph.timelines.iter().map(|it| it.rank);
            ranks_of.map(|rank| rank.is_some_and(|rank| ranks.contains(rank))).collect()
        };
        match paths.contains(&true) {
            true => Ok(Selection { paths, timelines: code.ranks.as_ref().map(has_rank) }),
            false => Err(ChangeError::Unknown(code.name.clone())),
        }
    }

    /// Whether each call path is of the code, if regions have these names.
    fn paths_named(code: &Code, pieces: &Pieces, name_of: fn(&str) -> Cow<'_, str>) -> Vec<bool> {
        let tree = &pieces.call_paths;
        let is_path = code.name.contains('/');
        let (mut paths, mut is_below) = (vec![false; tree.len()], vec![false; tree.len()]);
        for path in tree.paths() {
            let names = pieces.names(path);
            let names: Vec<Cow<'_, str>> = names.iter().map(|name| name_of(name)).collect();
            let is_named = names.last().is_some_and(|name| **name == *code.name)
                || is_path && names.join("/") == code.name;
            is_below[path.index()] = is_named || is_below[tree.parent(path).index()];
            paths[path.index()] =
                is_named || code.with_callees && is_below[path.index()] && pieces.works(path);
        }
        paths
    }

    /// Calls of MPI, and what they call.
    pub fn of_mpi(pieces: &Pieces) -> Self {
        let in_mpi = pieces.call_paths.paths().map(|path| pieces.is_in_mpi(path));
        Selection { paths: std::iter::once(false).chain(in_mpi).collect(), timelines: None }
    }

    fn has_timeline(&self, timeline: u32) -> bool {
        self.timelines.as_ref().is_none_or(|of| of[timeline as usize])
    }
}

/// The sum of the shares so far, before and after.
struct ScaledSum {
    before: u64,
    after: u64,
    /// Numerator and denominator.
    part: (u64, u64),
}

impl ScaledSum {
    /// Adds a share; returns what is left of it.
    fn add(&mut self, time: u64) -> u64 {
        let (numerator, denominator) = self.part;
        self.before += time;
        // Most products fit into a word, whose division is much faster.
        let after = match self.before.checked_mul(numerator) {
            Some(product) => product / denominator,
            None => (u128::from(self.before) * u128::from(numerator) / u128::from(denominator)) as u64,
        };
        let scaled = after - self.after;
        self.after += scaled;
        scaled
    }
}

/// The lengths of pieces while changes are made, one after the other.
pub(crate) struct Changing<'a> {
    graph: &'a Graph,
    pieces: &'a Pieces,
    /// The new times of the shares.
    times: Vec<u64>,
    /// The new lengths of the pieces, without new transfers.
    lengths: Vec<u64>,
    /// Shares that are changed, perhaps several times.
    changed: Vec<u32>,
    /// What is added to pieces, and taken away.
    transfers: Vec<(usize, u64, u64)>,
    /// Points that need nothing any more; empty if there are none.
    released: Vec<bool>,
    /// Ranks that do not run code that was balanced.
    pub n_without: usize,
    /// The memory of the last replay.
    replayed: Option<Replayed>,
}

impl<'a> Changing<'a> {
    pub fn new(graph: &'a Graph, pieces: &'a Pieces) -> Self {
        let (times, lengths) = (pieces.times.clone(), pieces.lengths.clone());
        Changing {
            graph,
            pieces,
            times,
            lengths,
            changed: Vec::new(),
            transfers: Vec::new(),
            released: Vec::new(),
            n_without: 0,
            replayed: None,
        }
    }

    /// The run as recorded.
    pub fn undo(&mut self) {
        let Changing { pieces, times, lengths, changed, .. } = self;
        for share in changed.drain(..).map(|share| share as usize) {
            let piece = pieces.shares[share].segment as usize;
            (times[share], lengths[piece]) = (pieces.times[share], pieces.lengths[piece]);
        }
        self.transfers.clear();
        self.released.clear();
        self.n_without = 0;
    }

    /// Makes a change.
    pub fn make(&mut self, change: &Change) -> Result<(), ChangeError> {
        let selection = match change.code() {
            Some(code) => Selection::of_code(code, self.graph, self.pieces)?,
            None => Selection::of_mpi(self.pieces),
        };
        match *change {
            Change::Faster { numerator, denominator, .. } => self.scale(&selection, (denominator, numerator)),
            Change::Removed(_) | Change::Network(Network::Ideal) => self.scale(&selection, (0, 1)),
            Change::Balanced(_) => self.balance_phases(&selection),
            Change::Network(network) => self.transfer(network),
        }
        Ok(())
    }

    /// Makes an edit.
    pub fn edit(&mut self, edit: &Edit) {
        let selection = Selection::of_edited(edit.code(), self.graph, self.pieces);
        match *edit {
            Edit::Scale(_, part) => self.scale(&selection, part),
            Edit::Balance(_) => self.balance_phases(&selection),
            Edit::BalanceIn(_, ref ranges) => self.balance_parts(&selection, ranges),
            Edit::Release(_) => self.release(&selection),
        }
    }

    /// Calls need nothing any more.
    fn release(&mut self, selection: &Selection) {
        let Changing { graph, released, .. } = self;
        released.resize(graph.points.len(), false);
        for ((released, point), &timeline) in released.iter_mut().zip(&graph.points).zip(&graph.timeline_of) {
            *released |= selection.paths[point.path.index()] && selection.has_timeline(timeline);
        }
    }

    /// The run with the changes.
    pub fn replay(&self) -> Replayed {
        self.graph.replay_without(&self.lengths(), &self.released)
    }

    /// How long the run takes with the changes.
    pub fn run_time(&mut self) -> Ticks {
        let mut replayed = self.replayed.take().unwrap_or_default();
        self.graph.replay_into(&mut replayed, &self.lengths(), &self.released);
        let run_time = replayed.run_time();
        self.replayed = Some(replayed);
        run_time
    }

    /// Gives transfers of messages other lengths.
    fn transfer(&mut self, network: Network) {
        let transfers = self.graph.transfers();
        let recorded = NetworkFit::of(&transfers);
        // What is left of the calls: another change may have taken some of it away.
        let in_mpi = self.times_in_mpi();
        let changed = transfers.iter().map(|it| {
            let point = it.point as usize;
            let piece = point + 1 + self.graph.timeline_of[point] as usize;
            (
                piece,
                network.ticks(it.bytes, self.pieces.ticks_per_second),
                recorded.ticks(it.bytes).min(it.rest).min(in_mpi[piece]),
            )
        });
        self.transfers = changed.collect();
    }

    /// Gives code `numerator / denominator` of its time.
    pub fn scale(&mut self, selection: &Selection, part: (u64, u64)) {
        let selected = self.selected(selection);
        self.scale_each(&selected, |_| 0, |_| part);
    }

    /// In each phase, ranks take the mean over all.
    pub fn balance_phases(&mut self, selection: &Selection) {
        let (selected, pieces) = (self.selected(selection), self.pieces);
        self.balance(selection, &selected, |piece| pieces.phase[piece]);
    }

    /// In each part of the run, ranks take the mean over all.
    fn balance_parts(&mut self, selection: &Selection, ranges: &[TimeRange]) {
        let starts = self.graph.starts();
        let part = |piece: usize| ranges.partition_point(|range| range.end.0 <= starts[piece]);
        let is_in = |piece: usize| ranges.get(part(piece)).is_some_and(|it| it.start.0 <= starts[piece]);
        let mut selected = self.selected(selection);
        selected.retain(|&share| is_in(self.piece(share)));
        self.balance(selection, &selected, |piece| part(piece) as u32);
    }

    /// In each group of pieces, ranks take the mean over all.
    fn balance(&mut self, selection: &Selection, selected: &[u32], phase: impl Fn(usize) -> u32) {
        let timeline = |piece: usize| self.pieces.timeline[piece];
        // One sum for each phase of each timeline that runs the code.
        let mut sums: Vec<(u32, u32, u64)> = Vec::new();
        for &share in selected {
            let (piece, time) = (self.piece(share), self.times[share as usize]);
            match sums.last_mut().filter(|last| (last.0, last.1) == (timeline(piece), phase(piece))) {
                Some(last) => last.2 += time,
                None => sums.push((timeline(piece), phase(piece), time)),
            }
        }
        // Of each timeline of the selection, how many of them come before it.
        let mut n = 0_u64;
        let n_timelines = self.graph.timelines.len() as u32;
        let before = |timeline: u32| {
            let before = n;
            n += u64::from(selection.has_timeline(timeline));
            before
        };
        let before: Vec<u64> = (0..n_timelines).map(before).collect();
        let n_phases = sums.iter().map(|it| it.1 as usize + 1).max().unwrap_or_default();
        let mut of_phases = vec![0_u64; n_phases];
        let running = || sums.iter().filter(|it| 0 < it.2);
        running().for_each(|&(_, phase, sum)| of_phases[phase as usize] += sum);
        let n_running_phases = of_phases.iter().filter(|sum| 0 < **sum).count();
        self.n_without += n_running_phases * n as usize - running().count();
        let part = |&(timeline, phase, sum): &(u32, u32, u64)| {
            let (all, nth) = (of_phases[phase as usize], before[timeline as usize]);
            if sum == 0 { (1, 1) } else { (all / n + u64::from(nth < all % n), sum) }
        };
        let parts: Vec<(u64, u64)> = sums.iter().map(part).collect();
        self.scale_each(selected, phase, |nth| parts[nth]);
    }

    /// The piece of a share.
    fn piece(&self, share: u32) -> usize {
        self.pieces.shares[share as usize].segment as usize
    }

    /// The shares of a selection, ascending: those of a timeline, and of each of its phases, follow each other.
    fn selected(&self, selection: &Selection) -> Vec<u32> {
        let paths = || (0..).zip(&selection.paths).filter(|it| *it.1).map(|it| it.0);
        let n: usize = paths().map(|path| self.pieces.of_path.of(path).len()).sum();
        let has_timeline = |share: &u32| selection.has_timeline(self.pieces.timeline[self.piece(*share)]);
        if MANY * n < self.pieces.shares.len() {
            let mut shares: Vec<u32> =
                paths().flat_map(|path| self.pieces.of_path.of(path)).copied().collect();
            shares.retain(has_timeline);
            shares.sort_unstable();
            return shares;
        }
        // They are in order already.
        let all = (0..).zip(&self.pieces.shares).filter(|(_, of)| selection.paths[of.call_path.index()]);
        let mut shares: Vec<u32> = Vec::with_capacity(n);
        shares.extend(all.map(|(share, _)| share).filter(has_timeline));
        shares
    }

    /// Scales the sum of each group of shares on each timeline; the sums of first shares are rounded down, so that
    /// each sum is. `group` numbers pieces of a timeline, not descending; `part` is asked once for each group in turn.
    fn scale_each(
        &mut self,
        selected: &[u32],
        group: impl Fn(usize) -> u32,
        part: impl Fn(usize) -> (u64, u64),
    ) {
        let (mut sum, mut n_groups) = (None, 0);
        for &share in selected {
            let piece = self.pieces.shares[share as usize].segment as usize;
            let key = (self.pieces.timeline[piece], group(piece));
            if sum.as_ref().is_none_or(|(open, _)| *open != key) {
                sum = Some((key, ScaledSum { before: 0, after: 0, part: part(n_groups) }));
                n_groups += 1;
            }
            let (Some((_, sum)), time) = (&mut sum, &mut self.times[share as usize]) else { continue };
            let scaled = sum.add(*time);
            if scaled == *time {
                continue;
            }
            self.changed.push(share);
            let length = &mut self.lengths[piece];
            *length = (*length + scaled).saturating_sub(*time);
            *time = scaled;
        }
    }

    /// The times of the shares.
    pub fn times(&self) -> &[u64] {
        &self.times
    }

    /// The time in MPI in each piece.
    pub fn times_in_mpi(&self) -> Vec<u64> {
        let mut times = vec![0; self.pieces.lengths.len()];
        for (share, time) in self.pieces.shares.iter().zip(&self.times) {
            if self.pieces.is_in_mpi(share.call_path) {
                times[share.segment as usize] += time;
            }
        }
        for &(piece, longer, shorter) in &self.transfers {
            times[piece] = (times[piece] + longer).saturating_sub(shorter);
        }
        times
    }

    /// The lengths of the pieces.
    pub fn lengths(&self) -> Cow<'_, [u64]> {
        if self.transfers.is_empty() {
            return Cow::Borrowed(&self.lengths);
        }
        let mut lengths = self.lengths.clone();
        for &(piece, longer, shorter) in &self.transfers {
            lengths[piece] = (lengths[piece] + longer).saturating_sub(shorter);
        }
        Cow::Owned(lengths)
    }
}
