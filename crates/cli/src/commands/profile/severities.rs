//! `ouzel profile` of a profile: one metric in each region or call path.

use super::ProfileArgs;
use crate::args::{DEFAULT_TOP, OutputFormat, Scope as ScopeArg};
use crate::exit::Outcome;
use crate::profile_session::ProfileSession;
use crate::terminal::grid::{Grid, GridColumn};
use crate::terminal::page::Page;
use crate::terminal::style::{Paint, Style};
use crate::terminal::units;
use anyhow::{Context, bail};
use ouzel::Profile;
use ouzel::analyses::severities::Grouping;
use ouzel::analyses::severity_cube::Quantity;
use ouzel::model::{Aggregation, MetricId, ProfileMetric, Scope, SeverityError, Table};
use ouzel_answers::SeveritiesAnswer;
use std::collections::BTreeSet;
use wildmatch::WildMatch;

const BAR_WIDTH: usize = 10;

/// Most names of metrics that an error message lists.
const MAX_NAMES: usize = 8;

/// Whether each of the patterns names something that is counted in every trace.
pub fn are_counted(patterns: &[String]) -> bool {
    let names = || Quantity::built_in().filter_map(Quantity::name);
    patterns.iter().all(|pattern| {
        let pattern = WildMatch::new(pattern);
        names().any(|name| pattern.matches(name))
    })
}

/// Runs the command.
///
/// # Errors
/// If there is no such metric, or it cannot be read.
pub fn run(session: &ProfileSession<'_>, args: &ProfileArgs) -> anyhow::Result<Outcome> {
    if args.messages || args.per.is_some() {
        bail!("a profile holds no messages and is summed over locations: --messages and --per need a trace");
    }
    let profile = &session.profile;
    let ids = match &args.metric[..] {
        [] => vec![profile.default_metric().context("the profile defines no metric")?],
        patterns => chosen(profile, patterns)?,
    };
    let [id] = ids[..] else { return several(session, args, &ids) };
    let (scope, grouping) = view(args);
    let definitions = profile.definitions();
    let metric = definitions.metric(id);
    let answer = profile.severities(id, scope, grouping)?;
    let (total, _) = profile.total(id)?;
    let table = answer.table(definitions);
    let notices = session.notices(answer.notices);
    match session.common.format {
        OutputFormat::Table | OutputFormat::Html => {
            session.write_page(&lines(session, args, metric, total, &table))?;
        }
        OutputFormat::Json => {
            let data = SeveritiesAnswer::new(metric, &table, (scope, grouping), total);
            session.write_json("severities", &notices, data)?;
        }
        OutputFormat::Csv | OutputFormat::Parquet => session.write_table(&table)?,
    }
    Ok(session.end(&notices))
}

/// Several metrics for people, one after the other. A metric without values in this scope has a line instead.
fn several(session: &ProfileSession<'_>, args: &ProfileArgs, ids: &[MetricId]) -> anyhow::Result<Outcome> {
    let profile = &session.profile;
    let definitions = profile.definitions();
    if !matches!(session.common.format, OutputFormat::Table | OutputFormat::Html) {
        let n = ids.len();
        bail!("{n} metrics match, but this format holds only one: `ouzel convert --to csv` writes all");
    }
    let (scope, grouping) = view(args);
    let (mut page, mut more) = (Vec::new(), Vec::new());
    for &id in ids {
        let metric = definitions.metric(id);
        match profile.severities(id, scope, grouping) {
            Ok(answer) => {
                let (total, _) = profile.total(id)?;
                page.append(&mut lines(session, args, metric, total, &answer.table(definitions)));
                more.extend(answer.notices);
            }
            Err(error @ SeverityError::NotAdditive { .. }) => page.push(error.to_string()),
            Err(error) => return Err(error.into()),
        }
        page.push(String::new());
    }
    page.pop();
    let notices = session.notices(more);
    session.write_page(&page)?;
    Ok(session.end(&notices))
}

fn view(args: &ProfileArgs) -> (Scope, Grouping) {
    let scope = match args.scope {
        ScopeArg::Exclusive => Scope::Exclusive,
        ScopeArg::Inclusive => Scope::Inclusive,
    };
    (scope, if args.call_paths { Grouping::CallPath } else { Grouping::Region })
}

/// The metrics of these names; a name may be a pattern (`bytes_*`).
///
/// # Errors
/// If a name matches none; the message lists similar names, or all.
pub fn chosen(profile: &Profile, names: &[String]) -> anyhow::Result<Vec<MetricId>> {
    let definitions = profile.definitions();
    let mut ids = Vec::new();
    for name in names {
        let before = ids.len();
        // A name may contain wildcards of patterns, so it is tried as a name first.
        match definitions.metric_by_name(name) {
            Some(id) => ids.push(id),
            None => {
                let pattern = WildMatch::new(name);
                let fits = |id: &MetricId| pattern.matches(&definitions.metric(*id).name);
                ids.extend(definitions.metric_ids().filter(fits));
            }
        }
        if ids.len() == before {
            bail!("the profile has no metric {name:?}; it has: {}", some_of(&profile.near_metrics(name)));
        }
    }
    let mut seen = BTreeSet::new();
    ids.retain(|&id| seen.insert(id));
    Ok(ids)
}

fn some_of(names: &[&str]) -> String {
    match names.len().saturating_sub(MAX_NAMES) {
        0 if names.is_empty() => "none".to_owned(),
        0 => names.join(", "),
        n_more => format!("{} and {n_more} more; ouzel info lists them", names[..MAX_NAMES].join(", ")),
    }
}

fn lines(
    session: &ProfileSession<'_>,
    args: &ProfileArgs,
    metric: &ProfileMetric,
    total: Option<f64>,
    table: &Table,
) -> Vec<String> {
    let (scope, grouping) = view(args);
    let mut page = Page::new(Style::new(session.common.page_colour), session.common.width);
    // Names that HPCToolkit shows already include their unit: `GXCOPY (sec)`.
    let has_unit = metric.unit.is_empty() || metric.display_name.ends_with(')');
    let unit = if has_unit { String::new() } else { format!(" [{}]", metric.unit) };
    let chosen = if args.metric.is_empty() { " (no --metric given)" } else { "" };
    let title = format!("{}{unit}, {}{chosen}", metric.display_name, scope.as_str());
    page.text(0, &title, Paint::Heading);
    let n_rows = table.n_rows();
    let what = if args.call_paths { ("call path", "call paths") } else { ("region", "regions") };
    if n_rows == 0 {
        page.text(0, "no call path has a value", Paint::Dim);
        return page.lines;
    }
    let n_shown = match args.top.unwrap_or(DEFAULT_TOP) {
        0 => n_rows,
        top => top.min(n_rows),
    };
    let shown = table.picked(&(0..n_shown).collect::<Vec<_>>());
    page.grid(0, &grid(&shown, metric, (scope, grouping), total));
    if n_shown < n_rows {
        let n_hidden = units::counted((n_rows - n_shown) as u64, "more row", "more rows");
        page.text(0, &format!("… {n_hidden}: --top 0 shows all"), Paint::Dim);
    }
    let n_locations = session.profile.definitions().locations.len() as u64;
    let text = format!(
        "{} · {} in total · {}",
        units::counted(n_rows as u64, what.0, what.1),
        units::number(total),
        units::counted(n_locations, "location", "locations")
    );
    page.text(0, &text, Paint::Dim);
    page.lines
}

fn grid(
    shown: &Table,
    metric: &ProfileMetric,
    (scope, grouping): (Scope, Grouping),
    total: Option<f64>,
) -> Grid {
    let totals = shown.values::<Option<f64>>("total");
    let column = |name: &str, title: &str| GridColumn::of(shown, name, title);
    let name = match grouping {
        Grouping::CallPath => ("call_path", "call path"),
        Grouping::Region => ("region", "region"),
    };
    let mut grid = Grid::default().with(column(name.0, name.1).naming()).with(column("total", "total"));
    // Parts exist only of a sum that is not zero, and not of a difference.
    let is_part = |value: &Option<f64>| value.is_none_or(|value| value >= 0.0);
    if metric.aggregation == Aggregation::Sum
        && totals.iter().all(is_part)
        && total.is_some_and(|all| all > 0.0)
    {
        let share = |value: &Option<f64>| value.zip(total).map(|(value, all)| value / all);
        grid =
            grid.with(GridColumn::numbers("share", totals.iter().map(|value| units::percent(share(value)))));
        if scope == Scope::Exclusive {
            let per_mille = |value: &Option<f64>| (share(value).unwrap_or(0.0) * 1000.0) as u64;
            let largest = totals.iter().map(per_mille).max().unwrap_or(0);
            let bars = totals.iter().map(|value| units::bar(per_mille(value), largest, BAR_WIDTH));
            grid = grid.with(GridColumn::text("", bars).painted(Paint::Bar).optional(2));
        }
    }
    grid.with(column("mean", "mean").optional(3))
        .with(column("min", "min").optional(4))
        .with(column("max", "max").optional(1))
        .with(column("max_rank", "at rank").optional(2))
        .with(column("max_location", "location").optional(5))
}
