//! Every question put to workers: the answer is that of one machine, byte for byte.

use ouzel::analyses::breakdown::{Breakdown, HostCode, Requests};
use ouzel::analyses::call_path_profile::CallPathProfile;
use ouzel::analyses::comm_matrix::{CommMatrix, Expansion};
use ouzel::analyses::comm_over_time::CommOverTime;
use ouzel::analyses::counters_over_time::CountersOverTime;
use ouzel::analyses::inventory::Inventory;
use ouzel::analyses::message_histogram::MessageHistogram;
use ouzel::analyses::message_waits::LateMessages;
use ouzel::analyses::metric_profile::MetricProfile;
use ouzel::analyses::patterns::PatternOptions;
use ouzel::analyses::semantics::{Semantics, io_wait_rule};
use ouzel::analyses::time_profile::TimeProfile;
use ouzel::analyses::timeline::Timeline;
use ouzel::efficiency::PartKind;
use ouzel::engine::AnalysisSet;
use ouzel::engine::Progress;
use ouzel::model::Filter;
use ouzel::workers::{Group, Job, JobError, Workers};
use ouzel::{EfficiencyQuery, Options, Trace};
use std::error::Error;
use std::fmt::Debug;
use std::num::NonZeroU16;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

fn testdata(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../testdata").join(name)
}

/// Does everything from bytes and a trace opened anew, as another process would; the last group first, and the first
/// one twice, as after a worker's death.
#[derive(Debug)]
struct Loopback {
    trace: Trace,
    group_bytes: u64,
    n_groups: AtomicUsize,
    /// Bytes of the pieces of buckets, and of the buckets that came back.
    n_bytes: [AtomicUsize; 2],
}

impl Loopback {
    fn new(path: &Path, group_bytes: u64) -> Self {
        let trace = ouzel::open(path).expect("opens");
        Loopback { trace, group_bytes, n_groups: AtomicUsize::new(0), n_bytes: Default::default() }
    }
}

impl Workers for Loopback {
    fn group_bytes(&self) -> u64 {
        self.group_bytes
    }

    fn run(
        &self,
        job: &Job,
        groups: &[Group],
        _: Option<&Progress>,
    ) -> Result<Vec<Vec<u8>>, Box<dyn Error + Send + Sync>> {
        self.n_groups.store(groups.len(), Ordering::Relaxed);
        let job = Job::decode(&job.encode()?)?;
        let fold = |group: &Group| job.fold(&self.trace, &group.locations);
        let mut folded = groups.iter().rev().map(fold).collect::<Result<Vec<_>, _>>()?;
        assert_eq!(fold(&groups[0])?, *folded.last().expect("there is a group"), "folding is pure");
        let mut parts = Vec::new();
        for i in (0..job.n_buckets()).rev() {
            let pieces = || folded.iter().map(|parts| parts[1 + i].as_slice());
            parts.push(job.settle(&self.trace, pieces())?);
            assert_eq!(job.settle(&self.trace, pieces())?, parts[parts.len() - 1], "settling is pure");
        }
        let pieces = folded.iter().flat_map(|parts| &parts[1..]);
        for (n_bytes, parts) in self.n_bytes.iter().zip([pieces.collect::<Vec<_>>(), parts.iter().collect()])
        {
            n_bytes.store(parts.iter().map(|part| part.len()).sum(), Ordering::Relaxed);
        }
        let mut rests: Vec<Vec<u8>> = folded.iter_mut().map(|parts| parts.swap_remove(0)).collect();
        while 1 < rests.len() {
            let merge = |few: &[Vec<u8>]| job.merge(few.iter().map(Vec::as_slice));
            rests = rests.chunks(3).map(merge).collect::<Result<_, _>>()?;
        }
        parts.append(&mut rests);
        Ok(parts)
    }
}

/// Everything that can be asked, as text.
fn answers(trace: &Trace, options: &Options<'_>) -> Vec<(&'static str, String)> {
    fn text<T: Debug, E: Debug>(answer: &Result<T, E>) -> String {
        format!("{answer:?}")
    }
    let definitions = trace.definitions();
    let semantics = Semantics::with_user_rules(&[io_wait_rule()]).expect("a rule of ours");
    let n_bins = NonZeroU16::new(5).expect("not zero");
    let matrix = CommMatrix { expansion: Expansion::WithCollectives };
    let classes = semantics.classes(definitions);
    let breakdown = |host, requests| Breakdown::new(&classes, host, requests);
    let late = LateMessages { semantics: semantics.clone() };
    let of_segments = EfficiencyQuery { per: Some(PartKind::Segment), ..EfficiencyQuery::default() };
    vec![
        ("profile", text(&trace.ask(CallPathProfile, options))),
        ("metric_profile", text(&trace.ask(MetricProfile, options))),
        ("inventory", text(&trace.ask(Inventory, options))),
        ("comm_matrix", text(&trace.ask(matrix, options))),
        ("message_histogram", text(&trace.ask(MessageHistogram, options))),
        ("breakdown", text(&trace.ask(breakdown(HostCode::Computes, Requests::LeftOut), options))),
        ("timeline", text(&trace.ask(Timeline::default(), options))),
        ("late_messages", text(&trace.ask(late, options))),
        ("time_profile", text(&trace.ask_in_bins(n_bins, TimeProfile::new, options))),
        ("comm_over_time", text(&trace.ask_in_bins(n_bins, CommOverTime::new, options))),
        (
            "counters_over_time",
            text(&trace.ask_in_bins(n_bins, |grid| CountersOverTime::new(grid, Vec::new()), options)),
        ),
        ("critical_path", text(&trace.critical_path(options))),
        ("lateness", text(&trace.lateness(options))),
        ("efficiency", text(&trace.efficiency(&of_segments, options))),
        ("waits", text(&trace.waits(options))),
        ("delays", text(&trace.delays(options))),
        ("delays_and_impact", text(&trace.delays_and_impact(options))),
        ("what_if", text(&trace.what_if(Vec::new(), options))),
        ("patterns", text(&trace.patterns(None, &PatternOptions::default(), options))),
        ("context_trees", text(&trace.context_trees(&semantics, options))),
        ("clusters", text(&trace.clusters(&semantics, options))),
        ("diagnose", text(&trace.diagnose(&semantics, AnalysisSet::default(), options))),
    ]
}

fn check(path: &Path, filter: &Filter, group_bytes: u64) -> usize {
    let trace = ouzel::open(path).expect("opens");
    let workers = Loopback::new(path, group_bytes);
    let here = Options { filter: filter.clone(), ..Options::default() };
    let there = Options { workers: Some(&workers), ..here.clone() };
    for ((name, expected), (_, found)) in answers(&trace, &here).into_iter().zip(answers(&trace, &there)) {
        assert_eq!(expected, found, "{name} of {path:?} in groups of {group_bytes} bytes");
    }
    workers.n_groups.load(Ordering::Relaxed)
}

#[test]
fn workers_answer_as_one_machine_does() {
    let filters = [
        Filter::default(),
        Filter { time_ns: Some((200_000_000, 900_000_000)), ..Filter::default() },
        Filter { ranks: Some("1-5".parse().expect("ranks")), ..Filter::default() },
        Filter::default().and("inclusive > 1ms and rank < 3 and time < 900ms".parse().expect("a predicate")),
    ];
    for name in ["pmpi-jacobi", "eztrace-jacobi", "zoo/late_sender/faulty"] {
        let path = testdata(name);
        for filter in &filters {
            assert!(1 < check(&path, filter, 0), "each location is a group of {name}");
            check(&path, filter, 100_000);
        }
    }
}

#[test]
fn ends_of_messages_stay_where_they_are_settled() {
    let path = testdata("pmpi-jacobi");
    let workers = Loopback::new(&path, 0);
    let options = Options { workers: Some(&workers), ..Options::default() };
    ouzel::open(&path).expect("opens").lateness(&options).expect("answers");
    let [pieces, settled] = [0, 1].map(|i| workers.n_bytes[i].load(Ordering::Relaxed));
    assert!(4 * settled < pieces, "{settled} bytes of {pieces} came back");
}

#[test]
fn a_damaged_location_is_told_of_as_on_one_machine() {
    let folder = std::env::temp_dir().join(format!("ouzel-workers-{}", std::process::id()));
    std::fs::create_dir_all(folder.join("traces")).expect("a temporary folder");
    for file in ["traces.otf2", "traces.def"] {
        std::fs::copy(testdata("pmpi-jacobi").join(file), folder.join(file)).expect("copies");
    }
    for entry in testdata("pmpi-jacobi/traces").read_dir().expect("a folder") {
        let entry = entry.expect("an entry");
        let bytes = std::fs::read(entry.path()).expect("reads");
        let kept = if entry.file_name() == "3.evt" { bytes.len() / 2 } else { bytes.len() };
        std::fs::write(folder.join("traces").join(entry.file_name()), &bytes[..kept]).expect("writes");
    }
    check(&folder, &Filter::default(), 0);
    let workers = Loopback::new(&folder, 0);
    let trace = ouzel::open(&folder).expect("opens");
    let options = Options { workers: Some(&workers), ..Options::default() };
    let answer = trace.ask(CallPathProfile, &options).expect("answers");
    assert_eq!(answer.coverage.locations_damaged, 1);
    assert!(answer.notices.iter().any(|n| n.file.as_deref().is_some_and(|f| f.contains("3.evt"))));
    std::fs::remove_dir_all(folder).expect("removes");
}

#[test]
fn other_files_and_other_builds_are_refused() {
    let trace = ouzel::open(&testdata("pmpi-jacobi")).expect("opens");
    let other = Loopback::new(&testdata("pmpi-masterio"), 0);
    let options = Options { workers: Some(&other), ..Options::default() };
    let error = trace.ask(CallPathProfile, &options).expect_err("the workers see other files").to_string();
    assert!(error.contains("the files differ"), "{error}");

    /// Takes the job for one of an older build.
    #[derive(Debug)]
    struct Older;
    impl Workers for Older {
        fn group_bytes(&self) -> u64 {
            0
        }
        fn run(
            &self,
            job: &Job,
            _: &[Group],
            _: Option<&Progress>,
        ) -> Result<Vec<Vec<u8>>, Box<dyn Error + Send + Sync>> {
            let mut bytes = job.encode()?;
            assert_eq!(Job::decode(&bytes)?.fingerprint(), job.fingerprint());
            bytes[1] ^= 1;
            let error = Job::decode(&bytes).expect_err("another build");
            assert!(matches!(error, JobError::ForeignBuild { .. }), "{error}");
            Ok(vec![bytes])
        }
    }
    let options = Options { workers: Some(&Older), ..Options::default() };
    let error = trace.ask(CallPathProfile, &options).expect_err("a result of another build").to_string();
    assert!(error.contains("cannot work together"), "{error}");
}

/// What came back from workers, changed on its way.
#[derive(Debug)]
struct Tampered(Loopback, fn(&mut Vec<Vec<u8>>));

impl Workers for Tampered {
    fn group_bytes(&self) -> u64 {
        0
    }

    fn run(
        &self,
        job: &Job,
        groups: &[Group],
        progress: Option<&Progress>,
    ) -> Result<Vec<Vec<u8>>, Box<dyn Error + Send + Sync>> {
        let mut parts = self.0.run(job, groups, progress)?;
        self.1(&mut parts);
        Ok(parts)
    }
}

#[test]
fn parts_that_are_missing_or_come_twice_are_found_out() {
    let path = testdata("pmpi-jacobi");
    let trace = ouzel::open(&path).expect("opens");
    let tampers: [fn(&mut Vec<Vec<u8>>); 3] =
        [|parts| drop(parts.pop()), |parts| drop(parts.remove(0)), |parts| parts[0] = parts[1].clone()];
    for tamper in tampers {
        let workers = Tampered(Loopback::new(&path, 0), tamper);
        let options = Options { workers: Some(&workers), ..Options::default() };
        let error = trace.ask(LateMessages::default(), &options).expect_err("a part is odd").to_string();
        assert!(error.contains("missing, repeated or from other locations"), "{error}");
    }
}

/// Folds all groups but one.
#[derive(Debug)]
struct Forgetful(Loopback);

impl Workers for Forgetful {
    fn group_bytes(&self) -> u64 {
        0
    }

    fn run(
        &self,
        job: &Job,
        groups: &[Group],
        progress: Option<&Progress>,
    ) -> Result<Vec<Vec<u8>>, Box<dyn Error + Send + Sync>> {
        self.0.run(job, &groups[1..], progress)
    }
}

#[test]
fn workers_that_forget_a_group_are_found_out() {
    let path = testdata("pmpi-jacobi");
    let workers = Forgetful(Loopback::new(&path, 0));
    let options = Options { workers: Some(&workers), ..Options::default() };
    let error =
        ouzel::open(&path).expect("opens").ask(CallPathProfile, &options).expect_err("a location is missing");
    assert!(error.to_string().contains("(8 locations)"), "{error}");
}

#[test]
fn pieces_of_different_buckets_are_not_settled_together() {
    #[derive(Debug)]
    struct Confused(Loopback);
    impl Workers for Confused {
        fn group_bytes(&self) -> u64 {
            0
        }
        fn run(
            &self,
            job: &Job,
            groups: &[Group],
            _: Option<&Progress>,
        ) -> Result<Vec<Vec<u8>>, Box<dyn Error + Send + Sync>> {
            let parts = job.fold(&self.0.trace, &groups[0].locations)?;
            job.settle(&self.0.trace, [parts[1].as_slice(), parts[2].as_slice()])?;
            Ok(parts)
        }
    }
    let path = testdata("pmpi-jacobi");
    let workers = Confused(Loopback::new(&path, 0));
    let options = Options { workers: Some(&workers), ..Options::default() };
    let error =
        ouzel::open(&path).expect("opens").ask(LateMessages::default(), &options).expect_err("confused");
    assert!(error.to_string().contains("different parts"), "{error}");
}

#[test]
fn repaired_clocks_travel() {
    /// Opens the files as they are, and sees them on the clocks of the job.
    #[derive(Debug)]
    struct Elsewhere(PathBuf);
    impl Workers for Elsewhere {
        fn group_bytes(&self) -> u64 {
            0
        }
        fn run(
            &self,
            job: &Job,
            groups: &[Group],
            progress: Option<&Progress>,
        ) -> Result<Vec<Vec<u8>>, Box<dyn Error + Send + Sync>> {
            let opened = ouzel::open(&self.0)?;
            assert_eq!(opened.fingerprint(), job.recorded_fingerprint());
            assert!(matches!(job.fold(&opened, &groups[0].locations), Err(JobError::OtherFiles { .. })));
            let mut workers = Loopback::new(&self.0, 0);
            workers.trace = Job::decode(&job.encode()?)?.on_clocks(opened);
            workers.run(job, groups, progress)
        }
    }
    let path = testdata("eztrace-jacobi");
    let recorded = ouzel::open(&path).expect("opens");
    let repair = recorded.clock_repair(&Options::default()).expect("answers");
    assert!(0 < repair.n_violations, "these clocks were wrong");
    let mut other = repair.clone();
    let fingerprint = recorded.fingerprint();
    let repaired = recorded.on_clocks(repair);
    let workers = Elsewhere(path.clone());
    let here = Options::default();
    let there = Options { workers: Some(&workers), ..Options::default() };
    for ((name, expected), (_, found)) in
        answers(&repaired, &here).into_iter().zip(answers(&repaired, &there))
    {
        assert_eq!(expected, found, "{name} on repaired clocks");
    }
    // Another correction makes another trace.
    other.worst.0 += 1;
    let other = ouzel::open(&path).expect("opens").on_clocks(other);
    assert_ne!(repaired.fingerprint(), fingerprint);
    assert_ne!(repaired.fingerprint(), other.fingerprint());
}

#[test]
fn spoilt_jobs_and_partials_are_refused() {
    /// Spoils what it is given and what it made in every way that a wire or a disk may.
    #[derive(Debug)]
    struct Spoilt(Loopback);
    impl Workers for Spoilt {
        fn group_bytes(&self) -> u64 {
            0
        }
        fn run(
            &self,
            job: &Job,
            groups: &[Group],
            _: Option<&Progress>,
        ) -> Result<Vec<Vec<u8>>, Box<dyn Error + Send + Sync>> {
            for bytes in spoilt(&job.encode()?) {
                let error = Job::decode(&bytes).expect_err("it is spoilt");
                assert!(matches!(error, JobError::Damaged { .. } | JobError::ForeignBuild { .. }), "{error}");
            }
            let parts = job.fold(&self.0.trace, &groups[0].locations)?;
            for bytes in spoilt(&parts[0]) {
                let error = job.merge([bytes.as_slice()]).expect_err("it is spoilt");
                assert!(matches!(error, JobError::Damaged { .. } | JobError::ForeignBuild { .. }), "{error}");
            }
            for bytes in spoilt(&parts[1]).into_iter().step_by(7) {
                job.settle(&self.0.trace, [bytes.as_slice()]).expect_err("it is spoilt");
            }
            Ok(vec![spoilt(&parts[0])[100].clone()])
        }
    }
    let path = testdata("pmpi-jacobi");
    let workers = Spoilt(Loopback::new(&path, 0));
    let options = Options { workers: Some(&workers), ..Options::default() };
    let error =
        ouzel::open(&path).expect("opens").ask(LateMessages::default(), &options).expect_err("spoilt");
    assert!(error.to_string().contains("is damaged"), "{error}");
}

/// Each byte with one bit flipped, cut at each byte, and with something behind; of long ones some thousand places.
fn spoilt(bytes: &[u8]) -> Vec<Vec<u8>> {
    let places = (0..bytes.len()).step_by(bytes.len() / 1000 + 1);
    let flipped = places.clone().map(|at| {
        let mut bytes = bytes.to_vec();
        bytes[at] ^= 1 << (at % 8);
        bytes
    });
    let cut = places.map(|at| bytes[..at].to_vec());
    flipped.chain(cut).chain([[bytes, &[0]].concat(), [bytes, bytes].concat()]).collect()
}
