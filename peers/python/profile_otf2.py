"""A flat profile of an OTF2 archive, over the reference binding: slow, simple, to be believed.

usage: profile_otf2.py ANCHOR [--per location|rank] [--call-paths]

Prints one JSON object: ticks per second, rows with visits, inclusive and exclusive ticks,
and counts of what was not properly nested.

The rules for calls that do not nest:
 - a leave closes the nearest open call of its region, and with it every call above;
 - a leave without an open call of its region is dropped;
 - calls still open after a location's last event end there.
Inclusive time of a region counts its outermost calls only, so that a recursion does not
count twice. Visits and exclusive time count all calls.
"""

import argparse
import json
from collections import defaultdict
from dataclasses import dataclass, field

ENTER, LEAVE, OTHER = "enter", "leave", "other"


@dataclass
class Row:
    visits: int = 0
    inclusive: int = 0
    exclusive: int = 0


@dataclass
class Call:
    region: object
    path: tuple
    begin: int
    in_callees: int = 0


@dataclass
class Profile:
    # By (location, region, path from the root); the path is empty without call paths.
    rows: dict = field(default_factory=lambda: defaultdict(Row))
    truncated_calls: int = 0
    dropped_leaves: int = 0
    open_calls: int = 0


def profile(events, call_paths=False):
    """The profile of `(location, time, kind, region)`, each location's events in order."""
    result = Profile()
    stacks = defaultdict(list)
    last_times = {}
    for location, time, kind, region in events:
        last_times[location] = time
        stack = stacks[location]
        if kind == ENTER:
            path = stack[-1].path + (region,) if call_paths and stack else (region,) if call_paths else ()
            stack.append(Call(region, path, time))
        elif kind == LEAVE:
            if not any(call.region == region for call in stack):
                result.dropped_leaves += 1
                continue
            while stack[-1].region != region:
                close(result, location, stack, time)
                result.truncated_calls += 1
            close(result, location, stack, time)
    for location, stack in stacks.items():
        while stack:
            close(result, location, stack, last_times[location])
            result.open_calls += 1
    return result


def close(result, location, stack, time):
    call = stack.pop()
    duration = time - call.begin
    row = result.rows[location, call.region, call.path]
    row.visits += 1
    row.exclusive += duration - call.in_callees
    if call.path or not any(outer.region == call.region for outer in stack):
        row.inclusive += duration
    if stack:
        stack[-1].in_callees += duration


def merged(rows, key_of):
    """The sums of rows that have the same key."""
    sums = defaultdict(Row)
    for key, row in rows.items():
        into = sums[key_of(*key)]
        into.visits += row.visits
        into.inclusive += row.inclusive
        into.exclusive += row.exclusive
    return dict(sums)


def events_of(trace):
    """The events of an open archive, as `profile` wants them; regions by their ids."""
    from otf2.events import Enter, Leave

    for location, event in trace.events:
        kind = type(event)
        if kind is Enter:
            yield location._ref, event.time, ENTER, event.region._ref
        elif kind is Leave:
            yield location._ref, event.time, LEAVE, event.region._ref
        else:
            yield location._ref, event.time, OTHER, None


def ranks_of(definitions):
    """The MPI rank of each location: that of any location of its process. Others are absent."""
    import otf2

    rank_of_group = {}
    for group in definitions.groups:
        if group.group_type == otf2.GroupType.COMM_LOCATIONS and group.paradigm == otf2.Paradigm.MPI:
            for rank, location in enumerate(group.members):
                rank_of_group[location.group._ref] = rank
    return {
        location._ref: rank_of_group[location.group._ref]
        for location in definitions.locations
        if location.group._ref in rank_of_group
    }


def read(anchor, call_paths=False):
    """Profile, names of regions, ranks of locations and ticks per second of an archive."""
    import otf2

    with otf2.reader.open(anchor, batch_events=10000) as trace:
        names = {region._ref: region.name for region in trace.definitions.regions}
        ranks = ranks_of(trace.definitions)
        return profile(events_of(trace), call_paths), names, ranks, trace.timer_resolution


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("anchor")
    parser.add_argument("--per", choices=["location", "rank"])
    parser.add_argument("--call-paths", action="store_true")
    options = parser.parse_args()

    found, names, ranks, ticks_per_second = read(options.anchor, options.call_paths)

    def key(location, region, path):
        place = {"location": location, "rank": ranks.get(location)}.get(options.per)
        return place, names[region], tuple(names[region] for region in path)

    rows = []
    for (place, region, path), row in merged(found.rows, key).items():
        rows.append({"region": region, "visits": row.visits, "inclusive_ticks": row.inclusive,
                     "exclusive_ticks": row.exclusive}
                    | ({options.per: place} if options.per else {})
                    | ({"call_path": path} if options.call_paths else {}))
    rows.sort(key=lambda row: (-row["exclusive_ticks"], row["region"], str(row)))
    print(json.dumps({
        "ticks_per_second": ticks_per_second,
        "truncated_calls": found.truncated_calls,
        "dropped_leaves": found.dropped_leaves,
        "open_calls": found.open_calls,
        "rows": rows,
    }, indent=1))


if __name__ == "__main__":
    main()
