"""Filters as objects, in Pipit's terms, for :meth:`ouzel.Trace.filter`.

A filter is a text of the filter language (see docs/filter.md) that can be combined: ``a & b``, ``a | b``, ``~a``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from fractions import Fraction
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
#: Times as texts, as Pipit takes them for time stamps.
_TIME = re.compile(r"\s*([0-9]+(?:\.[0-9]*)?|\.[0-9]+)\s*(ns|us|ms|s)\s*")
_NS = {"ns": 1, "us": 1_000, "ms": 1_000_000, "s": 1_000_000_000}
_OPERATORS = ("==", "!=", "<", "<=", ">", ">=", "in", "not-in", "between", "like", "not-like")


class Filter:
    """A test of calls: ``Filter("Name", "==", "MPI_Send")``, ``Filter("Process", "in", [0, 1])``.

    ``field``: a column as Pipit calls it ("Name", "Process", "Thread", "Timestamp (ns)", "time.inc", "time.exc"), a
    field of the filter language ("name", "path", "within", "depth", "rank", "thread", "time", "enter", "leave",
    "inclusive", "exclusive"), or the name of a counter. ``operator``: "==", "!=", "<", "<=", ">", ">=", "in", "not-in",
    "between" (includes both ends; for times, only the first), "like" and "not-like" (``*`` and ``?``). ``value``: a
    text, a number, or a list of them; a time is a number of nanoseconds or a text such as ``"1.5 ms"``. Times are whole nanoseconds and are compared exactly with
    any number: above 1000.5 is above 1000, below it is below 1001; none is equal to it.

    Raises ``ValueError`` for any other operator, and for a value that the field cannot be compared with; the message
    names the field and says what it takes. Pipit, class ``Filter``.
    """

    def __init__(self, field: str, operator: str, value: Any):
        if not isinstance(field, str):
            raise ValueError(f"Filter: a field is a name such as \"Name\" or \"Process\", not {field!r}")
        if operator not in _OPERATORS:
            raise ValueError(f"Filter({field!r}): operator {operator!r} is unknown; use one of {', '.join(_OPERATORS)}")
        name = _FIELDS.get(field, field)
        if name not in _NATIVE:
            name = f"metric({_quoted(field)})"
        word = operator.removeprefix("not-")
        try:
            test = f"{name} {_compared(name, word, value)}"
        except ValueError as error:
            hint = "" if name in _NATIVE else f"; {field!r} is taken for a counter: fields are {', '.join((*_FIELDS, *_NATIVE))}"
            raise ValueError(f"Filter({field!r}, {operator!r}): {error}{hint}") from None
        self.text = f"not ({test})" if operator.startswith("not-") else test

    @classmethod
    def parse(cls, text: str) -> Filter:
        """A filter from a text of the filter language; the text is parsed when the filter is used."""
        made = cls.__new__(cls)
        made.text = str(text)
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


def _compared(name: str, word: str, value: Any) -> str:
    """The operator and what is compared, as the filter language writes them."""
    if word == "between":
        low, high = _pair(value)
        return f"between {_literal(name, low, '>=')} and {_literal(name, high, '<')}"
    if word not in ("in", "like"):
        return f"{word} {_literal(name, value, word)}"
    if word == "like" and name not in _TEXTS:
        raise ValueError("only names are compared with patterns; use ==, in or between for a number")
    if isinstance(value, str) or not isinstance(value, Iterable):
        value = [value]
    literals = [_literal(name, each, word) for each in value]
    if not literals:
        raise ValueError("the list of values is empty; give at least one")
    return f"{word} ({', '.join(literals)})"


def _pair(value: Any) -> tuple[Any, Any]:
    try:
        low, high = value
    except (TypeError, ValueError):
        raise ValueError(f"between takes two values, such as [low, high], not {value!r}") from None
    return low, high


def _literal(name: str, value: Any, word: str) -> str:
    if isinstance(value, (list, tuple, set, dict)):
        raise ValueError(f"{word} takes one value, not {value!r}; for several, use in")
    if name in _TEXTS:
        return _quoted(str(value))
    if name in _TIMES and isinstance(value, str):
        value = _time(value)
    try:
        number = int(value)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{value!r} is no number; give {_expected(name)}") from None
    if name in _TIMES and word in _ROUNDED:
        number = _ROUNDED[word](value)
    elif number != value:
        raise ValueError(f"{value!r} is not whole; give {_expected(name)}")
    if number < 0:
        raise ValueError(f"{value!r} is negative; give {_expected(name)}")
    return f"{number}ns" if name in _TIMES else str(number)


def _expected(name: str) -> str:
    return 'nanoseconds or a text such as "1.5 ms"' if name in _TIMES else "a whole number of 0 or more"


def _time(text: str) -> Fraction:
    """Nanoseconds, exactly."""
    match = _TIME.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is no time; give {_expected('time')}")
    return Fraction(match[1]) * _NS[match[2]]


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
