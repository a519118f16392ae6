//! Damaged exports: no panic, no hang, what can be read is read, and the damage is reported with its file.

use super::{Sums, all_sums, opened};
use ouzel_model::{Level, TraceSource};
use ouzel_testkit::Rng;
use ouzel_testkit::nsight::{Shape, fill};
use std::path::Path;

const SHAPE: Shape = Shape { rank: 0, n_ranks: 2, n_threads: 2, n_steps: 60 };

/// Number of calls that can be read, and whether the damage was reported.
fn read(path: &Path) -> (u64, bool) {
    match opened(path) {
        Err(error) => {
            assert!(!error.file.is_empty() && !error.reason.is_empty(), "{error:?}");
            (0, true)
        }
        Ok(source) => {
            let Sums { calls, .. } = all_sums(&source);
            let is_said =
                source.notices().iter().any(|notice| notice.level == Level::High && notice.file.is_some());
            (calls.values().map(|calls| calls.0).sum(), is_said)
        }
    }
}

#[test]
fn an_export_that_ends_early_is_read_as_far_as_it_goes() {
    let dir = tempfile::tempdir().unwrap();
    let whole = dir.path().join("whole.sqlite");
    let n_rows = fill(&whole, SHAPE).unwrap();
    assert_eq!(read(&whole), (n_rows, false));
    let bytes = std::fs::read(&whole).unwrap();
    let cut = dir.path().join("cut.sqlite");
    let mut n_partly = 0;
    for percent in 1..100 {
        std::fs::write(&cut, &bytes[..bytes.len() * percent / 100]).unwrap();
        // Without its schema a file is no export at all, and not this reader's.
        if !super::is_export(&cut) {
            continue;
        }
        let (n_read, is_said) = read(&cut);
        assert!(n_read <= n_rows && is_said, "{percent} %: {n_read} rows");
        n_partly += u32::from(0 < n_read);
    }
    assert!(10 < n_partly, "{n_partly} of 99 gave something");
}

#[test]
fn flipped_bytes_do_no_harm() {
    let dir = tempfile::tempdir().unwrap();
    let whole = dir.path().join("whole.sqlite");
    fill(&whole, Shape { n_steps: 15, ..SHAPE }).unwrap();
    let bytes = std::fs::read(&whole).unwrap();
    let flipped = dir.path().join("flipped.sqlite");
    let mut rng = Rng::new(20_260_101);
    let mut n_read = 0;
    for _ in 0..300 {
        let mut bytes = bytes.clone();
        for _ in 0..=rng.next_u64() % 8 {
            let at = (rng.next_u64() % bytes.len() as u64) as usize;
            bytes[at] = (rng.next_u64() & 0xff) as u8;
        }
        std::fs::write(&flipped, &bytes).unwrap();
        n_read += u32::from(super::is_export(&flipped) && 0 < read(&flipped).0);
    }
    assert!(100 < n_read, "{n_read} of 300 gave something");
}

#[test]
fn missing_tables_and_columns_leave_the_rest() {
    let dir = tempfile::tempdir().unwrap();
    let whole = dir.path().join("whole.sqlite");
    let n_rows = fill(&whole, SHAPE).unwrap();
    let tables = |connection: &rusqlite::Connection| -> Vec<String> {
        let mut statement =
            connection.prepare("SELECT name FROM sqlite_master WHERE type='table' ORDER BY name").unwrap();
        let names = statement.query_map([], |row| row.get(0)).unwrap();
        names.map(Result::unwrap).collect()
    };
    let without = dir.path().join("without.sqlite");
    for table in tables(&rusqlite::Connection::open(&whole).unwrap()) {
        std::fs::copy(&whole, &without).unwrap();
        let connection = rusqlite::Connection::open(&without).unwrap();
        let n_lost: i64 =
            match connection.query_row(&format!("SELECT count(start) FROM {table}"), [], |row| row.get(0)) {
                Ok(n) if table != "COMPOSITE_EVENTS" => n,
                _ => 0,
            };
        connection.execute_batch(&format!("DROP TABLE {table}")).unwrap();
        drop(connection);
        if table == "StringIds" {
            assert!(!super::is_export(&without));
            assert!(opened(&without).is_ok(), "a folder without an export is an empty run");
            continue;
        }
        assert_eq!(read(&without).0, n_rows - n_lost as u64, "without {table}");
    }
    for (table, column) in [
        ("CUPTI_ACTIVITY_KIND_KERNEL", "correlationId"),
        ("CUPTI_ACTIVITY_KIND_KERNEL", "mangledName"),
        ("CUPTI_ACTIVITY_KIND_KERNEL", "demangledName"),
        ("CUPTI_ACTIVITY_KIND_MEMCPY", "bytes"),
        ("NVTX_EVENTS", "text"),
        ("NVTX_EVENTS", "domainId"),
        ("MPI_P2P_EVENTS", "commHandle"),
        ("OSRT_API", "eventClass"),
    ] {
        std::fs::copy(&whole, &without).unwrap();
        let connection = rusqlite::Connection::open(&without).unwrap();
        connection.execute_batch(&format!("ALTER TABLE {table} DROP COLUMN {column}")).unwrap();
        drop(connection);
        assert_eq!(read(&without), (n_rows, false), "{table} without {column}");
    }
}

#[test]
fn views_in_place_of_tables_are_said_and_not_run() {
    let dir = tempfile::tempdir().unwrap();
    let whole = dir.path().join("whole.sqlite");
    let n_rows = fill(&whole, SHAPE).unwrap();
    let changed = |table: &str, sql: &str| -> (u64, Vec<(Level, String)>) {
        let path = dir.path().join("view.sqlite");
        std::fs::copy(&whole, &path).unwrap();
        let connection = rusqlite::Connection::open(&path).unwrap();
        connection.execute_batch(&format!("ALTER TABLE {table} RENAME TO hidden; {sql}")).unwrap();
        drop(connection);
        let source = opened(&path).unwrap();
        let n_read = all_sums(&source).calls.values().map(|calls| calls.0).sum();
        let said =
            source.notices().iter().filter(|notice| notice.message.contains(&format!("{table:?} is a view")));
        (n_read, said.map(|notice| (notice.level, notice.message.clone())).collect())
    };
    for table in ["CUPTI_ACTIVITY_KIND_KERNEL", "MPI_P2P_EVENTS", "NVTX_EVENTS"] {
        let (n_read, said) = changed(table, &format!("CREATE VIEW {table} AS SELECT * FROM hidden"));
        // The renamed table may be read as an unknown one.
        assert!(n_read <= n_rows, "{table}: {n_read} rows");
        assert_eq!(said.iter().map(|said| said.0).collect::<Vec<_>>(), [Level::High], "{table}: {said:?}");
    }
    // One that never ends.
    let endless = "CREATE VIEW NVTX_EVENTS AS WITH RECURSIVE n(start) AS (SELECT 1 UNION ALL SELECT start FROM n) \
                   SELECT start FROM n";
    assert_eq!(changed("NVTX_EVENTS", endless).1.len(), 1);
    let other = changed("NVTX_EVENTS", "CREATE VIEW mine AS SELECT 1").1;
    assert_eq!(other, [], "what nobody looks for is none of our tables");
}
