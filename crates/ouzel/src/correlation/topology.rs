//! Chooses a topology: from the profile, from its system tree, or by hand.

use super::{CorrelationError, TopologyOrigin};
use ouzel_correlate::Grid;
use ouzel_model::{CartTopology, Level, Notice, NoticeCode, ProfileDefinitions, TopologyShape};

/// The places of the named topology, or of the first that matches the locations.
pub fn grid(
    definitions: &ProfileDefinitions,
    name: Option<&str>,
) -> Result<(Grid, TopologyOrigin, Vec<Notice>), CorrelationError> {
    let all = definitions.all_topologies();
    let n_defined = definitions.topologies.len();
    let origin = |i: usize| if i < n_defined { TopologyOrigin::Defined } else { TopologyOrigin::SystemTree };
    let Some(name) = name else { return first(definitions, &all, origin) };
    if let Some(i) = position(&all, name) {
        return Ok((Grid::new(definitions, &all[i])?, origin(i), Vec::new()));
    }
    let is_shape = name.contains(|c: char| c.is_ascii_digit()) && !name.contains(char::is_whitespace);
    match name.parse::<TopologyShape>() {
        Ok(shape) => {
            let topology = shape.topology(definitions)?;
            Ok((Grid::new(definitions, &topology)?, TopologyOrigin::ByHand, Vec::new()))
        }
        Err(error) if is_shape && all.is_empty() => Err(error.into()),
        Err(_) => Err(CorrelationError::UnknownTopology { name: name.to_owned(), known: known(&all) }),
    }
}

/// The topology of this name; a number that is not a name counts from 0.
fn position(all: &[CartTopology], name: &str) -> Option<usize> {
    let by_name = all.iter().position(|topology| *topology.name == *name);
    by_name.or_else(|| name.parse().ok().filter(|&i| i < all.len()))
}

/// The first with at least two places whose members are locations of the profile. Those before it are reported.
fn first(
    definitions: &ProfileDefinitions,
    all: &[CartTopology],
    origin: impl Fn(usize) -> TopologyOrigin,
) -> Result<(Grid, TopologyOrigin, Vec<Notice>), CorrelationError> {
    let mut notices = Vec::new();
    let mut first_error = None;
    for (i, topology) in all.iter().enumerate() {
        let why = match Grid::new(definitions, topology) {
            Ok(grid) if 1 < grid.n_located() => return Ok((grid, origin(i), notices)),
            Ok(grid) => format!("topology {:?} has too few locations: {}", topology.name, grid.n_located()),
            Err(error) => {
                let text = error.to_string();
                first_error.get_or_insert(error);
                text
            }
        };
        let message = format!("{why}; another one is used");
        notices.push(Notice::new(Level::Medium, NoticeCode::NotAvailable, message));
    }
    match first_error {
        Some(error) => Err(error.into()),
        None => {
            let n = definitions.thread_locations().len();
            let n_threads = if n == 1 { "one thread".to_owned() } else { format!("{n} threads") };
            Err(CorrelationError::NoTopology { n_threads })
        }
    }
}

/// Names and sizes.
fn known(all: &[CartTopology]) -> String {
    let text = |(i, topology): (usize, &CartTopology)| {
        let sizes: Vec<String> = topology.dimensions.iter().map(|axis| axis.size.to_string()).collect();
        format!("{i}: {:?} ({})", topology.name, sizes.join("x"))
    };
    let texts: Vec<String> = all.iter().enumerate().map(text).collect();
    if texts.is_empty() { "none".to_owned() } else { texts.join(", ") }
}
