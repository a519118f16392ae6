//! The page's files: embedded in the program, or for its development read from a folder.

use crate::server::reply::Reply;
use flate2::read::GzDecoder;
use hyper::StatusCode;
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// Names and contents of the page, compressed; empty if it was not built.
const EMBEDDED: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/page.rs"));

/// The folder that takes the place of the embedded page, without a new build: for who develops it.
const FOLDER_VARIABLE: &str = "OUZEL_VIEW_DIST";

/// Most bytes of a file in that folder: the whole page has less than a megabyte.
const MOST_BYTES: u64 = 64 << 20;

const NOT_BUILT: &str = "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Ouzel</title></head>\n\
    <body><h1>The page of the viewer is not part of this program</h1>\n\
    <p>Build it with <code>cargo xtask web</code> (it needs node and npm), then build Ouzel again.</p></body></html>\n";

/// A file of the page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Asset {
    /// Its media type.
    pub content_type: &'static str,
    /// Its content.
    pub bytes: Vec<u8>,
    /// Whether `bytes` are compressed with gzip.
    pub is_packed: bool,
    /// Whether its name changes with its content.
    pub is_immutable: bool,
}

/// Where the page's files come from.
#[derive(Debug, Clone)]
pub(crate) enum Assets {
    /// This program.
    Embedded,
    /// A folder.
    Folder(PathBuf),
}

impl Assets {
    /// The folder that the environment names, else what is embedded.
    pub fn new() -> Self {
        std::env::var_os(FOLDER_VARIABLE).map_or(Assets::Embedded, |folder| Assets::Folder(folder.into()))
    }

    /// The page as one file that lacks its data; `None` if it is not built.
    pub fn standalone(&self) -> Option<String> {
        let asset = self.find("standalone.html")?;
        let mut text = String::new();
        if asset.is_packed {
            GzDecoder::new(&*asset.bytes).read_to_string(&mut text).ok()?;
            return Some(text);
        }
        String::from_utf8(asset.bytes).ok()
    }

    /// The answer to who asks for the file of this name; the page itself has none.
    pub fn reply(&self, name: &str) -> Reply {
        let name = if name.is_empty() { "index.html" } else { name };
        let Some(asset) = self.find(name) else { return Reply::status(StatusCode::NOT_FOUND) };
        let (content_type, is_packed, is_immutable) =
            (asset.content_type, asset.is_packed, asset.is_immutable);
        let reply = Reply { is_packed, ..Reply::of(content_type, asset.bytes) };
        if is_immutable { reply.forever() } else { reply }
    }

    /// The file of this name; `None` if there is none.
    pub fn find(&self, name: &str) -> Option<Asset> {
        if !is_plain(name) {
            return None;
        }
        let content_type = content_type(name)?;
        let asset = |bytes: Vec<u8>, is_packed: bool| Asset {
            content_type,
            bytes,
            is_packed,
            is_immutable: is_packed && name.starts_with("assets/"),
        };
        let found = match self {
            Assets::Embedded => {
                let at = EMBEDDED.iter().find(|(known, _)| *known == name);
                at.map(|(_, bytes)| asset(bytes.to_vec(), true))
            }
            Assets::Folder(folder) => read(folder, name).map(|bytes| asset(bytes, false)),
        };
        found.or_else(|| (name == "index.html").then(|| asset(NOT_BUILT.into(), false)))
    }
}

fn read(folder: &Path, name: &str) -> Option<Vec<u8>> {
    ouzel_files::input::read_limited(&folder.join(name), MOST_BYTES).ok()
}

/// Whether the name stays inside the folder: plain words, none of which begins with a dot.
fn is_plain(name: &str) -> bool {
    name.split('/').all(|part| {
        !part.is_empty()
            && !part.starts_with('.')
            && part.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_'))
    })
}

fn content_type(name: &str) -> Option<&'static str> {
    Some(match name.rsplit_once('.')?.1 {
        "html" => "text/html; charset=utf-8",
        "js" | "mjs" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "json" | "map" => "application/json",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "ico" => "image/x-icon",
        "woff2" => "font/woff2",
        "txt" => "text/plain; charset=utf-8",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_inside_the_folder() {
        let folder = tempfile::tempdir().unwrap();
        let dist = folder.path().join("dist");
        std::fs::create_dir_all(dist.join("assets")).unwrap();
        std::fs::write(folder.path().join("secret.txt"), "secret").unwrap();
        std::fs::write(dist.join(".hidden.txt"), "hidden").unwrap();
        std::fs::write(dist.join("assets/a-1.js"), "1").unwrap();
        let assets = Assets::Folder(dist);
        assert_eq!(assets.find("assets/a-1.js").unwrap().bytes, b"1");
        for name in [
            "../secret.txt",
            "assets/../../secret.txt",
            "/etc/hosts.txt",
            ".hidden.txt",
            "assets//a-1.js",
            "a\0.js",
        ] {
            assert_eq!(assets.find(name), None, "{name:?}");
        }
    }

    #[test]
    fn a_page_that_is_not_there_says_how_to_build_it() {
        let folder = tempfile::tempdir().unwrap();
        let page = Assets::Folder(folder.path().to_owned()).find("index.html").unwrap();
        assert!(String::from_utf8(page.bytes).unwrap().contains("cargo xtask web"));
    }
}
