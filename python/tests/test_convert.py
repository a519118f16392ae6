"""Traces and profiles in other formats, records as lines, and rules from a file: what the command line has, too."""

import io
import json

import ouzel
import pytest


@pytest.fixture
def trace(testdata):
    return ouzel.open(testdata / "pmpi-masterio")


def test_an_archive_of_a_part_gives_the_same_answers(trace, tmp_path):
    part = trace.filter(ranks="0-3")
    written = part.convert(tmp_path / "part", "otf2")
    assert [file["path"] for file in written] == [str(tmp_path / "part" / "traces.otf2")]
    assert written[0]["n_rows"] > 0 and written[0]["size_bytes"] > 0
    back = ouzel.open(tmp_path / "part").filter(ranks="0-3")
    assert back.profile().to_dict() == part.profile().to_dict()


@pytest.mark.parametrize("to", ["csv", "parquet"])
def test_tables_are_a_file_or_a_folder(trace, tmp_path, to):
    one = trace.convert(tmp_path / f"events.{to}", to)
    assert [file["path"] for file in one] == [str(tmp_path / f"events.{to}")]
    several = trace.convert(tmp_path / "all", to)
    names = [f"{table}.{to}" for table in ("events", "locations", "regions", "metrics")]
    assert [file["path"] for file in several] == [str(tmp_path / "all" / name) for name in names]
    assert several[0]["n_rows"] == one[0]["n_rows"]


def test_texts_that_look_like_formulas_are_guarded_unless_raw(tmp_path):
    events = {"traceEvents": [{"ph": "X", "name": "=1+1", "pid": 0, "tid": 0, "ts": 0, "dur": 5}]}
    (tmp_path / "trace.json").write_text(json.dumps(events))
    trace = ouzel.open(tmp_path / "trace.json")
    trace.convert(tmp_path / "guarded", "csv")
    trace.convert(tmp_path / "raw", "csv", csv_raw=True)
    assert "'=1+1" in (tmp_path / "guarded" / "regions.csv").read_text()
    raw = (tmp_path / "raw" / "regions.csv").read_text()
    assert "=1+1" in raw and "'=1+1" not in raw


def test_chrome_and_cube_are_files_that_are_read_back(trace, tmp_path):
    trace.convert(tmp_path / "run.json", "chrome")
    assert ouzel.open(tmp_path / "run.json").format == "Chrome trace"
    written = trace.convert(tmp_path / "run.cubex", "cube")
    profile = ouzel.open_profile(tmp_path / "run.cubex")
    assert profile.info()["n_call_paths"] == written[0]["n_rows"]
    rows = profile.convert(tmp_path / "values.csv", "csv")[0]["n_rows"]
    assert len((tmp_path / "values.csv").read_text().splitlines()) == rows + 1
    with pytest.raises(ValueError, match="holds no events"):
        profile.convert(tmp_path / "archive", "otf2")


def test_what_is_there_is_kept(trace, testdata, tmp_path):
    out = tmp_path / "run.json"
    out.write_text("precious")
    with pytest.raises(FileExistsError, match="force=True"):
        trace.convert(out, "chrome")
    assert out.read_text() == "precious"
    trace.convert(out, "chrome", force=True)
    assert out.read_text() != "precious"
    with pytest.raises(ValueError, match="part of the input"):
        trace.convert(testdata / "pmpi-masterio" / "traces.def", "chrome", force=True)
    with pytest.raises(ValueError, match="is a directory"):
        trace.convert(tmp_path, "chrome")
    with pytest.raises(ValueError, match="'?\"?xml"):
        trace.convert(tmp_path / "run.xml", "xml")


def test_records_are_lines(trace, testdata, capsys):
    out = io.StringIO()
    trace.filter(ranks=3).print_records(out, json=True)
    records = [json.loads(line) for line in out.getvalue().splitlines()]
    assert {record["location"] for record in records} == {3}
    assert {"Enter", "Leave"} <= {record["record"] for record in records}
    trace.print_records(records=["definitions", "markers"])
    assert "write_chunk" in capsys.readouterr().out
    with pytest.raises(ValueError, match="'?\"?all"):
        trace.print_records(out, ["all"])
    with pytest.raises(ValueError, match="as they are"):
        trace.filter("depth > 2").print_records(out)

    class Full:
        def write(self, text):
            raise OSError("no space left")

    with pytest.raises(OSError, match="no space left"):
        trace.print_records(Full())


def test_rules_of_a_file_say_what_waits(trace, tmp_path):
    rules = tmp_path / "rules.toml"
    rules.write_text("[[rule]]\nregion = 'write_chunk'\ncategory = 'wait'\n")
    titles = [finding["title"] for finding in trace.findings()]
    assert any("write_output is serialised" in title for title in titles)
    ruled = trace.findings(rules=rules)
    assert any("Waiting in write_chunk" in finding["title"] for finding in ruled)
    assert trace.report(rules=rules)["findings"] == ruled
    assert trace.load_imbalance(rules=rules).to_dict() != trace.load_imbalance().to_dict()
    trace.save_report(tmp_path / "report.html", rules=rules)
    rules.write_text("[[rule]]\nregion = '('\ncategory = 'wait'\n")
    with pytest.raises(ValueError, match="not a regular expression"):
        trace.segments(rules=rules)
    with pytest.raises(FileNotFoundError, match="no-such-rules"):
        trace.clusters(rules=tmp_path / "no-such-rules.toml")
