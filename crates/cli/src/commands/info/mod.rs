//! `ouzel info`: what is in the trace, and what is missing.

mod page;
mod profile;

use crate::args::{Common, OutputFormat};
use crate::command::{Command, Need, Question};
use crate::commands::that_need;
use crate::exit::Outcome;
use crate::found::{Either, Found};
use crate::session::outcome;
use crate::terminal::page::Page;
use clap::Args;
use ouzel::Trace;
use ouzel::catalogue;
use ouzel::info::Topic;
use ouzel_answers::{InfoAnswer, ProfileInfoAnswer};

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

fn run(common: &Common, _args: &InfoArgs) -> anyhow::Result<Outcome> {
    let mut found = Found::new(common);
    let session = match found.either()? {
        Either::Trace(session) => session,
        Either::Profile(session) => return profile::run(&session),
    };
    let found = found.profile().ok().map(|found| (ProfileInfoAnswer::new(&found, common.jobs), found));
    let mut answer = session.answer(Trace::info)?;
    let beside = found.map(|((beside, notices), found)| {
        answer.notices.extend(found.notices().iter().cloned());
        answer.notices.extend(notices);
        beside
    });
    let info = InfoAnswer::new(&session.trace, &answer, commands, beside);
    let notices = &answer.notices;
    match common.format {
        OutputFormat::Table | OutputFormat::Html => {
            let mut lines = page::lines(&session, &info, notices);
            if let Some(profile) = &info.profile {
                let mut page = Page::new(session.style(), common.width);
                page.heading("a profile beside the trace");
                profile::lines(profile, &mut page);
                lines.append(&mut page.lines);
            }
            session.write_page(&lines)?;
        }
        OutputFormat::Json => session.write_json(answer.coverage, notices, info)?,
        OutputFormat::Csv | OutputFormat::Parquet => {
            session.write_table(&catalogue::locations(session.definitions(), &answer.output.locations))?;
            session.tell(notices);
        }
    }
    Ok(outcome(notices))
}

/// The commands that need what a topic is about.
fn commands(topic: Topic) -> Vec<String> {
    match topic {
        Topic::Time => that_need(Need::Calls),
        Topic::Imbalance => that_need(Need::Ranks),
        Topic::Messages => that_need(Need::Messages),
        Topic::Collectives => that_need(Need::Collectives),
        Topic::Threads => that_need(Need::Threads),
        Topic::Rma => that_need(Need::Rma),
        Topic::Devices => that_need(Need::Streams),
        Topic::Counters => that_need(Need::Counters),
        Topic::Metrics | Topic::SourceLines | Topic::Topology => Vec::new(),
    }
}
