"""Who depends on whom, what repeats, and who is alike."""

import json
import subprocess
import sys
from pathlib import Path

import ouzel
import pytest

COMMAND = Path(sys.executable).parent / "ouzel"


@pytest.fixture
def jacobi(testdata):
    return ouzel.open(testdata / "pmpi-jacobi")


def test_the_critical_path_tiles_the_run(jacobi):
    path = jacobi.critical_path_analysis()
    assert path["start_ns"][1:] == path["end_ns"][:-1]
    assert set(path["kind"]) <= {"local", "message", "collective"}
    length = path["end_ns"][-1] - path["start_ns"][0]
    assert 0 < length <= jacobi.report()["run"]["span_ns"]
    for by in ["region", "call_path"]:
        rows = jacobi.critical_path_analysis(by=by)
        assert sum(rows["total_ns"]) == length
    with pytest.raises(ValueError, match="segment"):
        jacobi.critical_path_analysis(by="rank")


def test_somebody_is_on_time_at_each_step(jacobi):
    operations = jacobi.calculate_lateness(per="operation")
    earliest = {}
    for step, late in zip(operations["step"], operations["lateness_ns"]):
        earliest[step] = min(earliest.get(step, late), late)
    assert set(earliest.values()) == {0}
    ranks = jacobi.calculate_lateness()
    assert ranks["rank"] == jacobi.ranks
    for rank, most in zip(ranks["rank"], ranks["max_ns"]):
        assert most == max(ns for r, ns in zip(operations["rank"], operations["lateness_ns"]) if r == rank)


def test_patterns_are_found_with_and_without_a_start(jacobi):
    for found in [
        jacobi.pattern_detection(),
        jacobi.detect_pattern("iterate"),
        jacobi.detect_pattern("iterate", iterations=60, process=3),
    ]:
        assert 2 <= len(found) <= 60
        assert all(start < end for start, end in zip(found["start_ns"], found["end_ns"]))
    with pytest.raises(ValueError, match="no region"):
        jacobi.detect_pattern("nothing")
    with pytest.raises(ouzel.OuzelError):
        jacobi.detect_pattern("MPI_Init")


def test_iterations_are_ranges_of_time(jacobi):
    loops = jacobi.iterations()
    assert 60 in [loop["accepted"] for loop in loops]
    rows = jacobi.iterations(table=True)
    assert len(rows) == sum(len(loop["iterations"]) for loop in loops)
    part = jacobi.filter(time_ns=(rows["start_ns"][3], rows["end_ns"][3]))
    assert 0 < sum(part.profile()["visits"]) < sum(jacobi.profile()["visits"])


def rows_of(table):
    return [dict(zip(table.columns, row)) for row in zip(*(table[column] for column in table.columns))]


def test_efficiencies_multiply_and_say_what_is_missing(jacobi, testdata):
    table = jacobi.efficiency(per="segment", hybrid="additive")
    run = {row["metric"]: row for row in rows_of(table) if row["part"] is None}
    value = {metric: row["value"] for metric, row in run.items()}
    assert value["parallel"] == pytest.approx(value["load_balance"] * value["communication"])
    assert value["parallel"] == pytest.approx(value["process"] + value["thread"] - 1)
    assert run["load_balance"]["part_of"] == "parallel"
    assert value["communication"] == pytest.approx(value["serialisation"] * value["transfer"])
    missing = [row for row in rows_of(jacobi.filter(ranks="0-3").efficiency()) if row["value"] is None]
    assert {row["metric"] for row in missing} == {"serialisation", "transfer"}
    assert all("not of a selection" in row["reason"] for row in missing)
    assert "segment 1" in set(table["part"])
    runs = ouzel.efficiencies([jacobi, ouzel.open(testdata / "pmpi-masterio")], names=["a", "b"], scaling="strong")
    scaling = [row["value"] for row in rows_of(runs) if row["metric"] == "computation_scaling"]
    assert len(scaling) == 2 and scaling[1] == 1, "the run with fewer threads is the reference"
    for wrong in [lambda: jacobi.efficiency(hybrid="none"), lambda: ouzel.efficiencies([])]:
        with pytest.raises(ValueError):
            wrong()


def test_every_rank_is_in_one_cluster(jacobi):
    clusters = jacobi.clusters()
    assert sum(cluster["size"] for cluster in clusters) == 9
    assert all(cluster["representative_rank"] in jacobi.ranks for cluster in clusters)


def test_runs_stand_side_by_side(jacobi, testdata):
    other = ouzel.open(testdata / "pmpi-masterio")
    table = ouzel.multi_run_analysis([jacobi, other, other.filter(ranks="0-1")], names=["a", "b", "c"])
    flat = jacobi.flat_profile()
    alone = dict(zip(flat["region"], flat["exclusive_ns"]))
    rows = list(zip(table["run"], table["region"], table["exclusive_ns"]))
    assert {region: ns for run, region, ns in rows if run == "a" and ns is not None} == alone
    assert {n for run, n in zip(table["run"], table["processes"]) if run == "b"} == {8}
    assert ("b", "halo", None) in rows
    assert table.coverage["locations_selected"] == 9 + 8 + 2
    runs = table.runs.to_dict()
    assert (runs["run"], runs["processes"], set(runs["reference"])) == (["a", "b", "c"], [9, 8, 2], {"c"})
    times = runs["run_time_ns"]
    assert runs["speed_up"] == [times[2] / time for time in times]
    assert runs["efficiency"] == pytest.approx([times[2] / times[0] * 2 / 9, times[2] / times[1] * 2 / 8, 1])
    assert ouzel.multirun_analysis([jacobi])["run"][0] == str(jacobi.path)
    for wrong in [lambda: ouzel.multi_run_analysis([]), lambda: ouzel.multi_run_analysis([jacobi], ["a", "b"])]:
        with pytest.raises(ValueError):
            wrong()


def test_a_timeline_is_stretches_with_a_picture(jacobi, tmp_path):
    table = jacobi.timeline(messages=True, critical_path=True)
    assert len(table) == sum(table["end_ns"][i] > table["start_ns"][i] for i in range(len(table)))
    table.save_picture(tmp_path / "timeline.svg")
    assert "critical path" in (tmp_path / "timeline.svg").read_text()
    jacobi.timeline(depth=True).save_picture(tmp_path / "flames.svg")
    assert "depth of the call" in (tmp_path / "flames.svg").read_text()
    with pytest.raises(ValueError, match="depth"):
        jacobi.timeline(depth=True, messages=True)


def test_without_records_a_notice_says_that_waiting_is_unknown(tmp_path):
    calls = tmp_path / "calls.json"
    calls.write_text('{"traceEvents":[{"ph":"X","name":"f","pid":1,"tid":1,"ts":0,"dur":9}]}')
    waits = ouzel.open(calls).waits()
    assert len(waits) == 0
    assert any(notice["code"] == "not-available" for notice in waits.notices)


def test_what_if_replays_the_run(jacobi):
    unchanged = jacobi.what_if()
    assert unchanged["identity_error_ns"] == 0 == unchanged["gain_ns"]
    assert unchanged["ranking"] and unchanged["limits"]
    best = unchanged["ranking"][0]
    path = "/".join(best["call_path"])
    assert jacobi.what_if(remove=[path])["gain_ns"] == best["gain_removed_ns"]
    assert jacobi.what_if(faster=[f"{path}=2"])["gain_ns"] == best["gain_halved_ns"]
    assert jacobi.what_if(balance=[path])["gain_ns"] == best["gain_balanced_ns"]
    ideal = jacobi.what_if(network="ideal")
    assert ideal["projected_run_time_ns"] < unchanged["run_time_ns"]
    assert [change["kind"] for change in ideal["changes"]] == ["network"]
    with pytest.raises(ValueError, match="CODE=FACTOR"):
        jacobi.what_if(faster=["solve"])
    with pytest.raises(ouzel.OuzelError, match="no region"):
        jacobi.what_if(remove=["nothing"])


def test_changes_of_accelerators_are_projected_as_on_the_command_line(testdata):
    path = testdata / "nsight-made/small.sqlite"
    trace = ouzel.open(path)
    cases = [
        ({"no_launch_cost": True}, ["--no-launch-cost"]),
        ({"fused": True, "no_launch_cost": True}, ["--fused", "--no-launch-cost"]),
    ]
    names = trace.kernels()["kernel"]
    cases.append(({"faster": [f"{names[0]}=2"]}, ["--faster", f"{names[0]}=2"]))
    for arguments, options in cases:
        row = trace.critical_path_analysis(**arguments)
        assert len(row) == 1
        words = [COMMAND, "critical-path", path, *options, "--format", "json"]
        done = subprocess.run(words, capture_output=True, check=False, timeout=120)
        assert {name: row[name][0] for name in row.columns} == json.loads(done.stdout)["data"]["what_if"]
    with pytest.raises(ValueError, match="NAME=FACTOR"):
        trace.critical_path_analysis(faster=["a"])
    with pytest.raises(ValueError, match="leave it out"):
        trace.critical_path_analysis(by="bound", fused=True)
    with pytest.raises(ouzel.OuzelError, match="no_such"):
        trace.critical_path_analysis(faster=["no_such_kernel=2"])


def test_the_longest_gaps_are_parts_of_the_idle_time(shared):
    trace = ouzel.open(shared / "chrome-pytorch/hta-critical_path/alexnet")
    gaps, streams = trace.idle_time(by="gap"), trace.idle_time(by="cause")
    assert 0 < len(gaps) < 1000
    assert list(gaps["idle_ns"]) == sorted(gaps["idle_ns"], reverse=True)
    # There are fewer than are listed, so that they are all.
    assert sum(gaps["idle_ns"]) == sum(streams["idle_ns"])
    assert all(0 < share <= 1 for share in gaps["host_share"])
