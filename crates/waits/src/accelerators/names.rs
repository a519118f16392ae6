//! What names of calls and operations say: first-use costs, directions of copies, operators and scopes.

use super::loss_kind::DeviceLossKind;
use ouzel_model::{Definitions, LocationId, Paradigm, Region, RegionRole};

/// Calls that make contexts, load code, or compile it.
const START_UP: [&str; 23] = [
    "cudaDeviceGetStreamPriorityRange",
    "cudaGetDeviceCount",
    "cudaSetDevice",
    "cuInit",
    "cuDevicePrimaryCtxRetain",
    "cuCtxCreate",
    "cuModuleLoad",
    "cuLibraryLoad",
    "cuModuleGetLoadingMode",
    "cuLinkComplete",
    "nvrtcCompileProgram",
    "hipInit",
    "hipModuleLoad",
    "hiprtcCompileProgram",
    "cudaStreamCreate",
    "hipStreamCreate",
    "cudaGraphInstantiate",
    "hipGetDeviceCount",
    "hipSetDevice",
    "hipDevicePrimaryCtxRetain",
    "hipCtxCreate",
    "hipLinkComplete",
    "hipGraphInstantiate",
];

/// Functions that compile code for devices: PyTorch's compiler, Triton, Julia.
const COMPILERS: [&str; 5] =
    ["compile_fx", "codegen_and_compile", "_compile_to_module", "triton_compile", "cufunction_compile"];

/// Whether calls of this name make contexts, load code, or compile it.
pub(super) fn starts_up(name: &str) -> bool {
    START_UP.iter().any(|call| name.starts_with(call)) || COMPILERS.iter().any(|word| name.contains(word))
}

/// Whether calls of this name allocate or release memory.
pub fn allocates_memory(name: &str) -> bool {
    MEMORY.iter().any(|call| name.starts_with(call))
}

/// Words in the names of code that reads or prepares input.
const INPUT: [&str; 8] = [
    "dataloader",
    "data_loader",
    "__next__",
    "next_batch",
    "load_batch",
    "prefetch",
    "collate",
    "read_batch",
];

/// Calls that allocate or release memory.
const MEMORY: [&str; 8] = [
    "cudaMalloc",
    "cudaFree",
    "cudaHostAlloc",
    "cuMemAlloc",
    "cuMemFree",
    "hipMalloc",
    "hipFree",
    "hipHostMalloc",
];

/// What it costs that a host is in code of this name before it launches.
pub(super) fn host_loss(name: &str) -> DeviceLossKind {
    let lower = name.to_ascii_lowercase();
    match () {
        () if starts_up(name) => DeviceLossKind::FirstUse,
        () if allocates_memory(name) => DeviceLossKind::MemoryChurn,
        () if INPUT.iter().any(|word| lower.contains(word)) => DeviceLossKind::InputPipeline,
        () => DeviceLossKind::HostLate,
    }
}

/// The direction of a copy by its name, in snake case; `None` for a fill.
pub(super) fn direction(name: &str) -> Option<&'static str> {
    let plain: String =
        name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect();
    if plain.contains("memset") || plain.contains("fill") {
        return None;
    }
    let unified = plain.contains("unified");
    let directions = [
        ("host_to_device", "unified_host_to_device", ["hosttodevice", "htod", "h2d"]),
        ("device_to_host", "unified_device_to_host", ["devicetohost", "dtoh", "d2h"]),
        ("device_to_device", "unified_device_to_device", ["devicetodevice", "dtod", "d2d"]),
        ("peer_to_peer", "peer_to_peer", ["peertopeer", "ptop", "p2p"]),
        ("host_to_host", "host_to_host", ["hosttohost", "htoh", "h2h"]),
        ("host_to_array", "host_to_array", ["hosttoarray", "htoa", "h2a"]),
        ("array_to_host", "array_to_host", ["arraytohost", "atoh", "a2h"]),
        ("array_to_array", "array_to_array", ["arraytoarray", "atoa", "a2a"]),
        ("array_to_device", "array_to_device", ["arraytodevice", "atod", "a2d"]),
        ("device_to_array", "device_to_array", ["devicetoarray", "dtoa", "d2a"]),
    ];
    let found = directions.iter().find(|(_, _, words)| words.iter().any(|word| plain.contains(word)));
    Some(found.map_or("unknown", |(plain, managed, _)| if unified { managed } else { plain }))
}

/// Whether the name of a copy says that memory of the host was pageable; `None` if it does not say.
pub(super) fn is_pageable(name: &str) -> Option<bool> {
    let lower = name.to_ascii_lowercase();
    match () {
        () if lower.contains("pageable") => Some(true),
        () if lower.contains("pinned") => Some(false),
        () => None,
    }
}

/// What a region of the host is, for those who ask where an operation comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CallerKind {
    /// The runtime of the accelerator, or the tracer.
    Runtime,
    /// A range that the program marks, or a function of Python.
    Scope,
    /// An operator of a framework, or a function of the program.
    Operator,
}

/// The number of a stream as its profiler shows it: that in its name (`stream 7 (default)`), else its id in the files.
pub fn stream_id(definitions: &Definitions, stream: LocationId) -> u64 {
    let location = definitions.location(stream);
    let number = location.name.strip_prefix("stream ").and_then(|rest| rest.split([' ', ',']).next());
    number.and_then(|number| number.parse().ok()).unwrap_or(location.native_id)
}

/// What a region of the host is.
pub(super) fn caller_kind(region: &Region) -> CallerKind {
    let name = &*region.name;
    let is_runtime = matches!(
        region.paradigm,
        Paradigm::Cuda | Paradigm::Hip | Paradigm::OpenCl | Paradigm::MeasurementSystem
    );
    if is_runtime || ["cuda", "hip", "cuLaunch", "cuMem"].iter().any(|prefix| name.starts_with(prefix)) {
        return CallerKind::Runtime;
    }
    let is_operator = ["aten::", "torch::", "c10d::", "autograd::"].iter().any(|it| name.starts_with(it));
    let is_python = name.starts_with("nn.Module: ")
        || name.starts_with("<built-in ")
        || name.split_once(".py(").is_some_and(|(_, rest)| rest.contains("): "));
    let is_range = matches!(region.role, RegionRole::Code | RegionRole::Loop);
    match is_python || (is_range && !is_operator) {
        true => CallerKind::Scope,
        false => CallerKind::Operator,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directions_of_all_tracers_are_known() {
        let cases = [
            ("[CUDA memcpy Host-to-Device]", Some("host_to_device")),
            ("[CUDA memcpy Unified Device-to-Host]", Some("unified_device_to_host")),
            ("Memcpy DtoH (Device -> Pageable)", Some("device_to_host")),
            ("CopyHostToDevice", Some("host_to_device")),
            ("[CUDA memcpy Peer-to-Peer]", Some("peer_to_peer")),
            ("[CUDA memset]", None),
            ("Memset (Device)", None),
            ("[memcpy]", Some("unknown")),
        ];
        for (name, wanted) in cases {
            assert_eq!(direction(name), wanted, "{name}");
        }
        assert_eq!(is_pageable("Memcpy HtoD (Pageable -> Device)"), Some(true));
        assert_eq!(is_pageable("Memcpy HtoD (Pinned -> Device)"), Some(false));
        assert_eq!(is_pageable("[CUDA memcpy Host-to-Device]"), None);
    }
}
