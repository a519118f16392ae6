"""Runs a command and prints what it cost as JSON: seconds, peak resident memory and bytes of its answer.

usage: costs.py PROGRAM [ARGUMENT ...]

The answer is what the command writes to standard output. See peak_memory.py for how exact the memory is.
"""

import json
import resource
import subprocess
import sys
import time


def main():
    start = time.perf_counter()
    with subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        n_bytes = 0
        while part := running.stdout.read(1 << 20):
            n_bytes += len(part)
        errors = running.stderr.read()
        code = running.wait()
    seconds = time.perf_counter() - start
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    costs = {
        "seconds": seconds,
        "processor_seconds": used.ru_utime + used.ru_stime,
        "peak_bytes": used.ru_maxrss * 1024,
        "answer_bytes": n_bytes,
    }
    print(json.dumps(costs))
    # 2 means: answered, not from all of the data.
    if code not in (0, 2):
        sys.stderr.buffer.write(errors)
        sys.exit(1)


if __name__ == "__main__":
    main()
