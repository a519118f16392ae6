"""What the tests of this folder share: our binary, the archives, the reference programs."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PEERS = ROOT / "peers" / "python"
SHARED = Path(os.environ.get("OUZEL_SHARED", ROOT.parent / "shared"))

sys.path.insert(0, str(PEERS))

needs_otf2_print = pytest.mark.skipif(shutil.which("otf2-print") is None, reason="otf2-print is not installed")


def pytest_report_header(config):
    there = (SHARED / "data" / "otf2").is_dir()
    return f"shared archives: {'read too' if there else 'absent, only those of testdata/ are read'}"


def anchors():
    """Every recorded archive at hand, by the name of its folder."""
    folders = [ROOT / "testdata", SHARED / "data" / "otf2"]
    found = sorted(path for folder in folders if folder.is_dir() for path in folder.rglob("*.otf2"))
    # The same archive may lie in both places; the first is as good as the second.
    return list({path.parent.name: path for path in reversed(found)}.values())


def anchor_parameters():
    return [pytest.param(path, id=path.parent.name) for path in sorted(anchors(), key=lambda path: path.parent.name)]


def generated(tmp_path_factory, program):
    """The anchor of an archive that a program of ours writes with the reference library."""
    pytest.importorskip("_otf2", reason="the Python package otf2 is not installed")
    folder = tmp_path_factory.mktemp(program) / "archive"
    subprocess.run([sys.executable, str(PEERS / f"{program}.py"), str(folder)], check=True, timeout=60)
    return folder / "traces.otf2"


SYNTHETIC = {
    "plain": [],
    "counters": ["--metrics"],
    "big-endian": ["--big-endian"],
    "several-chunks": ["--chunk", "262144", "--ranks", "2"],
    "odd-clock": ["--resolution", "2400000001", "--skew", "constant"],
}


@pytest.fixture(scope="session", params=SYNTHETIC)
def synthetic(request, tmp_path_factory):
    """The anchor of an archive that our own writer wrote."""
    folder = tmp_path_factory.mktemp("synthetic") / request.param
    xtask = [os.environ["XTASK"]] if "XTASK" in os.environ else ["cargo", "run", "--quiet", "--package", "xtask", "--"]
    events = "60K" if request.param == "several-chunks" else "20K"
    options = SYNTHETIC[request.param]
    subprocess.run([*xtask, "synth", "--events", events, "--out", str(folder), *options], cwd=ROOT, check=True,
                   stdout=subprocess.DEVNULL, timeout=300)
    return folder / "traces.otf2"


@pytest.fixture(scope="session")
def every_event(tmp_path_factory):
    return generated(tmp_path_factory, "write_every_event")


@pytest.fixture(scope="session")
def crooked_nesting(tmp_path_factory):
    return generated(tmp_path_factory, "write_crooked_nesting")


@pytest.fixture(scope="session")
def ouzel():
    """Runs our binary and returns what it prints. The build is the caller's business."""
    places = [os.environ.get("OUZEL"), ROOT / "target/release/ouzel", ROOT / "target/debug/ouzel", shutil.which("ouzel")]
    binary = next((Path(place) for place in places if place and Path(place).is_file()), None)
    assert binary, "no ouzel binary: run `cargo build --release` first, or set OUZEL to its path"

    def run(*arguments):
        ended = subprocess.run([str(binary), *map(str, arguments)], capture_output=True, text=True,
                               errors="surrogateescape", timeout=120)
        # 2 means: answered, but not from all of the data, as notices then say.
        assert ended.returncode in (0, 2), f"ouzel {arguments} ended with {ended.returncode}: {ended.stderr}"
        return ended.stdout

    return run
