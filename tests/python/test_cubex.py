"""Profiles that we write, read by pycubexr."""

import json

import pytest

from conftest import ROOT, SHARED

pycubexr = pytest.importorskip("pycubexr")


def profiles():
    folder = SHARED / "data"
    kinds = [folder / "cube" / "hatchet-scorep-cpi", folder / "cube" / "cubelib-example-summary", folder / "cube3-xml"]
    found = sorted(path for kind in kinds if kind.is_dir() for path in kind.rglob("*.cube*"))
    return [pytest.param(path, id=f"{path.parent.name}-{path.name}") for path in found]


def rows(path):
    """All rows by name of the metric and id of the call path."""
    with pycubexr.CubexParser(str(path)) as cubex:
        found = {}
        for metric in cubex.get_metrics():
            try:
                values = cubex.get_metric_values(metric=metric)
            except pycubexr.utils.exceptions.MissingMetricError:
                continue
            for cnode in cubex.all_cnodes():
                if cnode.id in values.cnode_indices:
                    # Values of extremes are in a class of pycubexr's own, which knows this call too.
                    found[metric.name, cnode.id] = list(values.cnode_values(cnode).astype(float))
        return found


@pytest.mark.parametrize("path", profiles())
def test_what_we_write_is_what_was_there(ouzel, path, tmp_path):
    copy = tmp_path / "copy.cubex"
    ouzel("convert", path, copy, "--to", "cube", "--quiet")
    after = rows(copy)
    assert after
    if path.suffix == ".cubex":
        # Ids of call paths are those of the file only where they count in its order.
        # The greatest and least numbers are marks for "never" in rows of extremes.
        real = lambda row: [value for value in row if abs(value) < 1e300]
        total = lambda found: sorted(sum(real(row)) for row in found.values() if any(real(row)))
        assert total(after) == pytest.approx(total(rows(path)), rel=1e-12)


SCALASCA = {
    "late_sender": "mpi_latesender",
    "wait_at_barrier": "mpi_barrier_wait",
    "wait_at_nxn": "mpi_wait_nxn",
    "wait_at_finalize": "mpi_finalize_wait",
    "late_sender_wrong_order_different_source": "mpi_lswo_different",
}


def test_waiting_has_the_names_of_scalasca(ouzel, tmp_path):
    trace, file = ROOT / "testdata" / "pmpi-jacobi", tmp_path / "trace.cubex"
    ouzel("convert", trace, file, "--to", "cube", "--quiet")
    seconds = {}
    with pycubexr.CubexParser(str(file)) as cubex:
        for name in ["waiting", *SCALASCA.values()]:
            values = cubex.get_metric_values(metric=cubex.get_metric_by_name(name))
            cnodes = [cnode for cnode in cubex.all_cnodes() if cnode.id in values.cnode_indices]
            seconds[name] = sum(sum(values.cnode_values(cnode).astype(float)) for cnode in cnodes)
    data = json.loads(ouzel("waits", trace, "--format", "json", "--quiet"))["data"]
    waits = {row["class"]: row["wait_ns"] for row in data["classes"]}
    for name, metric in SCALASCA.items():
        assert 1e9 * seconds[metric] == pytest.approx(waits[name], abs=1000), name
    # A metric includes its parts.
    assert 1e9 * seconds["waiting"] == pytest.approx(data["total_wait_ns"], abs=1000)
