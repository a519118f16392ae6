"""Reads every severity of a CUBE profile with pycubexr: the reference for our speed.

    read_cubex.py FILE        prints how many values there are and their sum, as JSON
"""

import json
import sys

from pycubexr import CubexParser


def main(path):
    n_values, total = 0, 0.0
    with CubexParser(path) as cubex:
        for metric in cubex.get_metrics():
            values = cubex.get_metric_values(metric=metric)
            for row in values.cnode_indices:
                cnode = cubex.get_cnode(row)
                numbers = values.cnode_values(cnode)
                n_values += len(numbers)
                total += float(numbers.sum())
    print(json.dumps({"n_values": n_values, "sum": total}))


if __name__ == "__main__":
    main(sys.argv[1])
