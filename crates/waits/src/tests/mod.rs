use crate::{WaitClass, WaitRow, WaitRows, Waits, WaitsOutput, WaitsPer};
use ouzel_model::{CallPathId, Definitions, Filter, NoticeCode, TraceSource};
use ouzel_testkit::laws::{Parts, Sums, check_additive, check_made_for, check_on_devices};
use ouzel_testkit::{ToyTrace, random_program, run, run_report};

mod collectives;
mod devices;
mod golden;
mod messages;
pub(crate) mod programs;
mod rma;
mod threads;

const BY_RANK: WaitRows = WaitRows { per: WaitsPer::Rank, classes: Vec::new() };

fn name(output: &WaitsOutput, path: CallPathId, definitions: &Definitions) -> String {
    output.names(path, definitions).join("/")
}

/// One line for each row: `class rank path: wait in n for rank path`, with what is not certain in brackets.
fn described(output: &WaitsOutput, definitions: &Definitions) -> Vec<String> {
    let rank =
        |rank: Option<_>| rank.map_or("-".to_owned(), |rank: ouzel_model::WorldRank| rank.0.to_string());
    let row = |row: &WaitRow| {
        let culprit = row.culprit.map_or_else(String::new, |it| {
            format!(" for {} {}", rank(it.rank), name(output, it.call_path, definitions))
        });
        let certainty = match row.certainty {
            crate::Certainty::Certain => String::new(),
            other => format!(" ({})", other.as_str()),
        };
        format!(
            "{} {} {}: {} in {}{culprit}{certainty}",
            row.class.as_str(),
            rank(row.rank),
            name(output, row.call_path, definitions),
            row.wait.0,
            row.n,
        )
    };
    let mut rows: Vec<String> = output.rows(&BY_RANK, definitions).iter().map(row).collect();
    rows.sort_unstable();
    rows
}

fn waits(trace: &ToyTrace) -> WaitsOutput {
    run(trace, Waits::new(trace.definitions()))
}

/// Checks the rows of a trace, in any order.
fn check(text: &str, expected: &[&str]) {
    let trace = ToyTrace::new(text);
    let mut expected = expected.to_vec();
    expected.sort_unstable();
    assert_eq!(described(&waits(&trace), trace.definitions()), expected);
}

/// The waiting of a class over all ranks.
fn sum(output: &WaitsOutput, class: WaitClass) -> u64 {
    output.classes().iter().find(|sum| sum.class == class).map_or(0, |sum| sum.wait.0)
}

#[test]
fn laws_hold() {
    check_made_for(Waits::new, |output| {
        let paths: Vec<_> = output.call_paths.paths().map(|p| output.call_paths.regions(p)).collect();
        let WaitsOutput { run_time, n_ranks, waits, violations, .. } = output;
        format!("{paths:?} {run_time:?} {n_ranks} {waits:?} {violations:?}")
    });
}

#[test]
fn laws_hold_for_devices() {
    check_on_devices(Waits::new, |output| {
        let paths: Vec<_> = output.call_paths.paths().map(|p| output.call_paths.regions(p)).collect();
        format!("{paths:?} {:?} {:?}", output.waits, output.sums)
    });
}

#[test]
fn laws_hold_for_dependencies() {
    check_made_for(Waits::with_edges, |output| format!("{:?}", output.edges));
}

#[test]
fn waits_add_up_over_the_parts_of_a_selection() {
    check_additive(Parts::TimesAndRanks, Waits::new, |output, definitions| {
        let mut sums = Sums::new();
        for wait in &output.waits {
            let culprit = wait.culprit.map(|it| (it.location, name(&output, it.path, definitions)));
            let path = name(&output, wait.path, definitions);
            let key = format!("{:?} {:?} {:?} {path} {culprit:?}", wait.class, wait.certainty, wait.location);
            *sums.entry(key).or_default() += i128::from(wait.ticks().0);
        }
        *sums.entry("clocks".to_owned()).or_default() += i128::from(output.violations.n);
        sums
    });
}

/// What holds for the waits of any run: see the invariants below.
fn check_invariants(output: &WaitsOutput, kind: &str) {
    let mut end = (None, 0);
    let is_primary = |class: WaitClass| class.role() == crate::ClassRole::Primary;
    for wait in output.waits.iter().filter(|wait| is_primary(wait.class)) {
        assert!(wait.enter <= wait.start && wait.start < wait.end, "{kind}: {wait:?}");
        if end.0 == Some(wait.location) {
            assert!(end.1 <= wait.start.0, "two waits at once in {kind}: {wait:?}");
        }
        end = (Some(wait.location), wait.end.0);
        assert_ne!(wait.culprit.map(|it| it.location), Some(wait.location), "{kind}: {wait:?}");
    }
    for of in output.classes() {
        if let Some(whole) = of.class.part_of() {
            assert!(of.wait.0 <= sum(output, whole), "{kind}: {of:?}");
        }
    }
    let primary = output.classes().into_iter().filter(|of| is_primary(of.class)).map(|of| of.wait);
    assert_eq!(primary.sum::<ouzel_model::Ticks>(), output.total());
    assert!(output.total() <= ouzel_model::Ticks(output.run_time.0 * output.n_ranks));
}

#[test]
fn waits_lie_in_their_visits_and_never_overlap() {
    let mut n_waits = 0;
    for seed in 0..300 {
        let trace = random_program(seed);
        let (output, report) = run_report(&trace, &Filter::default(), Waits::new(trace.definitions()));
        check_invariants(&output, &format!("program {seed}"));
        assert!(report.notices.is_empty(), "{:?}", report.notices);
        n_waits += output.waits.len();
    }
    assert!(1000 < n_waits, "{n_waits}");
}

#[test]
fn a_shift_of_all_clocks_changes_nothing() {
    for seed in 0..20 {
        let trace = random_program(seed);
        let mut later = trace.clone();
        for location in trace.definitions().location_ids() {
            later.events_mut(location).iter_mut().for_each(|event| event.time.0 += 1000);
        }
        let of = |trace: &ToyTrace| described(&waits(trace), trace.definitions());
        assert_eq!(of(&trace), of(&later), "{seed}");
    }
}

#[test]
fn wrong_clocks_are_clamped_and_counted() {
    let trace = ToyTrace::new(
        "0: enter MPI_Recv @10, recv<1 @20, leave @20
         1: enter MPI_Send @25, send>0 @26, leave @27",
    );
    let (output, report) = run_report(&trace, &Filter::default(), Waits::new(trace.definitions()));
    assert_eq!(
        described(&output, trace.definitions()),
        ["late_sender 0 MPI_Recv: 10 in 1 for 1 MPI_Send (doubtful)"]
    );
    assert_eq!((output.violations.n, output.violations.worst.0), (1, 5));
    assert!(report.notices.iter().any(|notice| notice.code == NoticeCode::MessageOrder));
}

#[test]
fn without_records_waiting_is_unknown() {
    let missing = |text: &str| waits(&ToyTrace::new(text)).missing();
    assert!(
        missing("0: enter main @0, enter MPI_Init @1, leave @2, leave @9\n1: enter MPI_Init @0, leave @9")
            .is_some()
    );
    assert!(missing("0: enter MPI_Barrier @1, collective barrier @2, leave @2").is_none());
    assert!(
        missing("0: enter MPI_Send @1, send>1 @2, leave @2\n1: enter MPI_Recv @1, recv<0 @2, leave @2")
            .is_none()
    );
}
