"""Writes an archive whose calls do not nest, with the reference library.

usage: write_crooked_nesting.py FOLDER

Three locations enter and leave four regions as a fixed random sequence says: recursions,
leaves without a call, leaves of a call that is not the innermost, calls left open. The
clock has 2.4 billion ticks a second, so that a tick is no whole number of nanoseconds.
"""

import random
import sys

import otf2

N_LOCATIONS = 3
N_EVENTS = 400


def main():
    chance = random.Random(20)
    with otf2.writer.open(sys.argv[1], timer_resolution=2_400_000_001) as trace:
        definitions = trace.definitions
        node = definitions.system_tree_node("node")
        group = definitions.location_group("process", system_tree_parent=node)
        regions = [definitions.region(name) for name in ("outer", "middle", "inner", "other")]
        for i in range(N_LOCATIONS):
            writer = trace.event_writer(f"thread {i}", group=group)
            time = 1_000_000
            for _ in range(N_EVENTS):
                time += chance.randrange(0, 100_000)
                event = writer.enter if chance.random() < 0.55 else writer.leave
                event(time, chance.choice(regions))


if __name__ == "__main__":
    main()
