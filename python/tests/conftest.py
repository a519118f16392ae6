"""Where the traces are."""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SHARED = Path(os.environ.get("OUZEL_SHARED", ROOT.parent / "shared"))


@pytest.fixture
def testdata():
    return ROOT / "testdata"


@pytest.fixture
def docs():
    return ROOT / "docs"


@pytest.fixture
def shared():
    """Real files that are not part of the repository."""
    folder = SHARED / "data"
    if not folder.is_dir():
        pytest.skip("no ../shared beside the repository, and OUZEL_SHARED is not set")
    return folder
