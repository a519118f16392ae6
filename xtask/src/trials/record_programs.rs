//! `ouzel record` of programs that none of us wrote, from Debian's packages: what it records is what an independent count
//! behind it has counted.
//!
//! ```text
//! program ──MPI_X──► libouzel_record.so ──► tally.so: counts, takes the time ──PMPI_X──► MPI
//! ```
//! Law: of each rank and function, calls are equal, and the recorded time is that of the count and little more; of each pair
//! of ranks, messages and their bytes are equal; the reference library warns of nothing.

use crate::runner::{answers, bounded};
use crate::setup::install_debian_package;
use crate::steps::{Context, Outcome};
use crate::workspace;
use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Longer than one program takes.
const SECONDS: u32 = 600;
/// What the recorder and the count may take for a call beyond what the count sees, on average: on a machine with fewer
/// cores than ranks, another process may have the processor in between.
const NS_OF_CALL: f64 = 5_000.0;
const PART_OF_TIME: f64 = 0.05;

/// A program with its input.
struct Program {
    name: &'static str,
    package: &'static str,
    command: &'static str,
    ranks: usize,
    /// Files of its folder.
    files: &'static [(&'static str, &'static str)],
    /// Commands that make its input.
    before: &'static [&'static str],
    words: &'static [&'static str],
}

const PROGRAMS: [Program; 4] = [
    Program {
        name: "HPC Challenge",
        package: "hpcc",
        command: "hpcc",
        ranks: 4,
        files: &[("hpccinf.txt", HPCC)],
        before: &[],
        words: &[],
    },
    Program {
        name: "LAMMPS",
        package: "lammps",
        command: "lmp",
        ranks: 4,
        files: &[("in.melt", LAMMPS)],
        before: &[],
        words: &["-in", "in.melt"],
    },
    Program {
        name: "GROMACS",
        package: "gromacs",
        command: "gmx_mpi",
        ranks: 2,
        files: &[("topol.top", GROMACS), ("md.mdp", GROMACS_RUN)],
        before: &[
            "gmx_mpi solvate -cs spc216 -box 3 3 3 -p topol.top -o water.gro",
            "gmx_mpi grompp -f md.mdp -c water.gro -p topol.top -maxwarn 3",
        ],
        words: &["mdrun", "-ntomp", "1", "-s", "topol.tpr"],
    },
    Program {
        name: "Python with mpi4py",
        package: "python3-mpi4py",
        command: "/usr/bin/python3",
        ranks: 4,
        files: &[("ring.py", MPI4PY)],
        before: &[],
        words: &["ring.py"],
    },
];

/// One small problem on a grid of 2 × 2; only the first word of a line counts.
const HPCC: &str = "\
input
of the trial
HPL.out
8    output
1    problem sizes
600  size
1    block sizes
64   block
0    by rows
1    grids
2    rows
2    columns
16.0 threshold
1
2
1
4
1
2
1
1
1
1
1
1
2
64
0
0
1
8
-
0
1
0
1
";

/// Lennard-Jones atoms that melt.
pub(super) const LAMMPS: &str = "\
units lj
atom_style atomic
lattice fcc 0.8442
region box block 0 12 0 12 0 12
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 1.44 87287
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
neighbor 0.3 bin
fix 1 all nve
thermo 50
run 500
";

/// Water alone.
const GROMACS: &str = "\
#include \"oplsaa.ff/forcefield.itp\"
#include \"oplsaa.ff/spc.itp\"
[ system ]
water
[ molecules ]
";

const GROMACS_RUN: &str = "\
integrator = md
nsteps = 400
dt = 0.002
nstlist = 10
rcoulomb = 0.9
rvdw = 0.9
coulombtype = PME
tcoupl = berendsen
tc-grps = System
tau-t = 0.1
ref-t = 300
gen-vel = yes
";

/// A ring, and collectives of objects and of arrays.
const MPI4PY: &str = "\
from mpi4py import MPI
import array
world = MPI.COMM_WORLD
rank, n = world.rank, world.size
half = world.Split(rank % 2, rank)
for step in range(200):
    got = world.sendrecv({'step': step, 'of': rank}, dest=(rank + 1) % n, source=(rank - 1) % n)
    assert got == {'step': step, 'of': (rank - 1) % n}
    values = array.array('d', [rank + 1.0] * 1000)
    total = array.array('d', [0.0] * 1000)
    half.Allreduce(values, total)
    request = world.Isend(values, dest=rank ^ 1, tag=7)
    world.Recv(total, source=rank ^ 1, tag=7)
    request.Wait()
    world.bcast(total if rank == step % n else None, root=step % n)
";

/// Records each program.
pub fn compare(context: &Context) -> Result<Outcome> {
    if !answers(Command::new("mpicc.openmpi").arg("--version")) {
        return Ok(Outcome::Skipped("no mpicc.openmpi: Debian's programs are made for Open MPI".to_owned()));
    }
    let ouzel = workspace::target(&context.root)?.join("release/ouzel");
    ensure!(ouzel.is_file(), "{} is not built: cargo build --release", ouzel.display());
    let place = workspace::target(&context.root)?.join("trials/record-programs");
    let _ = fs::remove_dir_all(&place);
    fs::create_dir_all(&place)?;
    let tally = place.join("tally.so");
    let mut compile = Command::new("mpicc.openmpi");
    compile.args(["-O1", "-w", "-shared", "-fPIC"]).arg(context.root.join("zoo/record/tally.c"));
    ensure!(compile.arg("-o").arg(&tally).status()?.success(), "mpicc.openmpi failed");
    let (mut lines, mut failed, mut n_runs) = (Vec::new(), false, 0);
    for program in PROGRAMS {
        let is_there = answers(Command::new("dpkg").args(["--status", program.package]));
        if let Some(why) = (!is_there).then(|| install_debian_package(program.package)).and_then(Result::err)
        {
            lines.push(format!("skipped: {}: {why:#}", program.name));
            continue;
        }
        let run =
            RecordedProgram { ouzel: &ouzel, tally: &tally, folder: place.join(program.package), program };
        n_runs += 1;
        match run.record().and_then(|()| run.judge()) {
            Ok(said) => lines.push(format!("{}: {said}", run.program.name)),
            Err(why) => {
                failed = true;
                lines.push(format!("{}: FAILED: {why:#}", run.program.name));
            }
        }
    }
    Ok(match (failed, n_runs) {
        (true, _) => Outcome::Failed(lines),
        (false, 0) => Outcome::Skipped(lines.join("; ")),
        (false, _) => Outcome::Passed(lines),
    })
}

struct RecordedProgram<'a> {
    ouzel: &'a Path,
    tally: &'a Path,
    folder: PathBuf,
    program: Program,
}

/// What the count says of a rank.
#[derive(Default)]
struct Tally {
    /// Calls and nanoseconds.
    calls: BTreeMap<String, (u64, u64)>,
    /// Messages and bytes.
    sent: BTreeMap<u64, (u64, u64)>,
}

impl RecordedProgram<'_> {
    fn command(&self, program: &Path) -> Command {
        let mut command = bounded(SECONDS, program);
        command.current_dir(&self.folder).env("OMP_NUM_THREADS", "1");
        command
    }

    fn archive(&self) -> PathBuf {
        self.folder.join("run")
    }

    fn record(&self) -> Result<()> {
        fs::create_dir_all(self.folder.join("tally"))?;
        for (name, text) in self.program.files {
            fs::write(self.folder.join(name), text)?;
        }
        for line in self.program.before {
            let mut words = line.split(' ');
            let mut make = self.command(Path::new(words.next().context("a command has a program")?));
            let ran = make.args(words).output()?;
            ensure!(ran.status.success(), "{line}: {}", String::from_utf8_lossy(&ran.stderr));
        }
        let mut record = self.command(self.ouzel);
        record.args(["record", "--quiet", "-o"]).arg(self.archive());
        record.args(["--", "mpirun.openmpi", "--oversubscribe", "--allow-run-as-root"]);
        record.args(["-n", &self.program.ranks.to_string(), self.program.command]).args(self.program.words);
        record.env("LD_PRELOAD", self.tally).env("TALLY_DIR", self.folder.join("tally"));
        let ran = record.output().context("cannot start timeout")?;
        ensure!(ran.status.success(), "{}: {}", ran.status, String::from_utf8_lossy(&ran.stderr).trim());
        Ok(())
    }

    fn ask(&self, words: &[&str]) -> Result<Value> {
        let mut ask = self.command(self.ouzel);
        let ran =
            ask.arg(words[0]).arg(self.archive()).args(&words[1..]).args(["--format", "json"]).output()?;
        let complaint = String::from_utf8_lossy(&ran.stderr).trim().to_owned();
        ensure!(ran.status.success(), "{}: {}: {complaint}", words[0], ran.status);
        let answer: Value = serde_json::from_slice(&ran.stdout)?;
        Ok(answer["data"].clone())
    }

    fn tallies(&self) -> Result<Vec<Tally>> {
        let of_rank = |rank: usize| -> Result<Tally> {
            let text = fs::read_to_string(self.folder.join("tally").join(rank.to_string()))?;
            let mut tally = Tally::default();
            for line in text.lines() {
                let words: Vec<&str> = line.split(' ').collect();
                let [sort, of, n, sum] = words[..] else { anyhow::bail!("{line:?} is no line of the count") };
                let pair = (n.parse()?, sum.parse()?);
                match sort {
                    "call" => drop(tally.calls.insert(of.to_owned(), pair)),
                    _ => drop(tally.sent.insert(of.parse()?, pair)),
                }
            }
            Ok(tally)
        };
        (0..self.program.ranks).map(of_rank).collect()
    }

    /// Compares both; says how much was compared.
    fn judge(&self) -> Result<String> {
        let judged = Command::new("otf2-print")
            .args(["--silent", "--warnings-as-errors"])
            .arg(self.archive().join("traces.otf2"))
            .output();
        if let Ok(judged) = judged {
            ensure!(
                judged.status.success(),
                "otf2-print: {}",
                String::from_utf8_lossy(&judged.stderr).trim()
            );
        }
        let tallies = self.tallies()?;
        let profile = self.ask(&["profile", "--per", "rank"])?;
        let mut recorded: BTreeMap<(u64, &str), (u64, u64)> = BTreeMap::new();
        for row in profile["rows"].as_array().context("a profile has rows")? {
            let (Some(rank), Some(region)) = (row["rank"].as_u64(), row["region"].as_str()) else { continue };
            let number = |name: &str| row[name].as_u64().unwrap_or(0);
            let sum = recorded.entry((rank, region)).or_default();
            *sum = (sum.0 + number("visits"), sum.1 + number("inclusive_ns"));
        }
        let (mut n_calls, mut n_functions, mut ns_beyond) = (0, 0, 0.0);
        for (rank, tally) in (0..).zip(&tallies) {
            for (function, &(n, ns)) in tally.calls.iter().filter(|(_, of)| 0 < of.0) {
                let (visits, inclusive_ns) = recorded.get(&(rank, &**function)).copied().unwrap_or_default();
                ensure!(visits == n, "rank {rank}: {n} calls of {function}, of which {visits} are recorded");
                let beyond = inclusive_ns as f64 - ns as f64;
                let bound = n as f64 * NS_OF_CALL + ns as f64 * PART_OF_TIME;
                let is_near = 0.0 <= beyond && beyond <= bound;
                ensure!(
                    is_near,
                    "rank {rank}: {n} calls of {function} take {ns} ns, recorded {inclusive_ns} ns"
                );
                n_calls += n;
                ns_beyond += beyond;
            }
            n_functions = n_functions.max(tally.calls.values().filter(|of| 0 < of.0).count());
        }
        ensure!(3 < n_functions, "the program calls {n_functions} functions of MPI");
        let matrix = self.ask(&["comm-matrix"])?;
        let mut pairs: BTreeMap<(u64, u64), (u64, u64)> = BTreeMap::new();
        for pair in matrix["pairs"].as_array().context("a matrix has pairs")? {
            let number = |name: &str| pair[name].as_u64().unwrap_or(0);
            pairs.insert((number("from"), number("to")), (number("messages"), number("bytes")));
        }
        let of_rank = |(from, tally): (u64, &Tally)| -> Vec<((u64, u64), (u64, u64))> {
            tally.sent.iter().map(|(&to, &sent)| ((from, to), sent)).collect()
        };
        let counted: BTreeMap<(u64, u64), (u64, u64)> = (0..).zip(&tallies).flat_map(of_rank).collect();
        ensure!(
            pairs == counted,
            "messages and bytes by sender and receiver: {counted:?}, recorded {pairs:?}"
        );
        let n_messages: u64 = counted.values().map(|sent| sent.0).sum();
        let ranks = self.program.ranks;
        Ok(format!(
            "{ranks} ranks: {n_calls} calls of {n_functions} functions and {n_messages} messages as counted; a recorded call \
             takes {:.0} ns more on average",
            ns_beyond / n_calls as f64
        ))
    }
}
