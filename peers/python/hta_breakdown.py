"""HolisticTraceAnalysis, from the files of a folder to its temporal breakdown, as a peer of `ouzel breakdown`."""

import glob
import os
import re
import sys

from hta.trace_analysis import TraceAnalysis


def main() -> None:
    folder = sys.argv[1]
    files = sorted(glob.glob(os.path.join(folder, "*.json*")))
    ranks = {int(re.search(r"rank-(\d+)", os.path.basename(path)).group(1)): path for path in files}
    analysis = TraceAnalysis(trace_files=ranks, trace_dir=folder)
    print(analysis.get_temporal_breakdown(visualize=False).to_string())


if __name__ == "__main__":
    main()
