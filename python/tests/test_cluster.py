"""A cluster of separate processes on this machine: the answers are those of one process, whoever dies."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeout
from pathlib import Path

import ouzel
import pytest

distributed = pytest.importorskip("distributed", reason="Dask is not installed")

PATIENCE_S = 60

QUESTIONS = {
    "flat_profile": lambda t: t.flat_profile(),
    "call paths": lambda t: t.profile(by="call_path", per="location"),
    "metric_profile": lambda t: t.metric_profile(per="rank"),
    "counters_over_time": lambda t: t.counters_over_time(bins=5),
    "time_profile": lambda t: t.time_profile(7),
    "comm_matrix": lambda t: t.comm_matrix(collectives=True),
    "message_histogram": lambda t: t.message_histogram(),
    "comm_over_time": lambda t: t.comm_over_time(bins=5),
    "comm_comp_breakdown": lambda t: t.comm_comp_breakdown(),
    "load_imbalance": lambda t: t.load_imbalance(),
    "idle_time": lambda t: t.idle_time(mpi_events=True),
    "critical_path": lambda t: t.critical_path_analysis(),
    "path regions": lambda t: t.critical_path_analysis(by="call_path"),
    "lateness": lambda t: t.calculate_lateness(per="operation"),
    "patterns": lambda t: t.pattern_detection(),
    "calls": lambda t: t.calls(),
    "inclusive": lambda t: t.calc_inc_metrics(),
    "report": lambda t: t.report(),
    "clusters": lambda t: t.clusters(),
    "iterations": lambda t: t.iterations(),
}


def said(answer):
    """An answer with all that belongs to it, as text."""
    if isinstance(answer, ouzel.Table):
        answer = [answer.to_dict(), answer.units, answer.notices, answer.coverage]
    return json.dumps(answer)


def until(condition, what):
    """Waits for another process."""
    end = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < end, f"waited for {what} in vain"
        time.sleep(0.02)


class Processes:
    """A scheduler and workers, each a process of its own; ended by their own ids."""

    def __init__(self, folder):
        self.folder = folder
        self.file = folder / "scheduler.json"
        self.running = []
        self.scheduler = self.start("scheduler", "--port", "0")
        until(self.file.exists, "the scheduler")

    def start(self, kind, *arguments, cwd=None):
        command = [sys.executable, "-m", f"distributed.cli.dask_{kind}", "--scheduler-file", self.file]
        command += ["--host", "127.0.0.1", "--no-dashboard", *arguments]
        log = open(self.folder / f"{kind}-{len(self.running)}.log", "w")
        with log:
            self.running.append(subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, cwd=cwd or self.folder))
        return self.running[-1]

    def worker(self, preload="", cwd=None):
        """A worker of one thread that runs the text of ``preload`` first."""
        script = self.folder / f"preload_{len(self.running)}.py"
        script.write_text(preload)
        arguments = ["--nthreads", "1", "--no-nanny", "--preload", str(script), "--death-timeout", "60"]
        return self.start("worker", *arguments, "--local-directory", str(self.folder), cwd=cwd)

    def stop(self):
        for process in reversed(self.running):
            process.kill()
            process.wait()


@pytest.fixture(scope="module")
def processes(tmp_path_factory):
    processes = Processes(tmp_path_factory.mktemp("dask"))
    try:
        for _ in range(2):
            processes.worker()
        yield processes
    finally:
        processes.stop()


@pytest.fixture(scope="module")
def client(processes):
    with distributed.Client(scheduler_file=str(processes.file), timeout=PATIENCE_S) as client:
        client.wait_for_workers(2, timeout=PATIENCE_S)
        yield client


@pytest.fixture
def one_more(processes, client):
    """Starts a further worker for one test."""
    started = []

    def start(preload="", cwd=None):
        started.append(processes.worker(preload, cwd))
        until(lambda: len(client.nthreads()) == 3, "the third worker")
        return started[-1]

    yield start
    for worker in started:
        worker.kill()
        worker.wait()
    until(lambda: len(client.nthreads()) == 2, "the end of the third worker")


@pytest.mark.parametrize("name", ["pmpi-jacobi", "eztrace-jacobi", "zoo/late_sender/faulty"])
def test_answers_are_those_of_one_process(client, testdata, name):
    here = ouzel.open(testdata / name)
    for there in [here.on(client, group_bytes=0), here.on(client, group_bytes=100_000)]:
        for question, ask in QUESTIONS.items():
            try:
                expected = said(ask(here))
            except ouzel.OuzelError as error:
                with pytest.raises(ouzel.OuzelError) as found:
                    ask(there)
                assert str(found.value) == str(error)
                continue
            assert said(ask(there)) == expected, question


def as_here(text, processes, testdata, folder):
    """A part of docs/cluster.md with the scheduler and traces of the tests."""
    stands_for = {
        "tcp://node7:8786": json.loads(processes.file.read_text())["address"],
        "~/scheduler.json": str(processes.file),
        "/scratch/run/kept": str(folder / "kept"),
        "/scratch/run/traces.otf2": str(testdata / "pmpi-jacobi"),
        "/scratch/run": str(testdata / "pmpi-jacobi"),
    }
    for word, instead in stands_for.items():
        text = text.replace(word, instead)
    return text


def test_the_python_of_the_page_runs(processes, client, docs, testdata, tmp_path, capsys):
    pytest.importorskip("pandas")
    [block] = re.findall(r"^```python\n(.*?)^```$", (docs / "cluster.md").read_text(), re.M | re.S)
    names = {}
    exec(compile(as_here(block, processes, testdata, tmp_path), "cluster.md", "exec"), names)
    names["client"].close()
    findings = ouzel.open(testdata / "pmpi-jacobi").findings()
    assert [finding["title"] for finding in findings] == capsys.readouterr().out.splitlines()


def test_the_commands_of_the_page_answer(processes, client, docs, testdata, tmp_path):
    lines = [line for line in (docs / "cluster.md").read_text().splitlines() if line.startswith("python -m ouzel.cluster")]
    assert len(lines) == 2
    for line in lines:
        words = shlex.split(as_here(line, processes, testdata, tmp_path))
        done = subprocess.run([sys.executable, *words[1:]], capture_output=True, text=True, timeout=120, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        answer = (tmp_path / "report.json").read_text() if "report.json" in line else done.stdout
        assert json.loads(answer)


def test_a_selection_is_one_there_too(client, testdata):
    part = ouzel.open(testdata / "pmpi-jacobi").filter(ranks="1-5", time_ns=(100_000_000, 900_000_000), regions="MPI_*")
    assert said(part.on(client, group_bytes=0).profile(per="rank")) == said(part.profile(per="rank"))
    there = ouzel.open(testdata / "pmpi-jacobi").on(str(client.scheduler.address), group_bytes=0)
    assert there.filter(ranks=[2]).on(None).profile().to_dict() == there.filter(ranks=[2]).profile().to_dict()


def test_events_and_functions_of_ones_own_are_read_by_workers(client, testdata):
    here = ouzel.open(testdata / "pmpi-jacobi", ranks=[0, 1, 2])
    there = here.on(client)
    assert "asked on a cluster" in repr(there) and "cluster" not in repr(here)

    def where(location, events):
        """Which process looks at a location, and what it sees."""
        import os

        return os.getpid(), location["rank"], len(events)

    pids, ranks, counts = zip(*there.map_locations(where, columns="Name"))
    assert os.getpid() not in pids and ranks == (0, 1, 2)
    assert list(counts) == [n for _, _, n in here.map_locations(where)]
    assert there.map_locations(where, reduce=lambda a, b: (0, 0, a[2] + b[2]))[2] == len(here.events)
    with pytest.raises(ZeroDivisionError):
        there.map_locations(lambda location, events: 1 // 0)
    pytest.importorskip("pandas")
    assert there.events.to_pandas().equals(here.events.to_pandas())
    polars = pytest.importorskip("polars")
    assert isinstance(there.events.to_polars(), polars.DataFrame) and len(there.events.to_polars()) == len(here.events)


def test_several_runs_stand_side_by_side(client, testdata):
    runs = [ouzel.open(testdata / name) for name in ["pmpi-jacobi", "pmpi-masterio"]]
    there = ouzel.multi_run_analysis([run.on(client) for run in runs])
    assert said(there) == said(ouzel.multi_run_analysis(runs))


GATED = """
import os, time
from pathlib import Path
from ouzel import _core

# A preload may be run twice.
fold, n_open, folder = getattr(_core.fold_group, "gates", _core.fold_group), {n_open}, Path({folder!r})

def gated(*arguments):
    global n_open
    n_open -= 1
    if n_open < 0:
        (folder / "waits").touch()
        end = time.monotonic() + 60
        while time.monotonic() < end:
            time.sleep(0.02)
    return fold(*arguments)

gated.gates = fold
_core.fold_group = gated
"""


# Work waits until the doomed worker has its own, however fast this one is.
HELD = """
import time
from pathlib import Path
from ouzel import _core

fold, waits = getattr(_core.fold_group, "gates", _core.fold_group), Path({folder!r}) / "waits"

def held(*arguments):
    end = time.monotonic() + 60
    while not waits.exists() and time.monotonic() < end:
        time.sleep(0.02)
    return fold(*arguments)

held.gates = fold
_core.fold_group = held
"""
FREED = "from ouzel import _core\n_core.fold_group = getattr(_core.fold_group, 'gates', _core.fold_group)"


def settling(script):
    """The same at the second round."""
    return script.replace("fold_group", "settle_bucket")


def test_a_worker_may_die_in_the_middle(client, testdata, one_more, tmp_path):
    here = ouzel.open(testdata / "pmpi-jacobi")
    expected = said(here.report())
    others = list(client.nthreads())
    worker = one_more(GATED.format(n_open=1, folder=str(tmp_path)))
    try:
        client.run(exec, HELD.format(folder=str(tmp_path)), {}, workers=others)
        with ThreadPoolExecutor(1) as pool:
            answer = pool.submit(lambda: here.on(client, group_bytes=0).report())
            until((tmp_path / "waits").exists, "the worker's second task")
            worker.kill()
            assert said(answer.result(PATIENCE_S)) == expected
    finally:
        client.run(exec, FREED, {}, workers=others)


def test_a_worker_may_die_in_the_second_round(client, testdata, one_more, tmp_path):
    here = ouzel.open(testdata / "pmpi-jacobi")
    expected = said(here.calculate_lateness(per="operation"))
    others = list(client.nthreads())
    worker = one_more(settling(GATED.format(n_open=0, folder=str(tmp_path))))
    try:
        client.run(exec, settling(HELD.format(folder=str(tmp_path))), {}, workers=others)
        with ThreadPoolExecutor(1) as pool:
            answer = pool.submit(lambda: here.on(client, group_bytes=0).calculate_lateness(per="operation"))
            until((tmp_path / "waits").exists, "the worker's first bucket")
            # Pieces that it holds are made again by others, from locations that they fold again.
            worker.kill()
            assert said(answer.result(PATIENCE_S)) == expected
    finally:
        client.run(exec, settling(FREED), {}, workers=others)


def test_no_worker_keeps_what_is_done(client, testdata):
    trace = ouzel.open(testdata / "pmpi-jacobi").on(client, group_bytes=0)
    trace.calculate_lateness()

    def kept(dask_scheduler):
        return [key for key in dask_scheduler.tasks if str(key).startswith("ouzel-")]

    until(lambda: not client.run_on_scheduler(kept), "the end of every task")


def test_a_worker_of_another_version_is_named(client, testdata, one_more):
    worker = one_more("from ouzel import _core\n_core.build = lambda: '0.0.9+other'\n")
    there = ouzel.open(testdata / "pmpi-jacobi").on(client)
    with pytest.raises(ouzel.OuzelError, match=r"worker tcp://127\.0\.0\.1:\d+ has ouzel 0\.0\.9\+other, but this"):
        there.profile()
    worker.kill()
    until(lambda: len(client.nthreads()) == 2, "the end of the worker")
    assert len(there.profile()) > 0


@pytest.mark.skipif(not os.path.exists("/proc/self/cwd"), reason="no folder that each process sees in its own way")
def test_a_worker_that_does_not_see_the_files_is_named(client, processes, testdata, one_more, tmp_path, monkeypatch):
    shutil.copytree(testdata / "pmpi-jacobi", processes.folder / "trace", dirs_exist_ok=True)
    (tmp_path / "empty").mkdir()
    shutil.copytree(testdata / "pmpi-masterio", tmp_path / "other" / "trace")
    monkeypatch.chdir(processes.folder)
    there = ouzel.open("/proc/self/cwd/trace").on(client)
    assert len(there.profile()) > 0
    worker = one_more(cwd=tmp_path / "empty")
    with pytest.raises(ouzel.OuzelError, match=r"worker tcp://127\.0\.0\.1:\d+ does not see the files"):
        there.profile()
    worker.kill()
    until(lambda: len(client.nthreads()) == 2, "the end of the worker")
    one_more(cwd=tmp_path / "other")
    with pytest.raises(ouzel.OuzelError, match=r"worker tcp://127\.0\.0\.1:\d+ sees other files at '/proc/self/cwd"):
        there.profile()


def test_repaired_clocks_travel(client, testdata):
    here = ouzel.open(testdata / "eztrace-jacobi", repair_clocks=True)
    there = here.on(client, group_bytes=0)
    assert said(there.critical_path_analysis()) != said(ouzel.open(testdata / "eztrace-jacobi").critical_path_analysis())
    for question in ["critical_path", "lateness", "report", "flat_profile"]:
        assert said(QUESTIONS[question](there)) == said(QUESTIONS[question](here)), question
    # One worker has both open.
    recorded = ouzel.open(testdata / "eztrace-jacobi")
    assert said(recorded.on(client).calculate_lateness()) == said(recorded.calculate_lateness())
    assert said(there.calculate_lateness()) == said(here.calculate_lateness())


COUNTED = """
from ouzel import _core
fold = _core.fold_group
_core.n_folded = 0

def counted(*arguments):
    _core.n_folded += 1
    return fold(*arguments)

_core.fold_group = counted
"""


def test_a_run_is_resumed_after_the_death_of_the_scheduler(client, testdata, tmp_path):
    here = ouzel.open(testdata / "pmpi-jacobi")
    expected = said(here.profile(by="call_path"))
    kept = tmp_path / "kept"
    (tmp_path / "dask").mkdir()
    doomed = Processes(tmp_path / "dask")
    try:
        doomed.worker(GATED.format(n_open=3, folder=str(tmp_path)))
        with distributed.Client(scheduler_file=str(doomed.file), timeout=PATIENCE_S) as lost, ThreadPoolExecutor(1) as pool:
            answer = pool.submit(lambda: here.on(lost, group_bytes=0, checkpoint=kept).profile(by="call_path"))
            until((tmp_path / "waits").exists, "the fourth task")
            doomed.stop()
            with pytest.raises(ouzel.OuzelError, match="scheduler was lost"):
                answer.result(PATIENCE_S)
    finally:
        doomed.stop()
    first = {file.name: file.stat().st_mtime_ns for file in kept.glob("*.partial")}
    assert len(first) == 3
    try:
        client.run(exec, COUNTED, {})
        resumed = here.on(client, group_bytes=0, checkpoint=kept)
        assert said(resumed.profile(by="call_path")) == expected
        n_folded = sum(client.run(lambda: __import__("ouzel")._core.n_folded).values())
        assert n_folded == 9 - 3
        after = {file.name: file.stat().st_mtime_ns for file in kept.glob("*.partial")}
        assert len(after) == 9 and first.items() <= after.items()
        # A checkpoint that is not whole is none.
        damaged = next(kept.glob("*.partial"))
        damaged.write_bytes(damaged.read_bytes()[:-1])
        assert said(resumed.profile(by="call_path")) == expected
        assert sum(client.run(lambda: __import__("ouzel")._core.n_folded).values()) == n_folded + 1
        # Another question has checkpoints of its own.
        assert said(resumed.flat_profile()) == said(here.flat_profile())
        assert said(resumed.idle_time()) == said(here.idle_time())
    finally:
        client.run(exec, "from ouzel import _core\n_core.fold_group = _core.fold_group.__globals__['fold']", {})


def test_pieces_of_buckets_are_taken_up_again(client, testdata, tmp_path):
    here = ouzel.open(testdata / "pmpi-jacobi")
    expected = said(here.calculate_lateness(per="operation"))
    there = here.on(client, group_bytes=0, checkpoint=tmp_path)
    try:
        client.run(exec, COUNTED, {})
        for _ in range(2):
            assert said(there.calculate_lateness(per="operation")) == expected
        assert sum(client.run(lambda: __import__("ouzel")._core.n_folded).values()) == 9
        # Other groups make another number of buckets, and take up none of these.
        other = here.on(client, group_bytes=100_000, checkpoint=tmp_path)
        assert said(other.calculate_lateness(per="operation")) == expected
    finally:
        client.run(exec, "from ouzel import _core\n_core.fold_group = _core.fold_group.__globals__['fold']", {})


def test_damage_is_told_of_as_in_one_process(client, testdata, tmp_path):
    shutil.copytree(testdata / "pmpi-jacobi", tmp_path / "damaged")
    events = sorted((tmp_path / "damaged" / "traces").glob("*.evt"))[3]
    events.write_bytes(events.read_bytes()[: events.stat().st_size // 2])
    here = ouzel.open(tmp_path / "damaged")
    for ask in [lambda t: t.profile(per="rank"), lambda t: t.report()]:
        with pytest.warns(ouzel.DataLostWarning) as expected:
            alone = said(ask(here))
        with pytest.warns(ouzel.DataLostWarning) as found:
            assert said(ask(here.on(client, group_bytes=0))) == alone
        assert [str(w.message) for w in found] == [str(w.message) for w in expected]
    assert events.name in alone


def test_progress_is_told_and_may_stop_it(client, testdata):
    told = []
    trace = ouzel.open(testdata / "pmpi-jacobi", progress=lambda done, total: told.append((done, total)))
    there = trace.on(client, group_bytes=0)
    there.profile()
    assert told[-1][0] == told[-1][1] > 0

    def stop(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        there.filter(progress=stop).report()
    assert said(there.profile()) == said(trace.profile())


def test_wrong_arguments_say_what_is_wrong(client, testdata, tmp_path):
    trace = ouzel.open(testdata / "pmpi-jacobi")
    for wrong, error in [(3, TypeError), (str(tmp_path / "none.json"), FileNotFoundError)]:
        with pytest.raises(error):
            trace.on(wrong)
    with pytest.raises(ValueError, match="patience_s"):
        trace.on(client, patience_s=-1)


@pytest.mark.parametrize("patience_s", [0, 0.5])
def test_patience_is_heard(testdata, tmp_path, patience_s):
    path = testdata / "pmpi-jacobi"
    with ThreadPoolExecutor(1) as pool:
        nobody = pool.submit(lambda: ouzel.open(path).on("tcp://127.0.0.1:9", patience_s=patience_s))
        with pytest.raises(ouzel.OuzelError, match=f"no scheduler at tcp://127.0.0.1:9 after {patience_s} s"):
            nobody.result(PATIENCE_S / 3)
        alone = Processes(tmp_path)
        try:
            there = ouzel.open(path).on(str(alone.file), patience_s=patience_s)
            answer = pool.submit(there.profile)
            with pytest.raises(ouzel.OuzelError, match=f"no worker at .* after {patience_s} s"):
                answer.result(PATIENCE_S / 3)
        except FutureTimeout:
            pytest.fail("waits longer than patience allows")
        finally:
            alone.stop()


def test_patience_is_heard_when_the_last_worker_dies(testdata, tmp_path):
    alone = Processes(tmp_path)
    try:
        worker = alone.worker(GATED.format(n_open=1, folder=str(tmp_path)))
        with distributed.Client(scheduler_file=str(alone.file), timeout=PATIENCE_S) as client, ThreadPoolExecutor(1) as pool:
            client.wait_for_workers(1, timeout=PATIENCE_S)
            there = ouzel.open(testdata / "pmpi-jacobi").on(client, group_bytes=0, patience_s=1)
            answer = pool.submit(there.profile)
            until((tmp_path / "waits").exists, "the worker's second task")
            worker.kill()
            with pytest.raises(ouzel.OuzelError, match="no worker for 1 s"):
                answer.result(PATIENCE_S / 3)
    finally:
        alone.stop()


def shell(*arguments, **environment):
    command = [sys.executable, "-m", "ouzel.cluster", *map(str, arguments)]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, **environment}
    )


def rows(table):
    columns = table.to_dict()
    return [dict(zip(columns, row)) for row in zip(*columns.values())]


def test_from_a_shell(processes, client, testdata):
    path = testdata / "pmpi-jacobi"
    asked = shell("profile", path, "--scheduler-file", processes.file, "--with", "per=rank", "--ranks", "0-3")
    wrong = shell("flat_profile", path / "none", "--scheduler", client.scheduler.address)
    output, errors = asked.communicate(timeout=PATIENCE_S)
    assert asked.returncode == 0, errors
    answer = json.loads(output)
    assert answer["rows"] == rows(ouzel.open(path, ranks="0-3").profile(per="rank"))
    assert (answer["operation"], answer["units"]["exclusive_ns"]) == ("profile", "ns")
    assert "100 %" in errors
    _, errors = wrong.communicate(timeout=PATIENCE_S)
    assert (wrong.returncode, errors.startswith("error: ")) == (1, True)


def test_a_job_step_is_a_cluster(testdata, tmp_path):
    path = testdata / "pmpi-jacobi"
    step = {"SLURM_JOB_ID": "7", "SLURM_STEP_ID": "0", "SLURM_NTASKS": "2"}
    command = ["report", path, "--srun", "--scheduler-file", tmp_path / "scheduler.json", "--group-bytes", "0"]
    both = [shell(*command, **step, SLURM_PROCID=str(number)) for number in range(2)]
    try:
        output, errors = both[0].communicate(timeout=PATIENCE_S)
        assert both[0].returncode == 0, errors
        assert json.loads(output)["data"] == ouzel.open(path).report()
        _, errors = both[1].communicate(timeout=PATIENCE_S)
        assert both[1].returncode == 0, errors
    finally:
        for process in both:
            process.kill()
            process.wait()
    assert list(tmp_path.iterdir()) == []
