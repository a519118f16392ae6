//! What calls of an accelerator's runtime do, by their names.
//!
//! Names say it where a trace records no more; what is recorded wins. Law: depends on the definitions alone. A run without
//! streams of accelerators has no such calls, so that its events are not looked at.

use ouzel_model::{Definitions, Location, LocationGroupId, LocationKind, RegionRole};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// What calls of a region do, or what operations of it are on a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum DeviceApi {
    /// Anything else; on a stream, a kernel.
    Other,
    /// They launch a kernel.
    Launch,
    /// They wait for a stream.
    AwaitStream,
    /// They wait for all streams of a device.
    AwaitDevice,
    /// They wait for an event.
    AwaitEvent,
    /// They copy or fill, and return when that is done.
    BlockingCopy,
    /// They start a copy or a fill.
    AsyncCopy,
    /// They release memory once nothing runs that may use it.
    Free,
    /// On a stream: a copy or a fill.
    Transfer,
    /// On a stream: no operation.
    Nothing,
}

impl DeviceApi {
    fn of(name: &str, role: RegionRole) -> Self {
        let name = name.split('(').next().unwrap_or(name);
        let is_runtime = ["cuda", "cu", "hip"].iter().any(|prefix| name.starts_with(prefix));
        let lower = name.to_ascii_lowercase();
        let plain = match name.split_once("_v") {
            Some((plain, version)) if version.bytes().all(|it| it.is_ascii_digit()) => plain,
            _ => name,
        };
        let plain = plain.trim_end_matches("_ptsz").trim_end_matches("_ptds");
        if !is_runtime {
            return match () {
                // rocprofv3 shows what memory is given and taken back as a stream.
                () if matches!(role, RegionRole::Allocate | RegionRole::Deallocate) => DeviceApi::Nothing,
                () if lower.contains("idle") && role != RegionRole::Kernel => DeviceApi::Nothing,
                () if role == RegionRole::DataTransfer => DeviceApi::Transfer,
                () if role != RegionRole::Kernel
                    && (lower.contains("memcpy") || lower.contains("memset")) =>
                {
                    DeviceApi::Transfer
                }
                () => DeviceApi::Other,
            };
        }
        match plain {
            "cudaFree" | "cuMemFree" | "hipFree" => DeviceApi::Free,
            _ if plain.ends_with("StreamSynchronize") => DeviceApi::AwaitStream,
            _ if plain.ends_with("EventSynchronize") => DeviceApi::AwaitEvent,
            _ if plain.ends_with("Synchronize") => DeviceApi::AwaitDevice,
            _ if plain.contains("Memcpy") || plain.contains("Memset") => match plain.contains("Async") {
                true => DeviceApi::AsyncCopy,
                false => DeviceApi::BlockingCopy,
            },
            _ if plain.contains("Async") => DeviceApi::Other,
            _ if ["LaunchKernel", "GraphLaunch", "LaunchCooperative", "LaunchGrid"]
                .iter()
                .any(|launch| plain.contains(launch)) =>
            {
                DeviceApi::Launch
            }
            "cudaLaunch" | "cuLaunch" => DeviceApi::Launch,
            _ => DeviceApi::Other,
        }
    }

    /// Whether such calls put an operation into a stream and go on.
    pub fn starts(self) -> bool {
        matches!(self, DeviceApi::Launch | DeviceApi::AsyncCopy)
    }

    /// Whether such calls return when something is done.
    pub fn blocks(self) -> bool {
        use DeviceApi::{AwaitDevice, AwaitEvent, AwaitStream, BlockingCopy, Free};
        matches!(self, AwaitDevice | AwaitEvent | AwaitStream | BlockingCopy | Free)
    }
}

/// The calls of a run that deal with accelerators.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct DeviceApis {
    /// By region; empty if there are no streams.
    of_regions: Vec<DeviceApi>,
    /// By location group: the process that drives it, which is the group itself for a process.
    owners: Vec<LocationGroupId>,
    /// Processes that drive a device.
    drive: Vec<bool>,
    /// By context: the number of its device, if several processes drive that.
    shared: BTreeMap<LocationGroupId, u32>,
    /// By process that shares a device: the first of those that share one with it, or with another of them.
    units: BTreeMap<LocationGroupId, LocationGroupId>,
}

impl DeviceApis {
    pub fn new(definitions: &Definitions) -> Self {
        let streams = definitions.locations.iter().filter(|location| is_stream(location));
        let contexts: Vec<LocationGroupId> = streams.map(|location| location.group).collect();
        if contexts.is_empty() {
            return DeviceApis::default();
        }
        let owners = definitions.drivers();
        let mut drive = vec![false; owners.len()];
        contexts.iter().for_each(|context| drive[owners[context.index()].index()] = true);
        let of_regions = definitions.regions.iter().map(|it| DeviceApi::of(&it.name, it.role)).collect();
        let devices = definitions.shared_devices();
        let contexts = (0..).zip(&devices).flat_map(|(n, of)| of.iter().map(move |it| (it.0, n)));
        DeviceApis { of_regions, owners, drive, shared: contexts.collect(), units: units(&devices) }
    }

    /// Whether there are no streams.
    pub fn is_empty(&self) -> bool {
        self.of_regions.is_empty()
    }

    /// What calls of each region do.
    pub fn of_regions(&self) -> &[DeviceApi] {
        &self.of_regions
    }

    /// The process that drives a device, or the process itself.
    pub fn owner(&self, group: LocationGroupId) -> LocationGroupId {
        self.owners.get(group.index()).copied().unwrap_or(group)
    }

    /// The number of the device of a context, if several processes drive it.
    pub fn shared_device(&self, context: LocationGroupId) -> Option<u32> {
        self.shared.get(&context).copied()
    }

    /// What is settled together with a group: the first of the processes that share devices, else its process.
    pub fn unit(&self, group: LocationGroupId) -> LocationGroupId {
        let owner = self.owner(group);
        self.units.get(&owner).copied().unwrap_or(owner)
    }

    /// Whether a location is a stream, or a thread of a process that drives a device.
    pub fn has(&self, location: &Location) -> bool {
        let drives = || self.drive.get(location.group.index()).copied().unwrap_or(false);
        !self.is_empty() && (is_stream(location) || (location.kind == LocationKind::CpuThread && drives()))
    }
}

/// The first of all processes that are connected by devices that they share, by process.
fn units(devices: &[Vec<(LocationGroupId, LocationGroupId)>]) -> BTreeMap<LocationGroupId, LocationGroupId> {
    let mut units: BTreeMap<LocationGroupId, LocationGroupId> = BTreeMap::new();
    for of in devices {
        let first = |units: &BTreeMap<_, _>, it| units.get(&it).copied().unwrap_or(it);
        let joined: BTreeSet<LocationGroupId> = of.iter().map(|&(_, driver)| first(&units, driver)).collect();
        let Some(&least) = joined.first() else { continue };
        units.extend(of.iter().map(|&(_, driver)| (driver, least)));
        units.values_mut().filter(|it| joined.contains(it)).for_each(|it| *it = least);
    }
    units
}

/// Whether a location is a stream of an accelerator.
pub(crate) fn is_stream(location: &Location) -> bool {
    location.kind == LocationKind::AcceleratorStream
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_that_share_devices_are_one_unit_however_they_are_connected() {
        let id = LocationGroupId;
        let device = |drivers: &[u32]| drivers.iter().map(|&it| (id(100 + it), id(it))).collect();
        let units = units(&[device(&[4, 5]), device(&[1, 2]), device(&[2, 5]), device(&[7, 8])]);
        let of = |it: u32| units.get(&id(it)).map(|it| it.0);
        assert_eq!(
            [1, 2, 4, 5, 7, 8, 9].map(of),
            [1, 1, 1, 1, 7, 7].map(Some).into_iter().chain([None]).collect::<Vec<_>>()[..]
        );
    }

    #[test]
    fn names_of_all_runtimes_say_what_a_call_does() {
        let cases = [
            ("cudaDeviceSynchronize", DeviceApi::AwaitDevice),
            ("cuCtxSynchronize", DeviceApi::AwaitDevice),
            ("hipStreamSynchronize", DeviceApi::AwaitStream),
            ("cudaStreamSynchronize_ptsz", DeviceApi::AwaitStream),
            ("cudaEventSynchronize_v3020", DeviceApi::AwaitEvent),
            ("cudaMemcpy", DeviceApi::BlockingCopy),
            ("cuMemcpyDtoH_v2", DeviceApi::BlockingCopy),
            ("hipMemcpyWithStream", DeviceApi::BlockingCopy),
            ("cudaMemcpyAsync", DeviceApi::AsyncCopy),
            ("cuMemcpyDtoHAsync_v2", DeviceApi::AsyncCopy),
            ("cudaMallocAsync", DeviceApi::Other),
            ("cudaFree", DeviceApi::Free),
            ("cuMemFree_v2", DeviceApi::Free),
            ("cudaFreeHost", DeviceApi::Other),
            ("cudaMalloc", DeviceApi::Other),
            ("cudaLaunchKernelExC", DeviceApi::Launch),
            ("hipExtModuleLaunchKernel", DeviceApi::Launch),
            ("cudaLaunchHostFunc", DeviceApi::Other),
            ("[CUDA memcpy Device-to-Host]", DeviceApi::Transfer),
            ("solve(float*)", DeviceApi::Other),
        ];
        for (name, wanted) in cases {
            assert_eq!(DeviceApi::of(name, RegionRole::Function), wanted, "{name}");
        }
        assert_eq!(DeviceApi::of("my_memset_kernel", RegionRole::Kernel), DeviceApi::Other);
        assert_eq!(DeviceApi::of("MEMORY_ALLOCATION_FREE", RegionRole::Allocate), DeviceApi::Nothing);
    }
}
