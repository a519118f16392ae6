//! Programs without MPI that are sampled, and what their archives say.

use crate::shop::check_with_reference_tool;
use ouzel_otf2::Archive;
use ouzel_otf2::records::definition::CallingContext;
use ouzel_otf2::records::enums::RegionRole;
use ouzel_otf2::records::{Definition, Event};
use ouzel_otf2::wire::UNDEFINED_U32;
use ouzel_recording::finish::{Finished, finish};
use ouzel_recording::launch::{self, Choices};
use ouzel_testkit::{has_programs, workspace_root};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A folder for a test.
pub struct Workshop(tempfile::TempDir);

impl Workshop {
    /// None without a compiler; the test is then counted as skipped.
    pub fn open() -> Option<Self> {
        has_programs(&["gcc", "timeout"]).then(|| Workshop(tempfile::tempdir().expect("a folder")))
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Compiles a source of `zoo/record` to a file of this name.
    pub fn compile(&self, source: &str, name: &str, words: &[&str]) -> PathBuf {
        self.compile_by("gcc", source, name, words)
    }

    /// The same by another compiler.
    pub fn compile_by(&self, compiler: &str, source: &str, name: &str, words: &[&str]) -> PathBuf {
        let target = self.path(name);
        let mut command = Command::new(compiler);
        command.args(["-g", "-w", "-pthread"]).args(words).arg("-o").arg(&target);
        let source = workspace_root().join("zoo/record").join(source);
        let output = command.arg(source).arg("-ldl").output().expect("the compiler is there");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        target
    }

    /// Runs a program sampled so often, recorded into a folder of this name, bounded in time.
    pub fn run(&self, program: &Path, name: &str, words: &[&str], hz: u32) -> Output {
        let choices = Choices { sample_hz: Some(hz), ..Choices::default() };
        self.run_with(program, name, words, &choices)
    }

    /// The same with other choices.
    pub fn run_with(&self, program: &Path, name: &str, words: &[&str], choices: &Choices) -> Output {
        self.run_in(program, name, words, choices, &[])
    }

    /// The same with more in the environment, as `NAME=VALUE`.
    pub fn run_in(
        &self,
        program: &Path,
        name: &str,
        words: &[&str],
        choices: &Choices,
        environment: &[&str],
    ) -> Output {
        let directory = launch::make_directory(&self.path(name)).expect("a folder for the recording");
        let variables = launch::environment(&directory, choices).expect("the library is built");
        // The time limit is of a process that is not recorded.
        let mut command = Command::new("timeout");
        command.args(["600", "env"]);
        for (name, value) in variables {
            command.arg(format!("{name}={}", value.to_string_lossy()));
        }
        command.args(environment).arg(program).args(words).output().expect("it can be run")
    }

    /// Makes the archive, and has the reference tool read it.
    pub fn finish(&self, name: &str) -> Finished {
        let finished = finish(&self.path(name), None).unwrap_or_else(|error| panic!("{error}"));
        check_with_reference_tool(&self.path(name));
        finished
    }
}

/// Frames that count as new and are on no path, at most: what starts a program or a thread, and the recorder, which is
/// deepest where it reads the files of loaded code.
const N_HIDDEN: usize = 32;

/// The samples of an archive.
pub struct Sampled {
    /// For each sample, names and lines of its functions, outermost first.
    pub paths: Vec<Vec<(String, Option<u32>)>>,
    /// How many of them each location has.
    pub of_locations: Vec<usize>,
    /// How often each region is entered.
    pub enters: BTreeMap<String, usize>,
}

impl Sampled {
    pub fn read(folder: &Path) -> Self {
        let archive = Archive::open(folder).expect("an archive");
        let (definitions, notices) = archive.read_global_definitions();
        assert!(notices.is_empty(), "{notices:?}");
        let (mut texts, mut regions, mut lines) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        let mut contexts = BTreeMap::new();
        for definition in definitions.records() {
            match definition {
                Definition::String(it) => {
                    texts.insert(it.id, String::from_utf8_lossy(it.string.bytes()).into_owned());
                }
                Definition::Region(it) => {
                    let is_loop = it.region_role == RegionRole::Loop;
                    drop(regions.insert(it.id, (texts[&it.name].clone(), is_loop)));
                }
                Definition::SourceCodeLocation(it) => drop(lines.insert(it.id, it.line_number)),
                Definition::CallingContext(it) => drop(contexts.insert(it.id, it)),
                _ => {}
            }
        }
        let (mut paths, mut enters) = (Vec::new(), BTreeMap::new());
        let mut of_locations = Vec::new();
        for &location in archive.locations_on_disk() {
            let n_before = paths.len();
            let (local, notices) = archive.read_local_definitions(location);
            assert!(notices.is_empty(), "{notices:?}");
            let mut events = archive.events(location).expect("an event file");
            while let Some(record) = events.next_record().expect("events are valid") {
                let Some(mut event) = record.event else { panic!("an unknown event") };
                event.map_refs(&local.mapping);
                if let Event::Enter(enter) = event {
                    *enters.entry(regions[&enter.region].0.clone()).or_default() += 1;
                }
                if let Event::CallingContextSample(sample) = event {
                    let path = path_of(sample.calling_context, &contexts, &regions, &lines);
                    let distance = sample.unwind_distance as usize;
                    assert!(0 < distance && distance <= path.len() + N_HIDDEN, "{distance}: {path:?}");
                    paths.push(path);
                }
            }
            of_locations.push(paths.len() - n_before);
        }
        Sampled { paths, of_locations, enters }
    }

    /// Samples with a function on their path.
    pub fn n_through(&self, function: &str) -> usize {
        self.paths.iter().filter(|path| path.iter().any(|(name, _)| name == function)).count()
    }
}

/// Names and lines of the functions of a context, outermost first.
fn path_of(
    mut at: u32,
    contexts: &BTreeMap<u32, CallingContext>,
    regions: &BTreeMap<u32, (String, bool)>,
    lines: &BTreeMap<u32, u32>,
) -> Vec<(String, Option<u32>)> {
    let mut path = Vec::new();
    while at != UNDEFINED_U32 {
        let context = &contexts[&at];
        let line = lines.get(&context.source_code_location).copied();
        let (name, is_loop) = &regions[&context.region];
        if !is_loop {
            path.push((name.clone(), line));
        }
        at = context.parent;
    }
    path.reverse();
    path
}

/// Two samples in a row of one thread: numbers of functions on the second one's path.
#[derive(Debug)]
pub struct SamplePair {
    /// All.
    pub n_functions: usize,
    /// Those that can have stayed since the first sample, as the second says.
    pub n_at_most: usize,
    /// Those that did stay, as recorded enters and leaves say.
    pub n_stayed: usize,
}

/// The pairs of samples of an archive whose functions are all recorded, too. Samples that do not show what is recorded,
/// as at the begin and the end of functions, are left out.
pub fn shadowed(folder: &Path) -> Vec<SamplePair> {
    let archive = Archive::open(folder).expect("an archive");
    let (definitions, _) = archive.read_global_definitions();
    let (mut texts, mut regions, mut contexts) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
    for definition in definitions.records() {
        match definition {
            Definition::String(it) => {
                texts.insert(it.id, String::from_utf8_lossy(it.string.bytes()).into_owned());
            }
            Definition::Region(it) => {
                drop(regions.insert(it.id, (texts[&it.name].clone(), it.region_role == RegionRole::Loop)));
            }
            Definition::CallingContext(it) => drop(contexts.insert(it.id, it)),
            _ => {}
        }
    }
    let mut pairs = Vec::new();
    for &location in archive.locations_on_disk() {
        let (local, _) = archive.read_local_definitions(location);
        let mut events = archive.events(location).expect("an event file");
        // Open calls by region, each with the number of its enter; those of the sample before.
        let (mut open, mut n_enters): (Vec<(u32, u64)>, u64) = (Vec::new(), 0);
        let mut before: Option<Vec<(u32, u64)>> = None;
        while let Some(record) = events.next_record().expect("events are valid") {
            let Some(mut event) = record.event else { continue };
            event.map_refs(&local.mapping);
            match event {
                Event::Enter(enter) => {
                    n_enters += 1;
                    open.push((enter.region, n_enters));
                }
                Event::Leave(_) => drop(open.pop()),
                Event::CallingContextSample(sample) => {
                    let mut path = Vec::new();
                    let mut at = sample.calling_context;
                    while at != UNDEFINED_U32 {
                        path.push(contexts[&at].region);
                        at = contexts[&at].parent;
                    }
                    path.reverse();
                    let is_loop = |region: &u32| regions[region].1;
                    let kept =
                        (path.len() + 1).saturating_sub(sample.unwind_distance as usize).min(path.len());
                    let n_at_most = path[..kept].iter().filter(|region| !is_loop(region)).count();
                    let functions: Vec<u32> =
                        path.iter().copied().filter(|region| !is_loop(region)).collect();
                    let shadow = open.clone();
                    let is_shown = functions.iter().eq(shadow.iter().map(|(region, _)| region));
                    if let (true, Some(before)) = (is_shown, &before) {
                        let n_stayed = shadow.iter().zip(before).take_while(|(a, b)| a == b).count();
                        pairs.push(SamplePair { n_functions: functions.len(), n_at_most, n_stayed });
                    }
                    before = Some(shadow);
                }
                _ => {}
            }
        }
    }
    pairs
}
