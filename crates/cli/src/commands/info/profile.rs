//! What is in a profile: metrics with units and totals, call paths, locations, topologies.

use crate::args::OutputFormat;
use crate::exit::Outcome;
use crate::notices;
use crate::profile_session::ProfileSession;
use crate::terminal::page::Page;
use crate::terminal::style::{Paint, Style};
use crate::terminal::units::{count, counted, number};
use ouzel::model::{ColumnData, Table, Unit};
use ouzel_answers::{ProfileInfoAnswer, ProfileMetric};
use std::sync::Arc;

/// Longer names of metrics push what follows out of its column.
const MAX_NAME_WIDTH: usize = 30;

/// The metrics as a table.
fn table(profile: &ProfileInfoAnswer) -> Table {
    let text = |value: &dyn Fn(&ProfileMetric) -> Arc<str>| {
        ColumnData::Text(profile.metrics.iter().map(value).collect())
    };
    Table::new("metrics")
        .with("metric", Unit::None, "Unique name of the metric", text(&|m| m.name.clone()))
        .with("display_name", Unit::None, "Name to display", text(&|m| m.display_name.clone()))
        .with("unit", Unit::None, "Unit of its values", text(&|m| m.unit.clone()))
        .with("kind", Unit::None, "What its rows contain", text(&|m| Arc::from(m.kind)))
        .with("aggregation", Unit::None, "How values are combined", text(&|m| Arc::from(m.aggregation)))
        .with(
            "total",
            Unit::None,
            "Over all call paths and locations, in the unit of the row",
            ColumnData::OptionF64(profile.metrics.iter().map(|metric| metric.total).collect()),
        )
}

/// What it holds, for people.
pub fn lines(profile: &ProfileInfoAnswer, page: &mut Page) {
    let facts = [
        (
            "call paths",
            format!("{}, up to {} deep", count(profile.n_call_paths), count(profile.max_call_depth)),
        ),
        ("regions", count(profile.n_regions)),
        (
            "locations",
            format!(
                "{} of {}, {}",
                count(profile.n_locations),
                counted(profile.n_location_groups, "process", "processes"),
                counted(profile.n_ranks, "rank", "ranks")
            ),
        ),
        ("on", profile.machine.clone()),
        ("description", profile.description.clone()),
    ];
    for (name, text) in facts.iter().filter(|(_, text)| !text.is_empty()) {
        let first = format!("  {name:<14}");
        page.hanging(&first, 16, text, Paint::Plain);
    }
    for topology in &profile.topologies {
        page.hanging(&format!("  {:<14}", "topology"), 16, &super::page::topology(topology), Paint::Plain);
    }
    page.heading("metrics");
    let has_value = |metric: &&ProfileMetric| metric.total.is_some_and(|total| total != 0.0);
    let (with, without): (Vec<&ProfileMetric>, Vec<&ProfileMetric>) =
        profile.metrics.iter().partition(has_value);
    let name_width = with.iter().map(|metric| metric.name.chars().count()).max().unwrap_or(0);
    let name_width = name_width.min(MAX_NAME_WIDTH);
    let value_width = with.iter().map(|metric| total_text(metric).chars().count()).max().unwrap_or(0);
    for metric in with {
        let hidden = if metric.hidden { "  (hidden)" } else { "" };
        let first = format!("  {:<name_width$}  {:>value_width$}  ", metric.name, total_text(metric));
        let text = format!("{}{hidden}", metric.description);
        match text.trim_start() {
            "" => page.text(0, first.trim_end(), Paint::Plain),
            text => page.hanging(&first, first.chars().count(), text, Paint::Plain),
        }
    }
    // Tools define everything that they could measure; most of it never happens.
    for (title, is_zero) in [("  zero everywhere  ", true), ("  without a value  ", false)] {
        let names: Vec<&str> =
            without.iter().filter(|metric| metric.total.is_some() == is_zero).map(|m| &*m.name).collect();
        if !names.is_empty() {
            page.hanging(title, title.len(), &names.join(", "), Paint::Dim);
        }
    }
}

fn total_text(metric: &ProfileMetric) -> String {
    format!("{} {}", number(metric.total), metric.unit).trim_end().to_owned()
}

/// Answers for a profile without events.
///
/// # Errors
/// If the answer cannot be written.
pub fn run(session: &ProfileSession<'_>) -> anyhow::Result<Outcome> {
    let common = session.common;
    let (data, more) = ProfileInfoAnswer::new(&session.profile, common.jobs);
    let notices = session.notices(more);
    match common.format {
        OutputFormat::Table | OutputFormat::Html => {
            let style = Style::new(common.page_colour);
            let mut page = Page::new(style, common.width);
            let creator =
                if data.creator.is_empty() { String::new() } else { format!(" by {}", data.creator) };
            let path = session.profile.path().display();
            let title = format!("{path} · {} {}{creator}, a profile", data.format, data.format_version);
            page.text(0, &title, Paint::Name);
            lines(&data, &mut page);
            page.heading("what was lost, repaired or is doubtful");
            if notices.is_empty() {
                page.text(2, "nothing", Paint::Plain);
            }
            page.lines.extend(notices.iter().map(|notice| format!("  {}", notices::line(notice, style))));
            session.write_page(&page.lines)?;
        }
        OutputFormat::Json => session.write_json("profile-info", &notices, data)?,
        OutputFormat::Csv | OutputFormat::Parquet => session.write_table(&table(&data))?,
    }
    Ok(session.end(&notices))
}
