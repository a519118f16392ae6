//! Bottlenecks within processes: regions that cost much, with the attributes that are high there.
//!
//! Weight of a region (CRNM): mean over the processes of time here / time of the process ×
//! cycles here / instructions here; 0 for a process that executes no instructions here. Without
//! cycles or instructions it is only the mean share of time.

use crate::advice;
use crate::attributes::{Attribute, Attributes};
use crate::classes::HIGH;
use crate::column::{Column, mean, quotient};
use crate::input::BottleneckInput;
use crate::output::{Classified, InRegion, Internal, InternalCause};
use crate::refine::Refined;
use crate::regions::Values;
use crate::time::TimeMetrics;
use ouzel_model::{Notices, ProfileSource, SeverityError};

/// The weight of each region.
pub(crate) struct Weights {
    pub weights: Vec<f64>,
    pub shares: Vec<f64>,
    pub has_cycles_per_instruction: bool,
}

pub(crate) fn weights(
    source: &dyn ProfileSource,
    context: &BottleneckInput<'_>,
    time: &TimeMetrics,
    known: &Attributes,
    notices: &Notices,
) -> Result<Weights, SeverityError> {
    let regions = context.regions;
    let read = |metric, only_timed| -> Result<Values, SeverityError> {
        let mut values = regions.values(source, metric, context.processes, only_timed)?;
        notices.extend(std::mem::take(&mut values.notices));
        Ok(values)
    };
    let other = if time.wall == time.metric { None } else { Some(read(time.wall, true)?) };
    let (wall, program) =
        other.as_ref().map_or((&regions.wall, &regions.program), |other| (&other.regions, &other.program));
    let share = |times: &Vec<f64>| -> Vec<f64> {
        times.iter().zip(program).map(|(&here, &all)| quotient(here, all)).collect()
    };
    let shares: Vec<Vec<f64>> = wall.iter().map(share).collect();
    let means: Vec<f64> = shares.iter().map(|shares| mean(shares)).collect();
    let is_counted = |values: &Values| values.program.iter().any(|&value| value > 0.0);
    let counters = match (known.cycles, known.instructions) {
        (Some(cycles), Some(instructions)) => Some((read(cycles, false)?, read(instructions, false)?)),
        _ => None,
    };
    let Some((cycles, instructions)) = counters.filter(|(a, b)| is_counted(a) && is_counted(b)) else {
        return Ok(Weights { weights: means.clone(), shares: means, has_cycles_per_instruction: false });
    };
    let weight = |region: usize| {
        let each = shares[region].iter().zip(&cycles.regions[region]).zip(&instructions.regions[region]);
        mean(&each.map(|((share, &cycles), &n)| share * quotient(cycles, n)).collect::<Vec<_>>())
    };
    let weights = (0..shares.len()).map(weight).collect();
    Ok(Weights { weights, shares: means, has_cycles_per_instruction: true })
}

pub(crate) fn internal(
    context: &BottleneckInput<'_>,
    weights: &Weights,
    refined: &Refined,
    columns: &[Column<'_>],
    core: &[usize],
    attributes: &[Attribute],
) -> Internal {
    let classified = |region: usize| Classified {
        region: context.name(region),
        depth: context.regions.regions[region].depth,
        class: refined.classes[region],
        weight: weights.weights[region],
        share: weights.shares[region],
    };
    let mut cores = refined.cccr.clone();
    cores.sort_by(|&a, &b| weights.weights[b].total_cmp(&weights.weights[a]).then(a.cmp(&b)));
    let cause = |&region: &usize| {
        let is_high = |column: &&Column<'_>| column.classes[region] >= HIGH;
        let explained_by: Vec<InRegion> = core
            .iter()
            .map(|&at| &columns[at])
            .filter(is_high)
            .map(|column| in_region(column, region))
            .collect();
        let others =
            columns.iter().enumerate().filter(|(at, _)| !core.contains(at)).map(|(_, column)| column);
        let also_high = others.filter(is_high).map(|column| in_region(column, region)).collect();
        let is_explained = !explained_by.is_empty();
        let tried =
            columns.iter().filter(|column| !is_high(column)).map(|column| column.attribute.label.clone());
        InternalCause {
            region: context.name(region),
            class: refined.classes[region],
            share: weights.shares[region],
            explained_by,
            unexplained_by: if is_explained { Vec::new() } else { tried.collect() },
            also_high,
            measure_next: if is_explained { Vec::new() } else { advice::measure_next(attributes) },
        }
    };
    Internal {
        has_cycles_per_instruction: weights.has_cycles_per_instruction,
        classes: (0..refined.classes.len()).map(classified).collect(),
        ccr: refined.ccr.iter().map(|&region| classified(region)).collect(),
        cccr: cores.iter().map(|&region| classified(region)).collect(),
        causes: cores.iter().map(cause).collect(),
    }
}

fn in_region(column: &Column<'_>, region: usize) -> InRegion {
    let attribute = column.attribute;
    let low =
        column.classes.iter().zip(&column.means).filter(|(class, _)| **class < HIGH).map(|(_, mean)| *mean);
    InRegion {
        attribute: attribute.name.clone(),
        label: attribute.label.clone(),
        unit: attribute.unit.clone(),
        kind: attribute.kind,
        mean: column.means[region],
        elsewhere: mean(&low.collect::<Vec<_>>()),
        share_of_program: column.program.map(|program| quotient(column.means[region], program)),
        class: column.classes[region],
        advice: advice::in_region(attribute),
    }
}
