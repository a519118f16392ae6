//! What is usually done about a cause, and what to measure where no cause is known.

use crate::attributes::{Attribute, AttributeKind};

/// What is usually done where processes differ in the attribute.
pub(crate) fn between_processes(attribute: &Attribute) -> String {
    let text = match attribute.kind {
        AttributeKind::Instructions | AttributeKind::FloatingPoint => {
            "Some processes execute more work here than others: divide the data by its cost, not by its size, or hand \
             out work as processes become free."
        }
        AttributeKind::Visits => {
            "Some processes execute this region more often than others: divide the iterations or calls evenly, or \
             hand them out as processes become free."
        }
        AttributeKind::L1Misses | AttributeKind::L2Misses | AttributeKind::L3Misses => {
            "Some processes use their caches less well than others: check the size and order of their part of the \
             data, and which processes share a cache with them (placement, pinning)."
        }
        AttributeKind::TlbMisses | AttributeKind::PageFaults => {
            "The memory of some processes is scattered or touched for the first time here: let each process first \
             touch the memory it uses, try large pages, and compare the free memory of the nodes."
        }
        AttributeKind::BranchMisses => {
            "In some processes, branches depend on data more often: sort or group it, or remove branches from the \
             inner loop."
        }
        AttributeKind::CyclesPerInstruction | AttributeKind::StalledCycles => {
            "Some processes do the same work more slowly: look for a slow or shared node, frequency limits, memory on \
             another socket, and neighbours that share the memory bandwidth."
        }
        AttributeKind::DiskBytes => {
            "Some processes read or write more than others: distribute I/O over the processes, or use collective I/O."
        }
        AttributeKind::NetworkBytes | AttributeKind::Messages | AttributeKind::Collectives => {
            "Some processes communicate more than others: balance the boundaries between the parts, and take work off \
             the processes that serve others."
        }
        AttributeKind::ContextSwitches => {
            "Some processes lose their processors to other tasks: pin processes and threads, and leave a core for the \
             system."
        }
        AttributeKind::Allocated => {
            "Some processes allocate more memory than others: compare the sizes of their parts, and reuse memory."
        }
        AttributeKind::Counter | AttributeKind::Communication => {
            return format!(
                "Processes differ in {}: compare what it counts with how the work is divided.",
                attribute.label
            );
        }
    };
    text.to_owned()
}

/// What is usually done where a region is high in the attribute.
pub(crate) fn in_region(attribute: &Attribute) -> String {
    let text = match attribute.kind {
        AttributeKind::Instructions | AttributeKind::FloatingPoint => {
            "Most of the work is here: a better algorithm, common expressions computed once, vector instructions and \
             higher optimisation levels pay off most."
        }
        AttributeKind::Visits => {
            "It is called very often: move invariant work out of the loop, inline it, or do more per call."
        }
        AttributeKind::L1Misses | AttributeKind::L2Misses | AttributeKind::L3Misses => {
            "Data is not in the cache when it is needed: access memory in order, split loops into blocks that fit, \
             and store together data that is used together."
        }
        AttributeKind::TlbMisses => {
            "Accesses jump across many pages: use large pages, and loops that stay in one region of memory."
        }
        AttributeKind::BranchMisses => {
            "Branches are hard to predict: sort or group the data, or compute both sides."
        }
        AttributeKind::CyclesPerInstruction | AttributeKind::StalledCycles => {
            "Instructions wait for memory (see the cache misses), for slow operations such as divisions, or for each \
             other."
        }
        AttributeKind::DiskBytes => {
            "Much data is read or written: keep it in memory, use fewer and larger requests, compress it, or write it \
             while computing."
        }
        AttributeKind::NetworkBytes => {
            "Much data is communicated: send only what changed, in fewer and larger messages, and overlap it with \
             computation."
        }
        AttributeKind::Messages => "There are many messages: combine small ones.",
        AttributeKind::Collectives => {
            "There are many collective operations: combine them, or leave out those whose results are not used."
        }
        AttributeKind::PageFaults => {
            "Memory is new or swapped out: allocate once and reuse it, and first touch it where it is used."
        }
        AttributeKind::ContextSwitches => {
            "The processor is given to other tasks: use fewer threads than cores, pin them, and make fewer blocking \
             calls."
        }
        AttributeKind::Allocated => "Much memory is allocated: allocate once and reuse.",
        AttributeKind::Communication => {
            "The time is spent on communication and on waiting for others: ouzel report says which rank waits for \
             which, and why."
        }
        AttributeKind::Counter => {
            return format!(
                "{} is high here: compare what it counts with what the region should do.",
                attribute.label
            );
        }
    };
    text.to_owned()
}

/// What the method needs, and how it is measured.
const WANTED: [(&[AttributeKind], &str); 5] = [
    (&[AttributeKind::Instructions], "instructions (PAPI_TOT_INS; perf: instructions)"),
    (&[AttributeKind::CyclesPerInstruction], "cycles with instructions (PAPI_TOT_CYC; perf: cycles)"),
    (
        &[AttributeKind::L1Misses, AttributeKind::L2Misses, AttributeKind::L3Misses],
        "cache misses and accesses (PAPI_L2_TCM, PAPI_L2_TCA)",
    ),
    (&[AttributeKind::DiskBytes], "bytes read and written (Score-P: SCOREP_IO_POSIX=true)"),
    (
        &[AttributeKind::NetworkBytes, AttributeKind::Messages],
        "bytes sent and received (Score-P: MPI wrappers)",
    ),
];

/// What to measure next, as `attributes` do not explain a bottleneck.
pub fn measure_next(attributes: &[Attribute]) -> Vec<String> {
    let has = |kinds: &[AttributeKind]| attributes.iter().any(|attribute| kinds.contains(&attribute.kind));
    let missing = WANTED.iter().filter(|(kinds, _)| !has(kinds)).map(|(_, text)| (*text).to_owned());
    let missing: Vec<String> = missing.collect();
    if missing.is_empty() {
        return vec!["smaller regions: the loops and functions within it".to_owned()];
    }
    missing
}
