//! A part of a run, recorded: what was under way when it began is not taken for what came later.

use crate::shop::{LIBRARIES, N_RANKS, Shop, check_with_reference_tool};
use ouzel_otf2::Archive;
use ouzel_otf2::records::Event;
use ouzel_otf2::records::enums::CollectiveOp;
use ouzel_recording::finish::{FinishErrorKind, finish};
use ouzel_recording::launch::Choices;
use ouzel_recording::window::Window;
use std::collections::BTreeMap;
use std::path::Path;

/// Bytes of messages by sender, receiver and tag, and of broadcasts by rank, in the order of posting.
#[derive(Default)]
struct Sizes {
    sent: BTreeMap<(u64, u64, u32), Vec<u64>>,
    received: BTreeMap<(u64, u64, u32), Vec<u64>>,
    broadcast: BTreeMap<u64, Vec<u64>>,
    n_events: usize,
    /// From the first to the last event.
    span_ns: (u64, u64),
}

/// The messages and broadcasts of each location, each with its place in the order of posting.
fn sizes(folder: &Path) -> Sizes {
    let archive = Archive::open(folder).expect("an archive");
    let mut sizes = Sizes { span_ns: (u64::MAX, 0), ..Sizes::default() };
    for &rank in archive.locations_on_disk() {
        let mut events = archive.events(rank).expect("an event file");
        let (mut posted, mut collective, mut depth) = (BTreeMap::new(), 0, 0_u32);
        let (mut received, mut broadcast) = (BTreeMap::new(), BTreeMap::new());
        while let Some(record) = events.next_record().expect("events are valid") {
            let number = record.number;
            sizes.span_ns = (sizes.span_ns.0.min(record.time), sizes.span_ns.1.max(record.time));
            sizes.n_events += 1;
            match record.event.expect("a known event") {
                Event::Enter(_) => depth += 1,
                Event::Leave(_) => depth = depth.checked_sub(1).expect("what is left was entered"),
                Event::MpiIsend(it) => {
                    let channel = (rank, u64::from(it.receiver), it.msg_tag);
                    sizes.sent.entry(channel).or_default().push(it.msg_length);
                }
                Event::MpiIrecvRequest(it) => drop(posted.insert(it.request_id, number)),
                Event::NonBlockingCollectiveRequest(it) => drop(posted.insert(it.request_id, number)),
                Event::MpiIrecv(it) => {
                    let place = posted.remove(&it.request_id).expect("it was posted");
                    received.insert(place, ((u64::from(it.sender), rank, it.msg_tag), it.msg_length));
                }
                Event::MpiIsendComplete(_) => {}
                Event::MpiCollectiveBegin(_) => collective = number,
                Event::MpiCollectiveEnd(it) => {
                    assert_ne!(collective, 0, "it has begun");
                    // Ranks do barriers between different broadcasts.
                    if it.collective_op == CollectiveOp::Barrier {
                        continue;
                    }
                    broadcast.insert(collective, it.size_received.max(it.size_sent / N_RANKS as u64));
                }
                Event::NonBlockingCollectiveComplete(it) => {
                    let place = posted.remove(&it.request_id).expect("it was posted");
                    broadcast.insert(place, it.size_received.max(it.size_sent / N_RANKS as u64));
                }
                event => panic!("{event:?}"),
            }
        }
        assert_eq!(depth, 0, "all regions are left");
        for (channel, length) in received.into_values() {
            sizes.received.entry(channel).or_default().push(length);
        }
        sizes.broadcast.insert(rank, broadcast.into_values().collect());
    }
    sizes
}

#[test]
fn a_part_of_a_run_has_both_ends_of_its_messages() {
    for shop in LIBRARIES.into_iter().filter_map(|library| Shop::open(library, "mpicc")) {
        let library = shop.library;
        let program = shop.compile("mpicc", "window.c", "window", &[]);
        let window = Window { start_ns: 3_000_000_000, stop_ns: 4_000_000_000 };
        let choices = Choices { window: Some(window), ..Choices::default() };
        let output = shop.run_with(&program, "run", &["5"], None, &choices);
        assert!(output.status.success(), "{library}: {output:?}");
        let archive = &shop.finish("run").archives[0];
        let said: Vec<&str> = archive.notices.iter().map(|notice| notice.message.as_str()).collect();
        assert!(said[0].contains("as --start-after and --stop-after say"), "{library}: {said:?}");
        assert!(said[1].contains("messages were under way"), "{library}: {said:?}");
        assert!(archive.notices.iter().all(|notice| !notice.is_loss), "{library}: {said:?}");
        check_with_reference_tool(&shop.path("run"));
        let sizes = sizes(&shop.path("run"));
        // Each process counts from its own start.
        let length_ns = sizes.span_ns.1 - sizes.span_ns.0;
        assert!((1_000_000_000..3_000_000_000).contains(&length_ns), "{library}: {length_ns}");
        assert_eq!(sizes.sent.len(), 2 * (N_RANKS - 1), "{library}");
        let mut n_both = 0;
        for (channel, sent) in &sizes.sent {
            let received = sizes.received.get(channel).map_or(&[][..], Vec::as_slice);
            n_both += sent.len().min(received.len());
            let differs = sent.iter().zip(received).position(|(a, b)| a != b);
            assert_eq!(differs, None, "{library} {channel:?}: {sent:?} {received:?}");
        }
        assert!(50 < n_both, "{library}: {n_both} messages have both ends");
        let first = &sizes.broadcast[&0];
        for (rank, bytes) in &sizes.broadcast {
            assert!(20 < bytes.len(), "{library}: rank {rank} broadcasts");
            let differs = first.iter().zip(bytes).position(|(a, b)| a != b);
            assert_eq!(differs, None, "{library} rank {rank}: {first:?} {bytes:?}");
        }
    }
}

#[test]
fn a_program_that_ends_before_is_not_recorded() {
    for shop in LIBRARIES.into_iter().filter_map(|library| Shop::open(library, "mpicc")) {
        let program = shop.compile("mpicc", "window.c", "window", &[]);
        let window = Window { start_ns: 3_600_000_000_000, stop_ns: u64::MAX };
        let choices = Choices { window: Some(window), ..Choices::default() };
        let output = shop.run_with(&program, "run", &["0"], None, &choices);
        assert!(output.status.success(), "{}: {output:?}", shop.library);
        let error = finish(&shop.path("run"), None).expect_err("nothing was recorded");
        assert!(matches!(error.kind(), FinishErrorKind::EndedBefore), "{}: {error}", shop.library);
    }
}
