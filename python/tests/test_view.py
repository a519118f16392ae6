"""`Trace.view`: a server for the browser, with what is selected."""

import json
import urllib.error
import urllib.request

import ouzel
import pytest


def got(view: ouzel.View, path: str) -> dict:
    with urllib.request.urlopen(view.url + path, timeout=60) as answer:
        return json.load(answer)


def test_the_run_is_served_until_it_is_closed(testdata):
    trace = ouzel.open(testdata / "pmpi-masterio")
    with trace.view([testdata / "pmpi-jacobi"]) as view:
        assert view.url.startswith("http://127.0.0.1:")
        meta = got(view, "api/meta")
        assert meta["n_locations"] == sum(n for _, n in meta["locations"]["name"]) == len(trace.ranks)
        assert len(meta["runs"]) == 2
        assert view.url in repr(view) and view.url in view._repr_html_() and "ssh " in view.remote
    assert "closed" in repr(view)
    with pytest.raises(urllib.error.URLError):
        got(view, "api/meta")


def test_what_is_selected_is_what_the_page_asks_about(testdata):
    trace = ouzel.open(testdata / "pmpi-masterio").filter("name = MPI_Allreduce", ranks="1-2", time_ns=(0, None))
    with trace.view() as view:
        question = urllib.request.Request(
            view.url + "api/ask",
            json.dumps({"question": "profile", "options": {"per": "rank"}}).encode(),
            {"Content-Type": "application/json", "Origin": view.url.split("/", 3)[0] + "//" + view.url.split("/")[2]},
        )
        with urllib.request.urlopen(question, timeout=60) as answer:
            rows = json.load(answer)["data"]["rows"]
    expected = trace.profile(per="rank")
    assert {row["rank"] for row in rows} == {1, 2}
    assert [row["exclusive_ns"] for row in rows] == list(expected["exclusive_ns"])


def test_what_cannot_be_served_is_an_error(testdata):
    trace = ouzel.open(testdata / "pmpi-masterio")
    with pytest.raises(ouzel.OuzelError, match="write a time"):
        trace.view(idle="soon")
    with pytest.raises(ouzel.OuzelError, match="no-such-run"):
        trace.view(["no-such-run"])
