//! Waiting and its causes as the tool that wrote the profile measured them: metrics of Scalasca.
//!
//! Law: a class that is part of another one in the profile's tree of metrics is told as part of it, so classes at the
//! top add up to no more than all time.

use super::{WaitingClass, WaitingPath, ns};
use ouzel_causes::seconds;
use ouzel_model::{
    Aggregation, MetricId, ProfileDefinitions, ProfileSource, Scope, ScopedRows, SeverityError, SeverityRow,
};

/// Unique names of metrics that are waiting, and what they mean.
const WAITS: &[(&str, &str)] = &[
    ("mpi_latesender", "receivers wait for late senders"),
    ("mpi_latesender_wo", "messages are received in another order than they were sent"),
    ("mpi_lswo_different", "the same, from different senders"),
    ("mpi_lswo_same", "the same, from the same sender"),
    ("mpi_latereceiver", "senders wait for late receivers"),
    ("mpi_barrier_wait", "waiting in front of MPI barriers"),
    ("mpi_wait_nxn", "waiting for the last process in all-to-all collectives"),
    ("mpi_latebroadcast", "waiting for a late root in one-to-all collectives"),
    ("mpi_earlyreduce", "a root waits in all-to-one collectives"),
    ("mpi_earlyscan", "waiting in prefix reductions"),
    ("mpi_rma_wait_at_create", "waiting where windows are created"),
    ("mpi_rma_wait_at_free", "waiting where windows are freed"),
    ("mpi_rma_wait_at_fence", "waiting at fences of one-sided communication"),
    ("mpi_rma_early_fence", "waiting at fences for transfers that are not done"),
    ("mpi_rma_late_post", "waiting for exposure epochs that begin late"),
    ("mpi_rma_early_wait", "waiting for access epochs that are not over"),
    ("mpi_rma_late_complete", "waiting for access epochs that end late"),
    ("mpi_rma_early_transfer", "transfers before the exposure epoch begins"),
    ("mpi_rma_wait_for_progress", "one-sided transfers wait for progress"),
    ("omp_ebarrier_wait", "waiting in explicit OpenMP barriers"),
    ("omp_ibarrier_wait", "waiting in implicit OpenMP barriers"),
    ("omp_lock_contention_critical", "waiting for OpenMP critical sections"),
    ("omp_lock_contention_api", "waiting for OpenMP locks"),
    ("pthread_lock_contention_mutex_lock", "waiting for mutexes"),
    ("pthread_lock_contention_conditional", "waiting for conditions"),
    ("omp_idle_threads", "threads that idle outside of parallel regions"),
];

/// Call paths that are named for each class.
const MAX_PATHS: usize = 3;

/// Metrics of idle threads, part of time.
const IDLE: [&str; 2] = ["omp_idle_threads", "idle_threads"];

/// The metric of idle threads, if there is one.
pub(super) fn idle_metric(definitions: &ProfileDefinitions) -> Option<MetricId> {
    IDLE.iter().find_map(|name| {
        definitions
            .metric_ids()
            .find(|&id| is_time(definitions, id) && *definitions.metric(id).name == **name)
    })
}

/// The classes of waiting with values, most first.
pub(super) fn waits(source: &dyn ProfileSource) -> Result<Vec<WaitingClass>, SeverityError> {
    let definitions = source.definitions();
    let words = |id: MetricId| {
        let name = &*definitions.metric(id).name;
        WAITS.iter().find(|(known, _)| *known == name).map(|(_, words)| (*words).to_owned())
    };
    of_metrics(source, &words)
}

/// What makes others wait, by the classes of the waits that follow, most first.
pub(super) fn delays(source: &dyn ProfileSource) -> Result<Vec<WaitingClass>, SeverityError> {
    let definitions = source.definitions();
    let is_delay = |id: MetricId| {
        let name = &definitions.metric(id).name;
        ["delay", "mpi_delay", "omp_delay"].iter().any(|start| name.starts_with(start))
    };
    let words = |id: MetricId| {
        let metric = definitions.metric(id);
        let text = if metric.description.is_empty() { &metric.display_name } else { &metric.description };
        is_delay(id).then(|| text.to_string())
    };
    of_metrics(source, &words)
}

fn is_time(definitions: &ProfileDefinitions, id: MetricId) -> bool {
    let metric = definitions.metric(id);
    metric.aggregation == Aggregation::Sum && seconds(&metric.unit).is_some()
}

fn of_metrics(
    source: &dyn ProfileSource,
    words: &dyn Fn(MetricId) -> Option<String>,
) -> Result<Vec<WaitingClass>, SeverityError> {
    let definitions = source.definitions();
    let mut classes = Vec::new();
    for id in definitions.metric_ids().filter(|&id| is_time(definitions, id)) {
        let Some(meaning) = words(id) else { continue };
        let metric = definitions.metric(id);
        let mut parents = std::iter::successors(metric.parent, |&parent| definitions.metric(parent).parent);
        let part_of = parents.find(|&parent| words(parent).is_some());
        let (total, paths) = sums(source, id)?;
        if ns(total) == 0 {
            continue;
        }
        classes.push(WaitingClass {
            metric: metric.name.to_string(),
            part_of: part_of.map(|parent| definitions.metric(parent).name.to_string()),
            meaning,
            time_ns: ns(total),
            call_paths: paths,
        });
    }
    classes.sort_by_key(|class| std::cmp::Reverse(class.time_ns));
    Ok(classes)
}

/// The whole of a metric in seconds, and the call paths with most.
fn sums(source: &dyn ProfileSource, metric: MetricId) -> Result<(f64, Vec<WaitingPath>), SeverityError> {
    let definitions = source.definitions();
    let scale = seconds(&definitions.metric(metric).unit).unwrap_or(1.0);
    let mut rows = ScopedRows::open(source, metric, Scope::Exclusive, definitions.call_tree.all())?;
    let mut row = SeverityRow::new(definitions.metric(metric).value_type);
    let mut total = 0.0;
    let mut paths = Vec::new();
    while rows.read(&mut row)? {
        let mut most = (0.0, None);
        let mut sum = 0.0;
        for (location, value) in row.iter() {
            let value = value.max(0.0) * scale;
            sum += value;
            if most.0 < value {
                most = (value, definitions.locations[location.index()].rank);
            }
        }
        total += sum;
        if 0.0 < sum {
            paths.push((sum, row.path, most));
        }
    }
    paths.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    paths.truncate(MAX_PATHS);
    let named = paths.into_iter().map(|(sum, path, most)| WaitingPath {
        call_path: definitions.call_path_names(path),
        time_ns: ns(sum),
        most_rank: most.1.map(|rank| rank.0),
        most_ns: ns(most.0),
    });
    Ok((total, named.collect()))
}
