//! The grid of ranks: as square as it can be, closed to a ring where a ring has three ranks or more.

/// A two-dimensional grid; rank `x + y * n_x` of the Cartesian communicator lies at `(x, y)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Grid {
    pub(super) sizes: [u32; 2],
}

/// A side of a rank's cell; the number is the tag of messages sent that way.
pub(super) const DIRECTIONS: [Direction; 4] = [
    Direction { dimension: 0, step: Step::Down },
    Direction { dimension: 0, step: Step::Up },
    Direction { dimension: 1, step: Step::Down },
    Direction { dimension: 1, step: Step::Up },
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Direction {
    dimension: usize,
    step: Step,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Down,
    Up,
}

/// The index in [`DIRECTIONS`] of the way back.
pub(super) const fn opposite(direction: usize) -> usize {
    direction ^ 1
}

impl Grid {
    pub(super) fn new(n_ranks: u32) -> Self {
        let mut low = n_ranks.isqrt().max(1);
        while !n_ranks.is_multiple_of(low) {
            low -= 1;
        }
        Grid { sizes: [n_ranks / low, low] }
    }

    pub(super) fn is_periodic(self, dimension: usize) -> bool {
        self.sizes[dimension] > 2
    }

    pub(super) fn coordinates(self, cart_rank: u32) -> [u32; 2] {
        [cart_rank % self.sizes[0], cart_rank / self.sizes[0]]
    }

    /// The neighbour in a direction, if there is one.
    pub(super) fn neighbour(self, cart_rank: u32, direction: usize) -> Option<u32> {
        let Direction { dimension, step } = DIRECTIONS[direction];
        let mut at = self.coordinates(cart_rank);
        let size = self.sizes[dimension];
        at[dimension] = match step {
            Step::Down if at[dimension] > 0 => at[dimension] - 1,
            Step::Up if at[dimension] + 1 < size => at[dimension] + 1,
            Step::Down if self.is_periodic(dimension) => size - 1,
            Step::Up if self.is_periodic(dimension) => 0,
            Step::Down | Step::Up => return None,
        };
        Some(at[0] + at[1] * self.sizes[0])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_mutual() {
        for n_ranks in [1, 2, 3, 4, 6, 12, 16, 64] {
            let grid = Grid::new(n_ranks);
            assert_eq!(grid.sizes[0] * grid.sizes[1], n_ranks);
            let sides = (0..n_ranks).flat_map(|rank| (0..DIRECTIONS.len()).map(move |side| (rank, side)));
            for (rank, side) in sides {
                let Some(peer) = grid.neighbour(rank, side) else { continue };
                assert_eq!(grid.neighbour(peer, opposite(side)), Some(rank));
                assert_ne!(peer, rank);
            }
        }
        assert_eq!(Grid::new(16).neighbour(3, 1), Some(0));
        assert_eq!(Grid::new(2).neighbour(1, 1), None);
    }
}
