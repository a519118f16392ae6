//! Exports made row by row: messages, lanes, several reports, limits of memory.

use super::super::open_path;
use super::super::store::Partition;
use super::super::{READER, rows::ReportRow};
use super::{Sums, all_sums, opened, sums_in, sums_of};
use crate::reader::OpenError;
use ouzel_files::Candidate;
use ouzel_model::{
    CollectiveOp, CollectiveRoot, CommRank, DeviceStep, Filter, LocationKind, NoticeCode, RequestEvent,
    TraceSource,
};
use ouzel_testkit::nsight::{ROWS_PER_STEP, Shape, create, fill, global_id};
use std::path::Path;

const SHAPE: Shape = Shape { rank: 0, n_ranks: 2, n_threads: 2, n_steps: 50 };

/// An export of one process (pid 7) with the rows that `sql` inserts; `T` is its first thread, `U` its second, `P` the
/// process.
fn made(dir: &Path, sql: &str) -> std::path::PathBuf {
    let path = dir.join("report.sqlite");
    let connection = create(&path).unwrap();
    let mut sql = sql.to_owned();
    for (name, id) in [("$T", global_id(7, 7)), ("$U", global_id(7, 8)), ("$P", global_id(7, 0))] {
        sql = sql.replace(name, &id.to_string());
    }
    connection.execute_batch(&sql).unwrap();
    path
}

fn names(sums: &Sums) -> Vec<(&str, u64, u64)> {
    sums.calls.iter().map(|(name, &(n, time))| (name.as_str(), n, time)).collect()
}

#[test]
fn messages_and_collectives_have_their_payload() {
    let dir = tempfile::tempdir().unwrap();
    let path = made(
        dir.path(),
        "INSERT INTO StringIds VALUES (1,'MPI_Send'),(2,'MPI_Irecv'),(3,'MPI_Waitall'),(4,'MPI_Allreduce'),
           (5,'MPI_Bcast'),(6,'MPI_Isend'),(7,'MPI_Ibarrier');
         INSERT INTO MPI_RANKS VALUES ($T, 3);
         INSERT INTO MPI_P2P_EVENTS VALUES (10,20,$T,2,77,5,1,64,901),(21,29,$T,6,77,6,2,32,902),
           (30,40,$T,1,77,9,4,128,NULL),(41,42,$T,1,88,9,4,128,NULL),(43,44,$T,1,77,9,-1,128,NULL);
         INSERT INTO MPI_START_WAIT_EVENTS VALUES (50,60,$T,3,901),(50,60,$T,3,902),(50,60,$T,3,903);
         INSERT INTO MPI_COLLECTIVES_EVENTS VALUES (70,80,$T,4,77,NULL,8,NULL,NULL),(90,95,$T,5,77,2,16,NULL,NULL),
           (46,47,$T,7,77,NULL,0,0,903);",
    );
    let source = opened(&path).unwrap();
    assert_eq!(source.definitions().ranks().len(), 1);
    assert_eq!(
        source.definitions().communicators[0].members.len(),
        5,
        "ranks up to the largest that is named"
    );
    let sums = all_sums(&source);
    let sent: Vec<_> = sums.sends.iter().map(|end| (end.peer, end.tag, end.bytes, end.request)).collect();
    assert_eq!(sent, [(CommRank(2), 6, 32, Some(902)), (CommRank(4), 9, 128, None)]);
    let received: Vec<_> = sums.recvs.iter().map(|end| (end.peer, end.tag, end.bytes, end.request)).collect();
    assert_eq!(received, [(CommRank(1), 5, 64, Some(901))], "at the end of the call that completes it");
    assert_eq!(
        sums.requests,
        [
            (901, RequestEvent::RecvPosted),
            (903, RequestEvent::CollectivePosted),
            (902, RequestEvent::SendComplete)
        ]
    );
    let collectives: Vec<_> =
        sums.collectives.iter().map(|c| (c.op, c.root, c.bytes_sent, c.bytes_received, c.request)).collect();
    assert_eq!(
        collectives,
        [
            (CollectiveOp::Barrier, CollectiveRoot::None, 0, 0, Some(903)),
            (CollectiveOp::Allreduce, CollectiveRoot::None, 8, 8, None),
            (CollectiveOp::Bcast, CollectiveRoot::Rank(CommRank(2)), 16, 16, None)
        ]
    );
    assert_eq!(sums.calls["MPI_Waitall"], (1, 10), "one call, whatever it completes");
    let mut reader = TraceSource::open(
        &source,
        ouzel_model::LocationId(0),
        &ouzel_model::ReadPlan::all(ouzel_model::Needs::MESSAGES),
    )
    .unwrap();
    let mut buffer = ouzel_model::ChunkBuffer::default();
    while reader.read(&mut buffer).unwrap() {}
    let counts: Vec<u64> = reader.notices().iter().map(|notice| notice.count).collect();
    assert_eq!(counts, [1, 1], "one on another communicator, one without a peer");
}

#[test]
fn a_run_ends_with_its_program_and_not_with_the_profilers_work() {
    // The program ends at 100; the profiler works in it from 60 to 70, beside its end from 90 to 120, and from 130 on.
    let rows = "INSERT INTO StringIds VALUES (1,'cudaFree'),(2,'init'),(3,'flush'),(4,'stop'),(5,'write'),(6,'f');
        INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (10,100,0,$T,1,1,0,NULL);
        INSERT INTO PROFILER_OVERHEAD VALUES (130,2000,$T,4,0),(60,70,$T,2,0),(90,120,$U,3,0),(1900,2100,$T,3,0);
        INSERT INTO SAMPLING_CALLCHAINS VALUES (1,6,6,NULL,0,NULL,0);
        INSERT INTO COMPOSITE_EVENTS VALUES (1,150,0,0,$T,1);
        INSERT INTO OSRT_API VALUES (140,1999,27,$T,5,0,NULL,0);";
    let of = |more: &str| {
        let dir = tempfile::tempdir().unwrap();
        let source = opened(&made(dir.path(), &format!("{rows}{more}"))).unwrap();
        let sums = all_sums(&source);
        let said = source.notices().iter().filter(|notice| notice.message.contains("own work"));
        let said: Vec<String> = said.map(|notice| format!("{} × {}", notice.count, notice.message)).collect();
        let calls: Vec<String> =
            names(&sums).iter().map(|(name, n, ns)| format!("{n} {name} {ns}")).collect();
        (calls.join(", "), sums.n_samples, said)
    };
    let (calls, n_samples, said) = of("");
    assert_eq!((calls.as_str(), n_samples), ("1 cudaFree 90, 1 flush 30, 1 init 10", 0));
    assert_eq!(
        said,
        [
            "4 × the profiler's own work after the end of the program, most in \"stop\", took 2.000 µs; it is left out, and \
          the run ends before it"
        ]
    );
    // The other thread computes meanwhile: nothing is left out.
    let (calls, n_samples, said) = of("INSERT INTO SAMPLING_CALLCHAINS VALUES (2,6,6,NULL,0,NULL,0);
        INSERT INTO COMPOSITE_EVENTS VALUES (2,2200,0,0,$U,1);");
    assert_eq!(calls, "1 cudaFree 90, 2 flush 230, 1 init 10, 1 stop 1870, 1 write 1859");
    assert_eq!((n_samples, said.len()), (2, 0));
    let alone =
        "DELETE FROM CUPTI_ACTIVITY_KIND_RUNTIME; DELETE FROM OSRT_API; DELETE FROM COMPOSITE_EVENTS;";
    assert_eq!(of(alone).0, "2 flush 230, 1 init 10, 1 stop 1870", "nothing else is known of the program");
}

/// Two processes with a kernel each on device 0 of CUDA, and a shell beside them.
const TWO_PROCESSES: &str = "INSERT INTO StringIds VALUES (1,'k'),(2,'cudaLaunchKernel'),(3,'read');
    INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (0,5,0,$T,1,2,0,NULL),(1,6,0,$O,1,2,0,NULL);
    INSERT INTO OSRT_API VALUES (0,50,27,$S,3,0,NULL,0);
    INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (5,20,0,1,7,1,$P,3,1),(20,40,0,1,7,1,$Q,3,1);
    INSERT INTO TARGET_INFO_GPU VALUES (0,0,'A100','aa-01'),(0,1,'A100','aa-02'),(0,2,'Basic Render','00-00');";

fn two_processes(dir: &Path, sql: &str) -> super::super::NsightSource {
    let mut all = "ALTER TABLE TARGET_INFO_GPU ADD uuid TEXT;".to_owned() + TWO_PROCESSES + sql;
    for (name, id) in [("$O", global_id(5, 5)), ("$Q", global_id(5, 0)), ("$S", global_id(3, 3))] {
        all = all.replace(name, &id.to_string());
    }
    opened(&made(dir, &all)).unwrap()
}

#[test]
fn processes_that_drive_devices_are_ranks_by_their_ids() {
    let ranks = |sql: &str| {
        let dir = tempfile::tempdir().unwrap();
        let source = two_processes(dir.path(), sql);
        let groups = source.definitions().location_groups.iter();
        let ranks: Vec<String> = groups
            .map(|group| {
                let rank = group.rank.map_or_else(|| "-".to_owned(), |rank| rank.to_string());
                format!("{} {rank}", group.name)
            })
            .collect();
        let said = source.notices().iter().any(|notice| notice.message.contains("are ranks in the order"));
        let locations = source.definitions().locations.iter();
        assert!(
            locations
                .clone()
                .all(|it| { it.rank == source.definitions().location_groups[it.group.index()].rank })
        );
        (ranks, said)
    };
    assert_eq!(
        ranks(""),
        (
            [
                "process 3 -",
                "process 5 0",
                "GPU 0 A100, context 1 0",
                "process 7 1",
                "GPU 0 A100, context 1 1"
            ]
            .map(str::to_owned)
            .to_vec(),
            true
        )
    );
    let (by_table, said) = ranks("INSERT INTO MPI_RANKS VALUES ($T, 4), ($O, 6);");
    assert_eq!(by_table[0], "rank 4: process 7 4");
    assert!(by_table.contains(&"process 3 -".to_owned()) && !said, "{by_table:?}");
    let environment = "INSERT INTO META_DATA_CAPTURE VALUES ('X_ENVIRONMENT_VARIABLE', 'PMI_RANK=9');";
    assert_eq!(ranks(environment), ranks(""), "one number cannot be that of two processes");
    let alone = format!("{environment} DELETE FROM CUPTI_ACTIVITY_KIND_GRAPH_TRACE WHERE globalPid = $Q;");
    let (alone, _) = ranks(&alone);
    assert!(alone.contains(&"rank 9: process 7 9".to_owned()), "only it drives a device: {alone:?}");
    assert!(alone.contains(&"process 5 -".to_owned()), "{alone:?}");
}

#[test]
fn a_device_is_known_by_what_the_export_says_of_each_process() {
    let devices = |sql: &str| {
        let dir = tempfile::tempdir().unwrap();
        let source = two_processes(dir.path(), sql);
        let groups = source.definitions().location_groups.iter();
        let of: Vec<String> =
            groups.filter_map(|group| group.device.as_ref().map(ToString::to_string)).collect();
        (of, source.definitions().shared_devices().len())
    };
    let numbers =
        "CREATE TABLE TARGET_INFO_CUDA_DEVICE (gpuId INTEGER, cudaId INTEGER, pid INTEGER, uuid TEXT);
                   INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES";
    let list = |of: &[&str]| of.iter().map(|&it| it.to_owned()).collect::<Vec<_>>();
    assert_eq!(devices(""), (list(&[]), 0), "device 0 of each may be any of two");
    assert_eq!(
        devices("DELETE FROM TARGET_INFO_GPU WHERE id = 1;"),
        (list(&["aa-01", "aa-01"]), 1),
        "the only one"
    );
    let own = format!("{numbers} (0, 0, 5, ''), (1, 0, 7, '');");
    assert_eq!(devices(&own), (list(&["aa-01", "aa-02"]), 0));
    let shared = format!("{numbers} (1, 0, 5, 'aa-02'), (1, 0, 7, 'aa-02');");
    assert_eq!(devices(&shared), (list(&["aa-02", "aa-02"]), 1));
    let parts = format!("{numbers} (1, 0, 5, 'part-1'), (1, 0, 7, 'part-2');");
    assert_eq!(devices(&parts), (list(&["part-1", "part-2"]), 0), "parts of one device");
}

#[test]
fn ranges_that_overlap_get_locations_of_their_own() {
    let dir = tempfile::tempdir().unwrap();
    let path = made(
        dir.path(),
        "INSERT INTO StringIds VALUES (1,'cudaMalloc_v3020'),(2,'outer'),(3,'k');
         INSERT INTO NVTX_EVENTS (start,end,eventType,text,globalTid,textId,domainId) VALUES
           (0,NULL,75,'lib',$T,NULL,4),
           (0,100,59,NULL,$T,2,0),(10,60,60,'a',$T,NULL,4),(20,90,60,'b',$T,NULL,4),(30,40,60,'c',$T,NULL,4),
           (95,NULL,60,'d',$U,NULL,0),(50,50,34,'mark',$T,NULL,0);
         INSERT INTO ANALYSIS_DETAILS VALUES (0,500,0,500);
         INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (90,110,0,$T,5,1,0,NULL);
         INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (0,50,0,1,7,5,$P,3,1),(40,70,0,1,7,5,$P,3,1);",
    );
    let source = opened(&path).unwrap();
    let sums = all_sums(&source);
    assert_eq!(
        names(&sums),
        [
            ("[CUDA graph 3]", 2, 80),
            ("a", 1, 50),
            ("b", 1, 70),
            ("c", 1, 10),
            ("cudaMalloc", 1, 20),
            ("d", 1, 405),
            ("outer", 1, 100)
        ]
    );
    let locations: Vec<&str> = source.definitions().locations.iter().map(|l| &*l.name).collect();
    assert_eq!(
        locations,
        [
            "thread 7",
            "thread 7 (2)",
            "thread 7, ranges",
            "thread 7, ranges (2)",
            "thread 8, ranges",
            "stream 7",
            "stream 7 (2)"
        ]
    );
    let region =
        |name: &str| source.definitions().regions.iter().find(|region| &*region.name == name).unwrap();
    assert_eq!(region("a").canonical_name.as_deref(), Some("lib:a"));
    let codes: Vec<NoticeCode> = source.notices().iter().map(|notice| notice.code).collect();
    assert!(
        codes.contains(&NoticeCode::OpenCalls) && codes.contains(&NoticeCode::NotRepresented),
        "{codes:?}"
    );
}

#[test]
fn what_calls_wait_for_is_known_by_the_ids_of_a_row() {
    // The codes of the third column from the end are those of another version of the tool: they do not matter.
    let dir = tempfile::tempdir().unwrap();
    let path = made(
        dir.path(),
        "INSERT INTO StringIds VALUES (1,'cudaEventRecord_v3020'),(2,'cudaStreamWaitEvent_v3020'),
           (3,'cudaEventSynchronize_v3020'),(4,'cudaStreamSynchronize_v3020'),(5,'cudaDeviceSynchronize_v3020');
         INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET (start,end,deviceId,contextId,streamId,correlationId,globalPid,value,bytes)
           VALUES (1,2,0,1,7,99,$P,0,8),(3,4,0,1,13,98,$P,0,8);
         CREATE TABLE CUPTI_ACTIVITY_KIND_CUDA_EVENT (deviceId INTEGER, contextId INTEGER, streamId INTEGER,
           correlationId INTEGER, globalPid INTEGER, eventId INTEGER);
         INSERT INTO CUPTI_ACTIVITY_KIND_CUDA_EVENT (deviceId,contextId,streamId,correlationId,globalPid,eventId)
           VALUES (0,1,13,11,$P,4);
         INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (10,12,0,$T,11,1,0,NULL),(20,25,0,$T,12,2,0,NULL),
           (30,39,0,$T,13,3,0,NULL),(40,49,0,$T,14,4,0,NULL),(50,59,0,$T,15,5,0,NULL);
         INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES (21,24,0,1,7,12,$P,4,4),
           (31,38,0,1,4294967295,13,$P,2,4),(41,48,0,1,7,14,$P,3,4294967295),
           (51,58,0,0,4294967295,15,$P,1,4294967295);",
    );
    let source = opened(&path).unwrap();
    let definitions = source.definitions();
    let location = |name: &str| {
        let found = definitions.locations.iter().position(|it| &*it.name == name).unwrap();
        ouzel_model::LocationId::from_index(found)
    };
    let (host, first, second) = (location("thread 7"), location("stream 7"), location("stream 13"));
    let plan = ouzel_model::ReadPlan::all(ouzel_model::Needs::LINKS);
    let mut reader = TraceSource::open(&source, host, &plan).unwrap();
    let mut buffer = ouzel_model::ChunkBuffer::default();
    let mut steps = Vec::new();
    while reader.read(&mut buffer).unwrap() {
        let name = |row: u32| definitions.region(buffer.region[row as usize]).name.to_string();
        steps.extend(buffer.device_calls.iter().map(|it| (name(it.row), it.step)));
    }
    let DeviceStep::RecordEvent { event, .. } = steps[0].1 else { panic!("{steps:?}") };
    let device = definitions.location(first).group;
    let expected = [
        ("cudaEventRecord", DeviceStep::RecordEvent { event, stream: second }),
        ("[CUDA stream wait event]", DeviceStep::StreamAwaitsEvent { stream: first, event }),
        ("[CUDA event synchronize]", DeviceStep::AwaitEvent(event)),
        ("[CUDA stream synchronize]", DeviceStep::AwaitStream(first)),
        ("[CUDA context synchronize]", DeviceStep::AwaitDevice(device)),
    ];
    assert_eq!(steps, expected.map(|(name, step)| (name.to_owned(), step)));
}

#[test]
fn samples_have_their_chains() {
    let dir = tempfile::tempdir().unwrap();
    let path = made(
        dir.path(),
        "INSERT INTO StringIds VALUES (1,'main'),(2,'work'),(3,'0x7f01'),(4,'/lib/libx.so'),(5,'0x7f02');
         INSERT INTO COMPOSITE_EVENTS VALUES (1,10,0,1,$T,99),(2,20,0,1,$T,99),(3,30,0,1,$T,0);
         INSERT INTO SAMPLING_CALLCHAINS VALUES (1,2,4,NULL,NULL,0,0),(1,1,4,NULL,NULL,0,1),
           (2,3,4,NULL,1,0,0),(2,5,4,NULL,1,0,1),(2,1,4,NULL,NULL,0,2);",
    );
    let source = opened(&path).unwrap();
    let location = ouzel_model::LocationId(0);
    assert!(source.is_sampled(location));
    assert_eq!(all_sums(&source).n_samples, 2, "the third has no chain");
    let definitions = source.definitions();
    let mut frames = Vec::new();
    let paths: Vec<String> = (0..definitions.sampled_contexts.len())
        .map(|i| {
            definitions.sampled_contexts.frames(ouzel_model::ContextId::from_index(i), &mut frames);
            let names: Vec<&str> =
                frames.iter().map(|frame| &*definitions.region(frame.region).name).collect();
            names.join("/")
        })
        .collect();
    assert_eq!(paths, ["main", "main/work", "main/<unresolved in libx.so>"]);
}

#[test]
fn several_reports_are_one_run_on_one_clock() {
    let dir = tempfile::tempdir().unwrap();
    for rank in 0..2 {
        let path = dir.path().join(format!("run.rank{rank}.sqlite"));
        fill(&path, Shape { rank, ..SHAPE }).unwrap();
    }
    assert!((READER.recognise)(&Candidate::at(dir.path())).is_some_and(|what| what.contains("2 Nsight")));
    let source = opened(dir.path()).unwrap();
    let definitions = source.definitions();
    assert_eq!(definitions.ranks().iter().map(|rank| rank.0).collect::<Vec<_>>(), [0, 1]);
    let aligned = source.notices().iter().any(|notice| notice.code == NoticeCode::ClocksUnsynchronised);
    assert!(aligned, "{:?}", source.notices());
    let first = |rank: u32| {
        let of_rank = |id: &ouzel_model::LocationId| {
            let location = definitions.location(*id);
            location.kind == LocationKind::CpuThread && location.rank.is_some_and(|of| of.0 == rank)
        };
        let location = definitions.location_ids().find(of_rank).unwrap();
        let plan = ouzel_model::ReadPlan::all(ouzel_model::Needs::NOTHING);
        let mut buffer = ouzel_model::ChunkBuffer::default();
        TraceSource::open(&source, location, &plan).unwrap().read(&mut buffer).unwrap();
        buffer.time[0].0
    };
    assert_eq!(first(1) - first(0), 1_000, "the second session began a microsecond later");
    let sums = all_sums(&source);
    assert_eq!((sums.sends.len(), sums.recvs.len()), (200, 200));
    let n_calls: u64 = sums.calls.values().map(|calls| calls.0).sum();
    assert_eq!(n_calls, 2 * 2 * 50 * ROWS_PER_STEP);
    assert_eq!(sums.calls["stencil<double>(double*)"], (200, 200 * 3_000));
}

#[test]
fn a_time_range_reads_less_and_the_same() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("report.sqlite");
    fill(&path, Shape { n_threads: 1, n_steps: 5_000, ..SHAPE }).unwrap();
    let source = opened(&path).unwrap();
    let (start, end) = (30_000_000, 31_000_000);
    let filter = Filter { time_ns: Some((start, end)), ..Filter::default() };
    for location in source.definitions().location_ids() {
        let (mut all, mut some) = (Sums::default(), Sums::default());
        sums_of(&source, location, &mut all);
        sums_in(&source, location, &filter, &mut some);
        let is_stream = source.definitions().location(location).kind == LocationKind::AcceleratorStream;
        assert!(!is_stream || some.n_records < all.n_records / 2, "blocks are left out");
        assert!(!some.calls.is_empty());
    }
    let nothing = Filter { time_ns: Some((1 << 50, 1 << 51)), ..Filter::default() };
    let stream = source.definitions().location_ids().last().unwrap();
    let mut none = Sums::default();
    sums_in(&source, stream, &nothing, &mut none);
    assert_eq!(none, Sums::default());
}

#[test]
fn rows_that_do_not_fit_in_memory_come_back_the_same() {
    let mut rng = ouzel_testkit::Rng::new(7);
    let mut rows = Vec::new();
    for i in 0..20_000_u32 {
        let start = (rng.next_u64() % 100_000) as i64;
        let row = ReportRow::call(start, start + (rng.next_u64() % 50) as i64, i);
        rows.push(((rng.next_u64() % 3) as usize, row));
    }
    let store = |limit: usize| {
        let mut partition = Partition::with_limit(limit);
        for &(place, row) in &rows {
            partition.push(place, row).unwrap();
        }
        partition.finish(&[None; 3]).unwrap()
    };
    let (in_memory, spilled) = (store(usize::MAX), store(700));
    assert!(in_memory.spill.is_none() && spilled.spill.is_some());
    let mut n_rows = 0;
    for (a, b) in in_memory.lanes.iter().flatten().zip(spilled.lanes.iter().flatten()) {
        let mut reader = spilled.spill.as_ref().unwrap().reader().unwrap();
        let (mut all, mut some) = (Vec::new(), Vec::new());
        for block in &b.blocks {
            reader.read(block.offset, block.n_rows, &mut some).unwrap();
            all.append(&mut some);
        }
        assert_eq!(a.rows, all);
        assert!(all.is_sorted_by_key(ReportRow::order));
        n_rows += all.len();
    }
    assert_eq!(n_rows, rows.len(), "every row is in one lane");
    assert_eq!(
        in_memory.lanes.iter().map(Vec::len).collect::<Vec<_>>(),
        spilled.lanes.iter().map(Vec::len).collect::<Vec<_>>()
    );
}

#[test]
fn reports_before_their_export_are_refused_with_a_hint() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("run.nsys-rep");
    std::fs::write(&path, [0x31; 200]).unwrap();
    for path in [path.as_path(), dir.path()] {
        assert!((READER.recognise)(&Candidate::at(path)).is_some());
        let Err(OpenError::Refused { reason, .. }) = open_path(&Candidate::at(path)) else {
            panic!("{path:?} is refused")
        };
        assert!(reason.contains("nsys export --type sqlite"), "{reason}");
    }
    assert_eq!((READER.recognise)(&Candidate::at(&dir.path().join("run"))), None);
    let other = dir.path().join("other.sqlite");
    rusqlite::Connection::open(&other).unwrap().execute_batch("CREATE TABLE t (a)").unwrap();
    assert_eq!((READER.recognise)(&Candidate::at(&other)), None, "some other database");
}

#[test]
fn launches_memory_and_metrics_of_gpus_are_read() {
    let dir = tempfile::tempdir().unwrap();
    let path = made(
        dir.path(),
        "INSERT INTO StringIds VALUES (1,'solve');
         INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL (start,end,deviceId,contextId,streamId,correlationId,globalPid,
             demangledName,shortName,registersPerThread,gridX,gridY,gridZ,blockX,blockY,blockZ,staticSharedMemory,
             dynamicSharedMemory,localMemoryPerThread,localMemoryTotal,gridId)
           VALUES (10,20,0,1,7,1,$P,1,1,32,64,2,1,128,1,1,16,1024,0,0,1),
                  (20,30,0,1,7,2,$P,1,1,32,64,2,1,128,1,1,16,1024,0,0,2);
         INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY (start,end,deviceId,contextId,streamId,correlationId,globalPid,bytes,
             copyKind,srcKind,dstKind)
           VALUES (30,40,0,1,7,3,$P,100,1,0,2),(40,50,0,1,7,4,$P,100,2,2,1),(50,60,0,1,7,5,$P,100,8,2,2);
         CREATE TABLE TARGET_INFO_GPU_METRICS (typeId INTEGER, sourceId INTEGER, typeName TEXT, metricId INTEGER,
           metricName TEXT);
         INSERT INTO TARGET_INFO_GPU_METRICS VALUES (258,1,'GA100',3,'SMs Active [%]');
         CREATE TABLE GPU_METRICS (timestamp INTEGER, typeId INTEGER, metricId INTEGER, value INTEGER);
         INSERT INTO GPU_METRICS VALUES (15,258,3,40),(25,258,3,55),(25,258,9,1);
         CREATE TABLE CUDA_GPU_MEMORY_USAGE_EVENTS (start INTEGER, globalPid INTEGER, deviceId INTEGER,
           contextId INTEGER, address INTEGER, pc INTEGER, bytes INTEGER, memKind INTEGER, memoryOperationType INTEGER,
           name TEXT, correlationId INTEGER);
         INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS VALUES (9,$P,0,1,1,0,30,2,1,NULL,0),(5,$P,0,1,1,0,50,2,0,NULL,0),
           (6,$P,0,1,2,0,7,1,0,NULL,0);",
    );
    let source = opened(&path).unwrap();
    let sums = all_sums(&source);
    let shape = "grid=64x2x1 block=128x1x1 registers=32 shared_bytes=1040";
    assert_eq!(sums.texts, [shape, shape, "pageable", "pinned"]);
    let value = |at, name: &str, value| (at, name.to_owned(), value);
    assert_eq!(
        sums.values,
        [
            value(5, "memory allocated, device 0", 50.0),
            value(5, "memory change, device 0", 50.0),
            value(6, "memory allocated, host", 7.0),
            value(6, "memory change, host", 7.0),
            value(9, "memory allocated, device 0", 20.0),
            value(9, "memory change, device 0", -30.0),
            value(15, "SMs Active [%], GPU 2", 40.0),
            value(25, "SMs Active [%], GPU 2", 55.0),
            value(25, "metric 9, GPU 2", 1.0),
        ]
    );
    let counters = source.definitions().locations.iter().filter(|it| it.kind == LocationKind::Metric);
    assert_eq!(counters.map(|it| &*it.name).collect::<Vec<_>>(), ["counters"]);
}
