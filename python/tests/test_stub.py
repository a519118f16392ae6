"""The types in `_core.pyi` are those of the compiled module."""

import ast
import inspect
import os
import re
import subprocess
import sys
from pathlib import Path

import ouzel
import pytest
from ouzel import _core

PACKAGE = Path(ouzel.__file__).parent
STUB = ast.parse((Path(ouzel.__file__).parent / "_core.pyi").read_text())


def functions():
    """Each function and method of the stub, by its name, with what the module has under this name."""
    for node in STUB.body:
        if isinstance(node, ast.FunctionDef):
            yield node.name, node, getattr(_core, node.name)
        if isinstance(node, ast.ClassDef) and hasattr(_core, node.name):
            for member in node.body:
                is_method = isinstance(member, ast.FunctionDef) and not member.decorator_list
                if is_method and not member.name.startswith("__"):
                    yield f"{node.name}.{member.name}", member, getattr(getattr(_core, node.name), member.name)


FUNCTIONS = list(functions())


def declared(function):
    """Name, whether it is given by name only, and default of each parameter."""
    args = function.args
    defaults = [None] * (len(args.args) - len(args.defaults)) + args.defaults
    for arg, default in zip(args.args, defaults):
        yield arg.arg, False, inspect.Parameter.empty if default is None else ast.literal_eval(default)
    for arg, default in zip(args.kwonlyargs, args.kw_defaults):
        yield arg.arg, True, inspect.Parameter.empty if default is None else ast.literal_eval(default)


def test_there_are_functions():
    assert {"open", "Trace.filter", "Profile.correlate"} <= {name for name, _, _ in FUNCTIONS}


@pytest.mark.parametrize(("node", "function"), [pytest.param(n, f, id=name) for name, n, f in FUNCTIONS])
def test_parameters_and_defaults_are_those_of_the_module(node, function):
    actual = []
    for (name, parameter), (_, _, default) in zip(inspect.signature(function).parameters.items(), declared(node)):
        # A default that is no literal is shown as `...`.
        shown = default if parameter.default is Ellipsis else parameter.default
        actual.append((name, parameter.kind is parameter.KEYWORD_ONLY, shown))
    assert actual == list(declared(node))


def documented():
    """Each class, function, method and property of the stub that has prose, with what the module has."""
    for node in STUB.body:
        if not isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            continue
        found = getattr(_core, node.name)
        yield node.name, node, found
        for member in node.body if isinstance(node, ast.ClassDef) else []:
            if isinstance(member, ast.FunctionDef):
                yield f"{node.name}.{member.name}", member, getattr(found, member.name, None)


def test_all_prose_of_the_stub_is_there_at_run_time():
    prose = [(name, ast.get_docstring(node), inspect.getdoc(found)) for name, node, found in documented()]
    # Python has its own texts for operators.
    missing = [name for name, text, shown in prose if text and shown != text and "__" not in name]
    assert not missing, "members without #[doc = prose!(…)], see python/build.rs"
    assert 100 < sum(text is not None for _, text, _ in prose)
    # Of several signatures, one has the text.
    explained = {name for name, text, _ in prose if text}
    public = [name for name, _, _ in prose if name not in explained and "__" not in name and "_repr_" not in name]
    assert not public, "public members without prose in the stub"


def test_stubtest_finds_nothing(tmp_path):
    pytest.importorskip("mypy")
    pytest.importorskip("anywidget")
    allowed = Path(__file__).with_name("stubtest-allow.txt")
    command = [sys.executable, "-m", "mypy.stubtest", "ouzel", "--allowlist", str(allowed)]
    installed = "site-packages" in PACKAGE.parts
    environment = os.environ if installed else {**os.environ, "MYPYPATH": str(PACKAGE.parent)}
    # Among installed packages, mypy would take its own for modules of the user.
    folder = tmp_path if installed else PACKAGE.parent
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment, cwd=folder)
    assert done.returncode == 0, done.stdout + done.stderr


TABLES = {"Table", "CommMatrix", "Histogram", "MultiRun", "Correlations", "Waits"}
ARGUMENTS = {
    "Profile.correlate": {"topology": "3x3"},
    "Trace.pattern_detection": {"start_event": "MPI_Waitall"},
    "Trace.detect_pattern": {"start_event": "MPI_Waitall"},
}


def tables():
    """Each function that returns a table, by its name, with its stub."""
    for name, node, _ in FUNCTIONS:
        # Parts of tables, and what a pickle brings, have the columns of the whole.
        if name.startswith("Table.") or name == "restored":
            continue
        if isinstance(node.returns, ast.Name) and node.returns.id in TABLES:
            yield pytest.param(name, node, id=name)


def answer(name, trace):
    """The table that a function returns for a small trace."""
    owner, _, method = name.rpartition(".")
    if method == "kernel_difference":
        return ouzel.kernel_difference(trace, trace)
    if not owner:
        return getattr(ouzel, method)([trace, trace])
    of = trace.severity_cube() if owner == "Profile" else trace
    return getattr(of, method)(**ARGUMENTS.get(name, {}))


@pytest.mark.parametrize(("name", "node"), list(tables()))
def test_docstrings_name_columns_that_exist(name, node, testdata):
    """What a docstring has in double backticks and is no parameter, value, method or metric is a column of the table."""
    doc = ast.get_docstring(node)
    words = set(re.findall(r"``(\w+)``", doc))
    words -= {name for name, _, _ in declared(node)}
    aliases = [alias for alias in STUB.body if isinstance(alias, ast.Assign)]
    values = (value for of in [node.args, *aliases] for value in ast.walk(of) if isinstance(value, ast.Constant))
    words -= {value.value for value in values}
    words -= set(dir(ouzel.Waits)) | set(dir(ouzel.Trace)) | set(dir(ouzel.Profile)) | set(dir(ouzel.Table)) | set(dir(ouzel))
    table = answer(name, ouzel.open(testdata / "pmpi-jacobi"))
    assert all(table.docs.values()), "each column is explained"
    words = {word for word in words if word.islower()}
    words -= set(table["metric"]) if "metric" in table.columns else set()
    assert words <= set(table.columns), words - set(table.columns)
