//! Code regions of functions, loops and entry points.
//!
//! HPCToolkit appends the library to names of functions outside of the program:
//! `MPI_Send [libmpi.so.12]`. Names people and analyses know come without it; the whole
//! name stays as the canonical one, so that functions of two libraries stay two regions.

use crate::naming;
use ouzel_model::{Paradigm, Region, RegionId, RegionRole};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// The regions so far; equal ones are one.
#[derive(Debug, Default)]
pub(super) struct HpctoolkitRegions {
    ids: FxHashMap<Region, RegionId>,
    regions: Vec<Region>,
}

impl HpctoolkitRegions {
    /// The id of `region`.
    pub fn id(&mut self, region: Region) -> RegionId {
        let next = RegionId::from_index(self.regions.len());
        let regions = &mut self.regions;
        *self.ids.entry(region).or_insert_with_key(|region| {
            regions.push(region.clone());
            next
        })
    }

    /// The region of an id.
    pub fn get(&self, id: RegionId) -> &Region {
        &self.regions[id.index()]
    }

    /// All of them.
    pub(crate) fn into_vec(self) -> Vec<Region> {
        self.regions
    }
}

/// The region of a function.
pub(super) fn function(full_name: &Arc<str>, file: Option<Arc<str>>, line: Option<u32>) -> Region {
    let name = name_without_module(full_name);
    let (role, paradigm) = match accelerator_role(name) {
        Some(role) => (role, Paradigm::Unknown),
        None => naming::of_function(name),
    };
    let is_whole = name.len() == full_name.len();
    Region {
        name: if is_whole { Arc::clone(full_name) } else { Arc::from(name) },
        canonical_name: (!is_whole).then(|| Arc::clone(full_name)),
        file,
        line: line.filter(|&line| line != 0),
        end_line: None,
        role,
        paradigm,
    }
}

/// The region of a loop; `inside` is the region that holds it.
pub(super) fn of_loop(file: Option<Arc<str>>, line: Option<u32>, inside: Option<&Region>) -> Region {
    let line = line.filter(|&line| line != 0);
    let base = |path: &str| path.rsplit(['/', '\\']).next().unwrap_or(path).to_owned();
    let name = match (&file, line, inside) {
        (Some(file), Some(line), _) => format!("loop at {}:{line}", base(file)),
        (_, _, Some(inside)) if inside.role == RegionRole::Loop => format!("{} (inner)", inside.name),
        (_, _, Some(inside)) => format!("loop in {}", inside.name),
        (Some(file), None, None) => format!("loop in {}", base(file)),
        (None, _, None) => "loop".to_owned(),
    };
    Region {
        name: Arc::from(name),
        canonical_name: None,
        file,
        line,
        end_line: None,
        role: RegionRole::Loop,
        // Found by an analysis of the binary, to attribute samples.
        paradigm: Paradigm::Sampling,
    }
}

/// The region of an entry point: where threads begin.
pub(super) fn entry(name: &Arc<str>) -> Region {
    Region {
        name: Arc::clone(name),
        canonical_name: None,
        file: None,
        line: None,
        end_line: None,
        role: RegionRole::Artificial,
        paradigm: Paradigm::MeasurementSystem,
    }
}

/// `MPI_Send` of `MPI_Send [libmpi.so]`. Names that HPCToolkit made up, as `<unknown procedure> 0x10 [lib.so]`, say
/// nothing without the library.
fn name_without_module(name: &str) -> &str {
    match name.strip_suffix(']').and_then(|head| head.rsplit_once(" [")) {
        Some((function, module))
            if !function.starts_with('<') && !function.is_empty() && !module.is_empty() =>
        {
            function
        }
        _ => name,
    }
}

/// The meaning of the placeholders that HPCToolkit puts below the call that launched something.
fn accelerator_role(name: &str) -> Option<RegionRole> {
    Some(match name.strip_prefix("<gpu ")?.strip_suffix('>')? {
        "kernel" => RegionRole::Kernel,
        "copy" | "copyin" | "copyout" | "memset" => RegionRole::DataTransfer,
        "alloc" => RegionRole::Allocate,
        "delete" => RegionRole::Deallocate,
        "sync" => RegionRole::Barrier,
        _ => RegionRole::Function,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lose_their_library_but_not_their_meaning() {
        let check = |full: &str, name: &str, role| {
            let region = function(&Arc::from(full), None, Some(0));
            assert_eq!((&*region.name, region.role, region.line), (name, role, None), "{full}");
            assert_eq!(region.canonical_name.is_some(), full != name);
        };
        check("PMPI_Recv [libmpi.so.12.1.1]", "PMPI_Recv", RegionRole::PointToPoint);
        check("operator[]", "operator[]", RegionRole::Function);
        check("f(int [3])", "f(int [3])", RegionRole::Function);
        check(
            "<unknown procedure> 0x24680 [libpsm2.so]",
            "<unknown procedure> 0x24680 [libpsm2.so]",
            RegionRole::Function,
        );
        check("<gpu kernel>", "<gpu kernel>", RegionRole::Kernel);
        check("<gpu copyin>", "<gpu copyin>", RegionRole::DataTransfer);
    }

    #[test]
    fn loops_are_named_by_their_place() {
        let main = function(&Arc::from("main"), None, None);
        let file = || Some(Arc::from("src/a/solve.c"));
        assert_eq!(&*of_loop(file(), Some(12), Some(&main)).name, "loop at solve.c:12");
        let nameless = of_loop(file(), Some(0), Some(&main));
        assert_eq!(&*nameless.name, "loop in main");
        assert_eq!(&*of_loop(None, None, Some(&nameless)).name, "loop in main (inner)");
    }
}
