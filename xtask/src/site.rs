//! `cargo xtask site`: the documentation as a web site, by mdBook.
//!
//! ```text
//! docs/ ──without links out of it──► target/site ──mdBook──► DIR/VERSION/…, and beside it versions.js and index.html
//! ```
//!
//! A folder for each version: a later run adds its own to those that are there, and the menu of all lists them.

use crate::runner::{bounded, run as run_command};
use crate::workspace;
use anyhow::{Context, Result, bail, ensure};
use serde_json::json;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Component, Path, PathBuf};

const HELP: &str = "\
usage: cargo xtask site [--out DIR] [--version NAME]

the documentation as a web site with search, in DIR/NAME; other versions in DIR stay

  --out DIR       default target/site/pages
  --version NAME  default the version of Ouzel
";

/// Its HTML and search are what the tests know.
const MDBOOK: &str = "0.5.4";
/// Seconds to compile it, on one slow core.
const INSTALL_SECONDS: u32 = 1200;

/// `cargo xtask site`
pub fn run(words: &[String]) -> Result<()> {
    let root = workspace::root()?;
    let (mut out, mut version) = (None, None);
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let value = match word.as_str() {
            "--help" => {
                print!("{HELP}");
                return Ok(());
            }
            "--out" => &mut out,
            "--version" => &mut version,
            other => bail!("unknown option {other:?}\n\n{HELP}"),
        };
        *value = Some(words.next().with_context(|| format!("{word} needs a value"))?.clone());
    }
    let out = match out {
        Some(out) => PathBuf::from(out),
        None => workspace::target(&root)?.join("site/pages"),
    };
    let version = match version {
        Some(version) => version,
        None => own_version(&root)?,
    };
    build(&root, &out, &version)?;
    println!("{}", out.join("index.html").display());
    Ok(())
}

/// The version of Ouzel.
pub fn own_version(root: &Path) -> Result<String> {
    let metadata = workspace::metadata(root)?;
    let packages = metadata["packages"].as_array().context("cargo names no packages")?;
    let own = packages.iter().find(|package| package["name"] == "ouzel-cli");
    Ok(own.and_then(|own| own["version"].as_str()).context("cargo names no version")?.to_owned())
}

/// The site of one version in `out`, beside those that are there.
pub fn build(root: &Path, out: &Path, version: &str) -> Result<()> {
    let is_name = !version.starts_with('.') && !version.contains(['/', '\\']) && !version.is_empty();
    ensure!(is_name, "{version:?} is no name of a folder");
    let mdbook = mdbook(root)?;
    let stage = workspace::target(root)?.join("site/source");
    if stage.exists() {
        fs::remove_dir_all(&stage)?;
    }
    stage_folder(&root.join("docs"), &stage, &root.join("docs"))?;
    let out = std::path::absolute(out)?;
    fs::create_dir_all(&out)?;
    let pages = out.join(version);
    let mut command = bounded(300, &mdbook);
    command.arg("build").arg(&stage).arg("--dest-dir").arg(&pages);
    ensure!(run_command(&mut command)?.status.success(), "mdBook failed");
    let broken = broken_links(&pages)?;
    ensure!(broken.is_empty(), "links that lead nowhere:\n{}", broken.join("\n"));
    write_versions(&out)
}

/// mdBook in the cache, compiled if it is not there.
fn mdbook(root: &Path) -> Result<PathBuf> {
    let place = workspace::cache(root).join(format!("mdbook-{MDBOOK}"));
    let program = place.join("bin/mdbook");
    if program.exists() {
        return Ok(program);
    }
    let mut command = bounded(INSTALL_SECONDS, Path::new(&workspace::cargo()));
    command.args(["install", "mdbook", "--locked", "--version", MDBOOK, "--root"]).arg(&place);
    // Neither the server nor the watcher.
    command.args(["--no-default-features", "--features", "search"]);
    command.arg("--target-dir").arg(place.join("target"));
    let installed = run_command(&mut command)?.status.success();
    // It is never compiled again.
    let _ = fs::remove_dir_all(place.join("target"));
    ensure!(installed, "mdBook {MDBOOK} cannot be installed");
    Ok(program)
}

/// Copies a folder of the documentation. Links out of it become words: the sources are not part of the site.
fn stage_folder(from: &Path, to: &Path, docs: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let path = entry?.path();
        let copy = to.join(path.file_name().context("an entry has a name")?);
        if path.is_dir() {
            stage_folder(&path, &copy, docs)?;
        } else if path.extension().is_some_and(|extension| extension == "md") {
            fs::write(&copy, without_links_out(&fs::read_to_string(&path)?, &path, docs))?;
        } else {
            fs::copy(&path, &copy)?;
        }
    }
    Ok(())
}

/// A page whose links out of `docs` are words.
fn without_links_out(text: &str, path: &Path, docs: &Path) -> String {
    let folder = path.parent().unwrap_or(docs);
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("](../") {
        let (before, link) = rest.split_at(at);
        let Some((target, after)) = link[2..].split_once(')') else { break };
        let open = before.rfind('[');
        let leads_out = !normal(&folder.join(target)).starts_with(docs);
        match open {
            Some(open) if leads_out => {
                out.push_str(&before[..open]);
                out.push_str(&before[open + 1..]);
            }
            _ => {
                out.push_str(before);
                out.push_str(&link[..target.len() + 3]);
            }
        }
        rest = after;
    }
    out.push_str(rest);
    out
}

/// Without `..`.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for component in path.components() {
        if component == Component::ParentDir {
            normal.pop();
        } else {
            normal.push(component);
        }
    }
    normal
}

/// The HTML files below a folder, relative to it.
fn pages(folder: &Path) -> Result<BTreeSet<String>> {
    let (mut pages, mut pending) = (BTreeSet::new(), vec![folder.to_owned()]);
    while let Some(of) = pending.pop() {
        for entry in fs::read_dir(of)? {
            let path = entry?.path();
            if path.is_dir() {
                pending.push(path);
            } else if path.extension().is_some_and(|extension| extension == "html") {
                pages.insert(path.strip_prefix(folder)?.to_string_lossy().into_owned());
            }
        }
    }
    Ok(pages)
}

/// Links of pages to files or places of pages that are not there.
fn broken_links(folder: &Path) -> Result<Vec<String>> {
    let mut broken = Vec::new();
    for page in pages(folder)? {
        // The page of an error is shown at any address.
        if page == "404.html" {
            continue;
        }
        let path = folder.join(&page);
        let text = fs::read_to_string(&path)?;
        for link in ["href=\"", "src=\""].iter().flat_map(|start| text.split(start).skip(1)) {
            let link = link.split('"').next().unwrap_or_default();
            if !leads_somewhere(link, &path)? {
                broken.push(format!("{page}: {link}"));
            }
        }
    }
    Ok(broken)
}

fn leads_somewhere(link: &str, page: &Path) -> Result<bool> {
    if link.contains("://") || link.starts_with("data:") || link.starts_with("mailto:") {
        return Ok(true);
    }
    let (file, place) = link.split_once('#').unwrap_or((link, ""));
    let target = match file {
        "" => page.to_owned(),
        file => normal(&page.parent().unwrap_or(page).join(file)),
    };
    if place.is_empty() || target.extension().is_none_or(|extension| extension != "html") {
        return Ok(target.exists());
    }
    Ok(fs::read_to_string(&target).is_ok_and(|text| text.contains(&format!("id=\"{place}\""))))
}

/// What the menus of all versions read, and the page that leads to the newest.
fn write_versions(out: &Path) -> Result<()> {
    let mut versions = Vec::new();
    for entry in fs::read_dir(out)? {
        let path = entry?.path();
        if path.join("index.html").exists() {
            versions.push(path.file_name().context("a folder has a name")?.to_string_lossy().into_owned());
        }
    }
    versions.sort_by_key(|name| std::cmp::Reverse(version_key(name)));
    let list = versions.iter().map(|name| Ok(json!({ "name": name, "pages": pages(&out.join(name))? })));
    let list = list.collect::<Result<Vec<_>>>()?;
    let script = format!("window.ouzelVersions = {};\n", serde_json::to_string(&list)?);
    fs::write(out.join("versions.js"), script)?;
    let newest = versions.first().context("a version was just built")?;
    let page = format!(
        "<!DOCTYPE html>\n<meta charset=\"utf-8\">\n<title>Ouzel</title>\n\
         <meta http-equiv=\"refresh\" content=\"0; url={newest}/index.html\">\n\
         <a href=\"{newest}/index.html\">Ouzel {newest}</a>\n"
    );
    fs::write(out.join("index.html"), page)?;
    Ok(())
}

/// Sorts releases by number, and names such as `dev` before all of them: the newest is a release.
fn version_key(name: &str) -> (bool, Vec<u64>, String) {
    let numbers: Option<Vec<u64>> = name.split('.').map(|part| part.parse().ok()).collect();
    (numbers.is_some(), numbers.unwrap_or_default(), name.to_owned())
}

/// Builds two versions and looks at them in a browser: pages, search and the menu.
pub fn build_and_look(root: &Path) -> Result<Vec<String>> {
    let out = workspace::target(root)?.join("trials/site");
    if out.exists() {
        fs::remove_dir_all(&out)?;
    }
    let version = own_version(root)?;
    build(root, &out, "0.0.1")?;
    build(root, &out, &version)?;
    let index = fs::read_to_string(out.join("index.html"))?;
    ensure!(index.contains(&format!("{version}/index.html")), "the first page leads to an older version");
    let newest = out.join(&version);
    let has_menu = shown(&newest.join("method.html"))?.contains("<option>0.0.1</option>");
    ensure!(has_menu, "the menu of a page in the browser lacks a version");
    let is_index = |name: &str| name.starts_with("searchindex");
    let has_index = fs::read_dir(&newest)?
        .any(|entry| entry.is_ok_and(|entry| is_index(&entry.file_name().to_string_lossy())));
    ensure!(has_index, "there is nothing to search in");
    let n_pages = pages(&newest)?.len();
    Ok(vec![format!("{n_pages} pages, every link of them leads somewhere; the menu has both versions")])
}

/// A page as Chromium shows it.
fn shown(page: &Path) -> Result<String> {
    let profile = std::env::temp_dir().join(format!("ouzel-site-{}", std::process::id()));
    let mut command = bounded(60, Path::new("chromium"));
    command.args([
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--no-first-run",
        "--virtual-time-budget=5000",
    ]);
    command.args(["--disable-background-networking", "--disable-component-update", "--disable-sync"]);
    command.arg(format!("--user-data-dir={}", profile.display())).arg("--dump-dom");
    command.arg(format!("file://{}", page.display()));
    let output = command.output().context("chromium cannot be started")?;
    let _ = fs::remove_dir_all(profile);
    ensure!(output.status.success(), "chromium failed on {}", page.display());
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_out_of_the_documentation_become_words() {
        let docs = Path::new("/r/docs");
        let of = |text: &str, page: &str| without_links_out(text, &docs.join(page), docs);
        assert_eq!(of("a [b](../x.rs) c", "p.md"), "a b c");
        assert_eq!(of("a [b](../p.md#x) [c](../../d)", "design/q.md"), "a [b](../p.md#x) c");
        assert_eq!(of("a [b](x.md)", "p.md"), "a [b](x.md)");
    }

    #[test]
    fn the_newest_version_comes_first() {
        let mut versions = ["0.9.0", "dev", "0.10.0", "0.2.1"];
        versions.sort_by_key(|name| std::cmp::Reverse(version_key(name)));
        assert_eq!(versions, ["0.10.0", "0.9.0", "0.2.1", "dev"]);
    }
}
