//! The loaded files with code: where each is, and how its frames are unwound.
//!
//! Law: a table in use is never changed or freed. A new one takes its place, and the old one goes when no signal
//! handler reads it any more; before a file is unloaded, no table refers to it.

use framehop::x86_64::UnwinderX86_64;
use framehop::{ExplicitModuleSectionInfo, Module, MustNotAllocateDuringUnwind, Unwinder};
use ouzel_recording::elf;
use ouzel_recording::journal::Entry;
use ouzel_recording::paths::{Frame, NO_MODULE};
use std::ffi::{CStr, c_int, c_void};
use std::ops::Range;
use std::ptr;
use std::slice;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

pub type LoadedUnwinder = UnwinderX86_64<&'static [u8], MustNotAllocateDuringUnwind>;

/// The loaded files at some moment.
pub struct ModuleTable {
    pub unwinder: LoadedUnwinder,
    /// Where code is, in ascending order.
    code: Vec<LoadedCode>,
    /// Code of the recorder itself.
    own: Range<u64>,
}

#[derive(Debug, Clone)]
struct LoadedCode {
    range: Range<u64>,
    /// What is added to addresses of the file.
    bias: u64,
    number: u16,
}

/// A loaded file as the loader describes it.
#[derive(Debug, Clone)]
struct LoadedFile {
    path: String,
    build_id: String,
    bias: u64,
    /// From its first to its last byte.
    all: Range<u64>,
    code: Vec<Range<u64>>,
    /// The tables of unwind information and where they are.
    header: Option<Range<u64>>,
    frames: Option<Range<u64>>,
    /// Whether it stays loaded as long as the process.
    is_permanent: bool,
}

/// What is known of files across tables.
#[derive(Debug, Default)]
struct ModuleRegistry {
    files: Vec<LoadedFile>,
    /// Build id and path of each number.
    numbers: Vec<(String, String)>,
    changes: (u64, u64),
}

static REGISTRY: Mutex<ModuleRegistry> =
    Mutex::new(ModuleRegistry { files: Vec::new(), numbers: Vec::new(), changes: (0, 0) });
static TABLE: AtomicPtr<ModuleTable> = AtomicPtr::new(ptr::null_mut());
/// Readers of tables at this moment.
static N_READERS: AtomicU32 = AtomicU32::new(0);
/// Calls of `dlclose` at this moment.
static N_CLOSING: AtomicU32 = AtomicU32::new(0);
/// Whether files may have been loaded since the table was made.
static IS_OUTDATED: AtomicBool = AtomicBool::new(false);

fn registry() -> MutexGuard<'static, ModuleRegistry> {
    REGISTRY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Reads the table as it is now; none before the first one.
pub fn with_table<R>(read: impl FnOnce(&ModuleTable) -> R) -> Option<R> {
    N_READERS.fetch_add(1, Ordering::SeqCst);
    // SAFETY: it is null or a leaked box, which is freed only while there are no readers.
    let result = unsafe { TABLE.load(Ordering::SeqCst).as_ref() }.map(read);
    N_READERS.fetch_sub(1, Ordering::SeqCst);
    result
}

/// In the child of a fork, other threads read and unload nothing. False if one of them was at work on the tables, which
/// then stay locked.
pub fn forked() -> bool {
    N_READERS.store(0, Ordering::SeqCst);
    N_CLOSING.store(0, Ordering::SeqCst);
    !matches!(REGISTRY.try_lock(), Err(TryLockError::WouldBlock))
}

/// Files may have been loaded.
pub fn expect_changes() {
    IS_OUTDATED.store(true, Ordering::Relaxed);
}

/// Makes a new table if files may have been loaded. `note` gets the files met for the first time.
pub fn renew_if_outdated(note: impl FnMut(&Entry)) {
    if IS_OUTDATED.load(Ordering::Relaxed) && IS_OUTDATED.swap(false, Ordering::Relaxed) {
        renew(note);
    }
}

/// Makes a new table if files were loaded or unloaded.
pub fn renew(mut note: impl FnMut(&Entry)) {
    // Before looking, so that no table is replaced by an older one.
    let mut registry = registry();
    let mut loaded = Loaded { files: Vec::new(), changes: (0, 0) };
    // SAFETY: `look` gets the pointer to `loaded`, which lives until the call is over.
    unsafe { libc::dl_iterate_phdr(Some(look), (&raw mut loaded).cast()) };
    let is_first = registry.files.is_empty();
    if !is_first && registry.changes == loaded.changes {
        return;
    }
    for file in &mut loaded.files {
        let known = registry.files.iter().find(|known| known.all == file.all && known.path == file.path);
        file.is_permanent = is_first || known.is_some_and(|known| known.is_permanent);
    }
    let is_closing = N_CLOSING.load(Ordering::SeqCst) != 0;
    // What is left out now is looked for again.
    registry.changes = if is_closing { (0, 0) } else { loaded.changes };
    registry.files = loaded.files;
    let table = registry.table(|file| file.is_permanent || !is_closing, &mut note);
    publish(table);
}

/// Leaves out all files that may be unloaded, until [`end_closing`].
pub fn begin_closing(mut note: impl FnMut(&Entry)) {
    N_CLOSING.fetch_add(1, Ordering::SeqCst);
    let mut registry = registry();
    if registry.files.is_empty() {
        return;
    }
    let table = registry.table(|file| file.is_permanent, &mut note);
    registry.changes = (0, 0);
    publish(table);
}

/// Files have been unloaded.
pub fn end_closing() {
    N_CLOSING.fetch_sub(1, Ordering::SeqCst);
    expect_changes();
}

/// The files that have numbers, for the journal of the child of a fork.
pub fn entries() -> Vec<Entry> {
    let registry = registry();
    let entry = |(number, (build_id, path)): (u16, &(String, String))| Entry::Module {
        number,
        build_id: build_id.clone(),
        path: path.clone(),
    };
    (0..).zip(&registry.numbers).map(entry).collect()
}

fn publish(table: ModuleTable) {
    let old = TABLE.swap(Box::into_raw(Box::new(table)), Ordering::SeqCst);
    while N_READERS.load(Ordering::SeqCst) != 0 {
        std::thread::yield_now();
    }
    if !old.is_null() {
        // SAFETY: it came from a box, and nobody reads it: readers that come now find the new one.
        drop(unsafe { Box::from_raw(old) });
    }
}

impl ModuleRegistry {
    fn table(&mut self, is_kept: impl Fn(&LoadedFile) -> bool, note: &mut dyn FnMut(&Entry)) -> ModuleTable {
        let mut table = ModuleTable { unwinder: LoadedUnwinder::new(), code: Vec::new(), own: 0..0 };
        let here = look as *const c_void;
        let files = std::mem::take(&mut self.files);
        for file in files.iter().filter(|file| is_kept(file)) {
            let number = self.number(file, note);
            for range in &file.code {
                if range.contains(&(here as u64)) {
                    table.own = range.clone();
                }
                table.code.push(LoadedCode { range: range.clone(), bias: file.bias, number });
            }
            table.unwinder.add_module(unwind_module(file));
        }
        table.code.sort_by_key(|code| code.range.start);
        self.files = files;
        table
    }

    fn number(&mut self, file: &LoadedFile, note: &mut dyn FnMut(&Entry)) -> u16 {
        let is_same = |known: &(String, String)| known.0 == file.build_id && known.1 == file.path;
        if let Some(at) = self.numbers.iter().position(is_same) {
            return u16::try_from(at).unwrap_or(NO_MODULE);
        }
        let number = u16::try_from(self.numbers.len()).unwrap_or(NO_MODULE);
        if number != NO_MODULE {
            self.numbers.push((file.build_id.clone(), file.path.clone()));
            note(&Entry::Module { number, build_id: file.build_id.clone(), path: file.path.clone() });
        }
        number
    }
}

impl ModuleTable {
    /// The place of an address in its file.
    pub fn frame(&self, address: u64) -> Frame {
        let after = self.code.partition_point(|code| code.range.start <= address);
        match after.checked_sub(1).and_then(|at| self.code.get(at)) {
            Some(code) if address < code.range.end => {
                Frame::new(code.number, address.wrapping_sub(code.bias))
            }
            _ => Frame::new(NO_MODULE, address),
        }
    }

    /// Whether an address is in the recorder.
    pub fn is_own(&self, address: u64) -> bool {
        self.own.contains(&address)
    }
}

/// Bytes of a loaded file.
fn bytes(range: &Range<u64>) -> &'static [u8] {
    let n = usize::try_from(range.end - range.start).unwrap_or(0);
    // SAFETY: ranges are within mapped, readable segments; tables that refer to them go before the file does.
    unsafe { slice::from_raw_parts(range.start as *const u8, n) }
}

fn unwind_module(file: &LoadedFile) -> Module<&'static [u8]> {
    // As the file counts its addresses.
    let in_file = |range: &Range<u64>| range.start.wrapping_sub(file.bias)..range.end.wrapping_sub(file.bias);
    let sections = ExplicitModuleSectionInfo {
        base_svma: 0,
        eh_frame_hdr_svma: file.header.as_ref().map(in_file),
        eh_frame_hdr: file.header.as_ref().map(bytes),
        eh_frame_svma: file.frames.as_ref().map(in_file),
        eh_frame: file.frames.as_ref().map(bytes),
        ..ExplicitModuleSectionInfo::default()
    };
    Module::new(String::new(), file.all.clone(), file.bias, sections)
}

struct Loaded {
    files: Vec<LoadedFile>,
    changes: (u64, u64),
}

/// Takes note of a loaded file.
unsafe extern "C" fn look(info: *mut libc::dl_phdr_info, _: usize, loaded: *mut c_void) -> c_int {
    // SAFETY: the loader passes a valid description, and our own pointer.
    let (info, loaded) = unsafe { (&*info, &mut *loaded.cast::<Loaded>()) };
    loaded.changes = (info.dlpi_adds, info.dlpi_subs);
    let name = if info.dlpi_name.is_null() {
        String::new()
    } else {
        // SAFETY: names of loaded files end with a zero byte.
        unsafe { CStr::from_ptr(info.dlpi_name) }.to_string_lossy().into_owned()
    };
    let path = match name.as_str() {
        "" => std::env::current_exe().map(|path| path.to_string_lossy().into_owned()).unwrap_or_default(),
        name if name.starts_with('/') => name.to_owned(),
        name => std::fs::canonicalize(name)
            .map_or_else(|_| name.to_owned(), |path| path.to_string_lossy().into_owned()),
    };
    if info.dlpi_phdr.is_null() {
        return 0;
    }
    // SAFETY: the loader says how many headers there are.
    let headers = unsafe { slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) };
    if let Some(file) = describe(path, info.dlpi_addr, headers) {
        loaded.files.push(file);
    }
    0
}

fn describe(path: String, bias: u64, headers: &[libc::Elf64_Phdr]) -> Option<LoadedFile> {
    const GNU_EH_FRAME: u32 = 0x6474_e550;
    let range = |header: &libc::Elf64_Phdr| {
        let start = bias.wrapping_add(header.p_vaddr);
        start..start.saturating_add(header.p_memsz)
    };
    let of_kind = |kind: u32| headers.iter().filter(move |header| header.p_type == kind);
    let code: Vec<Range<u64>> =
        of_kind(libc::PT_LOAD).filter(|header| header.p_flags & libc::PF_X != 0).map(range).collect();
    let start = of_kind(libc::PT_LOAD).map(|header| range(header).start).min()?;
    let end = of_kind(libc::PT_LOAD).map(|header| range(header).end).max()?;
    let header = of_kind(GNU_EH_FRAME).map(range).next();
    let frames = header.as_ref().and_then(|header| {
        let at = frames_start(header)?;
        let segment = of_kind(libc::PT_LOAD).map(range).find(|segment| segment.contains(&at))?;
        Some(at..segment.end)
    });
    let header = header.filter(|_| frames.is_some());
    let build_id = of_kind(libc::PT_NOTE).find_map(|header| elf::build_id_of_notes(bytes(&range(header))));
    let build_id = build_id.unwrap_or_default();
    Some(LoadedFile { path, build_id, bias, all: start..end, code, header, frames, is_permanent: false })
}

/// Where the table begins that the header of unwind information is an index of.
fn frames_start(header: &Range<u64>) -> Option<u64> {
    /// Four bytes with a sign, counted from themselves: the one encoding that linkers write.
    const RELATIVE: u8 = 0x1b;
    let [1, RELATIVE, _, _, a, b, c, d] = *bytes(header).first_chunk::<8>()? else { return None };
    let distance = i32::from_ne_bytes([a, b, c, d]);
    Some((header.start + 4).wrapping_add_signed(i64::from(distance)))
}
