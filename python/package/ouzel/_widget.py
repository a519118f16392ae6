"""The viewer in a notebook: what its page asks comes as messages of the kernel, and is asked of the server here.

So the browser needs no way to a port of this machine: it works on JupyterHub, and wherever else the notebook does.
Needs ``pip install './python[notebook]'``.
"""

from __future__ import annotations

import contextlib
import http.client
import socket
import threading
import time
import urllib.parse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anywidget
import traitlets

#: Jupyter's server drops messages above 1 MB/s, counted over 3 s. A burst and what follows in 3 s stay below that.
_BURST_BYTES = 1_200_000
_BYTES_PER_S = 500_000
#: Bytes of a message at most.
_PART_BYTES = 256 << 10
#: Seconds without an answer. A question may need several passes over a large trace.
_PATIENCE_S = 3600


class Pace:
    """Lets bytes through at a rate at which none are dropped on the way."""

    def __init__(self, burst: float = _BURST_BYTES, per_s: float = _BYTES_PER_S) -> None:
        self._burst, self._per_s = burst, per_s
        self._left, self._at = burst, time.monotonic()
        self._lock = threading.Lock()

    def wait(self, n_bytes: int) -> None:
        """Returns when ``n_bytes`` may go."""
        with self._lock:
            now = time.monotonic()
            self._left = min(self._burst, self._left + (now - self._at) * self._per_s) - n_bytes
            self._at = now
            if self._left < 0:
                time.sleep(-self._left / self._per_s)


class Asker:
    """Asks the server at ``url`` what messages ask, each on a thread of its own, and hands each part of an answer to
    ``send``.
    """

    def __init__(self, url: str, send: Callable[[dict[str, Any], list[bytes]], None]) -> None:
        parts = urllib.parse.urlsplit(url)
        self._host, self._base, self._send = parts.netloc, parts.path, send
        self._lock = threading.Lock()
        self._running: dict[tuple[str, int], http.client.HTTPConnection] = {}
        self._pace = Pace()

    def hear(self, message: Any) -> None:
        """A request ``{view, id, path, body}``, or the end of one or of all of a view: ``{view, id, abort}``."""
        if not isinstance(message, dict) or not isinstance(view := message.get("view"), str):
            return
        number = message.get("id")
        if message.get("abort"):
            self._stop(view, number)
        elif isinstance(number, int) and isinstance(path := message.get("path"), str):
            body = message.get("body")
            asked = (view, number, path, body if isinstance(body, str) else None)
            threading.Thread(target=self._answer, args=asked, daemon=True, name="ouzel view").start()

    def _stop(self, view: str, number: int | None) -> None:
        with self._lock:
            keys = [key for key in self._running if key[0] == view and number in (None, key[1])]
            stopped = [self._running.pop(key) for key in keys]
        for connection in stopped:
            # The server cancels what is not waited for. To close the socket would not end a read under way.
            if (running := connection.sock) is not None:
                with contextlib.suppress(OSError):
                    running.shutdown(socket.SHUT_RDWR)

    def _answer(self, view: str, number: int, path: str, body: str | None) -> None:
        key = (view, number)
        connection = http.client.HTTPConnection(self._host, timeout=_PATIENCE_S)
        with self._lock:
            self._running[key] = connection
        said: dict[str, Any] = {"view": view, "id": number, "status": 0, "packed": False}
        content = b""
        try:
            status, packed, content = self._asked(connection, path, body)
            said.update(status=status, packed=packed)
        except (OSError, http.client.HTTPException, ValueError) as error:
            said["reason"] = f"The viewer was closed, or its server ended ({error})."
        finally:
            connection.close()
            with self._lock:
                is_wanted = self._running.pop(key, None) is not None
        if is_wanted:
            self._send_parts(said, content)

    def _asked(self, connection: http.client.HTTPConnection, path: str, body: str | None) -> tuple[int, bool, bytes]:
        name = path.partition("?")[0]
        if name != "standalone.html" and not name.startswith("api/"):
            raise ValueError(f"not a question of the viewer: {name!r}")
        headers = {"Accept-Encoding": "gzip"}
        if body is not None:
            headers["Content-Type"] = "application/json"
        connection.request("GET" if body is None else "POST", self._base + path, body and body.encode(), headers)
        answer = connection.getresponse()
        return answer.status, answer.getheader("Content-Encoding") == "gzip", answer.read()

    def _send_parts(self, said: dict[str, Any], content: bytes) -> None:
        for at in range(0, max(1, len(content)), _PART_BYTES):
            part = content[at : at + _PART_BYTES]
            self._pace.wait(len(part))
            self._send({**said, "last": len(content) <= at + _PART_BYTES}, [part])


class ViewWidget(anywidget.AnyWidget):  # type: ignore[misc]
    """The page of a server of ``ouzel view``, in a cell of a notebook."""

    _esm: Any = Path(__file__).parent / "_widget.js"
    title = traitlets.Unicode("Ouzel").tag(sync=True)
    #: The state to begin with, as in the address of the page.
    hash = traitlets.Unicode("").tag(sync=True)
    height = traitlets.Int(640).tag(sync=True)

    def __init__(self, url: str, **traits: Any) -> None:
        super().__init__(**traits)
        asker = Asker(url, lambda content, buffers: self.send(content, buffers))
        self.on_msg(lambda _widget, content, _buffers: asker.hear(content))
