//! Real exports: every number beside the one that SQL gives.

use super::{Sums, all_sums, opened};
use ouzel_model::{Content, LocationKind, TraceSource};
use ouzel_testkit::shared_data;
use rusqlite::{Connection, OpenFlags};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

fn exports() -> Vec<PathBuf> {
    let Some(shared) = shared_data() else { return Vec::new() };
    let root = shared.join("data/nsight");
    let mut found = vec![root.join("pipit-cloverleaf/perlmutter-cloverleaf-cuda.sqlite")];
    found.extend(
        [1, 2, 4, 8, 16].map(|n| root.join(format!("extrap-concurrent/concurrent.s{n}/profile{n}.sqlite"))),
    );
    found
}

fn query(path: &Path) -> Connection {
    let uri = format!("file:{}?immutable=1", path.display());
    Connection::open_with_flags(uri, OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI).unwrap()
}

/// Number and summed duration by name, as `sql` gives them; nothing if the table does not exist.
fn by_sql(connection: &Connection, sql: &str) -> BTreeMap<String, (u64, u64)> {
    let Ok(mut statement) = connection.prepare(sql) else { return BTreeMap::new() };
    let rows = statement.query_map([], |row| {
        let (name, n, sum): (String, i64, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
        Ok((name, (n as u64, sum as u64)))
    });
    rows.unwrap().map(Result::unwrap).collect()
}

fn number(connection: &Connection, sql: &str) -> u64 {
    connection.query_row(sql, [], |row| row.get::<_, i64>(0)).map_or(0, |n| n as u64)
}

fn check(sums: &Sums, expected: &BTreeMap<String, (u64, u64)>, shown: impl Fn(&str) -> String) {
    for (name, calls) in expected {
        assert_eq!(sums.calls.get(&shown(name)), Some(calls), "{name}");
    }
}

const WAITS: &str = "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION";

/// The condition on rows of the host that are no later than the last call of CUDA, or of another library, that is not in
/// the profiler's own work.
fn is_of_program(sql: &Connection) -> String {
    let end = |table: &&str| {
        number(
            sql,
            &format!(
                "SELECT max(end) FROM {table} t WHERE NOT EXISTS (SELECT 1 FROM PROFILER_OVERHEAD p \
                 WHERE p.globalTid = t.globalTid AND p.start <= t.start AND t.end <= p.end)"
            ),
        )
    };
    let end = ["CUPTI_ACTIVITY_KIND_RUNTIME", "OSRT_API"].iter().map(end).max();
    let end = end.unwrap_or(0);
    format!("(start < {end} OR end <= {end})")
}

#[test]
fn counts_and_times_are_those_of_sql() {
    let mut n_left_out = 0;
    for path in exports() {
        let (source, sql) = (opened(&path).unwrap(), query(&path));
        let sums = all_sums(&source);
        let by = |table: &str, name: &str, condition: &str| {
            let query = format!(
                "SELECT value, count(*), sum(end - start) FROM {table} t JOIN StringIds s ON s.id = t.{name} \
                 WHERE {condition} GROUP BY value"
            );
            by_sql(&sql, &query)
        };
        let kernels = by("CUPTI_ACTIVITY_KIND_KERNEL", "demangledName", "1");
        assert!(!kernels.is_empty(), "{path:?}");
        check(&sums, &kernels, str::to_owned);
        let is_before = is_of_program(&sql);
        let calls = by("CUPTI_ACTIVITY_KIND_RUNTIME", "nameId", &is_before);
        assert!(!calls.is_empty(), "{path:?}");
        check(&sums, &calls, |name| super::super::regions::without_api_version(name).to_owned());
        check(&sums, &by("OSRT_API", "nameId", &format!("eventClass = 27 AND {is_before}")), str::to_owned);
        check(&sums, &by("PROFILER_OVERHEAD", "nameId", &is_before), str::to_owned);
        let calls_of_host = ["CUPTI_ACTIVITY_KIND_RUNTIME", "OSRT_API", "PROFILER_OVERHEAD", WAITS];
        let n_after =
            |table: &&str| number(&sql, &format!("SELECT count(*) FROM {table} WHERE NOT {is_before}"));
        let n_after: u64 = calls_of_host.iter().map(n_after).sum();
        let left_out = source.notices().iter().filter(|notice| notice.message.contains("own work"));
        assert_eq!(left_out.map(|notice| notice.count).sum::<u64>(), n_after, "{path:?}");
        n_left_out += n_after;
        let ranges =
            "SELECT text, count(*), sum(end - start) FROM NVTX_EVENTS WHERE eventType = 59 GROUP BY text";
        check(&sums, &by_sql(&sql, ranges), str::to_owned);
        let copies = "SELECT label, count(*), sum(end - start) FROM CUPTI_ACTIVITY_KIND_MEMCPY \
                      JOIN ENUM_CUDA_MEMCPY_OPER o ON o.id = copyKind GROUP BY label";
        check(&sums, &by_sql(&sql, copies), |label| format!("[CUDA memcpy {label}]"));
        let n_waits = number(&sql, &format!("SELECT count(*) FROM {WAITS} WHERE {is_before}"));
        let of_waits = |(name, calls): (&String, &(u64, u64))| {
            let is_wait =
                name.starts_with("[CUDA") && (name.contains("synchronize") || name.contains("wait"));
            is_wait.then_some(calls.0)
        };
        assert_eq!(sums.calls.iter().filter_map(of_waits).sum::<u64>(), n_waits);
        assert_eq!(
            sums.n_samples,
            number(
                &sql,
                "SELECT count(*) FROM COMPOSITE_EVENTS WHERE id IN (SELECT id FROM SAMPLING_CALLCHAINS)"
            )
        );
        let bytes = number(&sql, "SELECT sum(bytes) FROM CUPTI_ACTIVITY_KIND_MEMCPY")
            + number(&sql, "SELECT sum(bytes) FROM CUPTI_ACTIVITY_KIND_MEMSET");
        assert_eq!(sums.bytes, bytes);
    }
    assert!(exports().is_empty() || 0 < n_left_out, "some run ends with the profiler's work");
}

#[test]
fn every_kernel_is_linked_to_the_call_that_launched_it() {
    for path in exports() {
        let (source, sql) = (opened(&path).unwrap(), query(&path));
        let links = all_sums(&source).links;
        let end_of = |end| links.iter().filter(move |link| link.end == end).map(|link| link.id);
        let from: std::collections::BTreeSet<u64> = end_of(ouzel_model::LinkEnd::From).collect();
        let to: Vec<u64> = end_of(ouzel_model::LinkEnd::To).collect();
        let linked = "SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE correlationId IN \
                      (SELECT correlationId FROM CUPTI_ACTIVITY_KIND_RUNTIME)";
        let n_kernels = number(&sql, "SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL");
        assert_eq!(number(&sql, linked), n_kernels, "the file itself");
        assert!(n_kernels <= to.len() as u64);
        assert!(to.iter().all(|id| from.contains(id)), "{path:?}");
    }
}

#[test]
fn threads_streams_and_what_is_lacking() {
    let Some(path) = exports().into_iter().next() else { return };
    let source = opened(&path).unwrap();
    let definitions = source.definitions();
    let of_kind = |kind| definitions.locations.iter().filter(|location| location.kind == kind).count();
    assert_eq!(of_kind(LocationKind::AcceleratorStream), 1);
    assert_eq!(of_kind(LocationKind::CpuThread), 6, "nothing overlaps: no thread has a second location");
    assert_eq!(definitions.processes().len(), 1);
    assert_eq!(definitions.ranks().len(), 1, "the environment names rank 0");
    assert!(source.lacks(Content::Messages).is_some_and(|why| why.contains("MPI")));
    assert_eq!(source.lacks(Content::Samples), None);
    assert_eq!(definitions.provenance.format_version, "3.13.2");
    let left_out: Vec<String> = source.notices().iter().map(|notice| notice.message.clone()).collect();
    assert!(left_out.iter().any(|message| message.contains("SCHED_EVENTS")), "{left_out:?}");
    let names: Vec<&str> = definitions.locations.iter().map(|location| &*location.name).collect();
    assert!(names.contains(&"stream 7 (default)"), "{names:?}");
}
