"""`ouzel kernels` and `ouzel idle --by cause` beside an independent count of the files."""

import json

import pytest
from conftest import SHARED
from count_kernels import count
from count_resources import count as count_resources
from count_steps import count as count_steps

TRACES = [
    "nsight/pipit-cloverleaf/perlmutter-cloverleaf-cuda.sqlite",
    "nsight/extrap-concurrent/concurrent.s1/profile1.sqlite",
    "chrome-pytorch/hta-critical_path/alexnet",
    "chrome-pytorch/hta-trace_diff/control",
    "chrome-pytorch/param-dlrm-8rank",
    "chrome-pytorch/tracelens-h100",
]


def files(path):
    return [path] if path.is_file() else sorted(path.glob("*.json.gz"))


def ask(ouzel, command, path, *more):
    return json.loads(ouzel(command, path, "--format", "json", *more))["data"]


@pytest.mark.parametrize("name", TRACES)
def test_kernels_are_those_of_the_files(ouzel, name):
    path = SHARED / "data" / name
    if not path.exists():
        pytest.skip("no shared data")
    answer, wanted = ask(ouzel, "kernels", path), count(files(path))
    by_name = {(row["kernel"], row["type"]): row for row in answer["rows"]}
    for row in wanted["rows"]:
        if row["kernel"] in ("MEMCPY", "MEMSET"):
            # The tables have codes in place of names: by type and direction below.
            continue
        found = by_name[(row["kernel"], row["type"])]
        for key in ("launches", "total_ns", "min_ns", "max_ns"):
            assert found[key] == row[key], (row["kernel"], key)
        for key in ("median_ns", "std_ns"):
            assert found[key] == pytest.approx(row[key], rel=1e-9), (row["kernel"], key)
    assert {row["type"]: row["total_ns"] for row in answer["types"]} == wanted["types"]
    copies = {row["direction"]: row for row in answer["copies"]}
    assert copies.keys() == wanted["copies"].keys()
    for direction, copy in wanted["copies"].items():
        assert {key: copies[direction][key] for key in copy} == copy, direction


@pytest.mark.parametrize("name", TRACES)
def test_causes_add_up(ouzel, name):
    path = SHARED / "data" / name
    if not path.exists():
        pytest.skip("no shared data")
    rows = ask(ouzel, "idle", path, "--by", "cause")["rows"]
    assert rows
    for row in rows:
        assert sum(row["causes"].values()) == row["idle_ns"] == row["span_ns"] - row["busy_ns"]
    path_answer = ask(ouzel, "critical-path", path)
    assert sum(bound["total_ns"] for bound in path_answer["bounds"]) == path_answer["length_ns"]


STEPS = ["chrome-pytorch/hta-trace_diff/control", "chrome-pytorch/hta-ns_resolution_trace", "chrome-pytorch/param-dlrm-8rank"]


@pytest.mark.parametrize("name", STEPS)
def test_steps_are_those_of_the_files(ouzel, name):
    path = SHARED / "data" / name
    if not path.exists():
        pytest.skip("no shared data")
    wanted, lengths = count_steps(files(path))
    answer = ask(ouzel, "kernels", path, "--per", "step")
    found = {}
    for row in answer["rows"]:
        # Kernels of one name that are computation and communication have two rows.
        of = found.setdefault(row["step"], {}).setdefault(row["kernel"], [0, 0])
        of[0] += row["launches"]
        of[1] += row["total_ns"]
    assert found == wanted
    assert {row["step"]: row["length_ns"] for row in answer["steps"]} == lengths
    for row in answer["steps"]:
        of_step = wanted.get(row["step"], {}).values()
        assert (row["launches"], row["device_ns"]) == (sum(n for n, _ in of_step), sum(ns for _, ns in of_step))
        assert sum(row["causes"].values()) == row["idle_ns"]
    step = max(lengths)
    alone = ask(ouzel, "kernels", path, "--step", str(step))
    assert {row["kernel"] for row in alone["rows"]} == set(wanted[step])
    assert sum(row["total_ns"] for row in alone["types"]) == sum(ns for _, ns in wanted[step].values())
    idle = ask(ouzel, "idle", path, "--by", "cause", "--step", str(step))["rows"]
    assert sum(row["idle_ns"] for row in idle) == alone["steps"][0]["idle_ns"]


@pytest.mark.parametrize("name", TRACES)
def test_launches_copies_and_memory_are_those_of_the_files(ouzel, name):
    path = SHARED / "data" / name
    if not path.exists():
        pytest.skip("no shared data")
    answer, wanted = ask(ouzel, "kernels", path), count_resources(files(path))
    n_checked = 0
    for row in answer["rows"]:
        shapes = wanted["shapes"].get(row["kernel"])
        if shapes is None or row["type"] == "memory":
            continue
        if sum(shapes.values()) != row["launches"]:
            # Kernels of one name that are of two types.
            continue
        assert row["n_shapes"] == len(shapes), row["kernel"]
        most = (tuple(row["grid"]), tuple(row["block"]), row["registers"], row["shared_bytes"])
        assert shapes[most] == max(shapes.values()), row["kernel"]
        if row["kernel"] in wanted["occupancy"]:
            assert row["occupancy"] == pytest.approx(wanted["occupancy"][row["kernel"]], abs=1e-3)
        else:
            assert row["occupancy"] is None
        n_checked += 1
    assert n_checked or not wanted["shapes"]
    assert sum(copy["n_pageable"] or 0 for copy in answer["copies"]) == wanted["n_pageable"]
    memory = {row["place"]: row for row in answer["memory"]}
    assert memory.keys() == wanted["memory"].keys()
    for place, of in wanted["memory"].items():
        row = memory[place]
        found = (row["n_allocations"], row["n_releases"], row["allocated_bytes"], row["peak_allocated_bytes"])
        assert found == (of["given"], of["taken"], of["bytes"], of["peak"])
        assert (row["peak_reserved_bytes"] or 0) == of["reserved"]
        operators = [row for row in answer["memory_operators"] if row["place"] == place]
        assert sum(row["allocated_bytes"] for row in operators) == of["bytes"]


@pytest.mark.parametrize("name", TRACES)
def test_bins_and_distributions_add_up(ouzel, name):
    path = SHARED / "data" / name
    if not path.exists():
        pytest.skip("no shared data")
    answer = ask(ouzel, "kernels", path, "--over-time", "17")
    launches = sum(row["launches"] for row in answer["rows"])
    assert sum(row["launches"] for row in answer["over_time"]) >= launches
    busy = {}
    for row in answer["over_time"]:
        key = (row["rank"], row["stream"])
        busy[key] = busy.get(key, 0) + row["busy_ns"]
    for row in ask(ouzel, "idle", path, "--by", "cause")["rows"]:
        # One number may stand for several streams of a rank: a stream of each context.
        assert row["busy_ns"] <= busy[(row["rank"], row["stream"])] + 17
    queues = {}
    for row in answer["over_time"]:
        key = (row["rank"], row["stream"])
        queues[key] = max(queues.get(key, 0), row["max_queue_length"])
    for row in answer["queues"]:
        assert row["max_queue_length"] <= queues[(row["rank"], row["stream"])]
    for delay in answer["launch_delays"]:
        ranges = [row for row in answer["launch_delay_ranges"] if row["rank"] == delay["rank"]]
        assert ranges[-1]["from_ns"] <= delay["max_delay_ns"] < ranges[-1]["to_ns"]
    for copy in answer["copies"]:
        sizes = [row for row in answer["copy_sizes"] if row["direction"] == copy["direction"]]
        assert sum(row["n"] for row in sizes) == copy["n"]
        assert sum(row["bytes"] for row in sizes) == copy["bytes"]
        bins = [row for row in answer["copies_over_time"] if row["direction"] == copy["direction"]]
        assert sum(row["bytes"] for row in bins) == copy["bytes"]
        assert all(row["of_best"] is None or row["of_best"] <= 1 + 1e-12 for row in bins)
        assert copy["overlapped_ns"] <= copy["total_ns"]
