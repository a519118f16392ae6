"""Answers against OTF2's own reader, and against what the programs in testdata/sources do."""

import math

import ouzel
import pytest


@pytest.fixture(params=["pmpi-jacobi", "pmpi-masterio"])
def archive(request, testdata):
    pytest.importorskip("otf2", reason="OTF2's own reader is not installed")
    from reference import Sums

    path = testdata / request.param
    return ouzel.open(path), Sums(path / "traces.otf2")


def test_profiles_are_those_of_the_reference(archive):
    trace, sums = archive
    assert sums.ticks_per_second == 1_000_000_000
    flat = trace.flat_profile()
    assert dict(zip(flat["region"], flat["visits"])) == sums.visits
    assert dict(zip(flat["region"], flat["exclusive_ns"])) == sums.exclusive
    assert flat["exclusive_ns"] == sorted(flat["exclusive_ns"], reverse=True)
    n = len(trace.ranks)
    means = [(2 * total + n) // (2 * n) for total in flat["exclusive_ns"]]
    assert all(abs(a - b) <= 1 for a, b in zip(flat["exclusive_mean_all_ns"], means))
    per_rank = trace.flat_profile("time.exc", per_process=True)
    assert "inclusive_ns" not in per_rank.columns
    assert sum(per_rank["exclusive_ns"]) == sum(sums.exclusive.values())


def test_the_time_profile_adds_up_to_the_flat_profile(archive):
    trace, sums = archive
    binned = trace.time_profile(num_bins=9)
    totals = {}
    for region, ns in zip(binned["region"], binned["exclusive_ns"]):
        totals[region] = totals.get(region, 0) + ns
    assert totals == {region: ns for region, ns in sums.exclusive.items() if ns}
    bins = trace.time_profile(9, idle=True)
    assert len(bins) == 9
    assert sum(bins["busy_ns"]) == sum(sums.exclusive.values())
    parts = trace.time_profile(9, normalized=True)
    assert all(0 <= part <= 1 for part in parts["exclusive_ratio"])
    assert sum(parts["exclusive_ratio"]) > 0


def test_messages_are_those_of_the_reference(archive):
    trace, sums = archive
    matrix = trace.comm_matrix("count")
    assert matrix.ranks == trace.ranks
    assert sum(map(sum, matrix.matrix)) == sum(matrix["messages"]) == len(sums.sizes)
    assert sum(map(sum, trace.comm_matrix().matrix)) == sum(sums.sizes)
    by_process = trace.comm_by_process()
    assert by_process["bytes_sent"] == [sum(row) for row in trace.comm_matrix("size").matrix]
    assert sum(by_process["bytes_received"]) == sum(sums.sizes)
    counts, edges = trace.message_histogram(bins=5)
    expected = [0] * 5
    low, high = min(sums.sizes), max(sums.sizes)
    if low < high:
        for size in sums.sizes:
            expected[min(4, (size - low) * 5 // (high - low))] += 1
        assert (counts, edges[0], edges[-1]) == (expected, low, high)
    assert (sum(counts), len(edges)) == (len(sums.sizes), 6)
    for output, total in [("count", len(sums.sizes)), ("size", sum(sums.sizes))]:
        for message_type in ["send", "receive"]:
            counts, edges = trace.comm_over_time(output, message_type, bins=7)
            assert (sum(counts), len(counts), len(edges)) == (total, 7, 8)


def test_jacobi_talks_to_its_neighbours_in_a_grid_of_3_by_3(testdata):
    trace = ouzel.open(testdata / "pmpi-jacobi")
    count = trace.comm_matrix("count").matrix
    for a in range(9):
        for b in range(9):
            distance = abs(a // 3 - b // 3) + abs(a % 3 - b % 3)
            assert count[a][b] == (60 if distance == 1 else 0), (a, b)
    size = trace.comm_matrix().matrix
    assert all(size[a][b] == 1200 * count[a][b] for a in range(9) for b in range(9))
    assert trace.comm_matrix(collectives=True)["bytes"] != trace.comm_matrix()["bytes"]
    counts, edges = trace.message_histogram(log=True)
    assert (sum(counts), edges[-1]) == (1440, 2048)


def test_the_parts_of_time_are_the_whole(archive):
    trace, sums = archive
    parts = trace.comm_comp_breakdown()
    names = ["computation_ns", "overlap_ns", "communication_ns", "other_ns"]
    for row in range(len(parts)):
        assert sum(parts[name][row] for name in names) == parts["span_ns"][row]
    idle = trace.idle_time("MPI_Recv")
    assert sum(idle["idle_ns"]) == sums.exclusive["MPI_Recv"]
    waits = sum(sums.exclusive[name] for name in ["MPI_Recv", "MPI_Wait", "MPI_Waitall"])
    assert sum(trace.idle_time(mpi_events=True)["idle_ns"]) == waits
    assert sum(trace.idle_time("Idle")["idle_ns"]) == 0
    assert sum(trace.idle_time()["idle_ns"]) >= waits


def test_imbalance_is_most_over_mean(archive):
    trace, sums = archive
    per_rank = trace.profile(per="rank")
    most = {}
    for region, ns in zip(per_rank["region"], per_rank["exclusive_ns"]):
        most[region] = max(most.get(region, 0), ns)
    table = trace.load_imbalance()
    n = len(trace.ranks)
    for region, ratio in zip(table["region"], table["imbalance"]):
        assert math.isclose(ratio, most[region] * n / sums.exclusive[region])
    for region, first, tops in zip(table["region"], table["max_rank"], table["top_ranks"]):
        assert len(tops) <= 5 and (not tops or tops[0] == first), region
        rows = zip(per_rank["region"], per_rank["rank"], per_rank["exclusive_ns"])
        assert len(tops) == min(5, sum(name == region and ns > 0 for name, _, ns in rows))
    for tops, two in zip(table["top_ranks"], trace.load_imbalance(num_processes=2)["top_ranks"]):
        assert two == tops[:2]
    with pytest.raises(ValueError, match="no counter is called .NOPE"):
        trace.load_imbalance("NOPE")


def test_the_diagnosis_finds_what_was_planted(testdata):
    faulty = ouzel.open(testdata / "zoo" / "serialised_output" / "faulty")
    first = faulty.findings()[0]
    assert first["gain_ns"] > 0
    report = faulty.report()
    assert report["findings"][0] == first
    segments = faulty.segments()
    assert report["segments"] == [{key: s[key] for key in s if key != "iterations"} for s in segments]
    assert all(segment["iterations"] for segment in segments)
    assert {s["id"] for s in segments} < {s["id"] for s in faulty.segments(all=True)}
    assert report["projected_run_time_ns"] < report["run"]["span_ns"]


def test_collectives_on_threads_that_nothing_hides_are_found(shared):
    trace = ouzel.open(shared / "chrome-pytorch" / "hta-cpu_only")
    report = trace.report()
    first = report["findings"][0]
    assert first["kind"] == "exposed_communication" and first["call_path"][-1].startswith("gloo:")
    # What no computation hides is what `breakdown` shows as communication alone.
    table = trace.comm_comp_breakdown()
    assert first["gain_ns"] == report["run"]["span_ns"] - max(
        span - alone for span, alone in zip(table["span_ns"], table["communication_ns"])
    )
