"""What Spack gives its recipes, as far as ours use it: for a machine that Spack itself cannot be had for.

`spack.py RECIPE PREFIX` runs a recipe's class body with directives that refuse what Spack would refuse, then its phase
`install` in the current folder, with `cargo` and other programs taken from the path. Names and arguments are those of
Spack's guide to packaging (packages of the API v2). It knows no concretizer: whether Spack's own packages have the
versions that a recipe asks for is not seen here.
"""

import glob
import os
import re
import shutil
import subprocess
import sys
import types

TYPES = {"build", "link", "run", "test"}
NAME = re.compile(r"[a-z0-9][a-z0-9-]*")
SPEC = re.compile(rf"({NAME.pattern})(@[=0-9a-z.:,-]+)?([+~][a-z0-9_-]+)*")
LONGEST_LINE = 99


class Prefix(str):
    """A folder whose attributes are folders in it."""

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return Prefix(os.path.join(self, name))


class Executable:
    def __init__(self, path):
        assert os.access(path, os.X_OK), f"{path} is no program"
        self.path = path

    def __call__(self, *words, output=None):
        subprocess.run([self.path, *words], check=True, stdout=output)


class Spec:
    def __init__(self, variants):
        self.variants = variants

    def satisfies(self, condition):
        sign, name = condition[0], condition[1:]
        assert sign in "+~" and name in self.variants, f"no variant for {condition!r}"
        return self.variants[name] == (sign == "+")


class Directives:
    """Collects what a class body declares."""

    def __init__(self):
        self.versions, self.variants, self.dependencies, self.licenses = [], {}, [], []

    def version(self, name, *, sha256):
        self.versions.append(name)

    def variant(self, name, *, default, description):
        assert isinstance(default, bool) and description
        self.variants[name] = default

    def depends_on(self, spec, *, type=("build", "link"), when=None):
        assert SPEC.fullmatch(spec), f"{spec!r} is no spec"
        assert TYPES.issuperset([type] if isinstance(type, str) else type), f"{type} is no kind of dependency"
        assert when is None or when[1:] in self.variants, f"{when!r} names no variant"
        self.dependencies.append(spec)

    def license(self, expression):
        self.licenses.append(expression)


def which(name, required=False):
    path = shutil.which(name)
    assert path or not required, f"no {name}"
    return path and Executable(path)


def install(pattern, folder):
    found = glob.glob(pattern)
    assert found, f"nothing is called {pattern}"
    for path in found:
        shutil.copy(path, folder)


def mkdirp(*folders):
    for folder in folders:
        os.makedirs(folder, exist_ok=True)


def after(phase):
    assert phase == "install"
    return lambda method: setattr(method, "runs_after", phase) or method


def modules(directives):
    """The modules that recipes import, with nothing else in them."""
    given = {"which": which, "install": install, "mkdirp": mkdirp, "join_path": os.path.join, "Executable": Executable}
    given |= {"run_after": after, "on_package_attributes": lambda *, run_tests: lambda method: method}
    given |= {name: getattr(directives, name) for name in ["version", "variant", "depends_on", "license"]}
    base = "spack_repo.builtin.build_systems"
    kinds = {f"{base}.generic": {"Package": type("Package", (), {})}}
    kinds[f"{base}.python"] = {"PythonPackage": type("PythonPackage", (), {})}
    for name, names in {"spack.package": given, **kinds}.items():
        for parent in [name.rsplit(".", depth)[0] for depth in range(name.count(".") + 1)]:
            sys.modules.setdefault(parent, types.ModuleType(parent))
        vars(sys.modules[name]).update(names)


def main(recipe, prefix):
    with open(recipe) as file:
        text = file.read()
    too_long = [line for line in text.splitlines() if LONGEST_LINE < len(line)]
    assert not too_long, f"longer than {LONGEST_LINE}: {too_long}"
    directives = Directives()
    modules(directives)
    names = {}
    exec(compile(text, recipe, "exec"), names)
    words = os.path.basename(os.path.dirname(os.path.abspath(recipe))).split("_")
    package = names["".join(word.capitalize() for word in words)]
    assert package.__doc__ and package.homepage and package.url and directives.versions and directives.licenses
    assert "c" in directives.dependencies, "who compiles C has to say so"
    if hasattr(package, "install"):
        installed, prefix = package(), Prefix(prefix)
        installed.spec, installed.prefix = Spec(directives.variants), prefix
        installed.install(installed.spec, prefix)
        for method in vars(package).values():
            if getattr(method, "runs_after", None):
                method(installed)


if __name__ == "__main__":
    main(*sys.argv[1:])
