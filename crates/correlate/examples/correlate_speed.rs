//! The work of one question, on views made up here: `correlate_speed COMMAND SIZES N_VIEWS JOBS CACHE_FILE`.
//!
//! SIZES as `32x32x64`. COMMAND: `rows` makes the views and nothing else; `first` answers with spectra yet to compute,
//! and keeps them; `top` answers from kept ones, the twenty nearest; `all` the whole list; `values` writes the views
//! into the file instead, as numbers in double precision. What fits into 2 GB is made before the clock starts; larger
//! views are made when they are read, which the time of `first` then has in it. Views are random and smooth: white noise, averaged twice
//! along each axis over a quarter of it, and a twentieth of white noise on top.

use ouzel_correlate::{AxisSet, Cache, CacheOwner, CacheUse, Grid, Question, Run, View, correlate};
use ouzel_model::{
    Aggregation, CallNode, CallPathId, CallTree, CartDimension, CartMembers, CartTopology, Location,
    LocationGroupId, LocationId, LocationKind, MetricId, MetricKind, MetricValueType, Notice,
    ProfileDefinitions, ProfileMetric, ProfileSource, ReadError, RegionId, Severities, SeverityRow,
    SeverityRows,
};
use ouzel_testkit::Rng;
use std::io::Write;
use std::num::NonZeroUsize;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

type Failure = Box<dyn std::error::Error>;

/// Bytes of values up to which they are made before the clock starts.
const MAX_PREPARED_BYTES: usize = 1 << 31;

struct MadeUp {
    definitions: ProfileDefinitions,
    sizes: Vec<usize>,
    /// The views, if they are prepared.
    views: Vec<Vec<f64>>,
}

struct MadeUpRows<'a> {
    profile: &'a MadeUp,
    first: u32,
    next: u32,
}

fn smooth(values: &mut [f64], size: usize, stride: usize, scratch: &mut Vec<f64>) {
    let width = size / 4;
    if width < 2 {
        return;
    }
    for block in values.chunks_exact_mut(size * stride) {
        scratch.clear();
        scratch.extend_from_slice(block);
        let mut sums = vec![0.0; stride];
        for line in scratch.chunks_exact(stride).take(width) {
            sums.iter_mut().zip(line).for_each(|(sum, v)| *sum += v);
        }
        for at in 0..size {
            block[at * stride..(at + 1) * stride].copy_from_slice(&sums);
            let (gone, new) = (&scratch[at * stride..], &scratch[(at + width) % size * stride..]);
            for ((sum, new), gone) in sums.iter_mut().zip(new).zip(gone) {
                *sum += new - gone;
            }
        }
    }
}

fn made_up(sizes: &[usize], view: u32) -> Vec<f64> {
    let n: usize = sizes.iter().product();
    let mut rng = Rng::new(u64::from(view) << 32);
    let mut noise = || (rng.next_u64() >> 11) as f64 / (1_u64 << 53) as f64 - 0.5;
    let mut values: Vec<f64> = (0..n).map(|_| noise()).collect();
    let mut scratch = Vec::new();
    let mut stride = 1;
    for &size in sizes.iter().rev() {
        smooth(&mut values, size, stride, &mut scratch);
        smooth(&mut values, size, stride, &mut scratch);
        stride *= size;
    }
    let square: f64 = values.iter().map(|v| v * v).sum();
    let deviation = (square / n as f64).sqrt();
    // Noise of a twentieth of the deviation: that of a uniform number is its width by √12.
    values.iter_mut().for_each(|v| *v = 100.0 + *v / deviation + 0.05 * 12.0_f64.sqrt() * noise());
    values
}

impl SeverityRows for MadeUpRows<'_> {
    fn read(&mut self, row: &mut SeverityRow) -> Result<bool, ReadError> {
        if self.next == self.first {
            return Ok(false);
        }
        self.next -= 1;
        row.path = CallPathId(self.next);
        row.locations = None;
        let prepared = self.profile.views.get(self.next as usize).cloned();
        let values = prepared.unwrap_or_else(|| made_up(&self.profile.sizes, self.next));
        row.values = Severities::F64(values);
        Ok(true)
    }

    fn notices(&mut self) -> Vec<Notice> {
        Vec::new()
    }
}

impl ProfileSource for MadeUp {
    fn definitions(&self) -> &ProfileDefinitions {
        &self.definitions
    }

    fn notices(&self) -> &[Notice] {
        &[]
    }

    fn severity_bytes(&self, _: MetricId) -> u64 {
        0
    }

    fn open(&self, _: MetricId, paths: Range<CallPathId>) -> Result<Box<dyn SeverityRows + '_>, ReadError> {
        Ok(Box::new(MadeUpRows { profile: self, first: paths.start.0, next: paths.end.0 }))
    }
}

fn profile(sizes: &[usize], n_views: u32) -> (MadeUp, CartTopology) {
    let n = sizes.iter().product();
    let name: Arc<str> = Arc::from("thread");
    let mut definitions = ProfileDefinitions::empty();
    definitions.locations = (0..n as u64)
        .map(|native_id| Location {
            name: Arc::clone(&name),
            kind: LocationKind::CpuThread,
            group: LocationGroupId(0),
            rank: None,
            declared_events: None,
            native_id,
        })
        .collect();
    let nodes = (0..n_views).map(|i| CallNode::new(None, RegionId(0), u64::from(i))).collect();
    definitions.call_tree = CallTree::build(nodes).tree;
    definitions.metrics.push(ProfileMetric {
        name: Arc::from("time"),
        display_name: Arc::from("time"),
        unit: Arc::from("sec"),
        description: Arc::from(""),
        parent: None,
        value_type: MetricValueType::F64,
        kind: MetricKind::Exclusive,
        aggregation: Aggregation::Sum,
        hidden: false,
    });
    let axis = |&size: &usize| CartDimension { name: Arc::from(""), size: size as u32, periodic: true };
    let mut coordinates = Vec::with_capacity(n * sizes.len());
    for place in 0..n {
        let mut stride = n;
        coordinates.extend(sizes.iter().map(|size| {
            stride /= size;
            (place / stride % size) as u32
        }));
    }
    let topology = CartTopology {
        name: Arc::from("made up"),
        comm: None,
        dimensions: sizes.iter().map(axis).collect(),
        members: CartMembers::Locations((0..n).map(LocationId::from_index).collect()),
        coordinates,
    };
    (MadeUp { definitions, sizes: sizes.to_vec(), views: Vec::new() }, topology)
}

#[expect(clippy::print_stdout, clippy::disallowed_methods, reason = "a program that measures")]
fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [command, sizes, n_views, jobs, file] = &arguments[..] else {
        return Err("correlate_speed rows|first|top|all|values SIZES N_VIEWS JOBS FILE".into());
    };
    let sizes = sizes.split('x').map(str::parse).collect::<Result<Vec<usize>, _>>()?;
    let n_views: u32 = n_views.parse()?;
    if command == "rows" {
        let sum: f64 = (0..n_views).map(|view| made_up(&sizes, view)[0]).sum();
        println!("{sum}");
        return Ok(());
    }
    if command == "values" {
        let mut out = std::io::BufWriter::new(std::fs::File::create(file)?);
        for view in 0..n_views {
            for value in made_up(&sizes, view) {
                out.write_all(&value.to_le_bytes())?;
            }
        }
        return Ok(out.flush()?);
    }
    let (mut profile, topology) = profile(&sizes, n_views);
    if command == "first" && sizes.iter().product::<usize>() * 8 * n_views as usize <= MAX_PREPARED_BYTES {
        profile.views = (0..n_views).map(|view| made_up(&sizes, view)).collect();
    }
    let grid = Grid::new(&profile.definitions, &topology)?;
    drop(topology);
    let reference = View { metric: MetricId(0), path: CallPathId(0) };
    let mut question = Question::new(reference, AxisSet::from_indices(1..sizes.len()));
    if command == "all" {
        question.top = None;
    }
    if command == "first" {
        drop(std::fs::remove_file(file));
    }
    let cache = Cache { file: PathBuf::from(file), owner: CacheOwner::User, fingerprint: 1 };
    let run = Run { cache: Some(&cache), ..Run::new(NonZeroUsize::new(jobs.parse()?).ok_or("no threads")?) };
    let start = std::time::Instant::now();
    let found = correlate(&profile, &grid, &question, &run)?;
    let seconds = start.elapsed().as_secs_f64();
    let is_right = match found.cache {
        CacheUse::Read { .. } => command != "first",
        CacheUse::Written { .. } | CacheUse::NotWorth => command == "first",
        CacheUse::Off | CacheUse::Failed => false,
    };
    if !is_right {
        return Err(format!("spectra: {:?}, notices {:?}", found.cache, found.notices).into());
    }
    let rows: Vec<String> =
        found.rows.iter().take(20).map(|row| format!("[{}, {}]", row.view.path.0, row.r)).collect();
    println!(
        "{{\"events\": {}, \"events_seconds\": {seconds}, \"n_transformed\": {}, \"rows\": [{}]}}",
        found.n_views,
        found.n_transformed,
        rows.join(", ")
    );
    Ok(())
}
