use super::*;
use ouzel_model::TraceSource;
use ouzel_testkit::{ToyTrace, laws, run};

const COPY: &str = "
    0: enter main @0, enter read @1, read 100 @2, read 28 @4, io @4, leave @5, write 7 @6, leave @9
    1: enter main @0, leave @9
    2: enter main @0, enter write @1, write 8 @2, leave @3, leave @9";

#[test]
fn operations_are_those_of_their_call_and_rank() {
    let trace = ToyTrace::new(COPY);
    let output = run(&trace, Io);
    let name =
        |path| output.call_paths.region(path).map(|region| trace.definitions().region(region).name.clone());
    let mut seen = Vec::new();
    for (location, paths) in &output.locations {
        for PathIo { call_path, totals } in paths {
            let IoTotals { operations, reads, bytes_read, writes, bytes_written } = *totals;
            let name = name(*call_path).unwrap_or_default();
            seen.push((location.0, name.to_string(), [operations, reads, bytes_read, writes, bytes_written]));
        }
    }
    let expected =
        [(0, "main", [1, 0, 0, 1, 7]), (0, "read", [3, 2, 128, 0, 0]), (2, "write", [1, 0, 0, 1, 8])];
    assert_eq!(seen, expected.map(|(location, name, totals)| (location, name.to_owned(), totals)));
}

#[test]
fn laws_hold() {
    laws::check(|| Io, |output| format!("{:?}", output.locations));
}
