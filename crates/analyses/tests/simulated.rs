//! Analyses beside the truth of simulated programs.

use ouzel_analyses::message_waits::{LateKind, LateMessages};
use ouzel_testkit::run;
use ouzel_testkit::simulator::{Machine, MatchingOrder, RandomOptions, WaitClass, simulate};

#[test]
fn waiting_for_late_senders_is_that_of_the_truth() {
    let free = Machine { eager_limit: 50, ..Machine::default() };
    let costly = Machine { overhead: 3, latency: 20, bytes_per_tick: Some(50), ..free };
    for seed in 0..400 {
        let options = RandomOptions { matching: MatchingOrder::ByTime, ..RandomOptions::new(seed) };
        let truth = simulate(&options.build().program(), if seed % 2 == 0 { &free } else { &costly });
        let output = run(&truth.trace, LateMessages::default());
        let mut by_rank = vec![0; truth.useful.len()];
        for row in output.rows.iter().filter(|row| row.kind == LateKind::LateSender) {
            for waited in &row.by_waiting {
                by_rank[waited.rank.index()] += waited.wait.0;
            }
        }
        assert_eq!(by_rank, truth.waiting(WaitClass::LateSender), "seed {seed}");
        let unmatched = (output.unmatched_sends, output.unmatched_receives, output.received_before_sent);
        assert_eq!(unmatched, (0, 0, 0), "seed {seed}");
    }
}
