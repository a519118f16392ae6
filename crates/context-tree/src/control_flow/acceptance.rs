//! Which iterations are long enough to be believed.
//!
//! Law: the iterations of a verdict are contiguous, in order, and cover every child.
//!
//! Source: ICS'18 paper, section 3.2: constants CHILD_NUM_ACC and CHILD_DUR_ACC.

use ouzel_model::Ticks;
use std::ops::Range;

/// What an iteration must have to be accepted: so many children, or one child that takes so long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Acceptance {
    /// Least number of children.
    pub n_children: u32,
    /// Least duration of one child.
    pub duration: Ticks,
}

impl Acceptance {
    /// Of samples: 5 children, or one of 5 sampling periods.
    pub fn sampled(period: Ticks) -> Self {
        Acceptance { n_children: 5, duration: Ticks(period.0.saturating_mul(5)) }
    }

    /// Whether a loop with children that take so long, none of them certain, becomes a profile however it is cut into
    /// iterations, as most inner loops do: it has too few of them, and all are too short.
    pub fn makes_a_profile(self, children: impl Iterator<Item = Ticks>, of_loop: Ticks) -> bool {
        let (mut n, mut sum) = (0, Ticks(0));
        for duration in children {
            n += 1;
            sum.0 += duration.0;
            if self.n_children <= n || self.duration <= duration {
                return false;
            }
        }
        is_most(sum, of_loop)
    }
}

/// Whether so much of a loop is rejected that the whole becomes a profile.
fn is_most(rejected: Ticks, of_loop: Ticks) -> bool {
    u128::from(of_loop.0) < 2 * u128::from(rejected.0)
}

/// One iteration of a loop instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Iteration {
    /// Its id, from the tags.
    pub tag: u32,
    /// Its children.
    pub children: Range<usize>,
    /// Whether it is long enough.
    pub is_accepted: bool,
}

/// What becomes of a loop instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// Its iterations.
    pub iterations: Vec<Iteration>,
    /// Number of accepted iterations.
    pub n_accepted: u64,
    /// Number of rejected iterations.
    pub n_rejected: u64,
    /// Sum of the durations of children of rejected iterations; gaps do not count.
    pub rejected: Ticks,
    /// Whether more than half of the loop is rejected, so that the whole is a profile.
    pub becomes_profile: bool,
}

/// Accepts or rejects each iteration: `tags` and `durations` have one entry for each child. An iteration with a child
/// that is certain is accepted.
///
/// # Panics
/// If they differ in length.
pub fn decide(
    tags: &[u32],
    durations: &[Ticks],
    is_certain: &dyn Fn(usize) -> bool,
    of_loop: Ticks,
    acceptance: Acceptance,
) -> Verdict {
    assert_eq!(tags.len(), durations.len(), "a tag for each child");
    let mut verdict = Verdict {
        iterations: Vec::new(),
        n_accepted: 0,
        n_rejected: 0,
        rejected: Ticks(0),
        becomes_profile: false,
    };
    let mut start = 0;
    for same in tags.chunk_by(|a, b| a == b) {
        let children = start..start + same.len();
        start = children.end;
        let has_certain = children.clone().any(is_certain);
        let durations = &durations[children.clone()];
        let is_long = durations.iter().any(|&duration| acceptance.duration <= duration);
        let is_accepted = acceptance.n_children as usize <= same.len() || is_long || has_certain;
        if is_accepted {
            verdict.n_accepted += 1;
        } else {
            verdict.n_rejected += 1;
            verdict.rejected.0 += durations.iter().map(|duration| duration.0).sum::<u64>();
        }
        verdict.iterations.push(Iteration { tag: same[0], children, is_accepted });
    }
    verdict.becomes_profile = is_most(verdict.rejected, of_loop);
    verdict
}
