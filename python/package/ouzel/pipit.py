"""Pipit's interface: ``import ouzel.pipit as pipit`` in a script for Pipit, and nothing else needs to change.

    pandas frame (Trace.events) ◄── events of ouzel.Trace          rows as Pipit has them, in order of time
    operations ──► ouzel's ──► names, index and columns of Pipit   computed by Ouzel, from the files

Law: names of methods, parameters, columns and indices are those of Pipit (Bhatele et al., SC 2023; its branch
``develop``); what is summed is summed by Ouzel. Only what Pipit writes into the frame itself, such as
``_matching_event`` or ``time.exc``, is worked out here, row by row, so that it follows a frame that a script changed.
Where Pipit's numbers are wrong, docs/pipit.md says so.
"""

# Frames of pandas have no types of columns.
# mypy: ignore-errors

from __future__ import annotations

import json
import os
import tempfile
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import ouzel
from ouzel._options import get_option, reset_option, set_option

__all__ = ["Filter", "Trace", "get_option", "reset_option", "set_option"]

_TIME = "Timestamp (ns)"
_SENDS = ["MpiSend", "MpiIsend"]
_RECEIVES = ["MpiRecv", "MpiIrecv"]
_FILTERED = "[filtered]"


class Filter:
    """A test of events, as Pipit has it: a field, an operator and a value, or an expression of ``DataFrame.query``.

    ``keep_invalid``: keep Enter and Leave rows whose other half does not pass. Filters are combined with ``&``, ``|``
    and ``~``.
    """

    def __init__(
        self,
        field: str | None = None,
        operator: str | None = None,
        value: Any = None,
        expr: str | None = None,
        keep_invalid: bool = False,
    ) -> None:
        self.field, self.operator, self.value = field, operator, value
        self.expr, self.keep_invalid = expr, keep_invalid
        # What Ouzel reads by; an expression of pandas is for the frame alone.
        self.of_calls = None if field is None or operator is None else ouzel.Filter(field, operator, value)

    def __and__(self, other: Filter) -> Filter:
        return _Combined("&", self, other)

    def __or__(self, other: Filter) -> Filter:
        return _Combined("|", self, other)

    def __invert__(self) -> Filter:
        return _Combined("~", self)

    def __repr__(self) -> str:
        return f"Filter {self.expr!r}" if self.expr is not None else f"Filter {self.field!r} {self.operator} {self.value!r}"

    def mask(self, events: pd.DataFrame) -> Any:
        """True for each row that passes."""
        if self.expr is not None:
            return events.eval(self.expr)
        if self.field not in events.columns:
            raise ValueError(f"Filter: the events have no column {self.field!r}; there are {', '.join(events.columns)}")
        column, value = events[self.field], self.value
        if column.dtype.name == "category":
            column = column.astype(object)
        if self.field == _TIME:
            value = [_nanoseconds(v) for v in value] if isinstance(value, (list, tuple)) else _nanoseconds(value)
        match self.operator:
            case "in":
                return column.isin(value)
            case "not-in":
                return ~column.isin(value)
            case "between":
                return (column >= value[0]) & (column <= value[1])
            case "==":
                return column == value
            case "!=":
                return column != value
            case "<":
                return column < value
            case "<=":
                return column <= value
            case ">":
                return column > value
            case ">=":
                return column >= value
        raise ValueError(f"Filter({self.field!r}): operator {self.operator!r} is unknown")


class _Combined(Filter):
    """Filters joined by an operator."""

    def __init__(self, sign: str, *parts: Filter) -> None:
        super().__init__(keep_invalid=any(part.keep_invalid for part in parts))
        self.sign, self.parts = sign, parts
        calls = [part.of_calls for part in parts]
        if all(of is not None for of in calls):
            self.of_calls = ~calls[0] if sign == "~" else calls[0] & calls[1] if sign == "&" else calls[0] | calls[1]

    def __repr__(self) -> str:
        return f"Not ({self.parts[0]!r})" if self.sign == "~" else f" {self.sign} ".join(f"({p!r})" for p in self.parts)

    def mask(self, events: pd.DataFrame) -> Any:
        masks = [part.mask(events) for part in self.parts]
        return ~masks[0] if self.sign == "~" else masks[0] & masks[1] if self.sign == "&" else masks[0] | masks[1]


def _nanoseconds(value: Any) -> float:
    """A time as Pipit takes it: nanoseconds, or a text such as ``"10 ms"``."""
    if not isinstance(value, str):
        return value
    text = value.replace(" ", "")
    for unit, factor in (("ns", 1), ("us", 1e3), ("ms", 1e6), ("s", 1e9)):
        if text.endswith(unit):
            return float(text.removesuffix(unit)) * factor
    return float(text)


class Trace:
    """A trace as Pipit has it: ``events`` is a pandas frame, ``definitions`` another."""

    def __init__(self, definitions: pd.DataFrame | None, events: pd.DataFrame | None, cct: Any = None) -> None:
        self._source: ouzel.Trace | None = None
        self._definitions, self._events, self.cct = definitions, events, cct
        self._n_rows = None
        self._folder: tempfile.TemporaryDirectory | None = None
        self._selected: Filter | None = None
        self.inc_metrics: list[str] = []
        self.exc_metrics: list[str] = []

    # Readers

    @staticmethod
    def from_otf2(dirname: Any, num_processes: int | None = None, create_cct: bool = False) -> Trace:
        """Opens an OTF2 archive. ``num_processes``: threads that read it."""
        return _opened(ouzel.Trace.from_otf2(dirname), num_processes, create_cct)

    @staticmethod
    def from_hpctoolkit(dirname: Any) -> Trace:
        """Opens an HPCToolkit database."""
        return _opened(ouzel.Trace.from_hpctoolkit(dirname))

    @staticmethod
    def from_projections(dirname: Any, num_processes: int | None = None, create_cct: bool = False) -> Trace:
        """Opens the logs of Projections."""
        return _opened(ouzel.Trace.from_projections(dirname), num_processes, create_cct)

    @staticmethod
    def from_nsight(filename: Any, create_cct: bool = False) -> Trace:
        """Opens an SQLite export of Nsight Systems."""
        return _opened(ouzel.Trace.from_nsight(filename), None, create_cct)

    @staticmethod
    def from_pytorch(dirname: Any, create_cct: bool = False) -> Trace:
        """Opens a trace of the PyTorch profiler."""
        return _opened(ouzel.Trace.from_pytorch(dirname), None, create_cct)

    @staticmethod
    def from_csv(filename: Any) -> Trace:
        """Opens a table of events."""
        return _opened(ouzel.Trace.from_csv(filename))

    # Frames

    @property
    def events(self) -> pd.DataFrame:
        """A row for each event, in order of time: "Timestamp (ns)", "Event Type", "Name", "Thread", "Process",
        "Attributes", and what operations added.
        """
        if self._events is None:
            self._events = _frame(self._source)
            self._n_rows = len(self._events)
        return self._events

    @events.setter
    def events(self, events: pd.DataFrame) -> None:
        self._events, self._n_rows = events, None

    @property
    def definitions(self) -> pd.DataFrame:
        """A row for each definition: "Definition Type", "ID", "Attributes"."""
        if self._definitions is None and self._source is not None:
            self._definitions = _definitions(self._source)
        return self._definitions

    @definitions.setter
    def definitions(self, definitions: pd.DataFrame) -> None:
        self._definitions = definitions

    @property
    def numeric_cols(self) -> list[str]:
        """Columns of numbers, of which metrics can be calculated."""
        own = [name for name in self.events.columns if not str(name).startswith("_") and "." not in str(name)]
        return list(self.events[own].select_dtypes(include=[np.number]).columns)

    @property
    def _ouzel(self) -> ouzel.Trace:
        """The trace that Ouzel asks: the files, or the frame if a script changed it."""
        if self._source is not None and (self._events is None or len(self._events) == self._n_rows):
            return self._source
        self._folder = tempfile.TemporaryDirectory(prefix="ouzel-pipit-")
        path = Path(self._folder.name) / "events.csv"
        _as_csv(self.events).to_csv(path, index=False)
        return ouzel.Trace.from_csv(path)

    def _match_events(self) -> None:
        """Adds ``_matching_event``, the row of the other half of a call, and ``_matching_timestamp``."""
        if "_matching_event" in self.events.columns:
            return
        events = self.events
        other = np.full(len(events), -1)
        for enter, leave, _ in _calls(events):
            other[enter], other[leave] = leave, enter
        found = other >= 0
        index, times = events.index.to_numpy(), events[_TIME].to_numpy()
        events["_matching_event"] = pd.array(np.where(found, index[other], 0), dtype="Int64")
        events.loc[~found, "_matching_event"] = pd.NA
        events["_matching_timestamp"] = np.where(found, times[other].astype(float), np.nan)

    def _match_caller_callee(self) -> None:
        """Adds ``_depth``, ``_parent`` and ``_children``, for the Enter rows of calls that end."""
        if "_children" in self.events.columns:
            return
        self._match_events()
        events = self.events
        index = events.index.to_numpy()
        depth, parents = [pd.NA] * len(events), [pd.NA] * len(events)
        children: list[list[int] | None] = [None] * len(events)
        for enter, _, callers in _calls(events):
            depth[enter] = len(callers)
            if callers:
                parents[enter] = index[callers[-1]]
        for i, parent in enumerate(parents):
            if parent is not pd.NA:
                at = events.index.get_loc(parent)
                children[at] = [*(children[at] or []), index[i]]
        events["_depth"] = pd.array(depth, dtype="Int32").astype("category")
        events["_parent"] = pd.array(parents, dtype="Int64").astype("category")
        events["_children"] = pd.Series(children, index=events.index, dtype=object)

    def calc_inc_metrics(self, columns: Sequence[str] | None = None) -> None:
        """Adds ``time.inc``, and the same of other columns: the value at the end of a call less that at its begin."""
        self._match_events()
        events = self.events
        enters = events[(events["Event Type"] == "Enter") & events["_matching_event"].notnull()]
        leaves = events.loc[enters["_matching_event"].astype(int)]
        for column in self.numeric_cols if columns is None else columns:
            name = _metric(column, "inc")
            if name not in events.columns:
                events[name] = np.nan
                events.loc[enters.index, name] = leaves[column].to_numpy() - enters[column].to_numpy()
            if name not in self.inc_metrics:
                self.inc_metrics.append(name)

    def calc_exc_metrics(self, columns: Sequence[str] | None = None) -> None:
        """Adds ``time.exc``, and the same of other columns: the inclusive value less that of the callees."""
        columns = self.numeric_cols if columns is None else columns
        self._match_caller_callee()
        self.calc_inc_metrics(columns)
        events = self.events
        parents = events["_parent"].astype("Int64")
        for column in columns:
            inclusive, name = events[_metric(column, "inc")], _metric(column, "exc")
            if name not in events.columns:
                inside = inclusive.groupby(parents).sum()
                events[name] = inclusive - inside.reindex(events.index, fill_value=0)
            if name not in self.exc_metrics:
                self.exc_metrics.append(name)

    def create_cct(self) -> None:
        """Makes ``cct``: the call tree, a row for each node."""
        self.cct = self._ouzel.create_cct().to_pandas()

    def filter(self, field: Any, operator: str | None = None, value: Any = None, keep_invalid: bool = False) -> Trace:
        """The trace of the events that pass a :class:`Filter`, or a field, an operator and a value."""
        test = field if isinstance(field, Filter) else Filter(field, operator, value, keep_invalid=keep_invalid)
        if any(column in ("_matching_event", "time.inc", "time.exc", "_depth") for column in _fields(test)):
            self.calc_exc_metrics([_TIME])
        if not test.keep_invalid:
            self._match_events()
        events = self.events
        kept = events[test.mask(events).fillna(False).astype(bool)]
        if not test.keep_invalid:
            whole = kept["_matching_event"].isin(kept.index)
            kept = kept[whole | ~kept["Event Type"].isin(["Enter", "Leave"])]
        made = Trace(self.definitions if self._source is not None else self._definitions, kept.copy())
        if self._source is not None and test.of_calls is not None and len(self.events) == self._n_rows:
            made._source, made._n_rows, made._selected = self._source.filter(test.of_calls), len(kept), test
        return made

    # Operations

    def comm_matrix(self, output: str = "size") -> np.ndarray:
        """What each process sends to each, in bytes (``"size"``) or messages (``"count"``): rows are senders."""
        return self._ouzel.comm_matrix(output).to_numpy().astype(float)

    def message_histogram(self, bins: Any = 20, **kwargs: Any) -> tuple[np.ndarray, np.ndarray]:
        """Numbers of messages by size, and the edges of the sizes, as ``numpy.histogram`` has them."""
        if isinstance(bins, int) and not kwargs:
            counts, edges = self._ouzel.message_histogram(bins)
            return np.array(counts), np.array(edges)
        return np.histogram(self._sizes(_SENDS), bins=bins, **kwargs)

    def comm_over_time(
        self, output: str = "size", message_type: str = "send", bins: Any = 50, **kwargs: Any
    ) -> tuple[np.ndarray, np.ndarray]:
        """What is sent or received over time, and the edges of the bins."""
        if isinstance(bins, int) and not kwargs:
            counts, edges = self._ouzel.comm_over_time(output, message_type, bins)
            return np.array(counts), np.array(edges)
        names = _SENDS if message_type == "send" else _RECEIVES
        events = self.events[self.events["Name"].isin(names)]
        times = self.events[_TIME]
        weights = self._sizes(names) if output == "size" else None
        return np.histogram(events[_TIME], bins=bins, weights=weights, range=[times.min(), times.max()], **kwargs)

    def _sizes(self, names: list[str]) -> list[int]:
        chosen = self.events[self.events["Name"].isin(names)]
        return [attributes["msg_length"] for attributes in chosen["Attributes"]]

    def comm_by_process(self, output: str = "size") -> pd.DataFrame:
        """What each process sent and received: ``Sent`` and ``Received`` by ``Process``."""
        table = self._ouzel.comm_by_process(output)
        sent, received = ("sends", "receives") if output == "count" else ("bytes_sent", "bytes_received")
        columns = {"Sent": table[sent], "Received": table[received]}
        return pd.DataFrame(columns, index=pd.Index(list(table["rank"]), name="Process"), dtype=float)

    def flat_profile(
        self, metrics: Any = "time.exc", groupby_column: Any = "Name", per_process: bool = False
    ) -> pd.DataFrame:
        """The metrics of each function: the mean over the processes that call it, or with ``per_process`` of each."""
        wanted = [metrics] if isinstance(metrics, str) else list(metrics)
        if groupby_column == "Name" and all(metric in ("time.exc", "time.inc") for metric in wanted):
            table = self._ouzel.flat_profile(per_process=True)
            frame = pd.DataFrame(
                {
                    "Name": list(table["region"]),
                    "Process": list(table["rank"]),
                    "time.exc": np.array(table["exclusive_ns"], dtype=float),
                    "time.inc": np.array(table["inclusive_ns"], dtype=float),
                }
            )
            frame = frame[frame["Name"] != _FILTERED]
            keys = ["Name", "Process"]
        else:
            self.calc_exc_metrics([metric.rpartition(".")[0].replace("time", _TIME, 1) for metric in wanted])
            frame = self.events[self.events["Event Type"] == "Enter"]
            grouped = [groupby_column] if isinstance(groupby_column, str) else list(groupby_column)
            keys = list(dict.fromkeys([*grouped, "Process"]))
        sums = frame.groupby(keys, observed=True)[wanted].sum()
        return sums if per_process or keys == ["Process"] else sums.groupby(keys[:-1], observed=True).mean()

    def load_imbalance(self, metric: str = "time.exc", num_processes: int = 1) -> pd.DataFrame:
        """``max / mean`` of each function over the processes that call it, and the processes with most."""
        profile = self.flat_profile(metric, per_process=True)[metric]
        rows = {}
        for name, of in profile.groupby(level=0, observed=True):
            of = of.droplevel(0).sort_values(ascending=False, kind="stable")
            mean = of.mean()
            rows[name] = (of.iloc[0] / mean if mean else 1.0, list(of.index[:num_processes]), mean)
        columns = [f"{metric}.imbalance", "Top processes", f"{metric}.mean"]
        frame = pd.DataFrame.from_dict(rows, orient="index", columns=columns)
        return frame.sort_values(columns[2], ascending=False, kind="stable")

    def idle_time(self, idle_functions: Iterable[str] = ("Idle",), mpi_events: bool = False) -> pd.DataFrame:
        """The time in idle functions: ``Idle Time`` of each ``Process``."""
        with warnings.catch_warnings():
            # Few traces have Pipit's default, "Idle".
            warnings.simplefilter("ignore", ouzel.SelectionWarning)
            table = self._ouzel.idle_time([*idle_functions], mpi_events)
        return pd.DataFrame({"Process": list(table["rank"]), "Idle Time": list(table["idle_ns"])})

    def time_profile(self, num_bins: int = 50, normalized: bool = False) -> pd.DataFrame:
        """The exclusive time of each function in each of ``num_bins`` bins, and the idle time, summed over locations."""
        table = self._ouzel.time_profile(num_bins, wide=True)
        names = [name for name in table.columns if name not in ("bin", "bin_start_ns", "bin_end_ns", "idle_time", _FILTERED)]
        edges = np.array([*table["bin_start_ns"], table["bin_end_ns"][-1]], dtype=float)
        edges = np.linspace(edges[0], edges[-1], num_bins + 1)
        frame = pd.DataFrame({name: np.array(table[name], dtype=float) for name in ["idle_time", *names]})
        if normalized:
            frame /= (edges[1] - edges[0]) * len([each for each in self._ouzel.locations if each["kind"] != "metric source"])
        frame.insert(0, "bin_start", edges[:-1])
        frame.insert(0, "bin_end", edges[1:])
        return frame

    @staticmethod
    def multirun_analysis(
        traces: Sequence[Trace], metric_column: str = _TIME, groupby_column: str = "Name"
    ) -> pd.DataFrame:
        """The exclusive metric of each function in each run: a row for each run, costliest function first."""
        metric = _metric(metric_column, "exc")
        profiles = [trace.flat_profile(metric, groupby_column)[metric] for trace in traces]
        frame = pd.concat(profiles, axis=1).T
        frame.index = pd.Index([len(trace._ouzel.ranks) for trace in traces], name="Number of Processes")
        return frame[frame.sum().sort_values(ascending=False, kind="stable").index]

    multi_run_analysis = multirun_analysis

    def detect_pattern(
        self,
        start_event: str | None = None,
        iterations: int | None = None,
        window_size: int | None = None,
        process: int = 0,
        metric: str = "time.exc",
    ) -> list[pd.DataFrame]:
        """The events of each occurrence of the sequence that repeats: a frame for each."""
        table = self._ouzel.detect_pattern(start_event, iterations, window_size, process, metric)
        events = self.events[self.events["Process"] == process]
        return [
            events[(events[_TIME] >= row["start_ns"]) & (events[_TIME] <= row["end_ns"])]
            for row in table
        ]

    pattern_detection = detect_pattern

    def critical_path_analysis(self) -> pd.DataFrame:
        """The segments of the critical path, in order of time."""
        return self._ouzel.critical_path_analysis().to_pandas()

    def calculate_lateness(self) -> pd.DataFrame:
        """The lateness of each operation by logical steps."""
        return self._ouzel.calculate_lateness(per="operation").to_pandas()

    def comm_comp_breakdown(self) -> pd.DataFrame:
        """Computation, communication and their overlap in each process."""
        return self._ouzel.comm_comp_breakdown().to_pandas()

    def to_chrome(self, filename: str | os.PathLike[str] | None = None) -> str | None:
        """Writes the trace for Perfetto; without a file name, returns the text."""
        if filename is not None:
            self._ouzel.convert(filename, "chrome", force=True)
            return None
        with tempfile.TemporaryDirectory(prefix="ouzel-pipit-") as folder:
            path = Path(folder) / "trace.json"
            self._ouzel.convert(path, "chrome")
            return path.read_text()

    # Pictures: each shows itself in a notebook, and is written with .save(…)

    def plot_timeline(self, show_depth: bool = False, **kwargs: Any) -> ouzel.Picture:
        """What each process does over time, with messages as arrows, or with ``show_depth`` the calls of the first."""
        if show_depth:
            return _picture(self._ouzel.timeline(depth=True), kwargs)
        return _picture(self._ouzel.timeline(messages=True, critical_path=kwargs.pop("critical_path", False)), kwargs)

    def plot_comm_matrix(self, output: str = "size", mapping: str = "linear", **kwargs: Any) -> ouzel.Picture:
        """Who sends how much to whom, on a linear scale of colours or with ``mapping="log"`` on a logarithmic one."""
        return _picture(self._ouzel.comm_matrix(output, log=mapping == "log"), kwargs)

    def plot_message_histogram(self, bins: int = 20, **kwargs: Any) -> ouzel.Picture:
        """Numbers of messages by size."""
        return _picture(self._ouzel.message_histogram(bins), kwargs)

    def plot_comm_over_time(
        self, output: str = "size", message_type: str = "send", bins: int = 50, **kwargs: Any
    ) -> ouzel.Picture:
        """What is sent and received over time."""
        return _picture(self._ouzel.comm_over_time(output, message_type, bins), kwargs)

    def plot_comm_by_process(self, output: str = "size", **kwargs: Any) -> ouzel.Picture:
        """What each process sends and receives."""
        return _picture(self._ouzel.comm_by_process(output), kwargs)

    plot_comm_summary = plot_comm_by_process

    def plot_time_profile(self, num_bins: int = 50, **kwargs: Any) -> ouzel.Picture:
        """Where the time goes during the run."""
        return _picture(self._ouzel.time_profile(num_bins), kwargs)

    def plot_load_imbalance(self, **kwargs: Any) -> ouzel.Picture:
        """Which functions lose most to imbalance."""
        return _picture(self._ouzel.load_imbalance(), kwargs)

    plot_flat_profile = plot_load_imbalance

    def plot_lateness(self, **kwargs: Any) -> ouzel.Picture:
        """How late operations end, by logical steps."""
        return _picture(self._ouzel.calculate_lateness(), kwargs)

    def plot_comm_comp_breakdown(self, **kwargs: Any) -> ouzel.Picture:
        """Computation, communication and their overlap in each process."""
        return _picture(self._ouzel.comm_comp_breakdown(), kwargs)


_STYLES = ("title", "subtitle", "width", "height", "x_label", "y_label", "palette")


def _picture(table: ouzel.Table, kwargs: dict[str, Any]) -> ouzel.Picture:
    unknown = sorted(set(kwargs) - set(_STYLES) - {"instant_events", "kind", "labels"})
    if unknown:
        raise TypeError(f"unknown arguments: {', '.join(unknown)}; pictures take {', '.join(_STYLES)}")
    usual = {"width": get_option("plot.width"), "height": get_option("plot.height")}
    return table.picture(**{**usual, **{name: kwargs[name] for name in _STYLES if name in kwargs}})


def _metric(column: str, kind: str) -> str:
    return ("time" if column == _TIME else column) + "." + kind


def _fields(test: Filter) -> list[str]:
    if isinstance(test, _Combined):
        return [field for part in test.parts for field in _fields(part)]
    return [test.field] if test.expr is None and test.field is not None else [test.expr or ""]


def _opened(source: ouzel.Trace, num_processes: int | None = None, create_cct: bool = False) -> Trace:
    made = Trace(None, None)
    made._source = source if num_processes is None else source.filter(jobs=num_processes)
    if create_cct:
        made.create_cct()
    return made


def _frame(source: ouzel.Trace | None) -> pd.DataFrame:
    """The events as Pipit has them. Sources of metric values have no thread, and Pipit no rows for them."""
    if source is None:
        raise ValueError("a trace without events")
    columns = [_TIME, "Event Type", "Name", "Thread", "Process", "Partner", "Tag", "Bytes", "Value", "Region"]
    events = source.events[columns].to_pandas()
    events = events[events["Thread"].notnull()]
    events = events.sort_values(_TIME, kind="stable", ignore_index=True)
    payload = zip(*(events[name].astype(object).where(events[name].notnull(), None) for name in columns[5:]))
    events["Attributes"] = pd.Series(
        [_attributes(kind, name, *values) for kind, name, values in zip(events["Event Type"], events["Name"], payload)],
        index=events.index,
        dtype=object,
    )
    events[_TIME] = events[_TIME].astype(float)
    for name in ("Thread", "Process"):
        events[name] = events[name].astype("int32" if events[name].notnull().all() else "Int32")
    return events.drop(columns=columns[5:])


def _attributes(
    kind: str, name: str, partner: Any, tag: Any, size: Any, value: Any, region: Any
) -> dict[str, Any] | None:
    if kind == "Enter":
        return {"region": f"Region {int(region)}"}
    if kind == "Leave":
        return None
    found: dict[str, Any] = {}
    if partner is not None:
        found["receiver" if name in _SENDS else "sender"] = int(partner)
    if tag is not None:
        found["msg_tag"] = int(tag)
    if size is not None:
        found["msg_length"] = int(size)
    if value is not None:
        found["value"] = value
    return found


def _definitions(source: ouzel.Trace) -> pd.DataFrame:
    """What a trace defines: the records of an OTF2 archive; of other formats, processes and regions."""
    rows: list[tuple[str, Any, Any]] = []
    if source.format == "OTF2":

        class Lines:
            def write(self, text: str) -> int:
                for line in text.splitlines():
                    record = json.loads(line)
                    kind, number = record.pop("definition", None), record.pop("id", None)
                    for place in ("file_offset", "number", "offset"):
                        record.pop(place, None)
                    if kind is not None:
                        rows.append((kind, number, record))
                return len(text)

        source.print_records(Lines(), "definitions", json=True)
    else:
        rows += [("Location", i, dict(location)) for i, location in enumerate(source.locations)]
        rows += [("Region", i, dict(row)) for i, row in enumerate(source.region_table())]
    frame = pd.DataFrame(rows, columns=["Definition Type", "ID", "Attributes"])
    return frame.astype({"Definition Type": "category"})


def _calls(events: pd.DataFrame) -> Iterable[tuple[int, int, list[int]]]:
    """The places of Enter and Leave of each call that ends, and of the Enters around it that end, too."""
    kinds, names = events["Event Type"].to_numpy(dtype=object), events["Name"].to_numpy(dtype=object)
    threads = events["Thread"].to_numpy() if "Thread" in events.columns else np.zeros(len(events), dtype=int)
    processes = events["Process"].to_numpy()
    stacks: dict[Any, list[int]] = {}
    matched = np.full(len(events), -1)
    for place, (kind, name, process, thread) in enumerate(zip(kinds, names, processes, threads)):
        if kind == "Enter":
            stacks.setdefault((process, thread), []).append(place)
        elif kind == "Leave":
            stack = stacks.setdefault((process, thread), [])
            # Enters without an end, above the one that ends here, stay without one.
            at = next((i for i in range(len(stack) - 1, -1, -1) if names[stack[i]] == name), None)
            if at is not None:
                matched[stack[at]], matched[place] = place, stack[at]
                del stack[at:]
    open_calls: dict[Any, list[int]] = {}
    for place in np.flatnonzero(matched >= 0):
        stack = open_calls.setdefault((processes[place], threads[place]), [])
        if matched[place] > place:
            yield place, matched[place], list(stack)
            stack.append(place)
        else:
            stack.remove(matched[place])


def _as_csv(events: pd.DataFrame) -> pd.DataFrame:
    """A frame as the table of events that Ouzel reads, with Pipit's attributes of messages."""
    names = (_TIME, "Event Type", "Name", "Process", "Thread", "Attributes")
    return events[[name for name in names if name in events.columns]]
