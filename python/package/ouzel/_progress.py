"""A bar for people, where standard error is a terminal or a notebook."""

import sys

_CELLS = 30


def bar(done: int, total: int) -> None:
    """Draws the progress of a pass over the previous bar; only in a terminal or notebook."""
    if not _is_notebook() and not sys.stderr.isatty():
        return
    share = done / total if total else 1.0
    cells = round(share * _CELLS)
    end = "\n" if done == total else ""
    print(f"\rouzel [{'#' * cells}{'.' * (_CELLS - cells)}] {share:4.0%}", end=end, file=sys.stderr, flush=True)


def _is_notebook() -> bool:
    """Whether this process is the kernel of a notebook; others may import ipykernel, too."""
    kernel = sys.modules.get("ipykernel.kernelapp")
    return kernel is not None and bool(kernel.IPKernelApp.initialized())
