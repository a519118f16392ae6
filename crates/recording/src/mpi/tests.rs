//! Calls with arguments that are made up, and the events that follow from them.

use super::calls::{Begun, Call, Tables};
use super::functions::{Function, functions};
use super::interface::{Arguments, Constants, Described, Handle, HandleKind, Library, Received, Sink};
use crate::journal::Entry;
use ouzel_otf2::records::Event;

const WORLD: Handle = Handle(100);
const ITSELF: Handle = Handle(101);
const NULL: Handle = Handle(0);

/// What stands in the place of an argument.
#[derive(Debug, Clone)]
enum Word {
    Number(i64),
    Numbers(Vec<i64>),
    Handle(u64),
    Handles(Vec<u64>),
    Received(Vec<(i64, i64, u64)>),
    InPlace,
}

struct Words(Vec<Word>);

impl Arguments for Words {
    fn number(&self, at: usize) -> i64 {
        match &self.0[at] {
            Word::Number(number) => *number,
            other => panic!("{other:?} is no number"),
        }
    }
    fn number_behind(&self, at: usize) -> i64 {
        self.number(at)
    }
    fn element(&self, at: usize, index: usize) -> i64 {
        match &self.0[at] {
            Numbers(numbers) => numbers[index],
            other => panic!("{other:?} has no elements"),
        }
    }
    fn index(&self, at: usize, index: usize) -> i64 {
        match &self.0[at] {
            Word::Number(number) => *number,
            _ => self.element(at, index),
        }
    }
    fn handle(&self, at: usize, _: HandleKind) -> Handle {
        match &self.0[at] {
            Word::Handle(handle) => Handle(*handle),
            other => panic!("{other:?} is no handle"),
        }
    }
    fn handle_behind(&self, at: usize, kind: HandleKind) -> Handle {
        self.handle(at, kind)
    }
    fn handle_element(&self, at: usize, index: usize, _: HandleKind) -> Handle {
        match &self.0[at] {
            Handles(handles) => Handle(handles[index]),
            other => panic!("{other:?} has no handles"),
        }
    }
    fn address(&self, at: usize) -> Handle {
        self.handle(at, HandleKind::Communicator)
    }
    fn is_in_place(&self, at: usize) -> bool {
        matches!(self.0[at], InPlace)
    }
    fn received(&self, at: usize, index: usize) -> Received {
        match &self.0[at] {
            Word::Received(all) => {
                let (source, tag, n_bytes) = all[index];
                Received { source, tag, n_bytes }
            }
            other => panic!("{other:?} is no status"),
        }
    }
    fn was_cancelled(&self, at: usize, index: usize) -> bool {
        self.received(at, index).source == -99
    }
    fn text(&self, _: usize) -> String {
        "named".to_owned()
    }
}

/// A library in which a type's handle is its size, in a world of four ranks of which this is rank 1.
struct Toy;

impl Library for Toy {
    fn constants(&self) -> Constants {
        Constants { proc_null: -1, root: -3, null_communicator: NULL }
    }
    fn type_bytes(&mut self, datatype: Handle) -> u64 {
        datatype.0
    }
    fn describe(&mut self, _: Handle) -> Option<Described> {
        Some(Described { size: 2, rank: 0, members: vec![1, 3], others: None })
    }
    fn coordinates(&mut self, _: Handle, _: u32, n: usize) -> Option<Vec<u32>> {
        Some(vec![0; n])
    }
    fn communicator_at(&mut self, place: Handle) -> Handle {
        place
    }
    fn path_of(&mut self, name: &str) -> String {
        format!("/{name}")
    }
}

#[derive(Default)]
struct Lines(Vec<String>);

impl Sink for Lines {
    fn event(&mut self, event: Event<'static>) {
        let mut line = event.kind().name().to_owned();
        event.fields(&mut |_, value| line += &format!(" {}", shown(&value)));
        self.0.push(line);
    }
    fn entry(&mut self, entry: &Entry) {
        self.0.push(entry.line().trim_end().replace('\t', " "));
    }
}

/// The number or name that a field has.
fn shown(value: &ouzel_otf2::records::FieldValue<'_>) -> String {
    let text = format!("{value:?}");
    let from = text.find(|c: char| c == '"' || c.is_ascii_digit()).unwrap_or(0);
    let found: String = text[from..]
        .trim_matches('"')
        .chars()
        .take_while(|c| c.is_ascii_alphanumeric() || *c == '_')
        .collect();
    if found == u32::MAX.to_string() { "-".to_owned() } else { found }
}

struct Program {
    tables: Tables,
    lines: Lines,
}

impl Program {
    fn new() -> Self {
        let mut tables = Tables::default();
        tables.communicators.begin((WORLD, 4, 1), ITSELF);
        Program { tables, lines: Lines::default() }
    }

    fn named(name: &str) -> &'static Function {
        functions().iter().find(|function| function.name == name).expect("it is in the table")
    }

    /// Calls a function with these arguments before and those after it has written its results.
    fn call_changing(&mut self, name: &str, before: Vec<Word>, after: Vec<Word>) -> Vec<String> {
        let function = Self::named(name);
        assert_eq!(before.len(), function.parameters.len(), "{name}");
        let mut begun = Begun::default();
        self.with(function, &Words(before), |call| call.before(&mut begun));
        self.with(function, &Words(after), |call| call.after(&begun));
        std::mem::take(&mut self.lines.0)
    }

    fn call(&mut self, name: &str, words: Vec<Word>) -> Vec<String> {
        self.call_changing(name, words.clone(), words)
    }

    fn with<R>(
        &mut self,
        function: &Function,
        arguments: &Words,
        look: impl FnOnce(&mut Call<'_, Words, Toy, Lines>) -> R,
    ) -> R {
        let Program { tables, lines } = self;
        look(&mut Call { function, arguments, library: &mut Toy, tables, sink: lines })
    }
}

use Word::{Handle as H, Handles, InPlace, Number as N, Numbers, Received as Status};

const BUFFER: Word = N(0);

fn world() -> Word {
    H(WORLD.0)
}

#[test]
fn blocking_messages() {
    let mut program = Program::new();
    let send = |to| vec![BUFFER, N(5), H(8), N(to), N(7), world()];
    assert_eq!(program.call("Send", send(3)), ["MpiSend 3 0 7 40"]);
    assert_eq!(program.call("Send", send(-1)), Vec::<String>::new());
    let receive = |source| vec![BUFFER, N(99), H(8), N(source), N(-1), world(), Status(vec![(2, 7, 16)])];
    assert_eq!(program.call("Recv", receive(-2)), ["MpiRecv 2 0 7 16"]);
    assert_eq!(program.call("Recv", receive(-1)), Vec::<String>::new());
    let both = vec![
        BUFFER,
        N(5),
        H(8),
        N(3),
        N(7),
        BUFFER,
        N(6),
        H(8),
        N(0),
        N(9),
        world(),
        Status(vec![(0, 9, 48)]),
    ];
    assert_eq!(program.call("Sendrecv", both), ["MpiSend 3 0 7 40", "MpiRecv 0 0 9 48"]);
}

#[test]
fn requests_complete_with_their_operations() {
    let mut program = Program::new();
    let end = |request| vec![BUFFER, N(2), H(4), N(0), N(7), world(), H(request)];
    assert_eq!(program.call("Isend", end(50)), ["MpiIsend 0 0 7 8 1"]);
    assert_eq!(program.call("Irecv", end(51)), ["MpiIrecvRequest 2"]);
    assert_eq!(program.call("Irecv", end(52)), ["MpiIrecvRequest 3"]);
    // Only the second of three is complete; the handle of a completed request is overwritten.
    let some = |handles: [u64; 3]| {
        let status = Status(vec![(0, 7, 8)]);
        vec![N(3), Handles(handles.to_vec()), N(1), Numbers(vec![1]), status]
    };
    assert_eq!(
        program.call_changing("Waitsome", some([50, 51, 52]), some([50, 0, 52])),
        ["MpiIrecv 0 0 7 8 2"]
    );
    let test = |flag| vec![H(52), N(flag), Status(vec![(0, 7, 4)])];
    assert_eq!(program.call("Test", test(0)), Vec::<String>::new());
    assert_eq!(program.call("Test", test(1)), ["MpiIrecv 0 0 7 4 3"]);
    let all = vec![N(3), Handles(vec![50, 0, 0]), Status(vec![(-1, -1, 0); 3])];
    assert_eq!(program.call("Waitall", all), ["MpiIsendComplete 1"]);
}

#[test]
fn persistent_and_cancelled_requests() {
    let mut program = Program::new();
    let make = vec![BUFFER, N(2), H(4), N(0), N(7), world(), H(50)];
    assert_eq!(program.call("Send_init", make.clone()), Vec::<String>::new());
    for id in [1, 2] {
        assert_eq!(program.call("Start", vec![H(50)]), [format!("MpiIsend 0 0 7 8 {id}")]);
        let wait = vec![H(50), Status(vec![(0, 0, 0)])];
        assert_eq!(program.call("Wait", wait), [format!("MpiIsendComplete {id}")]);
    }
    assert_eq!(program.call("Irecv", make), ["MpiIrecvRequest 3"]);
    program.call("Cancel", vec![H(50)]);
    assert_eq!(program.call("Wait", vec![H(50), Status(vec![(-99, 0, 0)])]), ["MpiRequestCancelled 3"]);
}

#[test]
fn matched_messages_are_received_from_whom_they_were_probed() {
    let mut program = Program::new();
    let probe = vec![N(-2), N(-1), world(), N(1), H(70), Status(vec![(3, 7, 24)])];
    program.call("Improbe", probe);
    let receive = vec![BUFFER, N(6), H(4), H(70), Status(vec![(3, 7, 24)])];
    assert_eq!(program.call("Mrecv", receive.clone()), ["MpiRecv 3 0 7 24"]);
    assert_eq!(program.call("Mrecv", receive), Vec::<String>::new(), "a message is received once");
}

/// Four ranks, of which this is rank 1; elements of 4 bytes sent and 8 received.
#[test]
fn bytes_of_collectives() {
    let (s, r) = (H(4), H(8));
    let counts = || Numbers(vec![1, 2, 3, 4]);
    for (name, words, op, root, sent, received) in [
        ("Barrier", vec![world()], "BARRIER", "-", 0, 0),
        ("Bcast", vec![BUFFER, N(5), s.clone(), N(1), world()], "BCAST", "1", 80, 20),
        ("Bcast", vec![BUFFER, N(5), s.clone(), N(0), world()], "BCAST", "0", 0, 20),
        ("Reduce", vec![BUFFER, BUFFER, N(5), s.clone(), N(0), N(1), world()], "REDUCE", "1", 20, 80),
        ("Reduce", vec![InPlace, BUFFER, N(5), s.clone(), N(0), N(1), world()], "REDUCE", "1", 0, 60),
        ("Allreduce", vec![BUFFER, BUFFER, N(5), s.clone(), N(0), world()], "ALLREDUCE", "-", 80, 80),
        (
            "Gather",
            vec![BUFFER, N(5), s.clone(), BUFFER, N(5), r.clone(), N(1), world()],
            "GATHER",
            "1",
            20,
            160,
        ),
        (
            "Gatherv",
            vec![BUFFER, N(2), s.clone(), BUFFER, counts(), BUFFER, r.clone(), N(1), world()],
            "GATHERV",
            "1",
            8,
            80,
        ),
        (
            "Alltoallv",
            vec![BUFFER, counts(), BUFFER, s.clone(), BUFFER, counts(), BUFFER, r.clone(), world()],
            "ALLTOALLV",
            "-",
            40,
            80,
        ),
        (
            "Alltoallw",
            vec![
                BUFFER,
                counts(),
                BUFFER,
                Handles(vec![1, 1, 1, 10]),
                BUFFER,
                counts(),
                BUFFER,
                Handles(vec![8; 4]),
                world(),
            ],
            "ALLTOALLW",
            "-",
            46,
            80,
        ),
        (
            "Reduce_scatter",
            vec![BUFFER, BUFFER, counts(), s.clone(), N(0), world()],
            "REDUCE_SCATTER",
            "-",
            40,
            32,
        ),
        ("Scan", vec![BUFFER, BUFFER, N(5), s.clone(), N(0), world()], "SCAN", "-", 60, 40),
        ("Exscan", vec![BUFFER, BUFFER, N(5), s, N(0), world()], "EXSCAN", "-", 40, 20),
    ] {
        let expected =
            ["MpiCollectiveBegin".to_owned(), format!("MpiCollectiveEnd {op} 0 {root} {sent} {received}")];
        assert_eq!(Program::new().call(name, words), expected, "{name}");
    }
}

#[test]
fn communicators_are_numbered_and_forgotten() {
    let mut program = Program::new();
    let split = |new| vec![world(), N(0), N(0), H(new)];
    let begin = "MpiCollectiveBegin".to_owned();
    let end = "MpiCollectiveEnd CREATE_HANDLE 0 - 0 0".to_owned();
    let made = |id, nth| format!("communicator {id} 0 0 {nth} 1 0 1,3");
    assert_eq!(program.call("Comm_split", split(60)), [begin.clone(), made(2, 0), end.clone()]);
    // A rank that becomes no member counts it nevertheless.
    assert_eq!(program.call("Comm_split", split(NULL.0)), [begin.clone(), end.clone()]);
    assert_eq!(program.call("Comm_split", split(61)), [begin, made(3, 2), end]);
    let send = |comm| vec![BUFFER, N(1), H(1), N(1), N(7), H(comm)];
    assert_eq!(program.call("Send", send(61)), ["MpiSend 1 3 7 1"]);
    program.call("Comm_free", vec![H(61)]);
    // The handle is given out again; nothing was seen of its making.
    let lines = program.call("Send", send(61));
    assert_eq!(lines, [format!("communicator 4 {} 1 0 1 0 1,3", u32::MAX), "MpiSend 1 4 7 1".to_owned()]);
}

#[test]
fn operations_of_files_complete_once() {
    let mut program = Program::new();
    let open = |file| vec![world(), BUFFER, N(9), BUFFER, H(file)];
    assert_eq!(
        program.call("File_open", open(60)),
        ["mpi-file 16387 0 /named", "IoCreateHandle 16387 READ_WRITE 0 0"]
    );
    // The same file again, under another handle of the library.
    assert_eq!(program.call("File_open", open(61)), ["IoCreateHandle 16387 READ_WRITE 0 0"]);
    let write = |file| vec![H(file), BUFFER, N(5), H(8), Status(vec![(0, 0, 32)])];
    assert_eq!(
        program.call("File_write_all", write(60)),
        ["IoOperationBegin 16387 WRITE 2 40 1", "IoOperationComplete 16387 32 1"]
    );
    assert_eq!(program.call("File_write", write(62)), Vec::<String>::new(), "a file that is not known");
    let start = vec![H(60), N(0), BUFFER, N(5), H(8), H(70)];
    assert_eq!(
        program.call("File_iread_at", start),
        ["IoOperationBegin 16387 READ 1 40 2", "IoOperationIssued 16387 2"]
    );
    assert_eq!(
        program.call("Wait", vec![H(70), Status(vec![(0, 0, 16)])]),
        ["IoOperationComplete 16387 16 2"]
    );
    let begin = vec![H(61), BUFFER, N(1), H(8)];
    assert_eq!(
        program.call("File_write_all_begin", begin),
        ["IoOperationBegin 16387 WRITE 3 8 3", "IoOperationIssued 16387 3"]
    );
    let end = vec![H(61), BUFFER, Status(vec![(0, 0, 8)])];
    assert_eq!(program.call("File_write_all_end", end.clone()), ["IoOperationComplete 16387 8 3"]);
    assert_eq!(program.call("File_write_all_end", end), Vec::<String>::new());
    let (function, words) = (Program::named("File_write"), Words(write(60)));
    let mut begun = Begun::default();
    program.with(function, &words, |call| call.before(&mut begun));
    program.with(function, &words, |call| call.failed(&begun));
    assert_eq!(
        std::mem::take(&mut program.lines.0),
        ["IoOperationBegin 16387 WRITE 0 40 4", "IoOperationComplete 16387 0 4"]
    );
    assert_eq!(program.call("File_close", vec![H(60)]), ["IoDestroyHandle 16387"]);
    assert_eq!(program.call("File_close", vec![H(60)]), Vec::<String>::new());
}
