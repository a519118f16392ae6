//! Code regions.

use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A code region: function, loop, parallel construct.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Region {
    /// The name people read (demangled where the tracer did).
    pub name: Arc<str>,
    /// The linker's name, if it differs.
    pub canonical_name: Option<Arc<str>>,
    /// The file that holds it, if known.
    pub file: Option<Arc<str>>,
    /// First source line, if known.
    pub line: Option<u32>,
    /// Last source line, if known.
    pub end_line: Option<u32>,
    /// What it is.
    pub role: RegionRole,
    /// Which programming model it belongs to. Some tracers say [`Paradigm::User`] of everything.
    pub paradigm: Paradigm,
}

/// What the names of a profiler's own work have, in lower case: `PyTorch Profiler (0)`, `CUPTI: Instrumentation`,
/// `CUDA profiling stop overhead`, `Buffer Flush`.
const WORDS_OF_PROFILERS: [&str; 6] =
    ["profil", "overhead", "flush", "instrumentation", "activity buffer", "cupti"];

impl Region {
    /// Whether a profiler does this for itself, or draws it for itself: no code of the program. Tools have artificial
    /// regions for the program, too, so that the name decides.
    pub fn is_of_profiler(&self) -> bool {
        let is_artificial =
            self.role == RegionRole::Artificial && self.paradigm == Paradigm::MeasurementSystem;
        let name = || self.name.to_ascii_lowercase();
        is_artificial && WORDS_OF_PROFILERS.iter().any(|word| name().contains(word))
    }

    /// `file:line`, `file`, or nothing.
    pub fn source(&self) -> Option<String> {
        let file = self.file.as_ref()?;
        Some(match self.line {
            Some(line) => format!("{file}:{line}"),
            None => file.to_string(),
        })
    }
}

/// Declares an enum of field terms with their spelling and the code OTF2 gives them.
macro_rules! terms {
    ($(#[$doc:meta])* $name:ident { $($variant:ident = $code:literal $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[expect(missing_docs, reason = "each variant is the field's own term")]
        pub enum $name { $($variant,)* }

        impl $name {
            /// The term in lower case, as tables and JSON show it.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }

            /// The term of a code in the numbering of OTF2; `Unknown` for others.
            pub fn from_code(code: u8) -> Self {
                match code { $($code => Self::$variant,)* _ => Self::Unknown }
            }

            /// The code of the term in the numbering of OTF2.
            pub fn code(self) -> u8 {
                match self { $(Self::$variant => $code,)* }
            }
        }
    };
}

terms! {
    /// What a region is.
    RegionRole {
        Unknown = 0 "unknown", Function = 1 "function", Wrapper = 2 "wrapper", Loop = 3 "loop", Code = 4 "code",
        Parallel = 5 "parallel", Sections = 6 "sections", Section = 7 "section", Workshare = 8 "workshare",
        Single = 9 "single", SingleBlock = 10 "single_sblock", Master = 11 "master", Critical = 12 "critical",
        CriticalBlock = 13 "critical_sblock", Atomic = 14 "atomic", Barrier = 15 "barrier",
        ImplicitBarrier = 16 "implicit_barrier", Flush = 17 "flush", Ordered = 18 "ordered",
        OrderedBlock = 19 "ordered_sblock", Task = 20 "task", TaskCreate = 21 "task_create",
        TaskWait = 22 "task_wait", CollectiveOneToAll = 23 "coll_one2all", CollectiveAllToOne = 24 "coll_all2one",
        CollectiveAllToAll = 25 "coll_all2all", CollectiveOther = 26 "coll_other", FileIo = 27 "file_io",
        PointToPoint = 28 "point2point", Rma = 29 "rma", DataTransfer = 30 "data_transfer",
        Artificial = 31 "artificial", ThreadCreate = 32 "thread_create", ThreadWait = 33 "thread_wait",
        TaskUntied = 34 "task_untied", Allocate = 35 "allocate", Deallocate = 36 "deallocate",
        Reallocate = 37 "reallocate", FileIoMetadata = 38 "file_io_metadata", Cancel = 39 "cancel",
        Kernel = 40 "kernel",
    }
}

terms! {
    /// The programming model a region belongs to.
    Paradigm {
        Unknown = 0 "unknown", User = 1 "user", Compiler = 2 "compiler", OpenMp = 3 "openmp", Mpi = 4 "mpi",
        Cuda = 5 "cuda", MeasurementSystem = 6 "measurement_system", Pthread = 7 "pthread", Hmpp = 8 "hmpp",
        OmpSs = 9 "ompss", Hardware = 10 "hardware", Gaspi = 11 "gaspi", Upc = 12 "upc", Shmem = 13 "shmem",
        WinThread = 14 "winthread", QtThread = 15 "qtthread", AceThread = 16 "acethread",
        TbbThread = 17 "tbbthread", OpenAcc = 18 "openacc", OpenCl = 19 "opencl", Mtapi = 20 "mtapi",
        Sampling = 21 "sampling", None = 22 "none", Hip = 23 "hip", Kokkos = 24 "kokkos",
        OpenMpTarget = 25 "openmp_target",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_profilers_do_for_themselves_is_no_program() {
        let is_of_profiler = |name: &str, role, paradigm| {
            let name = Arc::from(name);
            let region =
                Region { name, canonical_name: None, file: None, line: None, end_line: None, role, paradigm };
            region.is_of_profiler()
        };
        let own = |name| is_of_profiler(name, RegionRole::Artificial, Paradigm::MeasurementSystem);
        assert!(own("PyTorch Profiler (0)") && own("CUDA profiling stop overhead") && own("Buffer Flush"));
        // Roots that stand for the program, and code of the program with such a name.
        assert!(!own("/opt/app/lulesh2.0") && !own("Charm++ runtime"));
        assert!(!is_of_profiler("profile_energy", RegionRole::Function, Paradigm::User));
    }
}
