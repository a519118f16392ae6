//! Programs with OpenMP, and what their archives say of teams, barriers, locks and tasks.

use crate::sampled::{Sampled, Workshop};
use ouzel_otf2::Archive;
use ouzel_otf2::records::enums::{GroupType, Paradigm, RegionRole};
use ouzel_otf2::records::{Definition, Event};
use ouzel_recording::launch::Choices;
use ouzel_testkit::has_programs;
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

/// Compiles and records the program, which must succeed.
fn recorded(shop: &Workshop, words: &[&str], flags: &[&str], choices: &Choices) -> (Teams, PathBuf) {
    let flags: Vec<&str> = flags.iter().copied().chain(["-fopenmp"]).collect();
    let program = shop.compile("openmp.c", "openmp", &flags);
    let output = shop.run_with(&program, "run", words, choices);
    assert!(output.status.success(), "{output:?}");
    let finished = shop.finish("run");
    assert!(finished.archives[0].notices.iter().all(|notice| !notice.is_loss), "{finished:?}");
    (Teams::read(&shop.path("run")), shop.path("run"))
}

#[test]
fn uneven_work_is_waiting_at_the_implicit_barrier() {
    let Some(shop) = Workshop::open() else { return };
    let choices = Choices { sample_hz: Some(1000), ..Choices::default() };
    let (teams, run) = recorded(&shop, &["uneven", "10"], &["-O1"], &choices);
    let sizes: Vec<usize> = teams.sizes.values().copied().collect();
    assert_eq!((sizes, teams.n_forks), (vec![4], 10));
    assert_eq!((teams.n("!$omp parallel"), teams.n("!$omp implicit barrier")), (40, 40));
    let region = "!$omp parallel @openmp.c:29";
    assert_eq!(
        teams.roles.get(region),
        Some(&(RegionRole::Parallel, Paradigm::OpenMp)),
        "{:?}",
        teams.visits
    );
    // The last thread computes three times as long: the others wait for it, on any machine.
    let of_thread = |thread: u64| teams.waited_ns[&(thread << 32)];
    let last = (0..4).min_by_key(|&thread| of_thread(thread)).expect("there are four");
    assert!(
        (0..4).filter(|&it| it != last).all(|it| of_thread(last) * 2 < of_thread(it)),
        "{:?}",
        teams.waited_ns
    );
    // Samples of workers begin with the program and the region, and go on in what it calls.
    let sampled = Sampled::read(&run);
    assert!(100 < sampled.n_through("work"), "{}", sampled.paths.len());
    let begins = |with: &[&str]| {
        let names = |path: &Vec<(String, Option<u32>)>| {
            path.len() >= with.len() && path.iter().zip(with).all(|((name, _), it)| name == it)
        };
        sampled.paths.iter().filter(|path| names(path)).count()
    };
    let (first, others) =
        (begins(&["openmp", "main", "uneven", region, "work"]), begins(&["openmp", region, "work"]));
    assert!(10 < first && first < others, "{first} {others} {:?}", sampled.paths.last());
}

#[test]
fn locks_are_held_by_one_thread_at_a_time() {
    let Some(shop) = Workshop::open() else { return };
    let (teams, _) = recorded(&shop, &["locks", "5"], &["-O2"], &Choices::default());
    assert_eq!(
        (teams.n("!$omp critical"), teams.n("!$omp critical sblock"), teams.n("!$omp set_lock")),
        (20, 20, 20)
    );
    assert_eq!(teams.locks.values().map(BTreeMap::len).collect::<Vec<_>>(), [20, 20]);
    for lock in teams.locks.values() {
        let uses: Vec<(u64, u64)> = lock.values().copied().collect();
        assert!(uses.iter().all(|(from, to)| from <= to), "{uses:?}");
        assert!(uses.windows(2).all(|pair| pair[0].1 <= pair[1].0), "{uses:?}");
    }
}

#[test]
fn constructs_are_recorded_and_compute_what_they_do_without() {
    let Some(shop) = Workshop::open() else { return };
    for flags in [&["-O0"][..], &["-O2"], &["-O2", "-g0"]] {
        let (teams, run) = recorded(&shop, &["constructs"], flags, &Choices::default());
        std::fs::remove_dir_all(run).expect("it is there");
        assert_eq!(teams.n_forks, 4, "{flags:?}");
        assert_eq!(teams.n("!$omp parallel"), 12, "{flags:?}");
        // Dynamic, guided, ordered, and the one of the combined directive.
        assert_eq!(teams.n("!$omp for"), 12, "{flags:?}: {:?}", teams.visits);
        assert_eq!(teams.n("!$omp sections"), 3, "{flags:?}");
        assert_eq!(teams.n("!$omp single"), 3, "{flags:?}");
        assert_eq!((teams.n("!$omp critical"), teams.n("!$omp ordered")), (3, 20), "{flags:?}");
        // Of fibonacci(10), each call but the first is a task; 30 have data.
        assert_eq!(teams.n("!$omp task"), 176 + 30, "{flags:?}");
        assert_eq!(teams.n("!$omp taskwait"), 88, "{flags:?}");
        let of_parallel = |(inner, outer): &&(String, String)| {
            inner.starts_with("!$omp for") && !outer.starts_with("!$omp parallel")
        };
        assert_eq!(teams.inside.iter().find(of_parallel), None);
        let without_lines = flags.contains(&"-g0");
        let is_named =
            |name: &String| !name.starts_with("!$omp") || name.contains("@openmp.c:") != without_lines;
        assert!(teams.visits.keys().all(is_named), "{:?}", teams.visits);
        if without_lines {
            assert!(teams.visits.keys().any(|name| name.contains("._omp_fn.")), "{:?}", teams.visits);
        }
    }
}

#[test]
fn teams_are_told_apart() {
    let Some(shop) = Workshop::open() else { return };
    let (teams, run) = recorded(&shop, &["sizes", "5"], &[], &Choices::default());
    let sizes: BTreeSet<usize> = teams.sizes.values().copied().collect();
    assert_eq!((sizes, teams.n_forks), (BTreeSet::from([2, 4]), 15));
    std::fs::remove_dir_all(run).expect("it is there");
    let (teams, _) = recorded(&shop, &["nested"], &[], &Choices::default());
    assert_eq!((teams.n_forks, teams.n("!$omp parallel")), (9, 18));
}

#[test]
fn nothing_of_it_is_recorded_without_being_asked_for() {
    let Some(shop) = Workshop::open() else { return };
    let choices = Choices { without_openmp: true, sample_hz: Some(200), ..Choices::default() };
    let (teams, _) = recorded(&shop, &["constructs"], &[], &choices);
    assert!(
        teams.begun.is_empty() && teams.visits.keys().all(|name| !name.starts_with("!$omp")),
        "{teams:?}"
    );
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
