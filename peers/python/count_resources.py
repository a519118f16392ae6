"""Launch shapes, memory of hosts in copies, and PyTorch's allocator, counted from the files themselves.

    count_resources.py report.sqlite|trace.json[.gz]...
"""

import gzip
import json
import sqlite3
import sys

SHAPE = "gridX, gridY, gridZ, blockX, blockY, blockZ, registersPerThread, staticSharedMemory + dynamicSharedMemory"


def nsight(path):
    """(kernel, shape, occupancy, ns) of each kernel, and the number of pageable copies."""
    database = sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)
    database.text_factory = lambda text: text.decode(errors="replace")
    strings = dict(database.execute("select id, value from StringIds"))
    query = f"select demangledName, end - start, {SHAPE} from CUPTI_ACTIVITY_KIND_KERNEL"
    kernels = [
        (strings[name], (tuple(shape[:3]), tuple(shape[3:6]), shape[6], shape[7]), None, ns)
        for name, ns, *shape in database.execute(query)
    ]
    pageable = "select count(*) from CUPTI_ACTIVITY_KIND_MEMCPY where srcKind = 0 or dstKind = 0"
    return kernels, database.execute(pageable).fetchone()[0], nsight_memory(database)


def nsight_memory(database):
    """Memory that CUDA gives and takes, summed up in order of time."""
    table = "CUDA_GPU_MEMORY_USAGE_EVENTS"
    if not list(database.execute("select 1 from sqlite_master where type = 'table' and name = ?", [table])):
        return []
    query = f"select start, globalPid, deviceId, bytes, memKind, memoryOperationType from {table} order by start"
    totals, memory = {}, []
    for start, pid, device, size, kind, operation in database.execute(query):
        place = "host" if kind in (0, 1) else f"device {device}"
        change = -size if operation == 1 else size
        total = max(0, totals.get((pid, place), 0) + change)
        totals[(pid, place)] = total
        memory.append((start, place, total, 0, change))
    return memory


def kineto(path):
    """The same of a trace of PyTorch, and (time, place, allocated, reserved, change) of each change of memory."""
    opened = gzip.open if str(path).endswith(".gz") else open
    with opened(path, "rb") as file:
        trace = json.loads(file.read().decode(errors="replace"))
    kernels, memory, pageable = [], [], 0
    for event in trace["traceEvents"]:
        arguments = event.get("args", {})
        if event.get("ph") == "X" and event.get("cat") == "kernel" and "grid" in arguments:
            registers, shared = arguments.get("registers per thread"), arguments.get("shared memory")
            shape = (tuple(arguments["grid"]), tuple(arguments["block"]), registers, shared)
            occupancy = arguments.get("est. achieved occupancy %")
            kernels.append((event["name"], shape, occupancy, round(event["dur"] * 1000)))
        if event.get("ph") == "X" and event.get("cat") == "gpu_memcpy":
            pageable += "Pageable" in event["name"]
        if event.get("name") == "[memory]":
            place = "host" if arguments["Device Type"] == 0 else f"device {arguments['Device Id']}"
            totals = (arguments["Total Allocated"], arguments["Total Reserved"], arguments["Bytes"])
            memory.append((event["ts"], place, *totals))
    return kernels, pageable, memory


def count(paths):
    """Shapes and occupancy by kernel; pageable copies; peaks by place."""
    shapes, occupancy, pageable, places = {}, {}, 0, {}
    for path in paths:
        kernels, n_pageable, memory = nsight(path) if str(path).endswith(".sqlite") else kineto(path)
        pageable += n_pageable
        for name, shape, percent, ns in kernels:
            of = shapes.setdefault(name, {})
            of[shape] = of.get(shape, 0) + 1
            if percent is not None:
                sums = occupancy.setdefault(name, [0.0, 0])
                sums[0] += percent / 100 * ns
                sums[1] += ns
        for _, place, allocated, reserved, change in memory:
            of = places.setdefault(place, {"given": 0, "taken": 0, "bytes": 0, "peak": 0, "reserved": 0})
            of["given"] += 0 < change
            of["taken"] += change < 0
            of["bytes"] += max(change, 0)
            of["peak"] = max(of["peak"], allocated)
            of["reserved"] = max(of["reserved"], reserved)
    means = {name: weighted / ns for name, (weighted, ns) in occupancy.items() if ns}
    return {"shapes": shapes, "occupancy": means, "n_pageable": pageable, "memory": places}


if __name__ == "__main__":
    print(count(sys.argv[1:]))
