//! Names of the functions of MPI.

/// The function of MPI that a name is of, in lower case without prefix (`send`, `waitall`), in any spelling: Fortran
/// compilers change the case and append underscores, the profiling interface puts a `P` in front, and MPI 4 appends `_c`
/// where counts are large. `None` for anything else.
pub fn mpi_function(name: &str) -> Option<String> {
    let start = usize::from(name.starts_with(['p', 'P']));
    let (prefix, function) = name.get(start..)?.split_at_checked(4)?;
    if !prefix.eq_ignore_ascii_case("mpi_") {
        return None;
    }
    let function = function.trim_end_matches('_').to_ascii_lowercase();
    Some(function.strip_suffix("_c").map(str::to_owned).unwrap_or(function))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_spellings_are_one_function() {
        let spellings =
            ["MPI_Allreduce", "PMPI_Allreduce", "mpi_allreduce_", "pmpi_allreduce__", "MPI_ALLREDUCE"];
        for name in spellings.into_iter().chain(["MPI_Allreduce_c", "PMPI_Allreduce_c", "mpi_allreduce_c_"]) {
            assert_eq!(mpi_function(name).as_deref(), Some("allreduce"), "{name}");
        }
        for name in ["", "p", "MPI", "my_MPI_Send", "pompi_send", "ärger"] {
            assert_eq!(mpi_function(name), None, "{name}");
        }
    }
}
