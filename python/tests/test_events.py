"""The table of events, functions of a user's own, filters as objects, pictures."""

import json
import subprocess
import sys

import ouzel
import pytest


@pytest.fixture
def trace(testdata):
    return ouzel.open(testdata / "pmpi-jacobi")


def test_events_are_read_when_they_are_asked_for(trace):
    events = trace.events
    assert events.columns == ["Timestamp (ns)", "Event Type", "Name", "Process", "Thread"]
    assert "not read yet" in repr(events)
    first = events.head(3)
    assert len(first) == 3 and first.columns == events.columns
    assert sum(len(rows) for rows in events) == sum(len(rows) for rows in events), "they can be read again"


def test_events_are_the_calls_of_the_profile(trace):
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.table(trace.events)
    names = table.column("Name").to_pylist()
    kinds = table.column("Event Type").to_pylist()
    entered = {}
    for name, kind in zip(names, kinds):
        if kind == "Enter":
            entered[name] = entered.get(name, 0) + 1
    flat = trace.flat_profile()
    assert entered == dict(zip(flat["region"], flat["visits"]))
    assert kinds.count("Enter") == kinds.count("Leave")
    sends = sum(kind == "Instant" and name in ("MpiSend", "MpiIsend") for name, kind in zip(names, kinds))
    assert sends == sum(trace.comm_matrix("count")["messages"]) > 0


def test_columns_of_messages_hold_their_sizes(trace):
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.table(trace.events[["Name", "Bytes", "Partner", "Depth"]])
    assert table.column_names == ["Name", "Bytes", "Partner", "Depth"]
    rows = table.to_pylist()
    sent = sum(row["Bytes"] for row in rows if row["Name"] in ("MpiSend", "MpiIsend"))
    assert sent == sum(trace.comm_matrix()["bytes"])
    assert all(row["Partner"] in trace.ranks for row in rows if row["Name"] == "MpiSend")
    with pytest.raises(KeyError, match="Timestamp"):
        trace.events["time"]


def test_rows_do_not_depend_on_threads_and_keep_the_selection(trace):
    pyarrow = pytest.importorskip("pyarrow")
    one, two = (pyarrow.table(trace.filter(jobs=jobs).events) for jobs in (1, 2))
    assert one.equals(two)
    of_rank = pyarrow.table(trace.filter(ranks=3).events)
    assert set(of_rank.column("Process").to_pylist()) == {3}
    only = pyarrow.table(trace.filter("name = 'MPI_Allreduce'").events)
    calls = {n for n, k in zip(only.column("Name").to_pylist(), only.column("Event Type").to_pylist()) if k == "Enter"}
    assert calls <= {"MPI_Allreduce", "[filtered]"} and "MPI_Allreduce" in calls


def test_data_frames_take_events(trace):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    frame = trace.filter(ranks=0).events.to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    assert (frame["Timestamp (ns)"].diff().dropna() >= 0).all()
    polars = pytest.importorskip("polars")
    assert len(polars.DataFrame(trace.filter(ranks=0).events.head(7))) == 7


def test_an_analysis_of_ones_own(trace):
    pyarrow = pytest.importorskip("pyarrow")

    def n_enters(location, events):
        kinds = pyarrow.table(events).column("Event Type").to_pylist()
        return location["rank"], kinds.count("Enter")

    counts = trace.map_locations(n_enters)
    assert [rank for rank, _ in counts] == trace.ranks
    total = trace.map_locations(
        lambda location, events: sum(pyarrow.record_batch(rows).num_rows for rows in events),
        reduce=lambda a, b: a + b,
        columns="Timestamp (ns)",
    )
    assert total == sum(len(rows) for rows in trace.events)
    assert [location["rank"] for location in trace.locations] == trace.ranks
    with pytest.raises(ZeroDivisionError):
        trace.map_locations(lambda location, events: 1 // 0)


def test_damage_is_told_when_events_are_read(testdata, tmp_path):
    import shutil

    pytest.importorskip("pyarrow")
    damaged = tmp_path / "damaged"
    shutil.copytree(testdata / "pmpi-jacobi", damaged)
    victim = sorted((damaged / "traces").glob("*.evt"))[0]
    victim.write_bytes(victim.read_bytes()[:-200])
    events = ouzel.open(damaged).events
    with pytest.warns(ouzel.DataLostWarning):
        events.to_pyarrow()
    assert events.notices[0]["level"] == "high"


def test_filters_are_pipits(trace):
    mpi = ouzel.Filter("Name", "like", "MPI_*")
    some = ouzel.Filter("Process", "in", [0, 1]) & ~mpi
    assert trace.filter(some).flat_profile("time.exc", per_process=True)["rank"]
    regions = set(trace.filter(some).flat_profile()["region"])
    assert not {region for region in regions if region.startswith("MPI_")}
    between = trace.filter(ouzel.Filter("time.inc", "between", [1000, 10**12]))
    assert sum(between.flat_profile()["visits"]) <= sum(trace.flat_profile()["visits"])
    total = sum(trace.flat_profile()["exclusive_ns"])
    assert sum(trace.filter(mpi).flat_profile()["exclusive_ns"]) == total, "a filter of calls changes no total"
    with pytest.raises(ValueError, match="operator"):
        ouzel.Filter("Name", "~", "x")
    with pytest.raises(ValueError, match="character"):
        trace.filter("name like")


def test_formats_are_checked(testdata):
    assert ouzel.Trace.from_otf2(testdata / "pmpi-jacobi").format == "OTF2"
    for name in ("hpctoolkit", "projections", "nsight", "pytorch", "chrome", "csv"):
        with pytest.raises(ouzel.OuzelError, match="OTF2"):
            getattr(ouzel.Trace, f"from_{name}")(testdata / "pmpi-jacobi")


def test_a_notebook_shows_a_table_and_a_picture(trace, tmp_path):
    for table in (
        trace.time_profile(10),
        trace.comm_matrix(log=True),
        trace.message_histogram(),
        trace.comm_by_process(),
        trace.comm_over_time(bins=10),
        trace.comm_comp_breakdown(),
        trace.load_imbalance(),
        trace.idle_time(),
        trace.critical_path_analysis(),
        trace.calculate_lateness(),
    ):
        svg = table._repr_svg_()
        assert svg.startswith("<svg") and "pmpi-jacobi" in svg, table.name
        html = table._repr_html_()
        assert "<table" in html and "<svg" in html, table.name
    assert trace.profile()._repr_svg_() is None
    trace.time_profile(10).save_picture(tmp_path / "picture.png")
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(ouzel.OuzelError, match="no picture"):
        trace.profile().save_picture(tmp_path / "none.svg")


def test_a_wide_time_profile_has_a_column_for_each_function(trace):
    wide, long = trace.time_profile(7, wide=True), trace.time_profile(7)
    assert len(wide) == 7
    for region in set(long["region"]):
        cells = [ns for name, ns in zip(long["region"], long["exclusive_ns"]) if name == region]
        assert sum(wide[region]) == sum(cells), region
    assert sum(wide["idle_ns"]) == sum(trace.time_profile(7, idle=True)["idle_ns"])


def test_opening_reads_no_events(testdata):
    """A trace of many events is open at once: what is read is what is asked for."""
    code = (
        "import ouzel, json, sys\n"
        f"trace = ouzel.open({str(testdata / 'pmpi-jacobi')!r})\n"
        "rows = trace.events.head(1)\n"
        "print(json.dumps([len(rows), 'pandas' in sys.modules, 'pyarrow' in sys.modules]))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert json.loads(done.stdout) == [1, False, False]


def test_calls_are_matched_and_add_up(trace):
    calls = trace.calls()
    flat = dict(zip(trace.flat_profile()["region"], trace.flat_profile()["exclusive_ns"]))
    sums = {}
    for region, ns in zip(calls["region"], calls["exclusive_ns"]):
        sums[region] = sums.get(region, 0) + ns
    assert {region: ns for region, ns in sums.items() if ns} == {region: ns for region, ns in flat.items() if ns}
    matched = trace.match_events()
    assert all(enter <= leave for enter, leave in zip(matched["enter_ns"], matched["leave_ns"]))
    tree = trace.match_caller_callee()
    place = {key: i for i, key in enumerate(zip(tree["location"], tree["call"]))}
    children = {}
    for location, parent in zip(tree["location"], tree["parent"]):
        if parent is not None:
            children[location, parent] = children.get((location, parent), 0) + 1
    assert all(tree["n_children"][place[key]] == n for key, n in children.items())
    assert trace.calc_inc_metrics()["inclusive_ns"] == calls["inclusive_ns"]
    assert "inclusive_ns" not in trace.calc_exc_metrics().columns
    cct = trace.create_cct()
    assert sum(cct["exclusive_ns"]) == sum(flat.values())
    with pytest.raises(ValueError, match="counter"):
        trace.calls(["PAPI_NOT_THERE"])


def test_clocks_are_repaired(testdata):
    crooked = testdata / "eztrace-pingpong"
    repaired = ouzel.open(crooked, repair_clocks=True)
    assert any("clock" in notice["message"] for notice in repaired.notices)
    assert sum(repaired.flat_profile()["visits"]) == sum(ouzel.open(crooked).flat_profile()["visits"])


def test_the_published_ping_pong_is_what_pipits_tests_say(shared):
    """120 events, 60 a rank, one thread each; 8 messages each way, 4,177,920 bytes; main and what it calls."""
    pyarrow = pytest.importorskip("pyarrow")
    trace = ouzel.Trace.from_otf2(shared / "otf2" / "scorep-pingpong")
    rows = pyarrow.table(trace.events[[*trace.events.columns, "Depth"]]).to_pylist()
    assert len(rows) == 120
    assert [sum(row["Process"] == rank for row in rows) for rank in (0, 1)] == [60, 60]
    assert {row["Thread"] for row in rows} == {0}
    assert {row["Event Type"] for row in rows} == {"Enter", "Instant", "Leave"}
    assert sum(row["Name"] == "MPI_Send" for row in rows) == 32
    calls = {"MPI_Send", "MPI_Recv", "MPI_Init", "MPI_Finalize", "MPI_Comm_rank", "MPI_Comm_size", "int main(int, char**)"}
    assert {row["Name"] for row in rows if row["Event Type"] == "Enter"} == calls
    assert {"MpiSend", "MpiRecv"} < {row["Name"] for row in rows if row["Event Type"] == "Instant"}
    assert trace.comm_matrix().matrix == [[0, 4177920], [4177920, 0]]
    assert trace.comm_matrix("count").matrix == [[0, 8], [8, 0]]
    assert {row["Depth"] for row in rows if row["Event Type"] == "Enter"} == {0, 1}
    assert set(trace.match_caller_callee()["depth"]) == {0, 1}
