//! What is in a trace, for people.

use crate::notices;
use crate::session::Session;
use crate::terminal::page::wrapped;
use crate::terminal::style::{Paint, Style, clean};
use crate::terminal::units::{count, counted, time};
use ouzel::diagnose::findings::Ranks;
use ouzel::model::Notice;
use ouzel_answers::{InfoAnswer, TopologyAnswer, TopologyDimension};
use std::collections::BTreeSet;

/// Columns of the names of facts.
const NAME_WIDTH: usize = 14;

/// Columns of what can be analysed.
const ABILITY_WIDTH: usize = 32;

/// The page.
pub fn lines(session: &Session<'_>, data: &InfoAnswer, notices: &[Notice]) -> Vec<String> {
    let style = session.style();
    let heading = |text: &str| style.paint(Paint::Heading, text);
    let mut lines = vec![title(session, data, style)];
    for (name, text) in facts(data).iter().filter(|(_, text)| !text.is_empty()) {
        let texts = wrapped(text, session.common.width.saturating_sub(2 + NAME_WIDTH));
        lines.extend(texts.iter().enumerate().map(|(i, text)| {
            let name = if i == 0 { name } else { "" };
            format!("  {}{text}", style.paint(Paint::Dim, &format!("{name:<NAME_WIDTH$}")))
        }));
    }
    lines.extend([String::new(), heading("what can be analysed")]);
    for ability in &data.abilities {
        let (mark, paint) = if ability.available { ("yes", Paint::Good) } else { ("no ", Paint::Dim) };
        let mut reason = ability.reason.clone();
        if !ability.available && !ability.commands.is_empty() {
            reason += &format!("; not possible: {}", ability.commands.join(", "));
        }
        let before = format!("  {}  {:<ABILITY_WIDTH$}", style.paint(paint, mark), ability.what);
        let reasons = wrapped(&reason, session.common.width.saturating_sub(7 + ABILITY_WIDTH));
        lines.extend(reasons.iter().enumerate().map(|(i, reason)| {
            let before = if i == 0 { before.clone() } else { " ".repeat(7 + ABILITY_WIDTH) };
            before + &style.paint(Paint::Dim, reason)
        }));
        if reasons.is_empty() {
            lines.push(before);
        }
    }
    if !data.metrics.is_empty() {
        lines.extend([String::new(), heading("metrics")]);
        lines.extend(data.metrics.iter().map(|metric| {
            clean(&format!("  {}  [{}]  {}  {}", metric.name, metric.unit, metric.mode, metric.description))
                .trim_end()
                .to_owned()
        }));
    }
    lines.extend([String::new(), heading("what was lost, repaired or is doubtful")]);
    if notices.is_empty() {
        lines.push("  nothing".to_owned());
    }
    lines.extend(notices.iter().map(|notice| format!("  {}", notices::line(notice, style))));
    lines
}

fn title(session: &Session<'_>, data: &InfoAnswer, style: Style) -> String {
    let path = style.paint(Paint::Name, &clean(&session.trace.path().display().to_string()));
    let version =
        if data.format_version.is_empty() { String::new() } else { format!(" {}", data.format_version) };
    let creator =
        if data.creator.is_empty() { String::new() } else { format!(" by {}", clean(&data.creator)) };
    format!("{path} · {}{version}{creator}", data.format)
}

fn facts(data: &InfoAnswer) -> Vec<(&'static str, String)> {
    let list = |parts: &[(u64, &str, &str)]| {
        let parts = parts.iter().filter(|(n, ..)| 0 < *n).map(|&(n, one, many)| counted(n, one, many));
        parts.collect::<Vec<_>>().join(", ")
    };
    let machine = if data.machine.is_empty() { String::new() } else { format!(" of {}", data.machine) };
    let nodes = list(&[(data.n_nodes, "node", "nodes")]);
    let kinds: Vec<String> =
        data.events.iter().map(|(kind, n)| format!("{} {kind}", count(n.as_u64().unwrap_or(0)))).collect();
    vec![
        (
            "ran as",
            list(&[
                (data.n_processes, "process", "processes"),
                (data.n_threads, "thread", "threads"),
                (data.n_accelerator_streams, "accelerator stream", "accelerator streams"),
            ]),
        ),
        ("ranks", ranks(data)),
        ("on", if nodes.is_empty() { data.machine.clone() } else { nodes + &machine }),
        ("metrics from", list(&[(data.n_metric_locations, "metric source", "metric sources")])),
        ("span", span(data)),
        ("clock", clock(data)),
        ("events", count(data.n_events)),
        ("", kinds.join(", ")),
        ("call depth", format!("up to {}", count(data.max_call_depth))),
        (
            "defines",
            list(&[
                (data.n_locations, "location", "locations"),
                (data.n_regions, "region", "regions"),
                (data.n_communicators, "communicator", "communicators"),
                (data.metrics.len() as u64, "metric", "metrics"),
            ]),
        ),
        ("topology", data.topologies.iter().map(topology).collect::<Vec<_>>().join("; ")),
    ]
}

/// Which ranks have no events; empty if all have.
fn ranks(data: &InfoAnswer) -> String {
    if data.ranks_without_events.is_empty() {
        return String::new();
    }
    let missing = Ranks::new(data.ranks_without_events.iter().copied());
    let n_locations = data.locations.iter().filter_map(|location| location.rank);
    let known: BTreeSet<u32> = n_locations.chain(missing.list.iter().copied()).collect();
    let n_with_events = known.len() - missing.list.len();
    format!("{n_with_events} of {} have events; no events of {}", known.len(), missing.in_words(usize::MAX))
}

fn span(data: &InfoAnswer) -> String {
    match (data.span_ns, data.start_ns, data.end_ns) {
        (Some(span), Some(start), Some(end)) => {
            format!("{} (from {} to {} after the trace start)", time(span), time(start), time(end))
        }
        _ => "no event".to_owned(),
    }
}

fn clock(data: &InfoAnswer) -> String {
    let correction = match data.clock_correction {
        "applied" => "the trace's clock offsets are applied",
        "none" => "no clock offsets: times of different ranks are compared as recorded",
        _ => "one process, no correction needed",
    };
    format!("{} ticks per second; {correction}", count(data.ticks_per_second))
}

/// Name, axes, and how many places are taken.
pub fn topology(topology: &TopologyAnswer) -> String {
    let axis = |axis: &TopologyDimension| {
        let name = if axis.name.is_empty() { String::new() } else { format!("{} ", axis.name) };
        format!("{name}{}{}", axis.size, if axis.periodic { " (periodic)" } else { "" })
    };
    let axes: Vec<String> = topology.dimensions.iter().map(axis).collect();
    let name = if topology.name.is_empty() { String::new() } else { format!("{}: ", topology.name) };
    let places = topology.n_places.map_or("very many".to_owned(), count);
    let missing = match topology.n_missing {
        Some(0) | None => String::new(),
        Some(n) => format!(", {} missing", count(n)),
    };
    format!(
        "{name}{} · {} of {places} places used by {} {}{missing}",
        axes.join(" × "),
        count(topology.n_taken),
        count(topology.n_members),
        topology.members
    )
}
