"""One question to a cluster, from a shell: ``python -m ouzel.cluster OPERATION PATH``; see docs/cluster.md.

    python -m ouzel.cluster flat_profile traces.otf2 --scheduler tcp://node7:8786
    srun python -m ouzel.cluster --srun report traces.otf2 --scheduler-file scheduler.json

The answer is one JSON object on standard output: ``operation``, ``path``, ``format``; for a table, also ``units``,
``notices``, ``coverage`` and ``rows``; for the diagnosis, ``data``. Exit codes are those of ``ouzel``: 0 from all of
the data, 2 from part of it, 1 without an answer, 64 for wrong usage, 130 after Ctrl-C.
"""

import argparse
import json
import os
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any, NoReturn

import ouzel
from ouzel import _core
from ouzel._progress import bar

OPERATIONS = [
    name
    for name, value in sorted(vars(ouzel.Trace).items())
    if callable(value) and not name.startswith(("_", "from_")) and name not in ("filter", "on")
]

_START_S = 120
_STOP_S = 20
_WRONG_USAGE = 64


def main(arguments: list[str] | None = None) -> int:
    """Asks, prints the answer and returns the exit code."""
    options = _parser().parse_args(arguments)
    try:
        if options.srun:
            return _in_srun(options)
        return _ask(options, options.scheduler or options.scheduler_file)
    except (ouzel.OuzelError, OSError, ValueError, TypeError, ImportError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


class _Parser(argparse.ArgumentParser):
    """Ends with the code of ``ouzel`` on wrong usage; that of argparse means an answer from part of the data."""

    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(_WRONG_USAGE, f"error: {message}\n")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="python -m ouzel.cluster",
        description="Asks one question about a trace on a Dask cluster, and prints the answer as JSON.",
        epilog="operations: " + ", ".join(OPERATIONS),
    )
    parser.add_argument("operation", choices=OPERATIONS, metavar="OPERATION", help="a method of ouzel.Trace, see below")
    parser.add_argument("path", metavar="PATH", help="the trace, on a file system that all nodes see")
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument("--scheduler", metavar="ADDRESS", help="the address of a scheduler, such as tcp://node7:8786")
    where.add_argument("--scheduler-file", metavar="FILE", help="the file that a scheduler writes its address to")
    parser.add_argument(
        "--srun",
        action="store_true",
        help="all processes of this job step are started alike: the first is scheduler and client, the others work",
    )
    parser.add_argument("--checkpoint", metavar="DIR", help="keep partial results here and resume from them")
    parser.add_argument("--group-bytes", metavar="N", type=int, help="bytes of event files per task")
    parser.add_argument(
        "--patience-s", metavar="SECONDS", type=float, default=60.0, help="how long there may be no worker (60)"
    )
    parser.add_argument("--ranks", metavar="RANKS", help="only these ranks, such as 0-63,128")
    parser.add_argument("--regions", metavar="PATTERN", action="append", help="only matching regions; may be repeated")
    parser.add_argument("--time-ns", metavar="START:END", type=_range, help="only this range of time; either may be empty")
    parser.add_argument(
        "--repair-clocks",
        action="store_true",
        help="correct times so that no message is received before it is sent; found by this process, used by all",
    )
    parser.add_argument(
        "--with",
        dest="keywords",
        metavar="NAME=VALUE",
        type=_keyword,
        action="append",
        default=[],
        help="an argument of the operation, such as per=rank or num_bins=100; may be repeated",
    )
    parser.add_argument("--output", "-o", metavar="FILE", help="write the answer to this file")
    parser.add_argument("--force", action="store_true", help="replace the file of --output if it exists")
    parser.add_argument("--no-progress", action="store_true", help="draw no progress bar")
    return parser


def _range(text: str) -> tuple[int | float | None, int | float | None]:
    start, colon, end = text.partition(":")
    if not colon:
        raise argparse.ArgumentTypeError(f"{text!r} is not START:END")
    return (_instant(start), _instant(end))


def _instant(text: str) -> int | float | None:
    if not text:
        return None
    return int(text) if text.strip("+-").isdecimal() else float(text)


def _keyword(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value


class _Progress:
    """A bar where somebody looks on, else a line for each tenth."""

    def __init__(self) -> None:
        self.tenths = 0

    def __call__(self, done: int, total: int) -> None:
        if sys.stderr.isatty():
            return bar(done, total)
        tenths = 10 * done // total if total else 10
        if self.tenths < tenths:
            self.tenths = tenths
            print(f"ouzel {10 * tenths} % of {total} bytes", file=sys.stderr, flush=True)


def _ask(options: argparse.Namespace, where: Any) -> int:
    """Asks the cluster, prints the answer; the exit code."""
    trace = ouzel.open(
        options.path,
        ranks=options.ranks,
        time_ns=options.time_ns,
        regions=options.regions,
        progress=False if options.no_progress else _Progress(),
        repair_clocks=options.repair_clocks,
    )
    if options.output is not None:
        _named(_core.check_output, options)
    trace = trace.on(
        where, group_bytes=options.group_bytes, checkpoint=options.checkpoint, patience_s=options.patience_s
    )
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always", ouzel.DataLostWarning)
        answer = getattr(trace, options.operation)(**dict(options.keywords))
    lost = [warning for warning in warned if issubclass(warning.category, ouzel.DataLostWarning)]
    for warning in lost:
        print(f"warning: {warning.message}", file=sys.stderr)
    said = {"operation": options.operation, "path": options.path, "format": trace.format, **_shape(answer)}
    text = json.dumps(said, ensure_ascii=False) + "\n"
    if options.output is None:
        sys.stdout.write(text)
    else:
        _named(_core.write_output, options, text)
    return 2 if lost else 0


def _named(step: Any, options: argparse.Namespace, *content: str) -> None:
    """Does a step on the file of --output; an error names the option."""
    try:
        step(options.output, *content, options.force)
    except FileExistsError:
        raise FileExistsError(f"{options.output!r} already exists: add --force to replace it") from None


def _shape(answer: Any) -> dict[str, Any]:
    if not isinstance(answer, ouzel.Table):
        return {"data": answer}
    columns = answer.to_dict()
    rows = [dict(zip(columns, row)) for row in zip(*columns.values())]
    return {"units": answer.units, "notices": answer.notices, "coverage": answer.coverage, "rows": rows}


def _in_srun(options: argparse.Namespace) -> int:
    """The part of this process in a job step whose processes are all started alike."""
    if options.scheduler_file is None:
        raise ValueError("--srun needs --scheduler-file on a file system that all nodes see")
    try:
        number, n_processes = int(os.environ["SLURM_PROCID"]), int(os.environ["SLURM_NTASKS"])
    except (KeyError, ValueError):
        raise ValueError("--srun is for processes that srun started: SLURM_PROCID or SLURM_NTASKS is not set") from None
    if n_processes < 2:
        raise ValueError("--srun needs two processes or more: the first is scheduler and client, the others work")
    # A file of an earlier step would lead the workers astray, so each step has its own.
    step = "-".join(os.environ.get(name, "0") for name in ("SLURM_JOB_ID", "SLURM_STEP_ID"))
    file = f"{options.scheduler_file}.{step}"
    return _lead(options, file, n_processes - 1) if number == 0 else _work(file)


def _lead(options: argparse.Namespace, file: str, n_workers: int) -> int:
    import distributed

    command = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--port", "0", "--no-dashboard"]
    command += ["--no-jupyter", "--scheduler-file", file]
    scheduler = subprocess.Popen(command, stdout=sys.stderr, env=_quiet())
    try:
        _wait_for(file, scheduler)
        with distributed.Client(scheduler_file=file, timeout=_START_S) as client:
            try:
                _gather(client, n_workers)
                return _ask(options, client)
            finally:
                client.shutdown()
    finally:
        # It ends by itself when it is told to shut down.
        try:
            scheduler.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            scheduler.kill()
            scheduler.wait()
        Path(file).unlink(missing_ok=True)


def _gather(client: Any, n_workers: int) -> None:
    """Waits for all workers: one that came after the end of a short question would look for a scheduler in vain, and keep
    the job.
    """
    try:
        client.wait_for_workers(n_workers, timeout=_START_S)
    except TimeoutError:
        there = len(client.nthreads())
        print(f"warning: {there} of {n_workers} workers came within {_START_S} s", file=sys.stderr)


def _quiet() -> dict[str, str]:
    """The environment, in which Dask tells of trouble alone unless the user wants otherwise."""
    return {"DASK_LOGGING__DISTRIBUTED": "warning", **os.environ}


def _wait_for(file: str, scheduler: subprocess.Popen | None = None) -> None:
    """Waits until the scheduler has written its address."""
    end = time.monotonic() + _START_S
    while not os.path.exists(file):
        if scheduler is not None and scheduler.poll() is not None:
            raise OSError(f"the scheduler ended with {scheduler.returncode} before it was ready")
        if end < time.monotonic():
            raise OSError(f"no scheduler wrote {file} within {_START_S} s")
        time.sleep(0.05)


def _work(file: str) -> int:
    _wait_for(file)
    threads = os.environ.get("SLURM_CPUS_PER_TASK", "1")
    command = [sys.executable, "-m", "distributed.cli.dask_worker", "--scheduler-file", file, "--nthreads", threads]
    command += ["--no-dashboard", "--death-timeout", str(_START_S)]
    worker = subprocess.run(command, stdout=sys.stderr, env=_quiet(), check=False)
    # A worker whose scheduler has gone has done its part.
    return 0 if worker.returncode in (0, 1) else worker.returncode


if __name__ == "__main__":
    sys.exit(main())
