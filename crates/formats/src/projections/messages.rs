//! Which processing record receives which message.
//!
//! A creation record has the sender and a serial number, never the receiver; a processing record
//! has both, and its own PE is the receiver. So the receivers of what a PE sends are known only
//! once the logs of all PEs are scanned: once, by the first workers that need them, together. One
//! message goes to each PE that processes it; records that process it there again (a thread that
//! goes on, further elements of an array) receive nothing new.
//!
//! Rule: creation and processing belong together if PE and serial number are equal, and the
//! entry method or the length, too. A broadcast to an array is created for the entry method of
//! its manager and processed by that of its elements; the length in the creation record may be
//! the one before packing. Records with neither come from threads that go on and name a message
//! by chance.
//!
//! Memory: 32 bytes for each creation or processing record during the scan, 16 bytes for each
//! message and 8 for each receipt afterwards.

use super::record::{Creation, LogRecord, Processing};
use super::scan::{Log, ScannedRecord, scan};
use crate::position::u32_from;
use rustc_hash::FxHashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, OnceLock, PoisonError};

/// What names a message, and what must agree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct MessageKey {
    event: u32,
    entry: i64,
    bytes: Option<u64>,
}

/// What one log records about messages.
#[derive(Debug, Default)]
struct LogEnds {
    created: Vec<MessageKey>,
    /// Source PE, key, number of the record in the log.
    processed: Vec<(i64, MessageKey, u64)>,
}

/// The messages of one PE.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct PeMessages {
    /// Serial number and receiving location of each message that was sent here, sorted.
    pub sent: Vec<(u32, u32)>,
    /// Numbers of the processing records that receive a message, sorted.
    pub receipts: Vec<u64>,
}

impl PeMessages {
    /// Where the message `event` was received, as places in `sent`.
    pub fn receivers(&self, event: i64) -> &[(u32, u32)] {
        let Ok(event) = u32::try_from(event) else { return &[] };
        let start = self.sent.partition_point(|&(e, _)| e < event);
        let n = self.sent[start..].partition_point(|&(e, _)| e == event);
        &self.sent[start..start + n]
    }
}

/// The messages of all PEs, once they are needed.
#[derive(Debug, Default)]
pub(super) struct Messages {
    next: AtomicUsize,
    scanned: Mutex<Vec<(usize, LogEnds)>>,
    n_done: Mutex<usize>,
    all_done: Condvar,
    joined: OnceLock<Vec<PeMessages>>,
}

/// Counts a log as scanned, even on a panic: no worker may wait forever.
struct Done<'a>(&'a Messages);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        *self.0.n_done.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.0.all_done.notify_all();
    }
}

impl Messages {
    /// The messages of the PE `place`. The first callers scan the logs, each as many as it gets.
    pub fn of(&self, place: usize, logs: &[Log], pes: &[u32]) -> &PeMessages {
        if let Some(joined) = self.joined.get() {
            return &joined[place];
        }
        loop {
            let at = self.next.fetch_add(1, Ordering::Relaxed);
            if logs.len() <= at {
                break;
            }
            let done = Done(self);
            let ends = ends(&logs[at]);
            self.scanned.lock().unwrap_or_else(PoisonError::into_inner).push((at, ends));
            drop(done);
        }
        let mut n_done = self.n_done.lock().unwrap_or_else(PoisonError::into_inner);
        while *n_done < logs.len() {
            n_done = self.all_done.wait(n_done).unwrap_or_else(PoisonError::into_inner);
        }
        drop(n_done);
        let joined = self.joined.get_or_init(|| {
            let mut scanned =
                std::mem::take(&mut *self.scanned.lock().unwrap_or_else(PoisonError::into_inner));
            scanned.sort_unstable_by_key(|&(at, _)| at);
            let mut all: Vec<LogEnds> = (0..logs.len()).map(|_| LogEnds::default()).collect();
            for (at, ends) in scanned {
                all[at] = ends;
            }
            join(&mut all, pes)
        });
        &joined[place]
    }
}

/// Gathers the ends of one log. Errors are reported when the location is read.
fn ends(log: &Log) -> LogEnds {
    let mut ends = LogEnds::default();
    let stopped = scan(log, &mut |scan: ScannedRecord<'_>| match scan.record {
        LogRecord::Creation(Creation { event, entry, bytes, .. }) => {
            ends.created.extend(key(event, entry, bytes));
        }
        LogRecord::BeginProcessing(Processing { event, entry, bytes, source_pe, .. }) => {
            ends.processed.extend(key(event, entry, bytes).map(|key| (source_pe, key, scan.number)));
        }
        _ => {}
    });
    drop(stopped);
    ends
}

/// `None` if the serial number is none of a message: it has more than 32 bits.
fn key(event: i64, entry: i64, bytes: Option<u64>) -> Option<MessageKey> {
    Some(MessageKey { event: u32::try_from(event).ok()?, entry, bytes })
}

/// Pairs the ends of all logs; `pes` are the numbers of the PEs, ascending.
fn join(all: &mut [LogEnds], pes: &[u32]) -> Vec<PeMessages> {
    for ends in all.iter_mut() {
        ends.created.sort_by_key(|key| key.event);
    }
    let mut messages = vec![PeMessages::default(); all.len()];
    for to in 0..all.len() {
        let mut seen: FxHashMap<(usize, u32), ()> = FxHashMap::default();
        for &(source, key, number) in &all[to].processed {
            let Some(from) = u32::try_from(source).ok().and_then(|pe| pes.binary_search(&pe).ok()) else {
                continue;
            };
            let created = &all[from].created;
            let start = created.partition_point(|created| created.event < key.event);
            let mut same = created[start..].iter().take_while(|created| created.event == key.event);
            let belongs = same.any(|created| created.entry == key.entry || created.bytes == key.bytes);
            if belongs && seen.insert((from, key.event), ()).is_none() {
                messages[from].sent.push((key.event, u32_from(to)));
                messages[to].receipts.push(number);
            }
        }
    }
    for messages in &mut messages {
        messages.sent.sort_unstable();
        messages.sent.shrink_to_fit();
    }
    messages
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(event: u32, entry: i64, bytes: u64) -> MessageKey {
        MessageKey { event, entry, bytes: Some(bytes) }
    }

    #[test]
    fn a_serial_number_is_not_cut_to_that_of_another_message() {
        assert_eq!(super::key(7, 128, None).map(|key| key.event), Some(7));
        assert_eq!(super::key(7 + (1 << 32), 128, None), None);
        assert_eq!(PeMessages { sent: vec![(7, 1)], receipts: vec![] }.receivers(7 + (1 << 32)), []);
    }

    #[test]
    fn a_message_goes_once_to_each_pe_that_processes_it() {
        let mut all = [
            LogEnds {
                created: vec![key(7, 128, 80), key(8, 3, 64)],
                processed: vec![(0, key(7, 151, 80), 5)],
            },
            LogEnds {
                created: vec![],
                processed: vec![
                    (0, key(7, 151, 80), 1),
                    (0, key(7, 151, 80), 2),
                    (0, key(8, 3, 200), 3),
                    (0, key(8, 0, 0), 4),
                    (9, key(8, 3, 64), 6),
                    (-1, key(8, 3, 64), 7),
                ],
            },
        ];
        let messages = join(&mut all, &[0, 4]);
        assert_eq!(messages[0].sent, [(7, 0), (7, 1), (8, 1)]);
        assert_eq!((&messages[0].receipts, &messages[1].receipts), (&vec![5], &vec![1, 3]));
        assert_eq!(messages[0].receivers(7), [(7, 0), (7, 1)]);
        assert_eq!(messages[0].receivers(9), []);
    }
}
