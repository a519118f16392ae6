use super::fold::NEEDS;
use super::*;
use ouzel_engine::{Analysis, AnalysisError, FinishCx, LocationCx, LocationSummary};
use ouzel_model::{CallPathTree, Definitions, EventChunk, Filter, Needs, Remap, Ticks, TraceSource};
use ouzel_testkit::{ToyTrace, laws, run_report};
use std::sync::OnceLock;

fn phases(text: &str) -> (PhasesOutput, Definitions, Vec<String>) {
    let trace = ToyTrace::new(text);
    let (output, report) =
        run_report(&trace, &Filter::default(), Phases::new(trace.definitions(), &Filter::default()));
    let notices = report.notices.iter().map(ToString::to_string).collect();
    (output, trace.definitions().clone(), notices)
}

/// Cells as `phase path visits sum/max@location/min inclusive, sum exclusive`.
fn cells(output: &PhasesOutput, definitions: &Definitions, group: usize) -> Vec<String> {
    let show = |cell: &Cell| {
        let names: Vec<&str> = output
            .call_paths
            .regions(cell.call_path)
            .into_iter()
            .map(|r| &*definitions.region(r).name)
            .collect();
        let name = if cell.call_path == CallPathTree::ROOT { "-".to_owned() } else { names.join("/") };
        let Stat { sum, max, max_at, min, .. } = cell.inclusive;
        format!(
            "{} {name}{} {} {}/{}@{}/{} {}",
            cell.phase,
            if cell.subset { "*" } else { "" },
            cell.n_visits,
            sum.0,
            max.0,
            max_at.0,
            min.0,
            cell.exclusive.sum.0
        )
    };
    output.groups[group].cells.iter().map(show).collect()
}

#[test]
fn calls_that_span_phases_give_each_its_part() {
    let (output, definitions, notices) = phases(
        "
        0: enter main @0, enter work @2, leave @8, enter MPI_Barrier @8, leave @20, enter work @20, leave @30, leave @34
        1: enter main @1, enter work @1, leave @19, enter MPI_Barrier @19, leave @20, leave @40",
    );
    let group = &output.groups[0];
    assert_eq!(notices, Vec::<String>::new());
    assert_eq!(group.alignment, Alignment::Complete);
    assert_eq!(group.phases.len(), 2);
    assert_eq!(
        (group.phases[0].start, group.phases[0].last_enter, group.phases[0].end),
        (Ticks(0), Ticks(19), Ticks(20))
    );
    assert_eq!((group.phases[1].start, group.phases[1].end), (Ticks(20), Ticks(40)));
    assert_eq!(
        cells(&output, &definitions, 0),
        [
            "0 - 0 39/20@0/19 0",
            "0 main 0 39/20@0/19 2",
            "0 main/work 2 24/18@1/6 24",
            "0 main/MPI_Barrier 2 13/12@0/1 13",
            "1 - 0 34/20@1/14 0",
            "1 main 2 34/20@1/14 24",
            "1 main/work 1 10/10@0/0 10",
        ]
    );
    let totals: Vec<u64> = group.totals.iter().map(|total| total.inclusive.max.0).collect();
    assert_eq!(totals, [39, 39, 18, 12]);
}

/// Configured from the first definitions it sees, as the law harness makes an analysis before it makes a trace.
#[derive(Default)]
struct Late(OnceLock<Phases>);

impl Late {
    fn phases(&self, definitions: &Definitions) -> &Phases {
        self.0.get_or_init(|| Phases::new(definitions, &Filter::default()))
    }
}

impl Analysis for Late {
    type Local = Local;
    type Partial = PhasesPartial;
    type Output = PhasesOutput;
    const NAME: &'static str = Phases::NAME;
    const PARTIAL_VERSION: u32 = Phases::PARTIAL_VERSION;

    fn needs(&self) -> Needs {
        NEEDS
    }
    fn empty(&self) -> PhasesPartial {
        PhasesPartial::default()
    }
    fn begin(&self, cx: &LocationCx<'_>) -> Local {
        self.phases(cx.definitions).begin(cx)
    }
    fn fold(&self, local: &mut Local, chunk: &EventChunk<'_>) {
        self.0.get().unwrap().fold(local, chunk);
    }
    fn end(&self, local: Local, cx: &LocationCx<'_>, summary: &LocationSummary, into: &mut PhasesPartial) {
        self.0.get().unwrap().end(local, cx, summary, into);
    }
    fn remap(&self, partial: &mut PhasesPartial, remap: &Remap) {
        partial.remap(remap);
    }
    fn merge(&self, into: &mut PhasesPartial, from: PhasesPartial) {
        into.merge(from);
    }
    fn finish(&self, partial: PhasesPartial, cx: &FinishCx<'_>) -> Result<PhasesOutput, AnalysisError> {
        self.phases(cx.definitions).finish(partial, cx)
    }
}

#[test]
fn laws_hold() {
    laws::check(Late::default, |output| format!("{:?}", output.groups));
}
