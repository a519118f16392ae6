"""Tables in other libraries, and on the screen."""

import ouzel
import pytest


@pytest.fixture
def table(testdata):
    return ouzel.open(testdata / "pmpi-jacobi").profile(by="call_path", per="rank")


def test_a_table_has_names_units_and_explanations(table):
    assert table.columns[:4] == ["region", "call_path", "rank", "visits"]
    assert (table.units["exclusive_ns"], table.units["region"]) == ("ns", "")
    assert "less the time in callees" in table.docs["exclusive_ns"]
    assert table.shape == (len(table), len(table.columns))
    assert len(table["region"]) == len(table)
    with pytest.raises(KeyError, match="exclusive_ns"):
        table["nothing"]
    assert all(path[-1] == region for path, region in zip(table["call_path"], table["region"]))


def test_pyarrow_takes_it_with_every_value(table):
    pyarrow = pytest.importorskip("pyarrow")
    arrow = pyarrow.table(table)
    arrow.validate(full=True)
    assert arrow.to_pydict() == table.to_dict()
    assert arrow.schema.field("exclusive_ns").metadata[b"unit"] == b"ns"
    assert arrow.schema.field("exclusive_ns").type == pyarrow.uint64()
    assert table["line"] == [None] * len(table) and arrow["line"].null_count == len(table)
    # A stream is made anew each time.
    assert pyarrow.table(table) == arrow == table.to_pyarrow()


def test_an_empty_table_has_columns(testdata):
    pyarrow = pytest.importorskip("pyarrow")
    empty = ouzel.open(testdata / "pmpi-jacobi").metric_profile()
    assert len(empty) == 0
    assert pyarrow.table(empty).column_names == empty.columns


def test_pandas_takes_it(table):
    pytest.importorskip("pandas")
    frame = table.to_pandas()
    assert list(frame.columns) == table.columns
    assert frame["exclusive_ns"].tolist() == table["exclusive_ns"]
    assert int(frame.groupby("rank")["visits"].sum().sum()) == sum(table["visits"])


def test_polars_takes_it(table):
    polars = pytest.importorskip("polars")
    frame = table.to_polars()
    assert frame.schema["exclusive_ns"] == polars.UInt64
    assert frame["call_path"].to_list() == table["call_path"]
    assert frame["line"].null_count() == len(table)


def test_a_matrix_is_an_array(testdata):
    numpy = pytest.importorskip("numpy")
    matrix = ouzel.open(testdata / "pmpi-jacobi").comm_matrix()
    assert isinstance(matrix, ouzel.Table)
    array = numpy.asarray(matrix)
    assert (array.shape, array.dtype) == ((9, 9), numpy.uint64)
    assert array.tolist() == matrix.matrix
    assert numpy.asarray(matrix, dtype=float).sum() == sum(matrix["bytes"])


def test_a_table_can_be_looked_at(table):
    text = repr(table)
    assert text.startswith("call paths (")
    assert "exclusive_ns" in text and "more of" in text
    page = table._repr_html_()
    assert page.count("<tr>") == 21 and "title=" in page


def test_types_name_everything_that_is_there():
    import ast
    from pathlib import Path

    stubs = Path(ouzel.__file__).with_name("_core.pyi")
    assert stubs.with_name("py.typed").exists()
    typed = {}
    for node in ast.parse(stubs.read_text()).body:
        if isinstance(node, ast.ClassDef):
            typed[node.name] = {item.name: item for item in node.body if isinstance(item, ast.FunctionDef)}
    for cls in [ouzel.Trace, ouzel.Table, ouzel.CommMatrix, ouzel.Histogram]:
        there = {name for name in vars(cls) if not name.startswith("__")}
        assert there == {name for name in typed[cls.__name__] if not name.startswith("__")}
        public = [item for name, item in typed[cls.__name__].items() if not name.startswith("_")]
        assert all(ast.get_docstring(item) for item in public)
