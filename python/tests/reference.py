"""What OTF2's own reader sees, added up in the slow and obvious way."""

from collections import Counter, defaultdict

import otf2
from otf2.events import Enter, Leave, MpiIsend, MpiSend


class Sums:
    """Visits and exclusive ticks by region, and the size of every message sent."""

    def __init__(self, anchor):
        self.visits = Counter()
        self.exclusive = Counter()
        self.sizes = []
        stacks = defaultdict(list)
        with otf2.reader.open(str(anchor)) as trace:
            self.ticks_per_second = trace.timer_resolution
            for location, event in trace.events:
                if isinstance(event, Enter):
                    stacks[location].append([event.region.name, event.time, 0])
                    self.visits[event.region.name] += 1
                elif isinstance(event, Leave):
                    name, start, inside = stacks[location].pop()
                    took = event.time - start
                    self.exclusive[name] += took - inside
                    if stacks[location]:
                        stacks[location][-1][2] += took
                elif isinstance(event, (MpiSend, MpiIsend)):
                    self.sizes.append(event.msg_length)
