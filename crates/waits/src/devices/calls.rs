//! What calls of an accelerator's runtime do, by their names.
//!
//! Names say it where a trace records no more; what is recorded wins. Law: depends on the definitions alone. A run without
//! streams of accelerators has no such calls, so that its events are not looked at.

use ouzel_model::{Definitions, Location, LocationGroupId, LocationGroupKind, LocationKind, RegionRole};
use serde::{Deserialize, Serialize};

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
            _ if plain.contains("Async") => DeviceApi::Other,
            _ if plain.contains("Memcpy") || plain.contains("Memset") => DeviceApi::BlockingCopy,
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
}

impl DeviceApis {
    pub fn new(definitions: &Definitions) -> Self {
        let streams = definitions.locations.iter().filter(|location| is_stream(location));
        let contexts: Vec<LocationGroupId> = streams.map(|location| location.group).collect();
        if contexts.is_empty() {
            return DeviceApis::default();
        }
        let groups = &definitions.location_groups;
        let ids = || (0..groups.len()).map(LocationGroupId::from_index);
        let owner = |id: LocationGroupId| {
            let group = &groups[id.index()];
            let is_device = group.kind == LocationGroupKind::Accelerator;
            let of_rank = || {
                let of_rank = |it: &LocationGroupId| {
                    let other = &groups[it.index()];
                    other.kind == LocationGroupKind::Process && other.rank == group.rank
                };
                ids().find(of_rank).filter(|_| is_device)
            };
            group.creator.filter(|it| it.index() < groups.len()).or_else(of_rank).unwrap_or(id)
        };
        let owners: Vec<LocationGroupId> = ids().map(owner).collect();
        let mut drive = vec![false; groups.len()];
        contexts.iter().for_each(|context| drive[owners[context.index()].index()] = true);
        let of_regions = definitions.regions.iter().map(|it| DeviceApi::of(&it.name, it.role)).collect();
        DeviceApis { of_regions, owners, drive }
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

    /// Whether a location is a stream, or a thread of a process that drives a device.
    pub fn has(&self, location: &Location) -> bool {
        let drives = || self.drive.get(location.group.index()).copied().unwrap_or(false);
        !self.is_empty() && (is_stream(location) || (location.kind == LocationKind::CpuThread && drives()))
    }
}

/// Whether a location is a stream of an accelerator.
pub(crate) fn is_stream(location: &Location) -> bool {
    location.kind == LocationKind::AcceleratorStream
}

#[cfg(test)]
mod tests {
    use super::*;

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
            ("cudaMemcpyAsync", DeviceApi::Other),
            ("cuMemcpyDtoHAsync_v2", DeviceApi::Other),
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
    }
}
