//! The names under which programs call a function, by language.

/// Which name was called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// `MPI_Send`
    C,
    /// `mpi_send`
    FortranPlain,
    /// `mpi_send_`
    FortranOne,
    /// `mpi_send__`
    FortranTwo,
    /// `MPI_SEND`
    FortranUpper,
    /// `mpi_send_f08_`, as Open MPI names functions of the module `mpi_f08`.
    Fortran2008,
    /// `mpi_send_f08ts_`, as MPICH names those with descriptors of arrays.
    Fortran2008Descriptors,
}

/// Number of languages.
pub const N_LANGUAGES: usize = 7;

impl Language {
    /// The symbol of a function, with a zero byte at its end.
    pub fn symbol(self, name: &str) -> String {
        let lower = name.to_ascii_lowercase();
        match self {
            Language::C => format!("MPI_{name}\0"),
            Language::FortranPlain => format!("mpi_{lower}\0"),
            Language::FortranOne => format!("mpi_{lower}_\0"),
            Language::FortranTwo => format!("mpi_{lower}__\0"),
            Language::FortranUpper => format!("MPI_{}\0", name.to_ascii_uppercase()),
            Language::Fortran2008 => format!("mpi_{lower}_f08_\0"),
            Language::Fortran2008Descriptors => format!("mpi_{lower}_f08ts_\0"),
        }
    }
}
