# SPDX-License-Identifier: MIT OR Apache-2.0
from spack_repo.builtin.build_systems.python import PythonPackage

from spack.package import *


class PyOuzel(PythonPackage):
    """Python package of Ouzel, which finds where parallel programs lose time. Brings the command
    `ouzel`, too; the recorder is in the package `ouzel`."""

    homepage = "HOMEPAGE"
    # The source distribution of `cargo xtask dist`, with all crates and the page of the viewer.
    url = "HOMEPAGE/ouzel-0.1.0.tar.gz"

    license("MIT OR Apache-2.0")

    version("0.1.0", sha256="SHA256")

    depends_on("c", type="build")
    depends_on("rust@1.90:", type="build")
    depends_on("py-maturin@1.9:1", type="build")
    depends_on("python@3.10:", type=("build", "link", "run"))

    import_modules = ["ouzel"]
