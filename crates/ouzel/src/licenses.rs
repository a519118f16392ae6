//! The licenses of the third-party crates in this program.
//!
//! `cargo xtask audit --write` makes the list and documents its format; `cargo xtask tidy` fails if it is not current.

use std::io::Read;

const LIST: &[u8] = include_bytes!("licenses.gz");

/// A third-party crate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct License {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Its licenses, as an SPDX expression.
    pub license: String,
    /// Their texts.
    pub texts: Vec<String>,
}

/// The third-party crates in this program, by name and version.
pub fn licenses() -> Vec<License> {
    let mut list = String::new();
    flate2::read::GzDecoder::new(LIST).read_to_string(&mut list).expect("the list was compressed by us");
    let mut parts = list.split('\u{c}');
    let table = parts.next().unwrap_or_default();
    let all: Vec<&str> = parts.collect();
    let text = |number: &str| number.parse::<usize>().ok().and_then(|number| all.get(number));
    let license = |line: &str| {
        let mut cells = line.split('\t');
        let mut cell = || cells.next().unwrap_or_default().to_owned();
        let (name, version, license, numbers) = (cell(), cell(), cell(), cell());
        let texts = numbers.split(',').filter_map(text).map(|&text| text.to_owned()).collect();
        License { name, version, license, texts }
    };
    table.lines().map(license).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_crate_has_a_name_a_license_and_a_text() {
        let all = licenses();
        assert!(100 < all.len(), "{} crates", all.len());
        for License { name, version, license, texts } in &all {
            assert!(
                !name.is_empty() && version.starts_with(|c: char| c.is_ascii_digit()),
                "{name} {version}"
            );
            assert!(!license.is_empty(), "{name}");
            assert!(!texts.is_empty() && texts.iter().all(|text| 100 < text.len()), "{name}: {texts:?}");
        }
        assert!(
            all.iter().any(|of| of.name == "serde") && all.is_sorted_by_key(|of| (&of.name, &of.version))
        );
    }
}
