"""The parser of otf2-print's text, on lines as otf2-print 3.0.2 prints them."""

import pytest
from otf2_print import NotUnderstood, Reference, records


def one(text):
    found = list(records(text.splitlines()))
    assert len(found) == 1
    return {key: value for key, value in found[0].items() if key not in ("location", "time", "record")}


def event(name, fields):
    return f"{name:<30}          536870911              9587301  {fields}"


def test_head_of_a_record():
    text = event("ENTER", 'Region: "int main(int, char**)" <3>')
    assert list(records([text])) == [{"location": 536870911, "time": 9587301, "record": "ENTER",
                                      "region": Reference(3, "int main(int, char**)")}]


def test_lines_between_the_records_are_no_records():
    assert list(records(["", "=== OTF2-PRINT ===", "=== Events =====", "-" * 80,
                         "Event        Location            Timestamp  Attributes"])) == []


@pytest.mark.parametrize("name, text, fields", [
    ("MPI_COLLECTIVE_BEGIN", "", {}),
    ("MPI_ISEND", 'Receiver: 1 ("Master thread" <8>), Communicator: "comm 1" <1>, Tag: 3, Length: 1200, Request: 2',
     {"receiver": 1, "communicator": Reference(1, "comm 1"), "tag": 3, "length": 1200, "request": 2}),
    ("MPI_SEND", "Receiver: 4294967294 (INVALID), Communicator: UNDEFINED, Tag: 3, Length: 960",
     {"receiver": 4294967294, "communicator": None, "tag": 3, "length": 960}),
    ("MPI_COLLECTIVE_END", 'Operation: ALLREDUCE, Communicator: "W" <0>, Root: NONE, Sent: 8, Received: 8',
     {"operation": "ALLREDUCE", "communicator": Reference(0, "W"), "root": "NONE", "sent": 8, "received": 8}),
    ("THREAD_FORK", "Model: OPENMP, # Requested Threads: 7", {"model": "OPENMP", "requested_threads": 7}),
    ("PROGRAM_END", "Exit status: UNDEFINED", {"exit_status": None}),
    ("PROGRAM_BEGIN", 'Name: "a.out" <8>, 0 Arguments', {"name": Reference(8, "a.out"), "arguments": []}),
    ("PROGRAM_BEGIN", 'Name: "a" <8>, 2 Arguments: "-x, y" <2>, "z" <3>',
     {"name": Reference(8, "a"), "arguments": [Reference(2, "-x, y"), Reference(3, "z")]}),
    ("METRIC", 'Metric: 35, 1 Value: ("freq2" <17>; UINT64; 1300000000)',
     {"metric": 35, "values": [(Reference(17, "freq2"), "UINT64", 1300000000)]}),
    ("METRIC", 'Metric: 0, 2 Values: ("a" <0>; DOUBLE; -1.5e+300), ("b" <1>; INT64; -421)',
     {"metric": 0, "values": [(Reference(0, "a"), "DOUBLE", -1.5e300), (Reference(1, "b"), "INT64", -421)]}),
    ("IO_CREATE_HANDLE", 'Handle: "f" <1>, Access Mode: READ_WRITE, Creation Flags: NONE, Status Flags: {APPEND, SYNC}',
     {"handle": Reference(1, "f"), "access_mode": "READ_WRITE", "creation_flags": [],
      "status_flags": ["APPEND", "SYNC"]}),
    ("IO_DELETE_FILE", 'I/O Paradigm: "POSIX" <0>, File: "file://x" <1>',
     {"io_paradigm": Reference(0, "POSIX"), "file": Reference(1, "file://x")}),
])
def test_fields(name, text, fields):
    assert one(event(name, text)) == fields


def test_attributes_belong_to_the_record_before():
    text = event("ENTER", 'Region: "f" <3>') + "\n" + " " * 71 + (
        'ADDITIONAL ATTRIBUTES: ("size" <4>; UINT64; 536870912), ("who" <5>; LOCATION; "P, 1" <3>), ("m" <6>; METRIC; 1)')
    assert one(text)["attributes"] == [
        (Reference(4, "size"), "UINT64", 536870912),
        (Reference(5, "who"), "LOCATION", Reference(3, "P, 1")),
        (Reference(6, "m"), "METRIC", 1),
    ]


def test_what_is_not_known_is_not_passed_over():
    with pytest.raises(NotUnderstood):
        one(event("ENTER", "Region = 7"))
