//! Questions of the page, answered by the commands: their words are parsed and checked as those of a user.
//!
//! Law: the page selects and reads, nothing else. It cannot name files, write, or choose how the process runs.

use super::COMMANDS;
use crate::args::{Common, LowCommon};
use crate::caller::{Caller, Made};
use crate::exit::told_once;
use crate::words::{Words, is_path};
use clap::Args as _;
use ouzel::Trace;
use ouzel::engine::Progress;
use ouzel::model::Filter;
use ouzel_view::{Answers, Ask, Refusal, Run};
use serde_json::Value;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

/// Commands that are no questions with a JSON document.
const NOT_ASKED: [&str; 8] = ["cc", "convert", "f90", "instrument", "print", "record", "structure", "view"];

/// Options of all commands that select.
const SELECTING: [&str; 3] = ["region", "predicate", "trim"];

/// Answers the page's questions.
#[derive(Debug)]
pub struct Asker {
    common: Common,
    paths: Vec<PathBuf>,
    traces: Vec<Arc<Trace>>,
    made: Arc<Made>,
}

impl Asker {
    /// Answers about these runs, of which `common` selects a part.
    pub fn new(common: Common, runs: &[Run]) -> Self {
        let paths = runs.iter().map(|run| run.path().to_owned()).collect();
        let traces = runs.iter().filter_map(|run| run.trace().cloned()).collect();
        Asker { common, paths, traces, made: Arc::default() }
    }

    fn words(&self, ask: &Ask) -> Result<Vec<OsString>, String> {
        let parser = COMMANDS.iter().find(|command| command.name == ask.question && is_asked(command.name));
        let parser = parser.ok_or_else(|| format!("{:?} is not a question", ask.question))?.parser();
        let path = |run: usize| self.paths.get(run).ok_or_else(|| format!("there is no run {run}"));
        let mut words: Vec<OsString> = ["ouzel", &ask.question, "--format=json"].map(OsString::from).into();
        for (name, value) in &ask.options {
            words.extend(option(&parser, name, value)?);
        }
        let part = &ask.selection;
        if let Some((start, end)) = part.time_ns {
            words.push(format!("--time={start}ns..{end}ns").into());
        }
        if let Some(ranks) = &part.ranks {
            words.push(format!("--ranks={ranks}").into());
        }
        if let Some(path) = &part.call_path {
            words.push(format!("--where={}", below(path)).into());
        }
        words.push("--".into());
        words.push(path(ask.run)?.into());
        for &other in &ask.others {
            words.push(path(other)?.into());
        }
        Ok(words)
    }
}

fn is_asked(command: &str) -> bool {
    !NOT_ASKED.contains(&command)
}

/// The condition for a call path and what it calls. A `*` or `?` in a name also means itself.
fn below(path: &[String]) -> String {
    let quoted = path.join("/").replace('\\', "\\\\").replace('"', "\\\"");
    format!("path = \"{quoted}\" or path like \"{quoted}/*\"")
}

/// An option as the command line has it: its name and value are one word, so that no value becomes an option.
fn option(parser: &clap::Command, name: &str, value: &Value) -> Result<Vec<OsString>, String> {
    let long = name.replace('_', "-");
    let refused = || format!("{name:?} is not an option of this question");
    let known = parser.get_arguments().find(|arg| arg.get_long() == Some(&long)).ok_or_else(refused)?;
    let of_all = LowCommon::augment_args(clap::Command::new(""));
    let is_of_all = of_all.get_arguments().any(|arg| arg.get_id() == known.get_id());
    if is_path(known) || (is_of_all && !SELECTING.contains(&known.get_id().as_str())) {
        return Err(refused());
    }
    let word = |value: &dyn std::fmt::Display| OsString::from(format!("--{long}={value}"));
    match value {
        Value::Null | Value::Bool(false) => Ok(Vec::new()),
        Value::Bool(true) => Ok(vec![format!("--{long}").into()]),
        Value::Number(number) => Ok(vec![word(number)]),
        Value::String(text) => Ok(vec![word(text)]),
        Value::Array(values) => {
            let all = values.iter().map(|value| match value {
                Value::Array(_) => Err(refused()),
                value => option(parser, name, value),
            });
            Ok(all.collect::<Result<Vec<_>, _>>()?.concat())
        }
        Value::Object(_) => Err(refused()),
    }
}

/// Both selections: that of the command line, and that of the page.
fn narrowed(base: &Filter, filter: Filter) -> Filter {
    Filter {
        ranks: filter.ranks.or_else(|| base.ranks.clone()),
        time_ns: match (base.time_ns, filter.time_ns) {
            (Some((a, b)), Some((c, d))) => Some((a.max(c), b.min(d).max(a.max(c)))),
            (a, b) => a.or(b),
        },
        regions: if filter.regions.is_empty() { base.regions.clone() } else { filter.regions },
        ..match &base.predicate {
            Some(predicate) => {
                Filter { predicate: filter.predicate, ..Filter::default() }.and(predicate.clone())
            }
            None => Filter { predicate: filter.predicate, borders: filter.borders, ..Filter::default() },
        }
    }
}

impl Answers for Asker {
    fn ask(&self, ask: &Ask, progress: &Arc<Progress>) -> Result<Vec<u8>, Refusal> {
        let words = self.words(ask).map_err(Refusal::Question)?;
        let (mut common, question) = match Words::parse(words) {
            Ok(Words::AboutARun(common, question)) => (*common, question),
            Ok(Words::AboutTheProgram(_)) => {
                return Err(Refusal::Question(format!("{:?} is not about a run", ask.question)));
            }
            Err(error) => return Err(Refusal::Question(told_once(&error))),
        };
        let caller = Caller::new(self.traces.clone(), Arc::clone(progress), Arc::clone(&self.made));
        common.jobs = self.common.jobs;
        common.filter = narrowed(&self.common.filter, common.filter);
        common.outputs.caller = Some(caller.clone());
        common.quiet = true;
        question.run(&common).map_err(|error| Refusal::Run(told_once(&error)))?;
        Ok(caller.taken())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn asker() -> Asker {
        let words = ["ouzel", "info", "run"].map(OsString::from);
        let Words::AboutARun(common, _) = Words::parse(words).unwrap() else { panic!("about a run") };
        Asker {
            common: *common,
            paths: vec!["run".into(), "-o".into()],
            traces: Vec::new(),
            made: Arc::default(),
        }
    }

    fn words(ask: Value) -> Result<String, String> {
        let words = asker().words(&serde_json::from_value(ask).unwrap())?;
        Ok(words.iter().map(|word| word.to_str().unwrap()).collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn a_question_becomes_the_words_of_a_command() {
        let ask = json!({
            "question": "time-profile",
            "selection": {"time_ns": [5, 10], "ranks": "3-9", "call_path": ["main", "a\"b"]},
            "options": {"bins": 7, "call_paths": true, "region": ["a", "--b"], "trim": false},
        });
        assert_eq!(
            words(ask).unwrap(),
            "ouzel time-profile --format=json --bins=7 --call-paths --region=a --region=--b --time=5ns..10ns --ranks=3-9 \
             --where=path = \"main/a\\\"b\" or path like \"main/a\\\"b/*\" -- run"
        );
        assert_eq!(
            words(json!({"question": "compare", "others": [1]})).unwrap(),
            "ouzel compare --format=json -- run -o"
        );
    }

    #[test]
    fn the_page_names_no_files_and_does_not_choose_how_the_process_runs() {
        for (option, value) in [
            ("output", json!("x")),
            ("plot", json!("x.svg")),
            ("rules", json!("/etc/passwd")),
            ("format", json!("csv")),
            ("force", json!(true)),
            ("jobs", json!(1000)),
            ("memory_limit", json!("1")),
            ("repair_clocks", json!(true)),
            ("bins", json!({"a": 1})),
            ("bins", json!([["a"]])),
            ("bins=3 --output", json!("x")),
            ("o", json!("x")),
            ("", json!("x")),
        ] {
            let ask = json!({"question": "time-profile", "options": {option: value}});
            assert!(words(ask).unwrap_err().contains("not an option"), "{option}");
        }
        for question in [
            "cc",
            "convert",
            "f90",
            "instrument",
            "record",
            "print",
            "structure",
            "view",
            "nothing",
            "",
            "--help",
        ] {
            assert!(
                words(json!({"question": question})).unwrap_err().contains("not a question"),
                "{question}"
            );
        }
    }

    fn example() -> PathBuf {
        PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/pmpi-masterio"))
    }

    fn about(path: &std::path::Path) -> Asker {
        let trace = Run::Trace(Arc::new(ouzel::open(path).unwrap()));
        Asker::new(asker().common, &[trace])
    }

    fn answer(asker: &Asker, ask: Value) -> Result<Vec<u8>, Refusal> {
        asker.ask(&serde_json::from_value(ask).unwrap(), &Arc::default())
    }

    #[test]
    fn the_page_gets_what_the_command_writes() {
        let folder = tempfile::tempdir().unwrap();
        let (path, out) = (example(), folder.path().join("answer.json"));
        let asker = about(&path);
        for (ask, words) in [
            (json!({"question": "report"}), &["report"][..]),
            (
                json!({"question": "profile", "selection": {"ranks": "0-1", "time_ns": [0, 1_000_000_000]}}),
                &["profile", "--ranks=0-1", "--time=0..1s"],
            ),
            (
                json!({"question": "time-profile", "options": {"bins": 9, "call_paths": true}}),
                &["time-profile", "--bins=9", "--call-paths"],
            ),
            (
                json!({"question": "comm-matrix", "options": {"collectives": true}}),
                &["comm-matrix", "--collectives"],
            ),
            (json!({"question": "calls", "selection": {"ranks": "3"}}), &["calls", "--ranks=3"]),
            (json!({"question": "info"}), &["info"]),
        ] {
            let command = ["ouzel", words[0]].map(OsString::from).into_iter();
            let rest = words[1..].iter().map(OsString::from);
            let output = ["--format=json", "--force", "-o"].map(OsString::from);
            let places = [out.clone().into_os_string(), path.clone().into_os_string()];
            crate::answer(command.chain(rest).chain(output).chain(places)).unwrap();
            let expected = std::fs::read(&out).unwrap();
            assert!(200 < expected.len(), "{words:?}");
            assert!(answer(&asker, ask).unwrap() == expected, "{words:?}");
        }
    }

    #[test]
    fn a_trace_that_vanishes_is_an_error_or_a_notice() {
        let folder = tempfile::tempdir().unwrap();
        let copy = folder.path().join("run");
        copied(&example(), &copy);
        let asker = about(&copy);
        std::fs::remove_dir_all(&copy).unwrap();
        match answer(&asker, json!({"question": "profile"})) {
            Err(Refusal::Run(message)) => assert!(!message.is_empty()),
            Err(Refusal::Question(message)) => panic!("the question is right: {message}"),
            Ok(bytes) => {
                let answer: Value = serde_json::from_slice(&bytes).unwrap();
                let notices = answer["notices"].as_array().unwrap();
                assert!(notices.iter().any(|notice| notice["level"] == "high"), "{answer}");
            }
        }
    }

    fn copied(from: &std::path::Path, to: &std::path::Path) {
        std::fs::create_dir(to).unwrap();
        for entry in std::fs::read_dir(from).unwrap() {
            let (path, to) = {
                let entry = entry.unwrap();
                (entry.path(), to.join(entry.file_name()))
            };
            if path.is_dir() {
                copied(&path, &to);
            } else {
                std::fs::copy(&path, &to).unwrap();
            }
        }
    }
}
