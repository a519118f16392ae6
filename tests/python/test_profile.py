"""`ouzel profile` equals the reference profile, on every archive that a reference tool reads.

The reference is `peers/python/profile_otf2.py`. Its events come from the Python binding;
for archives that the binding refuses, from the text of `otf2-print`. Reference times are
whole ticks, ours are nanoseconds, so they may be apart by less than one nanosecond.
"""

import json
import shutil

import otf2_print
import pytest
from conftest import ROOT, anchor_parameters
from profile_otf2 import ENTER, LEAVE, OTHER, merged, profile, read

KINDS = {"ENTER": ENTER, "LEAVE": LEAVE}


def events_of_text(records, names):
    """Events for `profile`; fills in the names of the regions that are seen."""
    for record in records:
        region = record.get("region")
        if record["record"] in KINDS:
            names[region.id] = region.name
        yield record["location"], record["time"], KINDS.get(record["record"], OTHER), region and region.id


def reference(anchor, call_paths=False):
    """Rows by (location, region id, path of ids), names by id, ranks by location, ticks per second."""
    pytest.importorskip("otf2", reason="the Python package otf2 is not installed")
    from _otf2 import Error
    from otf2.error import TraceReaderError

    try:
        found, names, ranks, ticks_per_second = read(str(anchor), call_paths)
    except (Error, TraceReaderError, KeyError) as refusal:
        if shutil.which("otf2-print") is None:
            pytest.skip(f"the binding refuses it ({refusal}), and otf2-print is not installed")
        print(f"{anchor.parent.name}: the Python binding refuses it ({refusal}); read through otf2-print")
        names, ranks = {}, {}
        found = profile(events_of_text(otf2_print.read(anchor), names), call_paths)
        ticks_per_second = otf2_print.ticks_per_second(anchor)
    return found.rows, names, ranks, ticks_per_second


def ours(ouzel, anchor, *options):
    said = json.loads(ouzel("profile", anchor, "--format", "json", *options))
    assert said["schema"].startswith("ouzel/profile/")
    return said["data"]["rows"]


def compare(expected, rows, key_of, ticks_per_second):
    """Rows of the same key are summed on our side as well: a name may stand for several regions."""
    found = {}
    for row in rows:
        sums = found.setdefault(key_of(row), [0, 0, 0])
        for i, column in enumerate(("visits", "inclusive_ns", "exclusive_ns")):
            sums[i] += row[column]
    found = {key: sums for key, sums in found.items() if sums[0]}
    assert found.keys() == expected.keys()
    n_rows = {}
    for row in rows:
        n_rows[key_of(row)] = n_rows.get(key_of(row), 0) + 1
    for key, row in expected.items():
        visits, inclusive_ns, exclusive_ns = found[key]
        assert visits == row.visits, key
        for ns, ticks in ((inclusive_ns, row.inclusive), (exclusive_ns, row.exclusive)):
            # |ns - ticks * 1e9 / ticks_per_second| < 1 for each summed row, in integers.
            assert abs(ns * ticks_per_second - ticks * 10**9) < n_rows[key] * ticks_per_second, key


@pytest.mark.parametrize("anchor", anchor_parameters())
def test_flat(anchor, ouzel):
    rows, names, _, ticks_per_second = reference(anchor)
    expected = merged(rows, lambda _, region, path: names[region])
    compare(expected, ours(ouzel, anchor), lambda row: row["region"], ticks_per_second)


@pytest.mark.parametrize("anchor", anchor_parameters())
def test_call_paths(anchor, ouzel):
    rows, names, _, ticks_per_second = reference(anchor, call_paths=True)
    expected = merged(rows, lambda _, region, path: tuple(names[region] for region in path))
    rows = ours(ouzel, anchor, "--call-paths")
    assert all(row["call_path"][-1] == row["region"] for row in rows)
    compare(expected, rows, lambda row: tuple(row["call_path"]), ticks_per_second)


@pytest.mark.parametrize("anchor", [ROOT / "testdata/pmpi-jacobi/traces.otf2", ROOT / "testdata/pmpi-masterio/traces.otf2"],
                         ids=lambda path: path.parent.name)
def test_per_rank(anchor, ouzel):
    rows, names, ranks, ticks_per_second = reference(anchor)
    expected = merged(rows, lambda location, region, _: (ranks[location], names[region]))
    compare(expected, ours(ouzel, anchor, "--per", "rank"), lambda row: (row["rank"], row["region"]), ticks_per_second)


def test_calls_that_do_not_nest(crooked_nesting, ouzel):
    for options in ([], ["--call-paths"]):
        rows, names, _, ticks_per_second = reference(crooked_nesting, bool(options))
        expected = merged(rows, lambda _, region, path: tuple(names[id] for id in path or (region,)))
        key_of = lambda row: tuple(row.get("call_path", [row["region"]]))  # noqa: E731
        compare(expected, ours(ouzel, crooked_nesting, *options), key_of, ticks_per_second)


def test_our_own_archive(synthetic, ouzel):
    rows, names, ranks, ticks_per_second = reference(synthetic)
    expected = merged(rows, lambda location, region, _: (ranks[location], names[region]))
    compare(expected, ours(ouzel, synthetic, "--per", "rank"), lambda row: (row["rank"], row["region"]), ticks_per_second)


def test_rows_are_sorted_by_exclusive_time(ouzel):
    rows = ours(ouzel, ROOT / "testdata/pmpi-jacobi/traces.otf2")
    exclusive = [row["exclusive_ns"] for row in rows]
    assert len(rows) > 5 and exclusive == sorted(exclusive, reverse=True)
