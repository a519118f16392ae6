//! Clusters simulated locations: `cargo run --release --example cluster_scale -- N_LOCATIONS`.
//!
//! Every location runs 20 time steps of 42 calls, with a barrier at the end of each. Every call lasts up to a third
//! more or less than at other locations: no two are alike, which is the most work. One in a thousand is twice as slow.
//! No file is read, so that time and memory are those of building trees and clustering. Prints what was found.

use ouzel::context_tree::ContextTrees;
use ouzel::engine::{AnalysisSet, Pass};
use ouzel::model::{
    ChunkBuffer, ChunkReader, Definitions, EventKind, Filter, Location, LocationGroup, LocationGroupKind,
    LocationId, LocationKind, Notice, ReadError, ReadPlan, RegionId, SystemNodeId, Ticks, TraceSource,
    WorldRank,
};
use ouzel_testkit::{Rng, ToyTrace};
use std::num::NonZeroUsize;
use std::sync::Arc;

const N_STEPS: u64 = 20;
const N_KERNELS: usize = 32;
/// Ticks from barrier to barrier.
const STEP: u64 = 100_000;

struct Simulation {
    definitions: Definitions,
    main: RegionId,
    phases: [RegionId; 4],
    kernels: Vec<RegionId>,
    messages: [RegionId; 5],
    barrier: RegionId,
}

impl Simulation {
    fn new(n_locations: u32) -> Self {
        let mut toy = ToyTrace::empty();
        let mut region = |name: &str| toy.region(name);
        let main = region("main");
        let phases = ["flux", "source", "sweep", "update"].map(&mut region);
        let kernels = (0..N_KERNELS).map(|i| region(&format!("kernel_{i}"))).collect();
        let messages = ["MPI_Irecv", "MPI_Irecv", "MPI_Isend", "MPI_Isend", "MPI_Waitall"].map(&mut region);
        let barrier = region("MPI_Barrier");
        let mut definitions = toy.definitions().clone();
        for i in 0..n_locations {
            let (name, rank): (Arc<str>, _) = (Arc::from(format!("Rank {i}")), Some(WorldRank(i)));
            definitions.location_groups.push(LocationGroup {
                name: name.clone(),
                kind: LocationGroupKind::Process,
                system_node: Some(SystemNodeId(1)),
                creator: None,
                device: None,
                rank,
            });
            let group = ouzel::model::LocationGroupId::from_index(definitions.location_groups.len() - 1);
            let (kind, native_id) = (LocationKind::CpuThread, u64::from(i));
            definitions.locations.push(Location {
                name,
                kind,
                group,
                rank,
                declared_events: None,
                native_id,
            });
        }
        Simulation { definitions, main, phases, kernels, messages, barrier }
    }

    fn fill(&self, location: LocationId, buffer: &mut ChunkBuffer) {
        let mut rng = Rng::new(u64::from(location.0));
        let mut now = 0;
        buffer.push(Ticks(0), EventKind::Enter, self.main);
        let slow = if location.0 % 1000 == 7 { 2 } else { 1 };
        let kernels: Vec<(RegionId, u64)> =
            self.kernels.iter().map(|&kernel| (kernel, slow * (900 + rng.below(900)))).collect();
        let per_phase = N_KERNELS / self.phases.len();
        for _ in 0..N_STEPS {
            for (phase, kernels) in self.phases.into_iter().zip(kernels.chunks(per_phase)) {
                buffer.push(Ticks(now), EventKind::Enter, phase);
                for &(kernel, ticks) in kernels {
                    buffer.push(Ticks(now), EventKind::Enter, kernel);
                    now += ticks + rng.below(50);
                    buffer.push(Ticks(now), EventKind::Leave, kernel);
                }
                buffer.push(Ticks(now), EventKind::Leave, phase);
            }
            for region in self.messages {
                buffer.push(Ticks(now), EventKind::Enter, region);
                now += 3 + rng.below(20);
                buffer.push(Ticks(now), EventKind::Leave, region);
            }
            buffer.push(Ticks(now), EventKind::Enter, self.barrier);
            now = now.next_multiple_of(STEP);
            buffer.push(Ticks(now), EventKind::Leave, self.barrier);
        }
        buffer.push(Ticks(now), EventKind::Leave, self.main);
        buffer.n_records = buffer.len() as u64;
    }
}

struct Reader<'a>(&'a Simulation, LocationId);

impl ChunkReader for Reader<'_> {
    fn read(&mut self, buffer: &mut ChunkBuffer) -> Result<bool, ReadError> {
        self.0.fill(self.1, buffer);
        Ok(false)
    }

    fn notices(&mut self) -> Vec<Notice> {
        Vec::new()
    }
}

impl TraceSource for Simulation {
    fn definitions(&self) -> &Definitions {
        &self.definitions
    }

    fn notices(&self) -> &[Notice] {
        &[]
    }

    fn location_bytes(&self, _: LocationId) -> u64 {
        1
    }

    fn open(&self, location: LocationId, _: &ReadPlan) -> Result<Box<dyn ChunkReader + '_>, ReadError> {
        Ok(Box::new(Reader(self, location)))
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let n_locations = std::env::args().nth(1).ok_or("usage: cluster_scale N_LOCATIONS")?.parse()?;
    let (source, filter) = (Simulation::new(n_locations), Filter::default());
    let mut set = AnalysisSet::default();
    let key = set.add(ContextTrees::default());
    let jobs = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let mut report = set.run(&source, Pass { filter: &filter, jobs, progress: None })?;
    for group in report.outputs.take(&key)?.groups {
        for cluster in &group.clusters {
            println!(
                "cluster {}: {} locations, {} nodes",
                cluster.id,
                cluster.members.len(),
                cluster.tree.n_nodes()
            );
        }
    }
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    for line in status.lines().filter(|line| line.starts_with("VmHWM")) {
        println!("{line}");
    }
    Ok(())
}
