//! Keeps a strip within a bound: its shortest calls become profiles.
//!
//! Calls and loops are sorted by duration, and only the longest are kept in order; a call is
//! at least as long as what is inside of it, so what is kept is a tree. The sums of what is
//! folded hang in front of the other children of its caller. Anchors are folded only if they
//! alone are too many: all locations have the same of them.
//! Law: sums by region are kept, and so is the time of every call that is kept.

use crate::flat_profile::FlatProfile;
use crate::node::{Node, StaticId};
use crate::strip::{LEAVE, LOOPS, PROFILE, Strip, Taken, Token};
use ouzel_model::RegionId;

/// What a token begins.
#[derive(Debug, Clone, Copy)]
struct Piece {
    duration: f64,
    /// Index after its last token.
    end: u32,
    n_tokens: u32,
    is_anchored: bool,
}

/// Folds the shortest calls until at most `n_tokens_max` tokens are left; gives the old index of each token left.
///
/// Profiles are not counted: there is at most one for each call kept.
pub(crate) fn fold_short(
    strip: &mut Strip,
    n_tokens_max: usize,
    is_anchor: impl Fn(RegionId) -> bool,
) -> Vec<u32> {
    let pieces = pieces(strip, is_anchor);
    let limit = limit(&pieces, n_tokens_max);
    let is_folded = |at: usize| {
        pieces[at].as_ref().is_some_and(|piece| match limit {
            Limit::ButAnchors(limit) => !piece.is_anchored && piece.duration <= limit,
            Limit::All(limit) => piece.duration <= limit,
        })
    };
    rebuild(strip, &pieces, is_folded)
}

/// For each token that begins a call or represents a loop, what it begins.
fn pieces(strip: &Strip, is_anchor: impl Fn(RegionId) -> bool) -> Vec<Option<Piece>> {
    let mut pieces: Vec<Option<Piece>> = vec![None; strip.tokens.len()];
    let mut open: Vec<(usize, f64, bool)> = Vec::new();
    let mut aux = strip.aux.iter();
    for (i, (&token, &time)) in strip.tokens.iter().zip(&strip.times).enumerate() {
        if let Some((_, duration, _)) = open.last_mut() {
            *duration += time;
        }
        let (at, duration, is_anchored) = match token {
            LEAVE => match open.pop() {
                Some(piece) => piece,
                None => continue,
            },
            PROFILE => {
                let duration = aux.next().map_or(0.0, |taken| taken.node.duration());
                if let Some((_, of_caller, _)) = open.last_mut() {
                    *of_caller += duration;
                }
                continue;
            }
            token if token < LOOPS => {
                open.push((i, 0.0, is_anchor(RegionId(token))));
                continue;
            }
            _ => (i, aux.next().map_or(0.0, |taken| taken.node.duration()), false),
        };
        let n_tokens = if token == LEAVE { 2 } else { 1 };
        pieces[at] = Some(Piece { duration, end: i as u32 + 1, n_tokens, is_anchored });
        if let Some((_, of_caller, has_anchor)) = open.last_mut() {
            *of_caller += duration;
            *has_anchor |= is_anchored;
        }
    }
    pieces
}

#[derive(Debug, Clone, Copy)]
enum Limit {
    ButAnchors(f64),
    All(f64),
}

/// The duration up to which pieces are folded.
fn limit(pieces: &[Option<Piece>], n_tokens_max: usize) -> Limit {
    let all = || pieces.iter().flatten();
    let n_anchored: usize =
        all().filter(|piece| piece.is_anchored).map(|piece| piece.n_tokens as usize).sum();
    let (is_all, mut left) = match n_tokens_max.checked_sub(n_anchored) {
        Some(left) if n_anchored < n_tokens_max / 2 => (false, left),
        _ => (true, n_tokens_max),
    };
    let mut by_duration: Vec<(f64, usize)> = all()
        .filter(|piece| is_all || !piece.is_anchored)
        .map(|p| (p.duration, p.n_tokens as usize))
        .collect();
    // The longest piece for which nothing is left, found by halves: those before it are never sorted. Either all pieces of
    // one duration are folded or none.
    let mut rest = &mut by_duration[..];
    while 1 < rest.len() {
        let middle = rest.len() / 2;
        rest.select_nth_unstable_by(middle, |a, b| b.0.total_cmp(&a.0));
        let (longer, shorter) = rest.split_at_mut(middle);
        let n_tokens = longer.iter().map(|it| it.1).sum();
        match left.checked_sub(n_tokens) {
            Some(after) => (left, rest) = (after, shorter),
            None => rest = longer,
        }
    }
    let limit = rest.first().filter(|it| left < it.1).map_or(-1.0, |it| it.0);
    if is_all { Limit::All(limit) } else { Limit::ButAnchors(limit) }
}

/// A call that is kept, while it is open.
struct KeptCall {
    /// The position of its profile's tree.
    aux: usize,
    profile: FlatProfile,
}

/// A strip under construction.
#[derive(Default)]
struct New {
    tokens: Vec<Token>,
    times: Vec<f64>,
    /// Old index of each token.
    at: Vec<u32>,
    /// `None` for profiles that nothing was added to.
    aux: Vec<Option<Taken>>,
    open: Vec<KeptCall>,
}

impl New {
    fn push(&mut self, token: Token, time: f64, at: usize) {
        self.tokens.push(token);
        self.times.push(time);
        self.at.push(at as u32);
    }

    /// A call is entered: its profile comes first.
    fn open(&mut self, at: usize) {
        self.push(PROFILE, 0.0, at);
        self.open.push(KeptCall { aux: self.aux.len(), profile: FlatProfile::default() });
        self.aux.push(None);
    }

    fn close(&mut self, last: f64) {
        let KeptCall { aux, mut profile } = self.open.pop().expect("leaves do not outnumber enters");
        if 0.0 < last {
            profile.add_tree(&Node::profile(StaticId::Folded, last, 1.0, Vec::new()), 1.0);
        }
        let taken = |node| Taken { node, rows: None };
        self.aux[aux] = (!profile.is_empty()).then(|| taken(profile.into_node(StaticId::Folded)));
    }

    fn profile(&mut self) -> &mut FlatProfile {
        &mut self.open.last_mut().expect("leaves do not outnumber enters").profile
    }
}

fn rebuild(strip: &mut Strip, pieces: &[Option<Piece>], is_folded: impl Fn(usize) -> bool) -> Vec<u32> {
    let old = std::mem::take(strip);
    let mut old_aux = old.aux.into_iter();
    let mut new = New::default();
    new.open(0);
    let (mut at, mut pending) = (0, 0.0);
    while let Some(&token) = old.tokens.get(at) {
        let time = old.times[at] + std::mem::take(&mut pending);
        let end = if token != PROFILE && is_folded(at) {
            pieces[at].map_or(at, |piece| piece.end as usize)
        } else {
            at
        };
        if at < end {
            pending = time;
            for i in at..end {
                let token = old.tokens[i];
                let taken = if token < LOOPS || token == LEAVE { None } else { old_aux.next() };
                let time = if i == at { 0.0 } else { old.times[i] };
                new.profile().add_token(token, time, taken.as_ref().map(|taken| &taken.node));
            }
            at = end;
            continue;
        }
        match token {
            PROFILE => {
                pending = time;
                if let Some(taken) = old_aux.next() {
                    new.profile().add_tree(&taken.node, 1.0);
                }
            }
            LEAVE => {
                new.close(0.0);
                new.push(LEAVE, time, at);
            }
            token if token < LOOPS => {
                new.push(token, time, at);
                new.open(at);
            }
            _ => {
                new.push(token, time, at);
                new.aux.push(old_aux.next());
            }
        }
        at += 1;
    }
    // The strip itself is an open call; what was folded at its end left a gap.
    new.close(pending);
    let New { tokens, times, at, aux, .. } = new;
    let mut is_used = aux.iter().map(Option::is_some);
    let kept: Vec<usize> = (0..tokens.len())
        .filter(|&i| tokens[i] < LOOPS || tokens[i] == LEAVE || is_used.next() == Some(true))
        .collect();
    strip.tokens = kept.iter().map(|&i| tokens[i]).collect();
    strip.times = kept.iter().map(|&i| times[i]).collect();
    strip.aux = aux.into_iter().flatten().collect();
    kept.into_iter().map(|i| at[i]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ouzel_testkit::Rng;

    /// The duration up to which pieces are folded, by going through them, the longest first.
    fn limit_one_by_one(pieces: &[Option<Piece>], mut left: usize) -> f64 {
        let mut sorted: Vec<&Piece> = pieces.iter().flatten().collect();
        sorted.sort_by(|a, b| b.duration.total_cmp(&a.duration));
        for piece in sorted {
            match left.checked_sub(piece.n_tokens as usize) {
                Some(after) => left = after,
                None => return piece.duration,
            }
        }
        -1.0
    }

    #[test]
    fn the_limit_is_that_of_pieces_taken_one_by_one() {
        let mut rng = Rng::new(3);
        for _ in 0..500 {
            let n = rng.below(60);
            let piece = |rng: &mut Rng| Piece {
                duration: rng.below(8) as f64,
                end: 0,
                n_tokens: 1 + rng.below(2) as u32,
                is_anchored: false,
            };
            let pieces: Vec<Option<Piece>> =
                (0..n).map(|_| (rng.below(4) != 0).then(|| piece(&mut rng))).collect();
            for n_tokens_max in [1, 2, 5, 20, 40, 120] {
                let (Limit::ButAnchors(limit) | Limit::All(limit)) = limit(&pieces, n_tokens_max);
                let expected = limit_one_by_one(&pieces, n_tokens_max);
                assert!(limit.total_cmp(&expected).is_eq(), "{limit} {expected} {pieces:?}");
            }
        }
    }
}
