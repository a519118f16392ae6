//! What names of calls say beyond role and paradigm: the operation of MPI, and what calls of the C library do.

use crate::naming;
use ouzel_model::{CollectiveOp, Paradigm, RegionRole, mpi_function};

/// The collective operation of an MPI function, and whether it is non-blocking.
pub(super) fn mpi_collective(name: &str) -> Option<(CollectiveOp, bool)> {
    let function = mpi_function(name)?;
    let of = |function: &str| {
        let op = match function {
            "barrier" => CollectiveOp::Barrier,
            "bcast" => CollectiveOp::Bcast,
            "gather" => CollectiveOp::Gather,
            "gatherv" => CollectiveOp::Gatherv,
            "scatter" => CollectiveOp::Scatter,
            "scatterv" => CollectiveOp::Scatterv,
            "allgather" => CollectiveOp::Allgather,
            "allgatherv" => CollectiveOp::Allgatherv,
            "alltoall" => CollectiveOp::Alltoall,
            "alltoallv" => CollectiveOp::Alltoallv,
            "alltoallw" => CollectiveOp::Alltoallw,
            "allreduce" => CollectiveOp::Allreduce,
            "reduce" => CollectiveOp::Reduce,
            "reduce_scatter" => CollectiveOp::ReduceScatter,
            "reduce_scatter_block" => CollectiveOp::ReduceScatterBlock,
            "scan" => CollectiveOp::Scan,
            "exscan" => CollectiveOp::Exscan,
            _ => return None,
        };
        Some(op)
    };
    let blocking = of(&function).map(|op| (op, false));
    blocking.or_else(|| of(function.strip_prefix('i')?).map(|op| (op, true)))
}

/// Role and paradigm of a function of the operating system's libraries, or of any other.
pub(super) fn library_role(name: &str) -> (RegionRole, Paradigm) {
    const FILES: [&str; 27] = [
        "read",
        "write",
        "pread",
        "pwrite",
        "pread64",
        "pwrite64",
        "readv",
        "writev",
        "preadv",
        "pwritev",
        "fread",
        "fwrite",
        "fgets",
        "fputs",
        "fgetc",
        "fputc",
        "getc",
        "putc",
        "getline",
        "getdelim",
        "fprintf",
        "vfprintf",
        "fscanf",
        "fflush",
        "fsync",
        "fdatasync",
        "sync",
    ];
    const FILE_METADATA: [&str; 20] = [
        "open",
        "open64",
        "openat",
        "openat64",
        "creat",
        "close",
        "fopen",
        "fopen64",
        "fdopen",
        "freopen",
        "fclose",
        "lseek",
        "lseek64",
        "fseek",
        "ftruncate",
        "ftruncate64",
        "stat",
        "fstat",
        "unlink",
        "rename",
    ];
    match name {
        "sem_wait" | "sem_timedwait" | "sem_clockwait" | "pthread_cond_wait" | "pthread_cond_timedwait" => {
            (RegionRole::ThreadWait, Paradigm::Pthread)
        }
        _ if FILES.contains(&name) => (RegionRole::FileIo, Paradigm::Unknown),
        _ if FILE_METADATA.contains(&name) => (RegionRole::FileIoMetadata, Paradigm::Unknown),
        _ => naming::of_function(name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn collectives_are_told_from_their_non_blocking_kin() {
        assert_eq!(mpi_collective("MPI_Ialltoallv"), Some((CollectiveOp::Alltoallv, true)));
        assert_eq!(mpi_collective("MPI_Reduce"), Some((CollectiveOp::Reduce, false)));
        assert_eq!(mpi_collective("PMPI_Ibarrier"), Some((CollectiveOp::Barrier, true)));
        assert_eq!(mpi_collective("MPI_Isend"), None);
        assert_eq!(mpi_collective("MPI_I"), None);
    }

    #[test]
    fn calls_of_the_c_library_have_roles() {
        assert_eq!(library_role("fwrite"), (RegionRole::FileIo, Paradigm::Unknown));
        assert_eq!(library_role("open64"), (RegionRole::FileIoMetadata, Paradigm::Unknown));
        assert_eq!(library_role("sem_wait"), (RegionRole::ThreadWait, Paradigm::Pthread));
        assert_eq!(library_role("pthread_create"), (RegionRole::ThreadCreate, Paradigm::Pthread));
        assert_eq!(library_role("ioctl"), (RegionRole::Function, Paradigm::Unknown));
    }
}
