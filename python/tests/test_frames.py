"""Manners of data frames: rows, columns, order, masks, pickling, pictures."""

import pickle
import re

import ouzel
import pytest


@pytest.fixture
def trace(testdata):
    return ouzel.open(testdata / "pmpi-jacobi")


def test_parts_of_a_table_are_tables_with_its_notices(trace):
    table = trace.flat_profile()
    assert table.head(3)["region"] == table["region"][:3] and len(table.tail(2)) == 2
    assert table[2:5]["visits"] == table["visits"][2:5] and table[::-1]["region"] == table["region"][::-1]
    some = table[["visits", "region"]]
    assert some.columns == ["visits", "region"] and some.units["visits"] == "#"
    assert (some.notices, some.coverage) == (table.notices, table.coverage)
    with pytest.raises(KeyError, match="there are region"):
        table[["nothing"]]


def test_rows_are_chosen_by_masks_of_any_kind(trace):
    table = trace.flat_profile()
    long = table[table["exclusive_ns"] > 10**9]
    assert 0 < len(long) < len(table) and min(long["exclusive_ns"]) > 10**9
    mpi = table["region"].isin(["MPI_Send", "MPI_Recv"])
    assert set(table[mpi & (table["visits"] > 0)]["region"]) == {"MPI_Send", "MPI_Recv"}
    assert len(table[mpi]) + len(table[~mpi]) == len(table[mpi | ~mpi]) == len(table)
    assert table[table["file"] == "x"]["region"] == [] and len(table[table["file"] != "x"]) == len(table)
    assert (table["visits"] == list(table["visits"])) is True, "compared with a list it is a list"
    numpy, pandas = pytest.importorskip("numpy"), pytest.importorskip("pandas")
    for mask in (numpy.array(table["exclusive_ns"]) > 10**9, table.to_pandas()["exclusive_ns"] > 10**9):
        assert table[mask].to_dict() == long.to_dict()
    assert isinstance(table.to_pandas(), pandas.DataFrame)
    polars = pytest.importorskip("polars")
    assert table[table.to_polars()["exclusive_ns"] > 10**9].to_dict() == long.to_dict()
    assert isinstance(table.to_polars(), polars.DataFrame)
    with pytest.raises(IndexError, match="rows"):
        table[[True]]
    with pytest.raises(TypeError, match="indexed by"):
        table[3]


def test_rows_are_sorted_and_iterated(trace):
    table = trace.flat_profile()
    by_visits = table.sort_values(["visits", "region"], ascending=[False, True])
    rows = list(by_visits)
    assert rows == sorted(table, key=lambda row: (-row["visits"], row["region"]))
    assert rows[0]["region"] == by_visits["region"][0] and set(rows[0]) == set(table.columns)
    with pytest.raises(ValueError, match="2 columns"):
        table.sort_values(["visits", "region"], [True])
    with pytest.raises(KeyError):
        table.sort_values("nothing")
    counts, edges = trace.message_histogram(5)
    assert (len(counts), len(edges)) == (5, 6), "a histogram is still a pair"


def test_tables_and_events_are_plotted_by_the_library(trace):
    pytest.importorskip("pandas")
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    axes = trace.flat_profile().plot.barh(x="region", y="exclusive_ns")
    assert len(axes.patches) == len(trace.flat_profile())
    assert trace.events[["Timestamp (ns)"]].plot.line() is not None


def test_events_have_the_manners_of_a_frame(trace):
    pandas = pytest.importorskip("pandas")
    events = trace.filter(ranks=[0, 1]).events
    whole = events.to_pandas()
    assert len(events) == len(whole) and bool(events)
    assert events.tail(4).to_pandas().equals(whole.tail(4).reset_index(drop=True))
    some = events[events["Name"] == "MPI_Send"]
    assert isinstance(some, pandas.DataFrame) and set(some["Name"]) == {"MPI_Send"}
    late = events[events["Timestamp (ns)"] >= 10**9]
    assert len(late) + len(events[events["Timestamp (ns)"] < 10**9]) == len(whole)
    ordered = events.sort_values("Timestamp (ns)", ascending=False)
    assert ordered["Timestamp (ns)"].is_monotonic_decreasing
    first = next(iter(events.head(2)))
    assert first["Name"] == whole["Name"][0] and first["Process"] == 0
    assert events.head(3).to_dict()["Name"] == whole["Name"][:3].tolist()


def test_answers_are_pickled_and_stay_what_they_are(trace):
    tables = [
        trace.flat_profile(),
        trace.time_profile(5),
        trace.comm_matrix(),
        trace.message_histogram(),
        trace.waits(),
        trace.waits(delays=True),
        trace.delays(),
        trace.load_imbalance(),
        ouzel.multi_run_analysis([trace, trace], ["a", "b"]),
        trace.severity_cube().correlate(topology="3x3"),
    ]
    for table in tables:
        back = pickle.loads(pickle.dumps(table))
        assert type(back) is type(table) and back.to_dict() == table.to_dict(), table.name
        assert (back.units, back.docs, back.notices, back.coverage) == (
            table.units, table.docs, table.notices, table.coverage,
        )
        assert back._repr_svg_() == table._repr_svg_(), table.name
    assert pickle.loads(pickle.dumps(tables[2])).matrix == tables[2].matrix
    assert pickle.loads(pickle.dumps(tables[3])).edges == tables[3].edges
    assert pickle.loads(pickle.dumps(tables[6])).facts == tables[6].facts


def test_a_trace_is_pickled_with_its_selection(trace, testdata, tmp_path, monkeypatch):
    part = trace.filter("name like 'MPI_*'", ranks=[0, 2], time_ns=(0, 10**9), jobs=1, progress=lambda done, of: None)
    dumped = pickle.dumps(part)
    monkeypatch.chdir(tmp_path)
    back = pickle.loads(dumped)
    assert back.flat_profile().to_dict() == part.flat_profile().to_dict()
    assert [each["rank"] for each in back.locations] == [0, 2]
    events = pickle.loads(pickle.dumps(part.events[["Name"]]))
    assert events.columns == ["Name"] and len(events) == len(part.events)
    repaired = ouzel.open(testdata / "eztrace-pingpong", repair_clocks=True)
    assert pickle.loads(pickle.dumps(repaired)).calls().to_dict() == repaired.calls().to_dict()


def test_work_is_given_to_processes(trace):
    joblib = pytest.importorskip("joblib")
    parts = [trace.filter(ranks=rank) for rank in trace.ranks[:3]]
    asked = joblib.Parallel(n_jobs=2, timeout=120)(joblib.delayed(ouzel.Trace.flat_profile)(part) for part in parts)
    assert [table.to_dict() for table in asked] == [part.flat_profile().to_dict() for part in parts]


def test_a_trace_that_changed_is_not_unpickled(testdata, tmp_path):
    import shutil

    copied = shutil.copytree(testdata / "pmpi-jacobi", tmp_path / "run")
    dumped = pickle.dumps(ouzel.open(copied))
    shutil.rmtree(copied)
    shutil.copytree(testdata / "pmpi-masterio", copied)
    with pytest.raises(ouzel.OuzelError, match="not the trace that was pickled"):
        pickle.loads(dumped)


def test_a_notebook_shows_units_and_readable_numbers(trace):
    table = trace.flat_profile()
    html = table._repr_html_()
    assert "<small>[ns]</small>" in html and "<small>[#]</small>" in html
    exact = table["exclusive_ns"][0]
    shown = re.search(rf'title="{exact}">([^<]+)</td>', html)
    assert shown and shown[1].endswith(" s") and float(shown[1].split()[0]) == pytest.approx(exact / 1e9, rel=1e-3)
    assert f"{max(table['visits']):,}" in html


def test_column_names_do_not_depend_on_arguments(trace):
    assert trace.comm_by_process("size").columns == trace.comm_by_process("count").columns
    assert trace.time_profile(4).columns == trace.time_profile(4, normalized=True).columns
    assert trace.time_profile(4, idle=True).columns == trace.time_profile(4, normalized=True, idle=True).columns
    assert trace.time_profile(4, wide=True).columns == trace.time_profile(4, normalized=True, wide=True).columns


def test_regions_of_one_name_are_told_apart(shared):
    trace = ouzel.open(shared / "nsight" / "pipit-cloverleaf")
    assert len(set(trace.regions)) < len(trace.regions)
    flat = trace.flat_profile()
    assert len(set(flat["region_id"])) == len(flat)
    regions = trace.region_table()
    assert [regions["region"][i] for i in flat["region_id"]] == flat["region"]
    wide = trace.time_profile(3, wide=True)
    assert len(set(wide.columns)) == len(wide.columns)
    binned = trace.time_profile(3)
    assert set(binned["region_id"]) == {i for i, ns in zip(flat["region_id"], flat["exclusive_ns"]) if ns}
    events = trace.filter(time_ns=(0, 10**8)).events[["Event Type", "Name", "Region"]].head(2000)
    for row in events:
        if row["Event Type"] == "Enter":
            assert regions["region"][row["Region"]] == row["Name"]


def test_pictures_take_titles_sizes_labels_and_colours(trace, tmp_path):
    table = trace.time_profile(10)
    usual = table.picture().svg
    assert usual == table._repr_svg_()
    styled = table.picture(
        title="My run", subtitle="on two nodes", width=700, height=400, x_label="when", y_label="how many",
        palette=["#123456", "#abcdef"],
    )
    for text in ("My run", "on two nodes", "when", "how many", 'width="700"', 'height="400"', "#123456", "#abcdef"):
        assert text.lower() in styled.svg.lower(), text
    named = table.picture(palette={"MPI_Allreduce": "#00ff00"}).svg.lower()
    assert "#00ff00" in named and "#00ff00" not in usual.lower()
    assert trace.comm_matrix().picture(palette="viridis").svg != trace.comm_matrix().picture().svg
    styled.save(tmp_path / "p.svg")
    assert (tmp_path / "p.svg").read_text() == styled.svg == styled._repr_svg_()
    assert styled.png.startswith(b"\x89PNG")
    for wrong in ({"width": 5}, {"palette": "rainbow"}, {"palette": ["red"]}):
        with pytest.raises(ValueError):
            table.picture(**wrong)
    with pytest.raises(ouzel.OuzelError, match="no picture"):
        trace.profile().picture()
    pytest.importorskip("matplotlib")
    figure = styled.to_matplotlib()
    assert tuple(figure.get_size_inches()) == (7.0, 4.0)
    figure.savefig(tmp_path / "p.png")


def test_pictures_show_no_path_and_say_what_they_are(trace, testdata):
    for table in (trace.time_profile(5), trace.timeline(), trace.comm_matrix(), trace.waits(delays=True)):
        assert str(testdata) not in table.picture().svg and "pmpi-jacobi" in table.picture().svg
    part = ouzel.open(testdata / "pmpi-jacobi" / "traces.otf2", ranks=[1])
    assert "pmpi-jacobi/traces.otf2 · ranks 1" in part.time_profile(5).picture().svg
    assert "logarithmic" in trace.comm_matrix(log=True).picture().svg
    assert "logarithmic" not in trace.comm_matrix().picture().svg


def test_records_without_a_kind_keep_their_names(shared):
    trace = ouzel.open(shared / "otf2" / "scorep-pingpong")
    names = [row["Name"] for row in trace.events.head(10_000)]
    assert names.count("ProgramBegin") == names.count("ProgramEnd") == 2 and "Other" not in names


def test_waits_have_what_the_command_line_has(trace):
    plain, causes = trace.waits(), trace.waits(delays=True)
    assert plain.facts["delays"] is None and plain.facts["chains"] == []
    assert sum(row["wait_ns"] for row in plain.facts["rows"]) == sum(plain["wait_ns"])
    parts = {"direct_late_sender", "indirect_late_sender"} & set(causes["class"])
    assert parts and not parts & set(plain["class"])
    delays = trace.delays()
    facts = delays.facts
    assert sum(row["short_term_ns"] + row["long_term_ns"] for row in facts["delays"]) == sum(
        delays["short_term_ns"]
    ) + sum(delays["long_term_ns"])
    assert facts["chains"] and facts["critical_path"] and facts["exact_share"] == 1.0
    costs = sum(delays["short_term_ns"]) + sum(delays["long_term_ns"])
    unexplained = sum(row["wait_ns"] for row in facts["unexplained"])
    assert costs + unexplained == facts["total_wait_ns"]
    assert delays._repr_svg_() and "critical_path" in facts
    only = trace.waits(classes=["late_sender"])
    assert set(only["class"]) == {"late_sender"}
    with pytest.raises(ValueError, match="delays=True"):
        trace.waits(classes=["direct_late_sender"])
    assert set(trace.waits(classes=["direct_late_sender"], delays=True)["class"]) == {"direct_late_sender"}
