"""Profiles that we write, read by pycubexr."""

import pytest

from conftest import SHARED

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
