"""The JSON of every command holds to its schema in `docs/schema/`."""

import json

import pytest
from conftest import ROOT, SHARED, anchor_parameters

jsonschema = pytest.importorskip("jsonschema", reason="the Python package jsonschema is not installed")
referencing = pytest.importorskip("referencing", reason="the Python package referencing is not installed")

SCHEMAS = sorted((ROOT / "docs" / "schema").glob("*.json"))

# Answers about profiles, binaries and several runs, and of what writes files, have tests of their own.
ELSEWHERE = {"causes", "compare", "convert", "correlate", "envelope", "profile-info", "profile-report", "severities", "structure", "topology"}
COMMANDS = [path.stem for path in SCHEMAS if path.stem not in ELSEWHERE]

# Where one call without options is not enough.
CALLS = {
    "report": [[], ["--ranks", "0-1"], ["--time", "1ms..2ms"], ["--region", "MPI_*"]],
    "segments": [[], ["--all"], ["--ranks", "0-1"], ["--time", "1ms..2ms"], ["--region", "MPI_*"]],
    "clusters": [[], ["--ranks", "0"], ["--time", "1ms..2ms"]],
    "iterations": [[], ["--ranks", "0-1"], ["--time", "1ms..2ms"]],
    "info": [[], ["--ranks", "0"], ["--time", "..1ms"]],
    "profile": [
        [],
        ["--call-paths"],
        ["--per", "rank"],
        ["--per", "location", "--call-paths"],
        ["--region", "MPI_*", "--time", "1ms..", "--ranks", "0-2"],
        ["--sort", "name"],
        ["--messages", "--per", "rank"],
    ],
    "time-profile": [["--bins", "7"], ["--call-paths", "--bins", "3"], ["--time", "1ms..2ms"]],
    "comm-matrix": [[], ["--dense"], ["--unit", "messages", "--collectives"], ["--time", "..1us"]],
    "messages": [[], ["--log"], ["--time", "..1us"]],
    "comm-by-process": [[], ["--unit", "messages", "--collectives"]],
    "comm-over-time": [[], ["--unit", "messages", "--bins", "3"]],
    "counters-over-time": [[], ["--bins", "3", "--time", "1ms..2ms"]],
    "breakdown": [[], ["--ranks", "0"], ["--host-code", "never"]],
    "imbalance": [[], ["--call-paths"]],
    "idle": [[], ["--per", "location"], ["--by", "cause"]],
    "kernels": [[], ["--by", "operator"], ["--over-time", "5"]],
    "critical-path": [[], ["--ranks", "0-1"]],
    "timeline": [[], ["--ranks", "0-1"]],
    "lateness": [[], ["--ranks", "0-1"], ["--operations"]],
    "efficiency": [[], ["--hybrid", "talp", "--per", "segment"], ["--per", "cluster"], ["--per", "iteration"]],
    "waits": [[], ["--per", "rank"]],
    "what-if": [[], ["--network", "ideal"]],
    "patterns": [["--time", "..1us"]],
    "calls": [[], ["--time", "1ms..2ms"]],
    "call-tree": [[], ["--ranks", "0-1"]],
}


def schema(command):
    return json.loads((ROOT / "docs" / "schema" / f"{command}.json").read_text())


def validator(command):
    """For the answers of a command; its schema refers to that of the envelope."""
    envelope = referencing.Resource.from_contents(schema("envelope"))
    registry = referencing.Registry().with_resource("envelope.json", envelope)
    return jsonschema.Draft202012Validator(schema(command), registry=registry)


def checked(command, text):
    answer = json.loads(text)
    validator(command).validate(answer)
    return answer


@pytest.mark.parametrize("path", SCHEMAS, ids=lambda path: path.stem)
def test_schema_is_one(path):
    jsonschema.Draft202012Validator.check_schema(json.loads(path.read_text()))


@pytest.mark.parametrize("anchor", anchor_parameters())
@pytest.mark.parametrize("command", COMMANDS)
def test_answers_hold_to_their_schema(ouzel, anchor, command):
    for options in CALLS.get(command, [[]]):
        answer = checked(command, ouzel(command, anchor, "--format", "json", *options))
        assert answer["input"]["path"] == str(anchor)


@pytest.mark.parametrize("anchor", anchor_parameters())
def test_convert_says_what_it_wrote(ouzel, anchor, tmp_path):
    for target in ("csv", "parquet"):
        out = tmp_path / target
        answer = checked("convert", ouzel("convert", anchor, out, "--to", target, "--format", "json"))
        assert {file["path"] for file in answer["data"]["files"]} == {str(path) for path in out.iterdir()}
        assert all(file["size_bytes"] == (out / file["path"]).stat().st_size for file in answer["data"]["files"])


def test_compare_holds_to_its_schema(ouzel):
    runs = [ROOT / "testdata" / name for name in ("pmpi-jacobi", "pmpi-masterio", "eztrace-jacobi")]
    answer = checked("compare", ouzel("compare", *runs, "--format", "json"))
    assert [run["path"] for run in answer["data"]["runs"]] == [str(run) for run in runs]
    kernels = checked("compare", ouzel("compare", *runs[:2], "--by", "kernel", "--format", "json"))
    assert kernels["data"]["after"]["path"] == str(runs[1])


def test_structure_holds_to_its_schema(ouzel):
    program = "/bin/sh"
    answer = checked("structure", ouzel("structure", program, "--no-cache", "--format", "json"))
    assert answer["input"]["path"] == program
    assert {row["kind"] for row in answer["data"]["rows"]} >= {"function", "loop", "call"}


def profiles():
    """Recorded profiles: each file of CUBE, and one database of HPCToolkit with a trace beside it."""
    data = SHARED / "data"
    found = sorted((data / "cube").rglob("*.cubex")) + sorted((data / "cube3-xml").rglob("*.cube"))
    found += [path for path in [data / "hpctoolkit" / "test-loops-cuda-nvidia-t.d"] if path.is_dir()]
    return [pytest.param(path, id=f"{path.parent.name}-{path.name}") for path in found]


@pytest.mark.parametrize("path", profiles())
def test_answers_about_profiles_hold_to_their_schema(ouzel, path, tmp_path):
    text = ouzel("info", path, "--format", "json")
    info = checked("profile-info" if json.loads(text)["schema"] == "ouzel/profile-info/1" else "info", text)["data"]
    metrics = info.get("profile", info)["metrics"]
    assert metrics
    text = ouzel("report", path, "--format", "json")
    checked("profile-report" if json.loads(text)["schema"] == "ouzel/profile-report/1" else "report", text)
    for metric in metrics[:3]:
        additive = metric["aggregation"] == "sum"
        for options in ([], ["--call-paths"], ["--scope", "inclusive"]) if additive else ([],):
            text = ouzel("profile", path, "--metric", metric["name"], "--format", "json", *options)
            assert checked("severities", text)["data"]["metric"] == metric["name"]
    if "profile" not in info:
        answer = checked("convert", ouzel("convert", path, tmp_path / "long.csv", "--to", "csv", "--format", "json"))
        lines = (tmp_path / "long.csv").read_text().count("\n")
        assert answer["data"]["files"][0]["n_rows"] == lines - 1


@pytest.mark.parametrize("path", profiles())
def test_correlations_hold_to_their_schema(ouzel, path):
    """By hand, so that every profile has a topology; one with a single thread has none at all."""
    info = json.loads(ouzel("info", path, "--format", "json"))["data"]
    n = info.get("profile", info)["n_locations"]
    if n < 2 or path.is_dir():
        pytest.skip("one location, or a default metric without values: nothing can vary")
    for options in ([], ["--scope", "inclusive", "--top", "3", "--weights", "physical", "--peak", "max"]):
        text = ouzel("correlate", path, "--no-cache", "--topology", f"2x{n}", "--format", "json", *options)
        assert checked("correlate", text)["data"]["topology"]["origin"] == "by_hand"


def test_correlations_of_traces_hold_to_their_schema(ouzel):
    for options in (["--topology", "2x8"], ["--topology", "4x4", "--axes", "1", "--all"]):
        text = ouzel("correlate", ROOT / "testdata" / "pmpi-jacobi", "--no-cache", "--format", "json", *options)
        assert checked("correlate", text)["data"]["n_views"] > 0
        text = ouzel("correlate", ROOT / "testdata" / "pmpi-jacobi", "--values", "--format", "json", *options)
        assert len(checked("topology", text)["data"]["values"]) == 16


def test_causes_hold_to_their_schema(ouzel):
    for options in ([], ["--exclude", "0"], ["--clustering", "dbscan", "--with-communication"]):
        trace = ROOT / "testdata" / "zoo" / "static_imbalance" / "faulty" / "traces.otf2"
        answer = checked("causes", ouzel("causes", trace, "--format", "json", *options))
        assert len(answer["data"]["external"]["clusters"]) == 2


def test_an_answer_with_another_key_is_refused(ouzel):
    answer = json.loads(ouzel("info", ROOT / "testdata" / "pmpi-jacobi", "--format", "json"))
    for place in (answer, answer["data"], answer["data"]["locations"][0], answer["coverage"]):
        place["surprise"] = 1
        with pytest.raises(jsonschema.ValidationError):
            validator("info").validate(answer)
        del place["surprise"]
    validator("info").validate(answer)


@pytest.mark.parametrize("anchor", anchor_parameters())
def test_parquet_and_csv_hold_the_same_events(ouzel, anchor, tmp_path):
    pytest.importorskip("pyarrow", reason="the Python package pyarrow is not installed")
    import csv

    import pyarrow.parquet as parquet

    ouzel("convert", anchor, tmp_path / "events.csv", "--to", "csv")
    ouzel("convert", anchor, tmp_path / "events.parquet", "--to", "parquet")
    columns = parquet.read_table(tmp_path / "events.parquet").to_pydict()
    with open(tmp_path / "events.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(columns) == list(rows[0])
    for name, values in columns.items():
        found = [row[name] for row in rows]
        if name == "metric_value":
            assert [float(text) if text else None for text in found] == values
        else:
            assert found == ["" if value is None else str(value) for value in values], name
    metadata = parquet.read_metadata(tmp_path / "events.parquet").metadata
    assert metadata[b"ouzel.column.time_ns.unit"] == b"ns"
