//! Regions of all processes as one list.

use super::piece::Piece;
use super::symbols::Symbols;
use crate::journal::Entry;
use crate::mpi::functions::functions;
use ouzel_otf2::records::enums::{Paradigm, RegionRole};
use std::collections::BTreeMap;

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
    pub symbols: Symbols,
    list: Vec<RunRegion>,
    ids: BTreeMap<RunRegion, u64>,
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

    /// The regions that events of processes refer to.
    pub fn of_pieces(&mut self, pieces: &[Piece]) -> Vec<Vec<(u64, u64)>> {
        let of_piece = |piece: &Piece| {
            let mut pairs = BTreeMap::new();
            for entry in &piece.entries {
                if let Some((number, region)) = region(piece, entry, &mut self.symbols) {
                    pairs.insert(u64::from(number), self.id(region));
                }
            }
            pairs.into_iter().collect()
        };
        pieces.iter().map(of_piece).collect()
    }

    /// With the numbers of processes.
    pub fn unified(self, of_pieces: Vec<Vec<(u64, u64)>>) -> UnifiedRegions {
        UnifiedRegions { list: self.list, of_pieces }
    }
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
