"""What HolisticTraceAnalysis (HTA) and we say about the same traces, number by number.

usage: hta_values.py OUZEL FOLDER

FOLDER has the traces of HTA's tests. Prints a line of JSON: a list of `{trace, row, hta, ours}`, times in µs. HTA leaves
the last step out unless told otherwise; of traces with steps, only what does not depend on that is compared.
"""

import gzip
import json
import logging
import re
import subprocess
import sys
import warnings
from pathlib import Path

from hta.trace_analysis import TraceAnalysis

TRACES = {"AlexNet": "hta-critical_path/alexnet", "DLRM, 8 ranks": "param-dlrm-8rank"}
PATHS = {"AlexNet": "hta-critical_path/alexnet", "AlexNet, device ahead": "hta-critical_path/simple_add"}
# The range that HTA's tests of its critical path look at.
MEASURED = "[param|pytorch.model.alex_net|0|0|0|measure|forward]"


def ouzel(program, *words):
    done = subprocess.run([program, *words, "--format", "json"], capture_output=True, check=False)
    return json.loads(done.stdout)["data"]


def analysis(folder):
    def rank(path):
        found = re.search(r"worker(\d+)", path.name)
        return int(found[1]) if found else 0

    files = {rank(path): str(path) for path in sorted(folder.glob("*.json.gz"))}
    return TraceAnalysis(trace_files=files, trace_dir=str(folder))


def breakdown(hta, program, path):
    ours = {row["rank"]: row for row in ouzel(program, "breakdown", path)["rows"]}
    overlaps = hta.get_comm_comp_overlap(visualize=False).set_index("rank")["comp_comm_overlap_pctg"]
    for _, row in hta.get_temporal_breakdown(visualize=False).iterrows():
        rank = int(row["rank"])
        of = ours[rank]
        communication = of["communication_ns"] + of["overlap_ns"]
        computation = of["computation_ns"] + of["overlap_ns"]
        yield f"rank {rank}: time in computation", row["compute_time(us)"], computation / 1000
        others = of["communication_ns"] + of["transfer_ns"]
        yield f"rank {rank}: other time of the device", row["non_compute_time(us)"], others / 1000
        if communication:
            share = 100 * of["overlap_ns"] / communication
            yield f"rank {rank}: communication behind computation, %", overlaps[rank], share


def kernels(hta, program, path):
    ours = ouzel(program, "kernels", path)
    longest = hta.get_queue_length_summary(ranks=[0])["queue_length"]["max"]
    queues = {queue["stream"]: queue["max_queue_length"] for queue in ours["queues"] if queue["rank"] == 0}
    for (_, stream), n in longest.items():
        yield f"rank 0: longest queue of stream {stream}", n, queues[str(stream)] if str(stream) in queues else queues[stream]
    delays = hta.get_cuda_kernel_launch_stats(ranks=[0], visualize=False)[0]["launch_delay"]
    [of] = [row for row in ours["launch_delays"] if row["rank"] == 0]
    yield "rank 0: launch delay, mean", delays.mean(), of["mean_delay_ns"] / 1000
    yield "rank 0: launch delay, longest", delays.max(), of["max_delay_ns"] / 1000


def idle(hta, program, path):
    theirs = hta.get_idle_time_breakdown(ranks=[0], visualize=False)[0].groupby("stream")["idle_time"].sum()
    rows = ouzel(program, "idle", path, "--by", "cause")["rows"]
    ours = {str(row["stream"]): row["idle_ns"] for row in rows if row["rank"] == 0}
    for stream, time in theirs.items():
        yield f"rank 0: idle time of stream {stream}", time, ours[str(stream)] / 1000


def critical_path(program, path):
    """The time that each resource bounds of the second measured pass, in HTA's words and ours."""
    hta = analysis(path)
    graph, _ = hta.critical_path_analysis(rank=0, annotation=MEASURED, instance_id=1)
    theirs = graph.get_critical_path_breakdown().groupby("bound_by")["duration"].sum()
    [file] = path.glob("*.json.gz")
    with gzip.open(file) as text:
        calls = [event for event in json.load(text)["traceEvents"] if event.get("ph") == "X"]
    start = min(call["ts"] for call in calls)
    measured = [call for call in calls if call["name"] == MEASURED][1]
    begin, end = (round(1000 * (at - start)) for at in (measured["ts"], measured["ts"] + measured["dur"]))
    ours = ouzel(program, "critical-path", str(file), "--time", f"{begin}ns..{end}ns")
    bounds = {bound["bound"]: bound["total_ns"] / 1000 for bound in ours["bounds"]}
    kernels = theirs.get("gpu_compute_bound", 0) + theirs.get("gpu_kernel_kernel_overhead", 0)
    yield "measured pass: length of the critical path", theirs.sum(), ours["length_ns"] / 1000
    yield "measured pass: critical path bound by the CPU", theirs.get("cpu_bound", 0), bounds["cpu"]
    yield "measured pass: critical path bound by the GPU", kernels, bounds["gpu"]
    yield "measured pass: critical path bound by launches", theirs.get("gpu_kernel_launch_overhead", 0), bounds["launch"]


def main():
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    program, folder = sys.argv[1], Path(sys.argv[2])
    said = []
    for name, below in TRACES.items():
        hta, path = analysis(folder / below), str(folder / below)
        for of in [breakdown, kernels, idle]:
            rows = of(hta, program, path)
            said += [{"trace": name, "row": row, "hta": float(h), "ours": float(o)} for row, h, o in rows]
    for name, below in PATHS.items():
        rows = critical_path(program, folder / below)
        said += [{"trace": name, "row": row, "hta": float(h), "ours": float(o)} for row, h, o in rows]
    print(json.dumps(said))


if __name__ == "__main__":
    main()
