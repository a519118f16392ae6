"""`ouzel print` shows every record that `otf2-print` shows, with the same values.

Compared are the events of each location in their order, field by field, after mapping
and clock correction. How the locations are interleaved is left to each program. The form
that `ouzel print` prints is described in docs/records.md.
"""

import json
import math
import subprocess
from collections import Counter, defaultdict

import otf2_print
import pytest
from canonical import canonical, from_json
from conftest import anchor_parameters, needs_otf2_print
from otf2_print import Reference

# otf2-print prints six significant digits of a number that is not whole.
RELATIVE_ERROR = {"FLOAT": 1e-5, "DOUBLE": 1e-5}
# Names that otf2-print makes up from several definitions; their ids are compared.
COMPOSED_NAMES = {"calling_context", "file", "CALLING_CONTEXT", "SOURCE_CODE_LOCATION", "IO_FILE"}


def their_records(anchor):
    return [canonical(record) for record in otf2_print.read(anchor)]


def our_records(ouzel, anchor):
    printed = ouzel("print", anchor, "--format", "json")
    # Only line feeds end a line; names may hold other characters that Python takes for line ends.
    return [canonical(from_json(json.loads(line))) for line in printed.split("\n") if line]


def differs(label, theirs, ours):
    if isinstance(theirs, list):
        return not isinstance(ours, list) or len(theirs) != len(ours) or any(
            differs(label, a, b) for a, b in zip(theirs, ours))
    if isinstance(theirs, tuple) and not isinstance(theirs, Reference):
        if not isinstance(ours, tuple) or isinstance(ours, Reference):
            return True
        their_of, their_type, their_value = theirs
        our_of, our_type, our_value = ours
        # Ours may leave out the metric member, which is not in the record but in the definitions.
        of_differs = our_of is not None and differs(label, their_of, our_of)
        if their_type != our_type or of_differs:
            return True
        if their_type in RELATIVE_ERROR:
            return not math.isclose(their_value, our_value, rel_tol=RELATIVE_ERROR[their_type])
        return differs(their_type, their_value, our_value)
    # An id alone is enough on our side; with a name, the name has to be the same.
    their_id, their_name = theirs if isinstance(theirs, Reference) else (theirs, None)
    our_id, our_name = ours if isinstance(ours, Reference) else (ours, None)
    names_differ = None not in (their_name, our_name) and their_name != our_name
    return their_id != our_id or (names_differ and label not in COMPOSED_NAMES)


def differences(theirs, ours):
    """One line for each field that is not the same, of the records of one location."""
    for i, (their_record, our_record) in enumerate(zip(theirs, ours)):
        for label in their_record.keys() | our_record.keys():
            missing = label not in their_record or label not in our_record
            if missing or differs(label, their_record[label], our_record[label]):
                yield f"record {i}, {label}: otf2-print {their_record}, ouzel {our_record}"


def compare(anchor, ouzel):
    theirs, ours = their_records(anchor), our_records(ouzel, anchor)
    count = lambda records: Counter((record["location"], record["record"]) for record in records)  # noqa: E731
    assert count(theirs) == count(ours)
    by_location = defaultdict(lambda: ([], []))
    for side, records in enumerate((theirs, ours)):
        for record in records:
            by_location[record["location"]][side].append(record)
    found = [line for location in sorted(by_location) for line in differences(*by_location[location])]
    assert not found, f"{len(found)} differences, the first:\n" + "\n".join(found[:5])
    return len(theirs)


@needs_otf2_print
@pytest.mark.parametrize("anchor", anchor_parameters())
def test_recorded_archive(anchor, ouzel):
    assert compare(anchor, ouzel) > 0


@needs_otf2_print
def test_every_event(every_event, ouzel):
    assert compare(every_event, ouzel) > 300


@needs_otf2_print
def test_crooked_nesting(crooked_nesting, ouzel):
    assert compare(crooked_nesting, ouzel) > 300


@needs_otf2_print
def test_our_own_archive(synthetic, ouzel):
    assert compare(synthetic, ouzel) >= 20_000


@needs_otf2_print
def test_the_reference_accepts_our_own_archive(synthetic):
    """Not one warning: -Werror makes each an error, and what is printed to stderr would be one."""
    ended = subprocess.run(["otf2-print", "-Werror", "-A", str(synthetic)], capture_output=True, timeout=120)
    assert (ended.returncode, ended.stderr) == (0, b"")


@needs_otf2_print
def test_a_difference_is_seen(every_event):
    """The comparison itself: one value changed in any field of any record is a difference."""
    theirs = their_records(every_event)
    assert not list(differences(theirs, theirs))
    assert [canonical(record) for record in theirs] == theirs

    def changed(value):
        if isinstance(value, Reference):
            return Reference(value.id + 1, value.name)
        if isinstance(value, tuple):
            return (value[0], value[1], changed(value[2]))
        if isinstance(value, list):
            return [changed(value[0]), *value[1:]] if value else ["X"]
        return f"{value}x" if isinstance(value, str) else 1 if value is None else value * 2 + 1

    for i, record in enumerate(theirs):
        for label in record:
            ours = theirs[:i] + [record | {label: changed(record[label])}] + theirs[i + 1:]
            assert len(list(differences(theirs, ours))) == 1, (record, label)
