use super::*;

fn examples() -> Vec<Entry> {
    let text = || "a\tb\\n\n\\ é".to_owned();
    vec![
        Entry::Process {
            pid: 1,
            host: text(),
            boot: String::new(),
            program: text(),
            processors: "0-3,8".into(),
        },
        Entry::Clock { monotonic_ns: 5, realtime_ns: u64::MAX },
        Entry::Rank { rank: 0, size: 4, world: text(), library: "MPICH".into() },
        Entry::Thread { slot: 3, tid: 9 },
        Entry::Function { number: 17 },
        Entry::Region { id: 1000, line: 0, name: text(), file: String::new() },
        Entry::Loop { id: 1002, line: 7, name: text(), file: text() },
        Entry::Address { id: 1001, offset: 1 << 40, module: text() },
        Entry::Construct { id: 1003, construct: Construct::Critical, offset: 77, module: text() },
        Entry::Body { id: 1003, offset: 99, module: text() },
        Entry::Team { id: 1 << 30, number: 2, slot: 5 },
        Entry::OtherTool,
        Entry::Communicator {
            id: 2,
            parent: u32::MAX,
            sort: u64::MAX,
            nth: 4,
            first: 7,
            rank: 0,
            members: vec![7, 1],
            others: Some(vec![2]),
        },
        Entry::Communicator {
            id: 3,
            parent: 0,
            sort: 0,
            nth: 0,
            first: 0,
            rank: 1,
            members: vec![],
            others: None,
        },
        Entry::CommunicatorName { id: 2, name: text() },
        Entry::Topology {
            communicator: 2,
            dimensions: vec![2, 3],
            periods: vec![0, 1],
            coordinates: vec![1, 2],
        },
        Entry::Window { id: 0, communicator: 2, nth: 1 },
        Entry::Lost { time_ns: 8, reason: text() },
        Entry::Recorded { start_ns: 5, stop_ns: u64::MAX },
        Entry::Unrecorded { what: Uncounted::Sends { communicator: 1, peer: 2, tag: 3 }, n: 4 },
        Entry::Unrecorded { what: Uncounted::Receives { communicator: 1, peer: 2, tag: 3 }, n: 4 },
        Entry::Unrecorded { what: Uncounted::Collectives { communicator: 1 }, n: 4 },
        Entry::End { time_ns: 9, how: "exit".into() },
        Entry::Module { number: 3, build_id: "0a1b".into(), path: text() },
        Entry::Sampler { hz: 200, source: "perf".into() },
        Entry::Samples { n_due: 1, n_incomplete: 2, n_lost: 3, processor_ns: 1 << 40 },
        Entry::IoHandle { id: 3, interface: 1, file: text() },
        Entry::MpiFile { id: 16387, communicator: 2, file: text() },
        Entry::Counters {
            counted: "task-clock,cycles".into(),
            absent: "instructions".into(),
            error: 2,
            is_user_only: true,
        },
        Entry::Memory,
        Entry::Buffer { n_bytes: 1 << 20 },
        Entry::CounterReads { n_calls: 3, n_read: 2, n_estimated: 1 },
        Entry::Uncounted { tid: 9 },
        Entry::LeftOut,
        Entry::MpiThread,
        Entry::ChildKilled { time_ns: 9, pid: 4, signal: 9 },
        Entry::SignalSent { time_ns: 9, pid: 4, signal: 15 },
    ]
}

#[test]
fn what_is_written_is_read() {
    let text: String = examples().iter().map(Entry::line).collect();
    assert_eq!(text.lines().count(), examples().len());
    assert_eq!(read(&text), (examples(), 0));
}

#[test]
fn a_journal_that_ends_anywhere_keeps_its_complete_lines() {
    let text: String = examples().iter().map(Entry::line).collect();
    for (end, _) in text.char_indices() {
        let (entries, n_unknown) = read(&text[..end]);
        let n_complete = text[..end].matches('\n').count();
        assert_eq!((entries.len(), n_unknown), (n_complete, 0), "{end}");
    }
}

#[test]
fn a_loss_is_written_without_allocation() {
    let entry = Entry::Lost { time_ns: 12, reason: "the disk is full".into() };
    assert_eq!(lost_line(&mut [0; 99], 12, &"the disk is full"), entry.line().as_bytes());
    assert_eq!(lost_line(&mut [0; 12], 12, &"the disk is full"), b"lost\t12\tthe\n");
}

#[test]
fn functions_and_files_are_written_without_allocation() {
    let function = Entry::Function { number: 931 };
    assert_eq!(function_line(&mut [0; 32], 931), function.line().as_bytes());
    let file = "a\tb\\n\n\\ é";
    let handle = Entry::IoHandle { id: 3, interface: 1, file: file.to_owned() };
    let mut buffer = [0; IO_HANDLE_LINE_BYTES];
    assert_eq!(io_handle_line(&mut buffer, (3, 1), file.as_bytes()), handle.line().as_bytes());
    let longest = io_handle_line(&mut buffer, (u32::MAX, 1), &[b'\n'; 5000]);
    assert!(longest.ends_with(b"\\n\n"));
}

#[test]
fn unknown_lines_are_counted() {
    assert_eq!(read("future\t1\nthread\tx\t1\nthread\t1\t1\n"), (vec![Entry::Thread { slot: 1, tid: 1 }], 2));
}
