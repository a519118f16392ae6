//! The smallest sets of attributes that have at least one of every clause.
//!
//! A single attribute that alone distinguishes a pair is necessary. The other clauses without a necessary attribute are
//! the rest of a conjunction of disjunctions, which multiplied out is a disjunction of products: the explanations. The
//! smallest products are the smallest hitting sets of the clauses, found by branch and bound: take the clause with the
//! fewest attributes left, try each of them, and give up where clauses that share no attribute need more than is left.
//!
//! When everything is multiplied out, the count of a smallest product P is the product over the clauses c of |c ∩ P|:
//! any choice within P is a choice of all of P, as otherwise a smaller set would do. Multiplicities are kept as powers
//! of primes, so they never overflow
//! and compare exactly.

use super::{AttributeSet, Discernment};
use std::cmp::Ordering;

/// Maximum number of steps of the search: a second or two. Twenty attributes take far fewer.
const MAX_STEPS: u64 = 4_000_000;
/// Maximum number of explanations kept.
const MAX_EXPLANATIONS: usize = 1000;
/// Every prime up to the number of attributes of a set.
const PRIMES: [u32; 18] = [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61];

/// How often a product occurs: powers of the primes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Multiplicity([u32; PRIMES.len()]);

impl Multiplicity {
    /// The product of the sizes, none of them 0 or above 64.
    pub(super) fn of(sizes: impl Iterator<Item = u32>) -> Self {
        let mut powers = [0; PRIMES.len()];
        for mut size in sizes {
            for (power, prime) in powers.iter_mut().zip(PRIMES) {
                while size > 1 && size.is_multiple_of(prime) {
                    size /= prime;
                    *power += 1;
                }
            }
        }
        Multiplicity(powers)
    }

    /// Its value; rounded beyond 2^53, infinite beyond the greatest float.
    pub fn value(&self) -> f64 {
        self.0.iter().zip(PRIMES).map(|(&power, prime)| f64::from(prime).powi(power as i32)).product()
    }

    fn log(&self) -> f64 {
        self.0.iter().zip(PRIMES).map(|(&power, prime)| f64::from(power) * f64::from(prime).ln()).sum()
    }
}

impl PartialOrd for Multiplicity {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Multiplicity {
    fn cmp(&self, other: &Self) -> Ordering {
        if self == other {
            Ordering::Equal
        } else {
            self.log().total_cmp(&other.log()).then(self.0.cmp(&other.0))
        }
    }
}

/// A smallest set of attributes that explains the decisions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explanation {
    /// The attributes.
    pub attributes: AttributeSet,
    /// How often it occurs when all clauses are multiplied out.
    pub multiplicity: Multiplicity,
}

/// What explains the decisions of a table.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Core {
    /// Attributes in every explanation: each alone distinguishes some pair.
    pub necessary: AttributeSet,
    /// The conjunction that was multiplied out: the necessary attributes one by one, then each other clause without
    /// any of them; smallest first.
    pub clauses: Vec<AttributeSet>,
    /// All explanations of the smallest size: the most frequent first, then by attributes. The first is the core. Empty
    /// if nothing can be explained: there are no clauses.
    pub explanations: Vec<Explanation>,
    /// Whether the search was cut short, so that explanations may be missing or not the least.
    pub is_truncated: bool,
}

impl Core {
    /// The core of what discerns the rows.
    pub fn new(discernment: &Discernment) -> Self {
        Self::within(discernment, MAX_STEPS)
    }

    pub(super) fn within(discernment: &Discernment, max_steps: u64) -> Self {
        let all = &discernment.clauses;
        let necessary = all.iter().filter(|clause| clause.len() == 1).fold(0, |set, clause| set | clause.0);
        let mut clauses: Vec<AttributeSet> =
            all.iter().copied().filter(|clause| clause.len() == 1 || clause.0 & necessary == 0).collect();
        clauses.sort_unstable_by_key(|clause| (clause.len(), std::cmp::Reverse(clause.0.reverse_bits())));
        let necessary = AttributeSet(necessary);
        let open = absorbed(clauses.iter().map(|clause| clause.0).filter(|c| c & necessary.0 == 0));
        let mut search = Search { open, found: Vec::new(), n_steps: 0, max_steps };
        let first = search.least_more(0, 0) as usize;
        for size in first..=64 {
            if search.open.is_empty() || !search.found.is_empty() || search.is_truncated() {
                break;
            }
            search.descend(0, 0, size);
        }
        let is_truncated = search.is_truncated();
        if search.found.is_empty() && !search.open.is_empty() {
            let greedy = search.greedy();
            search.found.push(greedy);
        }
        if search.open.is_empty() && !necessary.is_empty() {
            search.found.push(0);
        }
        let explain = |chosen: u64| {
            let attributes = AttributeSet(chosen | necessary.0);
            let sizes = clauses.iter().map(|clause| (clause.0 & attributes.0).count_ones());
            Explanation { attributes, multiplicity: Multiplicity::of(sizes) }
        };
        let mut explanations: Vec<Explanation> = search.found.iter().map(|&chosen| explain(chosen)).collect();
        explanations.sort_by(|a, b| {
            let order = |e: &Explanation| e.attributes.0.reverse_bits();
            b.multiplicity.cmp(&a.multiplicity).then(order(b).cmp(&order(a)))
        });
        Core { necessary, clauses, explanations, is_truncated }
    }

    /// The first explanation; empty if there is none.
    pub fn core(&self) -> AttributeSet {
        self.explanations.first().map_or(AttributeSet(0), |explanation| explanation.attributes)
    }

    /// The explanations that occur as often as the first: equally good ones.
    pub fn candidates(&self) -> impl Iterator<Item = AttributeSet> + '_ {
        let first = self.explanations.first().map(|explanation| &explanation.multiplicity);
        let is_equal = move |explanation: &&Explanation| Some(&explanation.multiplicity) == first;
        self.explanations.iter().take_while(is_equal).map(|explanation| explanation.attributes)
    }
}

/// The clauses except those that contain another one.
fn absorbed(clauses: impl Iterator<Item = u64>) -> Vec<u64> {
    let mut kept: Vec<u64> = Vec::new();
    // Smallest first, as they are given.
    for clause in clauses {
        if kept.iter().all(|&other| other & clause != other) {
            kept.push(clause);
        }
    }
    kept
}

struct Search {
    open: Vec<u64>,
    found: Vec<u64>,
    n_steps: u64,
    max_steps: u64,
}

impl Search {
    fn is_truncated(&self) -> bool {
        self.n_steps >= self.max_steps || self.found.len() >= MAX_EXPLANATIONS
    }

    /// Least number of attributes still needed: clauses not hit that share no attribute need one each.
    fn least_more(&self, chosen: u64, barred: u64) -> u32 {
        let mut taken = 0;
        let mut n = 0;
        for &clause in self.open.iter().filter(|&&clause| clause & chosen == 0) {
            let left = clause & !barred;
            if left & taken == 0 {
                taken |= left;
                n += 1;
            }
        }
        n
    }

    /// Adds every set of `n_left` more attributes, none of them barred, that hits what `chosen` does not. As deep as
    /// there are attributes in a set.
    fn descend(&mut self, chosen: u64, mut barred: u64, n_left: usize) {
        self.n_steps += 1;
        if self.is_truncated() {
            return;
        }
        let missed = self.open.iter().filter(|&&clause| clause & chosen == 0);
        let Some(&clause) = missed.min_by_key(|&&clause| (clause & !barred).count_ones()) else {
            self.found.push(chosen);
            return;
        };
        if n_left == 0 || self.least_more(chosen, barred) as usize > n_left {
            return;
        }
        let mut choices = clause & !barred;
        while choices != 0 {
            let attribute = choices & choices.wrapping_neg();
            choices ^= attribute;
            self.descend(chosen | attribute, barred, n_left - 1);
            barred |= attribute;
        }
    }

    /// A hitting set, not the least: always the attribute of most clauses that are left.
    fn greedy(&self) -> u64 {
        let mut chosen = 0_u64;
        loop {
            let missed = || self.open.iter().filter(|&&clause| clause & chosen == 0);
            if missed().next().is_none() {
                return chosen;
            }
            let n_hit = |at: u32| missed().filter(|&&clause| clause >> at & 1 == 1).count();
            let best = (0..64).rev().max_by_key(|&at| n_hit(at)).expect("there are attributes");
            chosen |= 1 << best;
        }
    }
}
