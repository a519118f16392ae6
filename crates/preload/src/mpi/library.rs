//! The MPI library that the program uses: which one it is, its constants, and what it is asked.
//!
//! Law: found without any header, by the symbols and the answers of the library itself. Where it is not known,
//! calls are recorded, and messages are not; a notice says so.

use super::LibraryHandle;
use crate::next;
use crate::process::{self, Process};
use ouzel_recording::journal::Entry;
use ouzel_recording::mpi::interface::{Constants, Described, Handle, Library};
use std::env;
use std::ffi::{CStr, c_int, c_void};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// A family of MPI libraries with the same constants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flavour {
    /// Handles are addresses.
    OpenMpi,
    /// MPICH and what is derived from it: handles are numbers of 32 bits.
    Mpich,
}

/// A function of the library.
#[derive(Debug, Clone, Copy)]
struct Symbol(usize);

impl Symbol {
    fn find(name: &CStr) -> Self {
        Symbol(next::mpi_symbol(name).addr())
    }

    fn call(self, arguments: &[usize]) -> Option<c_int> {
        if self.0 == 0 {
            return None;
        }
        // SAFETY: it is the function of the library that was looked up by this name, with its own arguments.
        let result = unsafe { next::invoke(self.0 as *mut c_void, arguments) };
        (result == super::SUCCESS).then_some(result)
    }
}

/// What is known of the library.
#[derive(Debug)]
pub(super) struct MpiLibrary {
    pub flavour: Flavour,
    pub name: String,
    world: Handle,
    itself: Handle,
    null_communicator: Handle,
    byte: Handle,
    type_size: Symbol,
    get_count: Symbol,
    get_elements_x: Symbol,
    test_cancelled: Symbol,
    comm_rank: Symbol,
    comm_size: Symbol,
    comm_group: Symbol,
    comm_remote_group: Symbol,
    comm_test_inter: Symbol,
    group_size: Symbol,
    group_translate: Symbol,
    group_free: Symbol,
    cart_coords: Symbol,
    initialized: Symbol,
    finalized: Symbol,
    pub comm_from_fortran: Converter,
    pub type_from_fortran: Converter,
    pub request_from_fortran: Converter,
    pub message_from_fortran: Converter,
    pub window_from_fortran: Converter,
    pub file_from_fortran: Converter,
    /// Addresses that Fortran passes for `MPI_STATUS_IGNORE`, `MPI_STATUSES_IGNORE` and `MPI_IN_PLACE`.
    pub ignored: Vec<usize>,
    pub in_place: Vec<usize>,
}

/// A function that makes a handle of C from one of Fortran; none where both are the same number.
#[derive(Debug, Clone, Copy)]
pub(super) struct Converter(usize);

impl Converter {
    fn find(flavour: Flavour, name: &CStr) -> Self {
        Converter(if flavour == Flavour::OpenMpi { next::mpi_symbol(name).addr() } else { 0 })
    }

    pub fn convert(self, fortran: c_int) -> Handle {
        if self.0 == 0 {
            return Handle(u64::from(fortran.cast_unsigned()));
        }
        type Function = unsafe extern "C" fn(c_int) -> *mut c_void;
        // SAFETY: the library's function of this name takes a number and returns a pointer.
        let handle = unsafe { std::mem::transmute::<*mut c_void, Function>(self.0 as *mut c_void)(fortran) };
        Handle(handle.addr() as u64)
    }
}

static LIBRARY: OnceLock<Option<MpiLibrary>> = OnceLock::new();
/// The fork in which a world was begun, plus one.
static WORLD_OF: AtomicU32 = AtomicU32::new(0);

/// The library, if it is initialised and known. A library that was initialised unseen is found here.
pub(super) fn get(process: &Process) -> Option<&'static MpiLibrary> {
    if WORLD_OF.load(Ordering::Acquire) == process::generation() + 1 {
        return LIBRARY.get()?.as_ref();
    }
    let library = LIBRARY.get_or_init(MpiLibrary::find).as_ref()?;
    library.is_running().then(|| begin(process)).and_then(|()| LIBRARY.get()?.as_ref())
}

/// The library is initialised: which rank this is.
pub(super) fn begin(process: &Process) {
    if WORLD_OF.swap(process::generation() + 1, Ordering::AcqRel) == process::generation() + 1 {
        return;
    }
    let Some(library) = LIBRARY.get_or_init(MpiLibrary::find) else {
        process.lose(&"this MPI library is not known; calls are recorded, messages are not");
        return;
    };
    let (Some(rank), Some(size)) =
        (library.number(library.comm_rank, library.world), library.number(library.comm_size, library.world))
    else {
        process.lose(&"MPI does not tell the rank");
        return;
    };
    let name = library.name.clone();
    process.entry(&Entry::Rank { rank, size, world: world_key(), library: name });
    process.tables().communicators.begin((library.world, size, rank), library.itself);
    let (are_some_left_out, is_left_out) = process::leaves_out(rank);
    if are_some_left_out {
        process.tables().communicators.write_members();
    }
    if is_left_out {
        process.leave_out();
    }
}

/// What launchers give all processes of one run.
fn world_key() -> String {
    const NAMES: [&str; 5] =
        ["PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid", "PMI_JOBID", "HYDI_CONTROL_FD_JOB", "SLURM_STEP_ID"];
    let values = NAMES.iter().filter_map(|name| Some(format!("{name}={}", env::var(name).ok()?)));
    let mut key = values.collect::<Vec<_>>().join(" ");
    if let Ok(job) = env::var("SLURM_JOB_ID") {
        key = format!("{key} SLURM_JOB_ID={job}");
    }
    key
}

impl MpiLibrary {
    fn find() -> Option<Self> {
        let name = version()?;
        let open_mpi = next::mpi_variable(c"ompi_mpi_comm_world").addr() as u64;
        let flavour = if open_mpi != 0 {
            Flavour::OpenMpi
        } else if ["MPICH", "Intel(R) MPI", "MVAPICH", "CRAY MPICH"].iter().any(|word| name.contains(word)) {
            Flavour::Mpich
        } else {
            return None;
        };
        let handle = |symbol: &CStr, number: u64| match flavour {
            Flavour::OpenMpi => Handle(next::mpi_variable(symbol).addr() as u64),
            Flavour::Mpich => Handle(number),
        };
        // Addresses of Fortran's constants, under the names that compilers give them.
        let addresses = |names: &[&CStr]| -> Vec<usize> {
            let found = names.iter().map(|name| next::mpi_variable(name).addr());
            found.filter(|&address| address != 0).collect()
        };
        let mut ignored = addresses(&[
            c"mpi_fortran_status_ignore",
            c"mpi_fortran_status_ignore_",
            c"mpi_fortran_status_ignore__",
            c"MPI_FORTRAN_STATUS_IGNORE",
            c"mpi_fortran_statuses_ignore",
            c"mpi_fortran_statuses_ignore_",
            c"mpi_fortran_statuses_ignore__",
            c"MPI_FORTRAN_STATUSES_IGNORE",
            c"MPIR_F08_MPI_STATUS_IGNORE_OBJ",
            c"MPIR_F08_MPI_STATUSES_IGNORE_OBJ",
        ]);
        for place in addresses(&[c"MPI_F_STATUS_IGNORE", c"MPI_F_STATUSES_IGNORE"]) {
            // SAFETY: the library defines these as pointers.
            ignored.push(unsafe { (place as *const usize).read() });
        }
        let in_place = addresses(&[
            c"mpi_fortran_in_place",
            c"mpi_fortran_in_place_",
            c"mpi_fortran_in_place__",
            c"MPI_FORTRAN_IN_PLACE",
            c"MPIR_F08_MPI_IN_PLACE",
        ]);
        Some(MpiLibrary {
            flavour,
            name: name.lines().next().unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" "),
            world: handle(c"ompi_mpi_comm_world", 0x4400_0000),
            itself: handle(c"ompi_mpi_comm_self", 0x4400_0001),
            null_communicator: handle(c"ompi_mpi_comm_null", 0x0400_0000),
            byte: handle(c"ompi_mpi_byte", 0x4c00_010d),
            type_size: Symbol::find(c"PMPI_Type_size"),
            get_count: Symbol::find(c"PMPI_Get_count"),
            get_elements_x: Symbol::find(c"PMPI_Get_elements_x"),
            test_cancelled: Symbol::find(c"PMPI_Test_cancelled"),
            comm_rank: Symbol::find(c"PMPI_Comm_rank"),
            comm_size: Symbol::find(c"PMPI_Comm_size"),
            comm_group: Symbol::find(c"PMPI_Comm_group"),
            comm_remote_group: Symbol::find(c"PMPI_Comm_remote_group"),
            comm_test_inter: Symbol::find(c"PMPI_Comm_test_inter"),
            group_size: Symbol::find(c"PMPI_Group_size"),
            group_translate: Symbol::find(c"PMPI_Group_translate_ranks"),
            group_free: Symbol::find(c"PMPI_Group_free"),
            cart_coords: Symbol::find(c"PMPI_Cart_coords"),
            initialized: Symbol::find(c"PMPI_Initialized"),
            finalized: Symbol::find(c"PMPI_Finalized"),
            comm_from_fortran: Converter::find(flavour, c"PMPI_Comm_f2c"),
            type_from_fortran: Converter::find(flavour, c"PMPI_Type_f2c"),
            request_from_fortran: Converter::find(flavour, c"PMPI_Request_f2c"),
            message_from_fortran: Converter::find(flavour, c"PMPI_Message_f2c"),
            window_from_fortran: Converter::find(flavour, c"PMPI_Win_f2c"),
            // Files are no numbers in MPICH either.
            file_from_fortran: Converter::find(Flavour::OpenMpi, c"PMPI_File_f2c"),
            ignored,
            in_place,
        })
    }

    fn is_running(&self) -> bool {
        let (mut has_begun, mut has_ended): (c_int, c_int) = (0, 0);
        self.initialized.call(&[(&raw mut has_begun).addr()]);
        self.finalized.call(&[(&raw mut has_ended).addr()]);
        has_begun != 0 && has_ended == 0
    }

    /// The answer of a function that takes a handle and writes a number.
    fn number(&self, function: Symbol, handle: Handle) -> Option<u32> {
        let mut number: c_int = -1;
        function.call(&[raw(handle), (&raw mut number).addr()])?;
        u32::try_from(number).ok()
    }

    /// World ranks of the members of a group, which is freed.
    fn members(&self, mut group: u64, world: u64) -> Option<Vec<u32>> {
        let n = self.number(self.group_size, self.cut(group));
        let ranks: Vec<c_int> = (0..c_int::try_from(n?).ok()?).collect();
        let mut of_world: Vec<c_int> = vec![-1; ranks.len()];
        let translated = self.group_translate.call(&[
            raw(self.cut(group)),
            ranks.len(),
            ranks.as_ptr().addr(),
            raw(self.cut(world)),
            of_world.as_mut_ptr().addr(),
        ]);
        self.group_free.call(&[(&raw mut group).addr()]);
        translated?;
        // Processes of other worlds have no rank in this one.
        Some(of_world.iter().map(|&rank| u32::try_from(rank).unwrap_or(u32::MAX)).collect())
    }

    fn group(&self, function: Symbol, communicator: Handle) -> Option<u64> {
        let mut group = 0u64;
        function.call(&[raw(communicator), (&raw mut group).addr()])?;
        Some(group)
    }

    /// A handle as it is in memory: MPICH writes only the lower half.
    pub fn cut(&self, bits: u64) -> Handle {
        match self.flavour {
            Flavour::OpenMpi => Handle(bits),
            Flavour::Mpich => Handle(bits & 0xffff_ffff),
        }
    }

    /// Bytes of a message, from a status of 64 aligned bytes.
    pub fn received_bytes(&self, status: usize) -> u64 {
        let mut count: c_int = -1;
        self.get_count.call(&[status, raw(self.byte), (&raw mut count).addr()]);
        if let Ok(count) = u64::try_from(count) {
            return count;
        }
        // More than a number of 32 bits can say.
        let mut count = 0i64;
        self.get_elements_x.call(&[status, raw(self.byte), (&raw mut count).addr()]);
        u64::try_from(count).unwrap_or(0)
    }

    /// Whether an operation was cancelled, from a status of 64 aligned bytes.
    pub fn was_cancelled(&self, status: usize) -> bool {
        let mut flag: c_int = 0;
        self.test_cancelled.call(&[status, (&raw mut flag).addr()]);
        flag != 0
    }

    /// Bytes of a status in an array.
    pub fn status_bytes(&self) -> usize {
        match self.flavour {
            Flavour::OpenMpi => 24,
            Flavour::Mpich => 20,
        }
    }

    /// Which numbers of a status are source and tag.
    pub fn source_and_tag(&self) -> (usize, usize) {
        match self.flavour {
            Flavour::OpenMpi => (0, 1),
            Flavour::Mpich => (2, 3),
        }
    }

    /// Bytes of a handle in an array of C.
    pub fn handle_bytes(&self) -> usize {
        match self.flavour {
            Flavour::OpenMpi => 8,
            Flavour::Mpich => 4,
        }
    }

    /// `MPI_STATUS_IGNORE` and `MPI_IN_PLACE` of C.
    pub fn c_constants(&self) -> (usize, usize) {
        match self.flavour {
            Flavour::OpenMpi => (0, 1),
            Flavour::Mpich => (1, usize::MAX),
        }
    }
}

/// A handle as an argument.
fn raw(handle: Handle) -> usize {
    usize::try_from(handle.0).unwrap_or(0)
}

/// What the library says of itself; none without MPI.
fn version() -> Option<String> {
    // Longer than the longest text that a library may write, MPI_MAX_LIBRARY_VERSION_STRING.
    let mut text = vec![0u8; 16 * 1024];
    let mut length: c_int = 0;
    let function = Symbol::find(c"PMPI_Get_library_version");
    function.call(&[text.as_mut_ptr().addr(), (&raw mut length).addr()])?;
    text.truncate(usize::try_from(length).ok()?);
    Some(String::from_utf8_lossy(&text).into_owned())
}

impl Library for LibraryHandle {
    fn constants(&self) -> Constants {
        let (proc_null, root) = match self.0.flavour {
            Flavour::OpenMpi => (-2, -4),
            Flavour::Mpich => (-1, -3),
        };
        Constants { proc_null, root, null_communicator: self.0.null_communicator }
    }

    fn type_bytes(&mut self, datatype: Handle) -> u64 {
        self.0.number(self.0.type_size, datatype).map_or(0, u64::from)
    }

    fn describe(&mut self, communicator: Handle) -> Option<Described> {
        let library = self.0;
        let world = library.group(library.comm_group, library.world)?;
        let is_inter = library.number(library.comm_test_inter, communicator)? != 0;
        let size = library.number(library.comm_size, communicator)?;
        let rank = library.number(library.comm_rank, communicator)?;
        let own = library.group(library.comm_group, communicator);
        let members = own.and_then(|group| library.members(group, world));
        let others = is_inter.then(|| {
            let group = library.group(library.comm_remote_group, communicator)?;
            library.members(group, world)
        });
        let mut world = world;
        library.group_free.call(&[(&raw mut world).addr()]);
        Some(Described { size, rank, members: members?, others: others.map(Option::unwrap_or_default) })
    }

    fn coordinates(&mut self, communicator: Handle, rank: u32, n: usize) -> Option<Vec<u32>> {
        let mut coordinates: Vec<c_int> = vec![0; n];
        let arguments = [raw(communicator), rank as usize, n, coordinates.as_mut_ptr().addr()];
        self.0.cart_coords.call(&arguments)?;
        Some(coordinates.iter().map(|&at| u32::try_from(at).unwrap_or(0)).collect())
    }

    fn path_of(&mut self, name: &str) -> String {
        // As the kernel names it where it is opened by other functions.
        std::fs::canonicalize(name)
            .map_or_else(|_| name.to_owned(), |path| path.to_string_lossy().into_owned())
    }

    fn communicator_at(&mut self, place: Handle) -> Handle {
        // SAFETY: the program keeps the place valid until the request is complete; handles have at least 32 bits.
        unsafe {
            match self.0.flavour {
                Flavour::OpenMpi => Handle((raw(place) as *const u64).read_unaligned()),
                Flavour::Mpich => Handle(u64::from((raw(place) as *const u32).read_unaligned())),
            }
        }
    }
}
