"""The expected values of the operations, asked through Python.

They are those of `testdata/golden/pipit_ops.json`. Its events and messages become tables of events, its operations an
archive that OTF2's own library writes. Not here: the matrix profile of a bare series, as a
series is nothing that Python can hand in; see the tests of `crates/analyses/src/patterns`.
"""

import csv
import json
from collections import Counter, defaultdict

import ouzel
import pytest

SECOND = 1_000_000_000


@pytest.fixture(scope="module")
def golden():
    from conftest import ROOT

    return json.loads((ROOT / "testdata" / "golden" / "pipit_ops.json").read_text())


def table_of(path, rows):
    """Opens a table of events, each a time in ns, type, name, process and attributes."""
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["Timestamp (ns)", "Event Type", "Name", "Process", "Thread", "Attributes"])
        writer.writerows([time, kind, name, process, thread, more] for time, kind, name, process, thread, more in rows)
    return ouzel.Trace.from_csv(path)


@pytest.fixture
def example(golden, tmp_path):
    rows = ((e["t"], e["type"], e["name"], e["proc"], e["thread"], "") for e in golden["input"]["events"])
    return table_of(tmp_path / "example.csv", rows), golden["expected"]


@pytest.fixture
def messages(golden, tmp_path):
    # Each end on a thread of its own, so that it is in order. The run is from 0 to 40.
    rows = [(time, "Instant", "edge", rank, 0, "") for rank in range(3) for time in (0, 40)]
    for i, message in enumerate(golden["input"]["messages"]):
        for name, peer, me, other, time in [
            ("MpiSend", "receiver", "src", "dst", "t_send"),
            ("MpiRecv", "sender", "dst", "src", "t_recv"),
        ]:
            more = {peer: message[other], "communicator": 0, "msg_tag": 0, "msg_length": message["size"]}
            rows.append((message[time], "Instant", name, message[me], 2 * i + (name == "MpiRecv") + 1, str(more)))
    return table_of(tmp_path / "messages.csv", rows), golden["expected"]


def rows_of(table):
    columns = table.to_dict()
    return [dict(zip(columns, row)) for row in zip(*columns.values())]


def test_calls_and_call_paths(example):
    trace, expected = example
    found = Counter((c["rank"], c["region"], c["enter_ns"], c["leave_ns"], c["inclusive_ns"], c["exclusive_ns"])
                    for c in rows_of(trace.calls()))
    wanted = Counter((c["proc"], c["name"], c["enter"], c["leave"], c["inc"], c["exc"]) for c in expected["calls"])
    assert found == wanted
    tree = {"/".join(row["call_path"]): row for row in rows_of(trace.create_cct())}
    # Visits, inclusive and exclusive time.
    found = {path: [row["visits"], row["inclusive_ns"], row["exclusive_ns"]] for path, row in tree.items()}
    assert found == expected["cct"]


def test_flat_and_time_profile(example):
    trace, expected = example
    flat = {row["region"]: row for row in rows_of(trace.flat_profile())}
    for column, key in [
        ("exclusive_ns", "flat_total"),
        ("exclusive_mean_all_ns", "flat_mean_all"),
        ("exclusive_mean_callers_ns", "flat_mean_callers"),
    ]:
        assert {region: row[column] for region, row in flat.items()} == expected[key], key
    found = defaultdict(dict)
    for row in rows_of(trace.time_profile(len(expected["time_profile_4"]))):
        found[row["bin_start_ns"], row["bin_end_ns"]][row["region"]] = row["exclusive_ns"]
    assert len(found) == len(expected["time_profile_4"])
    for wanted in expected["time_profile_4"]:
        of_bin = found[wanted["start"], wanted["end"]]
        assert {name: of_bin.get(name, 0) for name in wanted["by"]} == wanted["by"]
        assert set(of_bin) <= set(wanted["by"])
    for row, wanted in zip(rows_of(trace.time_profile(4, idle=True)), expected["time_profile_4"]):
        assert row["idle_ns"] == wanted["idle"]


def test_idle_and_imbalance(example):
    trace, expected = example
    for idle, key in [(trace.idle_time("Idle"), "idle"), (trace.idle_time(mpi_events=True), "idle_mpi")]:
        assert {str(row["rank"]): row["idle_ns"] for row in rows_of(idle)} == expected[key], key
    table = {row["region"]: row for row in rows_of(trace.load_imbalance())}
    assert set(table) == set(expected["load_imbalance_all"])
    for region, wanted in expected["load_imbalance_all"].items():
        row = table[region]
        assert (row["imbalance"], row["mean_ns"]) == (pytest.approx(wanted["imbalance"]), wanted["mean"]), region
        # Ranks that never call it are left out here.
        assert row["top_ranks"] == expected["load_imbalance_callers"][region]["top"], region


@pytest.mark.parametrize(("trim", "key"), [(False, "filter_overlap_10_20s"), (True, "filter_trim_10_20s")])
def test_a_window_of_time(example, trim, key):
    trace, expected = example
    part = trace.filter(time_ns=(10 * SECOND, 20 * SECOND), trim=trim)
    found = Counter((c["rank"], c["region"], c["enter_ns"], c["leave_ns"]) for c in rows_of(part.calls()))
    assert found == Counter((c["proc"], c["name"], c["enter"], c["leave"]) for c in expected[key])


def test_several_runs(example):
    trace, expected = example
    expected = expected["multirun"]
    one = trace.filter(ranks=[0])
    table = ouzel.multi_run_analysis([trace, one], names=["both", "one"])
    means = {(row["region"], row["run"]): row["mean_ns"] for row in rows_of(table)}
    for name, run in zip(["both", "one"], expected["rows"]):
        assert [means[region, name] for region in expected["columns"]] == run["values"]
    # The scaling table: both take as long, so the second process gains nothing.
    scaling = rows_of(table.runs)
    assert [(r["run"], r["processes"], r["reference"]) for r in scaling] == [("both", 2, "one"), ("one", 1, "one")]
    assert [r["run_time_ns"] for r in scaling] == [100 * SECOND, 100 * SECOND]
    assert [(r["speed_up"], r["efficiency"]) for r in scaling] == [(1.0, 0.5), (1.0, 1.0)]


def test_messages(messages):
    trace, expected = messages
    assert trace.comm_matrix("count").matrix == expected["comm_matrix_count"]
    assert trace.comm_matrix().matrix == expected["comm_matrix_size"]
    found = {str(row["rank"]): {"sent": row["bytes_sent"], "received": row["bytes_received"]}
             for row in rows_of(trace.comm_by_process())}
    assert found == expected["comm_by_process"]
    counts, edges = trace.message_histogram(5)
    assert [counts, edges] == expected["message_histogram_5"]
    counts, edges = trace.comm_over_time(bins=4)
    assert [counts, edges] == expected["comm_over_time_4"]


def write_operations(folder):
    """The operations of three processes as an archive, in nanoseconds; process 1 ends last, at 80."""
    import otf2
    from otf2.enums import CollectiveOp, GroupType, LocationType, Paradigm

    calls = {
        0: [("MPI_Send", 30, 32, ("send", 1, 31)), ("MPI_Barrier", 35, 61, ("barrier", 61))],
        1: [
            ("MPI_Recv", 10, 33, ("recv", 0, 33)),
            ("MPI_Send", 40, 41, ("send", 2, 40)),
            ("MPI_Barrier", 45, 61, ("barrier", 61)),
        ],
        2: [("MPI_Recv", 12, 42, ("recv", 1, 42)), ("MPI_Barrier", 60, 62, ("barrier", 62))],
    }
    ends = {0: 61, 1: 80, 2: 62}
    with otf2.writer.open(str(folder), timer_resolution=SECOND) as archive:
        define = archive.definitions
        names = ["main", "MPI_Send", "MPI_Recv", "MPI_Barrier"]
        regions = {name: define.region(name, paradigm=Paradigm.MPI if "_" in name else Paradigm.COMPILER)
                   for name in names}
        root = define.system_tree_node("machine")
        writers, locations = [], []
        for rank in calls:
            group = define.location_group(f"MPI rank {rank}", system_tree_parent=root)
            locations.append(define.location("main thread", group=group, type=LocationType.CPU_THREAD))
            writers.append(archive.event_writer_from_location(locations[-1]))
        mpi = {"paradigm": Paradigm.MPI}
        define.group("", group_type=GroupType.COMM_LOCATIONS, members=locations, **mpi)
        members = define.group("", group_type=GroupType.COMM_GROUP, members=range(len(calls)), **mpi)
        world = define.comm("MPI_COMM_WORLD", group=members)
        for rank, writer in enumerate(writers):
            writer.enter(0, regions["main"])
            for name, enter, leave, (what, *more) in calls[rank]:
                writer.enter(enter, regions[name])
                if what == "barrier":
                    writer.mpi_collective_begin(enter)
                    writer.mpi_collective_end(
                        more[0], CollectiveOp.BARRIER, communicator=world, root=0xFFFFFFFF, size_sent=0, size_received=0
                    )
                else:
                    peer, at = more
                    end = writer.mpi_send if what == "send" else writer.mpi_recv
                    end(at, peer, world, 0, 8)
                writer.leave(leave, regions[name])
            writer.leave(ends[rank], regions["main"])
    return ouzel.Trace.from_otf2(folder / "traces.otf2")


def test_critical_path_and_lateness(golden, tmp_path):
    pytest.importorskip("otf2", reason="OTF2's own library is not installed")
    trace = write_operations(tmp_path / "operations")
    expected = golden["expected"]
    found = [(row["kind"], row["rank"], row["from_rank"], row["start_ns"], row["end_ns"])
             for row in rows_of(trace.critical_path_analysis())]
    assert found == [(s["kind"], s["proc"], s.get("from"), s["start"], s["end"]) for s in expected["critical_path"]]
    found = [(row["step"], row["lateness_ns"], row["differential_ns"])
             for row in rows_of(trace.calculate_lateness(per="operation"))]
    # Operations of each process in order, as the file names them.
    names = ["s0", "c0", "r1", "s1", "c1", "r2", "c2"]
    assert found == [tuple(expected["lateness"][name][key] for key in ["step", "lateness", "differential"]) for name in names]


def test_breakdown(golden, tmp_path):
    # The intervals are not in the file; these have the totals that it expects.
    def kernel(name, stream, start, end):
        arguments = {"device": 0, "stream": stream, "correlation": start + 1}
        return {"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": stream, "ts": start, "dur": end - start,
                "args": arguments}

    events = [{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 0, "dur": 30, "args": {}}]
    events += [kernel("gemm", 7, 0, 10), kernel("gemm", 7, 15, 25)]
    events += [kernel("ncclDevKernel_AllReduce_Sum", 8, 8, 15), kernel("ncclDevKernel_SendRecv", 8, 20, 25)]
    file = tmp_path / "trace.json"
    file.write_text(json.dumps({"schemaVersion": 1, "deviceProperties": [], "traceEvents": events}))
    parts = Counter()
    for row in rows_of(ouzel.Trace.from_pytorch(file).comm_comp_breakdown()):
        parts.update({name: value for name, value in row.items() if name.endswith("_ns")})
    expected = golden["expected"]["breakdown"]
    wanted = {"computation_ns": "comp_only", "overlap_ns": "overlap", "communication_ns": "comm_only",
              "other_ns": "other", "span_ns": "total"}
    # Its times are in microseconds.
    assert {name: parts[name] for name in wanted} == {name: 1000 * expected[key] for name, key in wanted.items()}
