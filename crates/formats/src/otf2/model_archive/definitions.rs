//! The tables of the model as global definitions.

use super::events::type_of;
use super::{ModelArchive, WriteError, communicators, without_zero};
use crate::otf2::code_flows::text_of_flow;
use crate::position::u32_from;
use ouzel_model::{
    CartMembers, CartTopology, CodeFlow, Definitions, InterruptCounts, LocationGroup, LocationGroupKind,
    LocationKind, Metric, MetricMode, Paradigm, Region, RegionId, SystemNode,
};
use ouzel_otf2::code_flow::FLOW_PROPERTY;
use ouzel_otf2::records::definition as def;
use ouzel_otf2::records::enums::{
    self, Base, CartPeriodicity, InterruptGeneratorMode, LocationGroupType, LocationType, MetricType,
    ParadigmClass, ParameterType, RecorderKind, RegionRole, SystemTreeDomain,
};
use ouzel_otf2::records::{List, Value};
use ouzel_otf2::wire::{UNDEFINED_U32, UNDEFINED_U64};
use ouzel_otf2::write::ArchiveWriter;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Writes every definition; the events have been written.
pub(super) fn write(to: &mut ModelArchive) -> Result<(), WriteError> {
    to.write_clock()?;
    for context in to.definitions.sampled_contexts.iter() {
        to.regions.used(context.region.0);
    }
    to.write_paradigms()?;
    for (id, node) in (0..).zip(&to.definitions.system_tree.nodes) {
        write_system_node(&mut to.archive, id, node)?;
    }
    for (id, group) in (0..).zip(&to.definitions.location_groups) {
        write_location_group(&mut to.archive, id, group)?;
    }
    to.write_locations()?;
    for (id, region) in (0..).zip(to.regions.ids()) {
        write_region(&mut to.archive, id, to.definitions.region(RegionId(region)))?;
    }
    to.write_samples()?;
    communicators::write(to)?;
    write_rma_windows(to)?;
    to.write_metrics_and_parameters()?;
    write_topologies(&mut to.archive, &to.definitions)
}

fn text(archive: &mut ArchiveWriter, text: &str) -> Result<u32, WriteError> {
    if text.contains('\0') { archive.string(&without_zero(text)) } else { archive.string(text) }
}

impl ModelArchive {
    fn write_clock(&mut self) -> Result<(), WriteError> {
        let clock = &self.definitions.clock;
        let global_offset = clock.offset_ticks;
        let declared = clock.declared_length.map_or(0, |length| length.0);
        let last = self.archive.event_span().map_or(global_offset, |(_, last)| last);
        let (timer_resolution, realtime) = (clock.ticks_per_second, clock.realtime_ns);
        self.archive.define(def::ClockProperties {
            timer_resolution,
            global_offset,
            trace_length: declared.max(last - global_offset),
            realtime_timestamp: realtime.unwrap_or(UNDEFINED_U64),
        })
    }

    fn write_paradigms(&mut self) -> Result<(), WriteError> {
        let regions = self.regions.ids().map(|id| self.definitions.region(RegionId(id)).paradigm);
        let mut used: BTreeMap<u8, Paradigm> = regions.map(|paradigm| (paradigm.code(), paradigm)).collect();
        if !self.definitions.communicators.is_empty() {
            used.insert(Paradigm::Mpi.code(), Paradigm::Mpi);
        }
        used.remove(&Paradigm::Unknown.code());
        for paradigm in used.into_values() {
            let name = text(&mut self.archive, paradigm.as_str())?;
            let paradigm_class = paradigm_class(paradigm);
            let paradigm = enums::Paradigm::from_u8(paradigm.code());
            self.archive.define(def::ParadigmDef { paradigm, name, paradigm_class })?;
        }
        Ok(())
    }

    fn write_locations(&mut self) -> Result<(), WriteError> {
        for (&id, summary) in &self.written {
            let location = self.definitions.location(id);
            let name = text(&mut self.archive, &location.name)?;
            self.archive.define(def::Location {
                id: summary.location,
                name,
                location_type: match location.kind {
                    LocationKind::CpuThread => LocationType::CpuThread,
                    LocationKind::AcceleratorStream => LocationType::AcceleratorStream,
                    LocationKind::Metric => LocationType::Metric,
                    LocationKind::Unknown => LocationType::Unknown,
                },
                number_of_events: summary.n_events,
                location_group: location.group.0,
            })?;
        }
        Ok(())
    }

    /// Each is a property of the first context of its loop.
    fn write_code_flows(&mut self, definitions: &Definitions) -> Result<(), WriteError> {
        let mut pending: BTreeMap<RegionId, &CodeFlow> =
            definitions.code_flows.iter().map(|(&region, flow)| (region, flow)).collect();
        for (calling_context, context) in (0..).zip(definitions.sampled_contexts.iter()) {
            let Some(flow) = pending.remove(&context.region) else { continue };
            let name = text(&mut self.archive, FLOW_PROPERTY)?;
            let value = Value::string(text(&mut self.archive, &text_of_flow(flow))?);
            self.archive.define(def::CallingContextProperty { calling_context, name, value })?;
        }
        Ok(())
    }

    /// Contexts and interrupt generators keep their ids; source lines are numbered as they come.
    fn write_samples(&mut self) -> Result<(), WriteError> {
        let definitions = Arc::clone(&self.definitions);
        let mut places: BTreeMap<(Option<&str>, Option<u32>), u32> = BTreeMap::new();
        for (id, context) in (0..).zip(definitions.sampled_contexts.iter()) {
            let place = (context.file.as_deref(), context.line);
            let next = u32_from(places.len());
            let source_code_location = match places.get(&place) {
                _ if place == (None, None) => UNDEFINED_U32,
                Some(&id) => id,
                None => {
                    let file = text(&mut self.archive, place.0.unwrap_or_default())?;
                    let line_number = place.1.unwrap_or(0);
                    self.archive.define(def::SourceCodeLocation { id: next, file, line_number })?;
                    places.insert(place, next);
                    next
                }
            };
            let region = self.regions.used(context.region.0);
            let parent = context.parent.map_or(UNDEFINED_U32, |parent| parent.0);
            self.archive.define(def::CallingContext { id, region, source_code_location, parent })?;
        }
        self.write_code_flows(&definitions)?;
        for (id, generator) in (0..).zip(&definitions.interrupt_generators) {
            let name = text(&mut self.archive, &generator.name)?;
            self.archive.define(def::InterruptGenerator {
                id,
                name,
                interrupt_generator_mode: match generator.counts {
                    InterruptCounts::Time => InterruptGeneratorMode::Time,
                    InterruptCounts::Occurrences => InterruptGeneratorMode::Count,
                },
                base: if generator.base == 2 { Base::Binary } else { Base::Decimal },
                exponent: generator.exponent,
                period: generator.period,
            })?;
        }
        Ok(())
    }

    fn write_metrics_and_parameters(&mut self) -> Result<(), WriteError> {
        for (id, metric) in (0..).zip(&self.definitions.metrics) {
            write_metric(&mut self.archive, id, metric)?;
        }
        for (id, class) in (0..).zip(self.classes.iter()) {
            let members: Vec<u32> = class.members.iter().map(|metric| metric.0).collect();
            self.archive.define(def::MetricClass {
                id,
                metric_members: List::new(&members),
                metric_occurrence: class.occurrence,
                recorder_kind: RecorderKind::Unknown,
            })?;
        }
        let parameters = self.definitions.parameters.iter().zip(&self.parameter_types);
        for (id, (name, parameter_type)) in (0..).zip(parameters) {
            let name = text(&mut self.archive, name)?;
            let parameter_type = parameter_type.unwrap_or(ParameterType::String);
            self.archive.define(def::Parameter { id, name, parameter_type })?;
        }
        Ok(())
    }
}

fn paradigm_class(paradigm: Paradigm) -> ParadigmClass {
    match paradigm {
        Paradigm::OpenMp | Paradigm::OmpSs => ParadigmClass::ThreadForkJoin,
        Paradigm::Pthread
        | Paradigm::WinThread
        | Paradigm::QtThread
        | Paradigm::AceThread
        | Paradigm::TbbThread
        | Paradigm::Mtapi => ParadigmClass::ThreadCreateWait,
        Paradigm::Cuda
        | Paradigm::Hip
        | Paradigm::Hmpp
        | Paradigm::OpenAcc
        | Paradigm::OpenCl
        | Paradigm::OpenMpTarget => ParadigmClass::Accelerator,
        _ => ParadigmClass::Process,
    }
}

fn write_system_node(archive: &mut ArchiveWriter, id: u32, node: &SystemNode) -> Result<(), WriteError> {
    let (name, class_name) = (text(archive, &node.name)?, text(archive, &node.class)?);
    let parent = node.parent.map_or(UNDEFINED_U32, |parent| parent.0);
    archive.define(def::SystemTreeNode { id, name, class_name, parent })?;
    if node.shared_memory {
        let system_tree_domain = SystemTreeDomain::SharedMemory;
        archive.define(def::SystemTreeNodeDomain { system_tree_node: id, system_tree_domain })?;
    }
    Ok(())
}

fn write_location_group(
    archive: &mut ArchiveWriter,
    id: u32,
    group: &LocationGroup,
) -> Result<(), WriteError> {
    let name = text(archive, &group.name)?;
    archive.define(def::LocationGroup {
        id,
        name,
        location_group_type: match group.kind {
            LocationGroupKind::Process => LocationGroupType::Process,
            LocationGroupKind::Accelerator => LocationGroupType::Accelerator,
            LocationGroupKind::Unknown => LocationGroupType::Unknown,
        },
        system_tree_parent: group.system_node.map_or(UNDEFINED_U32, |node| node.0),
        creating_location_group: group.creator.map_or(UNDEFINED_U32, |creator| creator.0),
    })
}

fn write_region(archive: &mut ArchiveWriter, id: u32, region: &Region) -> Result<(), WriteError> {
    let name = text(archive, &region.name)?;
    let canonical_name = match &region.canonical_name {
        Some(canonical) => text(archive, canonical)?,
        None => name,
    };
    let source_file = match &region.file {
        Some(file) => text(archive, file)?,
        None => UNDEFINED_U32,
    };
    let description = archive.string("")?;
    archive.define(def::Region {
        id,
        name,
        description,
        region_type: 0,
        source_file,
        begin_line_number: region.line.unwrap_or(0),
        end_line_number: region.end_line.unwrap_or(0),
        canonical_name,
        region_role: RegionRole::from_u8(region.role.code()),
        paradigm: enums::Paradigm::from_u8(region.paradigm.code()),
        region_flags: 0,
    })
}

fn write_metric(archive: &mut ArchiveWriter, id: u32, metric: &Metric) -> Result<(), WriteError> {
    let (base, exponent, unit) = scale_of(&metric.unit);
    let (name, description) = (text(archive, &metric.name)?, text(archive, &metric.description)?);
    let unit = text(archive, unit)?;
    archive.define(def::MetricMember {
        id,
        name,
        description,
        metric_type: MetricType::Other,
        // Since the start of the measurement; at a point in time; since the last value.
        metric_mode: match metric.mode {
            MetricMode::Accumulated => 0x00,
            MetricMode::Absolute => 0x11,
            MetricMode::Relative => 0x22,
        },
        value_type: type_of(metric.value_type),
        base,
        exponent,
        unit,
    })
}

/// The scale that was folded into a unit: `10^-6 s` is `s` times ten to the minus six.
fn scale_of(unit: &str) -> (Base, i64, &str) {
    let scaled = |base: &str| {
        let (exponent, unit) = unit.strip_prefix(base)?.split_once(' ')?;
        let exponent = exponent.parse::<i64>().ok().filter(|n| *n != 0 && n.to_string() == exponent)?;
        Some((exponent, unit))
    };
    match (scaled("2^"), scaled("10^")) {
        (Some((exponent, unit)), _) => (Base::Binary, exponent, unit),
        (None, Some((exponent, unit))) => (Base::Decimal, exponent, unit),
        (None, None) => (Base::Decimal, 0, unit),
    }
}

fn write_rma_windows(to: &mut ModelArchive) -> Result<(), WriteError> {
    let definitions = Arc::clone(&to.definitions);
    for (id, window) in (0..).zip(&definitions.rma_windows) {
        let name = text(&mut to.archive, &window.name)?;
        let flags = u32::from(window.has_life_events);
        // Placeholders of communicators are references only where events use them.
        let comm = if to.comms.is_defined(window.comm.0) { window.comm.0 } else { UNDEFINED_U32 };
        to.archive.define(def::RmaWin { id, name, comm, flags })?;
    }
    Ok(())
}

fn write_topologies(archive: &mut ArchiveWriter, definitions: &Definitions) -> Result<(), WriteError> {
    let mut next_dimension = 0;
    // OTF2 arranges ranks of a communicator, nothing else.
    let of_ranks = definitions.topologies.iter().filter_map(|topology| match &topology.members {
        CartMembers::Ranks(ranks) => Some((topology, ranks)),
        _ => None,
    });
    for (id, (topology, ranks)) in (0..).zip(of_ranks) {
        let CartTopology { name, comm, dimensions, .. } = topology;
        let first = next_dimension;
        for dimension in dimensions {
            let name = text(archive, &dimension.name)?;
            let periodic = if dimension.periodic { CartPeriodicity::True } else { CartPeriodicity::False };
            archive.define(def::CartDimension {
                id: next_dimension,
                name,
                size: dimension.size,
                cart_periodicity: periodic,
            })?;
            next_dimension += 1;
        }
        let axes: Vec<u32> = (first..next_dimension).collect();
        let name = text(archive, name)?;
        let communicator = comm.map_or(UNDEFINED_U32, |comm| comm.0);
        archive.define(def::CartTopology { id, name, communicator, cart_dimensions: List::new(&axes) })?;
        for (member, rank) in ranks.iter().enumerate() {
            archive.define(def::CartCoordinate {
                cart_topology: id,
                rank: rank.0,
                coordinates: List::new(topology.coordinate(member)),
            })?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_come_back_out_of_units() {
        assert_eq!(scale_of("10^-6 s"), (Base::Decimal, -6, "s"));
        assert_eq!(scale_of("2^10 "), (Base::Binary, 10, ""));
        for plain in ["s", "#", "", "10^x s", "10^-6", "10^0 s", "10^+3 s"] {
            assert_eq!(scale_of(plain), (Base::Decimal, 0, plain));
        }
    }
}
