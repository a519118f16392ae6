//! Tables of events: Pipit's published one, and made ones.

use crate::read::{self, Rows};
use ouzel_formats::{Format, open};
use ouzel_model::{EventKind, LocationId, NoticeCode, TraceSource, WorldRank};
use ouzel_testkit::shared_data;
use std::io::Write;

fn made(text: &str) -> (tempfile::NamedTempFile, Box<dyn TraceSource>) {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(text.as_bytes()).unwrap();
    let (format, source) = open(file.path()).unwrap();
    assert_eq!(format, Format::Csv);
    (file, source)
}

/// The exclusive times of the paper's example, in seconds.
#[test]
fn the_table_of_the_paper() {
    let Some(shared) = shared_data() else { return };
    let (format, source) = open(&shared.join("data/foo-bar.csv")).unwrap();
    assert_eq!(format, Format::Csv);
    let rows = read::all(&*source);
    let seconds = |rows: &Rows| {
        rows.exclusive().into_iter().map(|(name, ns)| (name, ns / 1_000_000_000)).collect::<Vec<_>>()
    };
    let expected =
        |all: &[(&str, u64)]| all.iter().map(|&(name, s)| (name.to_owned(), s)).collect::<Vec<_>>();
    assert_eq!(seconds(&rows[0]), expected(&[("MPI_Send", 2), ("baz()", 10), ("foo()", 12), ("main()", 76)]));
    assert_eq!(
        seconds(&rows[1]),
        expected(&[("Idle", 26), ("MPI_Recv", 4), ("bar()", 26), ("grault()", 20), ("main()", 24)])
    );
}

/// Pipit sorts the rows anew and may swap a leave and an enter at one time; here the file's order holds.
#[test]
fn rows_at_one_time_keep_their_order() {
    let (_file, source) = made(
        "Timestamp (ns),Event Type,Name,Thread,Process,Attributes,load,_depth\n\
         100,Enter,f,0,3,,1.5,0\n\
         100,Leave,f,0,3,,,0\n\
         100,Enter,\"g, \"\"h\"\"\",0,3,,7,0\n\
         100,Leave,\"g, \"\"h\"\"\",0,3,,,0\n\
         90,Enter,f,1,3,,,0\n\
         80,Instant,MpiSend,1,3,\"{'receiver': 12, 'communicator': 'c', 'msg_tag': 4, 'msg_length': 64}\",,\n\
         95,Leave,f,1,3,,,0\n\
         93,Instant,MpiRecv,2,12,\"{'sender': 3, 'communicator': 'c', 'msg_tag': 4, 'msg_length': 64}\",,\n",
    );
    let rows = read::all(&*source);
    let kinds: Vec<&str> =
        rows[0].events.iter().map(|(_, _, name)| name.as_str()).filter(|n| !n.is_empty()).collect();
    assert_eq!(kinds, ["f", "f", "g, \"h\"", "g, \"h\""]);
    assert_eq!(rows[0].parameter(&*source, "load"), ["1.5", "7"]);
    assert_eq!(rows[0].events[0].0, 20, "time zero is the first event");
    assert_eq!(rows[1].events.iter().map(|row| row.0).collect::<Vec<_>>()[..2], [0, 0], "sorted by time");
    assert!(rows[1].notices.iter().any(|notice| notice.code == NoticeCode::TimeGoesBack));
    assert_eq!((rows[1].sends[0].peer.0, rows[1].sends[0].bytes, rows[2].recvs[0].peer.0), (1, 64, 0));
    assert!(source.notices().iter().any(|notice| notice.message.contains("_depth")));
}

/// Rows of many locations that alternate are put in order in a temporary file: the answers are the same.
#[test]
fn alternating_rows_are_read_as_streams() {
    const N_ROWS: u64 = 40_000;
    let mut text = "Timestamp (s),Event Type,Name,Process\n".to_owned();
    for i in 0..N_ROWS {
        for process in 0..4 {
            let kind = if i % 2 == 0 { "Enter" } else { "Leave" };
            text += &format!("0.{i:06},{kind},work,{process}\n");
        }
    }
    let (_file, source) = made(&text);
    for rows in read::all(&*source) {
        assert_eq!(rows.n_records, N_ROWS);
        assert_eq!(rows.exclusive()["work"], N_ROWS / 2 * 1000);
    }
}

#[test]
fn rows_that_cannot_be_read_are_counted() {
    let (file, source) = made(
        "Timestamp (ns),Event Type,Name,Process\n0,Enter,f,0\nx,Enter,g,0\n5,Jump,g,0\n6\n9,Leave,f,0\n",
    );
    let notice = &source.notices()[0];
    assert_eq!((notice.code, notice.count, notice.offset), (NoticeCode::DamagedEvents, 3, Some(51)));
    assert_eq!(notice.file.as_deref(), file.path().to_str());
    let rows = read::all(&*source);
    assert_eq!((rows[0].count(EventKind::Enter), rows[0].count(EventKind::Leave)), (1, 1));
}

#[test]
fn a_packed_table_is_unpacked_first() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let mut packed = flate2::write::GzEncoder::new(file, flate2::Compression::fast());
    packed.write_all(b"Timestamp (s), Event Type, Name\n1, Enter, f\n2.5, Leave, f\n").unwrap();
    let file = packed.finish().unwrap();
    let (format, source) = open(file.path()).unwrap();
    assert_eq!(format, Format::Csv);
    assert_eq!(read::all(&*source)[0].exclusive()["f"], 1_500_000_000);
}

/// What unpacks to a thousand times its size is refused, before it fills the disk.
#[test]
fn a_packed_file_that_is_no_table_is_refused() {
    for (byte, reason) in [(b'\n', "it unpacks to more than"), (b'0', "a line is longer than")] {
        let file = tempfile::NamedTempFile::new().unwrap();
        let mut packed = flate2::write::GzEncoder::new(file, flate2::Compression::default());
        packed.write_all(b"Timestamp (s), Event Type, Name\n1, Enter, f\n").unwrap();
        for _ in 0..96 {
            packed.write_all(&[byte; 1 << 20]).unwrap();
        }
        let file = packed.finish().unwrap();
        let error = open(file.path()).err().unwrap().to_string();
        assert!(error.contains(reason), "{error}");
        assert!(error.contains(file.path().to_str().unwrap()), "{error}");
    }
}

/// A table of one process names another that has no rows: its messages are messages.
#[test]
fn a_peer_without_rows_is_a_peer() {
    let (_file, source) = made(
        "Timestamp (ns),Event Type,Name,Process,Attributes\n\
         1,Enter,f,0,\n\
         2,Instant,MpiSend,0,\"{'receiver': 7, 'communicator': 'c', 'msg_tag': 4, 'msg_length': 64}\"\n\
         3,Leave,f,0,\n",
    );
    let rows = read::all(&*source);
    let comm = &source.definitions().communicators[0];
    let to = comm.peer(source.definitions().location(LocationId(0)).rank, rows[0].sends[0].peer);
    assert_eq!(to, Some(WorldRank(7)));
    assert_eq!(source.definitions().known_ranks(), [WorldRank(0), WorldRank(7)]);
}
