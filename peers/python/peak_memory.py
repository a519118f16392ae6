"""Prints the peak resident memory of a command in bytes; its output is thrown away.

usage: peak_memory.py [--seconds] PROGRAM [ARGUMENT ...]

With --seconds, also the seconds of all its threads together, and those on the wall.

What the kernel reports for a child includes the moment before the program replaced this
interpreter, so nothing below some ten megabytes can be told apart. The figure errs to
the high side only.
"""

import resource
import subprocess
import sys
import time


def main():
    with_seconds = sys.argv[1] == "--seconds"
    start = time.monotonic()
    ended = subprocess.run(sys.argv[1 + with_seconds :], stdout=subprocess.DEVNULL)
    wall = time.monotonic() - start
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = [used.ru_utime + used.ru_stime, wall] if with_seconds else []
    print(used.ru_maxrss * 1024, *seconds)
    # 2 means: answered, not from all of the data.
    sys.exit(0 if ended.returncode in (0, 2) else 1)


if __name__ == "__main__":
    main()
