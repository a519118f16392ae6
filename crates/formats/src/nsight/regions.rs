//! Regions by the table and the name they come from.
//!
//! Law: one table and one name is one region, over all reports. Numbers of regions are given in the order in which
//! they are met, which is that of the files and their rows.

use super::names::library_role;
use crate::naming;
use crate::position::u32_from;
use ouzel_model::{Paradigm, Region, RegionRole};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Where a name comes from.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Origin {
    /// The runtime or driver API of CUDA.
    CudaApi,
    /// A kernel, with its linker's name where that is known.
    Kernel(Option<Arc<str>>),
    /// A copy of memory.
    Memcpy,
    /// A fill of memory.
    Memset,
    /// Waiting for a device, as the device's driver sees it.
    Sync,
    /// A graph that was run as a whole.
    Graph,
    /// A range of NVTX, with the name of its domain unless it is the default one.
    Nvtx(Option<Arc<str>>),
    /// The runtime of HIP, or an interface below or above it.
    HipApi,
    /// A kernel of HIP, with its linker's name where that is known.
    HipKernel(Option<Arc<str>>),
    /// A copy of memory by HIP.
    HipCopy,
    /// A function of MPI.
    Mpi,
    /// A function of the C library, or of another library that was traced.
    Library,
    /// What the profiler itself did.
    Overhead,
    /// A function that was sampled.
    Sampled,
}

/// All regions.
#[derive(Debug, Default)]
pub(crate) struct NsightRegions {
    by_name: FxHashMap<(Origin, Arc<str>), u32>,
    regions: Vec<Region>,
}

impl NsightRegions {
    /// The region of a name.
    pub fn get(&mut self, origin: Origin, name: &Arc<str>) -> u32 {
        let key = (origin, Arc::clone(name));
        if let Some(&region) = self.by_name.get(&key) {
            return region;
        }
        let region = u32_from(self.regions.len());
        self.regions.push(region_of(&key.0, name));
        self.by_name.insert(key, region);
        region
    }

    /// The name of a region.
    pub(crate) fn name(&self, region: u32) -> &str {
        &self.regions[region as usize].name
    }

    /// Whether a region is the placeholder for frames without a symbol.
    pub(crate) fn is_unresolved(&self, region: u32) -> bool {
        self.regions[region as usize].name.starts_with("<unresolved in ")
    }

    /// All of them, in the order of their numbers.
    pub(crate) fn into_vec(self) -> Vec<Region> {
        self.regions
    }
}

fn region_of(origin: &Origin, name: &Arc<str>) -> Region {
    let mut canonical_name = None;
    let (role, paradigm) = match origin {
        Origin::CudaApi => (naming::of_function(name).0, Paradigm::Cuda),
        Origin::Kernel(mangled) => {
            canonical_name = mangled.clone().filter(|mangled| mangled != name);
            (RegionRole::Kernel, Paradigm::Cuda)
        }
        Origin::HipApi => match naming::of_function(name) {
            (role, Paradigm::Unknown) => (role, Paradigm::Hip),
            known => known,
        },
        Origin::HipKernel(linker) => {
            canonical_name = linker.clone().filter(|linker| linker != name);
            (RegionRole::Kernel, Paradigm::Hip)
        }
        Origin::HipCopy => (RegionRole::DataTransfer, Paradigm::Hip),
        Origin::Memcpy | Origin::Memset => (RegionRole::DataTransfer, Paradigm::Cuda),
        Origin::Sync => (RegionRole::ThreadWait, Paradigm::Cuda),
        Origin::Graph => (RegionRole::Kernel, Paradigm::Cuda),
        Origin::Mpi => (naming::of_function(name).0, Paradigm::Mpi),
        Origin::Library => library_role(name),
        Origin::Overhead => (RegionRole::Artificial, Paradigm::MeasurementSystem),
        Origin::Sampled => match naming::of_function(name) {
            (role, Paradigm::Unknown) => (role, Paradigm::Compiler),
            known => known,
        },
        // MPI and other libraries can be traced as ranges with the names of their functions.
        Origin::Nvtx(domain) => {
            canonical_name = domain.as_ref().map(|domain| Arc::from(format!("{domain}:{name}")));
            match naming::of_function(name) {
                (role, Paradigm::Mpi) => (role, Paradigm::Mpi),
                _ => (RegionRole::Code, Paradigm::User),
            }
        }
    };
    Region { name: Arc::clone(name), canonical_name, file: None, line: None, end_line: None, role, paradigm }
}

/// The name of a function of CUDA without the version of the interface (`cudaLaunchKernel_v7000`).
pub(crate) fn without_api_version(name: &str) -> &str {
    match name.rsplit_once("_v") {
        Some((function, version))
            if 4 <= version.len() && version.bytes().all(|digit| digit.is_ascii_digit()) =>
        {
            function
        }
        _ => name,
    }
}

/// The kind of a copy by its code in CUPTI's `CUpti_ActivityMemcpyKind` and the kinds of unified memory.
pub(crate) fn memcpy_name(kind: i64) -> String {
    let kind = match kind {
        1 => "Host-to-Device",
        2 => "Device-to-Host",
        3 => "Host-to-Array",
        4 => "Array-to-Host",
        5 => "Array-to-Array",
        6 => "Array-to-Device",
        7 => "Device-to-Array",
        8 => "Device-to-Device",
        9 => "Host-to-Host",
        10 => "Peer-to-Peer",
        11 => "Unified Host-to-Device",
        12 => "Unified Device-to-Host",
        13 => "Unified Device-to-Device",
        _ => return format!("[CUDA memcpy kind {kind}]"),
    };
    format!("[CUDA memcpy {kind}]")
}

/// Codes of CUPTI's `CUpti_ActivitySynchronizationType`.
pub(crate) const SYNC_EVENT: i64 = 1;
pub(crate) const SYNC_STREAM_WAIT: i64 = 2;
pub(crate) const SYNC_STREAM: i64 = 3;
pub(crate) const SYNC_CONTEXT: i64 = 4;

/// What is waited for, by these codes.
pub(crate) fn sync_name(kind: i64) -> String {
    match kind {
        SYNC_EVENT => "[CUDA event synchronize]".to_owned(),
        SYNC_STREAM_WAIT => "[CUDA stream wait event]".to_owned(),
        SYNC_STREAM => "[CUDA stream synchronize]".to_owned(),
        SYNC_CONTEXT => "[CUDA context synchronize]".to_owned(),
        _ => format!("[CUDA synchronize kind {kind}]"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_interfaces_are_no_part_of_names() {
        assert_eq!(without_api_version("cudaLaunchKernel_v7000"), "cudaLaunchKernel");
        assert_eq!(without_api_version("cudaGraphLaunch_ptsz_v10000"), "cudaGraphLaunch_ptsz");
        assert_eq!(without_api_version("cuMemFree_v2"), "cuMemFree_v2");
        assert_eq!(without_api_version("cuInit"), "cuInit");
    }

    #[test]
    fn one_origin_and_one_name_is_one_region() {
        let mut regions = NsightRegions::default();
        let name: Arc<str> = Arc::from("step");
        let user = regions.get(Origin::Nvtx(None), &name);
        let of_domain = regions.get(Origin::Nvtx(Some(Arc::from("torch"))), &name);
        assert_ne!(user, of_domain);
        assert_eq!(regions.get(Origin::Nvtx(None), &name), user);
        let all = regions.into_vec();
        assert_eq!(all[of_domain as usize].canonical_name.as_deref(), Some("torch:step"));
        assert_eq!(all[of_domain as usize].name.as_ref(), "step");
    }
}
