"""The table of events, functions of a user's own, filters as objects, pictures."""

import json
import math
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
    for arguments, message in [
        (("Name", "~", "x"), "Filter.'Name'.: operator '~' is unknown; use one of =="),
        (("Process", "==", "zero"), "Filter.'Process', '=='.: 'zero' is no number; give a whole number"),
        (("Process", "==", [1, 2]), "'Process'.*takes one value, not .1, 2.; for several, use in"),
        (("Process", "in", []), "'Process'.*empty; give at least one"),
        (("Process", "like", "0*"), "'Process'.*use ==, in or between"),
        (("Process", "==", -1), "'Process'.*negative; give a whole number"),
        (("time.inc", "between", 5), "'time.inc'.*two values, such as .low, high., not 5"),
        (("time.inc", ">", "3 parsecs"), "'time.inc'.*no time; give nanoseconds or a text"),
        ((None, "==", 3), "a field is a name"),
        (("Nam", "==", "MPI_Send"), "no number.*'Nam' is taken for a counter: fields are Name, Process"),
    ]:
        with pytest.raises(ValueError, match=message):
            ouzel.Filter(*arguments)
    assert str(ouzel.Filter("time.inc", ">", "1.5 ms")) == "inclusive > 1500000ns"
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
    assert sum(wide["idle_time"]) == sum(trace.time_profile(7, idle=True)["idle_ns"])


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


def samples(folders):
    """Every trace below some folders: the folders and files that open, and nothing below those."""
    found, todo = [], [path for folder in folders if folder.is_dir() for path in sorted(folder.iterdir())]
    while todo:
        path = todo.pop()
        if path.suffix in (".md", ".json", ".c", ".txt") and path.stat().st_size < 100_000 and path.is_file():
            continue
        try:
            found.append(ouzel.open(path))
        except (ouzel.OuzelError, OSError):
            todo += sorted(path.iterdir()) if path.is_dir() else []
    return found


@pytest.mark.filterwarnings("ignore::ouzel.DataLostWarning")
def test_every_sample_trace_is_a_data_frame(testdata):
    """Two regions of one name, metric classes, sampled locations, damage: whatever was recorded, frames take it."""
    pytest.importorskip("pandas")
    polars = pytest.importorskip("polars")
    pyarrow = pytest.importorskip("pyarrow")
    from conftest import SHARED

    traces = samples([testdata, testdata / "zoo", SHARED / "data"])
    assert 5 < len(traces)
    n_of_one_name = 0
    for trace in traces:
        n_of_one_name += len(set(trace.regions)) < len(trace.regions)
        columns = [*trace.events.columns, "Depth", "Partner", "Tag", "Bytes", "Value"]
        # Some have millions of events: the first locations say as much.
        few = trace.filter(ranks=trace.ranks[:2]) if trace.ranks else trace
        table = pyarrow.table(few.events[columns])
        assert table.validate(full=True) is None
        frame = few.events[columns].to_pandas()
        assert len(frame) == len(polars.DataFrame(few.events[columns])) == table.num_rows, trace
        assert frame["Name"].tolist() == table.column("Name").to_pylist(), trace
        for rows in [few.events.head(3), next(iter(few.events), None)]:
            if rows is not None:
                assert len(rows.to_pandas()) == len(rows.to_polars()) == rows.to_pyarrow().num_rows == len(rows), trace
        counts = few.map_locations(lambda location, events: len(events.to_pandas()) + 0 * len(events.to_polars()))
        assert sum(counts) == table.num_rows, trace
    assert 0 < n_of_one_name or not (SHARED / "data").is_dir()


def test_every_counter_of_a_metric_class_has_a_row(testdata, shared):
    """Three PAPI counters are read together at each enter and leave."""
    pyarrow = pytest.importorskip("pyarrow")
    trace = ouzel.open(shared / "otf2" / "scorep-pingpong-papi")
    rows = pyarrow.table(trace.events[["Name", "Value", "Timestamp (ns)"]]).to_pylist()
    named = [row["Name"] for row in rows if row["Value"] is not None]
    counted = {metric: named.count(metric) for metric in trace.metrics}
    assert 1 < len(counted) and len(set(counted.values())) == 1 and 0 < min(counted.values()), counted


def test_names_that_the_trace_does_not_have_are_told(trace):
    ways = [lambda t: t.filter(regions="nope*"), lambda t: t.filter("name = 'nope'"), lambda t: t.filter(ranks=[0, 77])]
    for select in ways:
        part = select(trace)
        for ask in [lambda t: t.profile(), lambda t: t.comm_matrix(), lambda t: t.calls(), lambda t: t.severity_cube()]:
            with pytest.warns(ouzel.SelectionWarning, match="nope|77"):
                answer = ask(part)
            assert [n["code"] for n in answer.notices].count("empty-selection") == 1
        for ask in [lambda t: t.report(), lambda t: t.clusters(), lambda t: t.events.head()]:
            with pytest.warns(ouzel.SelectionWarning, match="nope|77"):
                ask(part)
        events = part.events
        with pytest.warns(ouzel.SelectionWarning, match="nope|77"):
            for _ in events:
                pass
        assert [n["code"] for n in events.notices] == ["empty-selection"]
    with pytest.warns(ouzel.SelectionWarning, match="nope"):
        assert "nope" in trace.idle_time(["nope", "MPI_Recv"]).notices[-1]["message"]


def test_times_may_be_floats(trace):
    """A border between two nanoseconds is the next one: events are at whole ones."""
    edges = trace.comm_over_time(bins=7).edges
    assert isinstance(edges[1], float)
    for start, end, exact in [
        (edges[2], edges[3], (math.ceil(edges[2]), math.ceil(edges[3]))),
        (1_000_000.5, 500_000_000.25, (1_000_001, 500_000_001)),
        (-0.5, math.inf, (0, None)),
        (None, 7e8, (None, 700_000_000)),
    ]:
        found, expected = trace.filter(time_ns=(start, end)), trace.filter(time_ns=exact)
        assert found.calls().to_dict() == expected.calls().to_dict(), (start, end)
    for wrong in [(math.nan, 1), (-1.5, 1), (-1, 1)]:
        with pytest.raises(ValueError, match="time_ns"):
            trace.filter(time_ns=wrong)
    with pytest.raises(TypeError, match="time_ns"):
        trace.filter(time_ns=("1s", None))
    for operator, whole in [("<", "< 1001ns"), ("<=", "<= 1000ns"), (">", "> 1000ns"), (">=", ">= 1001ns")]:
        assert str(ouzel.Filter("time.inc", operator, 1000.5)) == f"inclusive {whole}"
    assert str(ouzel.Filter("Timestamp (ns)", "between", [1.5, 3.5])) == "time between 2ns and 4ns"
    with pytest.raises(ValueError, match="whole"):
        ouzel.Filter("time.inc", "==", 1000.5)
