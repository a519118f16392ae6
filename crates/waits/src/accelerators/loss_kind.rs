//! Kinds of losses of a run with accelerators.

/// What makes the run longer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DeviceLossKind {
    /// The host prepares what it launches.
    HostLate,
    /// The host reads or prepares input.
    InputPipeline,
    /// The host makes contexts, loads or compiles code.
    FirstUse,
    /// The host allocates or releases memory.
    MemoryChurn,
    /// The host waits although it need not.
    UselessSynchronization,
    /// The host waits for one stream before it launches into another.
    SerializedStreams,
    /// Copies block the host and do not overlap.
    SynchronousCopies,
    /// The same, from or to pageable memory.
    PageableMemory,
    /// The device of one rank has more to do than the others, whose hosts wait for it.
    Imbalance,
    /// One rank begins collectives late.
    Straggler,
    /// Kernels that run shorter than their launches.
    SmallKernels,
    /// Communication that no computation hides.
    ExposedCommunication,
}
