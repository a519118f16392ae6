"""Manners of data frames: columns that can be compared, masks, rows; what a library at hand does is left to it."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator
from typing import Any


class Column(list):
    """The values of a column: a list that is compared with one value row by row.

    ``column > 5`` and ``column == "solve"`` are masks, with which a table is indexed. Compared with another list, it is
    a list like any other. A missing value is ``None``; only ``!=`` holds for it.
    """

    def isin(self, values: Iterable[Any]) -> Mask:
        """Whether each value is one of ``values``."""
        found = list(values)
        return Mask(value in found for value in self)

    def _compared(self, other: Any, test: Callable[[Any, Any], Any], of_lists: Callable[[Any, Any], Any]) -> Any:
        if isinstance(other, list):
            return of_lists(self, other)
        none = test is operator.ne
        return Mask(none if value is None else bool(test(value, other)) for value in self)

    def __eq__(self, other: Any) -> Any:
        return self._compared(other, operator.eq, list.__eq__)

    def __ne__(self, other: Any) -> Any:
        return self._compared(other, operator.ne, list.__ne__)

    def __lt__(self, other: Any) -> Any:
        return self._compared(other, operator.lt, list.__lt__)

    def __le__(self, other: Any) -> Any:
        return self._compared(other, operator.le, list.__le__)

    def __gt__(self, other: Any) -> Any:
        return self._compared(other, operator.gt, list.__gt__)

    def __ge__(self, other: Any) -> Any:
        return self._compared(other, operator.ge, list.__ge__)

    __hash__ = None  # type: ignore[assignment]


class Mask(list):
    """True or False for each row: ``table[mask]``; masks are combined with ``&``, ``|`` and ``~``."""

    def __and__(self, other: Iterable[Any]) -> Mask:
        return Mask(bool(a and b) for a, b in zip(self, other, strict=True))

    def __or__(self, other: Iterable[Any]) -> Mask:
        return Mask(bool(a or b) for a, b in zip(self, other, strict=True))

    def __invert__(self) -> Mask:
        return Mask(not value for value in self)


def mask(values: Iterable[Any]) -> list[bool]:
    """True or False for each row, whatever library made them."""
    found = []
    for value in values:
        if not isinstance(value, bool) and getattr(getattr(value, "dtype", None), "kind", None) != "b":
            raise TypeError(f"{value!r} is neither True nor False")
        found.append(bool(value))
    return found


def rows(columns: dict[str, list[Any]]) -> Iterator[dict[str, Any]]:
    """The rows, each a dictionary."""
    names = list(columns)
    return (dict(zip(names, row)) for row in zip(*columns.values()))


def frame(table: Any) -> Any:
    """A data frame of pandas, or else of polars."""
    try:
        return table.to_pandas()
    except ImportError:
        pass
    try:
        return table.to_polars()
    except ImportError:
        raise ImportError("this needs a library of data frames: pip install pandas pyarrow, or polars") from None


def plot(table: Any) -> Any:
    """What the library's frames are plotted with."""
    return frame(table).plot


def compared(events: Any, name: str, other: Any) -> Any:
    """A column of events compared with a value: a series of the library."""
    if len(events.columns) != 1:
        return NotImplemented
    (column,) = events.columns
    values = frame(events)[column]
    if getattr(values.dtype, "name", None) == "category":
        values = values.astype(object)
    return getattr(operator, name)(values, other)


def selected(events: Any, mask: Any) -> Any:
    """The rows of events for which a mask is true: a frame of the library that made the mask, else of the one at hand."""
    if type(mask).__module__.startswith("polars"):
        return events.to_polars().filter(mask)
    found = frame(events)
    if hasattr(found, "loc"):
        return found[mask]
    return found.filter(mask)


def ordered(events: Any, by: Any, ascending: Any) -> Any:
    """The rows of events in the order of columns: a frame of the library at hand."""
    found = frame(events)
    direction = True if ascending is None else ascending
    if hasattr(found, "sort_values"):
        return found.sort_values(by, ascending=direction, kind="stable")
    reverse = [not each for each in direction] if isinstance(direction, list) else not direction
    return found.sort(by, descending=reverse, maintain_order=True)


def figure(png: bytes) -> Any:
    """A figure of matplotlib that shows a picture."""
    import io

    from matplotlib.figure import Figure
    from matplotlib.image import imread

    pixels = imread(io.BytesIO(png), format="png")
    height, width = pixels.shape[:2]
    made = Figure(figsize=(width / 200, height / 200), dpi=200)
    axes = made.add_axes((0, 0, 1, 1))
    axes.imshow(pixels)
    axes.set_axis_off()
    return made
