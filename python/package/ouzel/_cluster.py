"""Passes as tasks of Dask: the only file that knows it.

    fold ─┬─ rest ───┐               one fold for each group of locations; parts are bytes
          ├─ piece ──┼─┐
          └─ piece ──┼─┼─┐
    fold ─┬─ rest ───┴─┼─┼─ merge ─►   rests: a tree of tasks, FAN_IN partials each
          ├─ piece ────┴─┼─ settle ─►  one task for each bucket
          └─ piece ──────┴─ settle ─►  the client merges what comes out, and finishes the outputs

Law: folding, merging and settling are pure, so Dask may do each again after the death of a worker; the result does not
depend on who did what. Every worker is looked at before work starts, and every task looks at its own. Nothing is kept
on a worker that no task needs any more. What is computed, and how many buckets there are: the compiled part of the
package, without the interpreter lock.
"""

import asyncio
import hashlib
import os
import queue
import tempfile
import time
import uuid
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from ouzel import _core

FAN_IN = 8
"""Partials that one task merges. Few enough that a worker holds few of them, enough that the tree is low."""

_TICK_S = 0.1
_LOOK_S = 2.0
_ASK_S = 5.0
"""How long a scheduler that is there may take to answer, however impatient the user is."""


class Cluster:
    """The workers of a client, for passes over one trace."""

    def __init__(self, client: Any, path: str | os.PathLike[str], checkpoint: Any, patience_s: float) -> None:
        self.client = _client(client, patience_s)
        self.path = os.fspath(path)
        self.checkpoint = None if checkpoint is None else _folder(checkpoint)
        self.patience_s = patience_s

    def run(
        self, job: bytes, fingerprint: str, groups: list[tuple[list[int], int]], n_buckets: int
    ) -> Iterator[int | list[bytes]]:
        """Makes a pass: yields the bytes of event files done since the last time, often, and at last the merged rest
        and the settled buckets.

        Closing it takes back what was handed out.
        """
        self._check_workers(fingerprint)
        submit, token = self.client.submit, uuid.uuid4().hex
        shared = submit(_given, job, key=f"ouzel-job-{token}", pure=False)
        finished: queue.SimpleQueue[str] = queue.SimpleQueue()
        bytes_left: dict[str, int] = {}
        folds = {}
        for i, ((locations, event_bytes), file) in enumerate(zip(groups, self._checkpoints(job, groups))):
            key = f"ouzel-fold-{token}-{i}"
            folds[key] = submit(_fold, shared, self.path, locations, file, n_buckets, key=key, pure=False)
            bytes_left[key] = event_bytes
            folds[key].add_done_callback(lambda future: finished.put(future.key))
        rests = list(folds.values())
        results = []
        if n_buckets:
            # What is taken apart at once need not be kept whole, and what waits for others waits in pieces.
            parts = [self._parts(fold, n_buckets, f"{token}-{i}") for i, fold in enumerate(rests)]
            rests = [of_fold[0] for of_fold in parts]
            for i in range(n_buckets):
                pieces = [of_fold[1 + i] for of_fold in parts]
                key = f"ouzel-settle-{token}-{i}"
                results.append(submit(_settle, shared, self.path, pieces, key=key, pure=False, priority=1))
            del parts, pieces
        results.append(self._merged(shared, rests, token))
        del rests
        try:
            yield from self._wait(results, finished, bytes_left, folds)
            answer = _answer(self.client, results)
        finally:
            if not all(result.done() for result in results):
                # What these wait for is wanted by nobody else, and is let go with the futures: a scheduler that is told
                # to cancel it by name trips over the parts, whose futures are gone.
                self.client.cancel(results)
            folds.clear()
        yield sum(bytes_left.values())
        results.clear()
        yield answer

    def each(self, function: Callable[..., Any], work: list[tuple[Any, ...]], fingerprint: str) -> list[Any]:
        """Calls a function for each of ``work`` on the workers, one task each; the results, in order. An exception of
        the function is passed on; what is still at work then is taken back.
        """
        self._check_workers(fingerprint)
        futures = self.client.map(_called, [function] * len(work), work, pure=False)
        try:
            for _ in self._wait(futures, queue.SimpleQueue(), {}, {}):
                pass
            return _answer(self.client, futures)
        finally:
            if not all(future.done() for future in futures):
                self.client.cancel(futures)

    def _parts(self, fold: Any, n_buckets: int, name: str) -> list[Any]:
        """The rest and the pieces of buckets that a fold gives, each a task of its own."""
        numbers = range(1 + n_buckets)
        keys = [f"ouzel-part-{name}-{number}" for number in numbers]
        return self.client.map(_part, [fold] * len(numbers), numbers, key=keys, pure=False, priority=2)

    def _merged(self, shared: Any, level: Sequence[Any], token: str) -> Any:
        """The last task of the tree that merges rests."""
        depth = 0
        while 1 < len(level):
            depth += 1
            parts = [level[i : i + FAN_IN] for i in range(0, len(level), FAN_IN)]
            # What can be merged is merged before more is folded: then little is kept.
            level = [
                self.client.submit(
                    _merge, shared, part, key=f"ouzel-merge-{token}-{depth}-{i}", pure=False, priority=2 + depth
                )
                for i, part in enumerate(parts)
            ]
        return level[0]

    def _wait(
        self, results: list[Any], finished: queue.SimpleQueue, bytes_left: dict[str, int], folds: dict[str, Any]
    ) -> Iterator[int]:
        """Waits for the results and yields progress. Futures of folds that are done are let go: their tasks are kept as
        long as others need them, and no longer.
        """
        seen_at = looked_at = time.monotonic()
        while not all(result.done() for result in results) and not any(map(_failed, results)):
            try:
                done = finished.get(timeout=_TICK_S)
                folds.pop(done, None)
                yield bytes_left.pop(done, 0)
                continue
            except queue.Empty:
                yield 0
            now = time.monotonic()
            if now < looked_at + min(_LOOK_S, self.patience_s):
                continue
            looked_at = now
            if self.client.status == "closed":
                raise _core.OuzelError("the connection to the scheduler is closed")
            if self._has_worker():
                seen_at = now
            elif self.patience_s <= now - seen_at:
                raise _core.OuzelError(f"no worker for {self.patience_s:g} s")

    def _has_worker(self) -> bool:
        """Whether the scheduler can be asked and has a worker."""
        if self.client.status != "running" or self.client.scheduler is None:
            return False
        try:
            return bool(self.client.sync(self.client.scheduler.ncores, workers=None, callback_timeout=_ASK_S))
        except (TimeoutError, asyncio.TimeoutError, OSError):
            return False

    def _check_workers(self, fingerprint: str) -> None:
        """Sees that every worker has this build and sees these files."""
        end = time.monotonic() + self.patience_s
        while not self._has_worker():
            if end <= time.monotonic():
                scheduler = self.client.scheduler.address if self.client.scheduler else "the scheduler"
                raise _core.OuzelError(f"no worker at {scheduler} after {self.patience_s:g} s")
            time.sleep(_TICK_S)
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
        names: list[str | None] = []
        for locations, _ in groups:
            name = common.copy()
            name.update(repr(locations).encode())
            names.append(os.path.join(self.checkpoint, name.hexdigest() + ".partial"))
        return names


def _client(client: Any, patience_s: float) -> Any:
    """A client, or one for a scheduler's address."""
    try:
        import distributed
    except ImportError:
        raise ImportError("a cluster needs Dask: pip install './python[cluster]'") from None
    if isinstance(client, (str, os.PathLike)):
        text = os.fspath(client)
        is_file = os.path.exists(text)
        if not is_file and "://" not in text and not text.rpartition(":")[2].isdigit():
            raise FileNotFoundError(f"no scheduler has written the file {text!r}")
        where = {"scheduler_file": text} if is_file else {"address": text}
        try:
            return distributed.Client(**where, timeout=max(patience_s, _TICK_S))
        except (TimeoutError, asyncio.TimeoutError, OSError) as error:
            raise _core.OuzelError(f"no scheduler at {text} after {patience_s:g} s: {error}") from None
    if not isinstance(client, distributed.Client):
        raise TypeError("on() takes a distributed.Client, the address of a scheduler, or its scheduler file")
    if client.asynchronous:
        raise ValueError("the client is asynchronous; ouzel needs a synchronous one")
    return client


def _folder(checkpoint: Any) -> str:
    folder = os.path.abspath(os.fspath(checkpoint))
    os.makedirs(folder, exist_ok=True)
    return folder


def _answer(client: Any, results: list[Any]) -> list[bytes]:
    """What the last tasks gave, or why they did not."""
    import distributed

    try:
        # One that failed need not wait for the others.
        for result in filter(_failed, results):
            result.result()
        return client.gather(results)
    except distributed.KilledWorker as error:
        raise _core.OuzelError(f"workers died repeatedly: {error}") from None
    except (distributed.client.FutureCancelledError, distributed.CancelledError) as error:
        text = f"the scheduler was lost or the work was cancelled ({error}); with checkpoint= it can be resumed"
        raise _core.OuzelError(text) from None


def _failed(result: Any) -> bool:
    return result.status not in ("pending", "finished")


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
                return f"has ouzel {theirs}, but this process has {build}"
            try:
                found = _core.fingerprint(path, fingerprint)
            except Exception as error:
                return f"does not see the files: {error}"
            if found != fingerprint:
                return f"sees other files at {path!r}: their fingerprint is {found} there but {fingerprint} here"
            if checkpoint is not None:
                import os

                try:
                    with open(os.path.join(checkpoint, ".ouzel-token")) as file:
                        seen = file.read()
                except OSError as error:
                    return f"does not see the checkpoint folder: {error}"
                if seen != token:
                    return f"sees another folder at {checkpoint!r}"
            return None

        return await asyncio.get_running_loop().run_in_executor(None, trouble)

    return probe


def _called(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    return function(*arguments)


def asked(trace: Any, method: str, arguments: tuple[Any, ...]) -> Any:
    """What a method of a trace answers, without warnings: they belong to the process that asked for all parts."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return getattr(trace, method)(*arguments)


def events_read(events: Any) -> Any:
    """The rows of events, as a ``pyarrow.Table``."""
    return asked(events, "to_pyarrow", ())


def joined(tables: list[Any], of_trace: list[Any]) -> tuple[list[Any], dict[str, int]]:
    """Notices and coverage of tables of different locations of one trace: equal notices are one, with their counts
    added up, but for those of the trace itself, which every part has.
    """
    coverage = dict(tables[0].coverage)
    found: dict[str, Any] = {}
    codes: dict[str, int] = {}
    for notice in (notice for table in tables for notice in table.notices):
        codes.setdefault(notice["code"], len(codes))
        key = repr({**notice, "count": 0})
        known = found.setdefault(key, {**notice, "count": 0})
        known["count"] = notice["count"] if notice in of_trace else known["count"] + notice["count"]
    levels = ["high", "medium", "low"]
    notices = sorted(found.values(), key=lambda notice: (levels.index(notice["level"]), codes[notice["code"]]))
    for key in coverage:
        if key != "locations":
            coverage[key] = sum(table.coverage[key] for table in tables)
    lost = [notice for notice in notices if notice["level"] == "high"]
    if lost:
        more = f", and {len(lost) - 1} more such notices" if len(lost) > 1 else ""
        text = f"based on incomplete data: {lost[0]['file'] or ''}: {lost[0]['message']}{more}"
        warnings.warn(text, _core.DataLostWarning, stacklevel=3)
    return notices, coverage


def _given(job: bytes) -> bytes:
    """The job as a task, so that it is sent to a worker once, and again if it is lost."""
    return job


def _fold(job: bytes, path: str, locations: list[int], file: str | None, n_buckets: int) -> list[bytes] | bytes:
    """The rest and the pieces of buckets, or the rest alone if there are no buckets."""
    parts = None if file is None else _stored(file)
    if parts is None:
        parts = _named(_core.fold_group, job, path, locations)
        if file is not None:
            _store(file, parts)
    return parts if n_buckets else parts[0]


def _part(parts: list[bytes], number: int) -> bytes:
    return parts[number]


def _merge(job: bytes, partials: list[bytes]) -> bytes:
    return _named(_core.merge_partials, job, partials)


def _settle(job: bytes, path: str, pieces: list[bytes]) -> bytes:
    return _named(_core.settle_bucket, job, path, pieces)


def _named(step: Callable[..., Any], *arguments: Any) -> Any:
    """Does a step; an error names the worker."""
    try:
        return step(*arguments)
    except (_core.OuzelError, OSError) as error:
        raise _core.OuzelError(f"worker {_me()} {error}") from None


def _me() -> str:
    from distributed import get_worker

    return get_worker().address


def _stored(file: str) -> list[bytes] | None:
    """The parts of a checkpoint; ``None`` if there is none, or not a whole one."""
    try:
        content = Path(file).read_bytes()
    except FileNotFoundError:
        return None
    if _digest(content[20:]) != content[:20]:
        return None
    parts, at = [], 20
    while at < len(content):
        end = at + 8 + int.from_bytes(content[at : at + 8], "little")
        parts.append(content[at + 8 : end])
        at = end
    return parts


def _store(file: str, parts: list[bytes]) -> None:
    """Writes a checkpoint so that it is there whole or not at all, whoever dies when: a checksum, then each part after
    its length in eight bytes.
    """
    content = b"".join(len(part).to_bytes(8, "little") + part for part in parts)
    folder, name = os.path.split(file)
    handle, beside = tempfile.mkstemp(prefix=name, suffix=".part", dir=folder)
    try:
        with os.fdopen(handle, "wb") as written:
            written.write(_digest(content) + content)
            written.flush()
            os.fsync(written.fileno())
        os.replace(beside, file)
    except BaseException:
        os.unlink(beside)
        raise


def _digest(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=20).digest()
