//! The list of third-party licenses that the binary and the wheel hold.
//!
//! ```text
//! name ⇥ version ⇥ license ⇥ numbers of texts, with commas │ one line for each crate, sorted
//! form feed, text 0, form feed, text 1, …
//! ```
//!
//! Each text is there once. It is kept with its lines trimmed at the end, compressed. A crate that comes without a text
//! and may be used by the Apache or the MIT license has the one of this project, which is the same but for the name.

use super::packages::{Package, Packages};
use anyhow::{Context, Result, ensure};
use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::path::Path;

/// Where it is, as `crates/ouzel/src/licenses.rs` reads it.
const FILE: &str = "crates/ouzel/src/licenses.gz";
const APACHE: &str = "LICENSE-APACHE";
const MIT: &str = "LICENSE-MIT";
/// The copyright holder in this project's MIT license.
const US: &str = "The Ouzel developers";
/// Shorter files are no licenses: a packed link, a line that names another file.
const TEXT_BYTES_MIN: usize = 100;
/// How names of files begin that hold licenses.
const NAMES: &[&str] = &["LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE", "UNLICENSE"];

/// One crate's license and texts.
type Entry = (String, Vec<String>);
/// By name and version.
type List = BTreeMap<(String, String), Entry>;

/// Writes the list; returns a summary.
///
/// # Errors
/// If a crate has no text, or a file cannot be read or written.
pub fn write(root: &Path) -> Result<String> {
    let list = list(root, &Packages::all(root)?)?;
    let text = to_text(&list);
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    packed.write_all(text.as_bytes())?;
    let packed = packed.finish()?;
    fs::write(root.join(FILE), &packed).with_context(|| format!("cannot write {FILE}"))?;
    Ok(format!("{FILE}: {} crates, {} bytes of text in {}", list.len(), text.len(), packed.len()))
}

/// The differences between the list and the crates.
///
/// # Errors
/// If it cannot be read, or cargo cannot list the crates.
pub fn flaws(root: &Path) -> Result<Vec<String>> {
    let packed = fs::read(root.join(FILE)).with_context(|| format!("cannot read {FILE}"))?;
    let mut text = String::new();
    flate2::read::GzDecoder::new(&packed[..]).read_to_string(&mut text).with_context(|| FILE.to_owned())?;
    let there = from_text(&text).with_context(|| FILE.to_owned())?;
    let (packages, is_all) = Packages::at_hand(root)?;
    let wanted = list(root, &packages)?;
    let mut flaws = Vec::new();
    for ((name, version), entry) in &wanted {
        match there.get(&(name.clone(), version.clone())) {
            None => flaws.push(format!("{FILE} lacks {name} {version}: cargo xtask audit --write")),
            Some(old) if old != entry => {
                flaws.push(format!(
                    "{FILE} has another license of {name} {version}: cargo xtask audit --write"
                ));
            }
            Some(_) => {}
        }
    }
    // Crates of other platforms may not be downloaded.
    let gone = there.keys().filter(|key| is_all && !wanted.contains_key(*key));
    flaws.extend(gone.map(|(name, version)| {
        format!("{FILE} has {name} {version}, which is not used any more: cargo xtask audit --write")
    }));
    Ok(flaws)
}

fn list(root: &Path, packages: &Packages) -> Result<List> {
    let apache = fs::read_to_string(root.join(APACHE)).with_context(|| format!("cannot read {APACHE}"))?;
    let mit = fs::read_to_string(root.join(MIT)).with_context(|| format!("cannot read {MIT}"))?;
    ensure!(mit.contains(US), "{MIT} does not name {US:?}");
    let mut list = List::new();
    for package in packages.foreign().filter(|package| packages.is_shipped(package)) {
        let mut texts = texts(package).with_context(|| package.folder().display().to_string())?;
        let Package { name, version, license, .. } = package;
        if texts.is_empty() && license.contains("Apache-2.0") {
            texts.push(normal(&apache));
        } else if texts.is_empty() && license.contains("MIT") {
            texts.push(normal(&mit.replace(US, &format!("the authors of {name}"))));
        }
        ensure!(!texts.is_empty(), "{name} {version} comes without the text of its license, {license}");
        list.insert((name.clone(), version.clone()), (license.clone(), texts));
    }
    Ok(list)
}

/// The texts of a crate, in the order of their names.
fn texts(package: &Package) -> Result<Vec<String>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(package.folder())? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().to_uppercase();
        let is_license = NAMES.iter().any(|begin| name.starts_with(begin));
        if is_license && entry.path().is_file() {
            files.push(entry.path());
        }
    }
    files.extend(package.license_file.iter().map(|file| package.folder().join(file)));
    files.sort();
    files.dedup();
    let mut texts = Vec::new();
    for file in files {
        let text = normal(&String::from_utf8_lossy(&fs::read(&file)?));
        if TEXT_BYTES_MIN <= text.len() && !texts.contains(&text) {
            texts.push(text);
        }
    }
    Ok(texts)
}

/// The text without differences that do not change its meaning.
fn normal(text: &str) -> String {
    let lines: Vec<&str> = text.trim_start_matches('\u{feff}').lines().map(str::trim_end).collect();
    lines.join("\n").replace('\u{c}', "").trim_matches('\n').to_owned()
}

fn to_text(list: &List) -> String {
    let (mut table, mut numbers, mut all) = (String::new(), BTreeMap::new(), String::new());
    for ((name, version), (license, texts)) in list {
        let number = |text: &String| {
            let next = numbers.len();
            let number = *numbers.entry(text.clone()).or_insert(next);
            if number == next {
                all.push('\u{c}');
                all += text;
            }
            number.to_string()
        };
        let numbers: Vec<String> = texts.iter().map(number).collect();
        table += &format!("{name}\t{version}\t{license}\t{}\n", numbers.join(","));
    }
    table + &all
}

fn from_text(text: &str) -> Result<List> {
    let mut parts = text.split('\u{c}');
    let table = parts.next().unwrap_or_default();
    let all: Vec<&str> = parts.collect();
    let entry = |line: &str| -> Option<((String, String), Entry)> {
        let mut cells = line.split('\t').map(str::to_owned);
        let (name, version, license, numbers) = (cells.next()?, cells.next()?, cells.next()?, cells.next()?);
        let text = |number: &str| Some((*all.get(number.parse::<usize>().ok()?)?).to_owned());
        Some(((name, version), (license, numbers.split(',').map(text).collect::<Option<_>>()?)))
    };
    table.lines().map(|line| entry(line).with_context(|| format!("line {line:?}"))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_read_as_it_was_written() {
        let crate_of = |name: &str, texts: &[&str]| {
            let texts = texts.iter().map(|&text| text.to_owned()).collect();
            ((name.to_owned(), "1.0.0".to_owned()), ("MIT".to_owned(), texts))
        };
        let list = List::from([crate_of("a", &["one\ntwo", "three"]), crate_of("b", &["three"])]);
        let text = to_text(&list);
        assert_eq!(text, "a\t1.0.0\tMIT\t0,1\nb\t1.0.0\tMIT\t1\n\u{c}one\ntwo\u{c}three");
        assert_eq!(from_text(&text).expect("it is whole"), list);
        assert!(from_text("a\t1\tMIT\t7\n").is_err() && from_text("a\t1\n").is_err());
    }

    #[test]
    fn texts_that_say_the_same_are_the_same() {
        assert_eq!(normal("\u{feff}\nMIT  \r\n\r\nfree\n\n"), normal("MIT\n\nfree"));
    }
}
