//! The pictures of the viewer in the documentation, made anew and compared with those that are there.
//!
//! Fonts and browsers draw letters differently, so a picture may differ in a part of its pixels; one that shows something
//! else differs in more.

use crate::runner::{answers, bounded, output, run as run_command};
use crate::steps::{Context, Outcome, cargo};
use crate::{web, workspace};
use anyhow::{Context as _, Result, ensure};
use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// The share of pixels that may differ visibly.
const MAX_SHARE: f64 = 0.02;
/// Prints the share of pixels that differ by more than an eighth of the scale in any colour.
const COMPARE: &str = "\
import sys
from PIL import Image, ImageChops
one, other = (Image.open(path).convert('RGB') for path in sys.argv[1:])
assert one.size == other.size, f'{one.size} and {other.size}'
bands = ImageChops.difference(one, other).split()
most = ImageChops.lighter(ImageChops.lighter(bands[0], bands[1]), bands[2])
print(sum(most.histogram()[32:]) / (one.width * one.height))
";

/// Makes all pictures and compares; those that show the same are put back as they were.
pub fn compare(context: &Context) -> Result<Outcome> {
    let Some(python) = &context.tools.python else {
        return Ok(Outcome::Skipped("no Python environment".into()));
    };
    if !answers(Command::new(python).args(["-c", "import PIL"])) {
        return Ok(Outcome::Skipped("Pillow is not installed".into()));
    }
    let built = run_command(&mut cargo(context, &["build", "--release", "--quiet"]))?;
    ensure!(built.status.success(), "cargo build --release ended with {}", built.status);
    let kept = workspace::target(&context.root)?.join("trials/pictures");
    fs::create_dir_all(&kept)?;
    let pictures = pictures(context)?;
    for picture in &pictures {
        fs::copy(picture, kept.join(picture.file_name().context("a picture has a name")?))?;
    }
    web::pictures(&context.root, &workspace::target(&context.root)?.join("release/ouzel"))?;
    let (mut lines, mut differs) = (Vec::new(), false);
    for picture in &pictures {
        let name = picture.file_name().context("a picture has a name")?;
        let before = kept.join(name);
        let share: f64 =
            output(bounded(60, python).args(["-c", COMPARE]).arg(&before).arg(picture))?.trim().parse()?;
        let is_same = share <= MAX_SHARE;
        if is_same {
            fs::copy(&before, picture)?;
        }
        differs |= !is_same;
        let said = if is_same { "as it was" } else { "DIFFERS: look at the new one" };
        lines.push(format!(
            "{}: {:.2} % of the pixels are new: {said}",
            name.to_string_lossy(),
            100.0 * share
        ));
    }
    Ok(if differs { Outcome::Failed(lines) } else { Outcome::Passed(lines) })
}

/// Those that the browser draws; the others are compared byte by byte by a test of the command line.
fn pictures(context: &Context) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(context.root.join("docs/pictures"))?;
    let paths = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    let mut pictures: Vec<PathBuf> =
        paths.into_iter().filter(|path| path.extension().is_some_and(|end| end == "png")).collect();
    pictures.sort();
    ensure!(!pictures.is_empty(), "docs/pictures has no picture of the viewer");
    Ok(pictures)
}
