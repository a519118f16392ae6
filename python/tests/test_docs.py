"""The documents run from top to bottom, on the traces of the repository."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import ouzel
import pytest
from conftest import ROOT

BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


#: Pages with a test of their own: they need other traces, or a cluster.
OTHERS = {"docs/accelerators.md": "test_docs.py", "docs/cluster.md": "test_cluster.py"}


def pages():
    """Every page with blocks of Python, by its path from the top of the repository."""
    folders = ["", "docs", "docs/design", "packaging", "python", "tests/python", "zoo", "crates/*"]
    found = (page for folder in folders for page in ROOT.glob(f"{folder}/*.md".lstrip("/")))
    return sorted(str(page.relative_to(ROOT)) for page in found if BLOCK.search(page.read_text()))


def test_pages_with_blocks_are_found():
    assert {"docs/tutorial.md", "docs/pipit.md", "docs/view.md", "python/README.md", *OTHERS} <= set(pages())
    for page, test in OTHERS.items():
        assert Path(page).name in (Path(__file__).parent / test).read_text()


@pytest.mark.parametrize("name", [name for name in pages() if name not in OTHERS])
def test_a_document_runs(name, monkeypatch):
    monkeypatch.chdir(ROOT)
    text = (ROOT / name).read_text()
    blocks = list(BLOCK.finditer(text))
    if "to_pandas()" in "".join(block[1] for block in blocks):
        pytest.importorskip("pandas")
    if "interactive=True" in text:
        pytest.importorskip("anywidget")
    names = {}
    for block in blocks:
        # Line numbers of an error are those of the document.
        first_line = text[: block.start(1)].count("\n")
        exec(compile("\n" * first_line + block[1], name, "exec"), names)


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
