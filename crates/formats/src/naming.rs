//! What a function is, by its name alone: for formats that record names and nothing else.
//!
//! Law: the answer says the same as OTF2 tracers record for the same function, so that
//! analyses, which ask for role and paradigm, need not know the format. A name that is not
//! known is a plain function of no particular paradigm.

use ouzel_model::{Paradigm, RegionRole, mpi_function};

/// Role and paradigm of the function `name`.
pub(crate) fn of_function(name: &str) -> (RegionRole, Paradigm) {
    let name = name.strip_suffix("()").unwrap_or(name);
    if let Some(function) = mpi_function(name) {
        return (mpi_role(&function), Paradigm::Mpi);
    }
    if let Some(role) = device_collective(name) {
        return (role, Paradigm::Unknown);
    }
    let starts = |prefixes: &[&str]| prefixes.iter().any(|prefix| name.starts_with(prefix));
    let is_api = |prefix: &str| name.strip_prefix(prefix).is_some_and(|rest| rest.starts_with(is_upper));
    if is_api("cu") || is_api("cuda") || is_api("__cuda") {
        return (device_role(name), Paradigm::Cuda);
    }
    if is_api("hip") || is_api("__hip") {
        return (device_role(name), Paradigm::Hip);
    }
    if starts(&["GOMP_", "gomp_", "__kmpc_", "__kmp_", "kmp_", "omp_", "<omp "]) {
        return (open_mp_role(name), Paradigm::OpenMp);
    }
    if let Some(function) = name.strip_prefix("pthread_") {
        let role = match function {
            "create" => RegionRole::ThreadCreate,
            "join" | "timedjoin_np" => RegionRole::ThreadWait,
            "barrier_wait" => RegionRole::Barrier,
            _ => RegionRole::Function,
        };
        return (role, Paradigm::Pthread);
    }
    match shmem_role(name.strip_prefix('p').unwrap_or(name)) {
        Some(role) => (role, Paradigm::Shmem),
        None => (RegionRole::Function, Paradigm::Unknown),
    }
}

/// What a function of OpenSHMEM 1.5 does. Functions of Linux begin with `shmem_`, too: those are `None`.
fn shmem_role(name: &str) -> Option<RegionRole> {
    const TYPES: [&str; 20] = [
        "ctx",
        "char",
        "schar",
        "uchar",
        "short",
        "ushort",
        "int",
        "uint",
        "long",
        "ulong",
        "longlong",
        "ulonglong",
        "int32",
        "int64",
        "uint32",
        "uint64",
        "size",
        "ptrdiff",
        "float",
        "double",
    ];
    if name.starts_with("shmemx_") {
        return Some(RegionRole::Rma);
    }
    let words = name.strip_prefix("shmem_")?.split('_').skip_while(|word| TYPES.contains(word));
    let function = words.collect::<Vec<_>>().join("_");
    let begins = |words: &[&str]| words.iter().any(|word| function.starts_with(word));
    let transfers = || {
        let operation = function.strip_suffix("_nbi").unwrap_or(&function);
        let operation = operation.strip_suffix("_signal").unwrap_or(operation);
        let operation = operation.strip_prefix('i').unwrap_or(operation);
        let size = operation.strip_prefix("put").or_else(|| operation.strip_prefix("get"));
        size.is_some_and(|size| ["", "mem", "8", "16", "32", "64", "128"].contains(&size))
    };
    Some(match &*function {
        "sync" | "sync_all" | "team_sync" => RegionRole::Barrier,
        _ if begins(&["barrier"]) => RegionRole::Barrier,
        "init" | "init_thread" | "finalize" | "malloc" | "calloc" | "realloc" | "align" | "free"
        | "malloc_with_hints" => RegionRole::CollectiveOther,
        _ if begins(&["broadcast", "collect", "fcollect", "alltoall"])
            || function.ends_with("_to_all")
            || function.ends_with("_reduce") =>
        {
            RegionRole::CollectiveOther
        }
        "my_pe" | "n_pes" | "pe_accessible" | "addr_accessible" | "ptr" | "global_exit" | "pcontrol"
        | "query_thread" | "query_initialized" | "info_get_version" | "info_get_name" => RegionRole::Function,
        _ if begins(&["team_"]) => RegionRole::Function,
        "p" | "g" | "swap" | "cswap" | "fadd" | "finc" | "add" | "inc" | "fetch" | "set" | "quiet"
        | "fence" | "set_lock" | "test_lock" | "clear_lock" | "signal_fetch" => RegionRole::Rma,
        _ if begins(&["atomic_", "wait", "test", "signal_wait"]) || transfers() => RegionRole::Rma,
        _ if name.starts_with("shmem_ctx_") => RegionRole::Function,
        _ => return None,
    })
}

fn is_upper(c: char) -> bool {
    c.is_ascii_uppercase()
}

fn mpi_role(function: &str) -> RegionRole {
    use RegionRole::{
        Barrier, CollectiveAllToAll, CollectiveAllToOne, CollectiveOneToAll, CollectiveOther, PointToPoint,
        Rma,
    };
    // Non-blocking and persistent forms do what the blocking ones do.
    let plain = |name: &str| match name {
        "barrier" => Some(Barrier),
        "bcast" | "scatter" | "scatterv" => Some(CollectiveOneToAll),
        "gather" | "gatherv" | "reduce" => Some(CollectiveAllToOne),
        "allgather"
        | "allgatherv"
        | "allreduce"
        | "alltoall"
        | "alltoallv"
        | "alltoallw"
        | "reduce_scatter"
        | "reduce_scatter_block" => Some(CollectiveAllToAll),
        "scan" | "exscan" => Some(CollectiveOther),
        "send" | "ssend" | "bsend" | "rsend" | "recv" | "mrecv" | "sendrecv" | "sendrecv_replace" => {
            Some(PointToPoint)
        }
        _ if name.starts_with("neighbor_") => Some(CollectiveOther),
        _ => None,
    };
    let base = function.strip_suffix("_init").unwrap_or(function);
    if let Some(role) = plain(base).or_else(|| plain(base.strip_prefix('i')?)) {
        return role;
    }
    match function {
        "wait" | "waitall" | "waitany" | "waitsome" | "test" | "testall" | "testany" | "testsome"
        | "start" | "startall" | "probe" | "iprobe" | "mprobe" | "improbe" | "cancel" => PointToPoint,
        "put" | "get" | "accumulate" | "get_accumulate" | "fetch_and_op" | "compare_and_swap" | "rput"
        | "rget" | "raccumulate" | "rget_accumulate" => Rma,
        "init" | "init_thread" | "finalize" => CollectiveOther,
        _ => mpi_role_by_group(function),
    }
}

fn mpi_role_by_group(function: &str) -> RegionRole {
    if let Some(window) = function.strip_prefix("win_") {
        return match window {
            "fence" | "create" | "allocate" | "allocate_shared" | "free" => RegionRole::CollectiveOther,
            "lock" | "unlock" | "lock_all" | "unlock_all" | "flush" | "flush_all" | "flush_local"
            | "flush_local_all" | "start" | "complete" | "post" | "wait" | "test" => RegionRole::Rma,
            _ => RegionRole::Function,
        };
    }
    if let Some(file) = function.strip_prefix("file_") {
        let moves_data = ["read", "write", "iread", "iwrite"].iter().any(|verb| file.starts_with(verb));
        return if moves_data { RegionRole::FileIo } else { RegionRole::FileIoMetadata };
    }
    let of_all = ["comm_dup", "comm_create", "comm_split", "comm_free", "cart_create", "graph_create"];
    let makes_comm = of_all.iter().any(|start| function.starts_with(start))
        || function.starts_with("dist_graph_create")
        || function.starts_with("intercomm_");
    if makes_comm { RegionRole::CollectiveOther } else { RegionRole::Function }
}

/// Collectives of accelerators: calls of the library and the kernels it launches.
fn device_collective(name: &str) -> Option<RegionRole> {
    let operation = ["ncclDevKernel_", "ncclKernel_", "ncclDevKernel", "ncclKernel", "pnccl", "nccl", "rccl"]
        .iter()
        .find_map(|prefix| name.strip_prefix(prefix))
        .filter(|operation| operation.starts_with(is_upper))?;
    let starts = |prefix| operation.starts_with(prefix);
    Some(if starts("AllReduce") || starts("AllGather") || starts("ReduceScatter") || starts("AllToAll") {
        RegionRole::CollectiveAllToAll
    } else if starts("Broadcast") || starts("Bcast") {
        RegionRole::CollectiveOneToAll
    } else if starts("Reduce") {
        RegionRole::CollectiveAllToOne
    } else if starts("Send") || starts("Recv") {
        RegionRole::PointToPoint
    } else {
        RegionRole::Function
    })
}

/// Calls of an accelerator's runtime. That they wait or copy is in their names, which analyses know.
fn device_role(name: &str) -> RegionRole {
    if name.contains("Memcpy") {
        RegionRole::DataTransfer
    } else if name.contains("MemAlloc") || name.contains("Malloc") {
        RegionRole::Allocate
    } else if name.contains("MemFree") || name.starts_with("cudaFree") || name.starts_with("hipFree") {
        RegionRole::Deallocate
    } else {
        RegionRole::Function
    }
}

fn open_mp_role(name: &str) -> RegionRole {
    if name.contains("barrier") {
        RegionRole::Barrier
    } else if name.contains("taskwait") {
        RegionRole::TaskWait
    } else if name.contains("critical") {
        RegionRole::Critical
    } else if name == "GOMP_parallel" || name.starts_with("__kmpc_fork") {
        RegionRole::Parallel
    } else {
        RegionRole::Function
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_role_and_paradigm() {
        use Paradigm::{Cuda, Hip, Mpi, OpenMp, Pthread, Shmem, Unknown};
        use RegionRole::{
            Barrier, CollectiveAllToAll, CollectiveAllToOne, CollectiveOneToAll, CollectiveOther,
            DataTransfer, FileIo, Function, PointToPoint, Rma, ThreadCreate,
        };
        for (name, role, paradigm) in [
            ("shmem_barrier_all", Barrier, Shmem),
            ("pshmem_double_put_nbi", Rma, Shmem),
            ("shmem_ctx_iget64", Rma, Shmem),
            ("shmem_uint64_atomic_fetch_add", Rma, Shmem),
            ("shmem_long_sum_to_all", CollectiveOther, Shmem),
            ("shmem_n_pes", Function, Shmem),
            ("shmem_fault", Function, Unknown),
            ("shmem_getpage_gfp", Function, Unknown),
            ("shmem_get_folio", Function, Unknown),
            ("MPI_Barrier", Barrier, Mpi),
            ("PMPI_Ibarrier", Barrier, Mpi),
            ("mpi_allreduce_", CollectiveAllToAll, Mpi),
            ("MPI_BCAST", CollectiveOneToAll, Mpi),
            ("MPI_Ireduce", CollectiveAllToOne, Mpi),
            ("MPI_Ireduce_c", CollectiveAllToOne, Mpi),
            ("MPI_Send_init", PointToPoint, Mpi),
            ("MPI_Isendrecv", PointToPoint, Mpi),
            ("MPI_Irecv", PointToPoint, Mpi),
            ("MPI_Waitall", PointToPoint, Mpi),
            ("MPI_Init", CollectiveOther, Mpi),
            ("MPI_Comm_split_type", CollectiveOther, Mpi),
            ("MPI_Comm_rank", Function, Mpi),
            ("MPI_Put", Rma, Mpi),
            ("MPI_File_iwrite_at", FileIo, Mpi),
            ("MPI_Info_create", Function, Mpi),
            ("my_MPI_Barrier", Function, Unknown),
            ("cudaMemcpyAsync", DataTransfer, Cuda),
            ("cuLaunchKernel", Function, Cuda),
            ("hipLaunchKernel", Function, Hip),
            ("current", Function, Unknown),
            ("custom", Function, Unknown),
            ("hippo", Function, Unknown),
            ("ncclDevKernel_AllReduce_Sum_f32_RING_LL", CollectiveAllToAll, Unknown),
            ("ncclGroupEnd", Function, Unknown),
            ("GOMP_barrier", Barrier, OpenMp),
            ("pthread_create", ThreadCreate, Pthread),
            ("main", Function, Unknown),
            ("", Function, Unknown),
            ("MPI_", Function, Mpi),
            ("mpí_send", Function, Unknown),
        ] {
            assert_eq!(of_function(name), (role, paradigm), "{name}");
        }
    }
}
