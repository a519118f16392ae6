//! The functions of the MPI standard, from `functions.table`.
//!
//! Law: a function's number is its line, and the form with large counts has the number after it; the wrappers are
//! generated from the same file, so both have the same numbers.

use ouzel_otf2::records::enums::RegionRole;
use std::sync::OnceLock;

/// The table, as text.
pub const TABLE: &str = include_str!("functions.table");

macro_rules! words {
    ($(#[$meta:meta])* $Name:ident { $($(#[$doc:meta])* $Variant:ident $word:literal,)* }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum $Name { $($(#[$doc])* $Variant,)* }

        impl $Name {
            fn of_word(word: &str) -> Option<Self> {
                match word { $($word => Some($Name::$Variant),)* _ => None }
            }
        }
    };
}

words! {
/// What a parameter is to the recorder.
Parameter {
    /// Passed on and not looked at.
    Other "_",
    /// A text, which has a hidden length in Fortran.
    Text "text",
    /// A buffer that is sent, received or both.
    Buffer "buf",
    /// Elements of `Type`.
    Count "count",
    /// A datatype.
    Type "type",
    /// The buffer that is sent.
    Send "send",
    /// Elements that are sent.
    SendCount "sendcount",
    /// Elements that are sent, for each rank.
    SendCounts "sendcounts",
    /// The datatype of what is sent.
    SendType "sendtype",
    /// The datatypes of what is sent, for each rank.
    SendTypes "sendtypes",
    /// The buffer that is received into.
    Receive "recv",
    /// Elements that are received.
    ReceiveCount "recvcount",
    /// Elements that are received, for each rank.
    ReceiveCounts "recvcounts",
    /// The datatype of what is received.
    ReceiveType "recvtype",
    /// The datatypes of what is received, for each rank.
    ReceiveTypes "recvtypes",
    /// The rank that a message goes to.
    Destination "dest",
    /// The rank that a message comes from, or any.
    Source "source",
    /// The tag of a message.
    Tag "tag",
    /// The tag of what is sent.
    SendTag "sendtag",
    /// The tag of what is received, or any.
    ReceiveTag "recvtag",
    /// The root of a collective.
    Root "root",
    /// The communicator; a pointer to it where it is freed.
    Communicator "comm",
    /// Where the new communicator goes.
    NewCommunicator "newcomm",
    /// The group of a new communicator.
    Group "group",
    /// The request, in and out.
    Request "request",
    /// The number of requests.
    Length "n",
    /// The requests, in and out.
    Requests "requests",
    /// Where the status goes.
    Status "status",
    /// Where the statuses go.
    Statuses "statuses",
    /// Where a truth value goes.
    Flag "flag",
    /// Where an index goes.
    Index "index",
    /// Where the number of indices goes.
    OutCount "outcount",
    /// Where the indices go.
    Indices "indices",
    /// A matched message.
    Message "message",
    /// A window, or where it goes.
    Window "win",
    /// The target of a one-sided operation.
    Target "target",
    /// Whether a lock is shared.
    LockType "locktype",
    /// The number of dimensions.
    NDimensions "ndims",
    /// Sizes of the dimensions.
    Dimensions "dims",
    /// Whether the dimensions are periodic.
    Periods "periods",
    /// A file; a pointer to it where it is opened or closed.
    File "file",
    /// How a file is opened.
    AccessMode "amode",
}
}

words! {
/// What a call means to the recorder.
Effect {
    /// Nothing but the call itself.
    Call "call",
    /// MPI begins.
    Init "init",
    /// MPI ends.
    Finalize "finalize",
    /// The program is ended.
    Abort "abort",
    /// A message is sent.
    Send "send",
    /// A send is started.
    StartSend "isend",
    /// A persistent send is made.
    MakeSend "send_init",
    /// A message is received.
    Receive "recv",
    /// A receive is started.
    StartReceive "irecv",
    /// A persistent receive is made.
    MakeReceive "recv_init",
    /// A message is sent and another received.
    SendReceive "sendrecv",
    /// A send and a receive are started with one request.
    StartSendReceive "isendrecv",
    /// A message is matched.
    MatchedProbe "mprobe",
    /// A matched message is received.
    MatchedReceive "mrecv",
    /// The receive of a matched message is started.
    StartMatchedReceive "imrecv",
    /// A persistent operation is started.
    Start "start",
    /// Persistent operations are started.
    StartAll "startall",
    /// Waits for an operation.
    Wait "wait",
    /// Waits for all operations.
    WaitAll "waitall",
    /// Waits for one of several operations.
    WaitAny "waitany",
    /// Waits for some of several operations.
    WaitSome "waitsome",
    /// Tests an operation.
    Test "test",
    /// Tests all operations.
    TestAll "testall",
    /// Tests one of several operations.
    TestAny "testany",
    /// Tests some of several operations.
    TestSome "testsome",
    /// A request is freed.
    FreeRequest "request_free",
    /// A request is cancelled.
    Cancel "cancel",
    /// A collective operation.
    Collective "collective",
    /// A collective operation is started.
    StartCollective "icollective",
    /// A persistent collective operation is made.
    MakeCollective "collective_init",
    /// A communicator is made by all members of another.
    MakeCommunicator "comm",
    /// A communicator is made by some members of another.
    MakeGroupCommunicator "comm_group",
    /// Two groups get a communicator.
    MakeIntercommunicator "intercomm",
    /// A communicator is being made.
    StartCommunicator "icomm",
    /// A communicator with a Cartesian topology is made.
    MakeTopology "cart",
    /// A communicator comes from elsewhere.
    FindCommunicator "comm_found",
    /// A communicator is freed.
    FreeCommunicator "comm_free",
    /// A communicator gets a name.
    NameCommunicator "comm_name",
    /// A window is made.
    MakeWindow "win",
    /// A window is freed.
    FreeWindow "win_free",
    /// Data are put.
    Put "put",
    /// Data are put, with a request.
    StartPut "rput",
    /// Data are got.
    Get "get",
    /// Data are got, with a request.
    StartGet "rget",
    /// Data are accumulated.
    Accumulate "accumulate",
    /// Data are accumulated, with a request.
    StartAccumulate "raccumulate",
    /// Data are accumulated, and the old ones got.
    Fetch "fetch",
    /// Data are accumulated and got, with a request.
    StartFetch "rfetch",
    /// One value is accumulated, and the old one got.
    FetchOne "fetch_op",
    /// One value is compared and swapped.
    Swap "swap",
    /// A window is fenced.
    Fence "fence",
    /// A target is locked.
    Lock "lock",
    /// A target is unlocked.
    Unlock "unlock",
    /// All targets are locked.
    LockAll "lock_all",
    /// All targets are unlocked.
    UnlockAll "unlock_all",
    /// Operations at a target are completed.
    Flush "flush",
    /// Operations at a target are completed locally.
    FlushLocal "flush_local",
    /// All operations are completed.
    FlushAll "flush_all",
    /// All operations are completed locally.
    FlushLocalAll "flush_local_all",
    /// An access epoch begins.
    BeginAccess "win_start",
    /// An access epoch ends.
    EndAccess "win_complete",
    /// An exposure epoch begins.
    BeginExposure "win_post",
    /// An exposure epoch ends.
    EndExposure "win_wait",
    /// A file is opened.
    OpenFile "file_open",
    /// A file is closed.
    CloseFile "file_close",
    /// What was written comes to the disk.
    SyncFile "file_sync",
    /// A file is read.
    ReadFile "file_read",
    /// A file is written.
    WriteFile "file_write",
    /// The read of a file is started.
    StartReadFile "file_iread",
    /// The write of a file is started.
    StartWriteFile "file_iwrite",
    /// The first half of a collective read.
    BeginReadFile "file_read_begin",
    /// The first half of a collective write.
    BeginWriteFile "file_write_begin",
    /// The second half of either.
    EndFile "file_end",
}
}

/// Where a function has its first parameter of each kind; `AccessMode` is the last kind.
type Places = [Option<u8>; Parameter::AccessMode as usize + 1];

/// A function of the standard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Function {
    /// Without `MPI_`.
    pub name: String,
    /// What its calls mean.
    pub effect: Effect,
    /// Its parameters, in the order of C.
    pub parameters: Vec<Parameter>,
    /// Whether counts have 64 bits.
    pub is_large: bool,
    places: Places,
}

impl Function {
    /// The number of the first parameter of this kind.
    #[inline]
    pub fn at(&self, parameter: Parameter) -> Option<usize> {
        self.places[parameter as usize].map(usize::from)
    }

    /// The name of the blocking function that does the same: `Ibcast` and `Bcast_init` are `Bcast`.
    fn base(&self) -> &str {
        let name = self.name.strip_suffix("_c").unwrap_or(&self.name);
        let name = name.strip_suffix("_init").unwrap_or(name);
        if self.effect == Effect::StartCollective { &name[1..] } else { name }
    }

    /// The collective operation, by the number that OTF2 gives it.
    pub fn collective(&self) -> Option<u8> {
        const NAMES: [&str; 17] = [
            "barrier",
            "bcast",
            "gather",
            "gatherv",
            "scatter",
            "scatterv",
            "allgather",
            "allgatherv",
            "alltoall",
            "alltoallv",
            "alltoallw",
            "allreduce",
            "reduce",
            "reduce_scatter",
            "scan",
            "exscan",
            "reduce_scatter_block",
        ];
        let is_one =
            matches!(self.effect, Effect::Collective | Effect::StartCollective | Effect::MakeCollective);
        let base = self.base().to_ascii_lowercase();
        let at = NAMES.iter().position(|&name| is_one && name == base)?;
        u8::try_from(at).ok()
    }

    /// Whether it opens, closes, reads or writes a file.
    #[inline]
    pub fn is_of_files(&self) -> bool {
        self.at(Parameter::File).is_some()
    }

    /// Whether all processes that have opened a file read or write it together.
    pub fn is_collective_on_file(&self) -> bool {
        self.is_of_files() && ["_all", "_ordered"].iter().any(|part| self.name.contains(part))
    }

    /// The role of its region.
    pub fn role(&self) -> RegionRole {
        use Effect as E;
        match self.effect {
            E::Collective | E::StartCollective | E::MakeCollective => match self.collective() {
                Some(0) => RegionRole::Barrier,
                Some(1 | 4 | 5) => RegionRole::CollOneToAll,
                Some(2 | 3 | 12) => RegionRole::CollAllToOne,
                Some(14 | 15) => RegionRole::CollOther,
                _ => RegionRole::CollAllToAll,
            },
            E::Call | E::Init | E::Finalize | E::Abort | E::NameCommunicator => match self.name.as_str() {
                "Probe" | "Iprobe" => RegionRole::PointToPoint,
                name if name.starts_with("File_") => RegionRole::FileIo,
                _ => RegionRole::Function,
            },
            E::MakeCommunicator
            | E::MakeGroupCommunicator
            | E::MakeIntercommunicator
            | E::StartCommunicator
            | E::MakeTopology
            | E::FindCommunicator
            | E::FreeCommunicator => RegionRole::CollOther,
            _ if self.at(Parameter::Window).is_some() => RegionRole::Rma,
            _ if self.is_of_files() => RegionRole::FileIo,
            _ => RegionRole::PointToPoint,
        }
    }
}

/// All functions, by number.
#[inline]
pub fn functions() -> &'static [Function] {
    static FUNCTIONS: OnceLock<Vec<Function>> = OnceLock::new();
    FUNCTIONS.get_or_init(parse_all)
}

#[cold]
fn parse_all() -> Vec<Function> {
    TABLE.lines().filter(|line| !line.starts_with('#')).flat_map(parse).collect()
}

/// The forms of a line of the table; none if the line is no such line.
fn parse(line: &'static str) -> Vec<Function> {
    let Some((head, parameters)) = line.split_once(':') else { return Vec::new() };
    let mut words = head.split(' ');
    let (Some(name), Some(forms), Some(effect)) = (words.next(), words.next(), words.next()) else {
        return Vec::new();
    };
    let Some(effect) = Effect::of_word(effect) else { return Vec::new() };
    let parameters: Vec<Parameter> = parameters.split_whitespace().filter_map(Parameter::of_word).collect();
    let places = places_of(&parameters);
    let normal = Function { name: name.to_owned(), effect, parameters, is_large: false, places };
    match forms {
        "c" => {
            let large = Function { name: format!("{name}_c"), is_large: true, ..normal.clone() };
            vec![normal, large]
        }
        _ => vec![normal],
    }
}

fn places_of(parameters: &[Parameter]) -> Places {
    let mut places = [None; Parameter::AccessMode as usize + 1];
    for (at, &parameter) in parameters.iter().enumerate().rev() {
        places[parameter as usize] = u8::try_from(at).ok();
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str) -> &'static Function {
        functions().iter().find(|function| function.name == name).expect("it is in the table")
    }

    #[test]
    fn every_line_of_the_table_is_understood() {
        let lines = TABLE.lines().filter(|line| !line.starts_with('#'));
        let mut n = 0;
        for line in lines {
            let forms = parse(line);
            assert!(!forms.is_empty(), "{line}");
            let (_, words) = line.split_once(':').expect("it was parsed");
            assert_eq!(forms[0].parameters.len(), words.split_whitespace().count(), "{line}");
            n += forms.len();
        }
        assert_eq!(n, functions().len());
        assert!(500 < n, "the standard has more functions than {n}");
    }

    #[test]
    fn parameters_are_where_they_are_first() {
        for function in functions() {
            for &parameter in &function.parameters {
                let first = function.parameters.iter().position(|&own| own == parameter);
                assert_eq!(function.at(parameter), first, "{}", function.name);
            }
        }
        assert_eq!(named("Send").at(Parameter::Source), None);
    }

    #[test]
    fn collectives_have_their_numbers_and_roles() {
        for (name, collective, role) in [
            ("Barrier", Some(0), RegionRole::Barrier),
            ("Ibcast_c", Some(1), RegionRole::CollOneToAll),
            ("Reduce_init", Some(12), RegionRole::CollAllToOne),
            ("Ireduce_scatter_block", Some(16), RegionRole::CollAllToAll),
            ("Scan", Some(14), RegionRole::CollOther),
            ("Send", None, RegionRole::PointToPoint),
            ("Init", None, RegionRole::Function),
            ("Put", None, RegionRole::Rma),
            ("File_write_at_all", None, RegionRole::FileIo),
            ("File_seek", None, RegionRole::FileIo),
        ] {
            assert_eq!((named(name).collective(), named(name).role()), (collective, role), "{name}");
        }
        let starts = |function: &&Function| function.effect == Effect::StartCollective;
        for function in functions().iter().filter(starts) {
            assert!(function.collective().is_some(), "{}", function.name);
        }
    }

    #[test]
    fn parameters_are_found_by_what_they_are() {
        let send = named("Send");
        assert_eq!((send.at(Parameter::Destination), send.at(Parameter::Status)), (Some(3), None));
        assert!(named("Send_c").is_large && !send.is_large);
        let (at, end) = (named("File_iwrite_at_all_c"), named("File_read_ordered_end"));
        assert_eq!((at.at(Parameter::Count), at.at(Parameter::Request)), (Some(3), Some(5)));
        assert!(at.is_collective_on_file() && end.is_collective_on_file() && !send.is_of_files());
        assert!(!named("File_write_shared").is_collective_on_file());
    }
}
