"""What accelerators ran, counted from the files themselves: SQL for Nsight Systems, the events of Kineto's JSON.

    count_kernels.py report.sqlite|trace.json[.gz]...        prints JSON with the keys of `ouzel kernels`
"""

import gzip
import json
import sqlite3
import statistics
import sys
from decimal import Decimal

KINDS = {1: "host_to_device", 2: "device_to_host", 8: "device_to_device", 10: "peer_to_peer"}
KINETO = {"HtoD": "host_to_device", "DtoH": "device_to_host", "DtoD": "device_to_device"}


def nsight(path):
    """(name, type, start, end, stream, bytes, direction, launch enter, launch leave) of each operation."""
    database = sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)
    database.text_factory = lambda text: text.decode(errors="replace")
    tables = {name for (name,) in database.execute("select name from sqlite_master where type = 'table'")}
    strings = dict(database.execute("select id, value from StringIds"))
    launches = {}
    if "CUPTI_ACTIVITY_KIND_RUNTIME" in tables:
        query = "select globalTid, correlationId, start, end from CUPTI_ACTIVITY_KIND_RUNTIME order by start"
        for tid, correlation, start, end in database.execute(query):
            launches.setdefault((tid >> 24, correlation), (start, end))
    operations = []
    for table, columns in [
        ("KERNEL", "demangledName, null, null"),
        ("MEMCPY", "null, bytes, copyKind"),
        ("MEMSET", "null, bytes, null"),
    ]:
        if f"CUPTI_ACTIVITY_KIND_{table}" not in tables:
            continue
        query = f"select start, end, streamId, correlationId, globalPid, {columns} from CUPTI_ACTIVITY_KIND_{table}"
        for start, end, stream, correlation, pid, name, size, kind in database.execute(query):
            launch = launches.get((pid >> 24, correlation))
            name = strings[name] if name is not None else table
            what = "computation" if table == "KERNEL" else "memory"
            direction = KINDS.get(kind, str(kind)) if table == "MEMCPY" else None
            operations.append((name, what, start, end, stream, size, direction, launch))
    return operations


def ns(number):
    return int((Decimal(str(number)) * 1000).to_integral_value())


def kineto(path):
    """The same of a trace of PyTorch."""
    opened = gzip.open if str(path).endswith(".gz") else open
    with opened(path, "rb") as file:
        trace = json.loads(file.read().decode(errors="replace"), parse_float=Decimal)
    events = trace["traceEvents"] if isinstance(trace, dict) else trace
    slices = [event for event in events if event.get("ph") == "X"]
    runtime = ("cuda_runtime", "cuda_driver", "hip_runtime", "Runtime")
    launches = {}
    for event in slices:
        if event.get("cat") in runtime and "correlation" in event.get("args", {}):
            begin = ns(event["ts"])
            launches.setdefault(event["args"]["correlation"], (begin, begin + ns(event["dur"])))
    types = {"kernel": "computation", "Kernel": "computation"}
    types |= dict.fromkeys(("gpu_memcpy", "gpu_memset", "Memcpy", "Memset"), "memory")
    operations = []
    for event in slices:
        what = types.get(event.get("cat"))
        if what is None:
            continue
        name, arguments = event["name"], event.get("args", {})
        if what == "computation" and (arguments.get("Collective name") or "nccl" in name.split("(")[0].lower()):
            what = "communication"
        direction = next((to for word, to in KINETO.items() if word in name), None) if "Memcpy" in name else None
        begin = ns(event["ts"])
        launch = launches.get(arguments.get("correlation"))
        stream = arguments.get("stream", event.get("tid"))
        operations.append(
            (name, what, begin, begin + ns(event["dur"]), stream, arguments.get("bytes"), direction, launch)
        )
    return operations


def count(paths):
    """The answer."""
    rows, copies, delays, types = {}, {}, [], {}
    for path in paths:
        operations = nsight(path) if str(path).endswith(".sqlite") else kineto(path)
        for name, what, start, end, _stream, size, direction, launch in operations:
            rows.setdefault((name, what), []).append(end - start)
            types[what] = types.get(what, 0) + end - start
            if direction:
                copy = copies.setdefault(direction, {"n": 0, "bytes": 0, "total_ns": 0})
                copy["n"] += 1
                copy["bytes"] += int(size or 0)
                copy["total_ns"] += end - start
            if launch:
                delays.append(max(0, start - launch[1]))
    answer = {
        "rows": [
            {
                "kernel": name,
                "type": what,
                "launches": len(times),
                "total_ns": sum(times),
                "median_ns": statistics.median(times),
                "min_ns": min(times),
                "max_ns": max(times),
                "std_ns": statistics.stdev(times) if 1 < len(times) else 0.0,
            }
            for (name, what), times in rows.items()
        ],
        "types": types,
        "copies": copies,
        "max_delay_ns": max(delays, default=0),
    }
    answer["rows"].sort(key=lambda row: -row["total_ns"])
    return answer


if __name__ == "__main__":
    json.dump(count(sys.argv[1:]), sys.stdout, indent=1, default=str)
