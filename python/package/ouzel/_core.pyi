"""The compiled part of Ouzel, as types.

Sources named "Pipit" are Bhatele et al., *Pipit: Scripting the analysis of parallel execution traces* (SC 2023).
Every method of :class:`Trace` that reads events raises :class:`OuzelError` if the pass fails, ``KeyboardInterrupt``
after Ctrl-C, and ``ValueError`` for an invalid argument. Damaged data do not raise: they cause a
:class:`DataLostWarning` and are listed in ``notices``.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal, TextIO, final, overload

from typing_extensions import disjoint_base

from ouzel._frames import Column
from ouzel._view import View
from ouzel.answers import (
    Causes,
    ClusterEntry,
    Finding,
    Info,
    Location,
    NoticeEntry,
    ProfileCoverage,
    ProfileInfo,
    ProfileReport,
    Report,
    SegmentCard,
    TraceCoverage,
    WaitsData,
    WhatIf,
    Written,
)

__version__: str

_By = Literal["region", "call_path"]
_Per = Literal["total", "rank", "location"]
_Scope = Literal["exclusive", "inclusive"]
_Output = Literal["size", "count", "bytes", "messages"]
_Ranks = int | str | Iterable[int]
_Names = str | Iterable[str]
_TimeNs = tuple[float | None, float | None]
_Format = Literal["otf2", "csv", "parquet", "chrome", "cube"]
_Records = Literal["events", "definitions", "local", "markers"]
_Palette = Literal["cividis", "viridis", "green-yellow-red"] | Sequence[str] | Mapping[str, str]
_Progress = bool | Callable[[int, int], object]

class OuzelError(Exception):
    """A trace cannot be read, or a question has no answer."""

class DataLostWarning(UserWarning):
    """Data were lost; the answer covers only the rest. ``warnings.simplefilter("error", DataLostWarning)`` makes it an error."""

class SelectionWarning(UserWarning):
    """A selection names something that the trace does not have (a region, a counter, a rank), or selects nothing."""

@disjoint_base
class Table:
    """A result: named columns of one length.

    Any library that supports Arrow's PyCapsule protocol accepts it: ``pyarrow.table(t)``,
    ``polars.DataFrame(t)``, ``duckdb.sql("select * from t")``. Times are integers in nanoseconds. A value that does
    not exist is ``None``, never zero. A call path is a list of names from the outermost region.

    ``table["exclusive_ns"]`` is a column, ``table[["region", "visits"]]`` a table of some, ``table[:10]`` one of some
    rows, and ``table[table["exclusive_ns"] > 1000]`` one of the rows for which that is true, which may be a list, an array
    or a series. Iteration is over rows, each a dictionary. Tables can be pickled.
    """

    @property
    def name(self) -> str:
        """What the rows are, in the plural."""
    @property
    def columns(self) -> list[str]:
        """Names of the columns, the unit last."""
    @property
    def units(self) -> dict[str, str]:
        """Unit of each column: "ns", "B" bytes, "#" a number of things, "1" a ratio, "" none."""
    @property
    def docs(self) -> dict[str, str]:
        """What each column is, with its formula."""
    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of columns."""
    @property
    def notices(self) -> list[NoticeEntry]:
        """Problems in the passes, worst first."""
    @property
    def coverage(self) -> TraceCoverage | ProfileCoverage:
        """How much of the trace the answer covers."""
    def __len__(self) -> int: ...
    @overload
    def __getitem__(self, key: str, /) -> Column: ...  # type: ignore[overload-overlap]
    @overload
    def __getitem__(self, key: Sequence[str] | slice | Iterable[bool], /) -> Table: ...
    def __iter__(self) -> Iterator[Any]: ...
    def head(self, n: int = 5) -> Table:
        """The first ``n`` rows."""
    def tail(self, n: int = 5) -> Table:
        """The last ``n`` rows."""
    def sort_values(self, by: str | Sequence[str], ascending: bool | Sequence[bool] | None = None) -> Table:
        """The rows in the order of one column or several, ascending by default.

        Equal rows stay in their order, and missing values come last. Raises ``KeyError`` for an unknown column.
        """
    @property
    def plot(self) -> Any:
        """``plot`` of the data frame: ``table.plot.bar(x="region", y="exclusive_ns")``. With pandas, needs matplotlib."""
    def to_dict(self) -> dict[str, list[Any]]:
        """The columns as lists."""
    def to_pandas(self) -> Any:
        """A ``pandas.DataFrame``. Raises ``ImportError`` without pandas; better types with pyarrow."""
    def to_polars(self) -> Any:
        """A ``polars.DataFrame``. Raises ``ImportError`` without polars."""
    def to_pyarrow(self) -> Any:
        """A ``pyarrow.Table``; the fields' metadata have units and explanations. Raises ``ImportError`` without it."""
    def picture(
        self,
        *,
        title: str | None = None,
        subtitle: str | None = None,
        width: int | None = None,
        height: int | None = None,
        x_label: str | None = None,
        y_label: str | None = None,
        palette: _Palette | None = None,
    ) -> Picture:
        """The picture that a notebook shows, with texts, size and colours of your own.

        ``width``, ``height``: in points, from 200 to 8,000. ``x_label``, ``y_label``: names of the axes. ``palette``:
        ``cividis``, ``viridis`` or ``green-yellow-red``; a list of colours such as ``"#4477aa"`` for the entries of the
        legend, in order; or colours by the names in the legend. Raises :class:`OuzelError` if there is no picture,
        ``ValueError`` for another palette or size.
        """
    def save_picture(self, path: str | os.PathLike[str], *, force: bool = False) -> None:
        """Writes the picture that a notebook shows, as ``.svg`` or ``.png``. Raises :class:`OuzelError` if there is none.

        An existing file is replaced only with ``force=True``; otherwise ``FileExistsError`` is raised. A file of a
        trace or profile that this process has opened is never replaced (``ValueError``). The file is complete or not
        there.
        """
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def _repr_html_(self) -> str: ...
    def _repr_svg_(self) -> str | None: ...

@final
class Picture:
    """A picture, ready to be shown and written."""

    @property
    def svg(self) -> str:
        """The text of an SVG file."""
    @property
    def png(self) -> bytes:
        """The bytes of a PNG file, with two pixels for each point."""
    def save(self, path: str | os.PathLike[str], *, force: bool = False) -> None:
        """Writes the picture as ``.svg`` or ``.png``; the rules are those of :meth:`Table.save_picture`."""
    def to_matplotlib(self) -> Any:
        """A ``matplotlib.figure.Figure`` that shows the picture. Raises ``ImportError`` without matplotlib."""
    def _repr_svg_(self) -> str: ...

@final
class EventRows:
    """Rows of events that were read: ``pyarrow.record_batch(rows)``, ``polars.DataFrame(rows)``."""

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[dict[str, Any]]: ...
    def to_dict(self) -> dict[str, list[Any]]:
        """The columns as lists; a missing value is ``None``."""
    def to_pandas(self) -> Any:
        """A ``pandas.DataFrame``. Raises ``ImportError`` without pandas and pyarrow."""
    def to_polars(self) -> Any:
        """A ``polars.DataFrame``. Raises ``ImportError`` without polars."""
    def to_pyarrow(self) -> Any:
        """A ``pyarrow.Table``. Raises ``ImportError`` without pyarrow."""
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]: ...

@final
class Events:
    """The events of a trace as a table that is read only when you ask for its rows.

    Columns: "Timestamp (ns)" since the trace start, "Event Type" (Enter, Leave, Instant), "Name", "Process" (world
    rank), "Thread" (number of the location in its process); and, if requested, "Depth", "Partner", "Tag", "Bytes",
    "Value", "Region" (row of :meth:`Trace.region_table`). Records that are neither calls nor messages keep the names of
    their format, such as ``ProgramBegin``. Rows are ordered by location, then by time. An event with values of several metrics has a row for each
    value. Calls of sampled locations are made from their samples. Not every payload of an event has a column:
    ``ouzel convert --to parquet`` writes all.

    ``events[["Name", "Bytes"]]`` are the same events with these columns, not read yet. ``events[events["Name"] ==
    "MPI_Send"]`` is a data frame of some rows, by the library at hand, pandas or else polars. ``len(events)`` reads all
    times, ``sort_values`` and ``plot`` read all rows; iteration yields batches. Events can be pickled, unread.
    """

    @property
    def columns(self) -> list[str]:
        """Names of the columns that are read."""
    @property
    def notices(self) -> list[NoticeEntry]:
        """Problems when rows were last read, worst first."""
    @overload
    def __getitem__(self, key: str | Sequence[str], /) -> Events: ...
    @overload
    def __getitem__(self, key: Any, /) -> Any: ...
    def __eq__(self, other: object, /) -> Any: ...
    def __ne__(self, other: object, /) -> Any: ...
    def __lt__(self, other: Any, /) -> Any: ...
    def __le__(self, other: Any, /) -> Any: ...
    def __gt__(self, other: Any, /) -> Any: ...
    def __ge__(self, other: Any, /) -> Any: ...
    __hash__: ClassVar[None]  # type: ignore[assignment]
    def __len__(self) -> int: ...
    def __bool__(self) -> bool: ...
    def head(self, n: int = 5) -> EventRows:
        """The first ``n`` rows; only the first locations are read."""
    def tail(self, n: int = 5) -> EventRows:
        """The last ``n`` rows; all locations are read, but only these rows are kept."""
    def sort_values(self, by: str | Sequence[str], ascending: bool | Sequence[bool] | None = None) -> Any:
        """All rows in the order of columns, ascending by default: a data frame of the library at hand."""
    @property
    def plot(self) -> Any:
        """``plot`` of the data frame of all rows. Raises ``ImportError`` without a library of data frames."""
    def __iter__(self) -> Iterator[EventRows]:
        """Batches of about 260,000 rows at most, each from one location, one after the other."""
    def to_pandas(self) -> Any:
        """All rows as a ``pandas.DataFrame``; some 25 bytes per row. Raises ``ImportError`` without pandas and pyarrow."""
    def to_polars(self) -> Any:
        """All rows as a ``polars.DataFrame``. Raises ``ImportError`` without polars."""
    def to_pyarrow(self) -> Any:
        """All rows as a ``pyarrow.Table``. Raises ``ImportError`` without pyarrow."""
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

@final
class CommMatrix(Table):
    """Rows ``from``, ``to``, ``messages``, ``bytes`` of the pairs that communicated, and the whole matrix.

    Up to 4,096 ranks, ``numpy.asarray(m)`` is the matrix, and ``pandas.DataFrame(m.to_numpy(), m.ranks, m.ranks)`` a
    frame of it; for more, ``scipy.sparse.coo_array((m["bytes"], (m["from"], m["to"])))`` has the same.
    """

    @property
    def ranks(self) -> list[int]:
        """The ranks of rows and columns, ascending."""
    @property
    def unit(self) -> Literal["bytes", "messages"]:
        """What ``matrix`` counts."""
    @property
    def matrix(self) -> list[list[int]]:
        """``matrix[i][j]`` is what ``ranks[i]`` sent to ``ranks[j]``. Raises :class:`OuzelError` for more than 4,096 ranks."""
    def to_numpy(self) -> Any:
        """The matrix as a ``numpy.ndarray`` of ``uint64``. Raises ``ImportError`` without NumPy, :class:`OuzelError` for
        more than 4,096 ranks.
        """
    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any: ...

@final
class Histogram(Table):
    """A row for each bin; ``counts, edges = histogram`` as with NumPy."""

    @property
    def counts(self) -> list[int]:
        """What is in each bin."""
    @property
    def edges(self) -> list[float]:
        """Edges of the bins, one more than bins. The last bin includes its end."""
    def __iter__(self) -> Iterator[list[Any]]: ...

@final
class Waits(Table):
    """Rows of waits or of delays, and everything else that ``ouzel waits`` says."""

    @property
    def facts(self) -> WaitsData:
        """``data`` of ``ouzel waits --format json``: sums of classes, and with delays also ``delays``, ``unexplained``,
        ``chains``, ``critical_path`` and ``exact_share``; see docs/json.md.
        """

@final
class MultiRun(Table):
    """Rows ``region``, ``run``, ``processes``, ``exclusive_ns``, ``mean_ns``: one for each region and run, and how the
    runs scale.
    """

    @property
    def runs(self) -> Table:
        """Rows ``run``, ``processes``, ``run_time_ns``, ``reference``, ``speed_up``, ``efficiency``: one for each run.

        ``speed_up`` is run time of the reference (the run with the fewest processes, the first of several) / run time;
        ``efficiency`` is ``speed_up`` × processes of the reference / processes. Both are ``None`` for a run that takes
        no time.
        """

def open(
    path: str | os.PathLike[str],
    *,
    where: object | None = None,
    ranks: _Ranks | None = None,
    time_ns: _TimeNs | None = None,
    regions: _Names | None = None,
    trim: bool | None = None,
    jobs: int | None = None,
    progress: _Progress | None = None,
    repair_clocks: bool = False,
    memory_limit: int | str | None = None,
) -> Trace:
    """Opens a trace: a directory, its anchor file, or the anchor's stem. Events are read only when you ask for them.

    ``where``, ``ranks``, ``time_ns``, ``regions``, ``trim``, ``jobs`` and ``progress`` are those of :meth:`Trace.filter`.
    ``repair_clocks``: correct times so that no message is received before it is sent, see docs/method.md; this reads
    the whole trace once, and a notice says what was found.
    ``memory_limit``: memory that this Python process may use, in bytes or as a text such as ``"2G"``; a question that
    would use more fails with :class:`OuzelError`. The last limit given applies to the whole process; 0 lifts it.

    Raises ``FileNotFoundError`` if the path does not exist, :class:`OuzelError` if it is not a trace or cannot be read.
    """

def efficiencies(
    traces: Sequence[Trace],
    names: Sequence[str] | None = None,
    *,
    per: Literal["segment", "iteration", "epoch", "cluster", "program"] | None = None,
    hybrid: Literal["multiplicative", "additive", "talp"] | None = None,
    scaling: Literal["strong", "weak"] | None = None,
    rules: str | os.PathLike[str] | None = None,
    period_ns: int | None = None,
) -> Table:
    """The POP efficiencies of several runs, and how their computation scales.

    Rows as of :meth:`Trace.efficiency`, run by run, with ``global``, ``computation_scaling``, ``instruction_scaling``,
    ``ipc_scaling`` and ``frequency_scaling``. The reference is the run with the fewest threads, the first of several.
    ``scaling``: how the problem grows with the number of threads, by default told by the instructions or the useful
    time. ``names``: names of the runs, their paths by default. Raises ``ValueError`` if there is no trace, or if the
    number of names differs from that of traces.
    """

def licenses() -> list[dict[str, Any]]:
    """Third-party crates in this module: ``name``, ``version``, ``license`` (SPDX) and ``texts`` of each."""

def run_command(words: Sequence[str]) -> int:
    """Runs a command line whose first word is the program, as the binary does; the exit code.

    Signals are handled as the binary does from then on, so nothing else may follow in the process.
    """

def multi_run_analysis(
    traces: Sequence[Trace], names: Sequence[str] | None = None, *, call_paths: bool = False
) -> MultiRun:
    """Exclusive time of each region in each of several runs, in total and as mean over processes, costliest first.

    One row for each region (with ``call_paths=True``, each call path) and run; ``None`` if a run does not call the region. ``.runs`` has speed-up and efficiency.
    ``names``: names of the runs, their paths by default. Raises ``ValueError`` if there is no trace, or if the number
    of names differs from that of traces. Pipit: operation ``multi_run_analysis`` in the paper, ``multirun_analysis`` in
    the code.
    """

def multirun_analysis(
    traces: Sequence[Trace], names: Sequence[str] | None = None, *, call_paths: bool = False
) -> MultiRun:
    """The same as :func:`multi_run_analysis`, under the name in Pipit's code."""

def kernel_difference(
    before: Trace,
    after: Trace,
    *,
    by: Literal["kernel", "operator", "scope"] = "kernel",
    step: tuple[int, int] | None = None,
    step_range: str | None = None
) -> Table:
    """What accelerators run in one trace and not, or differently, in another: kernels added, gone and changed.

    One row for each kernel, operator or scope and type, the largest difference in time first: ``change``, number and
    time before and after, and the difference, in parts by number and by length. ``step``: the steps to compare, one of
    each trace; the trace may be the same: ``kernel_difference(trace, trace, step=(3, 5))``. ``step_range``: as for
    :meth:`Trace.kernels`. For two ranks: ``kernel_difference(trace.filter(ranks="0"), trace.filter(ranks="3"))``.
    """

def open_profile(path: str | os.PathLike[str], *, memory_limit: int | str | None = None) -> Profile:
    """Opens a CUBE or HPCToolkit profile: a file, or a directory with one. ``memory_limit`` as in :func:`open`.

    Raises ``FileNotFoundError`` if the path does not exist, :class:`OuzelError` if it is not a profile or cannot be
    read.
    """

@final
class Correlations(Table):
    """The views that vary with one of them, closest first: one row for each metric and call path.

    Columns: ``metric``, ``call_path``, ``call_path_id``; ``r`` from -1 to 1; ``shift`` in places along each axis;
    ``r_max``, ``shift_max``, ``r_min``, ``shift_min`` over all shifts; ``coverage``; ``sign``. In a notebook the picture
    shows the reference and its partners side by side over the topology; ``save_picture`` writes it.
    """

    @property
    def facts(self) -> dict[str, Any]:
        """The question and its effort: ``data`` of ``ouzel correlate`` without ``rows``."""

@final
class Profile:
    """A profile: severities of each metric, call path and location, summed over the run."""

    @property
    def path(self) -> Path:
        """The path it was opened with."""
    @property
    def format(self) -> str:
        """Its format."""
    @property
    def metrics(self) -> list[str]:
        """Unique names of the metrics."""
    @property
    def notices(self) -> list[NoticeEntry]:
        """Problems while opening."""
    @property
    def topologies(self) -> list[dict[str, Any]]:
        """Arrangements of the locations: ``name``, ``origin`` (``defined`` or ``system_tree``), ``axes`` with ``name``,
        ``size``, ``periodic``; ``members``, ``n_members``."""
    @property
    def call_tree(self) -> Table:
        """The call paths, callers before callees: ``call_path_id``, ``call_path``, ``depth``."""
    def call_path(self, pattern: str) -> dict[str, Any]:
        """The call path named by an id, a region, or nested regions: ``solve/MPI_*``, ``/main/solve``.

        Raises ``ValueError`` if none or several match; the error names them.
        """
    def severities(
        self, metric: str | None = None, *, scope: _Scope = "exclusive", by: _By = "region"
    ) -> Table:
        """A metric for each ``region`` or ``call_path``: ``total``, ``mean``, ``min``, ``max`` over locations, and where.

        ``scope``: ``exclusive`` or ``inclusive`` of callees. Units are those of the profile. ``metric``: the metric for
        time by default. Raises ``ValueError`` for an unknown metric, :class:`OuzelError` if it has no values in this
        scope.
        """
    def info(self) -> ProfileInfo:
        """What is in the profile, with the totals of all metrics: ``data`` of ``ouzel info``; shown as a table."""
    def convert(
        self, path: str | os.PathLike[str], to: _Format, *, force: bool = False, csv_raw: bool = False
    ) -> list[Written]:
        """Writes the profile as ``cube``, ``csv`` or ``parquet``, the tables with a row for each value; the rest is as
        for :meth:`Trace.convert`. Raises ``ValueError`` for a format of events.
        """
    def report(self, *, rules: str | os.PathLike[str] | None = None) -> ProfileReport:
        """The report on the profile as data: what ``ouzel report PROFILE --format json`` has under ``data``.

        ``rules``: as for :meth:`Trace.report`.
        """
    def save_report(
        self, path: str | os.PathLike[str], *, rules: str | os.PathLike[str] | None = None, force: bool = False
    ) -> None:
        """Writes the report on the profile as HTML: the page of ``ouzel report PROFILE -o PATH``.

        The page is one file and needs no network. The rest is as for :meth:`Trace.save_report`.
        """
    def causes(
        self,
        metric: str | None = None,
        *,
        exclude: str | None = None,
        clustering: Literal["ball", "dbscan"] = "ball",
        with_communication: bool = False,
        printed_rates: bool = False,
        rules: str | os.PathLike[str] | None = None,
        jobs: int | None = None,
    ) -> Causes:
        """Regions that make processes differ (``external``), regions that cost much (``internal``), and what explains
        them: ``data`` of ``ouzel causes``, see docs/json.md and docs/method.md.

        ``metric``: the metric to use as time. ``exclude``: ranks to leave out, e.g. ``"0,4-7"``. ``clustering``:
        ``ball`` or ``dbscan``. ``with_communication``: treat communication like any other region. ``printed_rates``:
        divide misses by misses + accesses. ``rules``: as for :meth:`Trace.report`. Raises ``ValueError`` for an invalid argument, :class:`OuzelError` if no
        metric can serve as time.
        """
    def correlate(
        self,
        metric: str | None = None,
        path: str | None = None,
        axes: Sequence[str] | None = None,
        top: int | None = 20,
        *,
        scope: _Scope = "exclusive",
        topology: str | None = None,
        weights: Literal["poster", "physical"] = "poster",
        peak: Literal["absolute", "max"] = "absolute",
        cache: bool = True,
        spectra: str | os.PathLike[str] | None = None,
        jobs: int | None = None,
        palette: Literal["cividis", "viridis", "green-yellow-red"] = "cividis",
        draw: Literal["slices", "cubes"] = "slices",
        views: int = 3,
    ) -> Correlations:
        """The views that vary over the topology with ``metric`` of ``path``: filtered correlation, see docs/method.md.

        ``path``: as in :meth:`call_path`; by default, the call path with the largest total, except roots. ``axes``:
        only variation along these counts. ``top``: number of closest views, ``None`` for all. ``topology``: a name or
        number of :attr:`topologies`, or explicit sizes (``"16x8x4"``, ``"node=16,core=8"``), the last axis fastest.
        ``weights``: ``poster`` or ``physical``; ``peak``: ``absolute`` or ``max``. ``cache``: keep spectra in the
        user's cache folder where that pays; ``spectra``: keep them in this file. ``palette`` (``cividis``, ``viridis``,
        ``green-yellow-red``), ``draw`` (``slices`` or ``cubes``) and ``views`` apply to the picture. Other threads run
        meanwhile; Ctrl-C stops it.

        Raises ``ValueError`` for unknown names, :class:`OuzelError` if there is no topology or nothing varies.
        """

@final
class Trace:
    """An opened trace, and the selected part of it."""

    def severity_cube(self) -> Profile:
        """Everything that is counted in the selection, as a profile: time, visits, messages, bytes, counters.

        One pass; keeps 12 bytes for each nonzero combination of metric, call path and location.
        """

    @staticmethod
    def from_otf2(path: str | os.PathLike[str]) -> Trace:
        """Opens an OTF2 archive, under Pipit's name; :func:`open` detects the format."""
    @staticmethod
    def from_hpctoolkit(path: str | os.PathLike[str]) -> Trace:
        """Opens an HPCToolkit database. Like all ``from_`` methods, raises :class:`OuzelError` for any other format."""
    @staticmethod
    def from_projections(path: str | os.PathLike[str]) -> Trace:
        """Opens the logs of Charm++'s Projections."""
    @staticmethod
    def from_nsight(path: str | os.PathLike[str]) -> Trace:
        """Opens an SQLite export of Nsight Systems, or a folder of them."""
    @staticmethod
    def from_pytorch(path: str | os.PathLike[str]) -> Trace:
        """Opens a trace of the PyTorch profiler, or a folder with one for each rank."""
    @staticmethod
    def from_chrome(path: str | os.PathLike[str]) -> Trace:
        """Opens a Chrome trace."""
    @staticmethod
    def from_csv(path: str | os.PathLike[str]) -> Trace:
        """Opens a table of events as Pipit writes it."""
    @property
    def events(self) -> Events:
        """The selected events, as a table that is read when you ask for it. Pipit, ``Trace.events``."""
    @property
    def locations(self) -> list[Location]:
        """The selected locations."""
    def region_table(self) -> Table:
        """All regions of the trace: a row for each, in the order of their numbers.

        ``canonical_name`` has the load module where HPCToolkit names it, ``role`` is the kind of scope (function, loop,
        …). The column "Region" of :attr:`events` and "region_id" of profiles are numbers of rows.
        """
    def map_locations(
        self,
        function: Callable[[Location, Events], Any],
        *,
        reduce: Callable[[Any, Any], Any] | None = None,
        columns: str | Sequence[str] | None = None,
    ) -> Any:
        """Calls ``function(location, events)`` for each location, in order: an analysis of your own.

        Returns the list of results or, with ``reduce``, the results combined two by two (``None`` without a location).
        ``columns``: columns of the events, by default the first five. Exceptions of the function are passed on.
        """
    def filter(
        self,
        where: object | None = None,
        *,
        ranks: _Ranks | None = None,
        time_ns: _TimeNs | None = None,
        regions: _Names | None = None,
        trim: bool | None = None,
        jobs: int | None = None,
        progress: _Progress | None = None,
    ) -> Trace:
        """A part of the trace. The trace itself does not change.

        Most operations don't read the locations that are left out, and stop reading where the time range ends. Those that
        pair messages or collectives over all ranks read everything, so that both ends of a message are known.

        ``where``: a text of the filter language, such as ``"name like 'MPI_*' and not rank in 0-3"``, or a
        :class:`ouzel.Filter`. It selects calls: time in others goes to their callers' ``[filtered]``. If there are
        several, all must hold. Raises ``ValueError`` that says where the text is wrong.
        ``trim``: whether events and calls are cut at the borders of the time range; without it, those that overlap the
        range are listed whole. Sums count only the time inside either way.
        ``ranks``: a number, numbers, or a text such as ``"0-63,128"``.
        ``time_ns``: the half-open range ``(start, end)`` in nanoseconds since the trace start, ``None`` for an open
        end; calls that cross a border are clipped. Recorded times are whole nanoseconds, so other borders are rounded
        up: ``(1.5, 3.5)`` is ``(2, 4)``.
        ``regions``: names with ``*`` and ``?``; time in others goes to the region ``[filtered]``.
        ``jobs``: number of threads, by default one for each core; results do not depend on it.
        ``progress``: ``True`` draws a bar in a terminal or notebook; a function is called with bytes done and all bytes
        while passes run, and an exception from it stops the pass.

        Time ranges narrow each other; raises ``ValueError`` if ranks or regions are selected a second time.
        """
    def on(
        self,
        client: Any,
        *,
        group_bytes: int | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        patience_s: float = 60.0,
    ) -> Trace:
        """The same trace, analysed on a Dask cluster: every operation and the diagnosis, with the same results.

        ``client``: a ``distributed.Client``, the address of a scheduler or its scheduler file; ``None`` returns to this
        process. ``group_bytes``: bytes of event files that a task folds, by default 512 MiB, a second or more of work;
        a location is never split. ``checkpoint``: a folder that all nodes see, where the partial results of groups are
        kept, so that the same question can resume from them if the client or scheduler dies. ``patience_s``: how long
        there may be no scheduler or no worker; 0 fails at once.

        Before each pass, every worker is checked to have this build and to see these files. If not, the question raises
        :class:`OuzelError` that names the worker; it also raises if the scheduler is lost. Ctrl-C takes the work back.
        Needs ``pip install './python[cluster]'`` here and on the workers; see docs/cluster.md.
        """
    @property
    def path(self) -> Path:
        """The path it was opened with."""
    @property
    def format(self) -> str:
        """The name of its format."""
    @property
    def ranks(self) -> list[int]:
        """World ranks of the whole trace, ascending."""
    @property
    def regions(self) -> list[str]:
        """Names of the code regions, in the order of their definitions; a name may occur twice."""
    @property
    def metrics(self) -> list[str]:
        """Names of the recorded counters."""
    @property
    def definitions(self) -> dict[str, Any]:
        """Facts about the whole trace: format, tracer, machine, clock, and counts."""
    @property
    def notices(self) -> list[NoticeEntry]:
        """Problems while opening, worst first."""
    def calls(self, metrics: Sequence[str] | None = None) -> Table:
        """One row for each call: when and where it ran, its caller and number of callees, inclusive and exclusive time.

        ``metrics``: names of counters whose inclusive and exclusive gains become columns. The table is as large as
        the trace, about 100 bytes per call. Raises ``ValueError`` for an unknown counter.
        """
    def match_events(self) -> Table:
        """The enter of each call with its leave. Pipit, ``match_events``."""
    def match_caller_callee(self) -> Table:
        """Each call with its caller (``parent``, by ``call`` in the same location), depth and number of callees.

        Pipit, ``match_caller_callee``.
        """
    def calc_inc_metrics(self, metrics: Sequence[str] | None = None) -> Table:
        """Inclusive time of each call, and what counters gained from its enter to its leave. Pipit, ``calc_inc_metrics``."""
    def calc_exc_metrics(self, metrics: Sequence[str] | None = None) -> Table:
        """The same without callees. Pipit, ``calc_exc_metrics``."""
    def create_cct(self, metrics: Sequence[str] | None = None) -> Table:
        """One call-path tree for all locations: a row for each node, parents before children. Pipit, ``create_cct``."""
    def profile(
        self, *, by: _By = "region", per: _Per = "total", messages: bool = False,
        metrics: Sequence[str] | None = None,
    ) -> Table:
        """Visits, inclusive, exclusive, shortest and longest time of each region or call path.

        One row for each (region or call path) × (nothing, rank or location). Of recursive calls, only the outermost
        counts as inclusive. ``messages``: also what each row sent and received in messages and collective operations.
        ``metrics``: names of counters whose inclusive and exclusive gains become columns. Raises ``ValueError`` for an
        unknown counter.
        """
    def metric_profile(self, *, by: _By = "region", per: _Per = "total") -> Table:
        """Inclusive and exclusive increments of each counter, in its own unit; no rows if there are no counters."""
    def counters_over_time(self, metrics: Sequence[str] | None = None, *, bins: int = 50) -> Table:
        """What counters gained, and what other metrics were, in each of ``bins`` bins over the run.

        One row for each bin of each metric. ``gain``: of a counter, summed over locations; what it gained between two
        readings is spread evenly over the time between them. ``least``, ``greatest``: of another metric, whose value
        holds until the next one at its location. ``metrics``: names of those to be shown; by default all. Raises
        ``ValueError`` for an unknown metric.
        """
    def flat_profile(
        self, metrics: _Names | None = None, *, by: _By = "region", per_process: bool = False
    ) -> Table:
        """Times of each region: total, mean over all processes and mean over callers, most time first.

        ``metrics``: keep only "time.exc", "time.inc" or both. ``per_process``: one row for each region and rank instead
        of means. Pipit, operation ``flat_profile``; its code shows the mean over callers.
        """
    def time_profile(
        self, num_bins: int = 50, normalized: bool = False, *, by: _By = "region", idle: bool = False,
        wide: bool = False,
    ) -> Table:
        """Exclusive time of each region in each of ``num_bins`` bins over the run, summed over locations.

        ``num_bins`` rows for each region or, with ``idle``, one row for each bin: busy and idle time of all regions; in
        nanoseconds, and as fractions of width × number of locations. ``wide``: one row for each bin and one column for
        each region and for idle time, as in Pipit, in nanoseconds or, with ``normalized``, as fractions. One pass, or two if the trace declares a wrong
        length. Pipit, operation ``time_profile``.
        """
    def comm_matrix(
        self, output: _Output = "bytes", *, collectives: bool = False, log: bool = False
    ) -> CommMatrix:
        """Bytes or messages that each rank sends to each rank, from recorded sends.

        ``collectives``: add collective operations, distributed over pairs. ``log``: logarithmic colour scale in the
        picture. Pipit, operation ``comm_matrix``.
        """
    def comm_by_process(self, output: _Output = "bytes", *, collectives: bool = False) -> Table:
        """Messages and bytes that each rank sent, by its sends, and received, by its receives.

        ``output``: what the picture shows. Pipit, ``comm_by_process``.
        """
    def message_histogram(self, bins: int = 20, *, log: bool = False) -> Histogram:
        """Number of messages by size: ``bins`` of equal width from the smallest to the largest size, edges in bytes.

        ``log``: use bins by powers of two instead. Pipit, operation ``message_histogram``.
        """
    def comm_over_time(
        self, output: _Output = "bytes", message_type: Literal["send", "receive"] = "send", bins: int = 50
    ) -> Histogram:
        """Bytes or messages sent, or received, in each of ``bins`` bins over the run; edges in nanoseconds.

        The table has all four. Pipit, operation ``comm_over_time``.
        """
    def comm_comp_breakdown(
        self, *, host_code: Literal["without_streams", "always", "never"] = "without_streams", requests: bool = True,
        rules: str | os.PathLike[str] | None = None
    ) -> Table:
        """Computation, communication, their overlap and other time of each rank, by union of intervals.

        ``host_code``: whether host code counts as computation; by default, in processes without accelerator streams.
        ``requests``: whether a non-blocking operation communicates from its post to its completion.
        ``rules``: as for :meth:`report`.
        Pipit, operation ``comm_comp_breakdown``.
        """
    def load_imbalance(
        self, metric: str = "time.exc", *, num_processes: int = 5, by: _By = "region",
        rules: str | os.PathLike[str] | None = None
    ) -> Table:
        """``max / mean`` of the exclusive time of each region over all processes, most time lost first.

        ``metric``: ``"time.exc"``, or the name of a counter for its gain. ``num_processes``: maximum number of ranks in
        ``top_ranks``, the one with the most first; ranks with none are left out. ``rules``: as for :meth:`report`.
        A process that never runs a region counts as 0. Pipit, operation ``load_imbalance``, whose code takes the mean
        over callers.
        """
    def idle_time(
        self,
        idle_functions: _Names | None = None,
        mpi_events: bool | None = None,
        *,
        per: _Per = "rank",
        by: Literal["cause", "gap"] | None = None,
        step: int | None = None,
        step_range: str | None = None,
    ) -> Table:
        """Time in idle regions (nested ones count once) and, for accelerator streams, time in no region.

        By default the idle regions are those of ``ouzel idle``: "Idle", receives, waits, barriers and blocking
        collective operations of MPI. If you give one of the following, they are as in Pipit. ``idle_functions``: names
        with ``*`` and ``?``, "Idle" if not given. ``mpi_events``: also ``MPI_Recv``, ``MPI_Wait`` and ``MPI_Waitall``.
        ``by="cause"``: one row for each accelerator stream, its idle time divided by cause; the parts add up to it.
        ``by="gap"``: the 1,000 longest gaps of all streams, each with its main cause and with the call path in which the
        thread that launches the next operation was for most of it.
        ``step``, ``step_range``, with either: only the gaps before what one step launches, as for :meth:`kernels`.
        Pipit, operation ``idle_time``.
        """
    def kernels(
        self,
        *,
        by: Literal["kernel", "operator", "scope"] = "kernel",
        table: Literal[
            "rows",
            "types",
            "queues",
            "queue_lengths",
            "launch_delays",
            "launch_delay_ranges",
            "over_time",
            "copies",
            "copy_sizes",
            "copies_over_time",
            "communication",
            "stragglers",
            "steps",
            "memory",
            "memory_operators",
        ] = "rows",
        per: Literal["step"] | None = None,
        step: int | None = None,
        step_range: str | None = None,
        bins: int = 50,
    ) -> Table:
        """What accelerators run: kernels, communication and copies.

        ``by``: one row for each kernel, for each operator or function that launches, or for each range or Python
        function around the launch. ``table``: these rows, or time by type, the longest queue of each stream, the
        launch delays of each rank, copies by direction, collectives of devices, who comes late to these, or steps.
        ``per="step"``: rows are of one step each. ``step``: only what this step launches. ``step_range``: the name, with
        ``*`` and ``?``, of the range around each step; by default ``ProfilerStep`` of PyTorch. The table of steps has how
        long each takes, what it runs, why streams are idle, and why an outlier takes longer than the median.
        Rows say how most kernels are launched (blocks, threads, registers, shared memory) and the occupancy, where the
        trace has them. More tables: for how long queues have which length, how many launches have which delay, streams
        and copies in ``bins`` of equal width over time, copies by size, and memory of PyTorch's allocator by device and
        by operator.
        """
    def critical_path_analysis(
        self,
        *,
        by: Literal["segment", "region", "call_path", "bound"] = "segment",
        faster: list[str] | None = None,
        fused: bool = False,
        no_launch_cost: bool = False,
    ) -> Table:
        """The chain of work and waiting that determines the run time.

        One row for each segment, in order of time (segments tile the run); or for each region or call path, most time
        first, divided into working, in MPI, waiting, messages, collectives and launches; or for what bounds the path:
        CPU, GPU, launches or communication. With accelerators it follows launches and synchronisations. Two passes; memory depends on messages
        and collectives, not on calls. Pipit, operation ``critical_path_analysis``, whose code takes the latest send as
        the matching one.

        With changes of what accelerators do, the answer is one row instead: how long the run and a step would take, by
        a replay of hosts and streams. ``faster``: kernels, operators or scopes, e.g. ``["aten::mm=2"]``. ``fused``: one
        launch for all kernels that follow each other in a stream. ``no_launch_cost``: launches take no time. The
        changes are made together. Raises ``ValueError`` for a change of another form, :class:`OuzelError` for a name
        that no operation has.
        """
    def calculate_lateness(self, *, per: Literal["rank", "operation"] = "rank") -> Table:
        """How much later each operation ends than the first of its peers, by logical steps.

        Maximum and total lateness of each rank, or step, lateness and differential lateness of each operation.
        Raises :class:`OuzelError` if operations wait for each other in a circle. Pipit, ``calculate_lateness``, after
        Isaacs et al. (2016).
        """
    def waits(
        self, *, per: Literal["total", "rank"] = "total", classes: list[str] | None = None, delays: bool = False
    ) -> Waits:
        """Which calls wait for other ranks, threads or accelerators, of which kind, how long, and for whom.

        One row for each class and call path, and with ``per="rank"`` for each rank that waits: first the classes that
        are added up, then their parts, then completion and polling; most waiting first. ``classes``: only these, e.g.
        ``["late_sender", "wait_at_barrier"]``, in the words of the command line. ``delays``: also find which earlier code
        makes others wait; then waits for messages are divided into direct, indirect, propagating and terminal ones, and
        ``facts`` has delays, chains and the critical path. Without rows, nothing waits, or a notice says why waiting is
        unknown. Raises ``ValueError`` for an unknown class, or for one that needs ``delays=True``.
        """
    def what_if(
        self,
        *,
        faster: list[str] | None = None,
        remove: list[str] | None = None,
        balance: list[str] | None = None,
        network: str | None = None,
    ) -> WhatIf:
        """How long the run would take with changes, by replay: ``data`` of ``ouzel what-if``, see docs/method.md.

        ``faster``: e.g. ``["solve=2"]``. ``remove``, ``balance``: code, e.g. ``["solve", "main/step/pack", "solve/**",
        "solve@0-3"]``. ``network``: ``"ideal"``, or e.g. ``"latency=5us,bandwidth=12GB/s"``. The changes are made together.
        Without any, ``ranking`` says what changing each call path would gain. Raises ``ValueError`` for a change of another
        form, :class:`OuzelError` for code that the run does not have.
        """
    @overload
    def timeline(
        self, *, depth: bool = False, messages: bool = False, critical_path: bool = False,
        interactive: Literal[True],
    ) -> View: ...
    @overload
    def timeline(
        self, *, depth: bool = False, messages: bool = False, critical_path: bool = False,
        interactive: Literal[False] = False,
    ) -> Table:
        """What each location does over time, at instants of a grid as fine as the picture.

        One row for each stretch in which a location does the same thing. The arguments are for the picture
        (:meth:`Table.save_picture`): ``messages`` as arrows and the ``critical_path`` over the locations, or with
        ``depth`` the calls of the lowest rank as flames. Calls between two instants are not seen; select a range of
        time with :meth:`filter` for a finer grid. Beyond 1,024 locations, only every n-th has rows.

        ``interactive``: not a table, but the viewer with the timeline in its whole height, at any zoom, with what the
        arguments ask for; a notebook shows it in the cell. It is a :class:`View`, as of :meth:`view`.
        """
    def delays(self) -> Waits:
        """Which code of which rank makes others wait: what takes it longer than those who wait for it.

        One row for each class of waiting, call path and rank. ``short_term_ns`` is waiting of those who wait for the
        rank, ``long_term_ns`` that of others, who wait for ranks that waited themselves. ``facts`` has the chains of
        waiting, what stays unexplained, and the critical path; the picture shows the worst chain. Two passes.
        """
    def efficiency(
        self,
        *,
        per: Literal["segment", "iteration", "epoch", "cluster", "program"] | None = None,
        hybrid: Literal["multiplicative", "additive", "talp"] | None = None,
        rules: str | os.PathLike[str] | None = None,
        period_ns: int | None = None,
    ) -> Table:
        """The POP efficiencies of the run: how well the time was used, and what takes the rest.

        One row for each metric: ``parallel`` is ``load_balance`` times ``communication``, and so on with ``part_of``.
        ``value`` is a ratio, 1 being ideal; ``None`` if it cannot be computed, with the ``reason``. ``per``: also rows
        of each part of the run. ``hybrid``: also metrics that split the loss between processes and threads. ``rules``,
        ``period_ns``: as for :meth:`report`. For several runs, see :func:`efficiencies`.
        """
    def pattern_detection(
        self,
        start_event: str | None = None,
        iterations: int | None = None,
        window_size: int | None = None,
        process: int | None = None,
        metric: Literal["time.exc"] = "time.exc",
    ) -> Table:
        """Sequences of calls of one rank that repeat, by the matrix profile of their exclusive times.

        One row for each occurrence; pass ``start_ns`` and ``end_ns`` to :meth:`filter`. ``start_event``: name of the
        region that begins an iteration, detected if not given. ``window_size``: calls in an occurrence, at least 3.
        ``process``: the rank, by default the lowest. Raises :class:`OuzelError` if nothing repeats, ``ValueError`` if
        no region has the name. Time grows with the square of the number of calls.
        Pipit: operation ``pattern_detection`` in the paper, ``detect_pattern`` in the code.
        """
    def detect_pattern(
        self,
        start_event: str | None = None,
        iterations: int | None = None,
        window_size: int | None = None,
        process: int | None = None,
        metric: Literal["time.exc"] = "time.exc",
    ) -> Table:
        """The same as :meth:`pattern_detection`, under the name in Pipit's code."""
    def info(self) -> Info:
        """What is in the trace, and what is missing: ``data`` of ``ouzel info``; ``commands`` are empty.

        It is a dictionary that a prompt and a notebook show as a table. Reads all selected events.
        """
    def report(
        self, *, rules: str | os.PathLike[str] | None = None, period_ns: int | None = None
    ) -> Report:
        """The report of the run as data: what ``ouzel report --format json`` has under ``data``.

        ``rules``: a TOML file that says which regions compute, wait or synchronise, see docs/rules.md. Raises
        ``OSError`` if it cannot be read, ``ValueError`` if it does not hold rules. ``period_ns``: the time between
        samples, where the trace says it wrong, as ``--period`` does.
        """
    def save_report(
        self,
        path: str | os.PathLike[str],
        *,
        rules: str | os.PathLike[str] | None = None,
        period_ns: int | None = None,
        force: bool = False,
    ) -> None:
        """Writes the report of the run, with pictures, as HTML: the page of ``ouzel report -o PATH``.

        The page is one file and needs no network. What may be at ``path``, and ``force``, are as for
        :meth:`Table.save_picture`; ``rules``, ``period_ns``: as for :meth:`report`.
        """
    def view(
        self, others: Sequence[str | os.PathLike[str]] | None = None, *, port: int | None = None, idle: str = "2h"
    ) -> View:
        """Lets a browser look at the run, as ``ouzel view`` does: its ``url`` is the address, on this machine only.

        A notebook shows the page in the cell. There, the page asks through the kernel, so it works on JupyterHub and on
        other machines, too; that needs ``pip install './python[notebook]'``. While a cell runs, the page waits.

        What is selected here is what the page shows. ``others`` are the paths of runs to look at beside it. The server
        listens on ``port`` of 127.0.0.1, or on any that is free, and ends with :meth:`View.close`, with this process, or
        when nobody has asked anything for the time of ``idle``, e.g. ``"30m"``. Raises :class:`OuzelError` if it cannot
        be started.
        """
    def findings(
        self, *, rules: str | os.PathLike[str] | None = None, period_ns: int | None = None
    ) -> list[Finding]:
        """What costs the run time and why, largest gain first; gains do not overlap.

        ``rules``, ``period_ns``: as for :meth:`report`.
        """
    def segments(
        self, *, all: bool = False, rules: str | os.PathLike[str] | None = None, period_ns: int | None = None
    ) -> list[SegmentCard]:
        """What is lost before each synchronisation of all ranks: ``segments`` of ``ouzel segments``, in time order.

        ``all``: also those without a recoverable loss. ``rules``, ``period_ns``: as for :meth:`report`.
        """
    def clusters(
        self, *, rules: str | os.PathLike[str] | None = None, period_ns: int | None = None
    ) -> list[ClusterEntry]:
        """Which ranks behave alike, and how the others differ from the largest cluster.

        Wei and Mellor-Crummey, *Automated analysis of time series data* (ICS 2018), section 4. The entries are those
        of ``ouzel clusters --format json``. ``rules``, ``period_ns``: as for :meth:`report`.
        """
    def iterations(
        self, *, table: bool = False, rules: str | os.PathLike[str] | None = None, period_ns: int | None = None
    ) -> Any:
        """The loops of the program with their iterations, as ``ouzel iterations --format json`` has them.

        ``table``: a :class:`Table` with a row for each iteration; pass ``start_ns`` and ``end_ns`` to :meth:`filter`.
        ``rules``, ``period_ns``: as for :meth:`report`. Wei and Mellor-Crummey (ICS 2018), section 3.
        """
    def convert(
        self, path: str | os.PathLike[str], to: _Format, *, force: bool = False, csv_raw: bool = False
    ) -> list[Written]:
        """Writes the selection in another format, as ``ouzel convert PATH --to FORMAT`` does; see docs/convert.md.

        ``to``: ``otf2`` (an archive), ``csv`` or ``parquet`` (``path`` is the table of events if its name ends in the
        format, else a folder of tables), ``chrome`` (a file for Perfetto), ``cube`` (a profile of everything that is
        counted, :meth:`severity_cube`). Returns what was written: each file with its rows and its size in bytes.
        Files are complete or absent; ``force`` replaces existing ones, never inputs. ``csv_raw``: texts in CSV as they
        are; otherwise, those that a spreadsheet would take for a formula get an apostrophe. Raises ``FileExistsError``,
        ``ValueError`` for an input or an unknown format, ``OSError`` or :class:`OuzelError` if writing fails.
        """
    def print_records(
        self, file: TextIO | None = None, records: _Records | Sequence[_Records] = "events", *,
        location: Sequence[int] | None = None, merged: bool = False, raw: bool = False, offsets: bool = False,
        json: bool = False,
    ) -> None:
        """Writes a line for each record of an OTF2 archive to ``file`` (default: ``sys.stdout``), as ``ouzel print``
        does; see docs/records.md.

        ``records``: which, of ``"events"``, ``"definitions"``, ``"local"`` (id mapping and clock offsets of each
        location) and ``"markers"``. ``location``: only these, by their ids in the trace. ``merged``: in order of time
        instead of location by location. ``raw``: times in ticks and ids as in the file, before correction and mapping.
        ``offsets``: with the offset in bytes and the number of each record in its file. ``json``: a JSON object in
        each line. Records are as recorded, also of a trace with repaired clocks; events are selected by ``ranks``,
        ``time_ns`` and ``regions``. Raises ``ValueError`` if the selection has ``where`` or ``trim``,
        :class:`OuzelError` for another format than OTF2, and what ``file.write`` raises.
        """

def build() -> str:
    """Version and hash of the sources: the same in all processes that work together."""

def fingerprint(path: str | os.PathLike[str], expected: str) -> str:
    """Identity of the trace as this process sees it: its definitions and event bytes in 128 bits, as hexadecimal digits."""

def fold_group(job: bytes, path: str | os.PathLike[str], locations: Sequence[int]) -> list[bytes]:
    """Folds some locations into the rest and a piece of each bucket; a worker's part, see ``ouzel/_cluster.py``."""

def merge_partials(job: bytes, partials: Sequence[bytes]) -> bytes:
    """Merges partials into that of all their locations; a worker's part, see ``ouzel/_cluster.py``."""

def settle_bucket(job: bytes, path: str | os.PathLike[str], pieces: Sequence[bytes]) -> bytes:
    """Pairs one bucket of all locations; a worker's part, see ``ouzel/_cluster.py``."""

def events_of(trace: Trace, columns: Sequence[str], locations: Sequence[int] | None) -> Events:
    """Events that were pickled: these columns, of these locations if any are named."""

def reopened(path: str | os.PathLike[str], filter: str, jobs: int | None, repairs: str, fingerprint: str) -> Trace:
    """A trace that was pickled. Raises :class:`OuzelError` if the files at ``path`` are others now."""

def restored(kind: str, state: dict[str, Any], extra: Any) -> Table:
    """A table that was pickled."""

def check_output(path: str | os.PathLike[str], force: bool) -> None:
    """Raises if :func:`write_output` would, except for lack of space."""

def write_output(path: str | os.PathLike[str], text: str, force: bool) -> None:
    """Writes a text to a file, completely or not at all; the rules are those of :meth:`Table.save_picture`."""
