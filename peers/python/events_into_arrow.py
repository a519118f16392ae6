"""The time of `trace.events` into Arrow by Ouzel's own Python package, read to the end and thrown away."""

import json
import sys
import time

import ouzel
import pyarrow


def main() -> None:
    trace = ouzel.open(sys.argv[1], jobs=2)
    start = time.perf_counter()
    n_rows = sum(batch.num_rows for batch in pyarrow.RecordBatchReader.from_stream(trace.events))
    print(json.dumps({"events": n_rows, "events_seconds": time.perf_counter() - start}))


if __name__ == "__main__":
    main()
