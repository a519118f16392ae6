//! The fields of answers as tables in Markdown.

use crate::schemas::Schemas;
use anyhow::{Context, Result};
use serde_json::Value;
use std::fmt::Write;

/// The tables of the schema `name`: of its `data`, then of each object in it.
pub fn block(name: &str, schemas: &Schemas) -> Result<String> {
    let (_, schema) = schemas.iter().find(|(n, _)| *n == name).context("no such schema")?;
    let mut out = String::from("\n");
    let root = schema.pointer("/properties/data").filter(|_| name != "envelope").unwrap_or(schema);
    let title = if name == "envelope" { "the envelope" } else { "`data`" };
    table(&mut out, title, root);
    for (definition, of) in schema["$defs"].as_object().into_iter().flatten() {
        table(&mut out, &format!("`{definition}`"), of);
    }
    Ok(out)
}

fn table(out: &mut String, title: &str, schema: &Value) {
    if let Some(words) = words(schema) {
        // Writing into a text does not fail.
        let _ = writeln!(out, "| {title} | what it means |\n|---|---|");
        for (word, meaning) in words {
            let _ = writeln!(out, "| `{word}` | {} |", cell(&meaning));
        }
        out.push('\n');
        return;
    }
    let forms = forms(schema);
    let fields =
        |schema: &Value| schema.get("properties").is_some() || schema.get("patternProperties").is_some();
    if !fields(schema) && !forms.iter().any(|form| fields(form)) {
        return;
    }
    let _ = writeln!(out, "| key of {title} | type | what it is |\n|---|---|---|");
    for schema in std::iter::once(schema).chain(forms) {
        let own = |key: &str| schema[key].as_object().into_iter().flatten();
        for (key, field) in own("properties") {
            let _ = writeln!(out, "| `{key}` | {} | {} |", cell(&type_of(field)), cell(&description(field)));
        }
        for (pattern, field) in own("patternProperties") {
            let text = "With `--metric`: what the counter gained, in its unit";
            let _ = writeln!(out, "| keys with `{}` | {} | {text} |", cell(pattern), cell(&type_of(field)));
        }
    }
    out.push('\n');
}

/// The words of a type that is one of some, with their meanings.
fn words(schema: &Value) -> Option<Vec<(&str, String)>> {
    let forms = schema["oneOf"].as_array()?;
    forms.iter().map(|form| Some((form["const"].as_str()?, description(form)))).collect()
}

/// Alternatives that have keys of their own.
fn forms(schema: &Value) -> Vec<&Value> {
    let forms = ["anyOf", "oneOf"].iter().filter_map(|key| schema[*key].as_array()).flatten();
    forms.filter(|form| form.get("properties").is_some()).collect()
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

fn description(field: &Value) -> String {
    field["description"].as_str().unwrap_or_default().trim_end_matches('.').to_owned()
}

/// The type in a few words.
fn type_of(schema: &Value) -> String {
    if let Some(reference) = schema["$ref"].as_str() {
        let name = reference.rsplit('/').next().unwrap_or_default();
        return format!("`{name}`");
    }
    if let Some(value) = schema.get("const") {
        return format!("`{}`", value.as_str().unwrap_or_default());
    }
    if let Some(words) = schema["enum"].as_array() {
        let words = words.iter().map(|word| word.as_str().map_or("null".to_owned(), |w| format!("`{w}`")));
        return words.collect::<Vec<_>>().join(", ");
    }
    for key in ["anyOf", "oneOf"] {
        if let Some(forms) = schema[key].as_array() {
            return forms.iter().map(type_of).collect::<Vec<_>>().join(" or ");
        }
    }
    match &schema["type"] {
        Value::String(one) if one == "array" => format!("list of {}", type_of(items(schema))),
        Value::String(one) => one.clone(),
        Value::Array(several) => {
            let of = |one: &Value| match one.as_str() {
                Some("array") => format!("list of {}", type_of(items(schema))),
                one => one.unwrap_or_default().to_owned(),
            };
            several.iter().map(of).collect::<Vec<_>>().join(" or ")
        }
        _ => "any".to_owned(),
    }
}

/// The type of what is in a list; of a pair, that of its first.
pub fn items(schema: &Value) -> &Value {
    schema.get("prefixItems").map_or(&schema["items"], |items| &items[0])
}
