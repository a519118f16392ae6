//! Compiling programs, recording them, and what their archives say.

use ouzel_otf2::Archive;
use ouzel_otf2::records::{Definition, Event};
use ouzel_recording::finish::{Finished, finish};
use ouzel_recording::launch::{self, Choices};
use ouzel_testkit::{has_programs, workspace_root};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Ranks of each run: more than a machine with few cores has.
pub const N_RANKS: usize = 4;

/// The libraries, as Debian ends the names of their commands.
pub const LIBRARIES: [&str; 2] = ["openmpi", "mpich"];

/// A folder for a test, and the MPI library it uses.
pub struct Shop {
    pub library: &'static str,
    folder: tempfile::TempDir,
}

/// Per function: calls, bytes sent and bytes received.
pub type Counts = BTreeMap<String, (u64, u64, u64)>;

impl Shop {
    /// None without the library or a compiler; the test is then counted as skipped.
    pub fn open(library: &'static str, compiler: &str) -> Option<Self> {
        let commands = [format!("{compiler}.{library}"), format!("mpirun.{library}"), "timeout".to_owned()];
        let is_there = has_programs(&commands.each_ref().map(String::as_str));
        is_there.then(|| Shop { library, folder: tempfile::tempdir().expect("a folder") })
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Compiles a source of `zoo/record` to a file of this name.
    pub fn compile(&self, compiler: &str, source: &str, name: &str, words: &[&str]) -> PathBuf {
        let target = self.path(name);
        let mut command = Command::new(format!("{compiler}.{}", self.library));
        command.args(["-O1", "-g", "-w"]).args(words).arg("-o").arg(&target);
        let source = workspace_root().join("zoo/record").join(source);
        let output = command.arg(source).output().expect("the compiler is there");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        target
    }

    /// Runs a program on all ranks, recorded into a folder of this name, bounded in time.
    pub fn run(&self, program: &Path, name: &str, words: &[&str], preloaded: Option<&Path>) -> Output {
        self.run_with(program, name, words, preloaded, &Choices::default())
    }

    /// The same with other choices.
    pub fn run_with(
        &self,
        program: &Path,
        name: &str,
        words: &[&str],
        preloaded: Option<&Path>,
        choices: &Choices,
    ) -> Output {
        let directory = launch::make_directory(&self.path(name)).expect("a folder for the recording");
        let variables = launch::environment(&directory, choices).expect("the library is built");
        let mut command = Command::new("timeout");
        command.args(["600", &format!("mpirun.{}", self.library), "-n", &N_RANKS.to_string()]);
        command.arg(program).args(words).envs(variables.iter().cloned());
        if let Some(after) = preloaded {
            let (_, ours) = &variables[0];
            let both = [ours.clone(), OsString::from(":"), after.as_os_str().to_owned()];
            command.env(launch::PRELOAD, both.into_iter().collect::<OsString>());
            fs::create_dir_all(self.path("counts")).expect("a folder for the counts");
            command.env("COUNT_DIR", self.path("counts"));
        }
        // What Open MPI wants of a user who is root, and of a machine with fewer cores than ranks.
        for (name, value) in [
            ("OMPI_ALLOW_RUN_AS_ROOT", "1"),
            ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"),
            ("OMPI_MCA_rmaps_base_oversubscribe", "1"),
            ("OMPI_MCA_mpi_yield_when_idle", "1"),
            ("OMPI_MCA_btl_vader_single_copy_mechanism", "none"),
        ] {
            command.env(name, value);
        }
        command.output().expect("the launcher is there")
    }

    /// Makes the archive; without the note that this machine has too few processors, which is there if it is true.
    pub fn finish(&self, name: &str) -> Finished {
        let mut finished =
            finish(&self.path(name), None).unwrap_or_else(|error| panic!("{}: {error}", self.library));
        for archive in &mut finished.archives {
            let n_notices = archive.notices.len();
            archive.notices.retain(|notice| !notice.message.contains(" ranks share "));
            let is_said = archive.notices.len() < n_notices;
            assert_eq!(is_said, n_processors() < archive.n_processes, "{archive:?}");
        }
        finished
    }

    /// What the independent counter has written, for each rank.
    pub fn counted(&self) -> Vec<Counts> {
        let of_rank = |rank: usize| {
            let path = self.path("counts").join(rank.to_string());
            let text = fs::read_to_string(path).expect("each rank has counted");
            let row = |line: &str| {
                let words: Vec<&str> = line.split(' ').collect();
                let number = |i: usize| words[i].parse().expect("a number");
                (words[0].to_owned(), (number(1), number(2), number(3)))
            };
            text.lines().map(row).collect()
        };
        (0..N_RANKS).map(of_rank).collect()
    }
}

/// On how many processors this process may run, by the kernel's mask.
fn n_processors() -> usize {
    let status = fs::read_to_string("/proc/self/status").expect("Linux has it");
    let mask = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed:")).expect("a mask");
    mask.chars().filter_map(|digit| digit.to_digit(16)).map(|digit| digit.count_ones() as usize).sum()
}

/// What an archive says.
pub struct Recorded {
    /// For each rank, in the order of ranks.
    pub counts: Vec<Counts>,
    /// Names of communicators and their groups' members, in the order of their definitions.
    pub communicators: Vec<(String, Vec<u64>)>,
    /// Source files of regions.
    pub files: Vec<String>,
    /// Sends of each channel less its receives: sender, receiver, communicator, tag.
    pub unmatched: BTreeMap<(u64, u64, u32, u32), i64>,
}

impl Recorded {
    pub fn read(folder: &Path) -> Self {
        let archive = Archive::open(folder).expect("an archive");
        let (definitions, notices) = archive.read_global_definitions();
        assert!(notices.is_empty(), "{notices:?}");
        let (mut texts, mut regions, mut groups) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        let (mut communicators, mut files) = (Vec::new(), Vec::new());
        let mut members = BTreeMap::new();
        for definition in definitions.records() {
            match definition {
                Definition::String(it) => {
                    texts.insert(it.id, String::from_utf8_lossy(it.string.bytes()).into_owned());
                }
                Definition::Region(it) => {
                    regions.insert(it.id, texts[&it.name].clone());
                    files.extend(texts.get(&it.source_file).cloned());
                }
                Definition::Group(it) => {
                    groups.insert(it.id, it.members.iter().collect::<Vec<u64>>());
                }
                Definition::Comm(it) => {
                    members.insert(it.id, groups[&it.group].clone());
                    communicators.push((texts[&it.name].clone(), groups[&it.group].clone()));
                }
                _ => {}
            }
        }
        let mut recorded = Recorded { counts: Vec::new(), communicators, files, unmatched: BTreeMap::new() };
        for &location in archive.locations_on_disk() {
            recorded.counts.push(Counts::new());
            recorded.add(&archive, location, &regions, &members);
        }
        recorded
    }

    fn add(
        &mut self,
        archive: &Archive,
        location: u64,
        regions: &BTreeMap<u32, String>,
        members: &BTreeMap<u32, Vec<u64>>,
    ) {
        let (local, notices) = archive.read_local_definitions(location);
        assert!(notices.is_empty(), "{notices:?}");
        let mut events = archive.events(location).expect("an event file");
        let (mut open, mut time) = (Vec::new(), 0);
        let counts = self.counts.last_mut().expect("it was added");
        while let Some(record) = events.next_record().expect("events are valid") {
            assert!(time <= record.time, "times do not go back");
            time = record.time;
            let Some(mut event) = record.event else { panic!("an unknown event") };
            event.map_refs(&local.mapping);
            let mut channel = |from: u64, to: u64, comm: u32, tag: u32, n: i64| {
                *self.unmatched.entry((from, to, comm, tag)).or_default() += n;
            };
            let peer = |comm: u32, rank: u32| members[&comm].get(rank as usize).copied().unwrap_or(location);
            match event {
                Event::Enter(it) => {
                    open.push(it.region);
                    counts.entry(regions[&it.region].clone()).or_default().0 += 1;
                    continue;
                }
                // Helper threads of MPI have samples alone; counters are read at the program's begin, too.
                Event::CallingContextSample(_) | Event::Metric(_) => continue,
                Event::Leave(it) => {
                    assert_eq!(open.pop(), Some(it.region), "calls are nested");
                    continue;
                }
                _ => {}
            }
            let inside = regions[open.last().expect("MPI is called in the program")].clone();
            let it = counts.entry(inside).or_default();
            match event {
                Event::MpiSend(m) => {
                    it.1 += m.msg_length;
                    channel(location, peer(m.communicator, m.receiver), m.communicator, m.msg_tag, 1);
                }
                Event::MpiIsend(m) => {
                    it.1 += m.msg_length;
                    channel(location, peer(m.communicator, m.receiver), m.communicator, m.msg_tag, 1);
                }
                Event::MpiRecv(m) => {
                    it.2 += m.msg_length;
                    channel(peer(m.communicator, m.sender), location, m.communicator, m.msg_tag, -1);
                }
                Event::MpiIrecv(m) => {
                    it.2 += m.msg_length;
                    channel(peer(m.communicator, m.sender), location, m.communicator, m.msg_tag, -1);
                }
                Event::MpiCollectiveEnd(c) => (it.1, it.2) = (it.1 + c.size_sent, it.2 + c.size_received),
                _ => {}
            }
        }
    }
}

/// What the reference tool says of an archive; nothing if it is not installed.
pub fn check_with_reference_tool(folder: &Path) {
    if !has_programs(&["otf2-print"]) {
        return;
    }
    let mut print = Command::new("otf2-print");
    let output = print.args(["--silent", "--warnings-as-errors"]).arg(folder.join("traces.otf2")).output();
    let output = output.expect("it is there");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
