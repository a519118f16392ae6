//! Functions of files and streams: their numbers, names and interfaces, and the files that a process uses.
//!
//! ```text
//! descriptor ──name──► file ──with its interface──► handle ──► events
//! ```
//! A handle is one file by one interface in one process, however often it is opened. Law: looking up a handle takes no
//! lock and allocates nothing, since programs write in signal handlers, too.

use std::sync::atomic::{AtomicU64, Ordering};

/// The interface of a function, numbered as the archive's I/O paradigms.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Interface {
    /// `read`, `write`
    Posix = 0,
    /// `fread`, `fwrite`
    IsoC = 1,
    /// `MPI_File_read`, `MPI_File_write`
    MpiIo = 2,
}

impl Interface {
    /// All of them.
    pub const ALL: [Interface; 3] = [Interface::Posix, Interface::IsoC, Interface::MpiIo];
    /// Those whose files have descriptors.
    pub const OF_DESCRIPTORS: [Interface; 2] = [Interface::Posix, Interface::IsoC];

    /// Identification and name, as Score-P writes them.
    pub fn names(self) -> (&'static str, &'static str) {
        match self {
            Interface::Posix => ("POSIX", "POSIX I/O"),
            Interface::IsoC => ("ISOC", "ISO C I/O"),
            Interface::MpiIo => ("MPI-IO", "MPI I/O"),
        }
    }
}

macro_rules! io_functions {
    ($($call:ident $name:literal $interface:ident $moves:literal;)*) => {
        /// A function that is recorded. Names with `64` at their end and checked ones (`__read_chk`) are those without.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum IoCall {
            $(#[doc = $name] $call,)*
        }

        const FUNCTIONS: &[IoFunction] =
            &[$(IoFunction { name: $name, interface: Interface::$interface, moves_data: $moves },)*];
    };
}

io_functions! {
    Open "open" Posix false;
    OpenAt "openat" Posix false;
    Create "creat" Posix false;
    Close "close" Posix false;
    Read "read" Posix true;
    Write "write" Posix true;
    PositionedRead "pread" Posix true;
    PositionedWrite "pwrite" Posix true;
    VectorRead "readv" Posix true;
    VectorWrite "writev" Posix true;
    PositionedVectorRead "preadv" Posix true;
    PositionedVectorWrite "pwritev" Posix true;
    Receive "recv" Posix true;
    ReceiveFrom "recvfrom" Posix true;
    ReceiveMessage "recvmsg" Posix true;
    Send "send" Posix true;
    SendTo "sendto" Posix true;
    SendMessage "sendmsg" Posix true;
    Seek "lseek" Posix false;
    Synchronise "fsync" Posix false;
    SynchroniseData "fdatasync" Posix false;
    Duplicate "dup" Posix false;
    DuplicateTo "dup2" Posix false;
    DuplicateWith "dup3" Posix false;
    FileOpen "fopen" IsoC false;
    FileReopen "freopen" IsoC false;
    FileOfDescriptor "fdopen" IsoC false;
    FileClose "fclose" IsoC false;
    FileRead "fread" IsoC true;
    FileWrite "fwrite" IsoC true;
    FileFlush "fflush" IsoC false;
    FileSeek "fseek" IsoC false;
    FileSeekOffset "fseeko" IsoC false;
    FileRewind "rewind" IsoC false;
    FileGetString "fgets" IsoC true;
    FilePutString "fputs" IsoC true;
    PutString "puts" IsoC true;
    GetLine "getline" IsoC true;
    GetDelimited "getdelim" IsoC true;
    FilePrint "fprintf" IsoC true;
    Print "printf" IsoC true;
    FilePrintList "vfprintf" IsoC true;
    PrintList "vprintf" IsoC true;
}

/// A function that is recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IoFunction {
    /// Its name.
    pub name: &'static str,
    /// Its interface.
    pub interface: Interface,
    /// Whether it moves bytes; else it opens, closes, seeks or the like.
    pub moves_data: bool,
}

/// The number of the first one as a region; functions of MPI have smaller ones.
const FIRST: usize = 600;

/// The number behind the last one.
pub(crate) const END: usize = FIRST + FileKind::ALL.len() * FUNCTIONS.len();

/// What a descriptor refers to. Who reads from anything but a file waits for what others do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// A file, a folder or a device.
    File = 0,
    /// A pipe, with or without a name.
    Pipe = 1,
    /// A socket.
    Socket = 2,
    /// A terminal.
    Terminal = 3,
    /// What the kernel makes for events: of a counter, a clock, signals, changes of files.
    Event = 4,
}

impl FileKind {
    /// All of them, by their numbers.
    pub const ALL: [FileKind; 5] =
        [FileKind::File, FileKind::Pipe, FileKind::Socket, FileKind::Terminal, FileKind::Event];

    /// From the mode and the name that the kernel says.
    pub fn new(mode: u32, name: &[u8]) -> Self {
        const KIND: u32 = 0o170_000;
        match mode & KIND {
            0o010_000 => FileKind::Pipe,
            0o140_000 => FileKind::Socket,
            0o020_000 if TERMINALS.iter().any(|start| name.starts_with(start)) => FileKind::Terminal,
            _ if name.starts_with(b"anon_inode:") => FileKind::Event,
            _ => FileKind::File,
        }
    }

    /// In a region's name; none for files.
    fn word(self) -> Option<&'static str> {
        match self {
            FileKind::File => None,
            FileKind::Pipe => Some("pipe"),
            FileKind::Socket => Some("socket"),
            FileKind::Terminal => Some("terminal"),
            FileKind::Event => Some("event"),
        }
    }
}

/// How names of terminals begin.
const TERMINALS: [&[u8]; 3] = [b"/dev/pts/", b"/dev/tty", b"/dev/console"];

impl IoCall {
    /// What is known of it.
    pub fn function(self) -> &'static IoFunction {
        &FUNCTIONS[self as usize]
    }

    /// Its number as a region.
    pub fn number(self) -> usize {
        self.number_for(FileKind::File)
    }

    /// The same for calls that read from such a file.
    pub fn number_for(self, kind: FileKind) -> usize {
        FIRST + kind as usize * FUNCTIONS.len() + self as usize
    }
}

/// The function of a region's number, and the region's name: `read`, or `read [pipe]`.
pub fn function(number: u32) -> Option<(&'static IoFunction, String)> {
    let nth = (number as usize).checked_sub(FIRST)?;
    let (kind, nth) = (FileKind::ALL.get(nth / FUNCTIONS.len())?, nth % FUNCTIONS.len());
    let function = &FUNCTIONS[nth];
    let name = kind.word().map_or(function.name.to_owned(), |word| format!("{} [{word}]", function.name));
    Some((function, name))
}

/// Handles that a process can tell apart; further files share one.
const N_HANDLES: usize = 1 << 14;
/// Places that are tried for a file.
const N_TRIES: usize = 64;

/// The handle of files for which there is no room.
pub fn others(interface: Interface) -> u32 {
    N_HANDLES as u32 + 1 + interface as u32
}

/// Whether a handle is of files for which there is no room.
pub fn is_of_others(handle: u32) -> bool {
    N_HANDLES < handle as usize && handle < first_of_mpi()
}

/// The first handle of files that MPI has opened.
pub fn first_of_mpi() -> u32 {
    others(Interface::MpiIo)
}

/// The files of a process that are known by a handle.
#[derive(Debug)]
pub struct KnownFiles(Box<[AtomicU64]>);

impl Default for KnownFiles {
    fn default() -> Self {
        KnownFiles((0..N_HANDLES).map(|_| AtomicU64::new(0)).collect())
    }
}

impl KnownFiles {
    /// The handle of a file by an interface, from 1, and whether it is a new one. Files are told apart by 64 bits that
    /// are made of their names.
    pub fn handle(&self, interface: Interface, name: &[u8]) -> (u32, bool) {
        let hash = hash(interface, name);
        for i in 0..N_TRIES {
            let at = (hash as usize).wrapping_add(i) % N_HANDLES;
            let id = u32::try_from(at + 1).unwrap_or(others(interface));
            match self.0[at].compare_exchange(0, hash, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return (id, true),
                Err(found) if found == hash => return (id, false),
                Err(_) => {}
            }
        }
        (others(interface), false)
    }
}

/// FNV-1a, never 0.
fn hash(interface: Interface, name: &[u8]) -> u64 {
    const BASIS: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0100_0000_01b3;
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(PRIME);
    let hash = name.iter().fold(step(BASIS, interface as u8), |hash, &byte| step(hash, byte));
    // The lower bits choose the place.
    (hash ^ hash >> 29).max(1)
}

/// The name of what a descriptor refers to, from what the kernel says. Pipes and sockets have no names of their own: all
/// those of a process are one.
pub fn file_name(link: &[u8]) -> &[u8] {
    let link = link.strip_suffix(b" (deleted)").unwrap_or(link);
    match link.first() {
        Some(b'/') => link,
        _ if link.starts_with(b"pipe:") => b"pipe",
        _ if link.starts_with(b"socket:") => b"socket",
        _ => link,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mpi::functions::functions;

    #[test]
    fn numbers_of_functions_do_not_meet() {
        assert!(functions().len() <= FIRST);
        let name = |number: usize| function(u32::try_from(number).unwrap_or(0)).map(|it| it.1);
        assert_eq!(name(IoCall::Write.number()).as_deref(), Some("write"));
        assert_eq!(name(IoCall::Read.number_for(FileKind::Pipe)).as_deref(), Some("read [pipe]"));
        assert_eq!((name(FIRST - 1), name(END)), (None, None));
        assert_eq!(name(END - 1).as_deref(), Some("vprintf [event]"));
    }

    #[test]
    fn kinds_are_those_of_the_kernel() {
        let cases: [(u32, &[u8], FileKind); 8] = [
            (0o010_600, b"pipe", FileKind::Pipe),
            (0o010_644, b"/run/fifo", FileKind::Pipe),
            (0o140_777, b"socket", FileKind::Socket),
            (0o020_620, b"/dev/pts/3", FileKind::Terminal),
            (0o020_666, b"/dev/urandom", FileKind::File),
            (0o600, b"anon_inode:[eventfd]", FileKind::Event),
            (0o100_644, b"/data/a", FileKind::File),
            (0, b"", FileKind::File),
        ];
        for (mode, name, kind) in cases {
            assert_eq!(FileKind::new(mode, name), kind, "{mode:o}");
        }
        assert!(FileKind::ALL.iter().enumerate().all(|(number, &kind)| kind as usize == number));
    }

    #[test]
    fn a_file_has_one_handle_for_each_interface() {
        let files = KnownFiles::default();
        let (first, is_new) = files.handle(Interface::Posix, b"/a");
        assert!(is_new && 0 < first && !is_of_others(first));
        assert_eq!(files.handle(Interface::Posix, b"/a"), (first, false));
        let (stream, is_new) = files.handle(Interface::IsoC, b"/a");
        assert!(is_new && stream != first);
        assert_ne!(files.handle(Interface::Posix, b"/b").0, first);
    }

    #[test]
    fn files_without_room_share_a_handle() {
        let files = KnownFiles::default();
        let handles: Vec<(u32, bool)> =
            (0..2 * N_HANDLES).map(|i| files.handle(Interface::Posix, format!("/{i}").as_bytes())).collect();
        let n_new = handles.iter().filter(|(_, is_new)| *is_new).count();
        assert!(N_HANDLES / 2 < n_new && n_new <= N_HANDLES, "{n_new}");
        assert!(handles.iter().all(|(id, is_new)| *is_new != is_of_others(*id)));
    }

    #[test]
    fn names_are_those_of_files() {
        let cases: [(&[u8], &[u8]); 4] = [
            (b"/a b (deleted)", b"/a b"),
            (b"pipe:[123]", b"pipe"),
            (b"socket:[9]", b"socket"),
            (b"anon_inode:[eventfd]", b"anon_inode:[eventfd]"),
        ];
        for (link, name) in cases {
            assert_eq!(file_name(link), name);
        }
    }
}
