//! What is in a profile: metrics with units and totals, call paths, locations, topologies.

use super::topology::TopologyEntry;
use crate::args::OutputFormat;
use crate::commands::profile::aggregation_text;
use crate::exit::Outcome;
use crate::notices;
use crate::profile_session::ProfileSession;
use crate::terminal::page::Page;
use crate::terminal::style::{Paint, Style};
use crate::terminal::units::{count, counted, number};
use ouzel::Profile;
use ouzel::model::{ColumnData, Notice, Table, Unit};
use serde::Serialize;
use std::num::NonZeroUsize;
use std::sync::Arc;

/// Longer names of metrics push what follows out of its column.
const MAX_NAME_WIDTH: usize = 30;

/// What is in a profile; the keys are those of the JSON.
#[derive(Debug, Serialize)]
pub struct ProfileData {
    pub format: String,
    pub format_version: String,
    pub creator: String,
    pub machine: String,
    pub description: String,
    pub n_call_paths: u64,
    pub n_regions: u64,
    pub max_call_depth: u64,
    pub n_locations: u64,
    pub n_location_groups: u64,
    pub n_system_nodes: u64,
    pub n_ranks: u64,
    pub metrics: Vec<MetricEntry>,
    pub topologies: Vec<TopologyEntry>,
}

#[derive(Debug, Serialize)]
pub struct MetricEntry {
    pub name: Arc<str>,
    pub display_name: Arc<str>,
    pub unit: Arc<str>,
    pub description: Arc<str>,
    /// The metric it is part of.
    pub parent: Option<Arc<str>>,
    pub kind: &'static str,
    pub aggregation: &'static str,
    pub hidden: bool,
    /// Over all call paths and locations; `null` without a value.
    pub total: Option<f64>,
}

impl ProfileData {
    /// What `profile` holds, with all totals, and what went wrong on the way.
    pub fn new(profile: &Profile, jobs: NonZeroUsize) -> (Self, Vec<Notice>) {
        let definitions = profile.definitions();
        let mut notices = Vec::new();
        let mut ranks: Vec<_> = definitions.location_groups.iter().filter_map(|group| group.rank).collect();
        ranks.sort_unstable();
        ranks.dedup();
        let totals = profile.totals(jobs);
        let metrics = definitions.metric_ids().zip(totals).map(|(id, total)| {
            let metric = definitions.metric(id);
            let total = match total {
                Ok((total, more)) => {
                    notices.extend(more);
                    total
                }
                Err(error) => {
                    let code = ouzel::model::NoticeCode::DamagedSeverities;
                    notices.push(Notice::new(ouzel::model::Level::High, code, error.to_string()));
                    None
                }
            };
            MetricEntry {
                name: metric.name.clone(),
                display_name: metric.display_name.clone(),
                unit: metric.unit.clone(),
                description: metric.description.clone(),
                parent: metric.parent.map(|parent| definitions.metric(parent).name.clone()),
                kind: metric.kind.as_str(),
                aggregation: aggregation_text(metric.aggregation),
                hidden: metric.hidden,
                total,
            }
        });
        let metrics = metrics.collect();
        let provenance = definitions.provenance.clone();
        let data = ProfileData {
            format: profile.format().as_str().to_owned(),
            format_version: provenance.format_version,
            creator: provenance.creator,
            machine: provenance.machine,
            description: provenance.description,
            n_call_paths: definitions.call_tree.len() as u64,
            n_regions: definitions.regions.len() as u64,
            max_call_depth: definitions.call_tree.n_levels() as u64,
            n_locations: definitions.locations.len() as u64,
            n_location_groups: definitions.location_groups.len() as u64,
            n_system_nodes: definitions.system_tree.nodes.len() as u64,
            n_ranks: ranks.len() as u64,
            metrics,
            topologies: profile.topologies().iter().map(TopologyEntry::new).collect(),
        };
        (data, notices)
    }

    /// The metrics as a table.
    fn table(&self) -> Table {
        let text = |value: &dyn Fn(&MetricEntry) -> Arc<str>| {
            ColumnData::Text(self.metrics.iter().map(value).collect())
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
                ColumnData::OptionF64(self.metrics.iter().map(|metric| metric.total).collect()),
            )
    }

    /// What it holds, for people.
    pub fn lines(&self, page: &mut Page) {
        let facts = [
            (
                "call paths",
                format!("{}, up to {} deep", count(self.n_call_paths), count(self.max_call_depth)),
            ),
            ("regions", count(self.n_regions)),
            (
                "locations",
                format!(
                    "{} of {}, {}",
                    count(self.n_locations),
                    counted(self.n_location_groups, "process", "processes"),
                    counted(self.n_ranks, "rank", "ranks")
                ),
            ),
            ("on", self.machine.clone()),
            ("description", self.description.clone()),
        ];
        for (name, text) in facts.iter().filter(|(_, text)| !text.is_empty()) {
            let first = format!("  {name:<14}");
            page.hanging(&first, 16, text, Paint::Plain);
        }
        for topology in &self.topologies {
            page.hanging(&format!("  {:<14}", "topology"), 16, &topology.text(), Paint::Plain);
        }
        page.heading("metrics");
        let has_value = |metric: &&MetricEntry| metric.total.is_some_and(|total| total != 0.0);
        let (with, without): (Vec<&MetricEntry>, Vec<&MetricEntry>) =
            self.metrics.iter().partition(has_value);
        let name_width = with.iter().map(|metric| metric.name.chars().count()).max().unwrap_or(0);
        let name_width = name_width.min(MAX_NAME_WIDTH);
        let value_width = with.iter().map(|metric| metric.total_text().chars().count()).max().unwrap_or(0);
        for metric in with {
            let hidden = if metric.hidden { "  (hidden)" } else { "" };
            let first = format!("  {:<name_width$}  {:>value_width$}  ", metric.name, metric.total_text());
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
}

impl MetricEntry {
    fn total_text(&self) -> String {
        format!("{} {}", number(self.total), self.unit).trim_end().to_owned()
    }
}

/// Answers for a profile without events.
///
/// # Errors
/// If the answer cannot be written.
pub fn run(session: &ProfileSession<'_>) -> anyhow::Result<Outcome> {
    let common = session.common;
    let (data, more) = ProfileData::new(&session.profile, common.jobs);
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
            data.lines(&mut page);
            page.heading("what was lost, repaired or is doubtful");
            if notices.is_empty() {
                page.text(2, "nothing", Paint::Plain);
            }
            page.lines.extend(notices.iter().map(|notice| format!("  {}", notices::line(notice, style))));
            session.write_page(&page.lines)?;
        }
        OutputFormat::Json => session.write_json("profile-info", &notices, data)?,
        OutputFormat::Csv | OutputFormat::Parquet => session.write_table(&data.table())?,
    }
    Ok(session.end(&notices))
}
