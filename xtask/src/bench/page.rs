//! `docs/speed.md`: for each section of the bench, the table that was measured last.
//!
//! Law: sections that were not measured stay as they are, with their date and machine.

use super::table::{self, Row};
use super::{SECTIONS, machine};
use crate::runner::output;
use anyhow::{Context, Result};
use std::fs;
use std::path::Path;
use std::process::Command;

const HEAD: &str = "\
# Speed

`cargo xtask bench` writes this page. Each section has the tables of its last full run; `--quick` only prints.
All parts of a ratio run alternately in the same invocation, on the same files, with a warm page cache, and count as whole processes; the figure of the OTF2 C library covers only its event loop, to its advantage.
Times are medians. Machines are noisy: compare ratios rather than times of different sections. Sizes of what is shipped and the time to the first finding are in [dist.md](dist.md#how-we-try-it).
";

/// The section whose table is in the page about it, before the next heading.
const RECORD: (&str, &str, &str) = ("record", "docs/record.md", "\n### Overhead\n");

/// What was measured of a section.
pub struct Measured {
    pub section: &'static str,
    pub rows: Vec<Row>,
    /// What could not be measured, and why.
    pub skipped: Vec<String>,
}

/// Puts what was measured into the page.
pub fn write(root: &Path, measured: &[Measured]) -> Result<()> {
    let path = root.join("docs/speed.md");
    let old = fs::read_to_string(&path).unwrap_or_default();
    let date = output(Command::new("date").arg("+%F"))?;
    let origin = format!("Measured on {}: {}.", date.trim(), machine::line()?);
    let (of_record, others): (Vec<&Measured>, Vec<&Measured>) =
        measured.iter().partition(|new| new.section == RECORD.0);
    fs::write(&path, merged(&old, &others, &origin))
        .with_context(|| format!("cannot write {}", path.display()))?;
    if let Some(measured) = of_record.first() {
        let path = root.join(RECORD.1);
        let old = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let new = replaced(&old, RECORD.2, &body(measured, &origin));
        fs::write(&path, new.context("docs/record.md has no place for its table")?)?;
    }
    Ok(())
}

/// The page with another text below a heading.
fn replaced(page: &str, heading: &str, text: &str) -> Option<String> {
    let (before, rest) = page.split_once(heading)?;
    let after = rest.find("\n#").map_or("", |at| &rest[at..]);
    Some(format!("{before}{heading}\n{text}\n{after}"))
}

fn merged(old: &str, measured: &[&Measured], origin: &str) -> String {
    let text = |section: &str| match measured.iter().find(|new| new.section == section) {
        Some(new) => Some(body(new, origin)),
        None => kept(old, section),
    };
    let sections =
        SECTIONS.iter().filter_map(|section| Some(format!("\n## {section}\n\n{}\n", text(section)?)));
    std::iter::once(HEAD.to_owned()).chain(sections).collect()
}

fn body(measured: &Measured, origin: &str) -> String {
    let skipped: String = measured.skipped.iter().map(|why| format!("\nNot measured: {why}.")).collect();
    format!("{origin}\n\n{}{skipped}", table::render(&measured.rows)).trim_end().to_owned()
}

/// What the page has of a section.
fn kept(page: &str, section: &str) -> Option<String> {
    let (_, rest) = page.split_once(&format!("\n## {section}\n"))?;
    Some(rest.split_once("\n## ").map_or(rest, |(body, _)| body).trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_is_replaced_and_the_others_stay() {
        let row = |seconds| Row::timed("report", "10M", seconds);
        let of = |section, seconds| Measured { section, rows: vec![row(seconds)], skipped: Vec::new() };
        let first = merged("", &[&of("cube", 1.0), &of("decoding", 2.0)], "Measured on Monday.");
        let second = merged(
            &first,
            &[&Measured { skipped: vec!["no Python".to_owned()], ..of("cube", 3.0) }],
            "Measured on Tuesday.",
        );
        let cube = kept(&second, "cube").unwrap();
        assert!(cube.starts_with("Measured on Tuesday.") && cube.contains("3.000 s"), "{cube}");
        assert!(cube.ends_with("Not measured: no Python."), "{cube}");
        assert_eq!(kept(&second, "decoding"), kept(&first, "decoding"));
        assert!(kept(&second, "decoding").unwrap().contains("2.000 s"));
        assert_eq!(merged(&second, &[], "never"), second);
    }

    #[test]
    fn a_table_of_another_page_is_replaced() {
        let page = "# Record\n\n### Overhead\n\nold\n\n## How it works\n";
        let new = replaced(page, RECORD.2, "new").expect("the heading is there");
        assert_eq!(new, "# Record\n\n### Overhead\n\nnew\n\n## How it works\n");
        assert_eq!(replaced(&new, RECORD.2, "new"), Some(new.clone()));
        assert_eq!(replaced("# Record\n", RECORD.2, "new"), None);
    }
}
