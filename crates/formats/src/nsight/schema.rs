//! Names of an SQLite file's tables, from a look at its first pages.
//!
//! The schema is a b-tree that begins on the first page: inner pages name others, leaves hold records `(type, name,
//! table, root page, SQL)`. Law: no more is read than a [`Candidate`] allows; pages in circles and records that are
//! cut end nothing but themselves. SQLite itself reads the rows of other tables.

use ouzel_files::{Candidate, LOOK_BYTES};
use std::path::Path;

/// What SQLite's files begin with.
const MAGIC: &[u8] = b"SQLite format 3\0";

/// Bytes of the file's header, on the first page.
const HEADER_BYTES: usize = 100;

/// Kinds of b-tree pages.
const INNER: u8 = 5;
const LEAF: u8 = 13;

/// Whether a file begins as SQLite databases do.
pub(crate) fn is_sqlite(candidate: &Candidate, path: &Path) -> bool {
    candidate.head(path, MAGIC.len()) == MAGIC
}

/// Calls `see` with the names of the tables until it returns that it has seen enough. Returns whether all were seen.
pub(crate) fn tables(candidate: &Candidate, path: &Path, mut see: impl FnMut(&str) -> bool) -> bool {
    let header = candidate.head(path, HEADER_BYTES);
    if !header.starts_with(MAGIC) || header.len() < HEADER_BYTES {
        return true;
    }
    let page_bytes = match u16::from_be_bytes([header[16], header[17]]) {
        1 => 65_536,
        bytes => usize::from(bytes),
    };
    if page_bytes < 512 || !page_bytes.is_power_of_two() {
        return true;
    }
    let mut left = vec![1_u32];
    let (mut page, mut n_pages) = (vec![0; page_bytes], 0);
    while let Some(number) = left.pop() {
        let offset = u64::from(number.saturating_sub(1)) * page_bytes as u64;
        n_pages += 1;
        // Pages that are in what was read already cost nothing, so circles need a bound of their own.
        if LOOK_BYTES / 512 < n_pages || candidate.read_at(path, offset, &mut page).is_err() {
            return false;
        }
        let header = if number == 1 { HEADER_BYTES } else { 0 };
        let Some(&kind) = page.get(header) else { continue };
        match kind {
            INNER => left.extend(children(&page, header).into_iter().rev()),
            LEAF => {
                for cell in cells(&page, header + 8, n_cells(&page, header)) {
                    if table_name(&page[cell..]).is_some_and(|name| see(&name)) {
                        return true;
                    }
                }
            }
            _ => {}
        }
    }
    true
}

fn u16_at(bytes: &[u8], at: usize) -> Option<usize> {
    Some(usize::from(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?)))
}

fn n_cells(page: &[u8], header: usize) -> usize {
    u16_at(page, header + 3).unwrap_or(0)
}

/// Where the cells of a page begin; `at` is the place of the first pointer.
fn cells(page: &[u8], at: usize, n: usize) -> impl Iterator<Item = usize> {
    (0..n).map_while(move |i| u16_at(page, at + 2 * i)).filter(|&cell| cell < page.len())
}

/// The pages below an inner page, in order.
fn children(page: &[u8], header: usize) -> Vec<u32> {
    let number = |at: usize| Some(u32::from_be_bytes(page.get(at..at + 4)?.try_into().ok()?));
    let mut below: Vec<u32> = cells(page, header + 12, n_cells(page, header)).filter_map(number).collect();
    below.extend(number(header + 8));
    below
}

/// A number of SQLite: seven bits a byte, the highest first. Nine bytes hold sizes that no page has.
fn varint(bytes: &mut &[u8]) -> Option<usize> {
    let mut value = 0;
    for _ in 0..4 {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value = value << 7 | usize::from(byte & 0x7f);
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}

/// The name in a record of the schema that defines a table.
fn table_name(mut cell: &[u8]) -> Option<String> {
    let (_payload, _row) = (varint(&mut cell)?, varint(&mut cell)?);
    let record = cell;
    let header_bytes = varint(&mut cell)?;
    // Odd numbers from 13 on are texts.
    let mut text_bytes = || varint(&mut cell)?.checked_sub(13).filter(|n| n % 2 == 0).map(|n| n / 2);
    let (kind_bytes, name_bytes) = (text_bytes()?, text_bytes()?);
    let texts = record.get(header_bytes..)?;
    let name = texts.get(kind_bytes..kind_bytes.checked_add(name_bytes)?)?;
    (texts.get(..kind_bytes)? == b"table").then(|| String::from_utf8_lossy(name).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(path: &Path) -> (Vec<String>, bool) {
        let candidate = Candidate::at(path);
        let mut names = Vec::new();
        let is_all = tables(&candidate, path, |name| {
            names.push(name.to_owned());
            false
        });
        assert!(candidate.bytes_read().iter().all(|&(_, n)| n <= LOOK_BYTES));
        (names, is_all)
    }

    #[test]
    fn tables_are_those_that_sqlite_names() {
        let folder = tempfile::tempdir().unwrap();
        for (page_bytes, n_tables, is_all) in
            [(512, 100, true), (4096, 300, true), (65_536, 200, true), (4096, 1500, false)]
        {
            let path = folder.path().join(format!("{page_bytes}-{n_tables}"));
            let connection = rusqlite::Connection::open(&path).unwrap();
            connection.execute_batch(&format!("PRAGMA page_size={page_bytes}; BEGIN")).unwrap();
            for i in 0..n_tables {
                let sql = format!("CREATE TABLE t{i} (a INTEGER, b TEXT); CREATE INDEX i{i} ON t{i} (a)");
                connection.execute_batch(&sql).unwrap();
            }
            connection.execute_batch("DROP TABLE t7; COMMIT").unwrap();
            drop(connection);
            let (names, found_all) = seen(&path);
            assert_eq!(found_all, is_all, "{page_bytes} {n_tables}");
            let wanted: Vec<String> = (0..n_tables).filter(|&i| i != 7).map(|i| format!("t{i}")).collect();
            assert_eq!(names, wanted[..names.len()], "{page_bytes}");
            assert!(!is_all || names.len() == wanted.len());
        }
    }

    #[test]
    fn damage_ends_the_look() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        rusqlite::Connection::open(&path).unwrap().execute_batch("CREATE TABLE abc (d)").unwrap();
        let whole = std::fs::read(&path).unwrap();
        // All of the headers, and some of the pages, which are nearly empty.
        for at in (16..256).chain((256..whole.len()).step_by(61)) {
            for byte in [0, 5, 13, 0xff] {
                let mut bytes = whole.clone();
                bytes[at] = byte;
                std::fs::write(&path, &bytes).unwrap();
                seen(&path);
            }
        }
    }
}
