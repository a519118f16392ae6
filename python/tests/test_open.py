"""Opening, selecting, and what goes wrong."""

import json
import os
import re
import shutil
import subprocess
import sys

import ouzel
import pytest


def test_a_trace_says_what_it_is(testdata):
    for name in ["pmpi-jacobi", "pmpi-jacobi/traces.otf2"]:
        trace = ouzel.open(testdata / name)
        assert (trace.format, trace.ranks) == ("OTF2", list(range(9)))
        assert trace.definitions["n_processes"] == 9
        assert "MPI_Allreduce" in trace.regions
        assert trace.notices == []
        assert "9 ranks" in repr(trace)
    assert ouzel.Trace.from_otf2(str(testdata / "pmpi-jacobi")).ranks == list(range(9))


def test_errors_have_the_types_that_python_has(testdata, tmp_path):
    with pytest.raises(FileNotFoundError, match="no such file"):
        ouzel.open(tmp_path / "none")
    (tmp_path / "text.otf2").write_text("no trace")
    with pytest.raises(ouzel.OuzelError):
        ouzel.open(tmp_path / "text.otf2")
    with pytest.raises(TypeError):
        ouzel.open(3)
    trace = ouzel.open(testdata / "pmpi-jacobi")
    for arguments in [{"ranks": "5-2"}, {"time_ns": (3, 2)}, {"regions": []}, {"jobs": 0}]:
        with pytest.raises(ValueError):
            trace.filter(**arguments)
    with pytest.raises(TypeError, match="ranks must be"):
        trace.filter(ranks=1.5)
    for question in [
        lambda: trace.time_profile(0),
        lambda: trace.time_profile(70000),
        lambda: trace.profile(by="name"),
        lambda: trace.comm_matrix("seconds"),
        lambda: trace.flat_profile("PAPI_NONE"),
    ]:
        with pytest.raises(ValueError):
            question()


def test_what_is_selected_is_what_is_counted(testdata):
    trace = ouzel.open(testdata / "pmpi-jacobi")
    whole = trace.profile(per="rank").to_dict()
    for ranks in [2, [2], "2", range(2, 3)]:
        part = trace.filter(ranks=ranks).profile(per="rank")
        assert set(part["rank"]) == {2}
        assert part["visits"] == [n for n, rank in zip(whole["visits"], whole["rank"]) if rank == 2]
        assert part.coverage["locations_selected"] == 1
    with pytest.raises(ValueError, match="already"):
        trace.filter(ranks=2).filter(ranks=3)
    some = trace.filter(regions="MPI_*").profile()
    assert {name for name in some["region"] if not name.startswith("MPI_")} == {"[filtered]"}
    late = ouzel.open(trace.path, time_ns=(1_000_000_000, None)).filter(time_ns=(None, 1_500_000_000))
    assert 0 < sum(late.profile()["exclusive_ns"]) <= 9 * 500_000_000
    one_thread = trace.filter(jobs=1).profile(by="call_path", per="location")
    assert one_thread.to_dict() == trace.filter(jobs=4).profile(by="call_path", per="location").to_dict()


def test_damage_is_a_warning_and_no_exception(testdata, tmp_path):
    shutil.copytree(testdata / "pmpi-jacobi", tmp_path / "damaged")
    events = sorted((tmp_path / "damaged" / "traces").glob("*.evt"))[0]
    events.write_bytes(events.read_bytes()[: events.stat().st_size // 2])
    trace = ouzel.open(tmp_path / "damaged")
    with pytest.warns(ouzel.DataLostWarning, match="based on incomplete data.*evt"):
        table = trace.profile()
    with pytest.warns(ouzel.DataLostWarning):
        trace.findings()
    assert table.coverage["locations_damaged"] == 1
    lost = [notice for notice in table.notices if notice["level"] == "high"]
    assert lost and lost[0]["file"].endswith(events.name)


def test_progress_is_told_and_may_stop_the_pass(testdata):
    told = []
    trace = ouzel.open(testdata / "pmpi-jacobi", progress=lambda done, total: told.append((done, total)))
    trace.profile()
    done, total = told[-1]
    assert done == total > 0

    def stop(done, total):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        trace.filter(progress=stop).profile()
    assert len(trace.profile()) > 0


def test_a_bar_is_drawn_where_somebody_looks_on(testdata, monkeypatch):
    import io
    import sys

    screen = io.StringIO()
    monkeypatch.setattr(sys, "stderr", screen)
    trace = ouzel.open(testdata / "pmpi-jacobi", progress=True)
    trace.profile()
    assert screen.getvalue() == ""
    monkeypatch.setattr(screen, "isatty", lambda: True, raising=False)
    trace.profile()
    assert screen.getvalue().endswith("] 100%\n")
    trace.filter(progress=False).profile()
    assert screen.getvalue().count("\n") == 1
    with pytest.raises(TypeError, match="progress must be"):
        trace.filter(progress="yes")


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only root can become somebody else for a moment")
@pytest.mark.parametrize("what", ["anchor", "folder", "parent"])
def test_errors_name_the_file_and_the_true_reason(testdata, tmp_path, what):
    inside = tmp_path / "inside"
    shutil.copytree(testdata / "pmpi-jacobi", inside / "run")
    closed = {"anchor": inside / "run/traces.otf2", "folder": inside / "run", "parent": inside}[what]
    named = inside / "run/traces.otf2" if what != "folder" else inside / "run"
    for folder in (tmp_path, *tmp_path.parents):
        if os.stat(folder).st_uid == os.geteuid() and folder.name.startswith("pytest"):
            folder.chmod(0o755)
    closed.chmod(0)
    os.seteuid(65534)
    try:
        for ask in (ouzel.open, ouzel.open_profile):
            with pytest.raises(PermissionError, match=re.escape(str(named)) + ".*permission denied"):
                ask(named)
    finally:
        os.seteuid(0)


def test_special_files_are_refused_with_their_names(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in [tmp_path / "pipe", "/dev/zero"]:
        for ask in (ouzel.open, ouzel.open_profile):
            with pytest.raises(ouzel.OuzelError, match=f"{path}.*not a regular file"):
                ask(path)


def test_names_from_files_do_not_steer_a_terminal(tmp_path):
    """Of a Chrome trace: what is printed is text alone."""
    names = ["esc\x1b[2Jx", "c1\x9bx", "bidi\u202ex", "zero\u200bx", "line\u2028x", "=cmd|x"]
    events = [{"name": name, "ph": "X", "ts": i, "dur": 1, "pid": 0, "tid": 0} for i, name in enumerate(names)]
    path = tmp_path / "a\u202eb\x1b[2J.json"
    path.write_text(json.dumps({"traceEvents": events}))
    trace = ouzel.open(path)
    assert set(names) <= set(trace.profile()["region"]), "data stay as they are"
    said = [repr(trace), repr(trace.profile()), trace.profile()._repr_html_(), trace.time_profile(3)._repr_svg_()]
    for ask in [lambda: trace.calls(["x\x1b[2J"]), lambda: ouzel.open(tmp_path / "none\u202e"), lambda: trace.comm_matrix("\x1b")]:
        with pytest.raises((ouzel.OuzelError, ValueError, OSError)) as error:
            ask()
        said.append(str(error.value))
    for text in said:
        assert not set(text) & set("\x1b\x9b\u202e\u200b\u2028"), text
    assert r"esc\u{1b}[2Jx" in said[1] and r"bidi\u{202e}x" in said[2] and r"\u{202e}" in said[3]


FOREVER = """
import ouzel, sys
trace = ouzel.open(sys.argv[1])
print("begins", flush=True)
while True:
    trace.report()
"""


def test_ctrl_c_stops_it(testdata):
    import signal

    command = [sys.executable, "-c", FOREVER, str(testdata / "pmpi-jacobi")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as program:
        assert program.stdout.readline() == "begins\n"
        program.send_signal(signal.SIGINT)
        try:
            _, said = program.communicate(timeout=60)
        finally:
            program.kill()
    assert program.returncode == -signal.SIGINT
    assert "KeyboardInterrupt" in said


def test_other_threads_run_meanwhile(testdata):
    from concurrent.futures import ThreadPoolExecutor

    trace = ouzel.open(testdata / "pmpi-jacobi")
    expected = trace.profile().to_dict()
    with ThreadPoolExecutor(4) as pool:
        for table in pool.map(lambda _: trace.profile(), range(8)):
            assert table.to_dict() == expected


def test_licenses_of_others_are_shipped():
    found = ouzel.licenses()
    by_name = {entry["name"]: entry for entry in found}
    assert by_name["serde"]["license"] == "MIT OR Apache-2.0"
    assert all(entry["texts"] and len(entry["texts"][0]) > 100 for entry in found)


LIMITED = """
import sys, ouzel
trace = ouzel.open(sys.argv[1], memory_limit="1M")
"""


def test_a_memory_limit_is_said_when_it_is_reached(testdata):
    # In a process of its own: the limit is that of the process.
    command = [sys.executable, "-c", LIMITED, str(testdata / "pmpi-jacobi")]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert ended.returncode == 1
    assert "the memory limit of 1.0 MB is reached" in ended.stderr
    for wrong in ("much", "1.5G", -1):
        with pytest.raises((ValueError, TypeError, OverflowError)):
            ouzel.open(testdata / "pmpi-jacobi", memory_limit=wrong)
    trace = ouzel.open(testdata / "pmpi-jacobi", memory_limit="64G")
    assert len(trace.profile()) > 0
    ouzel.open(testdata / "pmpi-jacobi", memory_limit=0)
