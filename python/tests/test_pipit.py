"""`ouzel.pipit`: Pipit's names, columns, indices and numbers, and the figures of its paper."""

import json

import pytest

np = pytest.importorskip("numpy")
pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")

import ouzel  # noqa: E402
import ouzel.pipit as pipit  # noqa: E402

TIME = "Timestamp (ns)"
MAIN = "int main(int, char**)"


@pytest.fixture
def ping_pong(shared):
    return pipit.Trace.from_otf2(str(shared / "otf2" / "scorep-pingpong"))


@pytest.fixture
def jacobi(testdata):
    return pipit.Trace.from_otf2(testdata / "pmpi-jacobi")


def test_events_are_the_frame_that_scripts_expect(ping_pong):
    events = ping_pong.events
    assert list(events.columns) == [TIME, "Event Type", "Name", "Thread", "Process", "Attributes"]
    assert len(events) == 120 and events[TIME].is_monotonic_increasing and list(events.index) == list(range(120))
    assert set(events["Event Type"]) == {"Enter", "Instant", "Leave"}
    assert len(events[events["Name"] == "MPI_Send"]) == 32
    sends = events[events["Name"] == "MpiSend"]["Attributes"]
    assert sum(each["msg_length"] for each in sends) == 2 * 4177920
    assert {each["receiver"] for each in sends} == {0, 1}


def test_calls_are_matched(ping_pong):
    ping_pong._match_caller_callee()
    events = ping_pong.events
    assert events["_parent"].notnull().sum() == 40 and events["_children"].notnull().sum() == 2
    enters = events[events["Event Type"] == "Enter"]
    assert (enters["_matching_event"] > enters.index).all()
    assert (enters["_matching_timestamp"] > enters[TIME]).all()
    leaves = events.loc[enters["_matching_event"].astype(int)]
    assert leaves["Name"].tolist() == enters["Name"].tolist()
    assert leaves["_matching_event"].tolist() == enters.index.tolist()
    assert set(enters["_depth"]) == {0, 1}


def test_metrics_of_calls_are_those_of_the_profile(jacobi):
    jacobi.calc_exc_metrics()
    events = jacobi.events
    sums = events[events["Event Type"] == "Enter"].groupby("Name", observed=True)[["time.exc", "time.inc"]].sum()
    table = ouzel.open(jacobi._source.path).flat_profile()
    for name, exclusive, inclusive in zip(table["region"], table["exclusive_ns"], table["inclusive_ns"]):
        assert sums.loc[name, "time.exc"] == pytest.approx(exclusive, abs=1000), name
        assert sums.loc[name, "time.inc"] == pytest.approx(inclusive, abs=1000), name
    assert jacobi.inc_metrics == ["time.inc", *[m for m in jacobi.inc_metrics if m != "time.inc"]]


def test_the_time_profile_is_what_vampir_shows(ping_pong):
    """The numbers of Pipit's own test, which are from Vampir's function summary."""
    profile = ping_pong.time_profile(num_bins=62)
    assert list(profile.columns[:3]) == ["bin_end", "bin_start", "idle_time"] and len(profile) == 62
    width = ping_pong.events[TIME].max() / 62
    assert np.isclose(profile["bin_end"] - profile["bin_start"], width).all()
    values = profile.drop(columns=["bin_start", "bin_end"])
    assert np.isclose(values.sum(axis=1), 2 * width).all()
    norm = ping_pong.time_profile(num_bins=62, normalized=True).drop(columns=["bin_start", "bin_end"])
    assert np.allclose(values / (2 * width), norm, atol=1e-9)
    expected = {0: {MAIN: 0.00299437, "MPI_Init": 0.93999815, "MPI_Send": 0.0}}
    expected[60] = {MAIN: 0.39464799, "MPI_Init": 0.14843661, "MPI_Send": 0.24594134, "MPI_Recv": 0.21017099}
    expected[61] = {MAIN: 0.43560727, "MPI_Send": 0.29640222, "MPI_Recv": 0.24300865, "MPI_Finalize": 0.01614835}
    for row, of in expected.items():
        for name, value in of.items():
            assert norm.loc[row][name] == pytest.approx(value, abs=1e-6), (row, name)
    assert np.isclose(norm.loc[1:59]["MPI_Init"], 1.0).all()


def test_communication_has_pipits_shapes(ping_pong):
    size, count = ping_pong.comm_matrix(), ping_pong.comm_matrix("count")
    assert size.shape == (2, 2) and size[0][1] == size[1][0] == 4177920 and size[0][0] == 0
    assert count.tolist() == [[0, 8], [8, 0]]
    hist, edges = ping_pong.comm_over_time(output="size", message_type="send", bins=5)
    assert len(edges) == 6 and all(hist[0:3] == 0) and hist[4] == 4177920 * 2
    hist, edges = ping_pong.comm_over_time(output="count", message_type="receive", bins=5)
    assert hist[4] == 16
    sizes = ping_pong.comm_by_process()
    assert list(sizes.columns) == ["Sent", "Received"] and sizes.index.name == "Process"
    assert sizes.loc[0]["Sent"] == sizes.loc[1]["Received"] == 4177920
    assert ping_pong.comm_by_process(output="count").loc[1]["Sent"] == 8
    counts, edges = ping_pong.message_histogram(bins=4)
    expected = np.histogram(ping_pong._sizes(["MpiSend"]), bins=4)
    assert counts.tolist() == expected[0].tolist() and np.allclose(edges, expected[1])
    assert ping_pong.message_histogram(bins=[0, 10**6, 10**7])[0].sum() == 16


def test_profiles_are_indexed_by_name(jacobi):
    flat = jacobi.flat_profile()
    assert flat.index.name == "Name" and list(flat.columns) == ["time.exc"]
    each = jacobi.flat_profile(["time.inc", "time.exc"], per_process=True)
    assert list(each.index.names) == ["Name", "Process"] and list(each.columns) == ["time.inc", "time.exc"]
    assert np.allclose(each["time.exc"].groupby(level=0).mean(), flat["time.exc"])
    by_process = jacobi.flat_profile(groupby_column="Process", per_process=True)
    assert by_process["time.exc"].sum() == pytest.approx(each["time.exc"].sum(), rel=1e-6)
    imbalance = jacobi.load_imbalance(num_processes=3)
    assert list(imbalance.columns) == ["time.exc.imbalance", "Top processes", "time.exc.mean"]
    assert imbalance["time.exc.mean"].is_monotonic_decreasing
    worst = each["time.exc"].loc["MPI_Send"]
    assert imbalance.loc["MPI_Send", "time.exc.imbalance"] == pytest.approx(worst.max() / worst.mean())
    assert imbalance.loc["MPI_Send", "Top processes"][0] == worst.idxmax()
    idle = jacobi.idle_time(["MPI_Recv"])
    assert list(idle.columns) == ["Process", "Idle Time"]
    assert idle["Idle Time"].sum() == each["time.inc"].loc["MPI_Recv"].sum()
    before = jacobi.idle_time()["Idle Time"].sum()
    assert jacobi.idle_time(mpi_events=True)["Idle Time"].sum() > before == jacobi.idle_time()["Idle Time"].sum()


def test_several_runs_are_one_wide_frame(jacobi, testdata):
    other = pipit.Trace.from_otf2(testdata / "pmpi-masterio")
    table = pipit.Trace.multirun_analysis([jacobi, other])
    assert table.index.name == "Number of Processes" and list(table.index) == [9, len(other._ouzel.ranks)]
    assert table.sum().is_monotonic_decreasing
    assert table["MPI_Allreduce"].iloc[0] == jacobi.flat_profile().loc["MPI_Allreduce", "time.exc"]


def test_a_trace_is_filtered_in_three_ways(jacobi):
    one = jacobi.filter("Process", "==", 3)
    two = jacobi.filter(pipit.Filter("Process", "==", 3))
    three = jacobi.filter(pipit.Filter(expr="Process == 3"))
    rows = jacobi.events[jacobi.events["Process"] == 3]
    for part in (one, two, three):
        assert part.events[TIME].tolist() == rows[TIME].tolist()
        assert set(part.flat_profile(per_process=True).index.get_level_values("Process")) == {3}
    assert three.flat_profile()["time.exc"].sum() == pytest.approx(one.flat_profile()["time.exc"].sum(), rel=1e-6)
    sends = jacobi.filter(pipit.Filter("Name", "in", ["MPI_Send", "MPI_Isend"]) & ~pipit.Filter("Process", "==", 0))
    assert set(sends.events["Name"]) == {"MPI_Send", "MPI_Isend"} and 0 not in set(sends.events["Process"])
    assert set(sends.flat_profile().index) == {"MPI_Send", "MPI_Isend"}
    early = jacobi.filter(TIME, "<", "1 s")
    assert early.events[TIME].max() < 1e9 and (early.events["Event Type"] == "Enter").sum() == (
        early.events["Event Type"] == "Leave"
    ).sum()
    with pytest.raises(ValueError, match="no column 'Speed'"):
        jacobi.filter("Speed", "==", 3)


def test_a_frame_that_a_script_made_is_a_trace(jacobi):
    events = jacobi.events[jacobi.events["Process"].isin([0, 1])].copy()
    made = pipit.Trace(None, events)
    expected = ouzel.open(jacobi._source.path, ranks=[0, 1])
    flat = expected.flat_profile(per_process=True)
    assert made.flat_profile("time.exc", per_process=True)["time.exc"].sum() == pytest.approx(
        sum(flat["exclusive_ns"]), rel=1e-6
    )
    assert made.comm_matrix()[0, 1] == jacobi.comm_matrix()[0, 1] > 0
    jacobi.events = events
    assert jacobi.comm_by_process().loc[0, "Sent"] == made.comm_by_process().loc[0, "Sent"] > 0


def test_definitions_are_a_table(jacobi, shared):
    table = jacobi.definitions
    assert list(table.columns) == ["Definition Type", "ID", "Attributes"]
    regions = table[table["Definition Type"] == "Region"]
    assert len(regions) == len(jacobi._source.regions)
    assert "ClockProperties" in set(table["Definition Type"])
    other = pipit.Trace.from_projections(shared / "projections" / "pingpong-pipit").definitions
    assert {"Location", "Region"} == set(other["Definition Type"])


def test_options_and_files(jacobi, tmp_path):
    assert pipit.get_option("log_level") == "INFO"
    pipit.set_option("plot.width", 640)
    assert 'width="640"' in jacobi.plot_time_profile(num_bins=5).svg
    pipit.reset_option("all")
    assert 'width="640"' not in jacobi.plot_time_profile(num_bins=5).svg
    for wrong in (lambda: pipit.get_option("color"), lambda: pipit.set_option("log_level", "LOUD")):
        with pytest.raises(ValueError):
            wrong()
    with pytest.raises(TypeError):
        pipit.set_option("plot.width", "wide")
    with pytest.raises(TypeError, match="unknown arguments"):
        jacobi.plot_comm_matrix(colour="red")
    jacobi.to_chrome(tmp_path / "trace.json")
    written = json.loads((tmp_path / "trace.json").read_text())
    assert written == json.loads(jacobi.to_chrome()) and written["traceEvents"]


@pytest.mark.filterwarnings("ignore")
def test_every_format_has_pipits_frame(shared):
    for make, path in [
        (pipit.Trace.from_projections, shared / "projections" / "pingpong-pipit"),
        (pipit.Trace.from_hpctoolkit, next(iter(sorted((shared / "hpctoolkit").iterdir())), None)),
        (pipit.Trace.from_csv, shared / "foo-bar.csv"),
    ]:
        if path is None:
            continue
        try:
            trace = make(path)
        except (ouzel.OuzelError, OSError):
            continue
        events = trace.events
        assert {TIME, "Event Type", "Name", "Process"} <= set(events.columns) and len(events)
        trace._match_events()
        enters = events[events["Event Type"] == "Enter"]
        assert enters["_matching_event"].notnull().all(), path
        assert len(trace.flat_profile())


def test_the_figures_of_the_paper_are_drawn(docs, monkeypatch):
    """The notebook runs from top to bottom, and each figure is there."""
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    notebook = nbformat.read(docs / "pipit-figures.ipynb", as_version=4)
    titles = [c["source"] for c in notebook.cells if c["cell_type"] == "markdown" and c["source"].startswith("## ")]
    assert len(titles) == 12
    client = nbclient.NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(docs.parent)}})
    client.execute()
    shown = [cell["outputs"] for cell in notebook.cells if cell["cell_type"] == "code"]
    assert all(outputs for outputs in shown)
    drawn = [o for outputs in shown for o in outputs if "image/svg+xml" in o.get("data", {})]
    assert len(drawn) == 10
