//! `ouzel info`: what is in the trace, and what is missing.

mod data;
mod page;
mod profile;
mod topology;

use crate::args::{Common, OutputFormat};
use crate::catalogue;
use crate::command::{Command, Question};
use crate::exit::Outcome;
use crate::found::{Either, Found};
use crate::session::{Session, outcome, taken};
use crate::terminal::page::Page;
use clap::Args;
use data::Data;
use ouzel::analyses::inventory::{Inventory, InventoryOutput};
use ouzel::engine::{AnalysisSet, Report};
use profile::ProfileData;
use serde::Serialize;

pub const COMMAND: Command = Command::about_a_run::<InfoArgs>("info", &[]);

/// What is in the trace: ranks, events, span, metrics, and what is missing
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ouzel info scorep-run/traces.otf2
  ouzel info scorep-run/ --format json | jq .data.n_events
  ouzel info scorep-run/ --format csv          one line for each location

Metric sources and accelerators do not count as processes. The span is the time from the first to the last
event of all locations that run code. Every event is read, so that damage is found and reported.")]
pub struct InfoArgs {}

impl Question for InfoArgs {
    fn run(&self, common: &Common) -> anyhow::Result<Outcome> {
        run(common, self)
    }
}

/// What is known about a trace, and about the profile beside it.
#[derive(Serialize)]
struct WithProfile {
    #[serde(flatten)]
    data: Data,
    #[serde(skip_serializing_if = "Option::is_none")]
    profile: Option<ProfileData>,
}

/// Commands that use counters of a trace, and metrics of a profile.
const OF_BOTH: &str = "profile --metric";

/// What is in the trace. A profile beside it answers what its counters cannot.
fn data(session: &Session<'_>, report: &Report, inventory: &InventoryOutput, has_profile: bool) -> Data {
    let mut data = Data::new(session, report, inventory);
    for ability in data.abilities.iter_mut().filter(|ability| has_profile && !ability.available) {
        if ability.commands.iter().any(|command| command == OF_BOTH) {
            ability.commands.retain(|command| command != OF_BOTH);
            ability.reason += "; the profile beside it has sums";
        }
    }
    data
}

fn run(common: &Common, _args: &InfoArgs) -> anyhow::Result<Outcome> {
    let mut found = Found::new(common);
    let session = match found.either()? {
        Either::Trace(session) => session,
        Either::Profile(session) => return profile::run(&session),
    };
    let found = found.profile().ok().map(|found| (ProfileData::new(&found, common.jobs), found));
    let mut set = AnalysisSet::default();
    let inventory = set.add(Inventory);
    let mut report = session.run(&set)?;
    let inventory = taken(report.outputs.take(&inventory), "inventory")?;
    let beside = found.map(|((data, notices), found)| {
        report.notices.extend(found.notices().iter().cloned());
        report.notices.extend(notices);
        data
    });
    let definitions = session.definitions();
    match common.format {
        OutputFormat::Table | OutputFormat::Html => {
            let data = data(&session, &report, &inventory, beside.is_some());
            let mut lines = page::lines(&session, &data, &report.notices);
            if let Some(profile) = &beside {
                let mut page = Page::new(session.style(), common.width);
                page.heading("a profile beside the trace");
                profile.lines(&mut page);
                lines.append(&mut page.lines);
            }
            session.write_page(&lines)?;
        }
        OutputFormat::Json => {
            let data = data(&session, &report, &inventory, beside.is_some());
            let data = WithProfile { data, profile: beside };
            session.write_json("info", report.coverage, &report.notices, data)?;
        }
        OutputFormat::Csv | OutputFormat::Parquet => {
            session.write_table(&catalogue::locations(definitions, &report.locations))?;
            session.tell(&report.notices);
        }
    }
    Ok(outcome(&report.notices))
}
