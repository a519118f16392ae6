//! Processes that are killed: what they recorded stays, and the notice says who died how.

use crate::shop::{LIBRARIES, N_RANKS, Shop, check_with_reference_tool};
use ouzel_otf2::Archive;

#[test]
fn a_killed_rank_keeps_what_it_recorded() {
    for shop in LIBRARIES.into_iter().filter_map(|library| Shop::open(library, "mpicc")) {
        let program = shop.compile("mpicc", "program.c", "program", &[]);
        for (rank, signal) in [(3, 9), (1, 11)] {
            let name = format!("run-{rank}-{signal}");
            let words = ["--die", &rank.to_string(), &signal.to_string()];
            let output = shop.run(&program, &name, &words, None);
            let what = format!("{}: rank {rank} by {signal}", shop.library);
            assert!(!output.status.success(), "{what}: {output:?}");
            let finished = shop.finish(&name);
            let archive = &finished.archives[0];
            assert_eq!(archive.n_processes, N_RANKS, "{what}");
            let said: Vec<&str> = archive.notices.iter().map(|notice| notice.message.as_str()).collect();
            let expected = format!("rank {rank} was killed by signal {signal} after ");
            assert!(said.iter().any(|line| line.starts_with(&expected)), "{what}: {said:?}");
            let opened = Archive::open(&shop.path(&name)).expect("an archive");
            let mut events = opened.events(rank).expect("its events");
            let mut n_events = 0;
            while events.next_record().expect("all that was recorded is valid").is_some() {
                n_events += 1;
            }
            // Eleven of twenty steps, with nine calls or more, each an enter, a leave and mostly more.
            assert!(11 * 9 * 2 < n_events, "{what}: {n_events} events");
            check_with_reference_tool(&shop.path(&name));
        }
    }
}
