//! The one-byte enumerations of OTF2 records.
//!
//! Each keeps bytes it has no name for as `Raw`, so decoding and encoding
//! again gives the same byte. `Display` prints the names of the reference tools.

use std::fmt;

use super::field::{Field, FieldValue};
use crate::wire::{Cursor, EncodeError, Fault, RecordBuffer};

/// The name of an enumeration's value, or its byte if the format grew since.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Symbol {
    /// A value with a name.
    Named(&'static str),
    /// A byte without a name here.
    Raw(u8),
}

impl fmt::Display for Symbol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Symbol::Named(name) => f.pad(name),
            Symbol::Raw(byte) => write!(f, "INVALID <{byte}>"),
        }
    }
}

macro_rules! byte_enums {
    ($(
        $(#[$meta:meta])*
        $Enum:ident { $( $Variant:ident = $byte:literal $name:literal, )* }
    )*) => { $(
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $Enum {
            $(
                #[doc = concat!("`", $name, "`, byte ", stringify!($byte), ".")]
                $Variant,
            )*
            /// A byte without a name here.
            Raw(u8),
        }

        impl $Enum {
            /// Every value with a name, in the order of the format.
            pub const ALL: &'static [$Enum] = &[$($Enum::$Variant),*];

            /// The value of a byte.
            #[inline]
            pub const fn from_u8(byte: u8) -> Self {
                match byte {
                    $( $byte => $Enum::$Variant, )*
                    _ => $Enum::Raw(byte),
                }
            }

            /// The byte of a value.
            #[inline]
            pub const fn to_u8(self) -> u8 {
                match self {
                    $( $Enum::$Variant => $byte, )*
                    $Enum::Raw(byte) => byte,
                }
            }

            /// The name in the reference tools, or the byte.
            pub const fn symbol(self) -> Symbol {
                match self {
                    $( $Enum::$Variant => Symbol::Named($name), )*
                    $Enum::Raw(byte) => Symbol::Raw(byte),
                }
            }
        }

        impl fmt::Display for $Enum {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.symbol().fmt(f)
            }
        }

        #[cfg(test)]
        impl super::tests::Draw for $Enum {
            fn draw(dice: &mut super::tests::Dice) -> Self {
                $Enum::from_u8(super::tests::Draw::draw(dice))
            }
        }

        impl<'a> Field<'a> for $Enum {
            #[inline]
            fn get(cursor: &mut Cursor<'a>) -> Result<Self, Fault> {
                cursor.u8().map($Enum::from_u8)
            }

            fn put(&self, buffer: &mut RecordBuffer) -> Result<(), EncodeError> {
                buffer.put_u8(self.to_u8());
                Ok(())
            }

            fn show(&self) -> FieldValue<'a> {
                FieldValue::Symbol(self.symbol())
            }
        }
    )* };
}

byte_enums! {
    /// What kind of event source a location is.
    LocationType {
        Unknown = 0 "UNKNOWN",
        CpuThread = 1 "CPU_THREAD",
        AcceleratorStream = 2 "ACCELERATOR_STREAM",
        Metric = 3 "METRIC",
    }

    /// What a location group represents.
    LocationGroupType {
        Unknown = 0 "UNKNOWN",
        Process = 1 "PROCESS",
        Accelerator = 2 "ACCELERATOR",
    }

    /// What a region does.
    RegionRole {
        Unknown = 0 "UNKNOWN",
        Function = 1 "FUNCTION",
        Wrapper = 2 "WRAPPER",
        Loop = 3 "LOOP",
        Code = 4 "CODE",
        Parallel = 5 "PARALLEL",
        Sections = 6 "SECTIONS",
        Section = 7 "SECTION",
        Workshare = 8 "WORKSHARE",
        Single = 9 "SINGLE",
        SingleSblock = 10 "SINGLE_SBLOCK",
        Master = 11 "MASTER",
        Critical = 12 "CRITICAL",
        CriticalSblock = 13 "CRITICAL_SBLOCK",
        Atomic = 14 "ATOMIC",
        Barrier = 15 "BARRIER",
        ImplicitBarrier = 16 "IMPLICIT_BARRIER",
        Flush = 17 "FLUSH",
        Ordered = 18 "ORDERED",
        OrderedSblock = 19 "ORDERED_SBLOCK",
        Task = 20 "TASK",
        TaskCreate = 21 "TASK_CREATE",
        TaskWait = 22 "TASK_WAIT",
        CollOneToAll = 23 "COLL_ONE2ALL",
        CollAllToOne = 24 "COLL_ALL2ONE",
        CollAllToAll = 25 "COLL_ALL2ALL",
        CollOther = 26 "COLL_OTHER",
        FileIo = 27 "FILE_IO",
        PointToPoint = 28 "POINT2POINT",
        Rma = 29 "RMA",
        DataTransfer = 30 "DATA_TRANSFER",
        Artificial = 31 "ARTIFICIAL",
        ThreadCreate = 32 "THREAD_CREATE",
        ThreadWait = 33 "THREAD_WAIT",
        TaskUntied = 34 "TASK_UNTIED",
        Allocate = 35 "ALLOCATE",
        Deallocate = 36 "DEALLOCATE",
        Reallocate = 37 "REALLOCATE",
        FileIoMetadata = 38 "FILE_IO_METADATA",
        Cancel = 39 "CANCEL",
        Kernel = 40 "KERNEL",
    }

    /// The programming model a region, a group or a team belongs to.
    Paradigm {
        Unknown = 0 "UNKNOWN",
        User = 1 "USER",
        Compiler = 2 "COMPILER",
        OpenMp = 3 "OPENMP",
        Mpi = 4 "MPI",
        Cuda = 5 "CUDA",
        MeasurementSystem = 6 "MEASUREMENT_SYSTEM",
        Pthread = 7 "PTHREAD",
        Hmpp = 8 "HMPP",
        OmpSs = 9 "OMPSS",
        Hardware = 10 "HARDWARE",
        Gaspi = 11 "GASPI",
        Upc = 12 "UPC",
        Shmem = 13 "SHMEM",
        WinThread = 14 "WINTHREAD",
        QtThread = 15 "QTTHREAD",
        AceThread = 16 "ACETHREAD",
        TbbThread = 17 "TBBTHREAD",
        OpenAcc = 18 "OPENACC",
        OpenCl = 19 "OPENCL",
        Mtapi = 20 "MTAPI",
        Sampling = 21 "SAMPLING",
        None = 22 "NONE",
        Hip = 23 "HIP",
        Kokkos = 24 "KOKKOS",
        OpenMpTarget = 25 "OPENMP_TARGET",
    }

    /// What the members of a group are.
    GroupType {
        Unknown = 0 "UNKNOWN",
        Locations = 1 "LOCATIONS",
        Regions = 2 "REGIONS",
        Metric = 3 "METRIC",
        CommLocations = 4 "COMM_LOCATIONS",
        CommGroup = 5 "COMM_GROUP",
        CommSelf = 6 "COMM_SELF",
        CommLocationGroups = 7 "COMM_LOCATION_GROUPS",
    }

    /// The kind of a collective operation.
    CollectiveOp {
        Barrier = 0 "BARRIER",
        Bcast = 1 "BCAST",
        Gather = 2 "GATHER",
        Gatherv = 3 "GATHERV",
        Scatter = 4 "SCATTER",
        Scatterv = 5 "SCATTERV",
        Allgather = 6 "ALLGATHER",
        Allgatherv = 7 "ALLGATHERV",
        Alltoall = 8 "ALLTOALL",
        Alltoallv = 9 "ALLTOALLV",
        Alltoallw = 10 "ALLTOALLW",
        Allreduce = 11 "ALLREDUCE",
        Reduce = 12 "REDUCE",
        ReduceScatter = 13 "REDUCE_SCATTER",
        Scan = 14 "SCAN",
        Exscan = 15 "EXSCAN",
        ReduceScatterBlock = 16 "REDUCE_SCATTER_BLOCK",
        CreateHandle = 17 "CREATE_HANDLE",
        DestroyHandle = 18 "DESTROY_HANDLE",
        Allocate = 19 "ALLOCATE",
        Deallocate = 20 "DEALLOCATE",
        CreateHandleAndAllocate = 21 "CREATE_HANDLE_AND_ALLOCATE",
        DestroyHandleAndDeallocate = 22 "DESTROY_HANDLE_AND_DEALLOCATE",
    }

    /// What kind of location records a metric class.
    RecorderKind {
        Unknown = 0 "UNKNOWN",
        Abstract = 1 "ABSTRACT",
        Cpu = 2 "CPU",
        Gpu = 3 "GPU",
    }

    /// Where a metric comes from.
    MetricType {
        Other = 0 "OTHER",
        Papi = 1 "PAPI",
        Rusage = 2 "RUSAGE",
        User = 3 "USER",
    }

    /// What a metric instance is measured for.
    MetricScope {
        Location = 0 "LOCATION",
        LocationGroup = 1 "LOCATION_GROUP",
        SystemTreeNode = 2 "SYSTEM_TREE_NODE",
        Group = 3 "GROUP",
    }

    /// The type of a parameter.
    ParameterType {
        String = 0 "STRING",
        Int64 = 1 "INT64",
        Uint64 = 2 "UINT64",
    }

    /// The kind of a one-sided synchronisation.
    RmaSyncType {
        Memory = 0 "MEMORY",
        NotifyIn = 1 "NOTIFY_IN",
        NotifyOut = 2 "NOTIFY_OUT",
    }

    /// The kind of a one-sided atomic operation.
    RmaAtomicType {
        Accumulate = 0 "ACCUMULATE",
        Increment = 1 "INCREMENT",
        TestAndSet = 2 "TEST_AND_SET",
        CompareAndSwap = 3 "COMPARE_AND_SWAP",
        Swap = 4 "SWAP",
        FetchAndAdd = 5 "FETCH_AND_ADD",
        FetchAndIncrement = 6 "FETCH_AND_INCREMENT",
        FetchAndAccumulate = 7 "FETCH_AND_ACCUMULATE",
    }

    /// How a lock is held.
    LockType {
        Exclusive = 0 "EXCLUSIVE",
        Shared = 1 "SHARED",
    }

    /// What an I/O operation does.
    IoOperationMode {
        Read = 0 "READ",
        Write = 1 "WRITE",
        Flush = 2 "FLUSH",
    }

    /// What an I/O handle may do.
    IoAccessMode {
        ReadOnly = 0 "READ_ONLY",
        WriteOnly = 1 "WRITE_ONLY",
        ReadWrite = 2 "READ_WRITE",
        ExecuteOnly = 3 "EXECUTE_ONLY",
        SearchOnly = 4 "SEARCH_ONLY",
    }

    /// What a seek counts from.
    IoSeekOption {
        FromStart = 0 "FROM_START",
        FromCurrent = 1 "FROM_CURRENT",
        FromEnd = 2 "FROM_END",
        Data = 3 "DATA",
        Hole = 4 "HOLE",
    }

    /// A hardware level of the system tree.
    SystemTreeDomain {
        Machine = 0 "MACHINE",
        SharedMemory = 1 "SHARED_MEMORY",
        Numa = 2 "NUMA",
        Socket = 3 "SOCKET",
        Cache = 4 "CACHE",
        Core = 5 "CORE",
        Pu = 6 "PU",
        AcceleratorDevice = 7 "ACCELERATOR_DEVICE",
        NetworkingDevice = 8 "NETWORKING_DEVICE",
    }

    /// What an interrupt generator counts.
    InterruptGeneratorMode {
        Time = 0 "TIME",
        Count = 1 "COUNT",
    }

    /// Whether the measurement records.
    MeasurementMode {
        On = 1 "ON",
        Off = 2 "OFF",
    }

    /// How a paradigm makes parallelism.
    ParadigmClass {
        Process = 0 "PROCESS",
        ThreadForkJoin = 1 "THREAD_FORK_JOIN",
        ThreadCreateWait = 2 "THREAD_CREATE_WAIT",
        Accelerator = 3 "ACCELERATOR",
    }

    /// A property that the trace gives a paradigm.
    ParadigmProperty {
        CommNameTemplate = 0 "COMM_NAME_TEMPLATE",
        RmaWinNameTemplate = 1 "RMA_WIN_NAME_TEMPLATE",
        RmaOnly = 2 "RMA_ONLY",
    }

    /// When the values of a metric class are recorded.
    MetricOccurrence {
        SynchronousStrict = 0 "SYNCHRONOUS_STRICT",
        Synchronous = 1 "SYNCHRONOUS",
        Asynchronous = 2 "ASYNCHRONOUS",
    }

    /// The base of a power.
    Base {
        Binary = 0 "BINARY",
        Decimal = 1 "DECIMAL",
    }

    /// Whether an I/O paradigm is serial or parallel.
    IoParadigmClass {
        Serial = 0 "SERIAL",
        Parallel = 1 "PARALLEL",
    }

    /// Whether a Cartesian dimension wraps around.
    CartPeriodicity {
        False = 0 "FALSE",
        True = 1 "TRUE",
    }

    /// The severity of a marker.
    MarkerSeverity {
        None = 0 "NONE",
        Low = 1 "LOW",
        Medium = 2 "MEDIUM",
        High = 3 "HIGH",
    }

    /// What a marker is for.
    MarkerScope {
        Global = 0 "GLOBAL",
        Location = 1 "LOCATION",
        LocationGroup = 2 "LOCATION_GROUP",
        SystemTreeNode = 3 "SYSTEM_TREE_NODE",
        Group = 4 "GROUP",
        Comm = 5 "COMM",
    }

    /// The type of a value that carries its type with it.
    Type {
        None = 0 "NONE",
        Uint8 = 1 "UINT8",
        Uint16 = 2 "UINT16",
        Uint32 = 3 "UINT32",
        Uint64 = 4 "UINT64",
        Int8 = 5 "INT8",
        Int16 = 6 "INT16",
        Int32 = 7 "INT32",
        Int64 = 8 "INT64",
        Float = 9 "FLOAT",
        Double = 10 "DOUBLE",
        String = 11 "STRING",
        Attribute = 12 "ATTRIBUTE",
        Location = 13 "LOCATION",
        Region = 14 "REGION",
        Group = 15 "GROUP",
        Metric = 16 "METRIC",
        Comm = 17 "COMM",
        Parameter = 18 "PARAMETER",
        RmaWin = 19 "RMA_WIN",
        SourceCodeLocation = 20 "SOURCE_CODE_LOCATION",
        CallingContext = 21 "CALLING_CONTEXT",
        InterruptGenerator = 22 "INTERRUPT_GENERATOR",
        IoFile = 23 "IO_FILE",
        IoHandle = 24 "IO_HANDLE",
        LocationGroup = 25 "LOCATION_GROUP",
    }
}
