"""The same questions to one process with one thread and with two, and to a local cluster of two worker processes, in turn.

Prints one line of JSON: of each question the median seconds of all three, the tasks that the cluster got, and the bytes
that came back to the client.
"""

import json
import os
import statistics
import sys
import time

import distributed
import ouzel
from ouzel import _cluster

QUESTIONS = {
    "flat_profile": lambda trace: trace.flat_profile(),
    "calculate_lateness": lambda trace: trace.calculate_lateness(),
    "critical_path_analysis": lambda trace: trace.critical_path_analysis(by="region"),
}
N_GROUPS = 8


class Counted(_cluster.Cluster):
    """Counts what comes back."""

    n_bytes = 0

    def run(self, *arguments):
        for item in super().run(*arguments):
            if isinstance(item, list):
                Counted.n_bytes += sum(map(len, item))
            yield item


def seconds(ask, trace):
    start = time.perf_counter()
    answer = ask(trace)
    return time.perf_counter() - start, answer.to_dict()


def n_tasks(dask_scheduler):
    """Tasks that the scheduler has seen done so far."""
    return sum(prefix.state_counts["memory"] for prefix in dask_scheduler.task_prefixes.values())


def main() -> None:
    path, rounds = sys.argv[1], int(sys.argv[2])
    _cluster.Cluster = Counted
    folder = os.path.dirname(path)
    sizes = (os.path.getsize(os.path.join(at, name)) for at, _, names in os.walk(folder) for name in names)
    group_bytes = sum(sizes) // N_GROUPS
    local = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": None}
    with distributed.LocalCluster(host="127.0.0.1", **local) as cluster, distributed.Client(cluster) as client:
        here, alone = ouzel.open(path, jobs=2), ouzel.open(path, jobs=1)
        there = here.on(client, group_bytes=group_bytes)
        # Workers import the package and open the trace once.
        there.profile()
        said = []
        for name, ask in QUESTIONS.items():
            before = client.run_on_scheduler(n_tasks), Counted.n_bytes
            one, other, single = [], [], []
            for _ in range(rounds):
                expected, found = seconds(ask, here), seconds(ask, there)
                if expected[1] != found[1]:
                    raise AssertionError(f"{name}: the cluster says something else")
                one.append(expected[0])
                other.append(found[0])
                single.append(seconds(ask, alone)[0])
            tasks, n_bytes = client.run_on_scheduler(n_tasks) - before[0], Counted.n_bytes - before[1]
            of_one = {"here_seconds": statistics.median(one), "there_seconds": statistics.median(other)}
            of_one["alone_seconds"] = statistics.median(single)
            said.append({"question": name, **of_one, "tasks": tasks // rounds, "client_bytes": n_bytes // rounds})
    print(json.dumps(said))


if __name__ == "__main__":
    main()
