"""What is in a trace, as ``ouzel info`` says it."""

import ouzel


def test_a_trace_says_what_is_in_it(testdata):
    trace = ouzel.open(testdata / "pmpi-jacobi")
    info = trace.info()
    assert (info["n_ranks"], info["n_events"]) == (len(trace.ranks), sum(info["events"].values()))
    assert len(info["locations"]) == info["n_locations"] and all(l["complete"] for l in info["locations"])
    abilities = {ability["what"]: ability["available"] for ability in info["abilities"]}
    assert abilities["messages"] and not abilities["counters in call paths"]
    assert "profile" not in info


def test_it_follows_the_selection(testdata):
    trace = ouzel.open(testdata / "pmpi-jacobi")
    assert len(trace.filter(ranks=0).info()["locations"]) == 1


def test_a_profile_says_what_is_in_it(testdata):
    profile = ouzel.open(testdata / "pmpi-jacobi").severity_cube()
    info = profile.info()
    assert [metric["name"] for metric in info["metrics"]] == profile.metrics
    assert next(m for m in info["metrics"] if m["name"] == "visits")["total"] > 0


def test_it_is_shown_as_a_table(testdata):
    info = ouzel.open(testdata / "pmpi-jacobi").info()
    lines = repr(info).splitlines()
    assert any(line.split() == ["n_ranks", str(info["n_ranks"])] for line in lines)
    assert any(line.startswith("messages") and " yes: " in line for line in lines)
    assert info._repr_html_().count("<tr>") == len(lines)
