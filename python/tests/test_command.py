"""The command `ouzel` that the package installs is the program of the binary."""

import os
import subprocess
import sys
from pathlib import Path

import ouzel

TRACE = Path(__file__).parents[2] / "testdata" / "pmpi-masterio"
COMMAND = Path(sys.executable).parent / "ouzel"


def ran(*words: str, **options) -> subprocess.CompletedProcess:
    return subprocess.run([COMMAND, *words], capture_output=True, text=True, check=False, timeout=120, **options)


def test_it_answers_with_the_exit_codes_of_the_binary():
    assert ran("--version").stdout == f"ouzel {ouzel.__version__}\n"
    report = ran("report", str(TRACE))
    assert (report.returncode, report.stderr) == (0, "")
    assert "write_output is serialised" in report.stdout
    misuse = ran("reprot", str(TRACE))
    assert (misuse.returncode, misuse.stdout) == (64, "")
    assert "'report'" in misuse.stderr
    missing = ran("report", "no-such-trace")
    assert missing.returncode == 1
    assert len(missing.stderr.splitlines()) == 1


def test_a_closed_pipe_is_no_failure():
    read, write = os.pipe()
    os.close(read)
    ended = subprocess.run([COMMAND, "print", TRACE], stdout=write, stderr=subprocess.PIPE, check=False, timeout=120)
    os.close(write)
    assert (ended.returncode, ended.stderr) == (0, b"")


def test_the_answer_is_complete_without_a_terminal():
    """The last part of the answer is written although the interpreter does not end as usual."""
    answer = ran("info", str(TRACE), "--format", "json").stdout
    assert answer.rstrip().endswith("}")
