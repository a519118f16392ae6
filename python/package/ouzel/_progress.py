"""A bar for people, where standard error is a terminal or a notebook."""

import sys

_CELLS = 30


def bar(done: int, total: int) -> None:
    """Draws how far a pass is, over the bar that was drawn before; nothing if nobody looks on."""
    in_notebook = "ipykernel" in sys.modules
    if not in_notebook and not sys.stderr.isatty():
        return
    share = done / total if total else 1.0
    cells = round(share * _CELLS)
    end = "\n" if done == total else ""
    print(f"\rouzel [{'#' * cells}{'.' * (_CELLS - cells)}] {share:4.0%}", end=end, file=sys.stderr, flush=True)
