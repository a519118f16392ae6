//! Databases that are made here, in both shapes of the tables.

use super::*;
use ouzel_model::{
    ChunkBuffer, EventKind, LinkEnd, LocationId, LocationKind, Needs, ParameterValue, ReadPlan, TraceSource,
};
use rusqlite::Connection;
use std::fmt::Write;

/// Which tables say when and where a row is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    /// Each table itself.
    Inline,
    /// Tables of times and of tracks.
    Tracks,
}

/// The end of the names of tables.
const ID: &str = "_0001eca_d4de_74de";

/// A process with one device, its two threads, three kernels on two streams or queues, a copy, and memory.
fn make(path: &Path, shape: Shape, pid: i64, (stream, rank): (i64, &str)) {
    make_with(ID, path, shape, pid, (stream, rank));
}

/// The same in tables whose names end in `id`.
fn make_with(id: &str, path: &Path, shape: Shape, pid: i64, (stream, rank): (i64, &str)) {
    let db = Connection::open(path).unwrap();
    db.execute_batch(&tables(id, shape)).unwrap();
    let run = |sql: String| db.execute_batch(&sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    run(definitions(id, shape, pid, rank));
    rows(&run, id, shape, pid, stream);
}

/// Statements that make the tables.
fn tables(id: &str, shape: Shape) -> String {
    let places = match shape {
        Shape::Inline => {
            "nid INTEGER, pid INTEGER, tid INTEGER, agent_id INTEGER, queue_id INTEGER, stream_id INTEGER, start INTEGER, \"end\" INTEGER"
        }
        Shape::Tracks => "track_id INTEGER, start_id INTEGER, end_id INTEGER",
    };
    let mut sql = String::new();
    let mut table = |name: &str, columns: &str| {
        writeln!(sql, "CREATE TABLE rocpd_{name}{id} (id INTEGER PRIMARY KEY, {columns});").unwrap();
        writeln!(sql, "CREATE VIEW IF NOT EXISTS rocpd_{name} AS SELECT * FROM rocpd_{name}{id};").unwrap();
    };
    table("metadata", "tag TEXT, value TEXT");
    table("string", "string TEXT");
    table("info_node", "hostname TEXT, machine_id TEXT");
    table("info_process", "nid INTEGER, pid INTEGER, init INTEGER, command TEXT, environment TEXT");
    table("info_thread", "nid INTEGER, pid INTEGER, tid INTEGER, name TEXT");
    table(
        "info_agent",
        "nid INTEGER, pid INTEGER, type TEXT, type_index INTEGER, absolute_index INTEGER, name TEXT, product_name TEXT",
    );
    table("info_kernel_symbol", "display_name TEXT, kernel_name TEXT, arch_vgpr_count INTEGER");
    table("info_pmc", "name TEXT");
    table("event", "category_id INTEGER, stack_id INTEGER, extdata TEXT");
    table("pmc_event", "event_id INTEGER, pmc_id INTEGER, value REAL");
    if shape == Shape::Tracks {
        table("timestamp", "value INTEGER");
        table("info_category", "name TEXT");
        table(
            "track",
            "nid INTEGER, pid INTEGER, tid INTEGER, agent_id INTEGER, queue_id INTEGER, stream_id INTEGER",
        );
    }
    table("region", &format!("{places}, name_id INTEGER, event_id INTEGER"));
    let sizes = "grid_size_x INTEGER, grid_size_y INTEGER, grid_size_z INTEGER, workgroup_size_x INTEGER, workgroup_size_y INTEGER, workgroup_size_z INTEGER";
    table(
        "kernel_dispatch",
        &format!("{places}, kernel_id INTEGER, event_id INTEGER, group_segment_size INTEGER, {sizes}"),
    );
    table(
        "memory_copy",
        &format!(
            "{places}, name_id INTEGER, event_id INTEGER, size INTEGER, dst_agent_id INTEGER, src_agent_id INTEGER"
        ),
    );
    table("memory_allocate", &format!("{places}, type TEXT, level TEXT, address INTEGER, size INTEGER"));
    table("sample", "track_id INTEGER, event_id INTEGER");
    sql
}

/// Statements that add names, and what is said of the process.
fn definitions(id: &str, shape: Shape, pid: i64, rank: &str) -> String {
    let mut sql = String::new();
    let names = [
        "HIP_RUNTIME_API",
        "MARKER_CORE_RANGE_API",
        "KERNEL_DISPATCH",
        "hipLaunchKernel",
        "hipMemcpyAsync",
        "hipDeviceSynchronize",
        "roctxThreadRangeA",
        "MEMORY_COPY_HOST_TO_DEVICE",
    ];
    for (nth, name) in (1..).zip(names) {
        writeln!(sql, "INSERT INTO rocpd_string{id} VALUES ({nth}, '{name}');").unwrap();
        if shape == Shape::Tracks && nth <= 3 {
            writeln!(sql, "INSERT INTO rocpd_info_category{id} VALUES ({nth}, '{name}');").unwrap();
        }
    }
    sql += &format!(
        "INSERT INTO rocpd_metadata{id} VALUES (1, 'schema_version', '3');
         INSERT INTO rocpd_info_node{id} VALUES (9, 'node1', 'abc123');
         INSERT INTO rocpd_info_process{id} VALUES ({pid}, 9, {pid}, 1000000, '/usr/bin/app --fast', '{{\"OMPI_COMM_WORLD_RANK\": \"{rank}\"}}');
         INSERT INTO rocpd_info_thread{id} VALUES ({pid}, 9, {pid}, {pid}, NULL);
         INSERT INTO rocpd_info_agent{id} VALUES (0, 9, {pid}, 'CPU', 0, 0, 'cpu', 'EPYC'), (4, 9, {pid}, 'GPU', 0, 4, 'gfx942', 'MI300X');
         INSERT INTO rocpd_info_kernel_symbol{id} VALUES (1, 'solve(float*)', '_Z5solvePf.kd', 40);
         INSERT INTO rocpd_info_pmc{id} VALUES (1, 'SQ_WAVES');
         INSERT INTO rocpd_sample{id} VALUES (1, 1, NULL);"
    );
    sql
}

/// Adds calls, operations and memory.
fn rows(run: &dyn Fn(String), id: &str, shape: Shape, pid: i64, stream: i64) {
    let (mut n_events, mut n_times, mut n_tracks) = (0, 0, 0);
    let mut event = |category: i64, stack: i64, data: &str| {
        n_events += 1;
        run(format!("INSERT INTO rocpd_event{id} VALUES ({n_events}, {category}, {stack}, '{data}')"));
        n_events
    };
    // What a row begins with: when, and on which agent, queue and stream.
    let mut place = |start: i64, end: i64, [agent, queue, stream]: [&str; 3]| {
        let (start, end) = (1_000_000 + start, 1_000_000 + end);
        if shape == Shape::Inline {
            return format!("9, {pid}, {pid}, {agent}, {queue}, {stream}, {start}, {end}");
        }
        (n_times, n_tracks) = (n_times + 2, n_tracks + 1);
        let begin = n_times - 1;
        run(format!("INSERT INTO rocpd_timestamp{id} VALUES ({begin}, {start}), ({n_times}, {end})"));
        run(format!(
            "INSERT INTO rocpd_track{id} VALUES ({n_tracks}, 9, {pid}, {pid}, {agent}, {queue}, {stream})"
        ));
        format!("{n_tracks}, {begin}, {n_times}")
    };
    let host = ["NULL"; 3];
    let calls = [(10, 20, 4, 1), (30, 40, 4, 2), (50, 60, 5, 3), (100, 400, 6, 4)];
    for (nth, (start, end, name, stack)) in (1..).zip(calls) {
        let of = event(1, stack, "{}");
        run(format!(
            "INSERT INTO rocpd_region{id} VALUES ({nth}, {}, {name}, {of})",
            place(start, end, host)
        ));
    }
    let of = event(2, 5, "{\"message\": \"step 1\"}");
    run(format!("INSERT INTO rocpd_region{id} VALUES (5, {}, 7, {of})", place(5, 90, host)));
    let streams = [("1", "0"), ("2", if stream == 0 { "0" } else { "1" })];
    for (nth, (start, end, stack, (queue, stream))) in
        (1..).zip([(100, 200, 1, streams[0]), (150, 300, 2, streams[1])])
    {
        let of = event(3, stack, "{}");
        let at = place(start, end, ["4", queue, stream]);
        run(format!(
            "INSERT INTO rocpd_kernel_dispatch{id} VALUES ({nth}, {at}, 1, {of}, 512, 1024, 4, 1, 256, 2, 1)"
        ));
        run(format!("INSERT INTO rocpd_pmc_event{id} VALUES ({nth}, {of}, 1, {nth}00.0)"));
    }
    let of = event(3, 3, "{}");
    run(format!(
        "INSERT INTO rocpd_memory_copy{id} VALUES (1, {}, 8, {of}, 4096, 4, 0)",
        place(310, 350, ["NULL", "NULL", "0"])
    ));
    run(format!(
        "INSERT INTO rocpd_memory_allocate{id} VALUES (1, {}, 'ALLOC', 'REAL', 77, 64)",
        place(6, 8, ["4", "NULL", "NULL"])
    ));
    run(format!(
        "INSERT INTO rocpd_memory_allocate{id} VALUES (2, {}, 'FREE', 'REAL', 77, 0)",
        place(380, 390, host)
    ));
}

/// One line for each location.
fn told(source: &NsightSource) -> String {
    let definitions = source.definitions();
    let mut text = String::new();
    for (index, location) in definitions.locations.iter().enumerate() {
        let group = &definitions.location_groups[location.group.index()].name;
        write!(text, "{group} / {}:", location.name).unwrap();
        let plan = ReadPlan::all(Needs::ALL_EVENTS);
        let mut reader = TraceSource::open(source, LocationId::from_index(index), &plan).unwrap();
        let mut buffer = ChunkBuffer::default();
        while reader.read(&mut buffer).unwrap() {
            for row in 0..buffer.len() {
                let (at, name) = (buffer.time[row].0, &definitions.region(buffer.region[row]).name);
                match buffer.kind[row] {
                    EventKind::Enter => {
                        let links = buffer.links.iter().filter(|it| it.row as usize == row);
                        let link = links.map(|it| match it.end {
                            LinkEnd::From => format!("!{}", it.id & 0xff),
                            LinkEnd::To => format!("?{}", it.id & 0xff),
                        });
                        write!(text, " {at}<{name}{}", link.collect::<String>())
                    }
                    EventKind::Leave => write!(text, " {at}>"),
                    EventKind::Metric => {
                        let value = buffer.metrics.iter().find(|it| it.row as usize == row).unwrap();
                        let metric = &definitions.metrics[value.metric.index()].name;
                        write!(text, " {metric}={}", f64::from_bits(value.bits))
                    }
                    EventKind::Parameter => {
                        let value = buffer.parameters.iter().find(|it| it.row as usize == row).unwrap();
                        match &value.value {
                            ParameterValue::Text(shape) => write!(text, " {shape}"),
                            other => write!(text, " {other:?}"),
                        }
                    }
                    other => write!(text, " {other:?}"),
                }
                .unwrap();
            }
        }
        text.push('\n');
    }
    text
}

fn opened(path: &Path) -> NsightSource {
    let candidate = Candidate::at(path);
    assert!(recognise(&candidate).is_some());
    open(path, &databases_in(&candidate)).unwrap()
}

#[test]
fn both_shapes_of_the_tables_are_read_alike() {
    let folder = tempfile::tempdir().unwrap();
    let made = [Shape::Inline, Shape::Tracks].map(|shape| {
        let path = folder.path().join(format!("{}.db", shape as u8));
        make(&path, shape, 4711, (1, ""));
        told(&opened(&path))
    });
    assert_eq!(made[0], made[1]);
    let wanted = "\
app (process 4711) / thread 4711: 5<step 1 10<hipLaunchKernel!1 20> 30<hipLaunchKernel!2 40> 50<hipMemcpyAsync!3 60> 90> 100<hipDeviceSynchronize 400>
GPU 0 MI300X / stream 0: 100<solve(float*)?1 SHAPE SQ_WAVES=100 200> 310<[HIP memcpy Host-to-Device]?3 U64(4096) 350>
GPU 0 MI300X / stream 1: 150<solve(float*)?2 SHAPE SQ_WAVES=200 300>
app (process 4711) / counters: memory allocated, device 0=64 memory change, device 0=64 memory allocated, device 0=0 memory change, device 0=-64
";
    let shape = "grid=4x2x1 block=256x2x1 registers=40 shared_bytes=512";
    assert_eq!(made[0].replace(shape, "SHAPE"), wanted);
}

#[test]
fn queues_are_streams_where_hip_names_none() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    make(&path, Shape::Inline, 5, (0, ""));
    let source = opened(&path);
    let streams =
        source.definitions().locations.iter().filter(|it| it.kind == LocationKind::AcceleratorStream);
    let names: Vec<&str> = streams.map(|it| &*it.name).collect();
    assert_eq!(names, ["copies", "queue 1", "queue 2"]);
    assert!(source.notices().iter().any(|it| it.message.contains("rows of table rocpd_sample")));
}

#[test]
fn a_folder_of_processes_is_one_run() {
    let folder = tempfile::tempdir().unwrap();
    for (shape, pid, rank) in [(Shape::Inline, 20, "1"), (Shape::Tracks, 30, "0")] {
        make(&folder.path().join(format!("{pid}_results.db")), shape, pid, (1, rank));
    }
    let source = opened(folder.path());
    let groups = &source.definitions().location_groups;
    let ranks: Vec<_> = groups.iter().map(|it| (&*it.name, it.rank.map(|rank| rank.0))).collect();
    assert!(ranks.contains(&("rank 0: app (process 30)", Some(0))), "{ranks:?}");
    assert!(ranks.contains(&("rank 1: app (process 20)", Some(1))), "{ranks:?}");
    // Both drive the one device of their host.
    let devices: Vec<_> = groups.iter().filter_map(|it| it.device.as_deref()).collect();
    assert_eq!(devices, ["abc123 agent 4"; 2]);
}

#[test]
fn a_file_may_have_several_processes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("merged.db");
    make_with("_000a", &path, Shape::Inline, 20, (1, "0"));
    make_with("_000b", &path, Shape::Tracks, 30, (1, "1"));
    let source = opened(&path);
    let ranks: Vec<_> = source.definitions().location_groups.iter().filter_map(|it| it.rank).collect();
    assert_eq!(ranks.iter().map(|rank| rank.0).collect::<Vec<_>>(), [0, 0, 1, 1]);
}

#[test]
fn damage_is_survived_and_said() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    make(&path, Shape::Tracks, 7, (1, "0"));
    let whole = std::fs::read(&path).unwrap();
    let mut rng = ouzel_testkit::Rng::new(7);
    for nth in 0..300 {
        let mut bytes = whole.clone();
        if nth % 3 == 0 {
            bytes.truncate(rng.below(whole.len() as u64) as usize);
        }
        for _ in 0..nth % 5 {
            let at = rng.below(bytes.len().max(1) as u64) as usize;
            if let Some(byte) = bytes.get_mut(at) {
                *byte = rng.below(256) as u8;
            }
        }
        std::fs::write(&path, &bytes).unwrap();
        let candidate = Candidate::at(&path);
        if recognise(&candidate).is_some()
            && let Ok(source) = open(&path, &databases_in(&candidate))
        {
            told(&source);
        }
    }
}

/// Which reader comes first must not matter: what one reads of a file to recognise it, others cannot read any more.
#[test]
fn a_look_at_a_large_export_of_nsight_leaves_it_readable() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("export.sqlite");
    let tables: String = (0..1500).map(|i| format!("CREATE TABLE t{i} (a INTEGER, b TEXT);")).collect();
    let known = "CREATE TABLE StringIds (id INTEGER, value TEXT); CREATE TABLE NVTX_EVENTS (start INTEGER, \"end\" INTEGER);";
    let db = Connection::open(&path).unwrap();
    db.execute_batch(&format!("BEGIN; {known} {tables} COMMIT")).unwrap();
    let candidate = Candidate::at(&path);
    let exports = || crate::nsight::reports::exports_in(&candidate);
    assert_eq!(exports(), std::slice::from_ref(&path));
    assert_eq!(recognise(&candidate), None);
    assert_eq!(exports(), std::slice::from_ref(&path));
}
