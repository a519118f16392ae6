//! The ranked views for people.

use super::CorrelateArgs;
use crate::profile_session::ProfileSession;
use crate::terminal::grid::{Grid, GridColumn};
use crate::terminal::page::Page;
use crate::terminal::style::{Paint, Style, clean};
use crate::terminal::units;
use ouzel::correlate::{CacheUse, Correlation};
use ouzel::{Correlated, Placed, TopologyOrigin};
use ouzel_plot::pictures::view_path;

/// The page.
pub fn lines(session: &ProfileSession<'_>, args: &CorrelateArgs, correlated: &Correlated) -> Vec<String> {
    let definitions = session.profile.definitions();
    let mut page = Page::new(Style::new(session.common.page_colour), session.common.width);
    let path = clean(&session.profile.path().display().to_string());
    page.lines.push(page.style.paint(Paint::Heading, &path));
    page.text(0, &reference(session, args, correlated), Paint::Plain);
    page.text(0, &topology(correlated), Paint::Plain);
    let rows = &correlated.answer.rows;
    page.gap();
    if rows.is_empty() {
        page.text(0, "no other view has a nonzero value", Paint::Plain);
        return page.lines;
    }
    page.grid(
        0,
        &grid(
            correlated,
            |row| definitions.metric(row.view.metric).name.to_string(),
            |row| view_path(definitions, row.view.path),
        ),
    );
    page.text(0, &counts(correlated), Paint::Dim);
    page.lines
}

/// The page of one view at its places.
pub fn placed(session: &ProfileSession<'_>, args: &CorrelateArgs, placed: &Placed) -> Vec<String> {
    let definitions = session.profile.definitions();
    let metric = definitions.metric(placed.view.metric);
    let mut page = Page::new(Style::new(session.common.page_colour), session.common.width);
    let path = clean(&session.profile.path().display().to_string());
    page.lines.push(page.style.paint(Paint::Heading, &path));
    let view = format!(
        "{} ({}) of {}",
        metric.display_name,
        placed.scope.as_str(),
        view_path(definitions, placed.view.path)
    );
    page.text(0, &view, Paint::Plain);
    page.text(0, &format!("over {}", places(&placed.grid, placed.origin)), Paint::Plain);
    page.gap();
    let located: Vec<usize> =
        (0..placed.grid.n_places()).filter(|&at| placed.grid.location(at).is_some()).collect();
    let shown = &located[..args.top().map_or(located.len(), |top| top.get().min(located.len()))];
    let ranks = placed.ranks(definitions);
    let axes: Vec<String> = (0..placed.grid.axes().len()).map(|i| placed.grid.axis_name(i)).collect();
    let coordinates = |&at: &usize| {
        let texts: Vec<String> = placed.grid.coordinates(at).iter().map(ToString::to_string).collect();
        texts.join(" ")
    };
    let rank = |&at: &usize| ranks[at].map_or_else(|| "-".to_owned(), |rank| rank.to_string());
    let value = |&at: &usize| match placed.values[at] {
        value if value.is_finite() => units::number(Some(value)),
        _ => "-".to_owned(),
    };
    let title = match &*metric.unit {
        "" => metric.display_name.to_string(),
        unit => format!("{} ({unit})", metric.display_name),
    };
    let grid = Grid::default()
        .with(GridColumn::numbers(&axes.join(" "), shown.iter().map(coordinates)))
        .with(GridColumn::numbers("rank", shown.iter().map(rank)))
        .with(GridColumn::numbers(&title, shown.iter().map(value)));
    page.grid(0, &grid);
    if shown.len() < located.len() {
        let (n, all) = (units::count(shown.len() as u64), units::count(located.len() as u64));
        page.text(0, &format!("{n} of {all} places · --all shows all"), Paint::Dim);
    }
    page.lines
}

/// What is compared with what.
fn reference(session: &ProfileSession<'_>, args: &CorrelateArgs, correlated: &Correlated) -> String {
    let definitions = session.profile.definitions();
    let view = correlated.question.reference;
    let metric = definitions.metric(view.metric);
    let path = view_path(definitions, view.path);
    let chosen = match (&args.metric, &args.call_path) {
        (Some(_), Some(_)) => "",
        (None, Some(_)) => " (no --metric given)",
        (Some(_), None) => " (no --path given: the one with the largest total)",
        (None, None) => " (no --metric and --path given: the largest total)",
    };
    format!(
        "views that vary with {} ({}) of {path}{chosen}",
        metric.display_name,
        correlated.question.scope.as_str()
    )
}

/// Over what, and which variation counts.
fn topology(correlated: &Correlated) -> String {
    let Correlated { grid, question, origin, answer, .. } = correlated;
    let names = |is_kept: bool| -> Vec<String> {
        let axes = (0..grid.axes().len()).filter(|&i| question.axes.contains(i) == is_kept);
        axes.map(|i| grid.axis_name(i)).collect()
    };
    let filtered = names(false);
    let filter = if filtered.is_empty() {
        "variation along all axes counts".to_owned()
    } else {
        let share = units::percent(Some(answer.kept));
        format!(
            "variation along {} counts, that along {} is filtered out, which leaves {share} of the variance",
            names(true).join(", "),
            filtered.join(", ")
        )
    };
    format!("over {}; {filter}", places(grid, *origin))
}

/// A topology in words: where it is from, its axes, how much of it is used.
fn places(grid: &ouzel::correlate::Grid, origin: TopologyOrigin) -> String {
    let axis = |i: usize| match (&*grid.axes()[i].name, grid.axes()[i].size) {
        ("", size) => format!("axis {i}: {size}"),
        (name, size) => format!("{} {size}", clean(name)),
    };
    let axes: Vec<String> = (0..grid.axes().len()).map(axis).collect();
    let from = match origin {
        TopologyOrigin::Defined => "of the profile",
        TopologyOrigin::SystemTree => "from the system tree",
        TopologyOrigin::ByHand => "given by hand",
    };
    let name = if origin == TopologyOrigin::Defined && !grid.name().is_empty() {
        format!("topology {:?} ", grid.name())
    } else {
        "topology ".to_owned()
    };
    let (n_located, n_places) = (grid.n_located() as u64, grid.n_places() as u64);
    let places = if n_located == n_places {
        format!("all {} places used", units::count(n_places))
    } else {
        format!("{} of {} places used", units::count(n_located), units::count(n_places))
    };
    format!("{name}{from}: {} ({places})", axes.join(" × "))
}

fn grid(
    correlated: &Correlated,
    metric: impl Fn(&Correlation) -> String,
    path: impl Fn(&Correlation) -> String,
) -> Grid {
    let rows = &correlated.answer.rows;
    let texts = |text: &dyn Fn(&Correlation) -> String| rows.iter().map(text).collect::<Vec<_>>();
    let axes: Vec<String> = (0..correlated.grid.axes().len()).map(|i| correlated.grid.axis_name(i)).collect();
    let shift = |row: &Correlation| {
        let steps: Vec<String> =
            correlated.grid.signed_shift(&row.shift).iter().map(ToString::to_string).collect();
        steps.join(" ")
    };
    let sign = |row: &Correlation| match row.r {
        r if r > 0.0 => "like".to_owned(),
        r if r < 0.0 => "against".to_owned(),
        _ => "-".to_owned(),
    };
    let number = |value: f64| format!("{value:.4}");
    let ranks: Vec<String> = (1..=rows.len()).map(|n| n.to_string()).collect();
    Grid::default()
        .with(GridColumn::numbers("", ranks))
        .with(GridColumn::numbers("r", texts(&|row| number(row.r))))
        .with(GridColumn::text("sign", texts(&sign)))
        .with(GridColumn::numbers(&format!("shift {}", axes.join(" ")), texts(&shift)))
        .with(GridColumn::text("metric", texts(&metric)).naming())
        .with(GridColumn::text("call path", texts(&path)).painted(Paint::Name).shortened())
        .with(GridColumn::numbers("r_max", texts(&|row| number(row.r_max))).optional(2))
        .with(GridColumn::numbers("r_min", texts(&|row| number(row.r_min))).optional(2))
        .with(GridColumn::numbers("coverage", texts(&|row| units::percent(Some(row.coverage)))).optional(1))
}

fn counts(correlated: &Correlated) -> String {
    let answer = &correlated.answer;
    let shown = answer.rows.len() as u64;
    let mut text = format!(
        "{} of {}",
        units::count(shown),
        units::counted(answer.n_views, "nonzero view", "nonzero views")
    );
    if shown < answer.n_views {
        if answer.n_transformed < answer.n_views {
            let n = units::count(answer.n_transformed);
            text += &format!(" · {n} transformed; the others cannot be among these");
        }
        text += " · --all shows all";
    }
    match &answer.cache {
        CacheUse::Read { file } => text += &format!(" · spectra from {}", clean(&file.display().to_string())),
        CacheUse::Written { file, n_bytes } => {
            let size = units::bytes(*n_bytes);
            text += &format!(" · spectra kept in {} ({size})", clean(&file.display().to_string()));
        }
        CacheUse::Off | CacheUse::NotWorth | CacheUse::Failed => {}
    }
    text
}
