//! The journal of a process: what its events refer to, and what became of it, as lines of text.
//!
//! ```text
//! process 4711 node12 0f3c… /opt/app
//! ```
//! A line is one entry: a word, then fields parted by tabs; tabs, line ends and backslashes in texts are written
//! as `\t`, `\n`, `\\`. Law: each entry is written with one system call when it becomes known, so a killed process
//! loses none; a last line without its end is ignored. Unknown words are skipped and counted.

mod fields;
mod lines;
#[cfg(test)]
mod tests;

use crate::openmp::Construct;
use fields::{Fields, put, put_list, put_number};
pub use lines::{IO_HANDLE_LINE_BYTES, function_line, io_handle_line, lost_line};

/// The number of the region of the whole program; functions of MPI and C have smaller ones.
pub const ROOT_REGION: u32 = 1000;

/// One line of a journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entry {
    /// The process itself; first in each journal.
    Process {
        /// Its id on its node.
        pid: u32,
        /// The name of the node.
        host: String,
        /// What the kernel of the node calls this boot: clocks of one boot are one clock.
        boot: String,
        /// The path of the program.
        program: String,
        /// The processors that it may run on, as the kernel lists them: `0-3,8`.
        processors: String,
    },
    /// Clocks at one moment, in nanoseconds: the one of events, and the time since 1970.
    Clock {
        /// That of the events.
        monotonic_ns: u64,
        /// Since 1970.
        realtime_ns: u64,
    },
    /// The process is a rank.
    Rank {
        /// Its rank in `MPI_COMM_WORLD`.
        rank: u32,
        /// Ranks in `MPI_COMM_WORLD`.
        size: u32,
        /// Tells apart worlds recorded into one directory.
        world: String,
        /// The MPI library.
        library: String,
    },
    /// A thread has begun to record; its file is that of its slot.
    Thread {
        /// The number of its file.
        slot: u32,
        /// What the kernel calls it.
        tid: u32,
    },
    /// An MPI function was called for the first time.
    Function {
        /// The number in the table of functions, which is its region's, too.
        number: u32,
    },
    /// A region of the program.
    Region {
        /// As events refer to it.
        id: u32,
        /// The line it begins at, 0 if unknown.
        line: u32,
        /// Its name.
        name: String,
        /// Its source file; empty if unknown.
        file: String,
    },
    /// A loop of the program.
    Loop {
        /// As events refer to it.
        id: u32,
        /// The line it begins at.
        line: u32,
        /// Its name.
        name: String,
        /// Its source file.
        file: String,
    },
    /// A function of the program, known by its address.
    Address {
        /// As events refer to it.
        id: u32,
        /// Offset in the file.
        offset: u64,
        /// The file that the code is mapped from.
        module: String,
    },
    /// A construct of OpenMP, known by the address of its body or of the call that begins it.
    Construct {
        /// As events refer to it.
        id: u32,
        /// Which one.
        construct: Construct,
        /// Offset in the file.
        offset: u64,
        /// The file that the code is mapped from.
        module: String,
    },
    /// The function that compilers made of the body of a construct which is known by a call.
    Body {
        /// Of the construct, as events refer to it.
        id: u32,
        /// Offset in the file.
        offset: u64,
        /// The file that the code is mapped from.
        module: String,
    },
    /// A runtime of OpenMP reports to another tool than the recorder.
    OtherTool,
    /// A thread belongs to a team.
    Team {
        /// As events refer to it.
        id: u32,
        /// The number of the thread in it.
        number: u32,
        /// The number of its event file.
        slot: u32,
    },
    /// A communicator; see [`Making`](crate::mpi::communicators::Making).
    Communicator {
        /// As events refer to it.
        id: u32,
        /// The one it was made from.
        parent: u32,
        /// The sort of making.
        sort: u64,
        /// How many were made so before.
        nth: u64,
        /// The world rank that all its members name it by.
        first: u32,
        /// The own rank.
        rank: u32,
        /// World ranks, written by rank 0 alone.
        members: Vec<u32>,
        /// World ranks of the other group of an intercommunicator; empty from other ranks than 0.
        others: Option<Vec<u32>>,
    },
    /// The name that the program gave a communicator.
    CommunicatorName {
        /// As events refer to it.
        id: u32,
        /// Its name.
        name: String,
    },
    /// A Cartesian topology of a communicator, and the own place in it.
    Topology {
        /// As events refer to it.
        communicator: u32,
        /// Size of each dimension.
        dimensions: Vec<u32>,
        /// Whether each is periodic, as 0 and 1.
        periods: Vec<u32>,
        /// The own coordinates.
        coordinates: Vec<u32>,
    },
    /// A window of one-sided communication.
    Window {
        /// As events refer to it.
        id: u32,
        /// As events refer to it.
        communicator: u32,
        /// How many were made on this communicator before.
        nth: u64,
    },
    /// Events were lost, and why.
    Lost {
        /// When it began.
        time_ns: u64,
        /// Why.
        reason: String,
    },
    /// Only this time is recorded; see [`Window`](crate::window::Window).
    Recorded {
        /// The first nanosecond.
        start_ns: u64,
        /// The first nanosecond behind it.
        stop_ns: u64,
    },
    /// What the process did before it recorded, so that the other ends of its messages are not taken for those of
    /// later ones; several of one kind add up.
    Unrecorded {
        /// What.
        what: Uncounted,
        /// How many.
        n: u64,
    },
    /// The process has ended by itself; the last one counts.
    End {
        /// When.
        time_ns: u64,
        /// How: `exit`, `_exit`, `abort`, `exec`, `MPI_Abort`; `MPI_Finalize` if it has come so far.
        how: String,
    },
    /// A file whose code samples may show.
    Module {
        /// As frames refer to it.
        number: u16,
        /// Its build id in hexadecimal digits; empty if it has none.
        build_id: String,
        /// Its path.
        path: String,
    },
    /// Samples are taken from now on.
    Sampler {
        /// For each second of processor time.
        hz: u32,
        /// By what: `perf` or `timer`.
        source: String,
    },
    /// What became of samples, when the recording ends.
    Samples {
        /// That were due.
        n_due: u64,
        /// Whose path is not known up to its beginning.
        n_incomplete: u64,
        /// For whose path there was no room.
        n_lost: u64,
        /// Processor time of the process since samples are taken.
        processor_ns: u64,
    },
    /// What the threads of the process are counted by.
    Counters {
        /// Names, with commas between them.
        counted: String,
        /// Of those that were wanted and are not there, likewise.
        absent: String,
        /// Why not, as an error number of the system; 0 if none is absent.
        error: i32,
        /// Whether those of the processor leave out what the kernel does.
        is_user_only: bool,
    },
    /// Event files have chunks of another length than is usual.
    Buffer {
        /// Bytes of a chunk.
        n_bytes: u64,
    },
    /// The memory of the process is read.
    Memory,
    /// What became of reading the counters of a thread.
    CounterReads {
        /// Calls and regions that could have been read.
        n_calls: u64,
        /// Those that were.
        n_read: u64,
        /// Values that are estimates, because the processor counted by turns.
        n_estimated: u64,
    },
    /// The counters of a thread could not be had.
    Uncounted {
        /// The thread.
        tid: u32,
    },
    /// A file that is read or written through an interface.
    IoHandle {
        /// As events refer to it.
        id: u32,
        /// The number of its [`Interface`](crate::io::Interface).
        interface: u8,
        /// The file, or what else it is.
        file: String,
    },
    /// This rank is none of those that are to be recorded.
    LeftOut,
    /// MPI has made a thread for itself, which is not recorded.
    MpiThread,
    /// A file that MPI has opened.
    MpiFile {
        /// As events refer to it.
        id: u32,
        /// As this process numbers communicators.
        communicator: u32,
        /// The file.
        file: String,
    },
    /// A child of this process was ended by a signal.
    ChildKilled {
        /// When it was noticed.
        time_ns: u64,
        /// The child.
        pid: u32,
        /// The signal.
        signal: u32,
    },
    /// This process sent a signal to another one.
    SignalSent {
        /// When.
        time_ns: u64,
        /// The other one.
        pid: u32,
        /// The signal.
        signal: u32,
    },
}

/// What was done before the recording began; communicators are as events refer to them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Uncounted {
    /// Messages sent.
    Sends {
        /// On this communicator.
        communicator: u32,
        /// To this rank of it.
        peer: u32,
        /// With this tag.
        tag: u32,
    },
    /// Messages received.
    Receives {
        /// On this communicator.
        communicator: u32,
        /// From this rank of it.
        peer: u32,
        /// With this tag.
        tag: u32,
    },
    /// Collective operations.
    Collectives {
        /// On this communicator.
        communicator: u32,
    },
}

impl Entry {
    /// The line, with its end.
    pub fn line(&self) -> String {
        let mut line = String::with_capacity(64);
        self.put_into(&mut line);
        line.push('\n');
        line
    }

    fn put_into(&self, to: &mut String) {
        match self {
            Entry::Process { pid, host, boot, program, processors } => {
                to.push_str("process");
                put_number(to, pid);
                [host, boot, program, processors].into_iter().for_each(|text| put(to, text));
            }
            Entry::Clock { monotonic_ns, realtime_ns } => {
                to.push_str("clock");
                [monotonic_ns, realtime_ns].into_iter().for_each(|number| put_number(to, number));
            }
            Entry::Rank { rank, size, world, library } => {
                to.push_str("rank");
                [rank, size].into_iter().for_each(|number| put_number(to, number));
                [world, library].into_iter().for_each(|text| put(to, text));
            }
            Entry::Thread { slot, tid } => {
                to.push_str("thread");
                [slot, tid].into_iter().for_each(|number| put_number(to, number));
            }
            Entry::Function { number } => {
                to.push_str("function");
                put_number(to, number);
            }
            Entry::Region { id, line, name, file } | Entry::Loop { id, line, name, file } => {
                to.push_str(if matches!(self, Entry::Loop { .. }) { "loop" } else { "region" });
                [id, line].into_iter().for_each(|number| put_number(to, number));
                [name, file].into_iter().for_each(|text| put(to, text));
            }
            Entry::Address { id, offset, module } => {
                to.push_str("address");
                put_number(to, id);
                put_number(to, offset);
                put(to, module);
            }
            Entry::Construct { .. } | Entry::Body { .. } | Entry::Team { .. } | Entry::OtherTool => {
                self.put_openmp(to);
            }
            Entry::Communicator { .. } | Entry::CommunicatorName { .. } | Entry::Topology { .. } => {
                self.put_communicator(to);
            }
            Entry::Window { id, communicator, nth } => {
                to.push_str("window");
                [id, communicator].into_iter().for_each(|number| put_number(to, number));
                put_number(to, nth);
            }
            Entry::Lost { time_ns, reason: text } | Entry::End { time_ns, how: text } => {
                to.push_str(if matches!(self, Entry::Lost { .. }) { "lost" } else { "end" });
                put_number(to, time_ns);
                put(to, text);
            }
            Entry::Recorded { .. } | Entry::Unrecorded { .. } => self.put_window(to),
            Entry::Module { .. } | Entry::Sampler { .. } | Entry::Samples { .. } | Entry::MpiThread => {
                self.put_samples(to);
            }
            Entry::Counters { .. }
            | Entry::Memory
            | Entry::Buffer { .. }
            | Entry::CounterReads { .. }
            | Entry::Uncounted { .. } => {
                self.put_counters(to);
            }
            Entry::IoHandle { id, interface, file } => {
                to.push_str("io-handle");
                put_number(to, id);
                put_number(to, interface);
                put(to, file);
            }
            Entry::LeftOut => to.push_str("left-out"),
            Entry::MpiFile { id, communicator, file } => {
                to.push_str("mpi-file");
                [id, communicator].into_iter().for_each(|number| put_number(to, number));
                put(to, file);
            }
            Entry::ChildKilled { time_ns, pid, signal } | Entry::SignalSent { time_ns, pid, signal } => {
                let is_sent = matches!(self, Entry::SignalSent { .. });
                to.push_str(if is_sent { "signal-sent" } else { "child-killed" });
                put_number(to, time_ns);
                [pid, signal].into_iter().for_each(|number| put_number(to, number));
            }
        }
    }

    fn put_window(&self, to: &mut String) {
        match self {
            Entry::Recorded { start_ns, stop_ns } => {
                to.push_str("recorded");
                [start_ns, stop_ns].into_iter().for_each(|number| put_number(to, number));
            }
            Entry::Unrecorded { what, n } => {
                let (word, numbers) = match *what {
                    Uncounted::Sends { communicator, peer, tag } => ("sends", [communicator, peer, tag]),
                    Uncounted::Receives { communicator, peer, tag } => {
                        ("receives", [communicator, peer, tag])
                    }
                    Uncounted::Collectives { communicator } => ("collectives", [communicator, 0, 0]),
                };
                to.push_str("unrecorded");
                put(to, word);
                numbers.into_iter().for_each(|number| put_number(to, number));
                put_number(to, n);
            }
            _ => {}
        }
    }

    fn put_openmp(&self, to: &mut String) {
        match self {
            Entry::Construct { id, construct, offset, module } => {
                to.push_str("construct");
                put_number(to, id);
                put(to, construct.word());
                put_number(to, offset);
                put(to, module);
            }
            Entry::Body { id, offset, module } => {
                to.push_str("body");
                put_number(to, id);
                put_number(to, offset);
                put(to, module);
            }
            Entry::OtherTool => to.push_str("other-tool"),
            Entry::Team { id, number, slot } => {
                to.push_str("team");
                [id, number, slot].into_iter().for_each(|number| put_number(to, number));
            }
            _ => {}
        }
    }

    fn put_samples(&self, to: &mut String) {
        match self {
            Entry::MpiThread => to.push_str("mpi-thread"),
            Entry::Module { number, build_id, path } => {
                to.push_str("module");
                put_number(to, number);
                [build_id, path].into_iter().for_each(|text| put(to, text));
            }
            Entry::Sampler { hz, source } => {
                to.push_str("sampler");
                put_number(to, hz);
                put(to, source);
            }
            Entry::Samples { n_due, n_incomplete, n_lost, processor_ns } => {
                to.push_str("samples");
                [n_due, n_incomplete, n_lost, processor_ns].into_iter().for_each(|n| put_number(to, n));
            }
            _ => {}
        }
    }

    fn put_counters(&self, to: &mut String) {
        match self {
            Entry::Counters { counted, absent, error, is_user_only } => {
                to.push_str("counters");
                [counted, absent].into_iter().for_each(|text| put(to, text));
                put_number(to, error);
                put_number(to, u8::from(*is_user_only));
            }
            Entry::Memory => to.push_str("memory"),
            Entry::Buffer { n_bytes } => {
                to.push_str("buffer");
                put_number(to, n_bytes);
            }
            Entry::CounterReads { n_calls, n_read, n_estimated } => {
                to.push_str("counter-reads");
                [n_calls, n_read, n_estimated].into_iter().for_each(|n| put_number(to, n));
            }
            Entry::Uncounted { tid } => {
                to.push_str("uncounted");
                put_number(to, tid);
            }
            _ => {}
        }
    }

    fn put_communicator(&self, to: &mut String) {
        match self {
            Entry::Communicator { id, parent, sort, nth, first, rank, members, others } => {
                to.push_str("communicator");
                [id, parent].into_iter().for_each(|number| put_number(to, number));
                [sort, nth].into_iter().for_each(|number| put_number(to, number));
                [first, rank].into_iter().for_each(|number| put_number(to, number));
                put_list(to, members);
                if let Some(others) = others {
                    put_list(to, others);
                }
            }
            Entry::CommunicatorName { id, name } => {
                to.push_str("communicator-name");
                put_number(to, id);
                put(to, name);
            }
            Entry::Topology { communicator, dimensions, periods, coordinates } => {
                to.push_str("topology");
                put_number(to, communicator);
                [dimensions, periods, coordinates].into_iter().for_each(|numbers| put_list(to, numbers));
            }
            _ => {}
        }
    }

    /// The entry of a line without its end; none if it is of an unknown kind or incomplete.
    pub fn of_line(line: &str) -> Option<Entry> {
        let mut fields = line.split('\t');
        let word = fields.next()?;
        let mut fields = Fields(fields);
        Some(match word {
            "process" => Entry::Process {
                pid: fields.number()?,
                host: fields.text()?,
                boot: fields.text()?,
                program: fields.text()?,
                // Absent in journals of libraries before this one.
                processors: fields.text().unwrap_or_default(),
            },
            "clock" => Entry::Clock { monotonic_ns: fields.number()?, realtime_ns: fields.number()? },
            "rank" => Entry::Rank {
                rank: fields.number()?,
                size: fields.number()?,
                world: fields.text()?,
                library: fields.text()?,
            },
            "thread" => Entry::Thread { slot: fields.number()?, tid: fields.number()? },
            "function" => Entry::Function { number: fields.number()? },
            "region" => Entry::Region {
                id: fields.number()?,
                line: fields.number()?,
                name: fields.text()?,
                file: fields.text()?,
            },
            "loop" => Entry::Loop {
                id: fields.number()?,
                line: fields.number()?,
                name: fields.text()?,
                file: fields.text()?,
            },
            "address" => {
                Entry::Address { id: fields.number()?, offset: fields.number()?, module: fields.text()? }
            }
            "construct" => Entry::Construct {
                id: fields.number()?,
                construct: Construct::of_word(&fields.text()?)?,
                offset: fields.number()?,
                module: fields.text()?,
            },
            "body" => Entry::Body { id: fields.number()?, offset: fields.number()?, module: fields.text()? },
            "other-tool" => Entry::OtherTool,
            "team" => Entry::Team { id: fields.number()?, number: fields.number()?, slot: fields.number()? },
            "communicator" => fields.communicator()?,
            "communicator-name" => Entry::CommunicatorName { id: fields.number()?, name: fields.text()? },
            "topology" => Entry::Topology {
                communicator: fields.number()?,
                dimensions: fields.list()?,
                periods: fields.list()?,
                coordinates: fields.list()?,
            },
            "window" => {
                Entry::Window { id: fields.number()?, communicator: fields.number()?, nth: fields.number()? }
            }
            "lost" => Entry::Lost { time_ns: fields.number()?, reason: fields.text()? },
            "recorded" => Entry::Recorded { start_ns: fields.number()?, stop_ns: fields.number()? },
            "unrecorded" => fields.unrecorded()?,
            "end" => Entry::End { time_ns: fields.number()?, how: fields.text()? },
            "module" => {
                Entry::Module { number: fields.number()?, build_id: fields.text()?, path: fields.text()? }
            }
            "sampler" => Entry::Sampler { hz: fields.number()?, source: fields.text()? },
            "samples" => Entry::Samples {
                n_due: fields.number()?,
                n_incomplete: fields.number()?,
                n_lost: fields.number()?,
                processor_ns: fields.number()?,
            },
            "left-out" => Entry::LeftOut,
            "mpi-file" => {
                Entry::MpiFile { id: fields.number()?, communicator: fields.number()?, file: fields.text()? }
            }
            "io-handle" => {
                Entry::IoHandle { id: fields.number()?, interface: fields.number()?, file: fields.text()? }
            }
            "child-killed" | "signal-sent" => return Entry::of_signals(word, &mut fields),
            _ => return Entry::of_counters(word, &mut fields),
        })
    }

    fn of_signals(word: &str, fields: &mut Fields<'_>) -> Option<Entry> {
        let (time_ns, pid, signal) = (fields.number()?, fields.number()?, fields.number()?);
        Some(match word {
            "child-killed" => Entry::ChildKilled { time_ns, pid, signal },
            _ => Entry::SignalSent { time_ns, pid, signal },
        })
    }

    fn of_counters(word: &str, fields: &mut Fields<'_>) -> Option<Entry> {
        Some(match word {
            "mpi-thread" => Entry::MpiThread,
            "counters" => Entry::Counters {
                counted: fields.text()?,
                absent: fields.text()?,
                error: fields.number()?,
                is_user_only: fields.number::<u8>()? == 1,
            },
            "memory" => Entry::Memory,
            "buffer" => Entry::Buffer { n_bytes: fields.number()? },
            "counter-reads" => Entry::CounterReads {
                n_calls: fields.number()?,
                n_read: fields.number()?,
                n_estimated: fields.number()?,
            },
            "uncounted" => Entry::Uncounted { tid: fields.number()? },
            _ => return None,
        })
    }
}

/// The entries of a journal, and how many complete lines were not understood.
pub fn read(text: &str) -> (Vec<Entry>, u64) {
    let mut n_unknown = 0;
    // What follows the last line end was not written completely.
    let complete = text.rfind('\n').map_or("", |end| &text[..end]);
    let mut understood = Vec::new();
    for line in complete.split('\n').filter(|line| !line.is_empty()) {
        match Entry::of_line(line) {
            Some(entry) => understood.push(entry),
            None => n_unknown += 1,
        }
    }
    (understood, n_unknown)
}
