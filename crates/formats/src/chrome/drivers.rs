//! What the processes of a file launch, and what its streams run first.

use super::bits::Bits;

/// Correlations of a stream that are looked up.
const LINKS_LOOKED_AT: usize = 64;

/// What processes launch, and what the first operations of streams are.
#[derive(Debug, Default)]
pub(super) struct Drivers {
    /// By group.
    launches: Vec<Option<Bits>>,
    /// By track: links of the first operations.
    first: Vec<Vec<u64>>,
}

impl Drivers {
    /// A process of a group launches.
    pub fn launch(&mut self, group: usize, link: u64) {
        if self.launches.len() <= group {
            self.launches.resize_with(group + 1, || None);
        }
        self.launches[group].get_or_insert_with(Bits::default).insert(link);
    }

    /// A stream runs what was launched.
    pub fn run(&mut self, track: u32, link: u64) {
        let track = track as usize;
        if self.first.len() <= track {
            self.first.resize_with(track + 1, Vec::new);
        }
        if self.first[track].len() < LINKS_LOOKED_AT {
            self.first[track].push(link);
        }
    }

    /// Whether a process of a group launches anything.
    pub fn launches(&self, group: usize) -> bool {
        self.launches.get(group).is_some_and(Option::is_some)
    }

    /// Adds those of another file, whose tracks and groups are numbered from these on.
    pub fn append(&mut self, other: Drivers, first_track: usize, first_group: usize) {
        self.launches.resize_with(first_group, || None);
        self.launches.extend(other.launches);
        self.first.resize_with(first_track, Vec::new);
        self.first.extend(other.first);
    }

    /// How many of the first operations of a track a group launches.
    pub fn n_launched(&self, group: usize, track: usize) -> usize {
        let launches = self.launches.get(group).and_then(Option::as_ref);
        let first = self.first.get(track).map_or(&[][..], |links| links);
        launches.map_or(0, |of| first.iter().filter(|&&link| of.contains(link)).count())
    }
}
