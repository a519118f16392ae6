"""Profiles: severities, topologies, and what varies alike."""

import ouzel
import pytest

JACOBI = "pmpi-jacobi"


@pytest.fixture
def cube(testdata):
    return ouzel.open(testdata / JACOBI).severity_cube()


@pytest.fixture
def planted(tmp_path):
    """A profile of our own writer: 12 ranks as 4 x 3; ``wait`` is what ``work`` leaves of 20, ``twin`` is ``work`` of
    the rank one further along the first axis."""
    work = [3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8]
    rows = ["Name,Timestamp (ns),Event Type,Process"]
    for rank in range(12):
        time = 0
        twin = work[(rank - 3) % 12]
        for name, length in (("work", work[rank]), ("wait", 20 - work[rank]), ("twin", twin)):
            rows.append(f"{name},{time},Enter,{rank}")
            time += length * 1000
            rows.append(f"{name},{time},Leave,{rank}")
    path = tmp_path / "planted.csv"
    path.write_text("\n".join(rows) + "\n")
    return ouzel.open(path).severity_cube()


def test_a_trace_becomes_a_profile(testdata, cube):
    flat = ouzel.open(testdata / JACOBI).flat_profile()
    assert "time" in cube.metrics and "visits" in cube.metrics
    visits = cube.severities("visits", by="region")
    of_trace = dict(zip(flat["region"], flat["visits"]))
    of_cube = {name: total for name, total in zip(visits["region"], visits["total"]) if total}
    assert {name: of_trace[name] for name in of_cube} == of_cube
    assert len(cube.call_tree) >= len(of_cube)
    assert "Profile" in repr(cube)


def test_scopes_differ_by_callees(cube):
    exclusive = cube.severities("time", by="call_path")
    inclusive = cube.severities("time", scope="inclusive", by="call_path")
    by_path = {tuple(path): total for path, total in zip(inclusive["call_path"], inclusive["total"])}
    assert sum(exclusive["total"]) == pytest.approx(
        sum(total for path, total in by_path.items() if len(path) == 1)
    )


def test_what_varies_alike_comes_first(planted):
    found = planted.correlate("time", "work", topology="4x3", top=None, cache=False)
    rows = {path[-1]: (metric, r, shift) for metric, path, r, shift in
            zip(found["metric"], found["call_path"], found["r"], found["shift"]) if metric == "time"}
    assert rows["wait"][1] == pytest.approx(-1.0)
    assert rows["wait"][2] == [0, 0]
    assert rows["twin"][1] == pytest.approx(1.0)
    assert rows["twin"][2] == [1, 0]
    assert all(-1 <= low <= r <= high <= 1 for low, r, high in zip(found["r_min"], found["r"], found["r_max"]))
    facts = found.facts
    assert facts["reference"]["call_path"][-1] == "work"
    assert facts["topology"] == {"name": "by hand: 4x3", "origin": "by_hand", "n_places": 12, "n_located": 12, "coverage": 1.0}
    assert [axis["selected"] for axis in facts["axes"]] == [True, True]
    best = planted.correlate("time", "work", topology="4x3", top=2, cache=False)
    assert best["r"] == found["r"][:2]
    one = planted.correlate("time", "work", axes=["0"], topology="4x3", cache=False)
    assert 0 < one.facts["reference"]["kept"] < 1


def test_the_result_is_a_table_with_a_picture(planted, tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    found = planted.correlate("time", "work", topology="4x3", cache=False)
    assert isinstance(found, ouzel.Correlations) and isinstance(found, ouzel.Table)
    assert pyarrow.table(found).column_names == found.columns
    svg = found._repr_svg_()
    assert svg.startswith("<svg") and "chosen: " in svg and "1.  r = " in svg
    found.save_picture(tmp_path / "alike.png")
    assert (tmp_path / "alike.png").read_bytes().startswith(b"\x89PNG")


def test_topologies_are_listed(planted):
    (topology,) = planted.topologies
    assert topology["origin"] == "system_tree"
    assert [axis["size"] for axis in topology["axes"]] == [12]


def test_names_that_mean_nothing_are_told(planted, tmp_path):
    with pytest.raises(ValueError, match='no metric "tim"'):
        planted.correlate("tim", "work")
    with pytest.raises(ValueError, match="similar regions: work"):
        planted.correlate("time", "wrok")
    with pytest.raises(ValueError, match="no axis"):
        planted.correlate("time", "work", axes=["q"])
    with pytest.raises(ValueError, match="places"):
        planted.correlate("time", "work", topology="2x3")
    with pytest.raises(ValueError, match="top must be"):
        planted.correlate("time", "work", top=0)
    with pytest.raises(ValueError, match="palette"):
        planted.correlate("time", "work", palette="rainbow")
    with pytest.raises(FileNotFoundError):
        ouzel.open_profile(tmp_path / "nothing.cubex")


def test_recorded_profiles_open(shared):
    profile = ouzel.open_profile(shared / "cube" / "pycubexr-kripke.p8.d2.g32.r1" / "profile.cubex")
    total = profile.severities("visits", by="call_path")
    assert sum(total["total"]) > 0
    assert profile.call_path(str(total["call_path_id"][0]))["call_path"] == total["call_path"][0]


def test_columns_of_messages_are_those_of_each_row(testdata):
    trace = ouzel.open(testdata / "pmpi-jacobi")
    table = trace.profile(per="rank", messages=True)
    assert sum(table["bytes_sent"]) == sum(trace.comm_matrix()["bytes"])
    assert "bytes_sent" not in trace.profile(per="rank").columns
    with pytest.raises(ValueError, match="no counter"):
        trace.profile(metrics=["NOPE"])


def test_a_profile_has_a_report(testdata, tmp_path):
    trace = ouzel.open(testdata / "pmpi-masterio")
    trace.convert(tmp_path / "run.cubex", to="cube")
    profile = ouzel.open_profile(tmp_path / "run.cubex")
    report = profile.report()
    efficiency, of_trace = report["efficiency"], trace.report()["efficiency"]
    for name in ("parallel", "load_balance", "communication"):
        assert abs(efficiency[name] - of_trace[name]) < 0.005
    uneven = report["imbalances"][0]
    assert uneven["call_path"][-1] == "write_chunk"
    profile.save_report(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert "write_chunk" in page and report["headline"].split(";")[0] in page
