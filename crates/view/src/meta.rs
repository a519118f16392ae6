//! What is known of a run before any pass: its name, its rows, its regions and what can be asked.

use crate::run::Run;
use ouzel::analyses::semantics::{Category, Class, Family, Semantics};
use ouzel::model::{
    Definitions, Filter, LocationId, LocationKind, Marker, Region, RegionId, Ticks, short_name,
};
use ouzel_plot::colour::{self, Colour};
use serde::Serialize;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// Bins of a tile.
pub(crate) const TILE_BINS: usize = 256;
/// Rows of a tile.
pub(crate) const TILE_ROWS: usize = 64;

/// Kinds of time by which rows are coloured. The last one is the rest: outside of every region.
const CATEGORIES: [&str; 5] = ["computation", "wait", "synchronization", "runtime", "other"];

/// The place of a class among [`CATEGORIES`].
pub(crate) fn category(class: Class) -> u8 {
    match (class.category, class.family) {
        (Category::Computation, Family::User) => 0,
        (Category::Wait, _) => 1,
        (Category::Synchronization, _) => 2,
        (Category::Computation, _) => 3,
    }
}

fn colours(category: usize) -> (Colour, Colour) {
    let opaque = |colour: Colour| Colour { alpha: 255, ..colour };
    let of = |category| opaque(colour::of_category_alone(category));
    let both = |colour| (colour, colour);
    match category {
        0 => both(of(Category::Computation)),
        1 => both(of(Category::Wait)),
        2 => both(of(Category::Synchronization)),
        3 => both(Colour::receiving()),
        _ => (Colour::OUTSIDE, Colour::OUTSIDE),
    }
}

/// The rows of a run: locations by rank, those without one last.
#[derive(Debug, Clone, Default)]
pub(crate) struct Rows {
    pub locations: Vec<LocationId>,
}

impl Rows {
    pub fn new(definitions: &Definitions) -> Self {
        let mut locations: Vec<LocationId> = definitions.location_ids().collect();
        locations.sort_by_key(|&id| {
            let location = definitions.location(id);
            (location.rank.is_none(), location.rank, location.kind, location.group, id)
        });
        Rows { locations }
    }

    /// Those that a filter selects.
    pub fn selected(mut self, definitions: &Definitions, filter: &Filter) -> Self {
        if let Some(ranks) = &filter.ranks {
            self.locations
                .retain(|&id| definitions.location(id).rank.is_some_and(|rank| ranks.contains(rank)));
        }
        self
    }

    /// The locations of a block of rows.
    pub fn of_block(&self, block: usize) -> Vec<LocationId> {
        self.locations.chunks(TILE_ROWS).nth(block).unwrap_or_default().to_vec()
    }

    /// For each row the first of its rank, if that is another one.
    fn parents(&self, definitions: &Definitions) -> Vec<Option<usize>> {
        let mut of_groups = vec![None; definitions.location_groups.len()];
        // Rows are sorted by rank.
        let (mut last, mut of_last) = (None, 0);
        let parent = |(row, &id): (usize, &LocationId)| {
            let location = definitions.location(id);
            if location.rank.is_some() && last != location.rank {
                (last, of_last) = (location.rank, row);
            }
            let of_group = &mut of_groups[location.group.index()];
            let first = if location.rank.is_some() { of_last } else { *of_group.get_or_insert(row) };
            (first != row).then_some(first)
        };
        self.locations.iter().enumerate().map(parent).collect()
    }
}

#[derive(Serialize)]
struct MetaRegion<'a> {
    id: usize,
    name: &'a str,
    /// Without the parameters of C++, if it has some.
    #[serde(skip_serializing_if = "Option::is_none")]
    short: Option<String>,
    category: u8,
}

fn region<'a>(at: usize, region: &'a Region, class: Class) -> MetaRegion<'a> {
    let short = Some(short_name(&region.name)).filter(|short| **short != *region.name);
    MetaRegion { id: at, name: &region.name, short: short.map(Cow::into_owned), category: category(class) }
}

/// Each number as its difference to the one before, from 0 on, as [`runs`]: those of 100,000 rows that count up are one.
fn steps(numbers: impl Iterator<Item = Option<u64>>) -> Vec<(Option<i128>, usize)> {
    let mut last = 0;
    let mut step = |number: u64| {
        let before = std::mem::replace(&mut last, i128::from(number));
        i128::from(number) - before
    };
    runs(numbers.map(|number| number.map(&mut step)))
}

/// Each value with how often it comes in turn.
fn runs<T: PartialEq>(values: impl Iterator<Item = T>) -> Vec<(T, usize)> {
    let mut runs: Vec<(T, usize)> = Vec::new();
    for value in values {
        match runs.last_mut() {
            Some((last, n)) if *last == value => *n += 1,
            _ => runs.push((value, 1)),
        }
    }
    runs
}

fn kind(kind: LocationKind) -> &'static str {
    match kind {
        LocationKind::CpuThread | LocationKind::Unknown => "thread",
        LocationKind::AcceleratorStream => "stream",
        LocationKind::Metric => "metric",
    }
}

/// Names and colours of the kinds of time.
fn categories() -> Vec<Value> {
    let category = |at| {
        let (light, dark): (Colour, Colour) = colours(at);
        json!({"name": CATEGORIES[at], "colour_light": light.css(), "colour_dark": dark.css()})
    };
    (0..CATEGORIES.len()).map(category).collect()
}

/// The document about a timeline that answers no questions, with the regions that it shows.
pub(crate) fn of_timeline(
    trace: &ouzel::Trace,
    semantics: &Semantics,
    rows: &Rows,
    shown: &BTreeSet<RegionId>,
    (time_ns, tiles): (&Value, &Value),
) -> Value {
    let definitions = trace.definitions();
    let classes = semantics.classes(definitions);
    let regions: Vec<MetaRegion<'_>> =
        shown.iter().map(|&id| region(id.index(), definitions.region(id), classes[id.index()])).collect();
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "name": trace.path().display().to_string(),
        "format": trace.format().as_str(),
        "time_ns": time_ns,
        "n_locations": rows.locations.len(),
        "locations": locations(definitions, rows),
        "markers": markers(trace, rows),
        "regions": regions,
        "categories": categories(),
        "tiles": tiles,
        "abilities": {
            "questions": false, "messages": false, "collectives": false, "counters": false, "topology": false,
            "profile_only": false, "waits": false, "iterations": false,
        },
    })
}

/// The rows, as columns of [`runs`]: much is the same in most rows.
fn locations(definitions: &Definitions, rows: &Rows) -> Value {
    let parents = rows.parents(definitions);
    let of_rows = || rows.locations.iter().map(|&id| definitions.location(id));
    json!({
        "id": steps(of_rows().map(|location| Some(location.native_id))),
        "rank": steps(of_rows().map(|location| location.rank.map(|rank| u64::from(rank.0)))),
        "name": runs(of_rows().map(|location| &*location.name)),
        "kind": runs(of_rows().map(|location| kind(location.kind))),
        "parent_row": steps(parents.iter().map(|parent| parent.map(|row| row as u64))),
    })
}

/// The markers of the rows and of the whole run, by time.
fn markers(trace: &ouzel::Trace, rows: &Rows) -> Vec<Value> {
    let markers = trace.source().markers();
    if markers.is_empty() {
        return Vec::new();
    }
    let row_of: BTreeMap<LocationId, usize> =
        rows.locations.iter().zip(0..).map(|(&id, row)| (id, row)).collect();
    let ns = |ticks| trace.definitions().clock.ns_from_ticks(ticks);
    let marker = |marker: &Marker| {
        let row = match marker.location {
            Some(location) => Some(*row_of.get(&location)?),
            None => None,
        };
        let end = Ticks(marker.time.0.saturating_add(marker.length.0));
        let names = [&*marker.group, &*marker.category].into_iter().filter(|name| !name.is_empty());
        Some(json!({
            "time_ns": [ns(marker.time), ns(end)],
            "row": row,
            "name": names.collect::<Vec<_>>().join(": "),
            "text": &*marker.text,
            "level": marker.level,
        }))
    };
    markers.iter().filter_map(marker).collect()
}

/// The document about a run; `tiles` is what is known of them, `end_ns` the end of the run as far as known.
pub(crate) fn meta(run: &Run, all: &[Run], rows: &Rows, end_ns: u64, tiles: &Value) -> Value {
    let names: Vec<String> = all.iter().map(|run| run.path().display().to_string()).collect();
    let mut meta = json!({
        "version": env!("CARGO_PKG_VERSION"),
        "name": run.path().display().to_string(),
        "time_ns": [0, end_ns],
        "categories": categories(),
        "tiles": tiles,
        "runs": names,
    });
    let own = match run {
        Run::Trace(trace) => of_trace(trace, rows),
        Run::Profile(profile) => {
            let definitions = profile.definitions();
            json!({
                "format": profile.format().as_str(),
                "n_locations": definitions.locations.len(),
                "locations": {"id": [], "rank": [], "name": [], "kind": [], "parent_row": []},
                "regions": [],
                "abilities": {
                    "messages": false, "collectives": false, "counters": false,
                    "topology": !profile.topologies().is_empty(), "profile_only": true,
                    "waits": false, "iterations": false,
                },
            })
        }
    };
    if let (Value::Object(meta), Value::Object(own)) = (&mut meta, own) {
        meta.extend(own);
    }
    meta
}

fn of_trace(trace: &ouzel::Trace, rows: &Rows) -> Value {
    let definitions = trace.definitions();
    let classes = Semantics::default().classes(definitions);
    let regions: Vec<MetaRegion<'_>> = definitions
        .regions
        .iter()
        .enumerate()
        .map(|(at, of)| region(at, of, classes[RegionId::from_index(at).index()]))
        .collect();
    let has_ranks = 1 < definitions.ranks().len();
    // With two threads the system tree is a topology.
    let is_thread = |id: &LocationId| {
        matches!(definitions.location(*id).kind, LocationKind::CpuThread | LocationKind::Unknown)
    };
    let has_topology =
        !definitions.topologies.is_empty() || 1 < rows.locations.iter().filter(|id| is_thread(id)).count();
    // Formats that do not count their events declare none.
    let declared = definitions.locations.iter().filter_map(|it| it.declared_events);
    let n_events = declared.fold(0, u64::saturating_add);
    json!({
        "format": trace.format().as_str(),
        "n_locations": definitions.locations.len(),
        "n_events": n_events,
        "locations": locations(definitions, rows),
        "markers": markers(trace, rows),
        "regions": regions,
        "abilities": {
            "messages": has_ranks, "collectives": has_ranks,
            "counters": !definitions.metrics.is_empty(),
            "topology": has_topology,
            "profile_only": false, "waits": has_ranks, "iterations": true,
        },
    })
}
