"""stumpy's matrix profile on one thread, as a peer of `ouzel patterns`: the series of crates/analyses/examples."""

import json
import sys
import time

import numba
import numpy
import stumpy

WINDOW = 100


def series(n_points: int) -> numpy.ndarray:
    state = 1
    points = numpy.empty(n_points)
    for i in range(n_points):
        state = (state * 1_103_515_245 + 12_345) % (1 << 31)
        points[i] = i % 1000 / 500.0 + state / (1 << 31)
    return points


def main() -> None:
    numba.set_num_threads(1)
    points = series(int(sys.argv[1]))
    stumpy.stump(points[:1000], WINDOW)  # compiles
    start = time.perf_counter()
    profile = stumpy.stump(points, WINDOW)
    print(json.dumps({"events": len(profile), "events_seconds": time.perf_counter() - start}))


if __name__ == "__main__":
    main()
