//! The dependency edges between our crates are those of ARCHITECTURE.md.
//!
//! The table is a fenced block with the info string `edges`. A line `formats -> otf2 model`
//! allows crate `ouzel-formats` to depend on `ouzel-otf2` and `ouzel-model`; a line
//! `otf2 ->` allows nothing. Every crate has a line. Dependencies of tests on `testkit`
//! are free. Lines for crates that do not exist yet do no harm.

use super::{Flaw, Source};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

const DOCUMENT: &str = "ARCHITECTURE.md";

type Table = BTreeMap<String, BTreeSet<String>>;

/// An edge of the workspace as Cargo sees it.
#[derive(Debug, PartialEq, Eq)]
struct Edge {
    from: String,
    to: String,
    only_in_tests: bool,
}

pub fn check(metadata: &Value, sources: &[Source]) -> Vec<Flaw> {
    let flaw = |line, what: String| Flaw { path: DOCUMENT.into(), line, what };
    let Some(document) = sources.iter().find(|source| source.path == DOCUMENT) else {
        return vec![flaw(1, "missing; it holds the table of dependency edges".into())];
    };
    let (line, table) = match table(document) {
        Ok(found) => found,
        Err((line, what)) => return vec![flaw(line, what)],
    };
    let (crates, edges) = crates_and_edges(metadata);
    let unlisted = crates.iter().filter(|name| !table.contains_key(*name));
    let mut flaws: Vec<Flaw> =
        unlisted.map(|name| flaw(line, format!("crate {name} has no line in the table of edges"))).collect();
    for Edge { from, to, only_in_tests } in edges {
        let free = only_in_tests && to == "testkit";
        let allowed = table.get(&from).is_some_and(|targets| targets.contains(&to));
        if !free && !allowed {
            let kind = if only_in_tests { "in its tests " } else { "" };
            flaws.push(flaw(
                line,
                format!("crate {from} depends {kind}on {to}, which the table does not allow"),
            ));
        }
    }
    flaws
}

/// The table, with the line on which it begins.
fn table(document: &Source) -> Result<(usize, Table), (usize, String)> {
    let mut lines = document.lines().skip_while(|(_, line)| line.trim() != "```edges");
    let Some((begin, _)) = lines.next() else {
        return Err((1, "no fenced block with the info string `edges`".into()));
    };
    let mut table = Table::new();
    for (number, line) in lines.take_while(|(_, line)| !line.starts_with("```")) {
        let rule = line.split('#').next().unwrap_or_default().trim();
        if rule.is_empty() {
            continue;
        }
        let Some((from, targets)) = rule.split_once("->") else {
            return Err((number, format!("{rule:?} is not of the form `crate -> crate crate`")));
        };
        let targets = targets.split_whitespace().map(str::to_owned);
        table.entry(from.trim().to_owned()).or_default().extend(targets);
    }
    Ok((begin, table))
}

fn crates_and_edges(metadata: &Value) -> (BTreeSet<String>, Vec<Edge>) {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let packages = list(&metadata["packages"]);
    let name_of = |value: &Value| short_name(value["name"].as_str().unwrap_or_default());
    let crates: BTreeSet<String> = packages.iter().map(name_of).collect();
    let mut edges = Vec::new();
    for package in &packages {
        for dependency in list(&package["dependencies"]) {
            // Only ours come from a folder.
            let (to, ours) = (name_of(&dependency), dependency["path"].is_string());
            if ours {
                let only_in_tests = dependency["kind"] == "dev";
                edges.push(Edge { from: name_of(package), to, only_in_tests });
            }
        }
    }
    (crates, edges)
}

fn short_name(package: &str) -> String {
    package.strip_prefix("ouzel-").unwrap_or(package).to_owned()
}

#[cfg(test)]
mod tests {
    use super::super::source;
    use super::*;
    use serde_json::json;

    fn flaws(table: &str, metadata: &Value) -> Vec<String> {
        let document = source(DOCUMENT, &format!("# A\n\n```edges\n{table}```\n"));
        check(metadata, &[document]).into_iter().map(|flaw| flaw.what).collect()
    }

    fn workspace() -> Value {
        json!({"packages": [
            {"name": "ouzel-model", "dependencies": [
                {"name": "serde", "kind": null},
                {"name": "ouzel-testkit", "kind": "dev", "path": "x"},
            ]},
            {"name": "ouzel-engine", "dependencies": [{"name": "ouzel-model", "kind": null, "path": "x"}]},
            {"name": "ouzel-testkit", "dependencies": []},
            {"name": "ouzel", "dependencies": [{"name": "ouzel-engine", "kind": "dev", "path": "x"}]},
        ]})
    }

    #[test]
    fn edges_of_the_table_and_test_helpers_are_allowed() {
        let table =
            "model ->\nengine -> model # the machine\ntestkit ->\nouzel -> engine model\nlater -> model\n";
        assert_eq!(flaws(table, &workspace()), Vec::<String>::new());
    }

    #[test]
    fn an_edge_outside_the_table_and_a_crate_without_a_line_are_flaws() {
        let found = flaws("model ->\nengine ->\nouzel ->\n", &workspace());
        assert_eq!(
            found,
            [
                "crate testkit has no line in the table of edges",
                "crate engine depends on model, which the table does not allow",
                "crate ouzel depends in its tests on engine, which the table does not allow",
            ]
        );
    }

    #[test]
    fn a_document_without_the_table_is_a_flaw() {
        let document = source(DOCUMENT, "# A\n");
        assert_eq!(check(&workspace(), &[document]).len(), 1);
    }
}
