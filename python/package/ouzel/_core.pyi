"""The compiled part of Ouzel, as types.

Sources named "Pipit" are Bhatele et al., *Pipit: Scripting the analysis of parallel execution traces* (SC 2023).
Every method of :class:`Trace` that reads events raises :class:`OuzelError` if the pass fails, ``KeyboardInterrupt``
after Ctrl-C, and ``ValueError`` for an invalid argument. Damaged data do not raise: they cause a
:class:`DataLostWarning` and are listed in ``notices``.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, TypedDict, final

__version__: str

_By = Literal["region", "call_path"]
_Per = Literal["total", "rank", "location"]
_Output = Literal["size", "count", "bytes", "messages"]
_Ranks = int | str | Iterable[int]
_Names = str | Iterable[str]
_TimeNs = tuple[float | None, float | None]
_Progress = bool | Callable[[int, int], object]

class OuzelError(Exception):
    """A trace cannot be read, or a question has no answer."""

class DataLostWarning(UserWarning):
    """Data were lost; the answer covers only the rest. ``warnings.simplefilter("error", DataLostWarning)`` makes it an error."""

class SelectionWarning(UserWarning):
    """A selection names something that the trace does not have (a region, a counter, a rank), or selects nothing."""

class Notice(TypedDict):
    """A problem that did not prevent an answer. ``level`` "high": data were lost."""

    level: Literal["low", "medium", "high"]
    code: str
    message: str
    count: int
    file: str | None
    offset: int | None
    location: int | None

class Coverage(TypedDict):
    """How much of the trace was read."""

    locations: int
    locations_selected: int
    locations_complete: int
    locations_damaged: int
    events_read: int

class Table:
    """A result: named columns of one length.

    Any library that supports Arrow's PyCapsule protocol accepts it: ``pyarrow.table(t)``,
    ``polars.DataFrame(t)``, ``duckdb.sql("select * from t")``. Times are integers in nanoseconds. A value that does
    not exist is ``None``, never zero. A call path is a list of names from the outermost region.
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
    def notices(self) -> list[Notice]:
        """Problems in the passes, worst first."""
    @property
    def coverage(self) -> Coverage:
        """How much of the trace the answer covers."""
    def __len__(self) -> int: ...
    def __getitem__(self, column: str) -> list[Any]:
        """The values of a column. Raises ``KeyError`` if no column has this name."""
    def to_dict(self) -> dict[str, list[Any]]:
        """The columns as lists."""
    def to_pandas(self) -> Any:
        """A ``pandas.DataFrame``. Raises ``ImportError`` without pandas; better types with pyarrow."""
    def to_polars(self) -> Any:
        """A ``polars.DataFrame``. Raises ``ImportError`` without polars."""
    def to_pyarrow(self) -> Any:
        """A ``pyarrow.Table``; the fields' metadata have units and explanations. Raises ``ImportError`` without it."""
    def save_picture(self, path: str | os.PathLike[str], *, force: bool = False) -> None:
        """Writes the picture that a notebook shows, as ``.svg`` or ``.png``. Raises :class:`OuzelError` if there is none.

        An existing file is replaced only with ``force=True``; otherwise ``FileExistsError`` is raised. A file of a
        trace or profile that this process has opened is never replaced (``ValueError``). The file is complete or not
        there.
        """
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def _repr_html_(self) -> str: ...
    def _repr_svg_(self) -> str | None: ...

class Location(TypedDict):
    """A sequence of time-ordered events: a thread, a stream, or a source of metric values."""

    location: int
    name: str
    rank: int | None
    kind: Literal["thread", "accelerator stream", "metric source", "unknown"]

@final
class EventRows:
    """Rows of events that were read: ``pyarrow.record_batch(rows)``, ``polars.DataFrame(rows)``."""

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
    def __len__(self) -> int: ...
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
    "Value". Rows are ordered by location, then by time. An event with values of several metrics has a row for each
    value. Calls of sampled locations are made from their samples. Not every payload of an event has a column:
    ``ouzel convert --to parquet`` writes all.
    """

    @property
    def columns(self) -> list[str]:
        """Names of the columns that are read."""
    @property
    def notices(self) -> list[Notice]:
        """Problems when rows were last read, worst first."""
    def __getitem__(self, columns: str | Sequence[str]) -> Events:
        """The same events with these columns. Raises ``KeyError`` for an unknown name."""
    def head(self, n: int = 5) -> EventRows:
        """The first ``n`` rows; only the first locations are read."""
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

def licenses() -> list[dict[str, Any]]:
    """Third-party crates in this module: ``name``, ``version``, ``license`` (SPDX) and ``texts`` of each."""

def multi_run_analysis(traces: Sequence[Trace], names: Sequence[str] | None = None) -> MultiRun:
    """Exclusive time of each region in each of several runs, in total and as mean over processes, costliest first.

    One row for each region and run; ``None`` if a run does not call the region. ``.runs`` has speed-up and efficiency.
    ``names``: names of the runs, their paths by default. Raises ``ValueError`` if there is no trace, or if the number
    of names differs from that of traces. Pipit: operation ``multi_run_analysis`` in the paper, ``multirun_analysis`` in
    the code.
    """

def multirun_analysis(traces: Sequence[Trace], names: Sequence[str] | None = None) -> MultiRun:
    """The same as :func:`multi_run_analysis`, under the name in Pipit's code."""

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
        """The question: ``reference``, ``topology``, ``axes``, and ``n_views``, ``n_transformed``."""

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
    def notices(self) -> list[dict[str, Any]]:
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
    def severities(self, metric: str | None = None, *, scope: str = "exclusive", by: str = "call_path") -> Table:
        """A metric for each call path or ``region``: ``total``, ``mean``, ``min``, ``max`` over locations, and where.

        ``scope``: ``exclusive`` or ``inclusive`` of callees. Units are those of the profile. ``metric``: the metric for
        time by default. Raises ``ValueError`` for an unknown metric, :class:`OuzelError` if it has no values in this
        scope.
        """
    def causes(
        self,
        metric: str | None = None,
        *,
        exclude: str | None = None,
        clustering: str = "ball",
        with_communication: bool = False,
        printed_rates: bool = False,
        jobs: int | None = None,
    ) -> dict[str, Any]:
        """Regions that make processes differ (``external``), regions that cost much (``internal``), and what explains
        them: ``data`` of ``ouzel causes``, see docs/json.md and docs/method.md.

        ``metric``: the metric to use as time. ``exclude``: ranks to leave out, e.g. ``"0,4-7"``. ``clustering``:
        ``ball`` or ``dbscan``. ``with_communication``: treat communication like any other region. ``printed_rates``:
        divide misses by misses + accesses. Raises ``ValueError`` for an invalid argument, :class:`OuzelError` if no
        metric can serve as time.
        """
    def correlate(
        self,
        metric: str | None = None,
        path: str | None = None,
        axes: Sequence[str] | None = None,
        top: int | None = 20,
        *,
        scope: str = "exclusive",
        topology: str | None = None,
        weights: str = "poster",
        peak: str = "absolute",
        cache: bool = True,
        spectra: str | os.PathLike[str] | None = None,
        jobs: int | None = None,
        palette: str = "cividis",
        draw: str = "slices",
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
    def notices(self) -> list[Notice]:
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
    def profile(self, *, by: _By = "region", per: _Per = "total") -> Table:
        """Visits, inclusive, exclusive, shortest and longest time of each region or call path.

        One row for each (region or call path) × (nothing, rank or location). Of recursive calls, only the outermost
        counts as inclusive.
        """
    def metric_profile(self, *, by: _By = "region", per: _Per = "total") -> Table:
        """Inclusive and exclusive increments of each counter, in its own unit; no rows if there are no counters."""
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

        ``num_bins`` rows for each region or, with ``idle``, one row for each bin: busy and idle time of all regions.
        ``wide``: one row for each bin and one column for each region, as in Pipit.
        ``normalized``: as fractions of width × number of locations. One pass, or two if the trace declares a wrong
        length. Pipit, operation ``time_profile``.
        """
    def comm_matrix(
        self, output: _Output = "size", *, collectives: bool = False, log: bool = False
    ) -> CommMatrix:
        """Bytes ("size") or messages ("count") that each rank sends to each rank, from recorded sends.

        ``collectives``: add collective operations, distributed over pairs. ``log``: logarithmic colour scale in the
        picture. Pipit, operation ``comm_matrix``.
        """
    def comm_by_process(self, output: _Output = "size", *, collectives: bool = False) -> Table:
        """What each rank sent, by its sends, and received, by its receives. Pipit, ``comm_by_process``."""
    def message_histogram(self, bins: int = 20, *, log: bool = False) -> Histogram:
        """Number of messages by size: ``bins`` of equal width from the smallest to the largest size, edges in bytes.

        ``log``: use bins by powers of two instead. Pipit, operation ``message_histogram``.
        """
    def comm_over_time(
        self, output: _Output = "size", message_type: Literal["send", "receive"] = "send", bins: int = 50
    ) -> Histogram:
        """Bytes or messages sent, or received, in each of ``bins`` bins over the run; edges in nanoseconds.

        The table has all four. Pipit, operation ``comm_over_time``.
        """
    def comm_comp_breakdown(
        self, *, host_code: Literal["without_streams", "always", "never"] = "without_streams", requests: bool = True
    ) -> Table:
        """Computation, communication, their overlap and other time of each rank, by union of intervals.

        ``host_code``: whether host code counts as computation; by default, in processes without accelerator streams.
        ``requests``: whether a non-blocking operation communicates from its post to its completion.
        Pipit, operation ``comm_comp_breakdown``.
        """
    def load_imbalance(
        self, metric: str = "time.exc", *, num_processes: int = 5, by: _By = "region"
    ) -> Table:
        """``max / mean`` of the exclusive time of each region over all processes, most time lost first.

        ``metric``: ``"time.exc"``, or the name of a counter for its gain. ``num_processes``: maximum number of ranks in
        ``top_ranks``, the one with the most first; ranks with none are left out.
        A process that never runs a region counts as 0. Pipit, operation ``load_imbalance``, whose code takes the mean
        over callers.
        """
    def idle_time(
        self, idle_functions: _Names | None = None, mpi_events: bool = False, *, per: _Per = "rank"
    ) -> Table:
        """Time in idle regions (nested ones count once) and, for accelerator streams, time in no region.

        ``idle_functions``: names with ``*`` and ``?``; "Idle" by default. ``mpi_events``: also ``MPI_Recv``,
        ``MPI_Wait`` and ``MPI_Waitall``. Pipit, operation ``idle_time``.
        """
    def critical_path_analysis(self, *, by: Literal["segment", "region", "call_path"] = "segment") -> Table:
        """The chain of work and waiting that determines the run time.

        One row for each segment, in order of time (segments tile the run); or for each region or call path, most time
        first, divided into working, in MPI, waiting, messages and collectives. Two passes; memory depends on messages
        and collectives, not on calls. Pipit, operation ``critical_path_analysis``, whose code takes the latest send as
        the matching one.
        """
    def calculate_lateness(self, *, per: Literal["rank", "operation"] = "rank") -> Table:
        """How much later each operation ends than the first of its peers, by logical steps.

        Maximum and total lateness of each rank, or step, lateness and differential lateness of each operation.
        Raises :class:`OuzelError` if operations wait for each other in a circle. Pipit, ``calculate_lateness``, after
        Isaacs et al. (2016).
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
    def report(self) -> dict[str, Any]:
        """The report of the run as data: what ``ouzel report --format json`` has under ``data``."""
    def save_report(self, path: str | os.PathLike[str], *, force: bool = False) -> None:
        """Writes the report of the run, with pictures, as HTML: the page of ``ouzel report -o PATH``.

        The page is one file and needs no network. The rules for ``path`` are those of :meth:`Table.save_picture`.
        """
    def findings(self) -> list[dict[str, Any]]:
        """What costs the run time and why, largest gain first; gains do not overlap."""
    def segments(self) -> list[dict[str, Any]]:
        """What is lost before each synchronisation of all ranks; only segments with a recoverable loss."""
    def clusters(self) -> list[dict[str, Any]]:
        """Which ranks behave alike, and how the others differ from the largest cluster.

        Wei and Mellor-Crummey, *Automated analysis of time series data* (ICS 2018), section 4. The entries are those
        of ``ouzel clusters --format json``.
        """
    def iterations(self, *, table: bool = False) -> Any:
        """The loops of the program with their iterations, as ``ouzel iterations --format json`` has them.

        ``table``: a :class:`Table` with a row for each iteration; pass ``start_ns`` and ``end_ns`` to :meth:`filter`.
        Wei and Mellor-Crummey (ICS 2018), section 3.
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

def check_output(path: str | os.PathLike[str], force: bool) -> None:
    """Raises if :func:`write_output` would, except for lack of space."""

def write_output(path: str | os.PathLike[str], text: str, force: bool) -> None:
    """Writes a text to a file, completely or not at all; the rules are those of :meth:`Table.save_picture`."""
