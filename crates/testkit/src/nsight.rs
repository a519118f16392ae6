//! Exports of Nsight Systems, written for tests and benchmarks.
//!
//! [`create`] makes an empty export with the tables and columns of schema 3.13 that readers look at; tests add rows
//! in SQL. [`fill`] makes a large one from numbers alone: threads that launch kernels and copies inside of NVTX
//! ranges, and exchange messages with the neighbours of their rank.
//!
//! Law: [`fill`] gives the same rows for the same arguments. Rows are in the order of tables that real exports have:
//! by time of their completion, threads mixed.

use rusqlite::{Connection, Error, params};
use std::path::Path;

/// The tables, as the exporter lays them out.
const SCHEMA: &str = r#"
CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE META_DATA_EXPORT (name TEXT NOT NULL, value TEXT);
CREATE TABLE META_DATA_CAPTURE (name TEXT NOT NULL, value TEXT);
CREATE TABLE ANALYSIS_DETAILS (globalVid INTEGER, duration INTEGER, startTime INTEGER, stopTime INTEGER);
CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER, utcTime TEXT, localTime TEXT);
CREATE TABLE TARGET_INFO_SYSTEM_ENV (globalVid INTEGER, devStateName TEXT, name TEXT, nameEnum INTEGER, value TEXT);
CREATE TABLE TARGET_INFO_GPU (vmId INTEGER, id INTEGER, name TEXT);
CREATE TABLE PROCESSES (globalPid INTEGER, pid INTEGER, name TEXT);
CREATE TABLE ThreadNames (nameId INTEGER, priority INTEGER, globalTid INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER NOT NULL,
  globalTid INTEGER, correlationId INTEGER, nameId INTEGER NOT NULL, returnValue INTEGER NOT NULL, callchainId INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL,
  contextId INTEGER NOT NULL, greenContextId INTEGER, streamId INTEGER NOT NULL, correlationId INTEGER,
  globalPid INTEGER, demangledName INTEGER NOT NULL, shortName INTEGER NOT NULL, mangledName INTEGER,
  launchType INTEGER, cacheConfig INTEGER, registersPerThread INTEGER NOT NULL, gridX INTEGER NOT NULL,
  gridY INTEGER NOT NULL, gridZ INTEGER NOT NULL, blockX INTEGER NOT NULL, blockY INTEGER NOT NULL,
  blockZ INTEGER NOT NULL, staticSharedMemory INTEGER NOT NULL, dynamicSharedMemory INTEGER NOT NULL,
  localMemoryPerThread INTEGER NOT NULL, localMemoryTotal INTEGER NOT NULL, gridId INTEGER NOT NULL,
  sharedMemoryExecuted INTEGER, graphNodeId INTEGER, sharedMemoryLimitConfig INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL,
  contextId INTEGER NOT NULL, greenContextId INTEGER, streamId INTEGER NOT NULL, correlationId INTEGER,
  globalPid INTEGER, bytes INTEGER NOT NULL, copyKind INTEGER NOT NULL, srcKind INTEGER, dstKind INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL,
  contextId INTEGER NOT NULL, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER,
  value INTEGER NOT NULL, bytes INTEGER NOT NULL, graphNodeId INTEGER, memKind INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start INTEGER NOT NULL, end INTEGER NOT NULL,
  deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, streamId INTEGER NOT NULL, correlationId INTEGER,
  globalPid INTEGER, syncType INTEGER NOT NULL, eventId INTEGER NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start INTEGER NOT NULL, end INTEGER NOT NULL,
  deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, streamId INTEGER NOT NULL, correlationId INTEGER,
  globalPid INTEGER, graphId INTEGER, graphExecId INTEGER);
CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, rangeId INTEGER,
  category INTEGER, color INTEGER, text TEXT, globalTid INTEGER, endGlobalTid INTEGER, textId INTEGER,
  domainId INTEGER, uint64Value INTEGER, int64Value INTEGER, doubleValue REAL, uint32Value INTEGER,
  int32Value INTEGER, floatValue REAL, jsonTextId INTEGER, jsonText TEXT);
CREATE TABLE OSRT_API (start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER NOT NULL, globalTid INTEGER,
  nameId INTEGER NOT NULL, returnValue INTEGER NOT NULL, nestingLevel INTEGER, callchainId INTEGER NOT NULL);
CREATE TABLE PROFILER_OVERHEAD (start INTEGER NOT NULL, end INTEGER NOT NULL, globalTid INTEGER,
  nameId INTEGER NOT NULL, returnValue INTEGER NOT NULL);
CREATE TABLE COMPOSITE_EVENTS (id INTEGER NOT NULL PRIMARY KEY, start INTEGER NOT NULL, cpu INTEGER,
  threadState INTEGER, globalTid INTEGER, cpuCycles INTEGER NOT NULL);
CREATE TABLE SAMPLING_CALLCHAINS (id INTEGER NOT NULL, symbol INTEGER NOT NULL, module INTEGER NOT NULL,
  kernelMode INTEGER, unresolved INTEGER, originalIP INTEGER, stackDepth INTEGER NOT NULL,
  PRIMARY KEY (id, stackDepth));
CREATE TABLE MPI_RANKS (globalTid INTEGER NOT NULL, rank INTEGER NOT NULL);
CREATE TABLE MPI_P2P_EVENTS (start INTEGER NOT NULL, end INTEGER, globalTid INTEGER, textId INTEGER,
  commHandle INTEGER, tag INTEGER, remoteRank INTEGER, size INTEGER, requestHandle INTEGER);
CREATE TABLE MPI_COLLECTIVES_EVENTS (start INTEGER NOT NULL, end INTEGER, globalTid INTEGER, textId INTEGER,
  commHandle INTEGER, rootRank INTEGER, size INTEGER, recvSize INTEGER, requestHandle INTEGER);
CREATE TABLE MPI_START_WAIT_EVENTS (start INTEGER NOT NULL, end INTEGER, globalTid INTEGER, textId INTEGER,
  requestHandle INTEGER);
CREATE TABLE MPI_OTHER_EVENTS (start INTEGER NOT NULL, end INTEGER, globalTid INTEGER, textId INTEGER);
INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_PRODUCT_NAME', 'NVIDIA Nsight Systems'),
  ('EXPORT_PRODUCT_VERSION', '2023.4.1'), ('EXPORT_SCHEMA_VERSION', '3.13.2');
"#;

/// The serialised id of a thread of a process; that of the process has zero for the thread.
pub fn global_id(pid: u32, tid: u32) -> i64 {
    1 << 56 | i64::from(pid) << 24 | i64::from(tid)
}

/// Makes an empty export. Rows are committed at once, or when the connection commits.
///
/// # Errors
/// If the file cannot be written.
pub fn create(path: &Path) -> Result<Connection, Error> {
    let connection = Connection::open(path)?;
    connection.execute_batch("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF;")?;
    connection.execute_batch(SCHEMA)?;
    Ok(connection)
}

/// How large a generated export is.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    /// The rank of its process.
    pub rank: u32,
    /// Ranks of the run.
    pub n_ranks: u32,
    /// Threads of the process; each uses a stream of its own.
    pub n_threads: u32,
    /// Steps of each thread: 2 NVTX ranges, 3 calls of CUDA, 2 device operations, 3 calls of MPI, 1 of the system.
    pub n_steps: u32,
}

/// Rows of a step of a thread.
pub const ROWS_PER_STEP: u64 = 11;

const STRINGS: [&str; 12] = [
    "",
    "cudaLaunchKernel_v7000",
    "cudaMemcpyAsync_v3020",
    "cudaStreamSynchronize_v3020",
    "stencil<double>(double*)",
    "stencil",
    "step",
    "exchange",
    "MPI_Isend",
    "MPI_Recv",
    "MPI_Waitall",
    "write",
];

/// Makes an export and fills it; returns the number of rows with a time.
///
/// # Errors
/// If the file cannot be written.
pub fn fill(path: &Path, shape: Shape) -> Result<u64, Error> {
    let connection = create(path)?;
    connection.execute_batch("BEGIN")?;
    for (id, value) in STRINGS.iter().enumerate().skip(1) {
        connection.execute("INSERT INTO StringIds VALUES (?, ?)", params![id as i64, value])?;
    }
    let pid = 1000 + shape.rank;
    let process = global_id(pid, 0);
    let start_utc = 1_700_000_000_000_000_000 + i64::from(shape.rank) * 1_000;
    connection.execute("INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (?, '', '')", [start_utc])?;
    connection.execute("INSERT INTO PROCESSES VALUES (?, ?, 'stencil')", params![process, pid])?;
    connection.execute("INSERT INTO TARGET_INFO_GPU VALUES (1, 0, 'Test GPU')", [])?;
    for thread in 0..shape.n_threads {
        let global_tid = global_id(pid, pid + thread);
        connection.execute("INSERT INTO MPI_RANKS VALUES (?, ?)", params![global_tid, shape.rank])?;
    }
    {
        let mut step = Step::prepare(&connection)?;
        for i in 0..shape.n_steps {
            for thread in 0..shape.n_threads {
                step.write(&shape, pid, thread, i)?;
            }
        }
    }
    connection.execute_batch("COMMIT")?;
    Ok(u64::from(shape.n_threads) * u64::from(shape.n_steps) * ROWS_PER_STEP)
}

/// The statements that write a step.
struct Step<'c> {
    call: rusqlite::Statement<'c>,
    kernel: rusqlite::Statement<'c>,
    copy: rusqlite::Statement<'c>,
    range: rusqlite::Statement<'c>,
    message: rusqlite::Statement<'c>,
    wait: rusqlite::Statement<'c>,
    system: rusqlite::Statement<'c>,
}

impl<'c> Step<'c> {
    fn prepare(connection: &'c Connection) -> Result<Self, Error> {
        Ok(Step {
            call: connection
                .prepare("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, ?, 0, ?, ?, ?, 0, NULL)")?,
            kernel: connection.prepare(
                "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?, ?, 0, 1, NULL, ?, ?, ?, 4, 5, NULL, 0, 0, 32, \
                 64, 1, 1, 128, 1, 1, 0, 0, 0, 0, 1, 0, NULL, NULL)",
            )?,
            copy: connection.prepare(
                "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (?, ?, 0, 1, NULL, ?, ?, ?, 65536, 2, 2, 0)",
            )?,
            range: connection.prepare(
                "INSERT INTO NVTX_EVENTS (start, end, eventType, globalTid, textId, domainId) \
                 VALUES (?, ?, 59, ?, ?, 0)",
            )?,
            message: connection
                .prepare("INSERT INTO MPI_P2P_EVENTS VALUES (?, ?, ?, ?, 1140850688, ?, ?, 8192, ?)")?,
            wait: connection.prepare("INSERT INTO MPI_START_WAIT_EVENTS VALUES (?, ?, ?, 10, ?)")?,
            system: connection.prepare("INSERT INTO OSRT_API VALUES (?, ?, 27, ?, 11, 0, 0, 0)")?,
        })
    }

    /// A step takes 10 µs; threads are shifted by 100 ns.
    fn write(&mut self, shape: &Shape, pid: u32, thread: u32, i: u32) -> Result<(), Error> {
        let t = 1_000_000 + i64::from(i) * 10_000 + i64::from(thread) * 100;
        let tid = global_id(pid, pid + thread);
        let process = global_id(pid, 0);
        let stream = 7 + thread;
        let correlation = (i64::from(i) * i64::from(shape.n_threads) + i64::from(thread)) * 3 + 1;
        let (next, previous) =
            ((shape.rank + 1) % shape.n_ranks, (shape.rank + shape.n_ranks - 1) % shape.n_ranks);
        self.call.execute(params![t + 100, t + 400, tid, correlation, 1])?;
        self.call.execute(params![t + 500, t + 900, tid, correlation + 1, 2])?;
        self.call.execute(params![t + 1_000, t + 5_000, tid, correlation + 2, 3])?;
        self.kernel.execute(params![t + 600, t + 3_600, stream, correlation, process])?;
        self.copy.execute(params![t + 3_700, t + 4_900, stream, correlation + 1, process])?;
        let request = 1 + i64::from(thread);
        self.message.execute(params![t + 5_200, t + 5_400, tid, 8, thread, next, request])?;
        self.message.execute(params![t + 5_500, t + 6_500, tid, 9, thread, previous, None::<i64>])?;
        self.wait.execute(params![t + 6_600, t + 7_000, tid, request])?;
        self.range.execute(params![t + 5_100, t + 7_100, tid, 7])?;
        self.system.execute(params![t + 7_500, t + 8_000, tid])?;
        self.range.execute(params![t, t + 9_000, tid, 6])?;
        Ok(())
    }
}
