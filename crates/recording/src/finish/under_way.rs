//! What was under way when recording began: the ends of messages and collective operations whose other ends came before.
//!
//! Readers match messages by counting those of a sender, receiver, communicator and tag, and collective operations by
//! counting those of a communicator. Processes counted both while they did not record, so the differences say how many
//! of the first ones recorded have no counterpart in the archive. Law: without these, the nth of both sides are one.

use super::communicators::{FIRST, Unified};
use super::piece::Piece;
use super::{FinishError, FinishErrorKind};
use crate::journal::{Entry, Uncounted};
use crate::mpi::communicators::{SELF, WORLD};
use crate::settings;
use crate::slots::Slot;
use crate::stream::{CHUNK_BYTES_MAX, EventStream, Space};
use ouzel_otf2::read::{EventReader, EventSource};
use ouzel_otf2::records::Event;
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io;
use std::num::NonZeroU64;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// What readers count: ranks are those of the world.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Counted {
    Message { communicator: u32, sender: u32, receiver: u32, tag: u32, side: Side },
    Collective { communicator: u32 },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Side {
    Send,
    Receive,
}

/// How many of the first ones of each kind a process has to leave out.
type Surplus = BTreeMap<Counted, u64>;

/// What is left out.
#[derive(Debug, Default)]
pub(super) struct UnderWay {
    /// For each piece and thread, events by their numbers in the file.
    of_pieces: Vec<Vec<BTreeSet<u64>>>,
    /// Ends of messages.
    pub n_messages: u64,
    /// Collective operations, counted at each process.
    pub n_collectives: u64,
}

/// More candidates than this are looked at beyond those that are left out, as receives complete in another order than
/// they are posted in.
const N_IN_ADVANCE: u64 = 4096;

/// One side of a message or collective operation in the file of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Candidate {
    /// When it was posted.
    time_ns: u64,
    thread: usize,
    /// Its events, by their numbers in the file; the second may be that of the first.
    events: [u64; 2],
}

impl UnderWay {
    pub fn new(pieces: &[Piece], communicators: &Unified) -> Result<Self, FinishError> {
        let mut under_way = UnderWay::default();
        if pieces.iter().all(|piece| piece.window().is_none()) {
            return Ok(under_way);
        }
        let names: Vec<Names<'_>> =
            pieces.iter().zip(&communicators.of_pieces).map(|of| Names::new(of, communicators)).collect();
        for ((piece, names), surplus) in pieces.iter().zip(&names).zip(surplus(pieces, &names)) {
            let left_out = under_way.find(piece, names, &surplus)?;
            under_way.of_pieces.push(left_out);
        }
        Ok(under_way)
    }

    /// The events of a thread of a piece that are left out.
    pub fn left_out(&self, piece: usize, thread: usize) -> &BTreeSet<u64> {
        static NONE: BTreeSet<u64> = BTreeSet::new();
        self.of_pieces.get(piece).and_then(|threads| threads.get(thread)).unwrap_or(&NONE)
    }

    fn find(
        &mut self,
        piece: &Piece,
        names: &Names<'_>,
        surplus: &Surplus,
    ) -> Result<Vec<BTreeSet<u64>>, FinishError> {
        let mut left_out = vec![BTreeSet::new(); piece.threads.len()];
        if surplus.is_empty() {
            return Ok(left_out);
        }
        let mut found: BTreeMap<Counted, Vec<Candidate>> = BTreeMap::new();
        for (thread, of) in piece.threads.iter().enumerate() {
            let path = piece.folder.join(settings::event_file(of.file));
            candidates(&path, (thread, of.slot, piece.chunk_bytes()), (surplus, names), &mut found)?;
        }
        for (what, mut candidates) in found {
            candidates.sort_unstable();
            let n = usize::try_from(surplus.get(&what).copied().unwrap_or(0)).unwrap_or(usize::MAX);
            for candidate in candidates.iter().take(n) {
                left_out[candidate.thread].extend(candidate.events);
                match what {
                    Counted::Message { .. } => self.n_messages += 1,
                    Counted::Collective { .. } => self.n_collectives += 1,
                }
            }
        }
        Ok(left_out)
    }
}

/// How many of the first ones each piece has recorded and another one has not.
fn surplus(pieces: &[Piece], names: &[Names<'_>]) -> Vec<Surplus> {
    let before: Vec<Surplus> = pieces.iter().zip(names).map(|(piece, names)| counts(piece, names)).collect();
    let mut of_pieces = vec![Surplus::new(); pieces.len()];
    let of_rank: BTreeMap<u32, usize> =
        names.iter().enumerate().map(|(piece, names)| (names.world_rank, piece)).collect();
    let n = |piece: usize, what: &Counted| before[piece].get(what).copied().unwrap_or(0);
    let messages: BTreeSet<&Counted> = before.iter().flat_map(BTreeMap::keys).collect();
    for what in messages {
        match *what {
            Counted::Message { communicator, sender, receiver, tag, .. } => {
                let side = |side| Counted::Message { communicator, sender, receiver, tag, side };
                let (sent, received) = (side(Side::Send), side(Side::Receive));
                if let (Some(&from), Some(&to)) = (of_rank.get(&sender), of_rank.get(&receiver)) {
                    let (n_sent, n_received) = (n(from, &sent), n(to, &received));
                    of_pieces[to].insert(received, n_sent.saturating_sub(n_received));
                    of_pieces[from].insert(sent, n_received.saturating_sub(n_sent));
                }
            }
            Counted::Collective { communicator } => {
                let members: Vec<usize> =
                    (0..pieces.len()).filter(|&piece| names[piece].has(communicator)).collect();
                let n_max = members.iter().map(|&piece| n(piece, what)).max().unwrap_or(0);
                for piece in members {
                    of_pieces[piece].insert(*what, n_max - n(piece, what));
                }
            }
        }
    }
    of_pieces.iter_mut().for_each(|surplus| surplus.retain(|_, n| 0 < *n));
    of_pieces
}

/// What the numbers of a process mean.
struct Names<'a> {
    world_rank: u32,
    of_run: BTreeMap<u32, u32>,
    all: &'a Unified,
}

impl<'a> Names<'a> {
    fn new((piece, pairs): (&Piece, &'a Vec<(u32, u32)>), all: &'a Unified) -> Self {
        let world_rank = piece.rank.as_ref().map_or(0, |(rank, ..)| *rank);
        Names { world_rank, of_run: pairs.iter().copied().collect(), all }
    }

    fn has(&self, communicator: u32) -> bool {
        self.of_run.values().any(|&of_run| of_run == communicator)
    }

    /// Nothing for what other processes have no part in, and for members that are not known.
    fn message(&self, (communicator, peer, tag): (u32, u32, u32), side: Side) -> Option<Counted> {
        let of_run = *self.of_run.get(&communicator)?;
        let peer = match of_run {
            WORLD => peer,
            SELF => return None,
            _ => {
                let described = self.all.list.get(of_run.checked_sub(FIRST)? as usize)?;
                let (own, others) = (&described.members, described.others.as_ref());
                let group = match others {
                    Some(others) if own.contains(&self.world_rank) => others,
                    _ => own,
                };
                *group.get(peer as usize)?
            }
        };
        let (sender, receiver) = match side {
            Side::Send => (self.world_rank, peer),
            Side::Receive => (peer, self.world_rank),
        };
        Some(Counted::Message { communicator: of_run, sender, receiver, tag, side })
    }

    fn collective(&self, communicator: u32) -> Option<Counted> {
        let communicator = *self.of_run.get(&communicator)?;
        (communicator != SELF).then_some(Counted::Collective { communicator })
    }
}

/// What a process did before it recorded.
fn counts(piece: &Piece, names: &Names<'_>) -> Surplus {
    let mut counts = Surplus::new();
    for entry in &piece.entries {
        let Entry::Unrecorded { what, n } = entry else { continue };
        let counted = match *what {
            Uncounted::Sends { communicator, peer, tag } => {
                names.message((communicator, peer, tag), Side::Send)
            }
            Uncounted::Receives { communicator, peer, tag } => {
                names.message((communicator, peer, tag), Side::Receive)
            }
            Uncounted::Collectives { communicator } => names.collective(communicator),
        };
        if let Some(counted) = counted {
            *counts.entry(counted).or_default() += n;
        }
    }
    counts
}

fn reader(path: &Path, slot: Slot, chunk_bytes: u64) -> Result<EventReader<File>, FinishError> {
    let file = ouzel_files::input::open(path).map_err(|error| FinishError::new(path, error))?;
    let chunk_bytes = NonZeroU64::new(chunk_bytes);
    let source = EventSource::whole(file, &path.display().to_string(), slot.n_bytes, chunk_bytes);
    EventReader::new(source).map_err(|error| FinishError::new(path, FinishErrorKind::Read(error)))
}

/// Begins of operations that have not ended, as time and number of their events.
#[derive(Debug, Default)]
struct Open {
    requests: FxHashMap<u64, (u64, u64)>,
    collective: Option<(u64, u64)>,
}

fn candidates(
    path: &Path,
    (thread, slot, chunk_bytes): (usize, Slot, u64),
    (surplus, names): (&Surplus, &Names<'_>),
    found: &mut BTreeMap<Counted, Vec<Candidate>>,
) -> Result<(), FinishError> {
    let mut reader = reader(path, slot, chunk_bytes)?;
    let mut open = Open::default();
    // The file has no end yet.
    for _ in 0..slot.n_events {
        let record =
            reader.next_record().map_err(|error| FinishError::new(path, FinishErrorKind::Read(error)))?;
        let Some(record) = record else { break };
        let here = (record.time, record.number);
        let (what, begin) = match record.event {
            Some(Event::MpiSend(it)) => {
                (names.message((it.communicator, it.receiver, it.msg_tag), Side::Send), here)
            }
            Some(Event::MpiIsend(it)) => {
                (names.message((it.communicator, it.receiver, it.msg_tag), Side::Send), here)
            }
            Some(Event::MpiRecv(it)) => {
                (names.message((it.communicator, it.sender, it.msg_tag), Side::Receive), here)
            }
            Some(Event::MpiIrecv(it)) => {
                let begin = open.requests.remove(&it.request_id).unwrap_or(here);
                (names.message((it.communicator, it.sender, it.msg_tag), Side::Receive), begin)
            }
            Some(Event::MpiCollectiveEnd(it)) => {
                (names.collective(it.communicator), open.collective.take().unwrap_or(here))
            }
            Some(Event::NonBlockingCollectiveComplete(it)) => {
                let begin = open.requests.remove(&it.request_id).unwrap_or(here);
                (names.collective(it.communicator), begin)
            }
            Some(Event::MpiIrecvRequest(it)) => {
                open.requests.insert(it.request_id, here);
                continue;
            }
            Some(Event::NonBlockingCollectiveRequest(it)) => {
                open.requests.insert(it.request_id, here);
                continue;
            }
            Some(Event::MpiCollectiveBegin(_)) => {
                open.collective = Some(here);
                continue;
            }
            _ => continue,
        };
        let Some((what, n)) = what.and_then(|what| surplus.get_key_value(&what)) else { continue };
        let of_kind = found.entry(*what).or_default();
        if (of_kind.len() as u64) < n.saturating_add(N_IN_ADVANCE) {
            of_kind.push(Candidate { time_ns: begin.0, thread, events: [begin.1, record.number] });
        }
    }
    Ok(())
}

/// An event file that is written anew.
struct Rewritten {
    file: File,
    chunk_bytes: u64,
    chunk: Vec<u8>,
    n_chunks: u64,
    error: Option<io::Error>,
}

impl Rewritten {
    fn flush(&mut self) {
        if let Some(nth) = self.n_chunks.checked_sub(1) {
            self.error = self.file.write_all_at(&self.chunk, nth * self.chunk_bytes).err();
        }
    }
}

impl Space for Rewritten {
    fn chunk_bytes(&self) -> usize {
        usize::try_from(self.chunk_bytes).unwrap_or(CHUNK_BYTES_MAX)
    }

    fn chunk(&mut self) -> &mut [u8] {
        &mut self.chunk
    }

    fn begin_chunk(&mut self) -> bool {
        self.flush();
        self.chunk.clear();
        self.chunk.resize(self.chunk_bytes(), 0);
        self.n_chunks += 1;
        self.error.is_none()
    }

    fn commit(&mut self, _: Slot) {}
}

/// Copies the file of a thread without some of its events; what is valid of the copy.
pub(super) fn without(
    (path, slot): (&Path, Slot),
    chunk_bytes: u64,
    to: &Path,
    left_out: &BTreeSet<u64>,
) -> Result<Slot, FinishError> {
    let error = |error: io::Error| FinishError::new(to, error);
    let file = File::create(to).map_err(error)?;
    let mut stream =
        EventStream::new(Rewritten { file, chunk_bytes, chunk: Vec::new(), n_chunks: 0, error: None });
    let mut reader = reader(path, slot, chunk_bytes)?;
    // The file has no end yet.
    for _ in 0..slot.n_events {
        let record =
            reader.next_record().map_err(|error| FinishError::new(path, FinishErrorKind::Read(error)))?;
        let Some(record) = record else { break };
        if let Some(event) = record.event.filter(|_| !left_out.contains(&record.number)) {
            stream.write(record.time, &event);
        }
    }
    let slot = stream.slot();
    let mut written = stream.into_space();
    written.flush();
    match written.error {
        Some(found) => Err(error(found)),
        None => Ok(slot),
    }
}
