//! What a region's time is: computation, communication, transfer, or none of them.
//!
//! | where | region | activity |
//! |---|---|---|
//! | host | MPI, SHMEM: waits and synchronises | communication |
//! | host | NCCL/RCCL: waits and synchronises, in a process without streams | communication |
//! | host | the program, OpenMP: computes | computation, as [`HostCode`] says |
//! | stream | NCCL/RCCL, MPI, SHMEM; role collective or point-to-point | communication |
//! | stream | role data transfer, or a copy or fill by its name | transfer |
//! | stream | waits, synchronises | other |
//! | stream | everything else: kernels | computation |
//! | both | no definition (`<unknown region>`), hidden by the user (`[filtered]`) | unclassified |
//! | both | everything else: runtimes, locks, input and output, the tracer | other |
//!
//! For the names of waiting and synchronising calls, see [`semantics`](crate::semantics).

use crate::semantics::{Category, Class, Family};
use ouzel_model::{Definitions, Paradigm, Region, RegionId, RegionRole};
use serde::{Deserialize, Serialize};

/// What time is spent on, with regard to overlap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[repr(u8)]
pub enum Activity {
    /// Work of the program.
    Computation = 0,
    /// Messages and collectives between processes.
    Communication = 1,
    /// Copies between host and device.
    Transfer = 2,
    /// The region is unknown.
    Unclassified = 3,
    /// Known, and none of these: waiting for a device or a lock, launching, input and output, nothing.
    Other = 4,
}

/// Whether code on the host counts as computation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum HostCode {
    /// In processes that have no accelerator stream. In the others the host drives the device.
    #[default]
    ComputesWithoutStreams,
    /// Always.
    Computes,
    /// Never: only kernels compute.
    DoesNotCompute,
}

/// Where a location runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HostOrDevice {
    /// A thread of a process without streams.
    Host,
    /// A thread of a process with streams.
    HostWithStreams,
    /// An accelerator stream.
    Stream,
}

/// The activity of every region at a place.
pub(super) fn activities(
    definitions: &Definitions,
    classes: &[Class],
    place: HostOrDevice,
    host_code: HostCode,
) -> Vec<Activity> {
    let host_computes = match (host_code, place) {
        (HostCode::Computes, _) | (HostCode::ComputesWithoutStreams, HostOrDevice::Host) => true,
        (HostCode::ComputesWithoutStreams, _) | (HostCode::DoesNotCompute, _) => false,
    };
    let of_region = |(i, (region, class)): (usize, (&Region, &Class))| {
        let id = RegionId::from_index(i);
        if id == definitions.unknown_region || id == definitions.filtered_region {
            return Activity::Unclassified;
        }
        match place {
            HostOrDevice::Stream => on_stream(region, *class),
            HostOrDevice::Host | HostOrDevice::HostWithStreams => match on_host(region, *class, place) {
                Activity::Computation if !host_computes => Activity::Other,
                activity => activity,
            },
        }
    };
    definitions.regions.iter().zip(classes).enumerate().map(of_region).collect()
}

/// The activity of every region on an accelerator stream.
pub fn stream_activities(definitions: &Definitions, classes: &[Class]) -> Vec<Activity> {
    activities(definitions, classes, HostOrDevice::Stream, HostCode::default())
}

fn on_host(region: &Region, class: Class, place: HostOrDevice) -> Activity {
    let waits = class.category != Category::Computation;
    match class.family {
        Family::Mpi | Family::Shmem if waits => Activity::Communication,
        // With streams the call only queues the kernel that communicates.
        Family::Nccl if waits && place == HostOrDevice::Host => Activity::Communication,
        Family::User if region.paradigm == Paradigm::MeasurementSystem => Activity::Other,
        Family::User | Family::OpenMp if !waits => Activity::Computation,
        _ => Activity::Other,
    }
}

fn on_stream(region: &Region, class: Class) -> Activity {
    match class.family {
        Family::Nccl | Family::Mpi | Family::Shmem => Activity::Communication,
        _ if communicates(region) => Activity::Communication,
        _ if region.role == RegionRole::Kernel => Activity::Computation,
        _ if moves_data(region) => Activity::Transfer,
        _ if class.category != Category::Computation => Activity::Other,
        _ => Activity::Computation,
    }
}

/// Whether a region of a stream is a collective or a message by its role, whatever its name: readers set it from
/// metadata.
fn communicates(region: &Region) -> bool {
    matches!(
        region.role,
        RegionRole::CollectiveOneToAll
            | RegionRole::CollectiveAllToOne
            | RegionRole::CollectiveAllToAll
            | RegionRole::CollectiveOther
            | RegionRole::PointToPoint
    )
}

/// Whether a region copies or fills memory of the device: by its role, else by the words that profilers use.
fn moves_data(region: &Region) -> bool {
    const WORDS: [&str; 5] =
        ["memcpy", "memset", "copyhosttodevice", "copydevicetohost", "copydevicetodevice"];
    let name = region.name.to_ascii_lowercase();
    region.role == RegionRole::DataTransfer || WORDS.iter().any(|word| name.contains(word))
}
