"""The documents run from top to bottom, on the traces of the repository."""

import os
import re
import shlex
import subprocess
import sys

import ouzel
import pytest

BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("name", ["tutorial.md", "pipit.md", "../python/README.md"])
def test_a_document_runs(name, docs, monkeypatch):
    monkeypatch.chdir(docs.parent)
    text = (docs / name).read_text()
    if "to_pandas()" in "".join(BLOCK.findall(text)):
        pytest.importorskip("pandas")
    blocks = list(BLOCK.finditer(text))
    assert blocks
    names = {}
    for block in blocks:
        # Line numbers of an error are those of the document.
        first_line = text[: block.start(1)].count("\n")
        exec(compile("\n" * first_line + block[1], str(docs / name), "exec"), names)


#: What the tutorial on accelerators calls the traces of HTA's tests.
TRACES = {
    "trace.json.gz": "hta-critical_path/alexnet/benchmark_result_2869224_1695835535_trace.json.gz",
    "before.json.gz": "hta-trace_diff/control/control.json.gz",
    "after.json.gz": "hta-trace_diff/test/test.json.gz",
    "traces": "param-dlrm-8rank",
}
#: What it quotes of the answers of its commands.
QUOTED = {
    "ouzel report trace.json.gz": ["0.5 %", "43.46 s"],
    "ouzel kernels trace.json.gz --by operator": ["aten::copy_", "83.8 %", "4.40 GB/s", "11.17 GB/s", "400.8 µs"],
    "ouzel kernels trace.json.gz": ["13 kernels"],
    "ouzel idle trace.json.gz --by cause": ["12.86 s", "12.01 s"],
    "ouzel critical-path trace.json.gz": ["29.93 s", "99.9 %"],
}
COMMAND = [sys.executable, "-c", "import sys; from ouzel._command import main; sys.exit(main())"]


@pytest.fixture
def tutorial(shared, tmp_path, monkeypatch):
    """A folder with the traces of the tutorial."""
    for name, path in TRACES.items():
        if not (shared / "chrome-pytorch" / path).exists():
            pytest.skip(f"no {path} in the shared traces")
        os.symlink(shared / "chrome-pytorch" / path, tmp_path / name)
    monkeypatch.chdir(tmp_path)


def test_the_commands_of_the_tutorial_on_accelerators_say_what_it_quotes(docs, tutorial):
    text = (docs / "accelerators.md").read_text()
    lines = [line for block in re.findall(r"^```text\n(.*?)^```$", text, re.M | re.S) for line in block.splitlines()]
    # An explanation is two spaces from its command.
    commands = [re.split(r" {2,}", line)[0] for line in lines]
    commands = [command for command in commands if command.startswith("ouzel ") and "report.sqlite" not in command]
    assert 10 < len(commands)
    for command in commands:
        done = subprocess.run([*COMMAND, *shlex.split(command)[1:]], capture_output=True, encoding="utf-8", timeout=300)
        assert done.returncode in (0, 2) and done.stdout, command + "\n" + done.stderr
        for quoted in QUOTED.get(command, []):
            assert quoted in text and quoted in done.stdout, f"{command}: {quoted}"
    assert set(QUOTED) <= set(commands)


def test_the_python_of_the_tutorial_on_accelerators_runs(docs, tutorial):
    [block] = BLOCK.findall((docs / "accelerators.md").read_text())
    names = {"__name__": "tutorial"}
    exec(compile(block, "accelerators.md", "exec"), names)
    assert isinstance(names["before"], ouzel.Trace)
