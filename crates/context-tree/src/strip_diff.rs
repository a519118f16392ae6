//! How much two unlike strips differ, without trees of them.
//!
//! A walk as that of [`diff`](crate::diff) over the calls of both, with one difference: the iterations of short loops,
//! which a strip has call by call, are aligned as calls, and not as averages by their number.
//! Law: the difference does not depend on the side; that of equal strips is 0.
//!
//! Source: ICS'18 paper, Algorithm 2.

use crate::align::CHILDREN_AHEAD;
use crate::strip::{LEAVE, LOOPS, Token};
use std::cell::OnceCell;

/// A strip; `A` is what it has for its loops and profiles.
#[derive(Debug)]
pub(crate) struct Walk<'a, A> {
    tokens: &'a [Token],
    times: &'a [f64],
    aux: &'a [A],
    at: usize,
    /// For each token that enters a call the index of the one that leaves it; needed once something is unlike.
    ends: OnceCell<Vec<u32>>,
}

/// How loops and profiles differ.
pub(crate) trait AuxDiff<A> {
    /// The difference of two.
    fn diff(&self, a: &A, b: &A) -> f64;
    /// The difference from nothing.
    fn dummy(&self, aux: &A) -> f64;
}

impl<'a, A> Walk<'a, A> {
    /// From the start.
    pub fn new(tokens: &'a [Token], times: &'a [f64], aux: &'a [A]) -> Self {
        Walk { tokens, times, aux, at: 0, ends: OnceCell::new() }
    }

    /// The next call, loop or profile inside of the open call.
    fn child(&self) -> Option<Token> {
        self.tokens.get(self.at).copied().filter(|&token| token != LEAVE)
    }

    /// The time before the next token, which is passed.
    fn pass(&mut self) -> f64 {
        let time = self.times.get(self.at).copied().unwrap_or(0.0);
        self.at += 1;
        time
    }

    fn take_aux(&mut self) -> Option<&'a A> {
        let (first, others) = self.aux.split_first()?;
        self.aux = others;
        Some(first)
    }

    /// Passes the next child; returns what it differs from nothing.
    fn pass_child(&mut self, of: &impl AuxDiff<A>) -> f64 {
        let (mut sum, mut depth) = (0.0, 0_usize);
        loop {
            let Some(&token) = self.tokens.get(self.at) else { return sum };
            match token {
                LEAVE => depth = depth.saturating_sub(1),
                token if token < LOOPS => depth += 1,
                _ => sum += self.take_aux().map_or(0.0, |aux| of.dummy(aux)),
            }
            self.at += 1;
            if depth == 0 {
                return sum;
            }
            sum += self.times.get(self.at).copied().unwrap_or(0.0);
        }
    }

    /// Whether a child like this comes soon.
    fn is_ahead(&self, wanted: Token) -> bool {
        let ends = self.ends.get_or_init(|| ends(self.tokens));
        let mut at = self.at;
        for _ in 0..CHILDREN_AHEAD {
            match self.tokens.get(at) {
                None | Some(&LEAVE) => return false,
                Some(&token) if token == wanted => return true,
                Some(_) => at = ends[at] as usize + 1,
            }
        }
        false
    }
}

/// For each token the index of the one that ends what it begins.
fn ends(tokens: &[Token]) -> Vec<u32> {
    let mut ends: Vec<u32> = (0..tokens.len() as u32).collect();
    let mut open = Vec::new();
    for (at, &token) in tokens.iter().enumerate() {
        if token == LEAVE {
            if let Some(entered) = open.pop() {
                ends[entered as usize] = at as u32;
            }
        } else if token < LOOPS {
            open.push(at as u32);
        }
    }
    // A call that is not left reaches to the end.
    for entered in open {
        ends[entered as usize] = tokens.len() as u32;
    }
    ends
}

/// The time by which two strips differ, in ticks.
pub(crate) fn diff_strips<A>(mut a: Walk<'_, A>, mut b: Walk<'_, A>, of: &impl AuxDiff<A>) -> f64 {
    let (mut sum, mut pending, mut depth) = (0.0, (0.0, 0.0), 0_usize);
    loop {
        let is_left = match (a.child(), b.child()) {
            (None, None) => {
                sum += f64::abs((pending.0 + a.pass()) - (pending.1 + b.pass()));
                pending = (0.0, 0.0);
                if depth == 0 {
                    return sum;
                }
                depth -= 1;
                continue;
            }
            (Some(x), Some(y)) if x == y => {
                sum += f64::abs((pending.0 + a.pass()) - (pending.1 + b.pass()));
                pending = (0.0, 0.0);
                if x < LOOPS {
                    depth += 1;
                } else if let (Some(x), Some(y)) = (a.take_aux(), b.take_aux()) {
                    sum += of.diff(x, y);
                }
                continue;
            }
            (Some(_), None) => true,
            (None, Some(_)) => false,
            // See `Alignment`.
            (Some(x), Some(y)) => match (b.is_ahead(x), a.is_ahead(y)) {
                (true, false) => false,
                (false, true) => true,
                _ => x < y,
            },
        };
        // The time before a child without a counterpart is that of the caller.
        if is_left {
            pending.0 += a.times.get(a.at).copied().unwrap_or(0.0);
            sum += a.pass_child(of);
        } else {
            pending.1 += b.times.get(b.at).copied().unwrap_or(0.0);
            sum += b.pass_child(of);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::align::LookAhead;
    use crate::diff::Differ;
    use crate::node::{Node, StaticId};
    use ouzel_model::RegionId;
    use ouzel_testkit::Rng;

    struct Leaves;

    impl AuxDiff<f64> for Leaves {
        fn diff(&self, a: &f64, b: &f64) -> f64 {
            (a - b).abs()
        }

        fn dummy(&self, aux: &f64) -> f64 {
            *aux
        }
    }

    type Columns = (Vec<Token>, Vec<f64>, Vec<f64>);

    fn walk((tokens, times, aux): &Columns) -> Walk<'_, f64> {
        Walk::new(tokens, times, aux)
    }

    fn strip(children: &[Node]) -> Columns {
        fn add(node: &Node, before: f64, out: &mut Columns) {
            let crate::node::Body::Call { gaps, children } = &node.body else { return };
            let StaticId::Region(RegionId(region)) = node.id else { return };
            out.0.push(region);
            out.1.push(before);
            for (child, &gap) in children.iter().zip(gaps) {
                add(child, gap, out);
            }
            out.0.push(LEAVE);
            out.1.push(gaps[children.len()]);
        }
        let mut out = (Vec::new(), Vec::new(), Vec::new());
        for child in children {
            add(child, 0.0, &mut out);
        }
        out
    }

    /// A call with calls inside, all of them unlike their neighbours, so that no loop is found among them.
    fn random_call(rng: &mut Rng, depth: u32) -> Node {
        let n = if depth == 0 { 0 } else { rng.below(4) };
        let children: Vec<Node> = (0..n).map(|_| random_call(rng, depth - 1)).collect();
        let gaps: Vec<f64> = (0..=n).map(|_| rng.below(20) as f64).collect();
        Node::call(StaticId::Region(RegionId(rng.below(5) as u32)), gaps, children)
    }

    #[test]
    fn strips_differ_as_their_trees_do() {
        let mut rng = Rng::new(7);
        for _ in 0..2000 {
            let [a, b] = [(); 2].map(|()| {
                let n = rng.below(4);
                (0..n).map(|_| random_call(&mut rng, 3)).collect::<Vec<_>>()
            });
            let of_strips = diff_strips(walk(&strip(&a)), walk(&strip(&b)), &Leaves);
            let swapped = diff_strips(walk(&strip(&b)), walk(&strip(&a)), &Leaves);
            assert!((of_strips - swapped).abs() < 1e-9);
            assert!(diff_strips(walk(&strip(&a)), walk(&strip(&a)), &Leaves) < 1e-9);
            let tree = |children: Vec<Node>| {
                Node::call(StaticId::Iteration, vec![0.0; children.len() + 1], children)
            };
            let of_trees = Differ::exact(&LookAhead).diff(&tree(a), &tree(b));
            assert!((of_strips - of_trees).abs() < 1e-9, "{of_strips} {of_trees}");
        }
    }

    #[test]
    fn loops_and_profiles_are_compared_or_missing() {
        let one: Columns = (vec![1, LOOPS, LEAVE, LOOPS + 1], vec![1.0, 2.0, 3.0, 4.0], vec![10.0, 20.0]);
        let other: Columns = (vec![1, LEAVE, LOOPS + 1], vec![1.0, 5.0, 4.0], vec![25.0]);
        assert!((diff_strips(walk(&one), walk(&other), &Leaves) - 15.0).abs() < 1e-9);
        assert!((diff_strips(walk(&other), walk(&one), &Leaves) - 15.0).abs() < 1e-9);
    }
}
