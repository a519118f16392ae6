"""The reference profile itself, on cases small enough to be counted by hand."""

from profile_otf2 import ENTER, LEAVE, OTHER, profile


def flat(text, call_paths=False):
    """Rows of location 0: `>a 1` enters region a at time 1, `<a 2` leaves it, `. 3` is another event."""
    events = []
    for word in text.split(","):
        what, time = word.split()
        kind = {">": ENTER, "<": LEAVE, ".": OTHER}[what[0]]
        events.append((0, int(time), kind, what[1:]))
    found = profile(events, call_paths)
    rows = {"/".join(path) if call_paths else region: (row.visits, row.inclusive, row.exclusive)
            for (_, region, path), row in found.rows.items()}
    return rows, (found.truncated_calls, found.dropped_leaves, found.open_calls)


def test_callees_are_not_exclusive():
    assert flat(">a 0,>b 2,<b 5,>b 6,<b 7,<a 10") == ({"a": (1, 10, 6), "b": (2, 4, 4)}, (0, 0, 0))


def test_recursion_counts_once():
    assert flat(">a 0,>b 1,>a 2,<a 4,<b 6,<a 10") == ({"a": (2, 10, 7), "b": (1, 5, 3)}, (0, 0, 0))


def test_recursion_on_call_paths():
    rows, _ = flat(">a 0,>b 1,>a 2,<a 4,<b 6,<a 10", call_paths=True)
    assert rows == {"a": (1, 10, 5), "a/b": (1, 5, 3), "a/b/a": (1, 2, 2)}


def test_a_leave_closes_what_is_above():
    assert flat(">a 0,>b 2,>c 3,<a 10") == ({"a": (1, 10, 2), "b": (1, 8, 1), "c": (1, 7, 7)}, (2, 0, 0))


def test_a_leave_closes_the_nearest_call_of_its_region():
    assert flat(">a 0,>a 2,>b 3,<a 5,<a 9") == ({"a": (2, 9, 7), "b": (1, 2, 2)}, (1, 0, 0))


def test_a_leave_without_a_call_is_dropped():
    assert flat(">a 0,<b 4,<a 10,<a 12") == ({"a": (1, 10, 10)}, (0, 2, 0))


def test_open_calls_end_with_the_last_event():
    assert flat(">a 0,>b 4,. 9") == ({"a": (1, 9, 4), "b": (1, 5, 5)}, (0, 0, 2))


def test_locations_do_not_mix():
    found = profile([(0, 0, ENTER, "a"), (1, 5, ENTER, "a"), (0, 10, LEAVE, "a"), (1, 6, LEAVE, "a")])
    assert [(key[0], row.inclusive) for key, row in sorted(found.rows.items())] == [(0, 10), (1, 1)]
