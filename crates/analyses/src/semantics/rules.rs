//! The built-in rules: which region names mean what, first match wins.
//!
//! Patterns match the whole name. They are data: a list of pieces that are joined, to keep lines short.
//! Input and output of files count as computation, since others wait for the one who writes; see
//! [`io_wait_rule`](super::io_wait_rule) for the other view. Calls that return when another process has done something wait.

use super::Category::{self, Computation, Synchronization, Wait};
use super::Family::{self, CudaHip, Mpi, Nccl, OpenMp, PosixIo, Pthread, Shmem, User};

/// Family, category and pattern, in order.
#[rustfmt::skip]
pub(super) const RULES: &[(Family, Category, &[&str])] = &[
    (Mpi, Synchronization, &[
        r"[Pp]?(MPI|mpi)_(Barrier|Ibarrier|Allreduce|Iallreduce|Allgather|Iallgather|Allgatherv|",
        r"Iallgatherv|Alltoall|Ialltoall|Alltoallv|Ialltoallv|Alltoallw|Ialltoallw|Reduce_scatter|",
        r"Ireduce_scatter|Reduce_scatter_block|Ireduce_scatter_block|Init|Init_thread|Finalize|Comm_dup|",
        r"Comm_dup_with_info|Comm_create|Comm_split|Comm_split_type|Comm_free|Win_create|Win_allocate|",
        r"Win_allocate_shared|Win_free|Win_fence|Cart_create|Graph_create|Dist_graph_create|",
        r"Dist_graph_create_adjacent|Intercomm_create|Intercomm_merge|File_open|File_close|File_set_view|",
        r"File_set_size|File_sync|File_(i?read|i?write)(_at)?_all(_begin|_end)?|File_(read|",
        r"write)_ordered(_begin|_end)?|I?[Nn]eighbor_.*)_{0,2}",
    ]),
    (Mpi, Wait, &[
        r"[Pp]?(MPI|mpi)_(Send|Ssend|Bsend|Rsend|Recv|Mrecv|Probe|Mprobe|Sendrecv|Sendrecv_replace|Wait|",
        r"Waitall|Waitany|Waitsome|Isend|Issend|Ibsend|Irsend|Irecv|Imrecv|Iprobe|Improbe|Test|Testall|",
        r"Testany|Testsome|Start|Startall|Bcast|Ibcast|Reduce|Ireduce|Gather|Igather|Gatherv|Igatherv|",
        r"Scatter|Iscatter|Scatterv|Iscatterv|Scan|Iscan|Exscan|Iexscan|Win_lock|Win_unlock|Win_lock_all|",
        r"Win_unlock_all|Win_flush|Win_flush_all|Win_flush_local|Win_flush_local_all|Win_start|",
        r"Win_complete|Win_post|Win_wait|Win_test)_{0,2}",
    ]),
    (Mpi, Computation, &[r"[Pp]?(MPI|mpi)_.*"]),
    (OpenMp, Synchronization, &[
        r"(GOMP_(barrier.*|loop_end|sections_end|parallel_end|taskwait|taskgroup_end)|__kmpc_(barrier|",
        r"reduce.*|join.*|omp_taskwait|end_taskgroup)|kmp_.*barrier.*|omp_(implicit_)?barrier|",
        r"!\$omp (implicit )?barrier.*|<omp (implicit )?barrier>|<omp taskwait>|<omp idle>)",
    ]),
    (OpenMp, Wait, &[
        r"(omp_(set|test)(_nest)?_lock|GOMP_(critical|atomic|ordered)_.*start|__kmpc_(critical|ordered|",
        r"set_lock|set_nest_lock)|!\$omp (critical|ordered|flush).*|<omp (mutex wait|ordered wait)>)",
    ]),
    (Shmem, Synchronization, &[
        r"p?(shmem_(barrier(_all)?|sync(_all)?|init(_thread)?|finalize|team_sync|malloc|free|realloc|",
        r".*(broadcast|collect|fcollect|reduce|alltoalls?).*|.*_to_all))",
    ]),
    // Not shmem_getpage_gfp and the like, which are of an operating system.
    (Shmem, Wait, &[
        r"p?(shmem_(((u?(short|int|long|longlong|int32|int64)|size|ptrdiff|signal)_)?(wait|test).*|quiet|fence|set_lock|",
        r"([a-z0-9]+_)*i?(get|put)(mem|8|16|32|64|128)?(_nbi|_signal(_nbi)?)?|([a-z0-9]+_)*atomic_.*))",
    ]),
    (Nccl, Synchronization, &[
        r"(nccl|rccl)(AllReduce|AllGather|ReduceScatter|AlltoAll|AllToAll.*|CommInit.*|CommSplit|",
        r"CommDestroy|CommFinalize|GroupEnd)|(nccl(Dev)?Kernel|rccl.*Kernel|ncclKernel)_?(AllReduce|",
        r"AllGather|ReduceScatter).*",
    ]),
    (Nccl, Wait, &[
        r"(nccl|rccl)(Send|Recv|Broadcast|Bcast|Reduce|CommGetAsyncError)|(nccl(Dev)?Kernel|rccl.*Kernel|",
        r"ncclKernel)_?(SendRecv|Send|Recv|Broadcast|Reduce).*",
    ]),
    (CudaHip, Wait, &[
        r"((cu|cuda|hip)((Ctx|Device|Thread|Stream|Event)Synchronize|StreamWaitEvent|EventQuery|",
        r"StreamQuery|Memcpy(DtoH|HtoD|DtoD|ToSymbol|FromSymbol|2D|3D|Peer)?(_v2)?|Memset(D8|D16|",
        r"D32)?(_v2)?|Free(Host|Array|Async)?|Malloc(Host|Managed)?|MemFree(_v2)?|MemAlloc(_v2)?|",
        r"ModuleUnload))",
    ]),
    (Pthread, Synchronization, &[r"pthread_barrier_wait|std::barrier.*|std::latch::.*wait.*"]),
    (Pthread, Wait, &[
        r"(pthread_(mutex_(timed|clock)?lock|rwlock_(timed|clock)?(rd|wr)lock|spin_lock|",
        r"cond_(timed|clock)?wait|join|(timed|clock)join_np)|sem_(timed|clock)?wait|futex(_wait)?|__lll_lock_wait.*|sched_yield|usleep|",
        r"nanosleep|sleep|std::(mutex|condition_variable|thread|future).*::(lock|wait.*|join|get))",
    ]),
    (PosixIo, Computation, &[
        r"(__)?(libc_)?(read|write|pread(64|v)?|pwrite(64|v)?|readv|writev|open(64|at)?|close|fsync|",
        r"fdatasync|sync|fread|fwrite|fflush|fopen(64)?|fclose|lseek(64)?|ftruncate(64)?|aio_(suspend|",
        r"return|error)|recv(from|msg)?|send(to|msg)?|connect)",
    ]),
    // Until another process has done something: what `ouzel record` calls reading from anything but a file, too.
    (PosixIo, Wait, &[
        r"p?poll|p?select|epoll_p?wait|accept4?|waitpid|wait4|waitid|[a-z]+ \[(pipe|socket|terminal|event)\]",
    ]),
    // What runtimes of tasks and messages, and V8, call a worker that has nothing to do.
    (User, Wait, &[r"Idle|\(idle\)|\[not running\]"]),
    // Ranges of PyTorch around collectives on the host.
    (Nccl, Synchronization, &[
        r"(nccl|rccl|gloo|ucc|xccl|hccl):_?(all_?reduce|all_?gather|reduce_?scatter|all_?to_?all|barrier).*",
    ]),
    (Nccl, Wait, &[r"(nccl|rccl|gloo|ucc|xccl|hccl):_?(broadcast|reduce|gather|scatter|send|recv).*"]),
    // What eztrace calls regions of OpenMP, and Scalasca 1 its explicit and implicit barriers.
    (OpenMp, Synchronization, &[r"OpenMP ((implicit )?barrier|Task wait)|!\$omp [ei]barrier.*"]),
    (OpenMp, Wait, &[r"OpenMP (critical|Ordered|(Set|Test) (Nest )?Lock)"]),
    // Names that tell the family only.
    (OpenMp, Computation, &[r"(omp_|GOMP_|__kmpc_|__kmp_|kmp_|!\$omp |<omp |OpenMP ).*"]),
    // Not every name with this prefix: shmem_fault and its kin are functions of Linux.
    (Shmem, Computation, &[
        r"p?(shmemx_.*|shmem_(my_pe|n_pes|(pe|addr)_accessible|ptr|align|calloc|malloc_with_hints|clear_lock|",
        r"info_get_(version|name)|global_exit|query_(thread|initialized)|pcontrol|signal_fetch|cache_.*|",
        r"team_.*|ctx_.*|([a-z0-9]+_)+([pg]|c?swap|f?inc|f?add|fetch|set)))",
    ]),
    (Nccl, Computation, &[r"(p?nccl|rccl)[A-Z].*"]),
    (CudaHip, Computation, &[r"(cu|cuda|hip)[A-Z].*"]),
    (Pthread, Computation, &[r"pthread_.*"]),
];
