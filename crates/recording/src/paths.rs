//! Call paths of samples, each with a number, in memory that is shared by all threads and mapped from a file.
//!
//! ```text
//! node = parent · frame          16 bytes; a parent has a smaller number than its callees
//! frame = module << 48 | address in the module's file
//! ```
//! Law: a node's number and contents never change, and [`PathTable::intern`] takes no lock and allocates nothing, so a
//! signal handler may call it at any moment. A path may get two numbers if two threads meet it at the same time.
//!
//! Law: each segment is made once, by one thread: making it writes zeros, which would erase what another thread has
//! written there. The thread that makes the middle node of a segment makes the next segment.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Numbers of a node: its parent, and its frame.
pub const N_NODE_FIELDS: usize = 2;
/// Bytes of a node.
pub const NODE_BYTES: usize = N_NODE_FIELDS * 8;
/// Nodes of a segment, for which space is made at once.
pub const SEGMENT_NODES: usize = 1 << 14;
/// Most segments of a process.
pub const N_SEGMENTS: usize = 128;
/// Places of the index: a power of two, so that most stay empty.
pub const N_INDEX: usize = 1 << 20;
/// The module of addresses that are in no loaded file.
pub const NO_MODULE: u16 = u16::MAX;

const ADDRESS_BITS: u32 = 48;
/// In the place of a parent: the node has none. Zero is a node that was never written.
const NO_PARENT: u64 = 1;
const FIRST_PARENT: u64 = 2;
/// Steps after which a place is looked for no longer.
const N_PROBES: usize = 64;

/// The number of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PathId(pub u32);

/// A place in the code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Frame(u64);

impl Frame {
    /// An address as a module's file counts it.
    pub fn new(module: u16, address: u64) -> Self {
        Frame(u64::from(module) << ADDRESS_BITS | address & ((1 << ADDRESS_BITS) - 1))
    }

    /// The module, or [`NO_MODULE`].
    pub fn module(self) -> u16 {
        // What is left has 16 bits.
        (self.0 >> ADDRESS_BITS) as u16
    }

    /// The address in its file.
    pub fn address(self) -> u64 {
        self.0 & ((1 << ADDRESS_BITS) - 1)
    }
}

/// A node in memory.
pub type NodeFields = [AtomicU64; N_NODE_FIELDS];

/// Where nodes are.
pub trait NodeSpace {
    /// Makes a segment of [`SEGMENT_NODES`], all zero, if there is room.
    fn make(&self, i: usize);

    /// A segment that was made; none if it was not.
    fn segment(&self, i: usize) -> Option<&[NodeFields]>;
}

/// The paths of a process.
#[derive(Debug)]
pub struct PathTable<'i, S> {
    space: S,
    n: AtomicU32,
    /// One more than the node, or 0.
    index: &'i [AtomicU32],
}

impl<'i, S: NodeSpace> PathTable<'i, S> {
    /// An empty table with an index of zeros, whose length is a power of two. It has no room before [`PathTable::begin`].
    pub fn new(space: S, index: &'i [AtomicU32]) -> Self {
        assert!(index.len().is_power_of_two(), "places are found by a mask");
        PathTable { space, n: AtomicU32::new(0), index }
    }

    /// Makes the first segment. To be called once, before there are other threads.
    pub fn begin(&self) {
        self.space.make(0);
    }

    /// The path that a frame has below `parent`. None if there is no room.
    pub fn intern(&self, parent: Option<PathId>, frame: Frame) -> Option<PathId> {
        let parent = parent.map_or(NO_PARENT, |parent| u64::from(parent.0) + FIRST_PARENT);
        let start = hash(parent, frame);
        let mut made = None;
        for i in 0..N_PROBES {
            let place = self.index.get(start.wrapping_add(i) & (self.index.len() - 1))?;
            let mut found = place.load(Ordering::Acquire);
            if found == 0 {
                let own = made.or_else(|| self.make(parent, frame))?;
                made = Some(own);
                match place.compare_exchange(0, own + 1, Ordering::AcqRel, Ordering::Acquire) {
                    Ok(_) => return Some(PathId(own)),
                    Err(other) => found = other,
                }
            }
            if self.fields(found - 1) == Some((parent, frame.0)) {
                return Some(PathId(found - 1));
            }
        }
        None
    }

    fn make(&self, parent: u64, frame: Frame) -> Option<u32> {
        let n_max = (N_SEGMENTS * SEGMENT_NODES) as u32;
        if n_max <= self.n.load(Ordering::Relaxed) {
            return None;
        }
        let own = self.n.fetch_add(1, Ordering::Relaxed);
        if own as usize % SEGMENT_NODES == SEGMENT_NODES / 2 {
            self.space.make(own as usize / SEGMENT_NODES + 1);
        }
        let node = self.node(own)?;
        node[1].store(frame.0, Ordering::Relaxed);
        node[0].store(parent, Ordering::Release);
        Some(own)
    }

    fn node(&self, id: u32) -> Option<&NodeFields> {
        let id = id as usize;
        if N_SEGMENTS * SEGMENT_NODES <= id {
            return None;
        }
        self.space.segment(id / SEGMENT_NODES)?.get(id % SEGMENT_NODES)
    }

    fn fields(&self, id: u32) -> Option<(u64, u64)> {
        let node = self.node(id)?;
        Some((node[0].load(Ordering::Acquire), node[1].load(Ordering::Relaxed)))
    }
}

fn hash(parent: u64, frame: Frame) -> usize {
    const ODD: u64 = 0x9E37_79B9_7F4A_7C15;
    let mixed = (parent.wrapping_mul(ODD) ^ frame.0).wrapping_mul(ODD);
    // The upper half is mixed best.
    (mixed >> 32) as usize ^ (mixed >> 52) as usize
}

/// A node of a file: its own number, its parent, its frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PathNode {
    /// As samples name it.
    pub id: PathId,
    /// None of an outermost frame.
    pub parent: Option<PathId>,
    /// The place in the code.
    pub frame: Frame,
}

/// The nodes of a file, parents before callees. Nodes that were not written completely are left out.
pub fn of_file(bytes: &[u8]) -> impl Iterator<Item = PathNode> + '_ {
    let (numbers, _) = bytes.as_chunks::<8>();
    let (nodes, _) = numbers.as_chunks::<N_NODE_FIELDS>();
    nodes.iter().zip(0u32..).filter_map(|(fields, id)| {
        let [parent, frame] = fields.map(u64::from_ne_bytes);
        let parent = match parent {
            0 => return None,
            NO_PARENT => None,
            parent => Some(PathId(u32::try_from(parent - FIRST_PARENT).ok().filter(|&parent| parent < id)?)),
        };
        Some(PathNode { id: PathId(id), parent, frame: Frame(frame) })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::OnceLock;

    struct Memory {
        segments: Vec<OnceLock<Vec<NodeFields>>>,
        n_made: Vec<AtomicU32>,
        n_max: usize,
    }

    impl Memory {
        fn new(n_max: usize) -> Self {
            let segments = (0..N_SEGMENTS).map(|_| OnceLock::new()).collect();
            Memory { segments, n_made: index(N_SEGMENTS + 1), n_max }
        }

        fn bytes(&self) -> Vec<u8> {
            let written = self.segments.iter().filter_map(OnceLock::get).flatten().flatten();
            written.flat_map(|field| field.load(Ordering::Relaxed).to_ne_bytes()).collect()
        }
    }

    impl NodeSpace for &Memory {
        fn make(&self, i: usize) {
            self.n_made[i].fetch_add(1, Ordering::Relaxed);
            let new = || (0..SEGMENT_NODES).map(|_| Default::default()).collect();
            if i < self.n_max {
                self.segments[i].get_or_init(new);
            }
        }

        fn segment(&self, i: usize) -> Option<&[NodeFields]> {
            self.segments.get(i)?.get().map(Vec::as_slice)
        }
    }

    fn index(n: usize) -> Vec<AtomicU32> {
        (0..n).map(|_| AtomicU32::new(0)).collect()
    }

    fn begun<'i>(memory: &'i Memory, index: &'i [AtomicU32]) -> PathTable<'i, &'i Memory> {
        let table = PathTable::new(memory, index);
        table.begin();
        table
    }

    #[test]
    fn a_path_has_one_number_and_is_read_as_it_was_written() {
        let (memory, index) = (Memory::new(1), index(1024));
        let table = begun(&memory, &index);
        let frame = |i: u64| Frame::new(i as u16 % 3, 0x40_0000 + i);
        let main = table.intern(None, frame(0)).expect("room");
        let solve = table.intern(Some(main), frame(1)).expect("room");
        let other = table.intern(Some(solve), frame(1)).expect("room");
        assert_eq!((main, solve, other), (PathId(0), PathId(1), PathId(2)));
        assert_eq!(table.intern(Some(main), frame(1)), Some(solve));
        assert_eq!(table.intern(None, frame(0)), Some(main));
        let bytes = memory.bytes();
        let nodes: Vec<PathNode> = of_file(&bytes).collect();
        assert_eq!(nodes.len(), 3);
        assert_eq!(nodes[2], PathNode { id: other, parent: Some(solve), frame: frame(1) });
        assert_eq!((nodes[1].frame.module(), nodes[1].frame.address()), (1, 0x40_0001));
    }

    #[test]
    fn without_room_there_are_no_more_paths() {
        let (memory, index) = (Memory::new(1), index(1 << 16));
        let table = begun(&memory, &index);
        let n = (0..).take_while(|&i| table.intern(None, Frame::new(0, i)).is_some()).count();
        assert_eq!(n, SEGMENT_NODES);
        assert_eq!(table.intern(None, Frame::new(0, 5)), Some(PathId(5)), "known paths are found");
    }

    #[test]
    fn threads_agree() {
        let (memory, index) = (Memory::new(4), index(1 << 16));
        let table = begun(&memory, &index);
        let walk = || -> Vec<Option<PathId>> {
            let mut parent = None;
            let step = |i: u64| {
                parent = table.intern(if i.is_multiple_of(10) { None } else { parent }, Frame::new(7, i));
                parent
            };
            (0..5000).map(step).collect()
        };
        let ids: Vec<Vec<Option<PathId>>> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(walk)).collect();
            threads.into_iter().map(|thread| thread.join().expect("it ends")).collect()
        });
        let nodes: Vec<PathNode> = of_file(&memory.bytes()).collect();
        let frames = |id: Option<PathId>| {
            let mut frames = Vec::new();
            let mut at = id;
            while let Some(node) = at.and_then(|id| nodes.iter().find(|node| node.id == id)) {
                frames.push(node.frame.address());
                at = node.parent;
            }
            frames
        };
        for of_thread in &ids {
            for (i, &id) in of_thread.iter().enumerate().step_by(97) {
                let expected: Vec<u64> = (i / 10 * 10..=i).rev().map(|i| i as u64).collect();
                assert_eq!(frames(id), expected);
            }
        }
    }

    #[test]
    fn each_segment_is_made_once() {
        let (memory, index) = (Memory::new(8), index(1 << 18));
        let table = begun(&memory, &index);
        let walk = |i: u64| (0..20_000).filter_map(|n| table.intern(None, Frame::new(0, 4 * n + i))).count();
        std::thread::scope(|scope| {
            (0..4).for_each(|i| drop(scope.spawn(move || walk(i))));
        });
        let n_made: Vec<u32> = memory.n_made.iter().map(|n| n.load(Ordering::Relaxed)).collect();
        let n_begun = 80_000 / SEGMENT_NODES;
        assert!(n_made[..=n_begun].iter().all(|&n| n == 1), "{n_made:?}");
        assert!(n_made[n_begun + 2..].iter().all(|&n| n == 0), "{n_made:?}");
    }

    #[test]
    fn damaged_files_have_no_circles() {
        let mut bytes = Vec::new();
        for fields in [[1, 5], [2, 6], [9, 7], [0, 0], [u64::MAX, 1]] {
            bytes.extend(fields.iter().flat_map(|field: &u64| field.to_ne_bytes()));
        }
        bytes.push(1);
        let nodes: Vec<(u32, Option<u32>)> =
            of_file(&bytes).map(|node| (node.id.0, node.parent.map(|parent| parent.0))).collect();
        assert_eq!(nodes, [(0, None), (1, Some(0))]);
    }
}
