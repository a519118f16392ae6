"""A bar for people, where standard error is a terminal or a notebook."""

import sys

_CELLS = 30


def bar(done: int, total: int) -> None:
    """Draws the progress of a pass over the previous bar; only in a terminal or notebook."""
    in_notebook = "ipykernel" in sys.modules
    if not in_notebook and not sys.stderr.isatty():
        return
    share = done / total if total else 1.0
    cells = round(share * _CELLS)
    end = "\n" if done == total else ""
    print(f"\rouzel [{'#' * cells}{'.' * (_CELLS - cells)}] {share:4.0%}", end=end, file=sys.stderr, flush=True)
