//! Regions of all processes as one list.

use super::code::Code;
use super::piece::Piece;
use super::symbols::{Named, Symbols};
use crate::blocking;
use crate::io;
use crate::journal::{Entry, ROOT_REGION};
use crate::mpi::functions::functions;
use crate::openmp::Construct;
use crate::sleep;
use ouzel_model::{NOT_RUNNING, plain_name};
use ouzel_otf2::records::enums::{Paradigm, RegionRole};
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};

/// What GCC puts between the name of a function and the number of a body in it.
const BODY_MARK: &str = "._omp_fn.";
/// What Clang names the functions that it makes of the body of a construct, of which one calls the other.
const PARTS_OF_BODIES: [&str; 2] = ["omp_outlined", ".omp_task_entry."];

/// A region of the run.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct RunRegion {
    pub name: String,
    /// Empty if unknown.
    pub file: String,
    /// 0 if unknown.
    pub line: u32,
    pub role: RegionRole,
    pub paradigm: Paradigm,
}

/// The regions of a run, and for each process its numbers and those of the run.
#[derive(Debug, Default)]
pub(super) struct UnifiedRegions {
    pub list: Vec<RunRegion>,
    /// For each piece, pairs of its own number and that of the run.
    pub of_pieces: Vec<Vec<(u64, u64)>>,
}

/// The names met so far.
#[derive(Debug, Default)]
pub(super) struct RegionNames {
    /// Constructs of OpenMP by the file and the offset of the call that begins each, and their regions.
    pub constructs: BTreeSet<(String, u64, u64)>,
    /// Functions that are bodies of constructs, by the file and their address in it, and the regions of those.
    bodies: FxHashMap<(String, u64), u64>,
    regions_with_bodies: BTreeSet<u64>,
    pub symbols: Symbols,
    pub code: Code,
    list: Vec<RunRegion>,
    ids: BTreeMap<RunRegion, u64>,
    /// Recorded functions and loops by what a sampled one has in common with them.
    recorded: BTreeMap<(String, String, RegionRole), Vec<u64>>,
}

impl RegionNames {
    /// The number of a region, which is a new one if it is met first.
    pub fn id(&mut self, region: RunRegion) -> u64 {
        let next = self.list.len() as u64;
        let id = *self.ids.entry(region.clone()).or_insert(next);
        if id == next {
            self.list.push(region);
        }
        id
    }

    /// The number of a region that samples show: that of the recorded one that it is, if it is one.
    pub fn id_of_sampled(&mut self, region: RunRegion) -> u64 {
        let of_key = self.recorded.get(&common_key(&region)).map(Vec::as_slice).unwrap_or_default();
        let line = |&&id: &&u64| self.list.get(id as usize).is_some_and(|it| it.line == region.line);
        match (of_key, of_key.iter().find(line)) {
            (_, Some(&id)) => id,
            (&[id], None) if region.role != RegionRole::Loop => id,
            _ => self.id(region),
        }
    }

    /// Adds the region of threads that do not run: readers find where, from the counter of processor time.
    pub fn add_not_running(&mut self) {
        self.id(RunRegion {
            name: NOT_RUNNING.to_owned(),
            file: String::new(),
            line: 0,
            role: RegionRole::Function,
            paradigm: Paradigm::User,
        });
    }

    /// The region of a process's whole program.
    pub fn root(&mut self, piece: &Piece) -> Option<u64> {
        let is_root = |entry: &&Entry| matches!(entry, Entry::Region { id: ROOT_REGION, .. });
        let entry = piece.entries.iter().find(is_root)?;
        region(piece, entry, &mut self.symbols).map(|(_, region)| self.recorded_id(region))
    }

    /// The regions that events of processes refer to.
    pub fn of_pieces(&mut self, pieces: &[Piece]) -> Vec<Vec<(u64, u64)>> {
        let of_piece = |piece: &Piece| {
            let mut pairs = BTreeMap::new();
            let forks = forks(piece);
            for entry in &piece.entries {
                if let Entry::Construct { id, construct, offset, module } = entry {
                    let region = self.construct(piece, *construct, (module, *offset), &forks);
                    pairs.insert(u64::from(*id), region);
                } else if let Entry::Body { id, offset, module } = entry {
                    // The construct is written down before.
                    let region = pairs.get(&u64::from(*id)).copied();
                    self.add_body(module, *offset, region);
                } else if let Some((number, region)) = region(piece, entry, &mut self.symbols) {
                    pairs.insert(u64::from(number), self.recorded_id(region));
                }
            }
            pairs.into_iter().collect()
        };
        pieces.iter().map(of_piece).collect()
    }

    fn add_body(&mut self, module: &str, offset: u64, region: Option<u64>) {
        if let (Some(region), Some(address)) = (region, self.symbols.address(module, offset)) {
            self.bodies.insert((module.to_owned(), address), region);
            self.regions_with_bodies.insert(region);
        }
    }

    /// The number of a recorded region, which sampled ones of the same code get, too.
    fn recorded_id(&mut self, region: RunRegion) -> u64 {
        let may_be_sampled = !region.file.is_empty() && region.paradigm == Paradigm::User;
        let key = common_key(&region);
        let id = self.id(region);
        if may_be_sampled {
            let same = self.recorded.entry(key).or_default();
            if !same.contains(&id) {
                same.push(id);
            }
        }
        id
    }

    /// The region of a construct whose body the function is that has the code at an address.
    pub fn body(&mut self, module: &str, address: u64) -> Option<u64> {
        if self.bodies.is_empty() {
            return None;
        }
        let beginning = self.symbols.beginning(module, address)?;
        self.bodies.get(&(module.to_owned(), beginning)).copied()
    }

    /// Whether a region is a construct whose body is known as [`RegionNames::body`] knows it.
    pub fn has_body(&self, region: u64) -> bool {
        self.regions_with_bodies.contains(&region)
    }

    /// The number of a construct of OpenMP. The function that compilers make of its body is that construct where samples
    /// show it.
    fn construct(
        &mut self,
        piece: &Piece,
        construct: Construct,
        (module, offset): (&str, u64),
        forks: &BTreeSet<(&str, u64)>,
    ) -> u64 {
        // The address is that of the body, or of a call in it.
        let body = self.function_at(module, offset).filter(|(name, ..)| name.contains(BODY_MARK));
        let (function, file, line) = match &body {
            Some(body) => body.clone(),
            None => self.place_of_call(module, offset),
        };
        let own_name = |path: &str| path.rsplit('/').next().unwrap_or(path).to_owned();
        let at = match (line, function.is_empty()) {
            (1.., _) => format!("{}:{line}", own_name(&file)),
            (0, false) => function,
            (0, true) if module.is_empty() => format!("{}+{offset:#x}", piece.program_name()),
            (0, true) => format!("{}+{offset:#x}", own_name(module)),
        };
        let name = format!("{} @{at}", construct.name());
        let (role, paradigm) = (construct.role(), Paradigm::OpenMp);
        let id = self.id(RunRegion { name, file, line, role, paradigm });
        let key = body.map(|(name, file, line)| {
            let (role, paradigm) = (RegionRole::Function, Paradigm::User);
            common_key(&RunRegion { name, file, line, role, paradigm })
        });
        match key {
            Some(key) if construct.is_body() => {
                let same = self.recorded.entry(key).or_default();
                if !same.contains(&id) {
                    same.push(id);
                }
            }
            // The recorder has called it, or the code in front of it has ended in a jump.
            Some(_) => {}
            None if construct.is_body() => {}
            // What a parallel region ends with is inside of that.
            None if forks.contains(&(module, offset)) => {}
            None => drop(self.constructs.insert((module.to_owned(), offset, id))),
        }
        id
    }

    /// The function that begins at an offset.
    fn function_at(&mut self, module: &str, offset: u64) -> Option<Named> {
        let address = self.symbols.address(module, offset)?;
        let beginning = self.symbols.beginning(module, address)?;
        if beginning == address { self.symbols.find(module, offset) } else { None }
    }

    /// Where a call was written: in the last function of those that were left by a jump since.
    fn place_of_call(&mut self, module: &str, offset: u64) -> Named {
        let Some(call) = self.symbols.address(module, offset) else { return Named::default() };
        let place = self.symbols.place(module, call);
        // Code without lines is not looked at.
        let jumps = if place.2 == 0 { Vec::new() } else { self.code.left_by_jumps(module, call, None) };
        jumps.last().map_or(place, |&jump| self.symbols.place(module, jump))
    }

    /// With the numbers of processes.
    pub fn unified(self, of_pieces: Vec<Vec<(u64, u64)>>) -> UnifiedRegions {
        UnifiedRegions { list: self.list, of_pieces }
    }
}

/// Where parallel regions begin.
fn forks(piece: &Piece) -> BTreeSet<(&str, u64)> {
    let mut forks = BTreeSet::new();
    for entry in &piece.entries {
        if let Entry::Construct { construct: Construct::Parallel, offset, module, .. } = entry {
            forks.insert((module.as_str(), *offset));
        }
    }
    forks
}

/// Whether a function is a part of the body of a construct that compilers have made.
pub(super) fn is_part_of_body(function: &str) -> bool {
    PARTS_OF_BODIES.iter().any(|part| function.contains(part))
}

/// What a recorded and a sampled region of the same code have in common: the last part of the name without what compilers
/// add to it, and the file's own name.
fn common_key(region: &RunRegion) -> (String, String, RegionRole) {
    let RunRegion { name, file, role, .. } = region;
    let name = if *role == RegionRole::Loop { name } else { plain_name(name) };
    let file = file.rsplit('/').next().unwrap_or(file);
    (name.to_owned(), file.to_owned(), *role)
}

fn region(piece: &Piece, entry: &Entry, symbols: &mut Symbols) -> Option<(u32, RunRegion)> {
    let of_program = |name: String, file: String, line: u32| RunRegion {
        name,
        file,
        line,
        role: RegionRole::Function,
        paradigm: Paradigm::User,
    };
    match entry {
        Entry::Function { number } => {
            if let Some((function, name)) = io::function(*number) {
                let mut region = of_program(name, String::new(), 0);
                region.role =
                    if function.moves_data { RegionRole::FileIo } else { RegionRole::FileIoMetadata };
                region.paradigm = Paradigm::Unknown;
                return Some((*number, region));
            }
            if *number as usize == sleep::NUMBER {
                return Some((*number, of_program(sleep::NAME.to_owned(), String::new(), 0)));
            }
            if let Some(function) = blocking::function(*number) {
                let mut region = of_program(function.name.to_owned(), String::new(), 0);
                (region.role, region.paradigm) = (function.role, function.paradigm);
                return Some((*number, region));
            }
            let function = functions().get(*number as usize)?;
            let mut region = of_program(format!("MPI_{}", function.name), String::new(), 0);
            (region.role, region.paradigm) = (function.role(), Paradigm::Mpi);
            Some((*number, region))
        }
        Entry::Region { id, line, name, file } => Some((*id, of_program(name.clone(), file.clone(), *line))),
        Entry::Loop { id, line, name, file } => {
            let mut region = of_program(name.clone(), file.clone(), *line);
            region.role = RegionRole::Loop;
            Some((*id, region))
        }
        Entry::Address { id, offset, module } => {
            let (name, file, line) = symbols.find(module, *offset).unwrap_or_else(|| {
                let module = module.rsplit('/').next().unwrap_or(piece.program_name());
                (format!("{module}+{offset:#x}"), String::new(), 0)
            });
            Some((*id, of_program(name, file, line)))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sampled_regions_are_those_that_are_recorded() {
        let region = |name: &str, file: &str, line: u32, role: RegionRole| RunRegion {
            name: name.to_owned(),
            file: file.to_owned(),
            line,
            role,
            paradigm: Paradigm::User,
        };
        let mut names = RegionNames::default();
        let (function, is_loop) = (RegionRole::Function, RegionRole::Loop);
        let mut record = |recorded: RunRegion| {
            let key = common_key(&recorded);
            let id = names.id(recorded);
            names.recorded.entry(key).or_default().push(id);
            id
        };
        let run = record(region("Solver::run", "/a/x.cpp", 12, function));
        let outer = record(region("loop at x.cpp:14", "/a/x.cpp", 14, is_loop));
        let twice = record(region("A::f", "/a/x.cpp", 20, function));
        let again = record(region("B::f", "/a/x.cpp", 30, function));
        let mut sampled =
            |name: &str, file: &str, line: u32, role| names.id_of_sampled(region(name, file, line, role));
        assert_eq!(sampled("run", "src/x.cpp", 0, function), run);
        assert_eq!(sampled("loop at x.cpp:14", "x.cpp", 14, is_loop), outer);
        assert_eq!(sampled("f(int)", "x.cpp", 30, function), again);
        let others = [
            sampled("run", "y.cpp", 12, function),
            sampled("loop at x.cpp:15", "x.cpp", 15, is_loop),
            sampled("f", "x.cpp", 0, function),
        ];
        assert!(others.iter().all(|id| ![run, outer, twice, again].contains(id)), "{others:?}");
    }
}
