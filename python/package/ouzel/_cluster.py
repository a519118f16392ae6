"""Passes as tasks of Dask: the only file that knows it.

    fold ─┐                      one task for each group of locations; the partial as bytes
    fold ─┼─ merge ─┐            a tree of tasks, FAN_IN partials each
    fold ─┘         ├─ merge ──► the client, which finishes the outputs
    fold ─── …  ────┘

Law: folding and merging are pure, so Dask may do both again after the death of a worker; the result does not depend on
who did what. Every worker is looked at before work starts, and every task looks at its own. What is computed: the
compiled part of the package, without the interpreter lock.
"""

import hashlib
import os
import queue
import tempfile
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ouzel import _core

FAN_IN = 8
"""Partials that one task merges. Few enough that a worker holds few of them, enough that the tree is low."""

_TICK_S = 0.1
_LOOK_S = 2.0


class Cluster:
    """The workers of a client, for passes over one trace."""

    def __init__(self, client: Any, path: str | os.PathLike[str], checkpoint: Any, patience_s: float) -> None:
        self.client = _client(client)
        self.path = os.fspath(path)
        self.checkpoint = None if checkpoint is None else _folder(checkpoint)
        self.patience_s = patience_s

    def run(self, job: bytes, fingerprint: str, groups: list[tuple[list[int], int]]) -> Iterator[int | bytes]:
        """Makes a pass: yields the bytes of event files done since the last time, often, and at last the partial.

        Closing it takes back what was handed out.
        """
        self._check_workers(fingerprint)
        files = self._checkpoints(job, groups)
        token = uuid.uuid4().hex
        shared = self.client.submit(_given, job, key=f"ouzel-job-{token}", pure=False)
        finished: queue.SimpleQueue[str] = queue.SimpleQueue()
        bytes_left: dict[str, int] = {}
        level = []
        for i, ((locations, event_bytes), file) in enumerate(zip(groups, files)):
            key = f"ouzel-fold-{token}-{i}"
            level.append(self.client.submit(_fold, shared, self.path, locations, file, key=key, pure=False))
            bytes_left[key] = event_bytes
            level[-1].add_done_callback(lambda future: finished.put(future.key))
        everything = [shared, *level]
        depth = 0
        while 1 < len(level):
            depth += 1
            parts = [level[i : i + FAN_IN] for i in range(0, len(level), FAN_IN)]
            # What can be merged is merged before more is folded: then little is kept.
            level = [
                self.client.submit(
                    _merge, shared, part, key=f"ouzel-merge-{token}-{depth}-{i}", pure=False, priority=depth
                )
                for i, part in enumerate(parts)
            ]
            everything += level
        result = level[0]
        try:
            yield from self._wait(result, finished, bytes_left)
            partial = _result(result)
        finally:
            if not result.done():
                self.client.cancel(everything)
        yield sum(bytes_left.values())
        yield partial

    def _wait(self, result: Any, finished: queue.SimpleQueue, bytes_left: dict[str, int]) -> Iterator[int]:
        seen_at = looked_at = time.monotonic()
        while not result.done():
            try:
                yield bytes_left.pop(finished.get(timeout=_TICK_S), 0)
                continue
            except queue.Empty:
                yield 0
            now = time.monotonic()
            if now < looked_at + _LOOK_S:
                continue
            looked_at = now
            if self.client.status == "closed":
                raise _core.OuzelError("the connection to the scheduler is closed")
            if self.client.status == "running" and self.client.nthreads():
                seen_at = now
            elif self.patience_s < now - seen_at:
                raise _core.OuzelError(f"for {self.patience_s:.0f} s there has been no worker")

    def _check_workers(self, fingerprint: str) -> None:
        """Sees that every worker has this build and sees these files."""
        try:
            self.client.wait_for_workers(1, timeout=self.patience_s)
        except TimeoutError:
            scheduler = self.client.scheduler.address if self.client.scheduler else "the scheduler"
            text = f"there is no worker at {scheduler} after {self.patience_s:.0f} s"
            raise _core.OuzelError(text) from None
        token = None
        if self.checkpoint is not None:
            token = _left_behind(self.checkpoint)
        # By value: a worker may have another ouzel, or none.
        answers = self.client.run(
            _probe(), self.path, fingerprint, _core.build(), self.checkpoint, token, on_error="return"
        )
        for worker, trouble in sorted(answers.items()):
            if isinstance(trouble, BaseException):
                trouble = f"cannot be asked: {type(trouble).__name__}: {trouble}"
            if trouble is not None:
                raise _core.OuzelError(f"worker {worker} {trouble}")

    def _checkpoints(self, job: bytes, groups: list[tuple[list[int], int]]) -> list[str | None]:
        """The file of each group, named by files, question, build, which is in the job, and group."""
        if self.checkpoint is None:
            return [None] * len(groups)
        common = hashlib.blake2b(digest_size=20)
        for part in [job, repr(_files(self.path)).encode()]:
            common.update(len(part).to_bytes(8, "little") + part)
        names = []
        for locations, _ in groups:
            name = common.copy()
            name.update(repr(locations).encode())
            names.append(os.path.join(self.checkpoint, name.hexdigest() + ".partial"))
        return names


def _client(client: Any) -> Any:
    """A client, or one for a scheduler's address."""
    try:
        import distributed
    except ImportError:
        raise ImportError("a cluster needs Dask: pip install './python[cluster]'") from None
    if isinstance(client, (str, os.PathLike)):
        text = os.fspath(client)
        if os.path.exists(text):
            return distributed.Client(scheduler_file=text)
        if "://" not in text and not text.rpartition(":")[2].isdigit():
            raise FileNotFoundError(f"no scheduler has written a file {text!r}")
        return distributed.Client(text)
    if not isinstance(client, distributed.Client):
        raise TypeError("on() takes a distributed.Client, the address of a scheduler, or its scheduler file")
    if client.asynchronous:
        raise ValueError("the client is asynchronous; ouzel needs one that waits")
    return client


def _folder(checkpoint: Any) -> str:
    folder = os.path.abspath(os.fspath(checkpoint))
    os.makedirs(folder, exist_ok=True)
    return folder


def _result(result: Any) -> bytes:
    """What the last task gave, or why it did not."""
    import distributed

    try:
        return result.result()
    except distributed.KilledWorker as error:
        raise _core.OuzelError(f"workers died over and over: {error}") from None
    except (distributed.client.FutureCancelledError, distributed.CancelledError) as error:
        text = f"the scheduler was lost, or the work cancelled ({error}); with checkpoint= it can be resumed"
        raise _core.OuzelError(text) from None


def _files(path: str) -> list[tuple[str, int, int]]:
    """Name, size and time of the files that belong to a trace: of a folder all, else what shares the stem."""
    given = Path(path)
    roots = [given] if given.is_dir() else sorted(given.parent.glob(_escaped(given.stem) + "*"))
    found = []
    for root in roots:
        for folder, folders, names in os.walk(root) if root.is_dir() else [(str(root.parent), [], [root.name])]:
            folders.sort()
            for name in sorted(names):
                stat = os.stat(os.path.join(folder, name))
                found.append((os.path.join(folder, name), stat.st_size, stat.st_mtime_ns))
    return found


def _escaped(stem: str) -> str:
    import glob

    return glob.escape(stem)


def _left_behind(folder: str) -> str:
    """Puts a file into the folder that every worker must see there; its content."""
    token = uuid.uuid4().hex
    Path(folder, ".ouzel-token").write_text(token)
    return token


def _probe():
    """A function that says what a worker lacks, and that needs nothing of the package to be sent there."""

    async def probe(path, fingerprint, build, checkpoint, token):
        import asyncio

        def trouble():
            try:
                from ouzel import _core
            except ImportError as error:
                return f"has no ouzel: {error}"
            theirs = _core.build() if hasattr(_core, "build") else _core.__version__
            if theirs != build:
                return f"has ouzel {theirs}, and this process has {build}"
            try:
                found = _core.fingerprint(path, fingerprint)
            except Exception as error:
                return f"does not see the files: {error}"
            if int(found, 16) ^ int(fingerprint, 16) == 2**128 - 1:
                return "sees the recorded clocks, and they were repaired here: repaired clocks do not travel"
            if found != fingerprint:
                return f"sees other files at {path!r}: their fingerprint is {found} there and {fingerprint} here"
            if checkpoint is not None:
                import os

                try:
                    with open(os.path.join(checkpoint, ".ouzel-token")) as file:
                        seen = file.read()
                except OSError as error:
                    return f"does not see the folder of checkpoints: {error}"
                if seen != token:
                    return f"sees another folder at {checkpoint!r}"
            return None

        return await asyncio.get_running_loop().run_in_executor(None, trouble)

    return probe


def _given(job: bytes) -> bytes:
    """The job as a task, so that it is sent to a worker once, and again if it is lost."""
    return job


def _fold(job: bytes, path: str, locations: list[int], file: str | None) -> bytes:
    if file is not None and (stored := _stored(file)) is not None:
        return stored
    try:
        partial = _core.fold_group(job, path, locations)
    except (_core.OuzelError, OSError) as error:
        raise _core.OuzelError(f"worker {_me()} {error}") from None
    if file is not None:
        _store(file, partial)
    return partial


def _merge(job: bytes, partials: list[bytes]) -> bytes:
    try:
        return _core.merge_partials(job, partials)
    except _core.OuzelError as error:
        raise _core.OuzelError(f"worker {_me()} {error}") from None


def _me() -> str:
    from distributed import get_worker

    return get_worker().address


def _stored(file: str) -> bytes | None:
    """The partial of a checkpoint; ``None`` if there is none, or not a whole one."""
    try:
        content = Path(file).read_bytes()
    except FileNotFoundError:
        return None
    digest, partial = content[:20], content[20:]
    return partial if _digest(partial) == digest else None


def _store(file: str, partial: bytes) -> None:
    """Writes a checkpoint so that it is there whole or not at all, whoever dies when."""
    folder, name = os.path.split(file)
    handle, beside = tempfile.mkstemp(prefix=name, suffix=".part", dir=folder)
    try:
        with os.fdopen(handle, "wb") as written:
            written.write(_digest(partial) + partial)
            written.flush()
            os.fsync(written.fileno())
        os.replace(beside, file)
    except BaseException:
        os.unlink(beside)
        raise


def _digest(partial: bytes) -> bytes:
    return hashlib.blake2b(partial, digest_size=20).digest()
