//! What is done to the files of an archive.

use super::files;
use anyhow::{Context, Result};
use ouzel_testkit::Rng;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Pieces of text that readers stumble over.
const WORDS: &[&str] = &[
    "-1",
    "0",
    "18446744073709551615",
    "18446744073709551616",
    "9223372036854775808",
    "1e999",
    "-1e308",
    "NaN",
    "null",
    "\"",
    "'",
    "<",
    ">",
    "</",
    "&lt;",
    "&lol;",
    "<![CDATA[",
    "]]>",
    "<!DOCTYPE a [<!ENTITY b \"c\">]>",
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\n",
    "\r\n",
    "\0",
    "\u{202e}",
    "\u{2028}",
    "\u{feff}",
    "=1+2",
    "\\u0000",
    "\\ud800",
    "%s%n",
];
/// Numbers that lengths are replaced by.
const NUMBERS: &[u64] =
    &[0, 1, 0x7f, 0xff, 0xffff, 0x7fff_ffff, 0xffff_ffff, 1 << 32, 1 << 40, i64::MAX as u64, u64::MAX];
/// Length of a file with holes.
const SPARSE_BYTES: u64 = 64 << 30;
/// Files that are longer are not spoilt byte by byte.
const READ_BYTES_MAX: u64 = 64 << 20;

/// Spoils one file or the folder of an archive; returns a description.
pub fn one(folder: &Path, others: &[PathBuf], rng: &mut Rng) -> Result<String> {
    let listing = files::list(folder)?;
    let all = files::regular(&listing);
    let Some(path) = pick(&all, rng) else { return Ok("nothing is left to spoil".to_owned()) };
    let name = path.strip_prefix(folder).unwrap_or(path).display();
    let what = match rng.below(20) {
        0 => {
            fs::remove_file(path)?;
            "removed".to_owned()
        }
        1 => swapped(path, pick(&all, rng).unwrap_or(path))?,
        2 => replaced(path, rng)?,
        3 => {
            File::options().write(true).open(path)?.set_len(SPARSE_BYTES)?;
            "grown to 64 GiB of holes".to_owned()
        }
        _ if READ_BYTES_MAX < fs::metadata(path)?.len() => "left with its holes".to_owned(),
        _ => {
            let mut bytes = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
            let is_text = std::str::from_utf8(&bytes).is_ok() && !bytes.is_empty();
            let what = match rng.below(2) {
                0 if is_text => in_text(&mut bytes, rng),
                _ => in_bytes(&mut bytes, others, rng)?,
            };
            fs::write(path, bytes)?;
            what
        }
    };
    Ok(format!("{name}: {what}"))
}

fn pick<'a>(all: &[&'a Path], rng: &mut Rng) -> Option<&'a Path> {
    all.get(rng.below(all.len() as u64) as usize).copied()
}

fn swapped(path: &Path, other: &Path) -> Result<String> {
    if path != other {
        // They may have grown to holes of gigabytes.
        let aside = path.with_extension("aside");
        fs::rename(path, &aside)?;
        fs::rename(other, path)?;
        fs::rename(&aside, other)?;
    }
    Ok(format!("swapped with {}", other.file_name().unwrap_or_default().display()))
}

/// Something else in the place of a file.
fn replaced(path: &Path, rng: &mut Rng) -> Result<String> {
    fs::remove_file(path)?;
    let link = |to: &Path| -> Result<String> {
        std::os::unix::fs::symlink(to, path)?;
        Ok(format!("a link to {}", to.display()))
    };
    match rng.below(7) {
        0 => link(Path::new("/dev/zero")),
        1 => link(Path::new("/dev/null")),
        2 => link(path.file_name().map_or(path, Path::new)),
        3 => link(Path::new(".")),
        4 => {
            fs::create_dir(path)?;
            Ok("a folder".to_owned())
        }
        5 => {
            File::create(path)?;
            Ok("empty".to_owned())
        }
        _ => {
            let status = Command::new("mkfifo").arg(path).status().context("cannot run mkfifo")?;
            anyhow::ensure!(status.success(), "mkfifo: {status}");
            Ok("a FIFO".to_owned())
        }
    }
}

/// A range of bytes, at most `most` long.
fn range(n: usize, most: u64, rng: &mut Rng) -> std::ops::Range<usize> {
    let start = rng.below(n as u64 + 1) as usize;
    let length = (1 + rng.below(most)) as usize;
    start..(start + length).min(n)
}

fn in_bytes(bytes: &mut Vec<u8>, others: &[PathBuf], rng: &mut Rng) -> Result<String> {
    let n = bytes.len();
    let at = rng.below(n as u64) as usize;
    Ok(match rng.below(8) {
        _ if n == 0 => {
            bytes.extend(rng.next_u64().to_le_bytes());
            "eight bytes where there were none".to_owned()
        }
        0 => {
            let n_bits = 1 + rng.below(8);
            for _ in 0..n_bits {
                let at = rng.below(n as u64) as usize;
                bytes[at] ^= 1 << rng.below(8);
            }
            format!("{n_bits} bits turned")
        }
        1 => {
            bytes.truncate(at);
            format!("cut at byte {at}")
        }
        2 => {
            let range = range(n, 300, rng);
            let block = bytes[range.clone()].to_vec();
            bytes.splice(at..at, block);
            format!("bytes {range:?} again at {at}")
        }
        3 => {
            let range = range(n, 300, rng);
            bytes.drain(range.clone());
            format!("without bytes {range:?}")
        }
        4 => {
            let range = range(n, 64, rng);
            let byte = [0, 0xff][rng.below(2) as usize];
            bytes[range.clone()].fill(byte);
            format!("bytes {range:?} are {byte:#x}")
        }
        5 => {
            let Some(other) = others.get(rng.below(others.len() as u64) as usize) else {
                return Ok("left as it is".to_owned());
            };
            let block = fs::read(other)?;
            let block = &block[range(block.len(), 500, rng)];
            bytes.splice(at..at, block.iter().copied());
            format!("{} bytes of {} at {at}", block.len(), other.file_name().unwrap_or_default().display())
        }
        _ => number(bytes, at, rng),
    })
}

/// A large number in the place of a length: of fixed width, or with a byte for the number of those that follow.
fn number(bytes: &mut Vec<u8>, at: usize, rng: &mut Rng) -> String {
    let value = NUMBERS[rng.below(NUMBERS.len() as u64) as usize];
    let (little, big) = (value.to_le_bytes(), value.to_be_bytes());
    let new = match rng.below(5) {
        0 => little[..4].to_vec(),
        1 => big[4..].to_vec(),
        2 => little.to_vec(),
        3 => big.to_vec(),
        _ => [&[8], &little[..]].concat(),
    };
    let end = (at + new.len()).min(bytes.len());
    let n = new.len();
    bytes.splice(at..end, new);
    format!("{value} in {n} bytes at {at}")
}

/// Changes that keep text readable to a degree.
pub fn in_text(bytes: &mut Vec<u8>, rng: &mut Rng) -> String {
    // The place of a word, so that numbers become other numbers.
    let start = rng.below(bytes.len() as u64) as usize;
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
    let start = bytes[start..].iter().position(is_word).map_or(start, |n| start + n);
    let length = bytes[start..].iter().take_while(|byte| is_word(byte)).count();
    let word = WORDS[rng.below(WORDS.len() as u64) as usize];
    match rng.below(6) {
        0 => {
            let n = 1 << (4 + rng.below(13));
            bytes.splice(start..start, word.repeat(n).into_bytes());
            format!("{n} times {word:?} at {start}")
        }
        1 => {
            bytes.splice(start..start, word.bytes());
            format!("{word:?} at {start}")
        }
        2 => {
            bytes.drain(start..start + length);
            format!("without the word at {start}")
        }
        3 => {
            let lines: Vec<&[u8]> = bytes.split_inclusive(|&byte| byte == b'\n').collect();
            let (from, to) = (rng.below(lines.len() as u64) as usize, rng.below(lines.len() as u64) as usize);
            let mut new = lines.clone();
            new.swap(from, to);
            let new = new.concat();
            *bytes = new;
            format!("lines {from} and {to} swapped")
        }
        _ => {
            bytes.splice(start..start + length, word.bytes());
            format!("{word:?} instead of the word at {start}")
        }
    }
}
