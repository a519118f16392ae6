//! The envelope of every JSON answer: which schema, from what, how complete, and what went wrong.
//!
//! `docs/json.md` explains it; `docs/schema/*.json` are the schemas. A key that holds
//! a quantity ends with its unit.

use ouzel::model::{Borders, Filter, Location, Notice};
use serde::Serialize;
use std::sync::Arc;

/// A JSON answer.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Envelope<C, D> {
    /// `ouzel/<command>/<version>`; the version is raised when a key changes its meaning or is removed.
    pub schema: String,
    /// The version of ouzel that answered.
    pub version: &'static str,
    /// What was asked.
    pub input: Input,
    /// Which part of the trace the answer is based on.
    pub coverage: C,
    /// What went wrong, worst first.
    pub notices: Vec<NoticeEntry>,
    /// The answer.
    pub data: D,
}

impl<C, D> Envelope<C, D> {
    /// The envelope of an answer of `command`, in the newest version of its schema.
    pub fn new(command: &str, input: Input, coverage: C, notices: Vec<NoticeEntry>, data: D) -> Self {
        let schema = format!("ouzel/{command}/{}", schema_version(command));
        Envelope { schema, version: env!("CARGO_PKG_VERSION"), input, coverage, notices, data }
    }
}

/// The version of the schema of a command's answer.
pub fn schema_version(command: &str) -> u32 {
    match command {
        // Version 1 had the whole matrix.
        "comm-matrix" => 2,
        // Version 1 always had every operation.
        "lateness" => 2,
        // In version 1, each row of a rank or location said what its region is.
        "profile" => 2,
        _ => 1,
    }
}

/// The envelope of an answer that is written while it is computed: what is known only at its end comes last. The keys
/// are those of an [`Envelope`].
#[derive(Debug, Serialize)]
pub struct StreamedEnvelope<D, C, N> {
    /// See [`Envelope`], as for the other fields.
    pub schema: String,
    /// The version of ouzel that answers.
    pub version: &'static str,
    /// What was asked.
    pub input: Input,
    /// The answer.
    pub data: D,
    /// Which part of the trace the answer is based on.
    pub coverage: C,
    /// What went wrong, worst first.
    pub notices: N,
}

impl<D, C, N> StreamedEnvelope<D, C, N> {
    /// The envelope of an answer of `command`, in the newest version of its schema.
    pub fn new(command: &str, input: Input, data: D, coverage: C, notices: N) -> Self {
        let Envelope { schema, version, input, data, .. } =
            Envelope::new(command, input, (), Vec::new(), data);
        StreamedEnvelope { schema, version, input, data, coverage, notices }
    }
}

/// One notice as users see it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NoticeEntry {
    /// `high`: data were lost, `medium`: repaired or doubtful, `low`: good to know.
    #[cfg_attr(feature = "schema", schemars(with = "crate::words::Level"))]
    pub level: &'static str,
    /// The kind of problem; a stable word such as `damaged-events`.
    #[cfg_attr(feature = "schema", schemars(regex(pattern = "^[a-z]+(-[a-z]+)*$")))]
    pub code: &'static str,
    /// One sentence for people.
    pub message: String,
    /// How often it happened.
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub count: u64,
    /// The file concerned; `null` if none.
    pub file: Option<Arc<str>>,
    /// Byte offset in the file; `null` if unknown.
    pub offset: Option<u64>,
    /// The location concerned, by its id in the trace's files; `null` if none.
    pub location: Option<u64>,
}

impl NoticeEntry {
    /// `notice` with the location's id as the files of the trace or profile with these `locations` write it.
    pub fn new(notice: &Notice, locations: &[Location]) -> Self {
        NoticeEntry {
            level: notice.level.as_str(),
            code: notice.code.as_str(),
            message: notice.message.clone(),
            count: notice.count,
            file: notice.file.clone(),
            offset: notice.offset,
            location: notice.location.map(|id| locations[id.index()].native_id),
        }
    }
}

/// What was asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Input {
    /// The trace, as it was found.
    pub path: String,
    /// Its format, e.g. `OTF2`.
    pub format: String,
    /// What of it was selected.
    pub filter: InputFilter,
}

/// The user's selection; `null` and an empty list mean everything.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct InputFilter {
    /// World ranks, e.g. `0-63,128`.
    pub ranks: Option<String>,
    /// The first nanosecond inside, counted from the trace start.
    pub start_ns: Option<u64>,
    /// The first nanosecond after; `null` means the end.
    pub end_ns: Option<u64>,
    /// Patterns of region names.
    pub regions: Vec<String>,
    /// The condition on calls, as an expression; its ranges of time are in `start_ns` and `end_ns`.
    #[serde(rename = "where")]
    pub predicate: Option<String>,
    /// Whether listings cut calls to the range of time.
    pub trim: bool,
}

impl From<&Filter> for InputFilter {
    fn from(filter: &Filter) -> Self {
        InputFilter {
            ranks: filter.ranks.as_ref().map(ToString::to_string),
            start_ns: filter.time_ns.map(|(start, _)| start),
            end_ns: filter.time_ns.map(|(_, end)| end).filter(|&end| end != u64::MAX),
            regions: filter.regions.clone(),
            predicate: filter.predicate.as_ref().map(ToString::to_string),
            trim: filter.borders == Borders::Trim,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ouzel::model::{Clock, Definitions, Level, LocationGroupId, LocationId, LocationKind, NoticeCode};

    fn definitions() -> Definitions {
        let clock = Clock { ticks_per_second: 1, offset_ticks: 0, realtime_ns: None, declared_length: None };
        let mut definitions = Definitions::empty(clock);
        definitions.locations.push(Location {
            name: "thread".into(),
            kind: LocationKind::CpuThread,
            group: LocationGroupId(0),
            rank: None,
            declared_events: None,
            native_id: 4_294_967_296,
        });
        definitions
    }

    #[test]
    fn the_envelope_has_the_keys_that_are_promised() {
        let filter = Filter { time_ns: Some((5, u64::MAX)), ..Filter::default() };
        let input =
            Input { path: "t.otf2".into(), format: "OTF2".into(), filter: InputFilter::from(&filter) };
        let notice = Notice::new(Level::High, NoticeCode::DamagedEvents, "input ends")
            .in_file("0.evt")
            .at(31)
            .on(LocationId(0));
        let envelope =
            Envelope::new("info", input, (), vec![NoticeEntry::new(&notice, &definitions().locations)], [1]);
        let json = serde_json::to_string(&envelope).unwrap();
        let version = env!("CARGO_PKG_VERSION");
        assert_eq!(
            json,
            format!(
                concat!(
                    r#"{{"schema":"ouzel/info/1","version":"{}","input":{{"path":"t.otf2","format":"OTF2","#,
                    r#""filter":{{"ranks":null,"start_ns":5,"end_ns":null,"regions":[],"where":null,"trim":false}}}},"coverage":null,"#,
                    r#""notices":[{{"level":"high","code":"damaged-events","message":"input ends","count":1,"#,
                    r#""file":"0.evt","offset":31,"location":4294967296}}],"data":[1]}}"#
                ),
                version
            )
        );
    }
}
