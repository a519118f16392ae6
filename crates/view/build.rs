//! Embeds the page, `web/dist`, which `cargo xtask web` builds. Runs no npm: without the folder, the viewer shows how to
//! build it. With `OUZEL_VIEW_REQUIRED` set, as in release builds, a missing page is an error.

use flate2::Compression;
use flate2::write::GzEncoder;
use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

fn main() -> Result<(), Box<dyn Error>> {
    let dist = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../web/dist");
    println!("cargo:rerun-if-changed={}", dist.display());
    println!("cargo:rerun-if-env-changed=OUZEL_VIEW_REQUIRED");
    let mut files = Vec::new();
    collect(&dist, &dist, &mut files)?;
    files.sort();
    if !files.iter().any(|(name, _)| name == "index.html") {
        if std::env::var_os("OUZEL_VIEW_REQUIRED").is_some() {
            return Err("the page of the viewer is not built: run `cargo xtask web` first".into());
        }
        println!("cargo:warning=the page of the viewer is not built: `cargo xtask web` builds it");
        files.clear();
    }
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    let mut list = String::from("&[\n");
    for (at, (name, path)) in files.iter().enumerate() {
        let packed = out.join(format!("{at}.gz"));
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(&fs::read(path)?)?;
        fs::write(&packed, encoder.finish()?)?;
        writeln!(list, "    ({name:?}, include_bytes!({:?})),", packed.display().to_string())?;
    }
    list.push_str("]\n");
    fs::write(out.join("page.rs"), list)?;
    Ok(())
}

/// The files below `folder`, named from `root` with `/`.
fn collect(root: &Path, folder: &Path, into: &mut Vec<(String, PathBuf)>) -> Result<(), Box<dyn Error>> {
    let Ok(entries) = fs::read_dir(folder) else { return Ok(()) };
    for entry in entries {
        let entry = entry?;
        // The folder is in git for the sake of its being there: cargo would run this each time without.
        if entry.file_name().to_string_lossy().starts_with('.') {
            continue;
        }
        let path = entry.path();
        println!("cargo:rerun-if-changed={}", path.display());
        if path.is_dir() {
            collect(root, &path, into)?;
        } else {
            let parts = path.strip_prefix(root)?.components();
            let parts: Vec<String> =
                parts.map(|part| part.as_os_str().to_string_lossy().into_owned()).collect();
            into.push((parts.join("/"), path));
        }
    }
    Ok(())
}
