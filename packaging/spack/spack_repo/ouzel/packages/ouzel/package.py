# SPDX-License-Identifier: MIT OR Apache-2.0
from spack_repo.builtin.build_systems.generic import Package

from spack.package import *

COMPLETIONS = [
    ("bash", "share/bash-completion/completions", "ouzel"),
    ("zsh", "share/zsh/site-functions", "_ouzel"),
    ("fish", "share/fish/vendor_completions.d", "ouzel.fish"),
]


class Ouzel(Package):
    """Finds where parallel programs lose time: reads traces and profiles (OTF2, HPCToolkit, CUBE,
    Nsight Systems, Projections, Chrome) and says what a change would gain."""

    homepage = "HOMEPAGE"
    url = "HOMEPAGE/ouzel-0.1.0-source.tar.gz"

    license("MIT OR Apache-2.0")

    version("0.1.0", sha256="SHA256")

    variant("viewer", default=True, description="Embed the page of `ouzel view`")

    depends_on("c", type="build")
    depends_on("rust@1.90:", type="build")
    depends_on("node-js@20:", type="build", when="+viewer")
    depends_on("npm", type="build", when="+viewer")

    def install(self, spec, prefix):
        cargo = which("cargo", required=True)
        if spec.satisfies("+viewer"):
            cargo("xtask", "web")
        cargo("build", "--locked", "--profile", "dist", "-p", "ouzel-cli", "-p", "ouzel-preload")
        mkdirp(prefix.bin, prefix.lib.ouzel, prefix.share.man)
        install("target/dist/ouzel", prefix.bin)
        install("target/dist/libouzel_record.so", prefix.lib.ouzel)
        ouzel = Executable(prefix.bin.ouzel)
        ouzel("help", "--man", prefix.share.man.man1)
        for shell, folder, name in COMPLETIONS:
            mkdirp(join_path(prefix, folder))
            with open(join_path(prefix, folder, name), "w") as file:
                ouzel("completions", shell, output=file)
        mkdirp(prefix.share.doc.ouzel)
        install("LICENSE-*", prefix.share.doc.ouzel)
        with open(join_path(prefix.share.doc.ouzel, "THIRD-PARTY"), "w") as file:
            ouzel("licenses", "--texts", output=file)

    @run_after("install")
    @on_package_attributes(run_tests=True)
    def check_install(self):
        Executable(self.prefix.bin.ouzel)("--version")
