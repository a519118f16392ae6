"""Options of pictures, by Pipit's functions."""

from typing import Any

_DEFAULTS: dict[str, Any] = {"log_level": "INFO", "notebook_url": "http://localhost:8888", "plot.width": None, "plot.height": None}
_TYPES: dict[str, tuple[type, ...]] = {
    "log_level": (str,),
    "notebook_url": (str,),
    "plot.width": (int, type(None)),
    "plot.height": (int, type(None)),
}
_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")
_values = dict(_DEFAULTS)


def _known(key: str) -> None:
    if key not in _DEFAULTS:
        raise ValueError(f"there is no option {key!r}; there are {', '.join(_DEFAULTS)}")


def get_option(key: str) -> Any:
    """The value of an option."""
    _known(key)
    return _values[key]


def set_option(key: str, value: Any) -> None:
    """Sets an option: ``plot.width`` and ``plot.height`` in points. The others are Pipit's; Ouzel has no use for them."""
    _known(key)
    if not isinstance(value, _TYPES[key]) or isinstance(value, bool):
        raise TypeError(f"option {key!r} cannot be {value!r}")
    if key == "log_level" and value not in _LEVELS:
        raise ValueError(f"option 'log_level' is one of {', '.join(_LEVELS)}, not {value!r}")
    _values[key] = value


def reset_option(key: str) -> None:
    """Resets an option, or with ``"all"`` all of them."""
    if key == "all":
        _values.update(_DEFAULTS)
        return
    _known(key)
    _values[key] = _DEFAULTS[key]
