"""Every severity that is not zero, as pycubexr reads it: the reference for profiles that we write.

    cubex_values.py FILE      prints JSON: for each metric its unit and [call path, location, value] of each value
"""

import json
import sys

import numpy as np
from pycubexr import CubexParser


def path_of(cnode):
    names = []
    while cnode is not None:
        names.append(cnode.region.name)
        cnode = cnode.parent
    return ";".join(reversed(names))


def numbers(values):
    """Minima and maxima come wrapped, and with a mark where there is none."""
    values = np.asarray(getattr(values, "_values", values), dtype=float)
    return np.where(np.abs(values) == np.finfo(float).max, 0.0, values)


def main(path):
    metrics = {}
    with CubexParser(path) as cubex:
        locations = [location.id for location in cubex.get_locations()]
        for metric in cubex.all_metrics():
            try:
                of_metric = cubex.get_metric_values(metric=metric)
            except Exception as error:
                if type(error).__name__ != "MissingMetricError":
                    raise
                metrics[metric.name] = {"unit": metric.units, "values": []}
                continue
            rows = []
            for cnode in cubex.all_cnodes():
                values = numbers(of_metric.cnode_values(cnode))
                # As text: not every reader of JSON gives the last bit of a number back.
                rows += [[path_of(cnode), locations[i], repr(float(values[i]))] for i in np.flatnonzero(values)]
            metrics[metric.name] = {"unit": metric.units, "values": rows}
    print(json.dumps(metrics))


if __name__ == "__main__":
    main(sys.argv[1])
