"""Prints the peak resident memory of a command in bytes; its output is thrown away.

usage: peak_memory.py PROGRAM [ARGUMENT ...]

What the kernel reports for a child includes the moment before the program replaced this
interpreter, so nothing below some ten megabytes can be told apart. The figure errs to
the high side only.
"""

import resource
import subprocess
import sys


def main():
    ended = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL)
    print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024)
    # 2 means: answered, not from all of the data.
    sys.exit(0 if ended.returncode in (0, 2) else 1)


if __name__ == "__main__":
    main()
