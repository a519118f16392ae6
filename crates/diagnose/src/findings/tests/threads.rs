//! Threads of a team that wait for each other.

use super::super::FindingKind;
use super::report;
use ouzel_testkit::ToyTrace;

/// Two processes with two threads that work so long in each of ten loops.
fn team(works: impl Fn(u32, u64) -> u64) -> ToyTrace {
    let mut text = String::new();
    for (rank, thread) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
        let before = if thread == 0 { "enter main @0, enter step @0, " } else { "" };
        let name = if thread == 0 { format!("{rank}: ") } else { format!("{rank}.{thread}: ") };
        text += &format!("{name}{before}");
        for i in 0..10 {
            let (at, end) = (100 * i, 100 * i + 99);
            let done = at + works(thread, i);
            text += &format!(
                "enter !$omp parallel @{at}, enter row @{at}, leave @{done}, \
                 enter !$omp implicit barrier @{done}, leave @{end}, leave @{end}{}",
                if i < 9 { ", " } else { "" }
            );
        }
        text += if thread == 0 { ", leave @1000, leave @1000\n" } else { "\n" };
    }
    ToyTrace::new(&text)
}

#[test]
fn threads_that_wait_for_a_busier_thread_have_uneven_work() {
    let uneven = report(&team(|thread, _| if thread == 0 { 29 } else { 99 }));
    let finding = &uneven.findings[0];
    assert_eq!(finding.kind, FindingKind::LoadImbalance, "{finding:?}");
    assert_eq!(finding.call_path.last().map(|name| &**name), Some("row"));
    // The mean is 64 of 99.
    assert!((finding.gain_fraction - 0.35).abs() < 0.01, "{finding:?}");
    // Threads that take turns at being slow have even totals.
    let in_turn = report(&team(|thread, i| if (i + u64::from(thread)).is_multiple_of(2) { 29 } else { 99 }));
    assert_eq!(in_turn.findings[0].kind, FindingKind::WaitingForThreads, "{:?}", in_turn.findings[0]);
}
