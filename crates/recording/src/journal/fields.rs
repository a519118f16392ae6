//! The fields of a line, as they are written and read.

use super::{Entry, Uncounted};
use std::fmt::Write;

pub(super) fn put(line: &mut String, field: &str) {
    line.push('\t');
    for c in field.chars() {
        match c {
            '\t' => line.push_str("\\t"),
            '\n' => line.push_str("\\n"),
            '\\' => line.push_str("\\\\"),
            c => line.push(c),
        }
    }
}

pub(super) fn put_number(line: &mut String, number: impl std::fmt::Display) {
    // Writing to a string cannot fail.
    let _ = write!(line, "\t{number}");
}

pub(super) fn put_list(line: &mut String, numbers: &[u32]) {
    line.push('\t');
    for (i, number) in numbers.iter().enumerate() {
        let _ = write!(line, "{}{number}", if i == 0 { "" } else { "," });
    }
}

pub(super) fn taken(field: &str) -> String {
    let mut text = String::with_capacity(field.len());
    let mut chars = field.chars();
    while let Some(c) = chars.next() {
        text.push(match c {
            '\\' => match chars.next() {
                Some('t') => '\t',
                Some('n') => '\n',
                Some(other) => other,
                None => '\\',
            },
            c => c,
        });
    }
    text
}

pub(super) fn list(field: &str) -> Option<Vec<u32>> {
    if field.is_empty() {
        return Some(Vec::new());
    }
    field.split(',').map(|number| number.parse().ok()).collect()
}

pub(super) struct Fields<'a>(pub(super) std::str::Split<'a, char>);

impl Fields<'_> {
    pub fn number<T: std::str::FromStr>(&mut self) -> Option<T> {
        self.0.next()?.parse().ok()
    }

    pub fn text(&mut self) -> Option<String> {
        self.0.next().map(taken)
    }

    pub fn communicator(&mut self) -> Option<Entry> {
        Some(Entry::Communicator {
            id: self.number()?,
            parent: self.number()?,
            sort: self.number()?,
            nth: self.number()?,
            first: self.number()?,
            rank: self.number()?,
            members: self.list()?,
            others: self.list(),
        })
    }

    pub fn unrecorded(&mut self) -> Option<Entry> {
        let word = self.text()?;
        let (communicator, peer, tag) = (self.number()?, self.number()?, self.number()?);
        let what = match word.as_str() {
            "sends" => Uncounted::Sends { communicator, peer, tag },
            "receives" => Uncounted::Receives { communicator, peer, tag },
            "collectives" => Uncounted::Collectives { communicator },
            _ => return None,
        };
        Some(Entry::Unrecorded { what, n: self.number()? })
    }

    pub fn list(&mut self) -> Option<Vec<u32>> {
        list(self.0.next()?)
    }
}
