"""The documents run from top to bottom, on the traces of the repository."""

import re

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
