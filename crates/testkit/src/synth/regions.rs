//! The regions of the made-up program.

use ouzel_otf2::records::enums::{Paradigm, RegionRole};

/// A region that the program enters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(usize)]
pub(super) enum Region {
    Main,
    Initialise,
    TimeStep,
    HaloExchange,
    Pack,
    Unpack,
    Compute,
    SweepX,
    SweepY,
    Row,
    Stencil,
    Flux,
    Source,
    ResidualNorm,
    WriteOutput,
    Fwrite,
    MpiInit,
    MpiCartCreate,
    MpiIrecv,
    MpiIsend,
    MpiWaitall,
    MpiAllreduce,
    MpiSend,
    MpiRecv,
    MpiBarrier,
    MpiFinalize,
}

/// What is defined of a region.
#[derive(Debug)]
pub(super) struct RegionInfo {
    pub(super) name: &'static str,
    pub(super) role: RegionRole,
    pub(super) paradigm: Paradigm,
    /// Instructions per tick, as the counters report them.
    pub(super) instructions_per_tick: u64,
}

const fn user(name: &'static str, instructions_per_tick: u64) -> RegionInfo {
    RegionInfo { name, role: RegionRole::Function, paradigm: Paradigm::Compiler, instructions_per_tick }
}

const fn mpi(name: &'static str, role: RegionRole) -> RegionInfo {
    RegionInfo { name, role, paradigm: Paradigm::Mpi, instructions_per_tick: 1 }
}

pub(super) const N_REGIONS: usize = 26;

/// In the order of [`Region`].
pub(super) const REGIONS: [RegionInfo; N_REGIONS] = [
    user("main", 2),
    user("initialise", 2),
    user("time_step", 2),
    user("halo_exchange", 2),
    user("pack", 1),
    user("unpack", 1),
    user("compute", 3),
    user("sweep_x", 3),
    user("sweep_y", 3),
    user("row", 3),
    user("stencil", 6),
    user("flux", 5),
    user("source_term", 4),
    user("residual_norm", 3),
    user("write_output", 2),
    RegionInfo {
        name: "fwrite",
        role: RegionRole::FileIo,
        paradigm: Paradigm::User,
        instructions_per_tick: 1,
    },
    mpi("MPI_Init", RegionRole::Function),
    mpi("MPI_Cart_create", RegionRole::CollOther),
    mpi("MPI_Irecv", RegionRole::PointToPoint),
    mpi("MPI_Isend", RegionRole::PointToPoint),
    mpi("MPI_Waitall", RegionRole::PointToPoint),
    mpi("MPI_Allreduce", RegionRole::CollAllToAll),
    mpi("MPI_Send", RegionRole::PointToPoint),
    mpi("MPI_Recv", RegionRole::PointToPoint),
    mpi("MPI_Barrier", RegionRole::Barrier),
    mpi("MPI_Finalize", RegionRole::Function),
];
