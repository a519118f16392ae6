//! Tracks and processes as a file names them, before they become locations and groups.

/// What a track shows of its process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub(super) enum TrackKind {
    Thread,
    /// Kernels and copies of a stream.
    Stream,
    /// Ranges of the program, as the profiler projects them onto a stream.
    DeviceRanges,
    /// Waits for a stream, as the host sees them.
    Waits,
    /// Spans of asynchronous operations of one category.
    Async,
    /// Samples of a thread.
    Samples,
    /// Values of counters.
    Counters,
}

/// Number of kinds.
pub(super) const N_TRACK_KINDS: usize = TrackKind::Counters as usize + 1;

/// A track before it is cut into lanes.
#[derive(Debug)]
pub(super) struct TrackDraft {
    pub group: usize,
    pub kind: TrackKind,
    /// As the file writes it: number or text.
    pub tid: String,
    /// Index in the store.
    pub records: usize,
}

/// What the files call a process: a process, a device, or anything else.
#[derive(Debug)]
pub(super) struct GroupDraft {
    pub file: usize,
    /// As the file writes it.
    pub pid: String,
    pub name: Option<String>,
    pub labels: Option<String>,
    /// Whether kernels or copies run here.
    pub is_device: bool,
}

impl GroupDraft {
    /// Whether it holds Kineto's rows about itself.
    pub fn is_pseudo(&self) -> bool {
        matches!(&self.pid[..], "Spans" | "Traces" | "")
    }
}

/// Numbers before texts, numbers by value.
pub(super) fn natural(text: &str) -> (bool, u64, String) {
    let number = text.parse().ok();
    (number.is_none(), number.unwrap_or(0), text.to_owned())
}
