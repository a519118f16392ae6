"""Runs in a browser: the server of ``ouzel view``, started and ended from Python."""

from __future__ import annotations

import html
import subprocess
import sys
import tempfile
import weakref
from collections.abc import Sequence
from types import TracebackType
from typing import Any

from ouzel import _core

_PROGRAM = "import sys; from ouzel._command import main; sys.exit(main())"


class View:
    """Runs that a browser can look at, until :meth:`close`, the end of the ``with`` block or of this process.

    ``url`` is the address on this machine; it contains a secret: who has it sees the runs. ``remote`` says how to reach
    it from another machine. A notebook shows the page itself, which asks through the kernel; without anywidget, it shows
    both.
    """

    url: str
    remote: str

    def __init__(self, words: Sequence[str], title: str = "Ouzel", hash: str = "") -> None:
        # A pipe that nobody reads would stop the server some day.
        with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as errors:
            server = subprocess.Popen(
                [sys.executable, "-c", _PROGRAM, "view", "--no-open", *words],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
                encoding="utf-8",
            )
            self._end = weakref.finalize(self, _ended, server)
            lines: list[str] = []
            while server.stdout is not None and len(lines) < 3 and (line := server.stdout.readline()):
                lines.append(line.strip())
            if len(lines) < 3:
                self._end()
                errors.seek(0)
                raise _core.OuzelError(errors.read().strip() or "the server ended at once")
        self.url = lines[0]
        self.remote = "\n".join(lines[1:])
        self._title, self._hash = title, hash

    def close(self) -> None:
        """Ends the server."""
        self._end()

    def widget(self, *, height: int = 640) -> Any:
        """The page as a widget for a notebook, ``height`` pixels high; its lower edge can be drawn.

        The page asks through the kernel, so it works on JupyterHub, too. Raises ``ImportError`` without anywidget.
        """
        from ouzel._widget import ViewWidget

        return ViewWidget(self.url, title=self._title, hash=self._hash, height=height)

    def __enter__(self) -> View:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<ouzel.View {self.url}>" if self._end.alive else "<ouzel.View, closed>"

    def _repr_html_(self) -> str:
        if not self._end.alive:
            return "<p>closed</p>"
        url = html.escape(self.url, quote=True)
        return (
            f'<p><a href="{url}" target="_blank" rel="noopener noreferrer">Look at the run</a></p>'
            f"<pre>{html.escape(self.remote)}</pre>"
        )


    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        texts = {"text/plain": repr(self), "text/html": self._repr_html_()}
        if not self._end.alive:
            return texts
        try:
            shown = self.widget()
        except ImportError:
            return texts
        bundle = shown._repr_mimebundle_()
        data = bundle[0] if isinstance(bundle, tuple) else bundle
        return {**(data or {}), **texts}


def _ended(server: subprocess.Popen[str]) -> None:
    server.terminate()
    server.wait()
    if server.stdout is not None:
        server.stdout.close()
