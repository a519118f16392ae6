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
                    found[metric.name, cnode.id] = [float(getattr(v, "value", v)) for v in values.cnode_values(cnode)]
        return found


@pytest.mark.parametrize("path", profiles())
def test_what_we_write_is_what_was_there(ouzel, path, tmp_path):
    copy = tmp_path / "copy.cubex"
    ouzel("convert", path, copy, "--to", "cube", "--quiet")
    after = rows(copy)
    assert after
    if path.suffix == ".cubex":
        # Ids of call paths are those of the file only where they count in its order.
        total = lambda found: sorted(sum(row) for row in found.values() if any(row))
        assert total(after) == pytest.approx(total(rows(path)), rel=1e-12)
