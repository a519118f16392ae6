//! Programs with OpenMP, and what their archives say of teams, barriers, locks and tasks.

use crate::sampled::{Sampled, Workshop};
use ouzel_otf2::Archive;
use ouzel_otf2::records::enums::{GroupType, Paradigm, RegionRole};
use ouzel_otf2::records::{Definition, Event};
use ouzel_recording::launch::Choices;
use ouzel_testkit::{has_openmp, has_programs};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

/// What an archive says of threads.
#[derive(Debug, Default)]
struct Teams {
    /// For each region its visits, and the time in them.
    visits: BTreeMap<String, u64>,
    ns: BTreeMap<String, u64>,
    roles: BTreeMap<String, (RegionRole, Paradigm)>,
    /// Numbers of members of each team that was used.
    sizes: BTreeMap<u32, usize>,
    /// How often each team was begun by each location.
    begun: BTreeMap<(u32, u64), u64>,
    n_forks: u64,
    /// For each lock the numbers of its acquisitions, when each began and ended.
    locks: BTreeMap<u32, BTreeMap<u32, (u64, u64)>>,
    /// Pairs of a region and that around it.
    inside: BTreeSet<(String, String)>,
    /// For each location time in the barrier that ends parallel regions.
    waited_ns: BTreeMap<u64, u64>,
    /// Open regions at a time, at most.
    depth: usize,
}

impl Teams {
    fn read(folder: &Path) -> Self {
        let archive = Archive::open(folder).expect("an archive");
        let (definitions, notices) = archive.read_global_definitions();
        assert!(notices.is_empty(), "{notices:?}");
        let mut found = Teams::default();
        let (mut texts, mut regions, mut groups, mut teams) =
            (BTreeMap::new(), BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        for definition in definitions.records() {
            match definition {
                Definition::String(it) => {
                    texts.insert(it.id, String::from_utf8_lossy(it.string.bytes()).into_owned());
                }
                Definition::Region(it) => {
                    let name = texts[&it.name].clone();
                    found.roles.insert(name.clone(), (it.region_role, it.paradigm));
                    regions.insert(it.id, name);
                }
                Definition::Group(it) if it.paradigm == Paradigm::OpenMp => {
                    groups.insert(it.id, (it.group_type, it.members.iter().collect::<Vec<u64>>()));
                }
                Definition::Comm(it) => drop(teams.insert(it.id, it.group)),
                _ => {}
            }
        }
        let all: Vec<u64> = groups
            .values()
            .filter(|(kind, _)| *kind == GroupType::CommLocations)
            .flat_map(|(_, members)| members.clone())
            .collect();
        for &location in archive.locations_on_disk() {
            found.add(&archive, location, &regions);
        }
        for &(team, location) in found.begun.keys() {
            let (_, members) = &groups[&teams[&team]];
            found.sizes.insert(team, members.len());
            let members: Vec<u64> = members.iter().map(|&member| all[member as usize]).collect();
            assert!(members.contains(&location), "{location} in {members:?}");
        }
        // All members have used a team equally often.
        for &team in found.sizes.keys() {
            let uses: Vec<u64> =
                found.begun.iter().filter(|((of, _), _)| *of == team).map(|(_, n)| *n).collect();
            assert_eq!(uses.len(), found.sizes[&team], "team {team}: {uses:?}");
            assert!(uses.iter().all(|n| *n == uses[0]), "team {team}: {uses:?}");
        }
        found
    }

    fn add(&mut self, archive: &Archive, location: u64, regions: &BTreeMap<u32, String>) {
        let (local, notices) = archive.read_local_definitions(location);
        assert!(notices.is_empty(), "{notices:?}");
        let mut events = archive.events(location).expect("an event file");
        let (mut open, mut in_teams, mut n_forks): (Vec<(u32, u64)>, Vec<u32>, u64) =
            (Vec::new(), Vec::new(), 0);
        while let Some(record) = events.next_record().expect("events are valid") {
            let Some(mut event) = record.event else { panic!("an unknown event") };
            event.map_refs(&local.mapping);
            match event {
                Event::Enter(it) => {
                    let name = &regions[&it.region];
                    *self.visits.entry(name.clone()).or_default() += 1;
                    let around = open.last().map_or("", |(region, _)| &regions[region]);
                    self.inside.insert((name.clone(), around.to_owned()));
                    open.push((it.region, record.time));
                    self.depth = self.depth.max(open.len());
                }
                Event::Leave(it) => {
                    let (region, since) = open.pop().expect("something is open");
                    assert_eq!(region, it.region, "calls are nested");
                    let name = &regions[&region];
                    *self.ns.entry(name.clone()).or_default() += record.time - since;
                    if name.starts_with("!$omp implicit barrier") {
                        *self.waited_ns.entry(location).or_default() += record.time - since;
                    }
                }
                Event::ThreadFork(_) => n_forks += 1,
                Event::ThreadJoin(_) => n_forks -= 1,
                Event::ThreadTeamBegin(it) => {
                    in_teams.push(it.thread_team);
                    *self.begun.entry((it.thread_team, location)).or_default() += 1;
                    self.n_forks += u64::from(0 < n_forks);
                }
                Event::ThreadTeamEnd(it) => assert_eq!(in_teams.pop(), Some(it.thread_team)),
                Event::ThreadAcquireLock(it) => {
                    let lock = self.locks.entry(it.lock_id).or_default();
                    assert!(lock.insert(it.acquisition_order, (record.time, 0)).is_none());
                }
                Event::ThreadReleaseLock(it) => {
                    let lock =
                        self.locks.get_mut(&it.lock_id).and_then(|of| of.get_mut(&it.acquisition_order));
                    lock.expect("it was acquired").1 = record.time;
                }
                _ => {}
            }
        }
        assert!(open.is_empty() && in_teams.is_empty() && n_forks == 0, "{open:?} {in_teams:?} {n_forks}");
    }

    /// Visits of the regions whose names begin so.
    fn n(&self, name: &str) -> u64 {
        let of =
            self.visits.iter().filter(|(full, _)| full.rsplit_once(" @").is_some_and(|(it, _)| it == name));
        of.map(|(_, n)| n).sum()
    }
}

/// With libgomp, whose functions are wrapped, and with libomp, which reports.
fn compilers() -> Vec<&'static str> {
    ["gcc", "clang"].into_iter().filter(|compiler| has_openmp(compiler)).collect()
}

/// A program that is compiled by each of the compilers, and recorded.
struct Trial {
    shop: Workshop,
    compiler: &'static str,
}

impl Trial {
    /// One for each compiler.
    fn all() -> impl Iterator<Item = Trial> {
        let open = |compiler| Some(Trial { shop: Workshop::open()?, compiler });
        compilers().into_iter().filter_map(open)
    }

    fn compile(&self, flags: &[&str]) -> PathBuf {
        let flags: Vec<&str> = flags.iter().copied().chain(["-fopenmp"]).collect();
        self.shop.compile_by(self.compiler, "openmp.c", "openmp", &flags)
    }

    /// Compiles and records the program, which must succeed, anew.
    fn recorded(&self, words: &[&str], flags: &[&str], choices: &Choices) -> (Teams, PathBuf) {
        let program = self.compile(flags);
        let run = self.shop.path("run");
        if run.exists() {
            std::fs::remove_dir_all(&run).expect("it can be removed");
        }
        let output = self.shop.run_with(&program, "run", words, choices);
        assert!(output.status.success(), "{}: {output:?}", self.compiler);
        let finished = self.shop.finish("run");
        assert!(finished.archives[0].notices.iter().all(|notice| !notice.is_loss), "{finished:?}");
        (Teams::read(&run), run)
    }

    fn is_gcc(&self) -> bool {
        self.compiler == "gcc"
    }
}

#[test]
fn uneven_work_is_waiting_at_the_implicit_barrier() {
    for trial in Trial::all() {
        let compiler = trial.compiler;
        let choices = Choices { sample_hz: Some(1000), ..Choices::default() };
        let (teams, run) = trial.recorded(&["uneven", "10"], &["-O1"], &choices);
        let sizes: Vec<usize> = teams.sizes.values().copied().collect();
        assert_eq!((sizes, teams.n_forks), (vec![4], 10), "{compiler}");
        assert_eq!(
            (teams.n("!$omp parallel"), teams.n("!$omp implicit barrier")),
            (40, 40),
            "{compiler}: {:?}",
            teams.visits
        );
        let region = "!$omp parallel @openmp.c:34";
        assert_eq!(
            teams.roles.get(region),
            Some(&(RegionRole::Parallel, Paradigm::OpenMp)),
            "{compiler}: {:?}",
            teams.visits
        );
        // The last thread computes three times as long: the others wait for it, on any machine.
        let of_thread = |thread: u64| teams.waited_ns[&(thread << 32)];
        let last = (0..4).min_by_key(|&thread| of_thread(thread)).expect("there are four");
        assert!(
            (0..4).filter(|&it| it != last).all(|it| of_thread(last) * 2 < of_thread(it)),
            "{compiler}: {:?}",
            teams.waited_ns
        );
        // Samples of workers begin with the program and the region, and go on in what it calls.
        let sampled = Sampled::read(&run);
        assert!(100 < sampled.n_through("work"), "{compiler}: {}", sampled.paths.len());
        let begins = |with: &[&str]| {
            let names = |path: &Vec<(String, Option<u32>)>| {
                path.len() >= with.len() && path.iter().zip(with).all(|((name, _), it)| name == it)
            };
            sampled.paths.iter().filter(|path| names(path)).count()
        };
        let without_loop = ["openmp", "main", "uneven", region, "work"];
        let with_loop = ["openmp", "main", "uneven", "loop at openmp.c:33", region, "work"];
        let first = begins(&without_loop) + begins(&with_loop);
        let others = begins(&["openmp", region, "work"]);
        assert!(10 < first && first < others, "{compiler}: {first} {others} {:?}", sampled.paths.last());
    }
}

#[test]
fn locks_are_held_by_one_thread_at_a_time() {
    for trial in Trial::all() {
        let compiler = trial.compiler;
        let (teams, _) = trial.recorded(&["locks", "5"], &["-O2"], &Choices::default());
        assert_eq!(
            (teams.n("!$omp critical"), teams.n("!$omp critical sblock"), teams.n("!$omp set_lock")),
            (20, 20, 20),
            "{compiler}: {:?}",
            teams.visits
        );
        assert_eq!(teams.locks.values().map(BTreeMap::len).collect::<Vec<_>>(), [20, 20], "{compiler}");
        for lock in teams.locks.values() {
            let uses: Vec<(u64, u64)> = lock.values().copied().collect();
            assert!(uses.iter().all(|(from, to)| from <= to), "{compiler}: {uses:?}");
            assert!(uses.windows(2).all(|pair| pair[0].1 <= pair[1].0), "{compiler}: {uses:?}");
        }
    }
}

#[test]
fn constructs_are_recorded_and_compute_what_they_do_without() {
    for trial in Trial::all() {
        let compiler = trial.compiler;
        for flags in [&["-O0"][..], &["-O2"], &["-O2", "-g0"]] {
            let (teams, _) = trial.recorded(&["constructs"], flags, &Choices::default());
            let what = format!("{compiler} {flags:?}: {:?}", teams.visits);
            assert_eq!(teams.n_forks, 4, "{what}");
            assert_eq!(teams.n("!$omp parallel"), 12, "{what}");
            // Dynamic, guided, ordered, and the one of the combined directive.
            assert_eq!(teams.n("!$omp for"), 12, "{what}");
            assert_eq!(teams.n("!$omp sections"), 3, "{what}");
            assert_eq!(teams.n("!$omp single"), 3, "{what}");
            assert_eq!((teams.n("!$omp critical"), teams.n("!$omp ordered")), (3, 20), "{what}");
            // Of fibonacci(10), each call but the first is a task; 30 have data.
            assert_eq!(teams.n("!$omp task"), 176 + 30, "{what}");
            assert_eq!(teams.n("!$omp taskwait"), 88, "{what}");
            // Those of a region and of four constructs in the first one; libgomp gets the same call for that of a `single`
            // as for one that the program asks for.
            let n_barriers = (teams.n("!$omp implicit barrier"), teams.n("!$omp barrier"));
            let n_single = 9;
            let n_implicit = 12 + 9;
            let expected =
                if trial.is_gcc() { (n_implicit, 3 + n_single) } else { (n_implicit + n_single, 3) };
            assert_eq!(n_barriers, expected, "{what}");
            let of_parallel = |(inner, outer): &&(String, String)| {
                inner.starts_with("!$omp for") && !outer.starts_with("!$omp parallel")
            };
            assert_eq!(teams.inside.iter().find(of_parallel), None, "{what}");
            let without_lines = flags.contains(&"-g0");
            let is_named =
                |name: &String| !name.starts_with("!$omp") || name.contains("@openmp.c:") != without_lines;
            assert!(teams.visits.keys().all(is_named), "{what}");
            if without_lines && trial.is_gcc() {
                assert!(teams.visits.keys().any(|name| name.contains("._omp_fn.")), "{what}");
            }
        }
    }
}

#[test]
fn constructs_at_the_end_of_functions_have_their_lines() {
    for trial in Trial::all() {
        let (teams, _) = trial.recorded(&["jump"], &["-O2"], &Choices::default());
        let expected = ["!$omp parallel @openmp.c:175", "!$omp barrier @openmp.c:170"];
        let has = |name: &&str| teams.visits.get(*name) == Some(&2);
        assert!(expected.iter().all(has), "{}: {:?}", trial.compiler, teams.visits);
    }
}

#[test]
fn teams_are_told_apart() {
    for trial in Trial::all() {
        let compiler = trial.compiler;
        let (teams, _) = trial.recorded(&["sizes", "5"], &[], &Choices::default());
        let sizes: BTreeSet<usize> = teams.sizes.values().copied().collect();
        assert_eq!((sizes, teams.n_forks), (BTreeSet::from([2, 4]), 15), "{compiler}");
        let (teams, _) = trial.recorded(&["nested"], &[], &Choices::default());
        assert_eq!((teams.n_forks, teams.n("!$omp parallel")), (9, 18), "{compiler}");
        // Regions that are not nested have a team of one thread each time.
        let (teams, _) = trial.recorded(&["inside"], &[], &Choices::default());
        assert_eq!((teams.n_forks, teams.n("!$omp parallel")), (101, 102), "{compiler}");
        let sizes: Vec<usize> = teams.sizes.values().copied().collect();
        assert!(sizes.len() <= 3 && sizes.contains(&2), "{compiler}: {sizes:?}");
        let (teams, _) = trial.recorded(&["roots", "20"], &[], &Choices::default());
        assert_eq!((teams.n_forks, teams.n("!$omp parallel")), (80, 200), "{compiler}");
    }
}

#[test]
fn a_thread_of_a_team_may_end_the_process() {
    for trial in Trial::all() {
        let program = trial.compile(&["-O1"]);
        let choices = Choices { sample_hz: Some(200), ..Choices::default() };
        for (run, thread) in [("first", "0"), ("other", "1")] {
            let output = trial.shop.run_with(&program, run, &["leave", thread], &choices);
            assert_eq!(output.status.code(), Some(3), "{}: {output:?}", trial.compiler);
            let finished = trial.shop.finish(run);
            assert!(finished.archives[0].notices.iter().all(|notice| !notice.is_loss), "{finished:?}");
        }
    }
}

/// A tool that counts parallel regions, and says so when the process ends.
const TOOL: &str = r#"
#include <stdio.h>
static int n;
static void begin(void *t, void *f, void *p, unsigned r, int flags, void *c) { n++; }
typedef int (*set_t)(int, void (*)(void));
static int initialize(void *(*lookup)(const char *), int device, void *data) {
    ((set_t)lookup("ompt_set_callback"))(3, (void (*)(void))begin);
    return 1;
}
static void finalize(void *data) { fprintf(stderr, "%d regions\n", n); }
static struct { void *initialize, *finalize; long data; } tool = {initialize, finalize, 0};
void *ompt_start_tool(unsigned version, const char *runtime) { return &tool; }
"#;

#[test]
fn another_tool_goes_before() {
    let Some(trial) = Trial::all().find(|trial| !trial.is_gcc()) else { return };
    let (source, tool) = (trial.shop.path("tool.c"), trial.shop.path("libtool.so"));
    std::fs::write(&source, TOOL).expect("it can be written");
    let compiled =
        Command::new("clang").args(["-w", "-shared", "-fPIC", "-o"]).arg(&tool).arg(&source).status();
    assert!(compiled.expect("the compiler is there").success());
    let tool = tool.to_str().expect("a path");
    // Named by the environment, linked with the program, and a part of it.
    let exported = ["-rdynamic", source.to_str().expect("a path")];
    // Where the program has it, the runtime does not ask the recorder.
    for (flags, variable, expects_notice) in [
        (&[][..], Some(format!("OMP_TOOL_LIBRARIES={tool}")), true),
        (&["-Wl,--no-as-needed", tool], None, true),
        (&exported, None, false),
        (&[], Some("OMP_TOOL=disabled".to_owned()), false),
    ] {
        let is_disabled = variable.as_deref() == Some("OMP_TOOL=disabled");
        let program = trial.compile(flags);
        let words: Vec<&str> = variable.iter().map(String::as_str).collect();
        let output = trial.shop.run_in(&program, "run", &["uneven", "2"], &Choices::default(), &words);
        assert!(output.status.success(), "{flags:?}: {output:?}");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(said.contains("2 regions"), !is_disabled, "{flags:?}: {output:?}");
        let finished = trial.shop.finish("run");
        let notices = &finished.archives[0].notices;
        let is_told = notices.iter().any(|notice| notice.message.contains("reports to another tool"));
        let is_loss = notices.iter().any(|notice| notice.is_loss);
        assert_eq!((is_told, is_loss), (expects_notice, false), "{flags:?}: {notices:?}");
        let teams = Teams::read(&trial.shop.path("run"));
        assert_eq!((teams.n_forks, teams.n("!$omp parallel")), (0, 0), "{flags:?}");
        std::fs::remove_dir_all(trial.shop.path("run")).expect("it is there");
    }
}

#[test]
fn nothing_of_it_is_recorded_without_being_asked_for() {
    for trial in Trial::all() {
        let choices = Choices { without_openmp: true, sample_hz: Some(200), ..Choices::default() };
        let (teams, _) = trial.recorded(&["constructs"], &[], &choices);
        assert!(
            teams.begun.is_empty() && teams.visits.keys().all(|name| !name.starts_with("!$omp")),
            "{}: {teams:?}",
            trial.compiler
        );
    }
}

#[test]
fn fortran_is_recorded() {
    let Some(shop) = Workshop::open() else { return };
    if !has_programs(&["gfortran"]) {
        return;
    }
    let source = shop.path("team.f90");
    std::fs::write(&source, FORTRAN).expect("it can be written");
    let program = shop.path("team");
    let mut compiler = Command::new("gfortran");
    let compiled = compiler.args(["-g", "-O2", "-fopenmp", "-o"]).arg(&program).arg(&source).output();
    let compiled = compiled.expect("the compiler is there");
    assert!(compiled.status.success(), "{compiled:?}");
    let output = shop.run_with(&program, "run", &[], &Choices::default());
    assert!(
        output.status.success() && String::from_utf8_lossy(&output.stdout).trim() == "5050",
        "{output:?}"
    );
    shop.finish("run");
    let teams = Teams::read(&shop.path("run"));
    let expected = ["!$omp parallel @team.f90:6", "!$omp critical @team.f90:12"];
    let has = |name: &&str| teams.visits.get(*name) == Some(&3);
    assert!(expected.iter().all(has), "{:?}", teams.visits);
    assert_eq!((teams.n("!$omp for"), teams.n("!$omp set_lock"), teams.locks.len()), (3, 3, 2));
}

const FORTRAN: &str = "\
program team
  use omp_lib
  integer :: total = 0, own, i
  integer(omp_lock_kind) :: lock
  call omp_init_lock(lock)
  !$omp parallel num_threads(3) private(own)
  own = 0
  !$omp do schedule(dynamic, 3)
  do i = 1, 100
    own = own + i
  end do
  !$omp critical
  total = total + own
  !$omp end critical
  call omp_set_lock(lock)
  call omp_unset_lock(lock)
  !$omp end parallel
  write (*, '(i0)') total
end program
";
