//! The crates that the project is made of, as cargo sees them.

use crate::workspace;
use anyhow::{Context, Result, bail};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

/// What is handed on: the binary and the Python module.
const PRODUCTS: [&str; 2] = ["ouzel-cli", "ouzel-python"];

/// Behind features that no product has: cargo shows the features of all programs together.
const NOT_SHIPPED: [&str; 1] = ["#schemars@"];

/// One crate.
#[derive(Debug, Clone, Deserialize)]
pub struct Package {
    id: String,
    pub name: String,
    pub version: String,
    #[serde(default, deserialize_with = "text_or_none")]
    pub license: String,
    pub license_file: Option<PathBuf>,
    manifest_path: PathBuf,
    /// Where it is from; `None`: it is ours.
    source: Option<String>,
}

fn text_or_none<'de, D: serde::Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    Ok(Option::<String>::deserialize(from)?.unwrap_or_default())
}

impl Package {
    /// Where its files are.
    pub fn folder(&self) -> &Path {
        self.manifest_path.parent().unwrap_or(Path::new("."))
    }
}

/// All of them.
#[derive(Debug)]
pub struct Packages {
    all: Vec<Package>,
    /// Ids of those that are in a product.
    shipped: BTreeSet<String>,
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    resolve: Resolve,
}

#[derive(Deserialize)]
struct Resolve {
    nodes: Vec<Node>,
}

#[derive(Deserialize)]
struct Node {
    id: String,
    deps: Vec<Edge>,
}

#[derive(Deserialize)]
struct Edge {
    pkg: String,
    dep_kinds: Vec<Kind>,
}

#[derive(Deserialize)]
struct Kind {
    /// `None`: for the crate itself, not for its tests or build script.
    kind: Option<String>,
}

impl Packages {
    /// Those of the workspace, on all platforms.
    ///
    /// # Errors
    /// If some of them cannot be fetched.
    pub fn all(root: &Path) -> Result<Packages> {
        Packages::ask(root, &["--locked"])
    }

    /// Those that are already downloaded: on all platforms, or on this one. Second: whether these are all.
    ///
    /// # Errors
    /// If nothing was ever built.
    pub fn at_hand(root: &Path) -> Result<(Packages, bool)> {
        if let Ok(all) = Packages::ask(root, &["--locked", "--offline"]) {
            return Ok((all, true));
        }
        let host = crate::fuzz::host()?;
        Ok((Packages::ask(root, &["--locked", "--offline", "--filter-platform", &host])?, false))
    }

    /// Those of the fuzz targets.
    ///
    /// # Errors
    /// If some of them cannot be fetched.
    pub fn of_fuzzing(root: &Path) -> Result<Packages> {
        Packages::ask(root, &["--locked", "--manifest-path", "fuzz/Cargo.toml"])
    }

    fn ask(root: &Path, options: &[&str]) -> Result<Packages> {
        let mut command = Command::new(workspace::cargo());
        command.args(["metadata", "--format-version", "1"]).args(options).current_dir(root);
        let out = command.output().context("cannot run cargo metadata")?;
        if !out.status.success() {
            let why = String::from_utf8_lossy(&out.stderr);
            bail!(
                "cargo metadata: {}",
                why.lines().find(|line| line.starts_with("error")).unwrap_or("it failed")
            );
        }
        let Metadata { packages, resolve } =
            serde_json::from_slice(&out.stdout).context("cargo metadata is not as expected")?;
        let of: BTreeMap<&str, &Node> = resolve.nodes.iter().map(|node| (node.id.as_str(), node)).collect();
        let is_product = |package: &&Package| PRODUCTS.contains(&package.name.as_str());
        let mut pending: Vec<String> = packages.iter().filter(is_product).map(|of| of.id.clone()).collect();
        let mut shipped: BTreeSet<String> = pending.iter().cloned().collect();
        while let Some(node) = pending.pop().and_then(|id| of.get(id.as_str())) {
            let is_shipped = |edge: &&Edge| {
                edge.dep_kinds.iter().any(|kind| kind.kind.is_none())
                    && !NOT_SHIPPED.iter().any(|name| edge.pkg.contains(name))
            };
            for edge in node.deps.iter().filter(is_shipped) {
                if shipped.insert(edge.pkg.clone()) {
                    pending.push(edge.pkg.clone());
                }
            }
        }
        Ok(Packages { all: packages, shipped })
    }

    /// Third-party crates.
    pub fn foreign(&self) -> impl Iterator<Item = &Package> {
        self.all.iter().filter(|package| package.source.is_some())
    }

    /// Whether it is in a product.
    pub fn is_shipped(&self, package: &Package) -> bool {
        self.shipped.contains(&package.id)
    }
}
