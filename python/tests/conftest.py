"""Where the traces are."""

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def testdata():
    return ROOT / "testdata"


@pytest.fixture
def docs():
    return ROOT / "docs"
