//! What is usually done about a cause, and what to measure where no cause is known.

use crate::attributes::{Attribute, Kind};

/// What is usually done where processes differ in the attribute.
pub fn between_processes(attribute: &Attribute) -> String {
    let text = match attribute.kind {
        Kind::Instructions | Kind::FloatingPoint => {
            "Some processes execute more work here than others: divide the data by its cost, not by its size, or hand \
             out work as processes become free."
        }
        Kind::Visits => {
            "Some processes come here more often than others: divide the iterations or calls evenly, or hand them out \
             as processes become free."
        }
        Kind::L1Misses | Kind::L2Misses | Kind::L3Misses => {
            "Some processes use their caches worse than others: look at the size and order of their part of the data, \
             and at who shares a cache with them (placement, pinning)."
        }
        Kind::TlbMisses | Kind::PageFaults => {
            "Memory of some processes is spread or touched for the first time here: let each process first touch what \
             it uses, try large pages, and compare how much memory the nodes have free."
        }
        Kind::BranchMisses => {
            "Some processes meet data that branches depend on more often: sort or group it, or make the inner loop free \
             of branches."
        }
        Kind::CyclesPerInstruction | Kind::StalledCycles => {
            "Some processes run the same work slower: look for a slow or shared node, frequency limits, memory of \
             another socket, and neighbours that share the memory bandwidth."
        }
        Kind::DiskBytes => {
            "Some processes read or write more than others: spread input and output over the processes, or do it \
             collectively."
        }
        Kind::NetworkBytes | Kind::Messages | Kind::Collectives => {
            "Some processes communicate more than others: balance the borders of the parts, and take work off those \
             that serve the others."
        }
        Kind::ContextSwitches => {
            "Processors of some processes are given to somebody else: pin processes and threads, and leave a core for \
             the system."
        }
        Kind::Allocated => {
            "Some processes allocate more than others: compare the sizes of their parts, and reuse memory."
        }
        Kind::Counter | Kind::Communication => {
            return format!(
                "Processes differ in {}: compare what it counts with how the work is divided.",
                attribute.label
            );
        }
    };
    text.to_owned()
}

/// What is usually done where a region is high in the attribute.
pub fn in_region(attribute: &Attribute) -> String {
    let text = match attribute.kind {
        Kind::Instructions | Kind::FloatingPoint => {
            "Most of the work is here: a better algorithm, common expressions computed once, vector instructions and \
             higher optimisation levels pay most."
        }
        Kind::Visits => {
            "It is called very often: move what does not change out of the loop, inline it, or do more in one call."
        }
        Kind::L1Misses | Kind::L2Misses | Kind::L3Misses => {
            "Data is not in the cache when it is needed: walk through memory in its order, cut loops into blocks that \
             fit, and keep together what is used together."
        }
        Kind::TlbMisses => {
            "Accesses jump over many pages: large pages, and loops that stay in one region of memory."
        }
        Kind::BranchMisses => "Branches are hard to predict: sort or group the data, or compute both sides.",
        Kind::CyclesPerInstruction | Kind::StalledCycles => {
            "Instructions wait: for memory (see the cache misses), for slow operations such as divisions, or for each \
             other."
        }
        Kind::DiskBytes => {
            "Much is read or written: keep it in memory, use fewer and larger requests, compress it, or write while \
             computing goes on."
        }
        Kind::NetworkBytes => {
            "Much data is communicated: send only what changed, in fewer and larger messages, and overlap it with \
             computation."
        }
        Kind::Messages => "Many messages: put small ones together.",
        Kind::Collectives => {
            "Many collective operations: put them together, or leave out those whose results are not used."
        }
        Kind::PageFaults => {
            "Memory is new or swapped out: allocate once and reuse, first touch where it is used."
        }
        Kind::ContextSwitches => {
            "The processor is given away: fewer threads than cores, pinning, fewer blocking calls."
        }
        Kind::Allocated => "Much memory is allocated: allocate once and reuse.",
        Kind::Communication => {
            "The time goes to communication and to waiting for others: ouzel report says who waits for whom, and why."
        }
        Kind::Counter => {
            return format!(
                "{} is high here: compare what it counts with what the region should do.",
                attribute.label
            );
        }
    };
    text.to_owned()
}

/// What the method wants to know, and how it is measured.
const WANTED: [(&[Kind], &str); 5] = [
    (&[Kind::Instructions], "instructions (PAPI_TOT_INS; perf: instructions)"),
    (&[Kind::CyclesPerInstruction], "cycles with instructions (PAPI_TOT_CYC; perf: cycles)"),
    (
        &[Kind::L1Misses, Kind::L2Misses, Kind::L3Misses],
        "cache misses and accesses (PAPI_L2_TCM, PAPI_L2_TCA)",
    ),
    (&[Kind::DiskBytes], "bytes read and written (Score-P: SCOREP_IO_POSIX=true)"),
    (&[Kind::NetworkBytes, Kind::Messages], "bytes sent and received (Score-P: MPI wrappers)"),
];

/// What to measure next, as `attributes` do not explain a bottleneck.
pub fn measure_next(attributes: &[Attribute]) -> Vec<String> {
    let has = |kinds: &[Kind]| attributes.iter().any(|attribute| kinds.contains(&attribute.kind));
    let missing = WANTED.iter().filter(|(kinds, _)| !has(kinds)).map(|(_, text)| (*text).to_owned());
    let missing: Vec<String> = missing.collect();
    if missing.is_empty() {
        return vec!["smaller regions: loops and functions within it".to_owned()];
    }
    missing
}
