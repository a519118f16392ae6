//! One line of a log as a record.
//!
//! The first number is the type, the others are its fields; which fields there are depends
//! on the version of the `.sts` file. Times are microseconds since the start of the run.
//! Law: a line that lacks a field of its type is no record; numbers after the last field
//! are ignored, as the reference reader does.

/// Which fields records have.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct RecordLayout {
    pub version: f64,
    /// Values of hardware counters at the end of a record of processing.
    pub n_counters: usize,
}

/// Names of records whose content the model does not hold.
pub(super) const RECORDS: [&str; 3] = ["ENQUEUE", "DEQUEUE", "MESSAGE_RECV"];

/// A record. Slices point into the fields of the line.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum LogRecord<'a> {
    /// A message was made and sent.
    Creation(Creation<'a>),
    /// An entry method begins to process a message.
    BeginProcessing(Processing<'a>),
    /// It ends.
    EndProcessing(Processing<'a>),
    /// Something begins or ends that has no data.
    Begin(Span, u64),
    /// See `Begin`.
    End(Span, u64),
    /// The run of this PE begins.
    BeginComputation(u64),
    /// The run of this PE ends, and the log.
    EndComputation(u64),
    /// Tracing is switched on (`true`) or off.
    Tracing(bool, u64),
    /// A point that the user marked.
    UserEvent { id: i64, time: u64 },
    /// A bracket that the user opens or closes.
    UserBracket { begins: bool, id: i64, nested: i64, time: u64 },
    /// One end of a bracket that is written once the bracket is over: its time is in the past.
    UserPair { id: i64, time: u64, event: i64 },
    /// A function (AMPI) begins.
    BeginFunction { id: i64, line: i64, time: u64 },
    /// It ends.
    EndFunction { id: i64, time: u64 },
    /// A number the user gave; old logs have no time.
    UserValue { value: i64, time: Option<u64> },
    /// Memory in use.
    Memory { bytes: i64, time: u64 },
    /// Text the user gave.
    Note { time: u64, text: &'a [u8] },
    /// The same, with an end; written when it is over.
    BracketedNote { start: u64, end: u64, id: i64, text: &'a [u8] },
    /// A phase ends.
    EndPhase { phase: i64, time: u64 },
    /// A statistic of the user.
    UserStat { time: u64, user_time: f64, value: f64, id: i64 },
    /// A record whose type is known and whose content the model does not hold.
    Other { name: &'static str, time: u64 },
    /// A record of an unknown type.
    Unknown(i64),
}

/// Kinds of time that belong to no entry method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Span {
    Idle,
    Pack,
    Unpack,
    Interrupt,
}

/// How a message was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Creation<'a> {
    pub message_type: i64,
    /// The entry method that is called.
    pub entry: i64,
    pub time: u64,
    /// Serial number of the message on its PE.
    pub event: i64,
    /// Length with the envelope; since version 2.
    pub bytes: Option<u64>,
    /// How long the call that sent it took, in microseconds; since version 5.
    pub send_us: Option<i64>,
    /// Receivers of a broadcast or multicast.
    pub n_receivers: Option<i64>,
    /// Receivers of a multicast.
    pub receivers: &'a [i64],
}

/// Begin or end of processing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Processing<'a> {
    pub message_type: i64,
    pub entry: i64,
    pub time: u64,
    /// Serial number of the message on the PE that made it.
    pub event: i64,
    /// The PE that made it.
    pub source_pe: i64,
    /// Length with the envelope; since version 2, zero at the end.
    pub bytes: Option<u64>,
    /// When the message arrived, in microseconds; zero if unknown; since version 4.
    pub receive_us: Option<i64>,
    /// Index of the array element.
    pub index: &'a [i64],
    /// Processor time of the PE in microseconds; since version 6.5.
    pub cpu_us: Option<i64>,
    /// Values of hardware counters since the start; since version 6.6.
    pub counters: &'a [i64],
}

/// Thirty years in microseconds; what is later comes from damage and would hide everything after it.
const MAX_TIME_US: i64 = 1_000_000_000_000_000;

/// What has to be done to a line.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Parsed<'a> {
    /// A record.
    Record(LogRecord<'a>),
    /// Its text goes on in the next line.
    Unfinished,
    /// It is not a record.
    Bad,
}

/// Splits a line into its numbers; lines with text or fractions are left to [`record`].
pub(super) fn split(line: &[u8], fields: &mut Vec<i64>) {
    fields.clear();
    let mut rest = line;
    while let Some(field) = number(&mut rest) {
        fields.push(field);
        if fields.len() == 1 && matches!(field, 22 | 28 | 29 | 32) {
            return;
        }
    }
    if !rest.is_empty() {
        fields.clear();
    }
}

/// The record of a line whose numbers are `fields`.
pub(super) fn record<'a>(line: &'a [u8], layout: RecordLayout, fields: &'a [i64]) -> Parsed<'a> {
    let Some((&kind, fields)) = fields.split_first() else { return Parsed::Bad };
    let text = || word(&line).map_or(&line[..0], |(_, rest)| rest);
    let record = match kind {
        28 | 29 => return note(kind, text()),
        32 => user_stat(text()),
        22 => begin_function(text()),
        _ => of_fields(kind, fields, layout),
    };
    record.map_or(Parsed::Bad, Parsed::Record)
}

/// The next number of a line, without the blanks before and after it. Unsigned ones of 64 bits wrap around: that
/// is how −1 is written for a time that is not known. Negative ones have 64 bits or are none.
fn number(rest: &mut &[u8]) -> Option<i64> {
    let at = rest.iter().position(|&b| b != b' ' && b != b'\t')?;
    let text = &rest[at..];
    let is_negative = text[0] == b'-';
    let digits = &text[usize::from(is_negative)..];
    let mut value: u64 = 0;
    let mut n = 0;
    for &digit in digits {
        if !digit.is_ascii_digit() {
            break;
        }
        value = value.checked_mul(10)?.checked_add(u64::from(digit - b'0'))?;
        n += 1;
    }
    let after = &digits[n..];
    if n == 0 || !matches!(after.first(), None | Some(b' ' | b'\t')) {
        return None;
    }
    let blanks = after.iter().take_while(|&&b| b == b' ' || b == b'\t').count();
    *rest = &after[blanks..];
    if is_negative { 0_i64.checked_sub_unsigned(value) } else { Some(value.cast_signed()) }
}

fn time_us(field: Option<i64>) -> Option<u64> {
    field.filter(|&time| time <= MAX_TIME_US).and_then(|time| u64::try_from(time).ok())
}

fn time_at(fields: &[i64], place: usize) -> Option<u64> {
    time_us(fields.get(place).copied())
}

fn of_fields<'a>(kind: i64, fields: &'a [i64], layout: RecordLayout) -> Option<LogRecord<'a>> {
    use LogRecord::{Begin, End, Other};
    let at = |place: usize| fields.get(place).copied();
    let time = |place: usize| time_at(fields, place);
    Some(match kind {
        1 | 20 | 21 => LogRecord::Creation(creation(kind, fields, layout)?),
        2 => LogRecord::BeginProcessing(begin_processing(fields, layout)?),
        3 => LogRecord::EndProcessing(end_processing(fields, layout)?),
        4 => Other { name: RECORDS[0], time: time(1)? },
        5 => Other { name: RECORDS[1], time: time(1)? },
        6 => LogRecord::BeginComputation(time(0)?),
        7 => LogRecord::EndComputation(time(0)?),
        8 => Begin(Span::Interrupt, time(0)?),
        9 => End(Span::Interrupt, time(0)?),
        // Six fields as they are written now, five without the entry method as the reference reader expects.
        10 => Other { name: RECORDS[2], time: time(if 6 <= fields.len() { 2 } else { 1 })? },
        11 => LogRecord::Tracing(true, time(0)?),
        12 => LogRecord::Tracing(false, time(0)?),
        13 => LogRecord::UserEvent { id: at(0)?, time: time(1)? },
        14 => Begin(Span::Idle, time(0)?),
        15 => End(Span::Idle, time(0)?),
        16 => Begin(Span::Pack, time(0)?),
        17 => End(Span::Pack, time(0)?),
        18 => Begin(Span::Unpack, time(0)?),
        19 => End(Span::Unpack, time(0)?),
        23 => LogRecord::EndFunction { time: time(0)?, id: at(1)? },
        26 => LogRecord::UserValue { value: at(0)?, time: time(1) },
        27 => LogRecord::Memory { bytes: at(0)?, time: time(1)? },
        30 => LogRecord::EndPhase { phase: at(0)?, time: time(1)? },
        98 | 99 => LogRecord::UserBracket {
            begins: kind == 98,
            id: at(0)?,
            time: time(1)?,
            nested: at(4).unwrap_or(0),
        },
        100 => LogRecord::UserPair { id: at(0)?, time: time(1)?, event: at(2)? },
        kind => LogRecord::Unknown(kind),
    })
}

fn bytes_at(fields: &[i64], place: usize, layout: RecordLayout) -> Option<Option<u64>> {
    match layout.version < 2.0 {
        true => Some(None),
        false => fields.get(place).map(|&bytes| u64::try_from(bytes).ok()),
    }
}

fn creation(kind: i64, fields: &[i64], layout: RecordLayout) -> Option<Creation<'_>> {
    let &[message_type, entry, _, event, _pe, ..] = fields else { return None };
    let bytes = bytes_at(fields, 5, layout)?;
    let mut next = if layout.version < 2.0 { 5 } else { 6 };
    let mut optional = |is_there: bool| {
        let field = is_there.then(|| fields.get(next).copied()).flatten();
        next += usize::from(is_there);
        field
    };
    let send_us = optional(5.0 <= layout.version);
    let n_receivers = optional(kind != 1);
    let receivers = if kind == 21 { fields.get(next..).unwrap_or(&[]) } else { &[] };
    let time = time_at(fields, 2)?;
    Some(Creation { message_type, entry, time, event, bytes, send_us, n_receivers, receivers })
}

/// Splits what follows the time of receipt. The index takes what the processor time and the counters leave: 3 numbers
/// in versions 4 to 6, 4 in 7 and 8, since 9 as many as the array has dimensions or 4. Some versions write the number
/// of counters before their values.
fn begin_processing(fields: &[i64], layout: RecordLayout) -> Option<Processing<'_>> {
    let (receive_us, tail): (Option<i64>, &[i64]) = match 4.0 <= layout.version {
        true => (fields.get(6).copied(), fields.get(7..).unwrap_or(&[])),
        false => (None, &[]),
    };
    let (index, cpu_us, counters) = if layout.version < 6.5 {
        (tail, None, &tail[..0])
    } else {
        let n_counters = layout.n_counters.min(tail.len().saturating_sub(1));
        let (tail, counters) = tail.split_at(tail.len() - n_counters);
        let n_index = if layout.version < 7.0 { 3 } else { 4 };
        let tail = match tail {
            // The number of counters is between processor time and values.
            [before @ .., n]
                if layout.version < 9.0
                    && tail.len() == n_index + 2
                    && usize::try_from(*n) == Ok(n_counters) =>
            {
                before
            }
            _ => tail,
        };
        match tail.split_last() {
            Some((&cpu, index)) => (index, Some(cpu), counters),
            None => (tail, None, counters),
        }
    };
    Some(Processing { receive_us, index, cpu_us, counters, ..processing(fields, layout)? })
}

fn end_processing(fields: &[i64], layout: RecordLayout) -> Option<Processing<'_>> {
    let cpu_us = (6.5 <= layout.version).then(|| fields.get(6).copied()).flatten();
    let tail = fields.get(7..).unwrap_or(&[]);
    let counters = &tail[tail.len() - layout.n_counters.min(tail.len())..];
    Some(Processing { cpu_us, counters, ..processing(fields, layout)? })
}

/// What begin and end have in the same places.
fn processing(fields: &[i64], layout: RecordLayout) -> Option<Processing<'_>> {
    let &[message_type, entry, _, event, source_pe, ..] = fields else { return None };
    Some(Processing {
        message_type,
        entry,
        time: time_at(fields, 2)?,
        event,
        source_pe,
        bytes: bytes_at(fields, 5, layout)?,
        receive_us: None,
        index: &[],
        cpu_us: None,
        counters: &[],
    })
}

/// Free text of a given length after `time len` or `time end id len`.
fn note(kind: i64, mut rest: &[u8]) -> Parsed<'_> {
    let mut fields = [0; 4];
    let n = if kind == 28 { 2 } else { 4 };
    for field in &mut fields[..n] {
        match next_word_number(&mut rest) {
            Some(value) => *field = value,
            None => return Parsed::Bad,
        }
    }
    let Ok(n_bytes) = usize::try_from(fields[n - 1]) else { return Parsed::Bad };
    let text = rest.strip_prefix(b" ").unwrap_or(rest);
    if text.len() < n_bytes {
        return Parsed::Unfinished;
    }
    let text = &text[..n_bytes];
    let record = match kind {
        28 => time_us(Some(fields[0])).map(|time| LogRecord::Note { time, text }),
        _ => time_us(Some(fields[0]))
            .zip(time_us(Some(fields[1])))
            .map(|(start, end)| LogRecord::BracketedNote { start, end: end.max(start), id: fields[2], text }),
    };
    record.map_or(Parsed::Bad, Parsed::Record)
}

/// As [`number`], but leaves the blanks after it.
fn next_word_number(rest: &mut &[u8]) -> Option<i64> {
    let (mut word, at) = word(rest)?;
    let value = number(&mut word)?;
    *rest = at;
    word.is_empty().then_some(value)
}

/// The next word and what follows it.
fn word<'a>(rest: &&'a [u8]) -> Option<(&'a [u8], &'a [u8])> {
    let start = rest.iter().position(|&b| b != b' ' && b != b'\t')?;
    let text = &rest[start..];
    let end = text.iter().position(|&b| b == b' ' || b == b'\t').unwrap_or(text.len());
    Some(text.split_at(end))
}

fn user_stat(mut rest: &[u8]) -> Option<LogRecord<'static>> {
    let time = time_us(next_word_number(&mut rest))?;
    let mut float = || {
        let (text, after) = word(&rest)?;
        rest = after;
        std::str::from_utf8(text).ok()?.parse::<f64>().ok()
    };
    let (user_time, value) = (float()?, float()?);
    let _pe = next_word_number(&mut rest)?;
    let id = next_word_number(&mut rest)?;
    Some(LogRecord::UserStat { time, user_time, value, id })
}

fn begin_function(mut rest: &[u8]) -> Option<LogRecord<'static>> {
    let time = time_us(next_word_number(&mut rest))?;
    let id = next_word_number(&mut rest)?;
    let line = next_word_number(&mut rest)?;
    Some(LogRecord::BeginFunction { id, line, time })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(version: f64, n_counters: usize, line: &str, expected: Option<&str>) {
        let mut fields = Vec::new();
        split(line.as_bytes(), &mut fields);
        let found = record(line.as_bytes(), RecordLayout { version, n_counters }, &fields);
        let found = match found {
            Parsed::Record(record) => Some(format!("{record:?}")),
            Parsed::Unfinished => Some("unfinished".to_owned()),
            Parsed::Bad => None,
        };
        match (&found, expected) {
            (Some(found), Some(expected)) => assert!(found.contains(expected), "{line}: {found}"),
            _ => assert_eq!(found.as_deref(), expected, "{line}"),
        }
    }

    #[test]
    fn the_fields_depend_on_the_version() {
        let index = "index: [7, 0, 0, 0], cpu_us: Some(1108), counters: []";
        check(11.0, 0, "2 5 17 1930 0 1 208 0 7 0 0 0 1108", Some(index));
        check(11.0, 0, "2 4 152 1954 18 0 112 0 1 1108", Some("index: [1], cpu_us: Some(1108)"));
        let counted = "index: [1], cpu_us: Some(1108), counters: [30, 40]";
        check(11.0, 2, "2 4 152 1954 18 0 112 0 1 1108 30 40", Some(counted));
        let with_number = "index: [1, 2, 3, 4], cpu_us: Some(9), counters: [30, 40]";
        check(7.0, 2, "2 4 152 1954 18 0 112 0 1 2 3 4 9 2 30 40", Some(with_number));
        check(
            6.0,
            0,
            "2 4 152 1954 18 0 112 5 1 2 3",
            Some("receive_us: Some(5), index: [1, 2, 3], cpu_us: None"),
        );
        check(3.0, 0, "2 4 55 24998 16 0 104", Some("bytes: Some(104), receive_us: None, index: []"));
        check(1.0, 0, "2 4 55 24998 16 0", Some("bytes: None"));
        check(
            11.0,
            0,
            "20 3 128 1598 7 0 80 2 2",
            Some("send_us: Some(2), n_receivers: Some(2), receivers: []"),
        );
        check(11.0, 0, "21 3 128 1598 7 0 80 2 2 0 5", Some("n_receivers: Some(2), receivers: [0, 5]"));
        check(3.0, 0, "1 4 53 29510 5 3 104", Some("bytes: Some(104), send_us: None, n_receivers: None"));
    }

    #[test]
    fn odd_records_are_read_too() {
        check(11.0, 0, "32 1604 -1 0.25 0 200", Some("user_time: -1.0, value: 0.25, id: 200"));
        check(11.0, 0, "26 -2 1605", Some("UserValue { value: -2, time: Some(1605) }"));
        check(11.0, 0, "26 -2", Some("time: None"));
        check(11.0, 0, "26 -9223372036854775808", Some("value: -9223372036854775808"));
        // As a number of 64 bits, it would be 1.
        check(11.0, 0, "26 -18446744073709551615", None);
        check(11.0, 0, "98 1 1605 9 0", Some("begins: true, id: 1, nested: 0"));
        check(11.0, 0, "28 10 5 a b c", Some("Note { time: 10, text: [97, 32, 98, 32, 99]"));
        check(11.0, 0, "28 10 9 a b c", Some("unfinished"));
        check(11.0, 0, "29 10 5 3 1 x", Some("start: 10, end: 10, id: 3"));
        check(11.0, 0, "10 1 2 30 4 5 6", Some("MESSAGE_RECV\", time: 30"));
        check(11.0, 0, "10 1 30 4 5 6", Some("MESSAGE_RECV\", time: 30"));
        check(
            11.0,
            0,
            "2 4 0 10 18446744073709551615 0 0 18446744073709551615",
            Some("receive_us: Some(-1)"),
        );
        check(11.0, 0, "77 1 2", Some("Unknown(77)"));
        check(11.0, 0, "14 1968 0 garbage", None);
    }

    #[test]
    fn what_is_cut_is_no_record() {
        for line in
            ["", "x", "2", "2 4 152", "1 2 3 4", "14", "14 -5", "14 99999999999999999", "28 1 -3 x", "7x"]
        {
            check(11.0, 0, line, None);
        }
    }
}
