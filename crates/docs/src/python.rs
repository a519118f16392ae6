//! The shapes that Python's methods return, as `TypedDict`s in a module that runs: what names a class that may come
//! later is a text.

use crate::markdown::items;
use crate::schemas::Schemas;
use anyhow::{Context, Result};
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use std::fmt::Write;

/// Words that no field of a class can have as its name.
const KEYWORDS: &[&str] = &["class", "from", "global", "is", "not", "pass"];

/// Classes for `names`: schemas, each with the name of its class if it has one (`report=Report`).
pub fn block(names: &str, schemas: &Schemas) -> Result<String> {
    let (mut out, mut seen) = (String::from("\n"), BTreeSet::new());
    for name in names.split_whitespace() {
        let (name, class) = name.split_once('=').unwrap_or((name, ""));
        let (_, schema) = schemas.iter().find(|(n, _)| *n == name).context("no such schema")?;
        for (class, of) in schema["$defs"].as_object().into_iter().flatten() {
            if seen.insert(class.clone()) {
                typed_dict(&mut out, class, of)?;
            }
        }
        if !class.is_empty() {
            typed_dict(&mut out, class, &schema["properties"]["data"])?;
        }
    }
    Ok(out)
}

fn typed_dict(out: &mut String, class: &str, schema: &Value) -> Result<()> {
    let Some(properties) = schema["properties"].as_object() else {
        let of = type_of(schema);
        let is_plain = of.starts_with("Literal[") && !of.contains(" | ");
        let value = if is_plain { of } else { format!("'{of}'") };
        writeln!(out, "{class}: TypeAlias = {value}\n")?;
        return Ok(());
    };
    let required: BTreeSet<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let of = |key: &str, field: &Value| match required.contains(key) {
        true => type_of(field),
        false => format!("NotRequired[{}]", type_of(field)),
    };
    let doc = text(schema);
    if properties.keys().any(|key| KEYWORDS.contains(&key.as_str())) {
        writeln!(out, "{class} = TypedDict(\n    \"{class}\",\n    {{")?;
        for (key, field) in properties {
            writeln!(out, "        \"{key}\": '{}',", of(key, field))?;
        }
        writeln!(out, "    }},\n)\n\"\"\"{}\"\"\"\n", all_in_one(&doc, properties))?;
        return Ok(());
    }
    writeln!(out, "class {class}(TypedDict):\n    \"\"\"{doc}\"\"\"\n")?;
    for (key, field) in properties {
        writeln!(out, "    {key}: {}", of(key, field))?;
        let doc = text(field);
        if !doc.is_empty() {
            writeln!(out, "    \"\"\"{doc}\"\"\"")?;
        }
    }
    out.push('\n');
    Ok(())
}

/// The explanations of fields that cannot stand beside them.
fn all_in_one(doc: &str, properties: &Map<String, Value>) -> String {
    let fields = properties.iter().map(|(key, field)| format!("``{key}``: {}", text(field)));
    format!("{doc} {}", fields.collect::<Vec<_>>().join(" "))
}

/// The explanation, in the markup of Python.
fn text(schema: &Value) -> String {
    schema["description"].as_str().unwrap_or_default().replace('`', "``").replace("``null``", "``None``")
}

fn type_of(schema: &Value) -> String {
    if let Some(reference) = schema["$ref"].as_str() {
        return reference.rsplit('/').next().unwrap_or("Any").to_owned();
    }
    if let Some(words) = schema["enum"].as_array() {
        let words: Vec<String> = words
            .iter()
            .map(|word| if word.is_null() { "None".to_owned() } else { word.to_string() })
            .collect();
        return format!("Literal[{}]", words.join(", "));
    }
    for key in ["anyOf", "oneOf"] {
        if let Some(forms) = schema[key].as_array() {
            let words: Option<Vec<String>> =
                forms.iter().map(|form| form.get("const").map(Value::to_string)).collect();
            return match words {
                Some(words) => format!("Literal[{}]", words.join(", ")),
                None => forms.iter().map(type_of).collect::<Vec<_>>().join(" | "),
            };
        }
    }
    if let Some(value) = schema.get("const") {
        return format!("Literal[{value}]");
    }
    let one = |name: &str| match name {
        "integer" => "int".to_owned(),
        "number" => "float".to_owned(),
        "string" => "str".to_owned(),
        "boolean" => "bool".to_owned(),
        "null" => "None".to_owned(),
        "array" => match items(schema) {
            Value::Null => "list[Any]".to_owned(),
            items => format!("list[{}]", type_of(items)),
        },
        "object" => "dict[str, Any]".to_owned(),
        _ => "Any".to_owned(),
    };
    match &schema["type"] {
        Value::String(name) => one(name),
        Value::Array(names) => {
            names.iter().filter_map(Value::as_str).map(one).collect::<Vec<_>>().join(" | ")
        }
        _ => "Any".to_owned(),
    }
}
