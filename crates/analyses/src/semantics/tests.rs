use super::*;
use Category::{Computation, Synchronization, Wait};
use ouzel_testkit::golden;
use std::sync::Arc;

fn region(name: &str, paradigm: Paradigm, role: RegionRole) -> Region {
    Region {
        name: Arc::from(name),
        canonical_name: None,
        file: None,
        line: None,
        end_line: None,
        role,
        paradigm,
    }
}

#[test]
fn names_say_what_a_region_means() {
    let cases = [
        ("MPI_Barrier", Synchronization, Family::Mpi),
        ("PMPI_Allreduce", Synchronization, Family::Mpi),
        ("mpi_allreduce_", Synchronization, Family::Mpi),
        ("MPI_ISEND", Wait, Family::Mpi),
        ("MPI_Allreduce_c", Synchronization, Family::Mpi),
        ("PMPI_Recv_c", Wait, Family::Mpi),
        ("MPI_File_write_at_all_c", Synchronization, Family::Mpi),
        ("MPI_Comm_size_c", Computation, Family::Mpi),
        ("pmpi_barrier__", Synchronization, Family::Mpi),
        ("MPI_File_write_at_all", Synchronization, Family::Mpi),
        ("MPI_File_write_at", Computation, Family::Mpi),
        ("MPI_Ineighbor_alltoall", Synchronization, Family::Mpi),
        ("MPI_Waitall", Wait, Family::Mpi),
        ("MPI_Bcast", Wait, Family::Mpi),
        ("MPI_Barrier@17", Synchronization, Family::Mpi),
        ("Idle", Wait, Family::User),
        ("(idle)", Wait, Family::User),
        ("[not running]", Wait, Family::User),
        ("MPI_Recv()", Wait, Family::Mpi),
        ("MPI_Comm_size", Computation, Family::Mpi),
        ("MPI_Get_processor_name", Computation, Family::Mpi),
        ("my_MPI_Barrier", Computation, Family::User),
        ("MPI_Barrier_of_mine_", Computation, Family::Mpi),
        ("!$omp implicit barrier @solver.c:31", Synchronization, Family::OpenMp),
        ("!$omp ibarrier @solver.c:31", Synchronization, Family::OpenMp),
        ("!$omp ebarrier @solver.c:31", Synchronization, Family::OpenMp),
        ("!$omp critical @solver.c:31", Wait, Family::OpenMp),
        ("!$omp parallel @solver.c:31", Computation, Family::OpenMp),
        ("shmem_long_put", Wait, Family::Shmem),
        ("shmem_n_pes", Computation, Family::Shmem),
        ("shmem_int_get_nbi", Wait, Family::Shmem),
        ("shmem_putmem_signal", Wait, Family::Shmem),
        ("shmem_uint64_atomic_fetch_add", Wait, Family::Shmem),
        ("shmem_team_split_strided", Computation, Family::Shmem),
        ("shmem_double_p", Computation, Family::Shmem),
        ("shmem_getpage_gfp", Computation, Family::User),
        ("shmem_fault", Computation, Family::User),
        ("ncclAllReduce", Synchronization, Family::Nccl),
        ("ncclDevKernel_SendRecv", Wait, Family::Nccl),
        ("hipMemcpyAsync", Computation, Family::CudaHip),
        ("cudaStreamSynchronize", Wait, Family::CudaHip),
        ("pthread_create", Computation, Family::Pthread),
        ("sem_wait", Wait, Family::Pthread),
        ("fwrite", Computation, Family::PosixIo),
        ("rewrite", Computation, Family::User),
        ("curl", Computation, Family::User),
        ("", Computation, Family::User),
    ];
    let semantics = Semantics::default();
    for (name, category, family) in cases {
        assert_eq!(semantics.class_of_name(name), Class { category, family }, "{name:?}");
    }
}

#[test]
fn what_is_recorded_wins_where_it_says_more_than_code() {
    let cases = [
        ("f", Paradigm::OpenMp, RegionRole::ImplicitBarrier, Synchronization, Family::OpenMp),
        (
            "!$omp critical sblock @a.c:3",
            Paradigm::OpenMp,
            RegionRole::CriticalBlock,
            Computation,
            Family::OpenMp,
        ),
        ("!$omp critical @a.c:3", Paradigm::OpenMp, RegionRole::Critical, Wait, Family::OpenMp),
        ("exchange", Paradigm::Mpi, RegionRole::PointToPoint, Wait, Family::Mpi),
        ("everybody", Paradigm::Mpi, RegionRole::CollectiveAllToAll, Synchronization, Family::Mpi),
        ("MPI_Init", Paradigm::Mpi, RegionRole::Function, Synchronization, Family::Mpi),
        ("MPI_Allreduce", Paradigm::User, RegionRole::Function, Synchronization, Family::Mpi),
        ("MPI_Allreduce", Paradigm::Unknown, RegionRole::Unknown, Synchronization, Family::Mpi),
        ("ncclDevKernel_AllReduce_Sum", Paradigm::Cuda, RegionRole::Kernel, Synchronization, Family::Nccl),
        ("saxpy", Paradigm::Cuda, RegionRole::Kernel, Computation, Family::CudaHip),
        ("log", Paradigm::User, RegionRole::FileIo, Computation, Family::PosixIo),
        ("main", Paradigm::Compiler, RegionRole::Function, Computation, Family::User),
        ("write", Paradigm::MeasurementSystem, RegionRole::Artificial, Computation, Family::User),
    ];
    let semantics = Semantics::default();
    for (name, paradigm, role, category, family) in cases {
        let class = semantics.class(&region(name, paradigm, role));
        assert_eq!(class, Class { category, family }, "{name:?} {paradigm:?} {role:?}");
    }
}

#[test]
fn user_rules_win_over_everything() {
    let class = Class { category: Wait, family: Family::User };
    let mine = Rule { pattern: "(poll|MPI_Wtime)".to_owned(), class };
    let semantics = Semantics::with_user_rules(&[mine, io_wait_rule()]).unwrap();
    assert_eq!(semantics.class(&region("MPI_Wtime", Paradigm::Mpi, RegionRole::Function)), class);
    assert_eq!(semantics.class_of_name("poll"), class);
    assert_eq!(semantics.class_of_name("fwrite"), Class { category: Wait, family: Family::PosixIo });
    assert_eq!(semantics.class_of_name("MPI_Wtime_2").category, Computation);
}

#[test]
fn a_bad_rule_is_named() {
    let class = Class { category: Wait, family: Family::User };
    let error = Semantics::with_user_rules(&[Rule { pattern: "a(".to_owned(), class }]).unwrap_err();
    assert!(error.to_string().contains("\"a(\""), "{error}");
}

#[test]
fn regions_of_openmp_as_eztrace_calls_them() {
    let class = |name| Semantics::default().class_of_name(name);
    let of = |category| Class { category, family: Family::OpenMp };
    assert_eq!(class("OpenMP implicit barrier"), of(Synchronization));
    assert_eq!(class("OpenMP Set Nest Lock"), of(Wait));
    assert_eq!(class("OpenMP Parallel"), of(Computation));
    assert_eq!(class("OpenMPI_setup").family, Family::User);
}

#[test]
fn agreed_examples_hold() {
    let examples = golden("semantics_examples");
    let semantics = Semantics::default();
    let examples = examples.as_object().unwrap();
    assert!(!examples.is_empty());
    for (name, category) in examples {
        assert_eq!(semantics.class_of_name(name).category.as_str(), category.as_str().unwrap(), "{name:?}");
    }
}

#[test]
fn agreed_rules_are_ours() {
    let agreed = golden("semantics");
    let text = |rule: &serde_json::Value, key: &str| rule[key].as_str().unwrap().to_owned();
    let all = agreed["rules"].as_array().unwrap().iter().chain(agreed["optional_rules"].as_array().unwrap());
    // Functions with a clock of the caller's choice are newer. Who waits for another process does not compute.
    let departures = [
        ("rwlock_(timed)?", "rwlock_(timed|clock)?"),
        ("timedjoin_np", "(timed|clock)join_np"),
        ("sem_(timed)?", "sem_(timed|clock)?"),
        ("poll|ppoll|select|epoll_wait|", ""),
        ("accept4?|", ""),
    ];
    let pattern =
        |rule| departures.iter().fold(text(rule, "match"), |text, (from, to)| text.replace(from, to));
    let agreed: Vec<_> = all.map(|r| (text(r, "family"), pattern(r))).collect();
    let ours: Vec<_> = rules::RULES.iter().map(|(f, _, p)| (f.as_str().to_owned(), p.concat())).collect();
    // Of SHMEM ours are those of the standard alone: `shmem_getpage_gfp` is a function of a kernel.
    let but_shmem = |rules: &[(String, String)]| {
        rules.iter().filter(|(family, _)| family != "SHMEM").cloned().collect::<Vec<_>>()
    };
    assert_eq!(but_shmem(&ours[..agreed.len()]), but_shmem(&agreed));
}

#[test]
fn names_that_begin_otherwise_match_no_built_in_rule() {
    let names = [
        "MPI_Barrier",
        "PMPI_Recv",
        "mpi_send_",
        "GOMP_barrier",
        "__kmpc_barrier",
        "kmp_barrier",
        "omp_set_lock",
        "!$omp barrier",
        "<omp idle>",
        "shmem_quiet",
        "pshmem_wait",
        "ncclAllReduce",
        "rcclSend",
        "cudaFree",
        "hipMemcpy",
        "cuMemAlloc",
        "pthread_join",
        "std::barrier",
        "sem_wait",
        "futex",
        "__lll_lock_wait",
        "sleep",
        "__libc_read",
        "read",
        "fwrite",
        "aio_error",
        "epoll_wait",
        "x [pipe]",
        "Idle",
        "(idle)",
        "[not running]",
        "nccl:all_reduce",
        "gloo:send",
        "OpenMP barrier",
        "OpenMP Ordered",
        "recvmsg",
        "usleep",
        "_",
    ];
    let mut n_matches = 0;
    for rule in BUILT_IN.iter() {
        assert_ne!(rule.starts, Starts::of(".*"), "{:?} is not understood", rule.regex);
        for name in names {
            for first in b' '..=b'~' {
                let name = [&char::from(first).to_string(), &name[1..]].concat();
                assert_eq!(rule.matches(&name), rule.regex.is_match(&name), "{name} and {:?}", rule.regex);
                n_matches += usize::from(rule.matches(&name));
            }
        }
    }
    assert!(names.len() < n_matches);
}
