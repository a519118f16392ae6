"""Filters as objects, in Pipit's terms, for :meth:`ouzel.Trace.filter`.

A filter is a text of the filter language (see docs/filter.md) that can be combined: ``a & b``, ``a | b``, ``~a``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

#: Pipit's columns, as the filter language calls them.
_FIELDS = {
    "Name": "name",
    "Process": "rank",
    "Thread": "thread",
    "Timestamp (ns)": "time",
    "_depth": "depth",
    "time.inc": "inclusive",
    "time.exc": "exclusive",
}
_NATIVE = ("name", "path", "within", "depth", "rank", "thread", "time", "enter", "leave", "inclusive", "exclusive")
_TEXTS = ("name", "path", "within")
_TIMES = ("time", "enter", "leave", "inclusive", "exclusive")
#: The whole number of nanoseconds that a comparison with a number between two comes to.
_ROUNDED = {"<": math.ceil, "<=": math.floor, ">": math.floor, ">=": math.ceil}
_OPERATORS = ("==", "!=", "<", "<=", ">", ">=", "in", "not-in", "between", "like", "not-like")


class Filter:
    """A test of calls: ``Filter("Name", "==", "MPI_Send")``, ``Filter("Process", "in", [0, 1])``.

    ``field``: a column as Pipit calls it ("Name", "Process", "Thread", "Timestamp (ns)", "time.inc", "time.exc"), a
    field of the filter language ("name", "path", "within", "depth", "rank", "thread", "time", "enter", "leave",
    "inclusive", "exclusive"), or the name of a counter. ``operator``: "==", "!=", "<", "<=", ">", ">=", "in", "not-in",
    "between" (includes both ends; for times, only the first), "like" and "not-like" (``*`` and ``?``). ``value``: a
    text, a number (times in nanoseconds), or a list of them. Times are whole nanoseconds and are compared exactly with
    any number: above 1000.5 is above 1000, below it is below 1001; none is equal to it.

    Raises ``ValueError`` for any other operator. Pipit, class ``Filter``.
    """

    def __init__(self, field: str, operator: str, value: Any):
        if operator not in _OPERATORS:
            raise ValueError(f"operator {operator!r} is not one of {', '.join(_OPERATORS)}")
        name = _FIELDS.get(field, field)
        if name not in _NATIVE:
            name = f"metric({_quoted(field)})"
        word = operator.removeprefix("not-")
        values = _values(name, value, word)
        if word == "between":
            low, high = _pair(value)
            test = f"{name} between {_literal(name, low, '>=')} and {_literal(name, high, '<')}"
        else:
            test = f"{name} {word} {values}"
        self.text = f"not ({test})" if operator.startswith("not-") else test

    @classmethod
    def parse(cls, text: str) -> Filter:
        """A filter from a text of the filter language; the text is parsed when the filter is used."""
        made = cls.__new__(cls)
        made.text = text
        return made

    def __and__(self, other: Filter) -> Filter:
        return Filter.parse(f"({self.text}) and ({other.text})")

    def __or__(self, other: Filter) -> Filter:
        return Filter.parse(f"({self.text}) or ({other.text})")

    def __invert__(self) -> Filter:
        return Filter.parse(f"not ({self.text})")

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"Filter.parse({self.text!r})"


def _pair(value: Any) -> tuple[Any, Any]:
    try:
        low, high = value
    except (TypeError, ValueError):
        raise ValueError("between takes two values") from None
    return low, high


def _values(name: str, value: Any, word: str) -> str:
    if word not in ("in", "like"):
        return "" if isinstance(value, (list, tuple)) else _literal(name, value, word)
    if isinstance(value, str) or not isinstance(value, Iterable):
        value = [value]
    literals = [_literal(name, each, word) for each in value]
    if not literals:
        raise ValueError("the list of values is empty")
    return f"({', '.join(literals)})"


def _literal(name: str, value: Any, word: str) -> str:
    if name in _TEXTS:
        return _quoted(str(value))
    number = int(value)
    if name in _TIMES and word in _ROUNDED:
        number = _ROUNDED[word](value)
    elif number != value:
        raise ValueError(f"{name} must be compared with a non-negative whole number, not {value!r}")
    if number < 0:
        raise ValueError(f"{name} must be compared with a non-negative number, not {value!r}")
    return f"{number}ns" if name in _TIMES else str(number)


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
