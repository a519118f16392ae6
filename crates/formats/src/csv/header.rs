//! The first line: which column is what, and the unit of time.
//!
//! Names are Pipit's, in any case and order: `Timestamp (ns)`, `Event Type`, `Name`,
//! `Process` or `Rank`, `Thread`; every other column is an attribute. Columns that Pipit
//! derives (`_depth`, `time.inc`, …) are left out: they are computed anew.

use csv::ByteRecord;

/// The columns of a table of events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CsvHeader {
    pub time: usize,
    /// Nanoseconds of a time stamp of 1, as a power of ten.
    pub exponent: u32,
    pub kind: usize,
    pub name: usize,
    pub process: Option<usize>,
    pub thread: Option<usize>,
    /// The column of Pipit's `Attributes`, which may describe messages.
    pub dictionary: Option<usize>,
    /// Columns without a meaning of their own, with their names.
    pub attributes: Vec<(usize, String)>,
    /// Names of columns that are left out.
    pub derived: Vec<String>,
    /// Columns in all.
    pub n_columns: usize,
}

impl CsvHeader {
    /// Reads the first record; `None` if it is not that of a table of events.
    pub fn of(record: &ByteRecord) -> Option<CsvHeader> {
        let names: Vec<String> = record
            .iter()
            .map(|name| String::from_utf8_lossy(name).trim_start_matches('\u{feff}').trim().to_owned())
            .collect();
        let find = |wanted: &str| names.iter().position(|name| name.eq_ignore_ascii_case(wanted));
        let (time, exponent) = names.iter().enumerate().find_map(|(i, name)| Some((i, exponent(name)?)))?;
        let (kind, name) = (find("Event Type")?, find("Name")?);
        let (process, thread) = (find("Process").or_else(|| find("Rank")), find("Thread"));
        let mut header = CsvHeader {
            time,
            exponent,
            kind,
            name,
            process,
            thread,
            dictionary: find("Attributes"),
            attributes: Vec::new(),
            derived: Vec::new(),
            n_columns: names.len(),
        };
        for (i, column) in names.into_iter().enumerate() {
            if [Some(time), Some(kind), Some(name), process, thread].contains(&Some(i)) {
                continue;
            }
            let is_index = column.is_empty() || column.starts_with("Unnamed: ");
            let is_derived = column.starts_with('_') || matches!(column.as_str(), "time.inc" | "time.exc");
            match is_index || is_derived {
                true => header.derived.push(column),
                false => header.attributes.push((i, column)),
            }
        }
        Some(header)
    }
}

/// The unit in the name of the column of time; without one, nanoseconds.
fn exponent(name: &str) -> Option<u32> {
    let name = name.to_ascii_lowercase();
    let unit = name.strip_prefix("timestamp")?.trim();
    match unit {
        "" | "(ns)" => Some(0),
        "(us)" | "(µs)" => Some(3),
        "(ms)" => Some(6),
        "(s)" => Some(9),
        _ => None,
    }
}

/// A decimal number as an integer of the smaller unit, exactly and rounded half up; `None` if it is none or too large.
pub(super) fn scaled(text: &[u8], exponent: u32) -> Option<i64> {
    let text = std::str::from_utf8(text).ok()?.trim();
    let (mantissa, shift) = match text.find(['e', 'E']) {
        Some(at) => (&text[..at], text[at + 1..].parse::<i32>().ok()?),
        None => (text, 0),
    };
    let (is_negative, digits) = match mantissa.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, mantissa.strip_prefix('+').unwrap_or(mantissa)),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let is_number = !(whole.is_empty() && fraction.is_empty())
        && whole.bytes().chain(fraction.bytes()).all(|b| b.is_ascii_digit());
    if !is_number {
        return None;
    }
    let n_kept = i64::from(exponent) + i64::from(shift);
    let n_whole = i64::try_from(whole.trim_start_matches('0').len()).ok()?;
    if 19 < n_whole + n_kept {
        // A zero may have any exponent.
        return whole.bytes().chain(fraction.bytes()).all(|b| b == b'0').then_some(0);
    }
    // Digits of the number in the smaller unit, and the first after them.
    let mut all = whole.bytes().chain(fraction.bytes()).chain(std::iter::repeat(b'0'));
    let n = i64::try_from(whole.len()).ok()? + n_kept;
    let mut value: i128 = 0;
    if n < 0 {
        return Some(0);
    }
    for digit in all.by_ref().take(usize::try_from(n).ok()?) {
        value = value.checked_mul(10)?.checked_add(i128::from(digit - b'0'))?;
    }
    value += i128::from(b'5' <= all.next().unwrap_or(b'0'));
    i64::try_from(if is_negative { -value } else { value }).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_found_by_name() {
        let record = ByteRecord::from(vec![
            "\u{feff}",
            "timestamp (MS)",
            "Event Type",
            "Name",
            "Rank",
            "_depth",
            "load",
        ]);
        let header = CsvHeader::of(&record).unwrap();
        assert_eq!((header.time, header.exponent, header.process, header.thread), (1, 6, Some(4), None));
        assert_eq!(header.attributes, [(6, "load".to_owned())]);
        assert_eq!(header.derived, ["", "_depth"]);
        for names in
            [vec!["a", "b"], vec!["Timestamp (h)", "Event Type", "Name"], vec!["Timestamp (s)", "Name"]]
        {
            assert_eq!(CsvHeader::of(&ByteRecord::from(names)), None);
        }
    }

    #[test]
    fn times_are_exact() {
        let cases = [
            ("0.1", 9, Some(100_000_000)),
            ("100", 9, Some(100_000_000_000)),
            ("77991000.0", 0, Some(77_991_000)),
            ("0.0000000005", 9, Some(1)),
            ("0.00000000049", 9, Some(0)),
            ("1.5e-3", 9, Some(1_500_000)),
            ("1E2", 3, Some(100_000)),
            ("-2.5", 3, Some(-2500)),
            ("1700000000123456789", 0, Some(1_700_000_000_123_456_789)),
            (".5", 0, Some(1)),
            ("0e999", 9, Some(0)),
            ("9e18", 9, None),
            ("nan", 9, None),
            ("", 9, None),
            (".", 9, None),
            ("1e-2147483648", 9, Some(0)),
        ];
        for (text, exponent, expected) in cases {
            assert_eq!(scaled(text.as_bytes(), exponent), expected, "{text}");
        }
    }
}
