//! Programs in C and Fortran: what is recorded is what an independent counter has counted.

use crate::shop::{LIBRARIES, N_RANKS, Recorded, Shop, check_with_reference_tool};
use ouzel_recording::finish::{FinishErrorKind, finish};
use ouzel_recording::launch::Choices;

#[test]
fn calls_and_bytes_equal_an_independent_count() {
    for shop in LIBRARIES.into_iter().filter_map(|library| Shop::open(library, "mpicc")) {
        let library = shop.library;
        let program = shop.compile("mpicc", "program.c", "program", &[]);
        let counter = shop.compile("mpicc", "count.c", "count.so", &["-shared", "-fPIC"]);
        let output = shop.run(&program, "run", &[], Some(&counter));
        let mut lines: Vec<&str> = std::str::from_utf8(&output.stdout).expect("text").lines().collect();
        lines.sort_unstable();
        assert_eq!(
            lines,
            ["rank 0 of 4", "rank 1 of 4", "rank 2 of 4", "rank 3 of 4"],
            "{library}: {output:?}"
        );
        assert!(output.status.success(), "{library}: {output:?}");
        let finished = shop.finish("run");
        let archive = &finished.archives[0];
        assert_eq!(
            (archive.n_processes, archive.n_locations, &*archive.notices),
            (N_RANKS, N_RANKS, &[][..])
        );
        let recorded = Recorded::read(&shop.path("run"));
        for (rank, counted) in shop.counted().iter().enumerate() {
            assert!(6 < counted.len(), "{library}: the counter has counted");
            for (function, expected) in counted {
                let found = recorded.counts[rank].get(function);
                assert_eq!(found, Some(expected), "{library}: rank {rank}, {function}");
            }
            // Twenty steps with one non-blocking barrier each, and four times two persistent requests.
            let n_calls = |name: &str| recorded.counts[rank][name].0;
            assert_eq!((n_calls("MPI_Ibarrier"), n_calls("MPI_Wait"), n_calls("MPI_Init")), (20, 28, 1));
            assert_eq!(recorded.counts[rank]["MPI_Startall"], (4, 400, 0), "{library}");
            assert_eq!(recorded.counts[rank]["MPI_Wait"].2, 400, "{library}");
        }
        assert!(recorded.unmatched.values().all(|&n| n == 0), "{library}: {:?}", recorded.unmatched);
        let groups: Vec<&[u64]> = recorded.communicators.iter().map(|(_, group)| group.as_slice()).collect();
        // The world, itself, and two halves in the order of their keys, each with its copy.
        let mut made = groups[2..].to_vec();
        made.sort_unstable();
        assert_eq!(groups[0], [0, 1, 2, 3], "{library}");
        assert_eq!(made, [&[2, 0][..], &[2, 0], &[3, 1], &[3, 1]], "{library}");
        check_with_reference_tool(&shop.path("run"));
    }
}

/// Both libraries may make threads of their own, and Open MPI always does. They have no locations, with samples or without.
#[test]
fn threads_that_mpi_makes_are_not_recorded() {
    for shop in LIBRARIES.into_iter().filter_map(|library| Shop::open(library, "mpicc")) {
        let program = shop.compile("mpicc", "program.c", "program", &[]);
        for (name, hz) in [("plain", None), ("sampled", Some(200))] {
            let choices = Choices { sample_hz: hz, ..Choices::default() };
            let output = shop.run_with(&program, name, &[], None, &choices);
            assert!(output.status.success(), "{output:?}");
            let archive = &shop.finish(name).archives[0];
            assert_eq!((archive.n_processes, archive.n_locations), (N_RANKS, N_RANKS), "{archive:?}");
            let said = "that MPI made for itself are not recorded";
            let n = archive.notices.iter().filter(|notice| notice.message.ends_with(said)).count();
            assert!(n <= usize::from(hz.is_some()), "{archive:?}");
            assert!(n == 1 || hz.is_none() || shop.library != "openmpi", "{archive:?}");
        }
    }
}

/// Ranks that are left out are not in the archive, and communicators whose first member is one of them are complete.
#[test]
fn some_ranks_can_be_recorded_alone() {
    for shop in LIBRARIES.into_iter().filter_map(|library| Shop::open(library, "mpicc")) {
        let library = shop.library;
        let program = shop.compile("mpicc", "program.c", "program", &[]);
        for (name, ranks, hz) in [("two", "0-1", None), ("last", "1,3-9", Some(200))] {
            let choices = Choices { ranks: Some(ranks.to_owned()), sample_hz: hz, ..Choices::default() };
            let output = shop.run_with(&program, name, &[], None, &choices);
            assert!(output.status.success(), "{library} {ranks}: {output:?}");
            let finished = shop.finish(name);
            let archive = &finished.archives[0];
            assert_eq!(archive.n_processes, 2, "{library} {ranks}");
            let said: Vec<&str> = archive.notices.iter().map(|notice| notice.message.as_str()).collect();
            let others = if name == "two" { "2, 3" } else { "0, 2" };
            let expected = format!("2 ranks left out, as --ranks says: {others}");
            assert!(said.contains(&expected.as_str()), "{library} {ranks}: {said:?}");
            assert!(archive.notices.iter().all(|notice| !notice.is_loss), "{library} {ranks}: {said:?}");
            check_with_reference_tool(&shop.path(name));
            let recorded = Recorded::read(&shop.path(name));
            let n_all = recorded.counts.iter().filter(|counts| counts.contains_key("MPI_Allreduce"));
            assert_eq!(n_all.map(|counts| counts["MPI_Allreduce"].0).collect::<Vec<_>>(), [20, 20]);
            let mut groups: Vec<&[u64]> =
                recorded.communicators.iter().map(|(_, group)| group.as_slice()).collect();
            groups.sort_unstable();
            // Halves and their copies, as far as a member is recorded.
            let halves: &[&[u64]] =
                if name == "two" { &[&[2, 0], &[2, 0], &[3, 1], &[3, 1]] } else { &[&[3, 1], &[3, 1]] };
            assert!(groups.ends_with(halves), "{library} {ranks}: {groups:?}");
        }
        let none = Choices { ranks: Some("4-9".to_owned()), ..Choices::default() };
        let output = shop.run_with(&program, "none", &[], None, &none);
        assert!(output.status.success(), "{library}: {output:?}");
        let error = finish(&shop.path("none"), None).expect_err("there is nothing");
        assert!(matches!(error.kind(), FinishErrorKind::AllLeftOut), "{error}");
    }
}

#[test]
fn a_program_that_fails_fails_as_it_would() {
    for shop in LIBRARIES.into_iter().filter_map(|library| Shop::open(library, "mpicc")) {
        let program = shop.compile("mpicc", "program.c", "program", &[]);
        let output = shop.run(&program, "run", &["7"], None);
        assert_eq!(output.status.code(), Some(7), "{}: {output:?}", shop.library);
        // Open MPI ends the other ranks when one has failed, maybe before they have ended themselves.
        assert_eq!(shop.finish("run").archives[0].n_processes, N_RANKS, "{}", shop.library);
    }
}

#[test]
fn fortran_is_recorded_under_the_names_of_c() {
    let modules = [("mpi", &["-cpp", "-DMODULE=mpi"][..]), ("f08", &["-cpp", "-DMODULE=mpi_f08", "-DF08"])];
    for shop in LIBRARIES.into_iter().filter_map(|library| Shop::open(library, "mpif90")) {
        for (name, words) in modules {
            let what = format!("{} {name}", shop.library);
            let program = shop.compile("mpif90", "fortran.f90", &format!("program-{name}"), words);
            let output = shop.run(&program, name, &[], None);
            assert!(output.status.success(), "{what}: {output:?}");
            let finished = shop.finish(name);
            assert!(finished.archives[0].notices.is_empty(), "{what}: {finished:?}");
            let recorded = Recorded::read(&shop.path(name));
            for (rank, counts) in recorded.counts.iter().enumerate() {
                let rank = rank as u64;
                // Ten steps with 1 to 10 numbers of 8 bytes; then every rank sends as many integers as its number.
                let last = if rank == 0 { (0, 0) } else { (1, 4 * rank) };
                assert_eq!(counts["MPI_Isend"], (10 + last.0, 440 + last.1, 0), "{what} rank {rank}");
                assert_eq!(counts["MPI_Waitall"], (10, 0, 440), "{what} rank {rank}");
                assert_eq!(counts["MPI_Allreduce"], (10, 1280, 1280), "{what} rank {rank}");
                // In place, the own part of 8 bytes goes to three others, and theirs come.
                assert_eq!(counts["MPI_Allgather"], (1, 24, 24), "{what} rank {rank}");
                assert_eq!((counts["MPI_Init"].0, counts["MPI_Finalize"].0), (1, 1), "{what} rank {rank}");
            }
            assert_eq!(recorded.counts[0]["MPI_Recv"], (3, 0, 24), "{what}");
            assert!(recorded.unmatched.values().all(|&n| n == 0), "{what}: {:?}", recorded.unmatched);
        }
    }
}

#[test]
fn instrumented_functions_are_regions() {
    for shop in LIBRARIES.into_iter().filter_map(|library| Shop::open(library, "mpicc")) {
        let program = shop.compile("mpicc", "program.c", "program", &["-finstrument-functions"]);
        let output = shop.run(&program, "run", &[], None);
        assert!(output.status.success(), "{output:?}");
        shop.finish("run");
        let recorded = Recorded::read(&shop.path("run"));
        assert!(
            recorded.files.iter().any(|file| file.ends_with("zoo/record/program.c")),
            "{:?}",
            recorded.files
        );
        for counts in &recorded.counts {
            for (name, n_calls) in [("main", 1), ("persistent", 1), ("ring", 20), ("collectives", 20)] {
                assert_eq!(counts.get(name).map(|count| count.0), Some(n_calls), "{} {name}", shop.library);
            }
        }
    }
}
