"""Differences of what accelerators run, beside an independent count of the files."""

import json

import pytest
from conftest import SHARED
from count_kernels import count
from count_steps import count as count_steps


def found(name):
    path = SHARED / "data" / name
    if not path.exists():
        pytest.skip("no shared data")
    return path


def ask(ouzel, command, *arguments):
    return json.loads(ouzel(command, *arguments, "--format", "json"))["data"]


def difference(before, after):
    """By kernel: how it changed, its number and time on both sides."""
    changes = {}
    for name in before.keys() | after.keys():
        (n, ns), (m, more) = before.get(name, (0, 0)), after.get(name, (0, 0))
        change = "added" if not n else "gone" if not m else "same" if (n, ns) == (m, more) else "changed"
        changes[name] = (change, n, m, ns, more)
    return changes


def summed(rows):
    """Kernels of one name that are of two types have two rows."""
    sums = {}
    for row in rows:
        of = sums.setdefault(row["name"], [0, 0, 0, 0])
        for i, key in enumerate(("before_launches", "after_launches", "before_ns", "after_ns")):
            of[i] += row[key]
    return {name: tuple(of) for name, of in sums.items()}


def checked(answer, wanted):
    assert summed(answer["rows"]) == {name: of[1:] for name, of in wanted.items()}
    for row in answer["rows"]:
        assert row["by_number_ns"] + row["by_length_ns"] == row["difference_ns"]
        assert row["difference_ns"] == row["after_ns"] - row["before_ns"]
        both = row["before_launches"] and row["after_launches"]
        same = (row["before_launches"], row["before_ns"]) == (row["after_launches"], row["after_ns"])
        expected = ("same" if same else "changed") if both else "added" if row["after_launches"] else "gone"
        assert row["change"] == expected
    sizes = [abs(row["difference_ns"]) for row in answer["rows"]]
    assert sizes == sorted(sizes, reverse=True)


def counted(path):
    files = sorted(path.glob("*.json.gz"))
    sums = {}
    for row in count(files)["rows"]:
        of = sums.setdefault(row["kernel"], [0, 0])
        of[0] += row["launches"]
        of[1] += row["total_ns"]
    return {name: tuple(of) for name, of in sums.items()}


def test_the_difference_of_two_runs_is_that_of_the_files(ouzel):
    control, test = found("chrome-pytorch/hta-trace_diff/control"), found("chrome-pytorch/hta-trace_diff/test")
    answer = ask(ouzel, "compare", control, test, "--by", "kernel")
    checked(answer, difference(counted(control), counted(test)))
    assert (answer["before"]["path"], answer["after"]["path"]) == (str(control), str(test))
    by_operator = ask(ouzel, "compare", control, test, "--by", "operator")
    for side in ("before", "after"):
        assert by_operator[side]["total_ns"] == answer[side]["total_ns"]


def test_the_difference_of_two_steps_and_ranks_is_that_of_the_files(ouzel):
    path = found("chrome-pytorch/hta-trace_diff/control")
    of_steps, lengths = count_steps(sorted(path.glob("*.json.gz")))
    first, last = min(lengths), max(lengths)
    steps = [{name: tuple(of) for name, of in of_steps.get(step, {}).items()} for step in (first, last)]
    checked(ask(ouzel, "compare", path, "--by", "kernel", "--step", f"{first},{last}"), difference(*steps))
    ranks = found("chrome-pytorch/param-dlrm-8rank")
    answer = ask(ouzel, "compare", ranks, "--by", "kernel", "--rank", "0,3")
    files = [next(iter(ranks.glob(f"worker{rank}_*.json.gz"))) for rank in (0, 3)]
    sides = [
        {row["kernel"]: (row["launches"], row["total_ns"]) for row in count([file])["rows"]} for file in files
    ]
    checked(answer, difference(*sides))
    assert (answer["before"]["rank"], answer["after"]["rank"]) == (0, 3)
