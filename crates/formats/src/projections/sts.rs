//! The `.sts` file: names of entry methods, chares, user events, statistics and counters.
//!
//! Keyword lines in any order; unknown ones are counted, `END` ends the file. Names are
//! quoted in newer versions and may hold blanks in all of them.

use super::lines::LogLines;
use std::collections::BTreeMap;
use std::io;

/// What an `.sts` file says.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Sts {
    /// Version of the logs; decides which fields records have.
    pub version: f64,
    /// Whether the file says it.
    pub has_version: bool,
    pub machine: String,
    pub hostname: String,
    pub command_line: String,
    pub timestamp: String,
    pub charm_version: String,
    /// Number of PEs the run had, communication threads included.
    pub n_pes: u64,
    /// Worker PEs per process, and processes.
    pub smp: Option<(u64, u64)>,
    pub chares: BTreeMap<u64, Chare>,
    pub entries: BTreeMap<u64, EntryMethod>,
    /// Names of user events.
    pub events: BTreeMap<i64, String>,
    /// Names of user statistics.
    pub stats: BTreeMap<i64, String>,
    /// Names of functions (AMPI).
    pub functions: BTreeMap<i64, String>,
    /// Names of hardware counters, by the place of their value.
    pub counters: BTreeMap<usize, String>,
    /// Whether the file ends as it should.
    pub is_complete: bool,
    /// Lines that could not be read: how many, and the offset of the first.
    pub bad_lines: Option<(u64, u64)>,
}

/// A class of objects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Chare {
    pub name: String,
}

/// A method that messages call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct EntryMethod {
    pub name: String,
    pub chare: u64,
}

/// More counters than any processor reads at once; what is above comes from damage.
const MAX_COUNTERS: usize = 256;

impl Default for Sts {
    /// What holds if there is no `.sts` file: the newest version and no names.
    fn default() -> Self {
        Sts {
            version: 11.0,
            has_version: false,
            machine: String::new(),
            hostname: String::new(),
            command_line: String::new(),
            timestamp: String::new(),
            charm_version: String::new(),
            n_pes: 0,
            smp: None,
            chares: BTreeMap::new(),
            entries: BTreeMap::new(),
            events: BTreeMap::new(),
            stats: BTreeMap::new(),
            functions: BTreeMap::new(),
            counters: BTreeMap::new(),
            is_complete: false,
            bad_lines: None,
        }
    }
}

impl Sts {
    /// Number of values of hardware counters in a record.
    pub fn n_counters(&self) -> usize {
        self.counters.last_key_value().map_or(0, |(&last, _)| last + 1)
    }

    /// Reads a whole file.
    ///
    /// # Errors
    /// Those of reading; `self` holds what came before.
    pub fn read(&mut self, lines: &mut LogLines) -> io::Result<()> {
        while let Some(line) = lines.next()? {
            let line = String::from_utf8_lossy(line).into_owned();
            let (keyword, rest) = split(&line);
            if keyword == "END" {
                self.is_complete = true;
                break;
            }
            if self.take(keyword, rest).is_none() {
                let (n, first) = self.bad_lines.unwrap_or((0, lines.offset));
                self.bad_lines = Some((n + 1, first));
            }
        }
        Ok(())
    }

    /// Takes one line; `None` if its fields do not fit its keyword.
    fn take(&mut self, keyword: &str, rest: &str) -> Option<()> {
        match keyword {
            "VERSION" => {
                self.version = rest.parse().ok().filter(|v: &f64| v.is_finite() && 0.0 <= *v)?;
                self.has_version = true;
            }
            "MACHINE" => self.machine = unquoted(rest).to_owned(),
            "HOSTNAME" => self.hostname = unquoted(rest).to_owned(),
            "COMMANDLINE" => self.command_line = unquoted(rest).to_owned(),
            "TIMESTAMP" => self.timestamp = unquoted(rest).to_owned(),
            "CHARMVERSION" => self.charm_version = unquoted(rest).to_owned(),
            "PROCESSORS" => self.n_pes = split(rest).0.parse().ok()?,
            "SMPMODE" => {
                let (node_size, rest) = split(rest);
                self.smp = Some((node_size.parse().ok()?, split(rest).0.parse().ok()?));
            }
            "CHARE" => {
                let (id, rest) = split(rest);
                self.chares.insert(id.parse().ok()?, Chare { name: chare_name(rest) });
            }
            "ENTRY" => {
                // `ENTRY CHARE id name chare message`; newer versions have other words for CHARE.
                let (id, rest) = split(split(rest).1);
                let (rest, _message) = rest.rsplit_once(' ')?;
                let (name, chare) = rest.trim_end().rsplit_once(' ')?;
                let entry = EntryMethod { name: unquoted(name).to_owned(), chare: chare.parse().ok()? };
                self.entries.insert(id.parse().ok()?, entry);
            }
            "EVENT" | "STAT" | "FUNCTION" => {
                let (id, name) = split(rest);
                let names = match keyword {
                    "EVENT" => &mut self.events,
                    "STAT" => &mut self.stats,
                    _ => &mut self.functions,
                };
                names.insert(id.parse().ok()?, unquoted(name).to_owned());
            }
            "PAPI_EVENT" => {
                let (place, name) = split(rest);
                let place = place.parse().ok().filter(|&place: &usize| place < MAX_COUNTERS)?;
                self.counters.insert(place, unquoted(name).to_owned());
            }
            // Sizes of tables, sizes of messages, and what later versions may add: not needed.
            _ => {}
        }
        Some(())
    }
}

/// The first word and what follows it.
fn split(text: &str) -> (&str, &str) {
    let text = text.trim();
    text.split_once(char::is_whitespace).map_or((text, ""), |(first, rest)| (first, rest.trim_start()))
}

fn unquoted(text: &str) -> &str {
    let text = text.trim();
    text.strip_prefix('"').and_then(|inner| inner.strip_suffix('"')).unwrap_or(text)
}

/// `"name" n_dimensions`, or `name` alone in old versions, where it may hold blanks.
fn chare_name(text: &str) -> String {
    match text.trim().strip_prefix('"').and_then(|inner| inner.rsplit_once('"')) {
        Some((name, _)) => name.to_owned(),
        None => text.trim().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sts(text: &str) -> Sts {
        let mut sts = Sts::default();
        sts.read(&mut LogLines::new(Box::new(io::Cursor::new(text.to_owned().into_bytes())))).unwrap();
        sts
    }

    #[test]
    fn names_are_read_with_and_without_quotes() {
        let old = sts(
            "VERSION 3.0\nCHARE 8 Map<int, 3>\nENTRY CHARE 13 f(const A &a, int b) 8 6\nEND\nCHARE 9 x\n",
        );
        assert_eq!((old.version, old.is_complete, old.chares.len()), (3.0, true, 1));
        assert_eq!(old.chares[&8].name, "Map<int, 3>");
        assert_eq!(old.entries[&13], EntryMethod { name: "f(const A &a, int b)".to_owned(), chare: 8 });
        let new = sts(
            "CHARE 45 \"Ping \\\"1\" 1\nENTRY CHARE 7 \"g(A a, B b)\" 45 -1\nSMPMODE 2 1\nSTAT 200 a stat\n",
        );
        assert_eq!(new.chares[&45].name, "Ping \\\"1");
        assert_eq!(new.entries[&7].name, "g(A a, B b)");
        assert_eq!((new.smp, new.stats[&200].as_str(), new.is_complete), (Some((2, 1)), "a stat", false));
    }

    #[test]
    fn lines_that_cannot_be_read_are_counted() {
        let sts = sts("VERSION x\nPROCESSORS 4\nENTRY CHARE 1 f\nPAPI_EVENT 9999999999 X\nNEWER 1 2\n");
        assert_eq!((sts.bad_lines, sts.n_pes, sts.n_counters()), (Some((3, 0)), 4, 0));
    }
}
