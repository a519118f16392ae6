//! One row as an event.

use super::header::{CsvHeader, scaled};
use csv::ByteRecord;

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RowKind {
    Enter,
    Leave,
    Instant,
}

/// A row that can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CsvRow<'a> {
    /// Nanoseconds, as in the file.
    pub time_ns: i64,
    pub kind: RowKind,
    pub name: &'a [u8],
    /// The process, if it is given.
    pub process: Option<i64>,
    pub thread: &'a [u8],
}

/// Reads a row; `None` if time, type or name cannot be read.
pub(super) fn row<'a>(header: &CsvHeader, record: &'a ByteRecord) -> Option<CsvRow<'a>> {
    let time_ns = scaled(record.get(header.time)?, header.exponent)?;
    let kind = record.get(header.kind)?;
    let kind = match () {
        () if kind.eq_ignore_ascii_case(b"Enter") => RowKind::Enter,
        () if kind.eq_ignore_ascii_case(b"Leave") => RowKind::Leave,
        () if kind.eq_ignore_ascii_case(b"Instant") => RowKind::Instant,
        () => return None,
    };
    let name = record.get(header.name)?;
    // A table with a gap in the column has its numbers as fractions.
    let process = match header.process.and_then(|column| record.get(column)) {
        None => Some(0),
        Some(b"") => None,
        Some(text) => Some(scaled(text, 0)?),
    };
    let thread = header.thread.and_then(|column| record.get(column)).unwrap_or_default();
    let thread = thread.strip_suffix(b".0").unwrap_or(thread);
    Some(CsvRow { time_ns, kind, name, process, thread })
}

/// One side of a message, as Pipit's `Attributes` hold it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Message<'a> {
    pub sends: bool,
    pub peer: u32,
    pub tag: u32,
    pub bytes: u64,
    /// The communicator as it is written.
    pub comm: &'a [u8],
}

/// The message of an instant named after the record of OTF2.
pub(super) fn message<'a>(
    header: &CsvHeader,
    record: &'a ByteRecord,
    row: &CsvRow<'_>,
) -> Option<Message<'a>> {
    let sends = match row.name {
        b"MpiSend" | b"MpiIsend" => true,
        b"MpiRecv" | b"MpiIrecv" => false,
        _ => return None,
    };
    let text = record.get(header.dictionary?)?;
    let number = |key: &str| std::str::from_utf8(value(text, key)?).ok()?.parse::<u64>().ok();
    let peer = u32::try_from(number(if sends { "receiver" } else { "sender" })?).ok()?;
    let tag = number("msg_tag").and_then(|tag| u32::try_from(tag).ok()).unwrap_or(0);
    let bytes = number("msg_length")?;
    Some(Message { sends, peer, tag, bytes, comm: value(text, "communicator").unwrap_or_default() })
}

/// The value of a key in a dictionary as Python prints it, up to the next comma or brace.
fn value<'a>(text: &'a [u8], key: &str) -> Option<&'a [u8]> {
    let pattern = format!("'{key}':");
    let at = memchr::memmem::find(text, pattern.as_bytes())? + pattern.len();
    let rest = text[at..].trim_ascii_start();
    let end = rest.iter().position(|&b| b == b',' || b == b'}').unwrap_or(rest.len());
    Some(rest[..end].trim_ascii_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_read_from_the_attributes() {
        let header = CsvHeader::of(&ByteRecord::from(vec![
            "Timestamp (ns)",
            "Event Type",
            "Name",
            "Process",
            "Attributes",
        ]));
        let header = header.unwrap();
        let text = "{'receiver': 1, 'communicator': 'Comm 0', 'msg_tag': 7, 'msg_length': 64}";
        let record = ByteRecord::from(vec!["5", "Instant", "MpiSend", "0.0", text]);
        let row = row(&header, &record).unwrap();
        assert_eq!((row.process, row.kind), (Some(0), RowKind::Instant));
        let found = message(&header, &record, &row).unwrap();
        assert_eq!(found, Message { sends: true, peer: 1, tag: 7, bytes: 64, comm: b"'Comm 0'" });
        let record =
            ByteRecord::from(vec!["5", "Instant", "MpiSend", "0", "{'receiver': -1, 'msg_length': 64}"]);
        assert_eq!(message(&header, &record, &row), None);
    }
}
