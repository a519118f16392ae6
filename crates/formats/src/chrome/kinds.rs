//! What categories and names of events mean: which calls are kernels, copies, collectives, steps.
//!
//! Kineto writes one category for each kind of activity, whatever the vendor; older files and other tracers have
//! their own words. A kernel is a collective if it carries collective metadata, or by its name.

use ouzel_model::{CollectiveOp, Paradigm, RegionRole};

/// The kind of an activity, which a region has besides its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub(super) enum ActivityClass {
    /// Code of the program or of anything else.
    Code = 0,
    /// `ProfilerStep#N`, without the number.
    Step = 1,
    /// A call of the accelerator's runtime or driver.
    Runtime = 2,
    /// A kernel.
    Kernel = 3,
    /// A copy or fill on a device.
    Copy = 4,
    /// A kernel that is a collective operation or a message.
    CollectiveKernel = 5,
    /// A collective operation as the host sees it.
    HostCollective = 6,
    /// A stream that waits, as the host sees it.
    Sync = 7,
    /// A range that the profiler projects onto a stream.
    DeviceRange = 8,
    /// A function of Python.
    Python = 9,
    /// The profiler itself.
    Tool = 10,
}

/// Number of classes.
pub(super) const N_CLASSES: usize = 11;

/// The class that a category means, and whether pid and tid are a device and a stream.
pub(super) fn class(category: &[u8]) -> ActivityClass {
    match category {
        b"kernel" | b"Kernel" | b"concurrent_kernel" | b"gpu_kernel" | b"mtia_ccp_events"
        | b"KERNEL_DISPATCH" => ActivityClass::Kernel,
        b"gpu_memcpy" | b"gpu_memset" | b"Memcpy" | b"Memset" | b"MEMORY_COPY" | b"memory_copy" => {
            ActivityClass::Copy
        }
        b"cuda_runtime"
        | b"cuda_driver"
        | b"Runtime"
        | b"runtime"
        | b"hip_runtime"
        | b"hip_api"
        | b"HIP_API"
        | b"HIP_RUNTIME_API"
        | b"hsa_api"
        | b"xpu_runtime"
        | b"mtia_runtime"
        | b"glow_runtime"
        | b"privateuse1_runtime"
        | b"privateuse1_driver" => ActivityClass::Runtime,
        b"cuda_sync" => ActivityClass::Sync,
        b"gpu_user_annotation" => ActivityClass::DeviceRange,
        b"python_function" => ActivityClass::Python,
        b"Trace" | b"overhead" => ActivityClass::Tool,
        _ => ActivityClass::Code,
    }
}

/// The region role of a class.
pub(super) fn role(class: ActivityClass, op: Option<CollectiveOp>) -> RegionRole {
    match class {
        ActivityClass::Code | ActivityClass::Runtime | ActivityClass::Python | ActivityClass::DeviceRange => {
            RegionRole::Function
        }
        ActivityClass::Step => RegionRole::Loop,
        ActivityClass::Kernel => RegionRole::Kernel,
        ActivityClass::Copy => RegionRole::DataTransfer,
        ActivityClass::CollectiveKernel | ActivityClass::HostCollective => match op {
            Some(CollectiveOp::Allreduce | CollectiveOp::Allgather | CollectiveOp::Alltoall)
            | Some(CollectiveOp::ReduceScatter) => RegionRole::CollectiveAllToAll,
            Some(CollectiveOp::Barrier) => RegionRole::Barrier,
            Some(CollectiveOp::Bcast | CollectiveOp::Scatter) => RegionRole::CollectiveOneToAll,
            Some(CollectiveOp::Reduce | CollectiveOp::Gather) => RegionRole::CollectiveAllToOne,
            Some(_) => RegionRole::CollectiveOther,
            None => RegionRole::PointToPoint,
        },
        // The host waits, and its call of the runtime says so; here it is drawn once more.
        ActivityClass::Sync | ActivityClass::Tool => RegionRole::Artificial,
    }
}

/// The paradigm of a class, where `device` is that of the vendor.
pub(super) fn paradigm(class: ActivityClass, device: Paradigm) -> Paradigm {
    match class {
        ActivityClass::Code | ActivityClass::Step | ActivityClass::Python | ActivityClass::HostCollective => {
            Paradigm::User
        }
        ActivityClass::Runtime
        | ActivityClass::Kernel
        | ActivityClass::Copy
        | ActivityClass::CollectiveKernel => device,
        ActivityClass::DeviceRange | ActivityClass::Sync | ActivityClass::Tool => Paradigm::MeasurementSystem,
    }
}

/// A collective operation, or a message between two, by the words for it in a name or in metadata.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Communication {
    /// `None` for sends and receives.
    pub op: Option<CollectiveOp>,
}

/// What the words in a name say, lower case and without separators; the first that occurs wins.
const WORDS: [(&str, Option<CollectiveOp>); 16] = [
    ("reducescatter", Some(CollectiveOp::ReduceScatter)),
    ("allreduce", Some(CollectiveOp::Allreduce)),
    ("allgather", Some(CollectiveOp::Allgather)),
    ("alltoall", Some(CollectiveOp::Alltoall)),
    ("broadcast", Some(CollectiveOp::Bcast)),
    ("bcast", Some(CollectiveOp::Bcast)),
    ("barrier", Some(CollectiveOp::Barrier)),
    ("sendrecv", None),
    ("scatter", Some(CollectiveOp::Scatter)),
    ("allgv", Some(CollectiveOp::Allgatherv)),
    ("gather", Some(CollectiveOp::Gather)),
    ("reduce", Some(CollectiveOp::Reduce)),
    ("send", None),
    ("recv", None),
    ("p2p", None),
    ("wait", Some(CollectiveOp::Barrier)),
];

/// The operation that a name in collective metadata says, e.g. `_allgather_base`, `all_to_allv`.
pub(super) fn communication(name: &str) -> Communication {
    let plain: String =
        name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect();
    let found = WORDS.iter().find(|(word, _)| plain.contains(word));
    Communication { op: found.map_or(Some(CollectiveOp::Unknown), |(_, op)| *op) }
}

/// Libraries of collectives, as their kernels spell themselves: NVIDIA, AMD, Intel, Huawei, Microsoft, Meta.
const LIBRARIES: [&str; 10] =
    ["nccl", "rccl", "oneccl", "hccl", "msccl", "xccl", "mori_", "nvshmem", "rocshmem", "deep_ep::"];

/// Kernels of other libraries that talk to the other devices by themselves.
const KERNELS: [&str; 6] = [
    "cross_device_reduce",
    "one_shot_all_reduce",
    "two_shot_all_reduce",
    "multimem_all",
    "one_shot_allreduce",
    "allreduce_fusion_kernel",
];

/// Whether a kernel is a collective or a message by its name.
pub(super) fn kernel_communication(name: &str) -> Option<Communication> {
    // Of a template only its own name counts, not the types it works on.
    let own = name.strip_prefix("void ").unwrap_or(name);
    let own = own.split(['<', '(']).next().unwrap_or(own);
    let lower = own.to_ascii_lowercase();
    let is_library = LIBRARIES.iter().any(|library| {
        lower.match_indices(library).any(|(at, _)| !lower[..at].ends_with(|c: char| c.is_ascii_alphabetic()))
    });
    if is_library || KERNELS.iter().any(|kernel| lower.contains(kernel)) || lower.starts_with("ccl_") {
        return Some(communication(own));
    }
    None
}

/// The operation of a host range like `nccl:all_reduce`, `gloo:broadcast`, `c10d::…` is not one: it only queues.
pub(super) fn host_communication(name: &str) -> Option<Communication> {
    let (library, op) = name.split_once(':')?;
    let known = ["nccl", "rccl", "gloo", "mpi", "ucc", "xccl", "hccl", "fake"];
    (known.contains(&library) && !op.starts_with(':')).then(|| communication(op))
}

/// Bytes of an element as PyTorch names types; `None` for an unknown name.
pub(super) fn element_bytes(name: &str) -> Option<u64> {
    let name = name.to_ascii_lowercase();
    let name = name.strip_prefix("c10::").unwrap_or(&name);
    Some(match name {
        "byte" | "char" | "bool" | "uint8" | "int8" | "unsigned char" | "signed char" => 1,
        _ if name.starts_with("float8") => 1,
        "half" | "bfloat16" | "short" | "int16" | "float16" | "uint16" => 2,
        "float" | "int" | "float32" | "int32" | "uint32" => 4,
        "double" | "long" | "long int" | "float64" | "int64" | "uint64" | "complexfloat" => 8,
        "complexdouble" => 16,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_of_every_vendor_that_communicate_are_found() {
        let of = |name: &str| kernel_communication(name).map(|found| found.op);
        let cases = [
            ("ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)", Some(Some(CollectiveOp::Allreduce))),
            ("ncclDevKernel_SendRecv(ncclDevComm*, unsigned long)", Some(None)),
            ("ncclDevKernel_Generic_1(ncclDevKernelArgsStorage<4096ul>)", Some(Some(CollectiveOp::Unknown))),
            ("rcclGenericKernel<1, false>(ncclDevComm*)", Some(Some(CollectiveOp::Unknown))),
            ("void oneccl_allgather_kernel<4>(float*)", Some(Some(CollectiveOp::Allgather))),
            ("hcclReduceScatter", Some(Some(CollectiveOp::ReduceScatter))),
            (
                "void vllm::cross_device_reduce_1stage<__half, 2>(vllm::RankData*)",
                Some(Some(CollectiveOp::Reduce)),
            ),
            ("void at::native::reduce_kernel<512, 1>(at::native::ReduceOp<float>)", None),
            ("void my::kernel<ncclThing>(int)", None),
            ("void fbgemm_gpu::permute_2D_lengths_kernel<int>(int)", None),
            ("cancclock", None),
        ];
        for (name, wanted) in cases {
            assert_eq!(of(name), wanted, "{name}");
        }
    }

    #[test]
    fn host_ranges_of_collectives_are_told_from_calls() {
        assert_eq!(host_communication("nccl:all_to_all").unwrap().op, Some(CollectiveOp::Alltoall));
        assert_eq!(
            host_communication("gloo:_reduce_scatter_base").unwrap().op,
            Some(CollectiveOp::ReduceScatter)
        );
        assert_eq!(host_communication("c10d::allreduce_"), None);
        assert_eq!(host_communication("std::sort"), None);
    }
}
