"""What each step of a PyTorch trace launches, counted from the events of Kineto's JSON.

    count_steps.py trace.json[.gz]...        prints JSON: by step the launches and nanoseconds of each kernel

An operation is of the step in which its launch begins: on the launching thread if that has steps, else of the process.
"""

import gzip
import json
import sys
from decimal import Decimal

from count_kernels import ns

RUNTIME = ("cuda_runtime", "cuda_driver", "hip_runtime", "Runtime")
DEVICE = ("kernel", "Kernel", "gpu_memcpy", "gpu_memset", "Memcpy", "Memset")


def steps_of(slices):
    """(thread, number, begin, end) of each step of the host."""
    found = []
    for event in slices:
        if event.get("cat") == "user_annotation" and event["name"].startswith("ProfilerStep#"):
            begin = ns(event["ts"])
            found.append((event["tid"], int(event["name"].split("#")[1]), begin, begin + ns(event["dur"])))
    return found


def step_at(steps, thread, at):
    own = [step for step in steps if step[0] == thread]
    around = [(begin, number) for _, number, begin, end in own or steps if begin <= at < end]
    return max(around)[1] if around else None


def count(paths):
    """By step (None outside of any): {kernel: [launches, nanoseconds]}, and the lengths of steps."""
    rows, lengths = {}, {}
    for path in paths:
        opened = gzip.open if str(path).endswith(".gz") else open
        with opened(path, "rb") as file:
            trace = json.loads(file.read().decode(errors="replace"), parse_float=Decimal)
        slices = [event for event in trace["traceEvents"] if event.get("ph") == "X"]
        steps = steps_of(slices)
        for _, number, begin, end in steps:
            lengths[number] = max(lengths.get(number, 0), end - begin)
        launches = {}
        for event in slices:
            if event.get("cat") in RUNTIME and "correlation" in event.get("args", {}):
                launches.setdefault(event["args"]["correlation"], (event["tid"], ns(event["ts"])))
        for event in slices:
            if event.get("cat") in DEVICE:
                launch = launches.get(event["args"].get("correlation"))
                step = step_at(steps, *(launch or (None, ns(event["ts"]))))
                row = rows.setdefault(step, {}).setdefault(event["name"], [0, 0])
                row[0] += 1
                row[1] += ns(event["dur"])
    return rows, lengths


if __name__ == "__main__":
    json.dump(count(sys.argv[1:]), sys.stdout, indent=1)
