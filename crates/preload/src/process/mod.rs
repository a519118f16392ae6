//! The recording of this process: whether it is on, where it goes, what all threads share.
//!
//! ```text
//! off ◄──no directory── load ──► ready ──first event──► begun ──exit──► over
//!                                  ▲ fork (in the child) ─┘
//! ```
//! Law: a piece is made with the first event, so processes that record nothing leave nothing; a child made by
//! fork begins a piece of its own. What has begun lives as long as the process.

pub mod counters;
pub mod descriptors;
mod instrumented;
mod mapping;
mod perf;
pub mod regions;
#[cfg_attr(not(target_arch = "x86_64"), path = "no_sampling.rs")]
pub mod sampling;
pub mod thread;
mod window;

use crate::clock;
use crate::depth::Outermost;
use counters::{MemoryClock, ProcessCounters};
use descriptors::Descriptors;
use mapping::{MappedFile, SlotTable};
pub use mapping::{Mapping, errno};
use ouzel_otf2::records::event::{Enter, Leave};
use ouzel_recording::counters::Wanted;
use ouzel_recording::journal::{self, Entry, ROOT_REGION};
use ouzel_recording::mpi::calls::Tables;
use ouzel_recording::settings;
use ouzel_recording::slots::N_SLOTS;
use ouzel_recording::stream::{CHUNK_BYTES, EventStream, chunk_bytes};
use ouzel_recording::window::{Window, WindowedStream};
use regions::Regions;
use sampling::nodes::{self, ProcessPaths};
use std::env;
use std::ffi::{CStr, CString};
use std::fmt::{self, Display, Formatter};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use window::ProcessWindow;

/// What is known from the environment.
#[derive(Debug)]
struct Settings {
    directory: PathBuf,
    records_mpi: bool,
    records_openmp: bool,
    records_io: bool,
    ranks: Option<String>,
    sample_hz: u32,
    counters: Option<Wanted>,
    records_memory: bool,
    chunk_bytes: usize,
    limit_bytes: u64,
    loaded_ns: u64,
    /// On the clock of events.
    window: Option<Window>,
}

static SETTINGS: OnceLock<Settings> = OnceLock::new();
static STATE: AtomicU8 = AtomicU8::new(OFF);
static BEGUN: AtomicPtr<Process> = AtomicPtr::new(ptr::null_mut());
static BEGINNING: Mutex<()> = Mutex::new(());
/// Counts forks, so that threads know when what they hold is their parent's.
static GENERATION: AtomicU32 = AtomicU32::new(0);

const OFF: u8 = 0;
const READY: u8 = 1;
const ON: u8 = 2;

/// The recording of a process.
#[derive(Debug)]
pub struct Process {
    /// Its folder.
    pub folder: PathBuf,
    journal: CString,
    pid: u32,
    generation: u32,
    /// What is valid of its event files.
    pub slots: SlotTable,
    n_slots: AtomicU32,
    /// Files of threads that have ended, for threads to come.
    free: Mutex<Vec<WindowedStream<MappedFile>>>,
    n_bytes: AtomicU64,
    /// Bytes of the chunks of its event files.
    pub chunk_bytes: usize,
    limit_bytes: u64,
    has_lost: AtomicBool,
    /// When it records; always without.
    window: Option<ProcessWindow>,
    /// What MPI calls remember.
    pub tables: Mutex<Tables>,
    /// Functions and regions met so far.
    pub regions: Regions,
    /// What descriptors refer to; none if their calls are not recorded.
    descriptors: Option<Descriptors>,
    /// What threads are counted by.
    counters: ProcessCounters,
    /// When memory is read; none if it is not.
    memory: Option<MemoryClock>,
    /// Call paths of samples; none if no samples are taken.
    pub paths: Option<ProcessPaths>,
}

/// Reads the environment. Without a directory, nothing is recorded, nor is the program that makes the archive: in a job
/// script it has the variables, too, and takes away the files that its own recording would write to.
pub fn load() {
    let Some(directory) = env::var_os(settings::DIRECTORY).filter(|value| !value.is_empty()) else { return };
    if fs::read("/proc/self/cmdline").is_ok_and(|words| is_ouzel_record(&words)) {
        return;
    }
    let is_off = |name: &str| env::var_os(name).is_some_and(|value| value == "off");
    fn number<T: std::str::FromStr>(name: &str) -> Option<T> {
        env::var(name).ok().and_then(|text| text.parse().ok())
    }
    let read = Settings {
        directory: directory.into(),
        records_mpi: !is_off(settings::MPI),
        records_openmp: !is_off(settings::OPENMP),
        records_io: env::var_os(settings::IO).is_some_and(|value| value == "on"),
        ranks: env::var(settings::RANKS).ok(),
        sample_hz: number(settings::SAMPLE).unwrap_or(0),
        counters: env::var(settings::COUNTERS).ok().and_then(|text| Wanted::parse(&text).ok()),
        records_memory: env::var_os(settings::MEMORY).is_some_and(|value| value == "on"),
        chunk_bytes: number(settings::BUFFER).and_then(|n| chunk_bytes(n).ok()).unwrap_or(CHUNK_BYTES),
        limit_bytes: number(settings::LIMIT).unwrap_or(u64::MAX),
        loaded_ns: clock::now_ns(),
        window: number::<Window>(settings::WINDOW)
            .map(|window| window.moved(origin_ns(number(settings::ORIGIN)))),
    };
    if SETTINGS.set(read).is_ok() {
        // SAFETY: the handler touches atomic numbers alone.
        unsafe { libc::pthread_atfork(None, None, Some(forked)) };
        STATE.store(READY, Ordering::Release);
        sampling::begin(SETTINGS.get().map_or(0, |settings| settings.sample_hz));
        if let Some(n_visits) = number(settings::REHEARSED) {
            instrumented::rehearse(n_visits);
        }
        if records_io()
            && let Some(_outermost) = Outermost::enter()
        {
            // What allocates is done before the first call, which may come from a signal handler.
            get();
        }
    }
}

/// Whether a command line, with a zero byte behind each word, is `ouzel record …`, by itself or as a script of Python.
fn is_ouzel_record(words: &[u8]) -> bool {
    let words: Vec<&[u8]> = words.split(|byte| *byte == 0).take(3).collect();
    let is_ouzel = |word: &[u8]| word.rsplit(|byte| *byte == b'/').next() == Some(b"ouzel");
    words.windows(2).any(|pair| is_ouzel(pair[0]) && pair[1] == b"record")
}

/// What the clock of events showed when the program was started; its time is given in nanoseconds since 1970.
fn origin_ns(started_ns: Option<u64>) -> i64 {
    let now_ns = clock::now_ns().cast_signed();
    let since_ns =
        started_ns.map_or(0, |it| clock::realtime_ns().cast_signed().saturating_sub(it.cast_signed()));
    now_ns.saturating_sub(since_ns)
}

/// The child of a fork has a recording of its own.
extern "C" fn forked() {
    if STATE.load(Ordering::Acquire) != OFF {
        GENERATION.fetch_add(1, Ordering::AcqRel);
        BEGUN.store(ptr::null_mut(), Ordering::Release);
        STATE.store(READY, Ordering::Release);
        sampling::forked();
    }
}

/// Whether MPI is recorded.
pub fn records_mpi() -> bool {
    STATE.load(Ordering::Acquire) != OFF && SETTINGS.get().is_some_and(|settings| settings.records_mpi)
}

/// Whether OpenMP is recorded.
#[cfg_attr(not(target_arch = "x86_64"), expect(dead_code, reason = "on x86-64 alone"))]
pub fn records_openmp() -> bool {
    STATE.load(Ordering::Acquire) != OFF && SETTINGS.get().is_some_and(|settings| settings.records_openmp)
}

/// Whether calls of files and streams are recorded.
pub fn records_io() -> bool {
    STATE.load(Ordering::Acquire) != OFF && SETTINGS.get().is_some_and(|settings| settings.records_io)
}

/// Whether some ranks are left out, and whether this one is.
pub fn leaves_out(rank: u32) -> (bool, bool) {
    let ranks = SETTINGS.get().and_then(|settings| settings.ranks.as_deref());
    (ranks.is_some(), ranks.is_some_and(|ranks| !settings::has_rank(ranks, rank)))
}

/// Whether anything may be recorded.
pub fn is_on() -> bool {
    STATE.load(Ordering::Acquire) != OFF
}

/// The number of forks up to this process.
pub fn generation() -> u32 {
    GENERATION.load(Ordering::Relaxed)
}

/// The recording, if it has begun.
pub fn begun() -> Option<&'static Process> {
    // SAFETY: it is null or a leaked box.
    unsafe { BEGUN.load(Ordering::Acquire).as_ref() }
}

/// The recording, which begins now if it has not yet.
pub fn get() -> Option<&'static Process> {
    match STATE.load(Ordering::Acquire) {
        ON => begun(),
        READY => begin(),
        _ => None,
    }
}

/// Where processes leave what is no piece: which children were killed.
pub fn deaths_file() -> Option<CString> {
    let folder = SETTINGS.get()?.directory.join(settings::PIECES);
    // One folder may be seen by many nodes.
    CString::new(folder.join(format!("deaths-{}", host())).as_os_str().as_bytes()).ok()
}

#[cold]
fn begin() -> Option<&'static Process> {
    let _lock = BEGINNING.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(process) = begun() {
        return Some(process);
    }
    let process = match Process::new(SETTINGS.get()?) {
        Ok(process) => process,
        Err(error) => {
            // Where nothing can be written, the program runs on without being recorded.
            STATE.store(OFF, Ordering::Release);
            if let Some(path) = deaths_file() {
                let reason = Refusal(error).to_string();
                append(&path, &Entry::Lost { time_ns: clock::now_ns(), reason });
            }
            return None;
        }
    };
    let process: &'static Process = Box::leak(Box::new(process));
    // Others find it once it has said what it is, and once this thread has the first stream.
    process.begin();
    BEGUN.store(ptr::from_ref(process).cast_mut(), Ordering::Release);
    STATE.store(ON, Ordering::Release);
    Some(process)
}

/// Ends the recording, with the word that says how.
pub fn end(how: &str) {
    let Some(process) = begun().filter(|process| process.is_this()) else { return };
    let _outermost = Outermost::enter();
    let now_ns = clock::now_ns();
    sampling::end_thread();
    thread::end_parked(process);
    if let Some(samples) = sampling::totals() {
        process.entry(&samples);
    }
    if let Some(window) = &process.window {
        window.write_counts(|entry| process.entry(entry));
    }
    if how == "exit" {
        process.clock();
        process.leave_root(now_ns);
        STATE.store(OFF, Ordering::Release);
    }
    process.entry(&Entry::End { time_ns: now_ns, how: how.to_owned() });
}

impl Process {
    /// Ends the recording of a rank that is not to be recorded.
    pub fn leave_out(&self) {
        sampling::end_thread();
        STATE.store(OFF, Ordering::Release);
        self.entry(&Entry::LeftOut);
    }

    /// The number of the error where nothing can be written.
    fn new(settings: &Settings) -> Result<Self, i32> {
        let pid = std::process::id();
        let pieces = settings.directory.join(settings::PIECES);
        // Numbers of processes are used again, times are not.
        let folder = pieces.join(format!("{}-{pid}-{}", host(), clock::now_ns()));
        fs::create_dir_all(&folder).map_err(|error| error.raw_os_error().unwrap_or(libc::EIO))?;
        let path =
            |name: &str| CString::new(folder.join(name).as_os_str().as_bytes()).map_err(|_| libc::EINVAL);
        Ok(Process {
            journal: path(settings::JOURNAL)?,
            paths: if sampling::is_on() { nodes::paths(&folder) } else { None },
            slots: SlotTable::new(&path(settings::SLOTS)?, N_SLOTS)?,
            folder,
            pid,
            generation: generation(),
            n_slots: AtomicU32::new(0),
            free: Mutex::default(),
            n_bytes: AtomicU64::new(0),
            chunk_bytes: settings.chunk_bytes,
            limit_bytes: settings.limit_bytes,
            has_lost: AtomicBool::new(false),
            window: settings.window.map(ProcessWindow::new),
            tables: Mutex::default(),
            regions: Regions::default(),
            counters: settings.counters.as_ref().map(ProcessCounters::new).unwrap_or_default(),
            memory: settings.records_memory.then(MemoryClock::default),
            descriptors: settings.records_io.then(Descriptors::default),
        })
    }

    /// The first entries and the first event.
    fn begin(&'static self) {
        let text =
            |path: &str| fs::read_to_string(path).map(|text| text.trim().to_owned()).unwrap_or_default();
        let program = env::current_exe().map(|path| path.to_string_lossy().into_owned()).unwrap_or_default();
        let name = program.rsplit('/').next().unwrap_or(&program).to_owned();
        let boot = text("/proc/sys/kernel/random/boot_id");
        let status = text("/proc/self/status");
        let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
        let processors = list.map_or_else(String::new, |list| list.trim().to_owned());
        self.entry(&Entry::Process { pid: self.pid, host: host(), boot, program, processors });
        self.clock();
        if let Some(Window { start_ns, stop_ns }) = self.window.as_ref().map(ProcessWindow::window) {
            self.entry(&Entry::Recorded { start_ns, stop_ns });
        }
        self.entry(&Entry::Region { id: ROOT_REGION, line: 0, name, file: String::new() });
        let memory = self.memory.as_ref().map(|_| Entry::Memory);
        let n_bytes = self.chunk_bytes as u64;
        let buffer = (self.chunk_bytes != CHUNK_BYTES).then_some(Entry::Buffer { n_bytes });
        let entries = [self.counters.entry(), memory, buffer];
        entries.iter().flatten().for_each(|entry| self.entry(entry));
        // In the child of a fork, this is its first moment; else that of the library.
        let is_child = 0 < generation();
        let loaded_ns = SETTINGS.get().filter(|_| !is_child).map_or_else(clock::now_ns, |it| it.loaded_ns);
        thread::count(self, loaded_ns);
        thread::with(self, |stream| stream.write(loaded_ns, &Enter { region: ROOT_REGION }.into()));
    }

    fn clock(&self) {
        self.entry(&Entry::Clock { monotonic_ns: clock::now_ns(), realtime_ns: clock::realtime_ns() });
    }

    /// Whether this process has begun it; not so in a child made by vfork, which has its parent's memory.
    pub fn is_this(&self) -> bool {
        std::process::id() == self.pid && self.generation == generation()
    }

    /// As [`Process::is_this`], without a system call: a signal of ours never comes to a child made by vfork.
    pub fn is_current(&self) -> bool {
        self.generation == generation()
    }

    /// Which fork has made this process.
    pub fn generation(&self) -> u32 {
        self.generation
    }

    /// Appends an entry to the journal.
    pub fn entry(&self, entry: &Entry) {
        append(&self.journal, entry);
    }

    /// Appends a line to the journal. Allocates nothing.
    pub fn line(&self, line: &[u8]) {
        append_line(&self.journal, line);
    }

    /// When it records; always without.
    pub fn window(&self) -> Option<&ProcessWindow> {
        self.window.as_ref()
    }

    /// Whether what happens at a time is recorded.
    pub fn records_at(&self, time_ns: u64) -> bool {
        self.window.as_ref().is_none_or(|window| window.has(time_ns))
    }

    /// Whether what happens now is recorded.
    pub fn records_now(&self) -> bool {
        self.window.is_none() || self.records_at(clock::now_ns())
    }

    /// What descriptors refer to; none if their calls are not recorded.
    pub fn descriptors(&self) -> Option<&Descriptors> {
        self.descriptors.as_ref()
    }

    /// Whether nothing is read at samples, calls and regions.
    pub fn counts_nothing(&self) -> bool {
        self.counters.is_empty() && self.memory.is_none()
    }

    /// Takes note of bytes that are about to be written. False beyond the limit.
    pub fn may_write(&self, n_bytes: u64) -> bool {
        let before = self.n_bytes.fetch_add(n_bytes, Ordering::Relaxed);
        let may = before.saturating_add(n_bytes) <= self.limit_bytes;
        if !may {
            self.lose(&format_args!("the limit of {} bytes is reached", self.limit_bytes));
        }
        may
    }

    /// Says once why events are lost from now on. Allocates nothing.
    pub fn lose(&self, reason: &dyn Display) {
        if !self.has_lost.swap(true, Ordering::Relaxed) {
            append_line(&self.journal, journal::lost_line(&mut [0; 256], clock::now_ns(), reason));
        }
    }

    /// The same by the number of an error.
    pub fn lose_by(&self, error: i32) {
        self.lose(&Refusal(error));
    }

    /// The tables, locked.
    pub fn tables(&self) -> MutexGuard<'_, Tables> {
        self.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A stream for a thread: one that an ended thread has left, or a new one. None if there are too many threads.
    pub fn stream(&'static self) -> Option<WindowedStream<MappedFile>> {
        if let Some(stream) = self.free().pop() {
            return Some(stream);
        }
        let slot = self.n_slots.fetch_add(1, Ordering::Relaxed);
        if N_SLOTS <= slot as usize {
            self.lose(&format_args!("more than {N_SLOTS} threads at the same time"));
            return None;
        }
        // SAFETY: no arguments.
        let tid = u32::try_from(unsafe { libc::syscall(libc::SYS_gettid) }).unwrap_or(0);
        self.entry(&Entry::Thread { slot, tid });
        let file = MappedFile::new(self, slot)?;
        Some(WindowedStream::new(EventStream::new(file), self.window.as_ref().map(ProcessWindow::window)))
    }

    /// Leaves the region of the program, on the stream that has entered it. When a program exits, its main thread has
    /// given that back; if another thread has called `exit`, the main thread still writes there and it stays open.
    fn leave_root(&'static self, now_ns: u64) {
        let leave = Leave { region: ROOT_REGION }.into();
        let write = |stream: &mut WindowedStream<MappedFile>| {
            if let Some(memory) = &self.memory {
                memory.write(stream, now_ns);
            }
            stream.write(now_ns, &leave);
        };
        if thread::slot(self) == Some(0) {
            thread::count(self, now_ns);
            thread::with(self, write);
            thread::end_counting(self);
        } else if let Some(stream) = self.free().iter_mut().find(|stream| stream.space().slot() == 0) {
            write(stream);
        }
    }

    /// Takes back the stream of a thread that ends.
    pub fn give_back(&self, mut stream: WindowedStream<MappedFile>) {
        stream.end(clock::now_ns());
        self.free().push(stream);
    }

    fn free(&self) -> MutexGuard<'_, Vec<WindowedStream<MappedFile>>> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Why the system lets nothing be written, by the number of an error.
struct Refusal(i32);

impl Display for Refusal {
    fn fmt(&self, to: &mut Formatter<'_>) -> fmt::Result {
        match self.0 {
            libc::ENOSPC => to.write_str("no space left on device"),
            libc::EFBIG => to.write_str("the limit of the size of files is reached (ulimit -f)"),
            libc::EDQUOT => to.write_str("the disk quota is exceeded"),
            error => write!(to, "error {error} of the operating system"),
        }
    }
}

/// Appends an entry to a file, with one system call that no other function sees.
pub fn append(path: &CStr, entry: &Entry) {
    append_line(path, entry.line().as_bytes());
}

fn append_line(path: &CStr, line: &[u8]) {
    let flags = libc::O_WRONLY | libc::O_CREAT | libc::O_APPEND | libc::O_CLOEXEC | libc::O_NOFOLLOW;
    // SAFETY: the path ends with a zero byte, the line has its length; nothing is left open.
    unsafe {
        let file = libc::syscall(libc::SYS_openat, libc::AT_FDCWD, path.as_ptr(), flags, 0o666);
        if 0 <= file {
            let n_bytes = libc::syscall(libc::SYS_lseek, file, 0, libc::SEEK_END);
            if mapping::may_reach(n_bytes.cast_unsigned() + line.len() as u64) {
                libc::syscall(libc::SYS_write, file, line.as_ptr(), line.len());
            }
            libc::syscall(libc::SYS_close, file);
        }
    }
}

fn host() -> String {
    let mut name = [0u8; 256];
    // SAFETY: the buffer has this length; its last byte stays zero.
    unsafe { libc::gethostname(name.as_mut_ptr().cast(), name.len() - 1) };
    let text = CStr::from_bytes_until_nul(&name).unwrap_or_default();
    text.to_string_lossy().replace('/', "_")
}
