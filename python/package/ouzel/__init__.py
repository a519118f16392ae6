"""Finds where parallel programs lose time, from their traces.

>>> import ouzel
>>> trace = ouzel.open("testdata/pmpi-jacobi")
>>> trace.flat_profile()

Every operation returns a :class:`Table`: pandas, polars, pyarrow and DuckDB take it directly, through Arrow's
PyCapsule protocol. Every number has its unit in ``table.units`` and its formula in ``table.docs``.
"""

from ouzel._core import (
    CommMatrix,
    Correlations,
    DataLostWarning,
    EventRows,
    Events,
    Histogram,
    MultiRun,
    OuzelError,
    Picture,
    Profile,
    SelectionWarning,
    Table,
    Trace,
    Waits,
    __version__,
    efficiencies,
    kernel_difference,
    licenses,
    multi_run_analysis,
    multirun_analysis,
    open,
    open_profile,
)
from ouzel._filter import Filter
from ouzel._view import View

__all__ = [
    "CommMatrix",
    "Correlations",
    "DataLostWarning",
    "EventRows",
    "Events",
    "Filter",
    "Histogram",
    "MultiRun",
    "OuzelError",
    "Picture",
    "Profile",
    "SelectionWarning",
    "Table",
    "Trace",
    "View",
    "Waits",
    "__version__",
    "efficiencies",
    "kernel_difference",
    "licenses",
    "multi_run_analysis",
    "multirun_analysis",
    "open",
    "open_profile",
]
