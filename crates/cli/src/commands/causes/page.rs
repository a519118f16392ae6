//! Bottlenecks and their causes for people.

use super::CausesArgs;
use crate::profile_session::ProfileSession;
use crate::terminal::grid::{Grid, GridColumn};
use crate::terminal::names::call_path;
use crate::terminal::page::Page;
use crate::terminal::style::{Paint, Style};
use crate::terminal::{measured, units};
use ouzel::causes::{
    BetweenProcesses, Causes, Classified, Critical, ExternalCause, InRegion, InternalCause, RegionName,
    TableCard, TimeKind, Unit,
};
use ouzel_plot::ranks;

/// Clusters that are shown with their times.
const MAX_CLUSTERS: usize = 8;
/// Rows of a table that are shown.
const MAX_ROWS: usize = 40;
/// Words for the classes.
const CLASSES: [&str; 5] = ["very low", "low", "medium", "high", "very high"];

/// The page.
pub fn lines(session: &ProfileSession<'_>, args: &CausesArgs, causes: &Causes) -> Vec<String> {
    let mut page = Page::new(Style::new(session.common.page_colour), session.common.width);
    external(&mut page, causes);
    internal(&mut page, causes);
    if args.tables {
        let tables = [("processes", &causes.tables.external), ("regions", &causes.tables.internal)];
        for (of, table) in tables {
            if let Some(table) = table {
                decisions(&mut page, of, table);
            }
        }
    }
    foot(&mut page, causes);
    page.lines.remove(0);
    page.lines
}

fn time(causes: &Causes, value: f64) -> String {
    if causes.time.unit == "sec" && (0.0..1e9).contains(&value) {
        units::time((value * 1e9).round() as u64)
    } else {
        units::number(Some(value))
    }
}

fn name(region: &RegionName, room: usize) -> String {
    let path = call_path(&region.call_path, room);
    if region.itself { format!("{path} (itself)") } else { path }
}

fn names(regions: &[RegionName], room: usize) -> String {
    regions.iter().map(|region| name(region, room)).collect::<Vec<_>>().join(" + ")
}

fn unit_word(unit: Unit, n: u64) -> String {
    match unit {
        Unit::Rank => units::counted(n, "rank", "ranks"),
        Unit::Location => units::counted(n, "thread", "threads"),
    }
}

fn of_time(causes: &Causes) -> String {
    let what = match causes.time.kind {
        TimeKind::Cpu => "CPU time",
        TimeKind::Wall => "time",
        TimeKind::Cycles => "cycles",
        TimeKind::Named => "metric",
    };
    let outside = if causes.time.without_communication { ", outside of communication" } else { "" };
    format!("{what} ({}{outside})", causes.time.metric)
}

fn external(page: &mut Page, causes: &Causes) {
    let external = &causes.external;
    let n = causes.processes.n;
    page.heading("Between processes: external bottlenecks");
    if n < 2 {
        page.text(2, "Only one process: there is nothing to compare.", Paint::Dim);
        return;
    }
    let severity = external.severity.map_or_else(|| "infinite".to_owned(), |s| units::number(Some(s)));
    let compared = format!("{} compared by {}", unit_word(causes.processes.unit, n), of_time(causes));
    if external.clusters.len() < 2 {
        let text = format!("None: all are alike. {compared}; severity of the differences {severity}.");
        page.text(2, &text, Paint::Plain);
        return;
    }
    let kinds = units::counted(external.clusters.len() as u64, "kind", "kinds");
    page.text(
        2,
        &format!("{kinds} of processes: {compared}; severity of the differences {severity}."),
        Paint::Plain,
    );
    clusters(page, causes);
    if external.ccr.is_empty() {
        page.text(2, &spread_out(causes), Paint::Plain);
        return;
    }
    page.gap();
    page.text(2, "Where they differ (critical regions; * marks the core, where to look)", Paint::Plain);
    critical(page, causes);
    for cause in external.causes.iter().filter(|cause| cause.differs_by_itself) {
        page.gap();
        why_different(page, cause);
    }
    let alike: Vec<String> = external
        .causes
        .iter()
        .filter(|cause| !cause.differs_by_itself)
        .map(|c| name(&c.region, 40))
        .collect();
    if !alike.is_empty() {
        page.gap();
        let text = format!("Alike in time, but the kinds change without them: {}.", alike.join(", "));
        page.hanging("  ", 2, &text, Paint::Dim);
    }
    if let Some(table) = causes.tables.external.as_ref().filter(|table| table.n_inconsistent > 0) {
        let pairs = units::counted(table.n_inconsistent, "pair", "pairs");
        page.text(2, &format!("{pairs} of processes of different kinds differ in no attribute."), Paint::Dim);
    }
    other_explanations(
        page,
        causes.tables.external.as_ref(),
        "attributes that differ with the kinds of processes",
    );
}

fn spread_out(causes: &Causes) -> String {
    let n = causes.external.n_composites.unwrap_or(0);
    let cut = if causes.external.is_truncated { ", the maximum" } else { "" };
    let tried = match n {
        0 => String::new(),
        n => {
            let n = units::counted(n, "combination tried", "combinations tried");
            format!(", nor do a few together ({n}{cut})")
        }
    };
    format!(
        "No single region makes the difference{tried}: it is spread over the regions. Compare the machines that \
         the processes run on, and how much work each has."
    )
}

fn clusters(page: &mut Page, causes: &Causes) {
    let all = &causes.external.clusters;
    let shown = &all[..all.len().min(MAX_CLUSTERS)];
    let members = |cluster: &ouzel::causes::Cluster| {
        let numbers: Vec<u32> = cluster.processes.iter().map(|&n| n as u32).collect();
        ranks::text(&numbers, 60)
    };
    let unit = if causes.processes.unit == Unit::Rank { "ranks" } else { "threads" };
    let grid = Grid::default()
        .with(GridColumn::numbers("kind", (0..shown.len()).map(|at| at.to_string())))
        .with(GridColumn::numbers("of", shown.iter().map(|cluster| cluster.processes.len().to_string())))
        .with(GridColumn::numbers("time each", shown.iter().map(|cluster| time(causes, cluster.time))))
        .with(GridColumn::text(unit, shown.iter().map(members)).painted(Paint::Name).shortened());
    page.grid(2, &grid);
    if shown.len() < all.len() {
        page.text(2, &format!("… {} more kinds", all.len() - shown.len()), Paint::Dim);
    }
}

fn critical(page: &mut Page, causes: &Causes) {
    let external = &causes.external;
    let room = page.width.saturating_sub(40).max(20);
    let is_core = |ccr: &Critical| external.cccr.iter().any(|core| core.regions == ccr.regions);
    let region = |ccr: &Critical| {
        let indent = "  ".repeat(ccr.level as usize - 1);
        format!("{indent}{}{}", names(&ccr.regions, room), if is_core(ccr) { " *" } else { "" })
    };
    let mut grid = Grid::default()
        .with(GridColumn::text("region", external.ccr.iter().map(region)).painted(Paint::Name).shortened());
    for cluster in 0..external.clusters.len().min(MAX_CLUSTERS) {
        let cells = external.ccr.iter().map(|ccr| time(causes, ccr.time_by_cluster[cluster]));
        let column = GridColumn::numbers(&format!("kind {cluster}"), cells);
        grid = grid.with(column.optional(cluster as u8));
    }
    page.grid(4, &grid);
}

fn why_different(page: &mut Page, cause: &ExternalCause) {
    let room = page.text_width().saturating_sub(20);
    page.text(2, &format!("Why {} differs", name(&cause.region, room)), Paint::Plain);
    for attribute in &cause.explained_by {
        page.hanging("    ", 6, &difference(attribute), Paint::Plain);
        page.text(6, &attribute.advice, Paint::Dim);
    }
    unexplained(page, &cause.unexplained_by, &cause.measure_next);
}

fn difference(attribute: &BetweenProcesses) -> String {
    let lowest = attribute.by_cluster.iter().copied().fold(f64::INFINITY, f64::min);
    let highest = attribute.by_cluster.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let ratio =
        attribute.ratio.map(|ratio| format!(" (× {})", units::number(Some(ratio)))).unwrap_or_default();
    let together = match attribute.correlation {
        Some(r) => format!("; correlation with time here {r:.2}"),
        None => String::new(),
    };
    format!(
        "{}: from {} to {} by kind{ratio}{together}",
        attribute.label,
        measured::value(lowest, &attribute.unit),
        measured::value(highest, &attribute.unit)
    )
}

fn unexplained(page: &mut Page, by: &[String], measure: &[String]) {
    if measure.is_empty() {
        return;
    }
    let by = if by.is_empty() { "what was measured".to_owned() } else { by.join(", ") };
    page.hanging("    ", 6, &format!("not explained by {by}"), Paint::Doubtful);
    page.hanging("    ", 6, &format!("measure next: {}", measure.join("; ")), Paint::Plain);
}

fn internal(page: &mut Page, causes: &Causes) {
    let internal = &causes.internal;
    page.heading("Within processes: internal bottlenecks");
    let by = if internal.has_cycles_per_instruction {
        "share of time × cycles per instruction"
    } else {
        "share of time alone, because cycles and instructions are not both counted"
    };
    if internal.cccr.is_empty() {
        let text = format!("None: no region stands out by {by}.");
        page.text(2, &text, Paint::Plain);
        return;
    }
    page.text(2, &format!("Regions in five classes by {by}."), Paint::Plain);
    classes(page, causes);
    for cause in &internal.causes {
        page.gap();
        why_costly(page, cause);
    }
    other_explanations(
        page,
        causes.tables.internal.as_ref(),
        "attributes that distinguish critical regions from others",
    );
}

fn classes(page: &mut Page, causes: &Causes) {
    let internal = &causes.internal;
    let room = page.width.saturating_sub(40).max(20);
    let is_core = |row: &Classified| internal.cccr.iter().any(|core| core.region == row.region);
    let region =
        |row: &Classified| format!("{}{}", name(&row.region, room), if is_core(row) { " *" } else { "" });
    let mut rows: Vec<&Classified> = internal.classes.iter().filter(|row| row.class >= 2).collect();
    rows.sort_by(|a, b| b.weight.total_cmp(&a.weight));
    rows.truncate(MAX_ROWS);
    let mut grid = Grid::default()
        .with(GridColumn::text("class", rows.iter().map(|row| CLASSES[usize::from(row.class)].to_owned())))
        .with(
            GridColumn::text("region (* marks the core, where to look)", rows.iter().map(|row| region(row)))
                .painted(Paint::Name)
                .shortened(),
        )
        .with(GridColumn::numbers("share", rows.iter().map(|row| units::percent(Some(row.share)))));
    if internal.has_cycles_per_instruction {
        grid =
            grid.with(GridColumn::numbers("weight", rows.iter().map(|row| units::number(Some(row.weight)))));
    }
    page.grid(2, &grid);
}

fn why_costly(page: &mut Page, cause: &InternalCause) {
    let room = page.text_width().saturating_sub(20);
    page.text(2, &format!("Why {} is costly", name(&cause.region, room)), Paint::Plain);
    for attribute in &cause.explained_by {
        page.hanging("    ", 6, &height(attribute), Paint::Plain);
        page.text(6, &attribute.advice, Paint::Dim);
    }
    unexplained(page, &cause.unexplained_by, &cause.measure_next);
    if !cause.also_high.is_empty() {
        let others: Vec<String> = cause.also_high.iter().map(height).collect();
        page.hanging("    ", 6, &format!("also high: {}", others.join("; ")), Paint::Dim);
    }
}

fn height(attribute: &InRegion) -> String {
    let share =
        attribute.share_of_program.map(|share| format!(", {} of the program's", units::percent(Some(share))));
    format!(
        "{}: {}{}, {} where it is not high",
        attribute.label,
        measured::value(attribute.mean, &attribute.unit),
        share.unwrap_or_default(),
        measured::value(attribute.elsewhere, &attribute.unit)
    )
}

/// Explanations as good as the first.
fn other_explanations(page: &mut Page, table: Option<&TableCard>, what: &str) {
    let Some(table) = table else { return };
    let equal: Vec<String> = table
        .explanations
        .iter()
        .skip(1)
        .take_while(|other| other.multiplicity == table.explanations[0].multiplicity)
        .map(|other| other.attributes.join(" and "))
        .collect();
    if !equal.is_empty() {
        page.gap();
        page.hanging("  ", 2, &format!("Equally good {what}: {}.", equal.join("; or ")), Paint::Dim);
    }
    if table.is_truncated {
        page.text(2, "The search for explanations was cut short; there may be others.", Paint::Doubtful);
    }
}

fn decisions(page: &mut Page, of: &str, table: &TableCard) {
    page.heading(&format!("Decision table of {of}"));
    let rows = &table.rows[..table.rows.len().min(MAX_ROWS)];
    let room = page.width.saturating_sub(40).max(20);
    let who = |row: &ouzel::causes::RowCard| match (&row.region, row.process) {
        (Some(region), _) => name(region, room),
        (None, process) => process.map_or_else(String::new, |process| process.to_string()),
    };
    let title = if of == "regions" { "region" } else { "process" };
    let mut grid = Grid::default().with(GridColumn::text(title, rows.iter().map(who)).naming());
    for (at, attribute) in table.attributes.iter().enumerate() {
        let column = GridColumn::numbers(attribute, rows.iter().map(|row| row.values[at].to_string()));
        grid = grid.with(column.optional(at as u8));
    }
    grid = grid.with(GridColumn::numbers("decision", rows.iter().map(|row| row.decision.to_string())));
    page.grid(2, &grid);
    if rows.len() < table.rows.len() {
        let n = (table.rows.len() - rows.len()) as u64;
        page.text(
            2,
            &format!("… {}: --format json has all", units::counted(n, "more row", "more rows")),
            Paint::Dim,
        );
    }
    let core = if table.core.is_empty() { "none".to_owned() } else { table.core.join(", ") };
    page.text(
        2,
        &format!("core: {core}; pairs that cannot be distinguished: {}", table.n_inconsistent),
        Paint::Plain,
    );
}

fn foot(page: &mut Page, causes: &Causes) {
    page.gap();
    let attributes: Vec<&str> =
        causes.tables.attributes.iter().filter(|a| !a.is_zero).map(|a| &*a.label).collect();
    let attributes = if attributes.is_empty() { "none".to_owned() } else { attributes.join(", ") };
    let excluded = &causes.processes.excluded;
    let left_out = if excluded.is_empty() {
        String::new()
    } else {
        let numbers: Vec<u32> = excluded.iter().map(|&rank| rank as u32).collect();
        format!(" · without {}", ranks::named(&numbers, 40))
    };
    let program = causes.regions.program.last().map(|region| format!(" below {region}")).unwrap_or_default();
    let text = format!(
        "{}{program} · {} of {}{left_out} · attributes: {attributes}",
        units::counted(causes.regions.n, "region", "regions"),
        unit_word(causes.processes.unit, causes.processes.n),
        units::counted(causes.processes.n_locations, "location", "locations"),
    );
    page.text(0, &text, Paint::Dim);
}
