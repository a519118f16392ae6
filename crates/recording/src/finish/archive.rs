//! One run as an archive: definitions, and event files in their places.

use super::communicators::{FIRST, RunCommunicator, Unified};
use super::contexts::{self, UnifiedContexts};
use super::files::UnifiedFiles;
use super::metrics::UnifiedMetrics;
use super::names::{RegionNames, RunRegion, UnifiedRegions};
use super::notices;
use super::piece::Piece;
use super::piece::PieceThread;
use super::teams::UnifiedTeams;
use super::under_way::{self, UnderWay};
use super::{Deaths, FinishError, FinishErrorKind, FinishedArchive};
use crate::io::Interface;
use crate::mpi::communicators::{SELF, WORLD};
use crate::settings;
use crate::slots::Slot;
use crate::stream::{self, CHUNK_BYTES, END, native, set_last_event};
use ouzel_otf2::code_flow::{FLOW_PROPERTY, text_of_parts};
use ouzel_otf2::records::definition::{
    CallingContext, CallingContextProperty, CartCoordinate, CartDimension, CartTopology, ClockProperties,
    Comm, Group, InterComm, InterruptGenerator, IoHandle, IoParadigm, IoRegularFile, Location, LocationGroup,
    Region, SourceCodeLocation, SystemTreeNode, SystemTreeNodeDomain,
};
use ouzel_otf2::records::enums::{
    Base, CartPeriodicity, GroupType, InterruptGeneratorMode, IoParadigmClass, LocationGroupType,
    LocationType, Paradigm, SystemTreeDomain,
};
use ouzel_otf2::records::local::ClockOffset;
use ouzel_otf2::records::special::CHUNK_HEADER_BYTES;
use ouzel_otf2::records::{IdMap, List, RefKind, Value};
use ouzel_otf2::remark::{BESIDE_CALLS, Remark, SAMPLES_PROPERTY};
use ouzel_otf2::wire::{UNDEFINED_U32, UNDEFINED_U64};
use ouzel_otf2::write::{ArchiveWriter, EventSummary, WriteError, WriteOptions};
use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Most bytes of the text about one function: a definition has to fit into a chunk of 256 KiB, and what is longer is a table of
/// some hundred parts without an order worth the name.
const FLOW_BYTES_MAX: usize = 64 << 10;

/// Writes one run.
pub(super) fn write(
    target: &Path,
    pieces: &[Piece],
    left_out: &[Piece],
    deaths: &Deaths,
) -> Result<FinishedArchive, FinishError> {
    let error = |kind: FinishErrorKind| FinishError::new(target, kind);
    let clock = RunClock::new(pieces);
    let communicators = Unified::new(pieces);
    let under_way = UnderWay::new(pieces, &communicators)?;
    let mut names = RegionNames::default();
    let of_pieces = names.of_pieces(pieces);
    let contexts = UnifiedContexts::new(pieces, &mut names)?;
    if contexts::sampler(pieces).is_some() {
        names.add_not_running();
    }
    let regions = names.unified(of_pieces);
    let mut notices = notices::of_run(pieces, &communicators, clock.start_ns, deaths);
    notices.extend(notices::of_ranks(pieces, left_out));
    notices.extend(notices::of_processors(pieces));
    notices.extend(notices::of_helpers(left_out));
    notices.extend(notices::of_window(pieces, &under_way));
    notices.extend(notices::of_mpi_threads(pieces));
    notices.extend(notices::of_other_tools(pieces));
    notices.extend(notices::of_samples(pieces, &contexts));
    notices.extend(notices::of_counters(pieces));
    let mut properties = Remark::properties(&notices);
    if contexts::sampler(pieces).is_some() {
        properties.push((SAMPLES_PROPERTY.to_owned(), BESIDE_CALLS.to_owned()));
    }
    let options = WriteOptions {
        endian: native(),
        event_chunk_bytes: chunk_bytes(pieces).map_err(error)?,
        definition_chunk_bytes: CHUNK_BYTES as u64,
        machine: pieces.first().map(|piece| piece.host.clone()).unwrap_or_default(),
        description: pieces.first().map(|piece| piece.program_name().to_owned()).unwrap_or_default(),
        properties,
        ..WriteOptions::default()
    };
    let mut writer = ArchiveWriter::create(target, "traces", options).map_err(|kind| error(kind.into()))?;
    let files = UnifiedFiles::new(pieces, &communicators.of_pieces);
    let is_mpi = pieces.iter().any(|piece| piece.rank.is_some());
    let n_of_mpi = if is_mpi { FIRST + index(communicators.list.len()) } else { 0 };
    let teams = UnifiedTeams::new(pieces, n_of_mpi);
    let metrics = UnifiedMetrics::new(pieces);
    let mut run = Run {
        pieces,
        regions,
        contexts,
        communicators,
        teams,
        files,
        metrics,
        clock,
        under_way,
        writer: &mut writer,
    };
    run.define().map_err(|kind| error(kind.into()))?;
    let (n_locations, n_events, n_bytes) = run.move_events()?;
    let length_ns = run.clock.end_ns - run.clock.start_ns;
    writer.finish().map_err(|kind| error(kind.into()))?;
    Ok(FinishedArchive {
        path: target.join("traces.otf2"),
        n_processes: pieces.len(),
        is_mpi,
        n_locations,
        n_events,
        n_bytes,
        length_ns,
        notices,
    })
}

/// The length of the chunks of all processes.
fn chunk_bytes(pieces: &[Piece]) -> Result<u64, FinishErrorKind> {
    let first = pieces.first().map_or(CHUNK_BYTES as u64, Piece::chunk_bytes);
    if let Some(other) = pieces.iter().map(Piece::chunk_bytes).find(|&other| other != first) {
        return Err(FinishErrorKind::DifferentBuffers(first, other));
    }
    stream::chunk_bytes(first).map_err(|reason| FinishErrorKind::Buffer(first, reason))?;
    Ok(first)
}

/// One clock for all nodes.
struct RunClock {
    start_ns: u64,
    end_ns: u64,
    /// Least difference of the time since 1970 to a node's clock.
    realtime_less_clock_ns: i64,
}

impl RunClock {
    fn new(pieces: &[Piece]) -> Self {
        let least = pieces.iter().map(|piece| piece.realtime_less_monotonic_ns).min().unwrap_or(0);
        let mut clock = RunClock { start_ns: 0, end_ns: 0, realtime_less_clock_ns: least };
        let firsts = pieces.iter().filter_map(|piece| Some(clock.of_run(pieces, piece, piece.first_ns()?)));
        let start_ns = firsts.min().unwrap_or(0);
        let lasts = pieces.iter().filter_map(|piece| Some(clock.of_run(pieces, piece, piece.last_ns()?)));
        let end_ns = lasts.max().unwrap_or(start_ns).max(start_ns);
        (clock.start_ns, clock.end_ns) = (start_ns, end_ns);
        clock
    }

    /// What is added to times of a piece. Clocks of one boot are one clock.
    fn offset_ns(&self, pieces: &[Piece], piece: &Piece) -> i64 {
        // Each process of a node has read both clocks a little apart: the first one counts for all.
        let same_boot = pieces.iter().find(|other| other.boot == piece.boot && other.host == piece.host);
        let of_node = same_boot.unwrap_or(piece).realtime_less_monotonic_ns;
        if pieces.iter().all(|other| other.boot == piece.boot) {
            0
        } else {
            of_node - self.realtime_less_clock_ns
        }
    }

    fn of_run(&self, pieces: &[Piece], piece: &Piece, time_ns: u64) -> u64 {
        time_ns.saturating_add_signed(self.offset_ns(pieces, piece))
    }
}

struct Run<'a> {
    pieces: &'a [Piece],
    regions: UnifiedRegions,
    contexts: UnifiedContexts,
    communicators: Unified,
    teams: UnifiedTeams,
    files: UnifiedFiles,
    metrics: UnifiedMetrics,
    clock: RunClock,
    under_way: UnderWay,
    writer: &'a mut ArchiveWriter,
}

/// Locations are numbered as Score-P does: the rank, with the thread above it. Without ranks, processes are counted.
fn location_id(process: usize, piece: &Piece, thread: usize) -> u64 {
    let rank = piece.rank.as_ref().map_or(process as u64, |(rank, ..)| u64::from(*rank));
    (thread as u64) << 32 | rank
}

/// The nodes in the order of their definitions.
fn hosts(pieces: &[Piece]) -> Vec<&str> {
    let mut hosts: Vec<&str> = pieces.iter().map(|piece| piece.host.as_str()).collect();
    hosts.sort_unstable();
    hosts.dedup();
    hosts
}

fn index(i: usize) -> u32 {
    u32::try_from(i).unwrap_or(UNDEFINED_U32)
}

impl Run<'_> {
    fn is_mpi(&self) -> bool {
        self.pieces.iter().any(|piece| piece.rank.is_some())
    }

    fn define(&mut self) -> Result<(), WriteError> {
        self.writer.string("")?;
        let realtime = self.clock.start_ns.cast_signed().saturating_add(self.clock.realtime_less_clock_ns);
        self.writer.define(ClockProperties {
            timer_resolution: 1_000_000_000,
            global_offset: self.clock.start_ns,
            trace_length: self.clock.end_ns - self.clock.start_ns,
            realtime_timestamp: u64::try_from(realtime).unwrap_or(UNDEFINED_U64),
        })?;
        self.define_processes()?;
        let regions = std::mem::take(&mut self.regions.list);
        for (id, region) in regions.iter().enumerate() {
            self.define_region(index(id), region)?;
        }
        self.define_contexts()?;
        let n_groups = if self.is_mpi() { self.define_communicators()? } else { 0 };
        self.define_teams(n_groups)?;
        self.define_files()?;
        self.metrics.define(self.writer)
    }

    fn define_processes(&mut self) -> Result<(), WriteError> {
        let (machine, node) = (self.writer.string("machine")?, self.writer.string("node")?);
        let none = UNDEFINED_U32;
        self.writer.define(SystemTreeNode { id: 0, name: machine, class_name: machine, parent: none })?;
        let hosts = hosts(self.pieces);
        for (i, host) in hosts.iter().enumerate() {
            let (id, name) = (index(i + 1), self.writer.string(host)?);
            self.writer.define(SystemTreeNode { id, name, class_name: node, parent: 0 })?;
            let system_tree_domain = SystemTreeDomain::SharedMemory;
            self.writer.define(SystemTreeNodeDomain { system_tree_node: id, system_tree_domain })?;
        }
        for (process, piece) in self.pieces.iter().enumerate() {
            let host = hosts.binary_search(&piece.host.as_str()).unwrap_or(0);
            let name = match &piece.rank {
                Some((rank, ..)) => format!("MPI Rank {rank}"),
                None => format!("{} {}", piece.program_name(), piece.pid),
            };
            let name = self.writer.string(&name)?;
            self.writer.define(LocationGroup {
                id: index(process),
                name,
                location_group_type: LocationGroupType::Process,
                system_tree_parent: index(host + 1),
                creating_location_group: UNDEFINED_U32,
            })?;
            for (thread, PieceThread { slot, .. }) in piece.threads.iter().enumerate() {
                let name = if thread == 0 { "Master thread".to_owned() } else { format!("Thread {thread}") };
                let name = self.writer.string(&name)?;
                self.writer.define(Location {
                    id: location_id(process, piece, thread),
                    name,
                    location_type: LocationType::CpuThread,
                    number_of_events: slot.n_events - self.under_way.left_out(process, thread).len() as u64,
                    location_group: index(process),
                })?;
            }
        }
        Ok(())
    }

    /// What samples refer to.
    fn define_contexts(&mut self) -> Result<(), WriteError> {
        let Some((hz, source)) = contexts::sampler(self.pieces) else { return Ok(()) };
        let name = match source.as_str() {
            "perf" => "processor time (perf task-clock)",
            _ => "processor time (POSIX timer)",
        };
        let name = self.writer.string(name)?;
        self.writer.define(InterruptGenerator {
            id: 0,
            name,
            interrupt_generator_mode: InterruptGeneratorMode::Time,
            base: Base::Decimal,
            exponent: -9,
            period: 1_000_000_000 / u64::from(hz),
        })?;
        for (id, (file, line)) in self.contexts.places.iter().enumerate() {
            let file = self.writer.string(file)?;
            self.writer.define(SourceCodeLocation { id: index(id), file, line_number: *line })?;
        }
        for (id, context) in self.contexts.list.iter().enumerate() {
            self.writer.define(CallingContext {
                id: index(id),
                region: u32::try_from(context.region).unwrap_or(UNDEFINED_U32),
                source_code_location: context.place.unwrap_or(UNDEFINED_U32),
                parent: context.parent.unwrap_or(UNDEFINED_U32),
            })?;
        }
        self.define_flows()
    }

    /// What the code says of functions and loops, as properties of their first contexts.
    fn define_flows(&mut self) -> Result<(), WriteError> {
        let mut flows = std::mem::take(&mut self.contexts.flows);
        for (id, context) in self.contexts.list.iter().enumerate() {
            let Some(parts) = flows.remove(&context.region) else { continue };
            let mut text = text_of_parts(&parts);
            if FLOW_BYTES_MAX < text.len() {
                // That it is code of the program stays known.
                text.clear();
            }
            let name = self.writer.string(FLOW_PROPERTY)?;
            let value = Value::string(self.writer.string(&text)?);
            self.writer.define(CallingContextProperty { calling_context: index(id), name, value })?;
        }
        Ok(())
    }

    /// What events of files refer to.
    fn define_files(&mut self) -> Result<(), WriteError> {
        if self.files.handles.is_empty() {
            return Ok(());
        }
        let hosts = hosts(self.pieces);
        for interface in Interface::ALL {
            let (identification, name) = interface.names();
            let (identification, name) = (self.writer.string(identification)?, self.writer.string(name)?);
            self.writer.define(IoParadigm {
                id: interface as u8,
                identification,
                name,
                io_paradigm_class: match interface {
                    Interface::MpiIo => IoParadigmClass::Parallel,
                    _ => IoParadigmClass::Serial,
                },
                io_paradigm_flags: 0,
                properties: List::new(&[]),
            })?;
        }
        for (id, (file, host)) in self.files.files.iter().enumerate() {
            let name = self.writer.string(file)?;
            let host = hosts.binary_search(&host.as_str()).unwrap_or(0);
            self.writer.define(IoRegularFile { id: index(id), name, scope: index(host + 1) })?;
        }
        for (id, handle) in self.files.handles.iter().enumerate() {
            let name = self.writer.string(&self.files.files[handle.file].0)?;
            self.writer.define(IoHandle {
                id: index(id),
                name,
                file: index(handle.file),
                io_paradigm: handle.interface as u8,
                io_handle_flags: 0,
                comm: handle.communicator.unwrap_or(UNDEFINED_U32),
                parent: UNDEFINED_U32,
            })?;
        }
        Ok(())
    }

    fn define_region(&mut self, id: u32, region: &RunRegion) -> Result<(), WriteError> {
        let (name, none) = (self.writer.string(&region.name)?, self.writer.string("")?);
        let file = if region.file.is_empty() { None } else { Some(self.writer.string(&region.file)?) };
        let line = if region.line == 0 { UNDEFINED_U32 } else { region.line };
        self.writer.define(Region {
            id,
            name,
            description: none,
            region_type: 0,
            source_file: file.unwrap_or(UNDEFINED_U32),
            begin_line_number: line,
            end_line_number: UNDEFINED_U32,
            canonical_name: name,
            region_role: region.role,
            paradigm: region.paradigm,
            region_flags: 0,
        })
    }

    /// What events of MPI refer to; how many groups that makes.
    fn define_communicators(&mut self) -> Result<u32, WriteError> {
        let size = self.pieces.iter().filter_map(|piece| Some(piece.rank.as_ref()?.1)).max().unwrap_or(0);
        // The first location of a rank has its number; of one that left nothing, there is no definition.
        let all: Vec<u64> = (0..u64::from(size)).collect();
        let mut groups = 0;
        let mut group = |writer: &mut ArchiveWriter, name: &str, kind: GroupType, members: &[u64]| {
            let (id, name) = (groups, writer.string(name)?);
            groups += 1;
            writer.define(Group {
                id,
                name,
                group_type_pre12: 0,
                members: List::new(members),
                group_type: kind,
                paradigm: Paradigm::Mpi,
                group_flags: 0,
            })?;
            Ok::<u32, WriteError>(id)
        };
        let writer = &mut *self.writer;
        group(writer, "MPI locations", GroupType::CommLocations, &all)?;
        let world_group = group(writer, "world", GroupType::CommGroup, &all)?;
        let self_group = group(writer, "self", GroupType::CommSelf, &[])?;
        let name = writer.string("MPI_COMM_WORLD")?;
        writer.define(Comm { id: WORLD, name, group: world_group, parent: UNDEFINED_U32, flags: 0 })?;
        let name = writer.string("MPI_COMM_SELF")?;
        writer.define(Comm { id: SELF, name, group: self_group, parent: UNDEFINED_U32, flags: 0 })?;
        let mut topologies = Topologies::default();
        for (i, communicator) in self.communicators.list.iter().enumerate() {
            let id = FIRST + index(i);
            let wide = |ranks: &[u32]| ranks.iter().map(|&rank| u64::from(rank)).collect::<Vec<u64>>();
            let text = communicator.name.clone().unwrap_or_else(|| format!("communicator {id}"));
            let name = writer.string(&text)?;
            let first = group(writer, &text, GroupType::CommGroup, &wide(&communicator.members))?;
            let parent = communicator.parent.unwrap_or(UNDEFINED_U32);
            match &communicator.others {
                Some(others) => {
                    let group_b = group(writer, &text, GroupType::CommGroup, &wide(others))?;
                    let common_communicator = UNDEFINED_U32;
                    writer.define(InterComm {
                        id,
                        name,
                        group_a: first,
                        group_b,
                        common_communicator,
                        flags: 0,
                    })?;
                }
                None => writer.define(Comm { id, name, group: first, parent, flags: 0 })?,
            }
            if !communicator.dimensions.is_empty() {
                define_topology(writer, &mut topologies, (id, name), communicator)?;
            }
        }
        Ok(groups)
    }

    /// Teams of threads, with groups from `first_group` on.
    fn define_teams(&mut self, first_group: u32) -> Result<(), WriteError> {
        if self.teams.list.is_empty() {
            return Ok(());
        }
        let of_process = |process: usize, piece: &Piece| -> Vec<u64> {
            (0..piece.threads.len()).map(|thread| location_id(process, piece, thread)).collect()
        };
        let all: Vec<Vec<u64>> =
            self.pieces.iter().enumerate().map(|(process, piece)| of_process(process, piece)).collect();
        // Members are counted in the list of all threads.
        let starts: Vec<u64> =
            (0..all.len()).map(|n| all[..n].iter().map(Vec::len).sum::<usize>() as u64).collect();
        let writer = &mut *self.writer;
        let group = |writer: &mut ArchiveWriter, id, name: &str, group_type, members: &[u64]| {
            let name = writer.string(name)?;
            let (members, paradigm) = (List::new(members), Paradigm::OpenMp);
            writer.define(Group {
                id,
                name,
                group_type_pre12: 0,
                members,
                group_type,
                paradigm,
                group_flags: 0,
            })
        };
        group(writer, first_group, "OpenMP locations", GroupType::CommLocations, &all.concat())?;
        for (i, (process, threads)) in (1..).zip(&self.teams.list) {
            let members: Vec<u64> = threads.iter().map(|&thread| starts[*process] + thread as u64).collect();
            let text = format!("OpenMP team {i}");
            group(writer, first_group + i, &text, GroupType::CommGroup, &members)?;
            let name = writer.string(&text)?;
            let id = self.teams.first + i - 1;
            writer.define(Comm { id, name, group: first_group + i, parent: UNDEFINED_U32, flags: 0 })?;
        }
        Ok(())
    }

    /// Moves the event files to their places; how many, with how many events and bytes.
    fn move_events(&mut self) -> Result<(usize, u64, u64), FinishError> {
        let (mut n_locations, mut n_events, mut n_bytes) = (0, 0, 0);
        for (process, piece) in self.pieces.iter().enumerate() {
            for (thread, &PieceThread { file, slot, .. }) in piece.threads.iter().enumerate() {
                let location = location_id(process, piece, thread);
                let from = piece.folder.join(settings::event_file(file));
                let to = self.writer.event_file(location);
                let left_out = self.under_way.left_out(process, thread);
                let slot = match left_out.is_empty() {
                    true => {
                        fs::rename(&from, &to).map(|()| slot).map_err(|error| FinishError::new(&from, error))
                    }
                    false => under_way::without((&from, slot), piece.chunk_bytes(), &to, left_out),
                }?;
                close(&to, piece.chunk_bytes(), slot).map_err(|error| FinishError::new(&to, error))?;
                let span = Some((slot.first_ns, slot.last_ns));
                let summary = EventSummary { location, n_events: slot.n_events, span };
                let adopted = self.writer.adopt_events(summary);
                let defined = adopted
                    .and_then(|()| self.define_locally(process, location, (slot.first_ns, slot.last_ns)));
                defined.map_err(|error| FinishError::new(&to, error))?;
                n_locations += 1;
                n_events += slot.n_events;
                n_bytes += slot.n_bytes;
            }
        }
        Ok((n_locations, n_events, n_bytes))
    }

    /// What the numbers of a location mean in the run, and its clock.
    fn define_locally(&self, process: usize, location: u64, span: (u64, u64)) -> Result<(), WriteError> {
        let mut local = self.writer.local_definitions(location)?;
        let offset = self.clock.offset_ns(self.pieces, &self.pieces[process]);
        // Two offsets say that the clocks of all locations are one, even where nothing is added.
        for time in [span.0, span.1.max(span.0 + 1)] {
            local.clock_offset(ClockOffset { time, offset, standard_deviation: 0.0 })?;
        }
        if let Some(pairs) = self.regions.of_pieces.get(process).filter(|pairs| !pairs.is_empty()) {
            local.map(RefKind::Region, IdMap::Sparse(List::new(pairs.as_slice())))?;
        }
        if let Some(pairs) = self.contexts.of_pieces.get(process).filter(|pairs| !pairs.is_empty()) {
            local.map(RefKind::CallingContext, IdMap::Sparse(List::new(pairs.as_slice())))?;
        }
        if let Some(pairs) = self.files.of_pieces.get(process).filter(|pairs| !pairs.is_empty()) {
            local.map(RefKind::IoHandle, IdMap::Sparse(List::new(pairs.as_slice())))?;
        }
        if let Some(pairs) = self.metrics.of_pieces.get(process).filter(|pairs| !pairs.is_empty()) {
            local.map(RefKind::Metric, IdMap::Sparse(List::new(pairs.as_slice())))?;
        }
        if let Some(pairs) = self.communicators.of_pieces.get(process) {
            // Without MPI its communicators are not defined.
            let pairs = if self.is_mpi() { pairs.as_slice() } else { &[] };
            let teams = self.teams.of_pieces.get(process).map(Vec::as_slice).unwrap_or_default();
            let pairs = pairs.iter().chain(teams).map(|&(a, b)| (u64::from(a), u64::from(b)));
            let pairs: Vec<(u64, u64)> = pairs.collect();
            if !pairs.is_empty() {
                local.map(RefKind::Comm, IdMap::Sparse(List::new(pairs.as_slice())))?;
            }
        }
        local.finish()
    }
}

/// How many were defined.
#[derive(Debug, Default)]
struct Topologies {
    n: u32,
    n_dimensions: u32,
}

fn define_topology(
    writer: &mut ArchiveWriter,
    defined: &mut Topologies,
    (communicator, name): (u32, u32),
    described: &RunCommunicator,
) -> Result<(), WriteError> {
    let none = writer.string("")?;
    let first = defined.n_dimensions;
    for &(size, is_periodic) in &described.dimensions {
        let cart_periodicity = if is_periodic { CartPeriodicity::True } else { CartPeriodicity::False };
        writer.define(CartDimension { id: defined.n_dimensions, name: none, size, cart_periodicity })?;
        defined.n_dimensions += 1;
    }
    let dimensions: Vec<u32> = (first..defined.n_dimensions).collect();
    let (id, cart_dimensions) = (defined.n, List::new(&dimensions));
    defined.n += 1;
    writer.define(CartTopology { id, name, communicator, cart_dimensions })?;
    for (&rank, coordinates) in &described.coordinates {
        writer.define(CartCoordinate { cart_topology: id, rank, coordinates: List::new(coordinates) })?;
    }
    Ok(())
}

/// Ends an event file behind its last event.
fn close(path: &Path, chunk_bytes: u64, Slot { n_bytes, n_events, .. }: Slot) -> io::Result<()> {
    let file = OpenOptions::new().read(true).write(true).open(path)?;
    let chunk_start = n_bytes.saturating_sub(1) / chunk_bytes * chunk_bytes;
    let mut header = [0; CHUNK_HEADER_BYTES];
    file.read_exact_at(&mut header, chunk_start)?;
    set_last_event(&mut header, n_events);
    file.write_all_at(&header, chunk_start)?;
    file.set_len(n_bytes)?;
    file.write_all_at(&END, n_bytes)
}
