//! `ouzel critical-path`: the chain of work and waiting that determines the run time.

use super::{first, origin, plot, rows, title};
use crate::args::{Common, PlotArgs, TopArgs};
use crate::command::{Command, Need, Question};
use crate::exit::Outcome;
use crate::session::Session;
use crate::terminal::grid::{Grid, GridColumn};
use crate::terminal::page::Page;
use crate::terminal::style::Paint;
use crate::terminal::units;
use clap::Args;
use ouzel::analyses::critical_path::PathProfile;
use ouzel::diagnose::NO_REGION;
use ouzel::model::{Notice, Ticks};
use ouzel::waits::accelerators::{DeviceChange, DeviceProjection};
use ouzel::{Answer, Trace};
use ouzel_answers::CriticalPathAnswer;
use ouzel_plot::pictures;
use std::sync::Arc;

pub const COMMAND: Command =
    Command::about_a_run::<CriticalPathArgs>("critical-path", &[Need::Calls.always()]);

/// The chain of work and waiting that determines the run time
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ouzel critical-path scorep-run/
  ouzel critical-path scorep-run/ --format csv -o path.csv         the segments, in order of time
  ouzel critical-path scorep-run/ --plot path.svg
  ouzel critical-path scorep-run/ --format json | jq '.data.by_region[0]'
  ouzel critical-path trace.json.gz --faster aten::mm=2    the run and a step with a faster operator
  ouzel critical-path trace.json.gz --no-launch-cost       if launches took no time

The path is traced back from the end of the run: what ran last, which rank it waited for, and so on to the
start. It consists of local segments (working, or in MPI without waiting for another rank), messages that a
rank waited for, and collectives after their last arrival. Time saved elsewhere doesn't make the run shorter.
With accelerators, the path goes from a call that waits to the stream that it waits for, and from an operation
to the call that launches it, if the stream was free by then. Each part is bound by the CPU, the GPU, a launch
or communication. --faster, --fused and --no-launch-cost replay hosts and streams with these changes, made
together, and give the projected time of the run and of a step; ouzel what-if does so for code of hosts.")]
pub struct CriticalPathArgs {
    /// Operations of this kernel, operator or scope FACTOR times as fast; may be repeated
    #[arg(long, value_name = "NAME=FACTOR", value_parser = DeviceChange::faster)]
    pub faster: Vec<DeviceChange>,

    /// One launch for all kernels that follow each other in a stream
    #[arg(long)]
    pub fused: bool,

    /// Launches that take no time
    #[arg(long)]
    pub no_launch_cost: bool,

    #[command(flatten)]
    pub top: TopArgs,

    #[command(flatten)]
    pub plot: PlotArgs,
}

impl Question for CriticalPathArgs {
    fn run(&self, common: &Common) -> anyhow::Result<Outcome> {
        run(&Session::open(common)?, self)
    }
}

fn run(session: &Session<'_>, args: &CriticalPathArgs) -> anyhow::Result<Outcome> {
    let definitions = session.definitions();
    let mut answer = session.answer(Trace::critical_path)?;
    let changes = DeviceChange::all(args.faster.clone(), args.fused, args.no_launch_cost);
    let what_if = match changes.is_empty() {
        true => None,
        false => {
            let Answer { output, notices, .. } =
                session.answer(|trace, options| trace.device_what_if(&changes, options))?;
            let are_new = notices.into_iter().filter(|it| !answer.notices.contains(it));
            let new: Vec<Notice> = are_new.collect();
            answer.notices.extend(new);
            Some(output)
        }
    };
    let what_if = what_if.as_ref();
    plot(session, || pictures::critical_path(&answer.output, definitions, &origin(session)))?;
    session.reply(
        &answer,
        |path| CriticalPathAnswer::new(path, what_if, definitions),
        |path| path.segments_table(definitions),
        |path, page| {
            write_page(session, path, args, page);
            if let Some(projection) = what_if {
                write_what_if(session, projection, page);
            }
        },
    )
}

fn write_what_if(session: &Session<'_>, projection: &DeviceProjection, page: &mut Page) {
    let clock = &session.definitions().clock;
    let (run, projected) = (clock.ns_from_ticks(projection.run), clock.ns_from_ticks(projection.projected));
    let less = units::percent((run != 0).then(|| (run as f64 - projected as f64) / run as f64));
    let n = units::counted(projection.n_changed, "operation", "operations");
    page.gap();
    let text = format!(
        "With {n} changed, the run would take {} instead of {} ({less} less).",
        units::time(projected),
        units::time(run)
    );
    page.text(0, &text, Paint::Plain);
    if let Some((step, projected)) = projection.step_ns(session.definitions()) {
        let time = |ns: f64| units::time(ns.round() as u64);
        page.text(
            0,
            &format!("A step would take {} instead of {}.", time(projected), time(step)),
            Paint::Plain,
        );
    }
}

fn write_page(session: &Session<'_>, path: &PathProfile, args: &CriticalPathArgs, page: &mut Page) {
    let definitions = session.definitions();
    title(session, page);
    let table = path.by_region_table(definitions);
    let n_rows = table.n_rows();
    if n_rows == 0 {
        page.text(0, "nothing ran in the selection", Paint::Plain);
        return;
    }
    let n_shown = args.top.n_shown(n_rows);
    let shown = table.picked(&first(n_shown));
    let total = shown.values::<u64>("total_ns");
    let length = definitions.clock.ns_from_ticks(path.length());
    let waits = path.rows.iter().any(|row| Ticks(0) < row.time.waiting);
    let launches = path.rows.iter().any(|row| Ticks(0) < row.time.launch);
    let column = |name: &str, title: &str| GridColumn::of(&shown, name, title);
    let regions = shown.values::<Option<Arc<str>>>("region").iter();
    let regions = regions.map(|region| vec![region.as_deref().unwrap_or(NO_REGION).to_owned()]);
    let grid = Grid::default()
        .with(GridColumn::call_paths("region", regions).naming())
        .with(column("total_ns", "on the path"))
        .with(column("share", "share"))
        .with(
            GridColumn::text("", total.iter().map(|&ns| units::bar(ns, length, 20)))
                .painted(Paint::Bar)
                .optional(2),
        )
        .with(column("working_ns", "working").optional(3))
        .with(column("in_mpi_ns", "in MPI").optional(3))
        .with_some(waits.then(|| column("waiting_ns", "waiting").optional(3)))
        .with(column("message_ns", "in messages").optional(3))
        .with(column("collective_ns", "in collectives").optional(3))
        .with_some(launches.then(|| column("launch_ns", "launching").optional(3)))
        .with(column("top_rank", "most on rank"))
        .with(column("top_share", "of it"));
    rows(page, &grid, n_shown, n_rows);
    let bounds = path.bounds.ns(&definitions.clock).into_iter().filter(|(_, ns)| 0 < *ns);
    let share = |ns: u64| units::percent((length != 0).then(|| ns as f64 / length as f64));
    let bounds = bounds.map(|(bound, ns)| format!("{} {} ({})", bound.as_str(), units::time(ns), share(ns)));
    page.text(0, &format!("bound by: {}", bounds.collect::<Vec<_>>().join(", ")), Paint::Plain);
    let n = units::counted(path.segments.len() as u64, "segment", "segments");
    page.text(
        0,
        &format!(
            "{n}, {} from the start to the end of the run. Shares are of this length. Only a shorter path makes the \
             run shorter. --format csv has the segments.",
            units::time(length)
        ),
        Paint::Dim,
    );
}
