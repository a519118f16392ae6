//! `docs/commands.md` has every option of a command beside the parameter of the Python method, with their defaults, and
//! these agree.

use ouzel_testkit::workspace_root;
use std::collections::{BTreeMap, BTreeSet};

/// A line of a table; empty cells are empty texts.
struct Row<'a> {
    option: &'a str,
    option_default: &'a str,
    parameter: &'a str,
    parameter_default: &'a str,
}

/// The part of the page about one command.
struct Section<'a> {
    /// Empty for the options that all commands share.
    command: &'a str,
    methods: Vec<&'a str>,
    rows: Vec<Row<'a>>,
}

fn text(path: &str) -> String {
    std::fs::read_to_string(workspace_root().join(path)).expect("the repository is there")
}

fn in_backticks(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2)
}

fn sections(page: &str) -> Vec<Section<'_>> {
    let parts = page.split("\n## ").filter(|part| part.starts_with("`ouzel"));
    parts
        .map(|part| {
            let mut names = in_backticks(part.lines().next().unwrap_or_default());
            let command = names.next().and_then(|words| words.split(' ').nth(1)).unwrap_or_default();
            let lines = part.lines().filter(|line| line.starts_with('|')).skip(2);
            let rows = lines.map(|line| {
                let cells = line.split('|').map(|cell| cell.trim_matches([' ', '`']));
                let cells: Vec<&str> = cells.collect();
                let ["", option, option_default, parameter, parameter_default, ""] = cells[..] else {
                    panic!("four cells: {line}")
                };
                Row { option, option_default, parameter, parameter_default }
            });
            Section { command, methods: names.collect(), rows: rows.collect() }
        })
        .collect()
}

/// Names of options and places with their defaults.
type Words = BTreeMap<String, String>;

fn words(command: &clap::Command) -> Words {
    let args = command.get_arguments().filter(|arg| !matches!(arg.get_id().as_str(), "help" | "version"));
    args.map(|arg| {
        let name = match arg.get_long() {
            Some(long) => format!("--{long}"),
            None => arg.get_value_names().map(|names| names[0].to_string()).unwrap_or_default(),
        };
        let takes_value = arg.get_action().takes_values();
        let default = arg.get_default_values().first().filter(|_| takes_value);
        (name, default.map(|value| value.to_string_lossy().into_owned()).unwrap_or_default())
    })
    .collect()
}

/// The words that every command on a trace has, and those of each command alone, by its name.
fn options() -> (Words, BTreeMap<String, Words>) {
    let program = ouzel_cli::command_line();
    let all = program.get_subcommands().map(|command| (command.get_name().to_owned(), words(command)));
    let mut all: BTreeMap<String, Words> = all.filter(|(_, words)| words.contains_key("TRACE")).collect();
    let shared = all["info"].clone();
    all.values_mut().for_each(|words| words.retain(|name, _| !shared.contains_key(name)));
    (shared, all)
}

/// The parameters of a function with their defaults (empty: none), from the text after `def name(`.
fn parameters(signature: &str) -> Vec<(&str, &str)> {
    let mut depth = 1_u32;
    let mut parts = vec![];
    let mut from = 0;
    for (at, c) in signature.char_indices() {
        match c {
            '(' | '[' => depth += 1,
            ')' | ']' => depth -= 1,
            _ => {}
        }
        if depth == 0 || (depth == 1 && c == ',') {
            parts.push(&signature[from..at]);
            from = at + 1;
        }
        if depth == 0 {
            break;
        }
    }
    let named = parts.into_iter().map(str::trim).filter(|part| !matches!(*part, "" | "self" | "*"));
    named
        .map(|part| {
            let (declared, default) = part.rsplit_once('=').unwrap_or((part, ""));
            (declared.split(':').next().unwrap_or_default().trim(), default.trim())
        })
        .collect()
}

/// The functions of `_core.pyi` with their parameters: `open`, `Trace.filter`, …
fn methods(stub: &str) -> BTreeMap<String, Vec<(&str, &str)>> {
    let mut class = "";
    let mut found = BTreeMap::new();
    let mut at = 0;
    for line in stub.split_inclusive('\n') {
        if let Some(name) = line.strip_prefix("class ") {
            class = name.split(['(', ':']).next().unwrap_or_default();
        }
        if let Some((indent, rest)) = line.split_once("def ").filter(|(indent, _)| indent.trim().is_empty()) {
            let name = rest.split('(').next().unwrap_or_default();
            let owner = if indent.is_empty() { String::new() } else { format!("{class}.") };
            let begin = at + indent.len() + "def ".len() + name.len() + 1;
            found.insert(format!("{owner}{name}"), parameters(&stub[begin..]));
        }
        at += line.len();
    }
    found
}

#[test]
fn every_option_is_on_the_page_with_its_default() {
    let page = text("docs/commands.md");
    let (shared, commands) = options();
    let mut listed: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for section in sections(&page) {
        let own = if section.command.is_empty() { &shared } else { &commands[section.command] };
        for row in section.rows.iter().filter(|row| !row.option.is_empty()) {
            let name = row.option.split(' ').next().unwrap_or_default();
            let default = own.get(name).or_else(|| shared.get(name));
            let default = default.unwrap_or_else(|| panic!("ouzel {} has no {name}", section.command));
            // What is not given may mean something that has no word: it is in parentheses.
            let in_words = row.option_default.starts_with('(') && default.is_empty();
            assert!(in_words || row.option_default == default, "ouzel {} {name}: {default}", section.command);
            listed.entry(section.command).or_default().insert(name);
        }
        listed.entry(section.command).or_default();
    }
    for (command, words) in commands.iter().chain([(&String::new(), &shared)]) {
        let listed =
            listed.get(command.as_str()).unwrap_or_else(|| panic!("ouzel {command} is not on the page"));
        for name in words.keys() {
            assert!(listed.contains(name.as_str()), "ouzel {command} {name} is not on the page");
        }
    }
}

#[test]
fn every_parameter_is_on_the_page_with_its_default() {
    let (page, stub) = (text("docs/commands.md"), text("python/package/ouzel/_core.pyi"));
    let methods = methods(&stub);
    for section in sections(&page) {
        let of = |method: &&str| {
            let name = method.strip_prefix("ouzel.").unwrap_or(method);
            methods.get(name).unwrap_or_else(|| panic!("there is no {method}"))
        };
        let known: BTreeSet<(&str, &str)> = section.methods.iter().flat_map(of).copied().collect();
        let parameters = section.rows.iter().filter(|row| !row.parameter.is_empty());
        let listed: BTreeSet<(&str, &str)> = parameters
            .map(|row| (row.parameter.split('=').next().unwrap_or_default(), row.parameter_default))
            .collect();
        assert_eq!(listed, known, "{:?}", section.methods);
    }
    for name in methods.keys().filter(|name| name.starts_with("Trace.") || name.starts_with("Profile.")) {
        assert!(page.contains(&format!("`{name}`")), "{name} is not on the page");
    }
}

#[test]
fn defaults_agree() {
    let page = text("docs/commands.md");
    let mut n_compared = 0;
    for section in sections(&page) {
        for row in section.rows.iter().filter(|row| !row.option.is_empty() && !row.parameter.is_empty()) {
            let ours = row.option_default.trim_matches(['(', ')']);
            let theirs = match row.parameter_default {
                "None" | "False" => String::new(),
                value => value.trim_matches('"').replace('_', "-"),
            };
            match row.parameter.split_once('=') {
                // The flag selects what is not the default.
                Some((_, value)) => assert_ne!(value, row.parameter_default, "{}", row.parameter),
                None => {
                    assert_eq!(
                        ours, theirs,
                        "ouzel {} {} and {}",
                        section.command, row.option, row.parameter
                    );
                }
            }
            n_compared += 1;
        }
    }
    assert!(50 < n_compared, "the tables are not read any more");
}
