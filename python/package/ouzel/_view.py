"""Runs in a browser: the server of ``ouzel view``, started and ended from Python."""

from __future__ import annotations

import html
import subprocess
import sys
import tempfile
import weakref
from collections.abc import Sequence
from types import TracebackType

from ouzel import _core

_PROGRAM = "import sys; from ouzel._command import main; sys.exit(main())"


class View:
    """Runs that a browser can look at, until :meth:`close`, the end of the ``with`` block or of this process.

    ``url`` is the address on this machine; it contains a secret: who has it sees the runs. ``remote`` says how to reach
    it from another machine. A notebook shows both.
    """

    url: str
    remote: str

    def __init__(self, words: Sequence[str]) -> None:
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

    def close(self) -> None:
        """Ends the server."""
        self._end()

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


def _ended(server: subprocess.Popen[str]) -> None:
    server.terminate()
    server.wait()
    if server.stdout is not None:
        server.stdout.close()
