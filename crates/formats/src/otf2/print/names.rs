//! Names of what records refer to.
//!
//! A name is looked up once and kept quoted, ready for either layout. Law: only ids with
//! a definition are kept, so that a damaged file cannot fill the memory with others.

use ouzel_otf2::Definitions;
use ouzel_otf2::records::{Definition, FieldValue, RefKind};
use rustc_hash::FxHashMap;

/// Finds names in the global definitions.
pub(super) struct PrintNames<'d> {
    definitions: &'d Definitions,
    quoted: FxHashMap<(RefKind, u64), Option<Box<str>>>,
    members: FxHashMap<u64, Box<[u32]>>,
    ids_are_global: bool,
}

impl<'d> PrintNames<'d> {
    pub fn new(definitions: &'d Definitions) -> Self {
        PrintNames {
            definitions,
            quoted: FxHashMap::default(),
            members: FxHashMap::default(),
            ids_are_global: true,
        }
    }

    /// Says whether the ids that come are global; local ones have no names.
    pub(crate) fn ids_are_global(&mut self, global: bool) {
        self.ids_are_global = global;
    }

    /// The name of an id in quotes, if it has a definition and that has a name.
    pub fn quoted(&mut self, kind: RefKind, id: u64) -> Option<&str> {
        if !self.ids_are_global {
            return None;
        }
        if !self.quoted.contains_key(&(kind, id)) {
            let definition = self.definitions.get(kind, id)?;
            let quoted = name_of(self.definitions, &definition).map(|name| {
                let mut quoted = String::new();
                put_quoted(&mut quoted, &name);
                quoted.into_boxed_str()
            });
            self.quoted.insert((kind, id), quoted);
        }
        self.quoted.get(&(kind, id))?.as_deref()
    }

    /// The member that the value at `idx` of a metric class or instance belongs to.
    pub fn member(&mut self, metric: u64, idx: usize) -> Option<u32> {
        if !self.ids_are_global {
            return None;
        }
        if !self.members.contains_key(&metric) {
            let id = u32::try_from(metric).ok()?;
            let class = match self.definitions.metric_instance(id) {
                Some(instance) => self.definitions.metric_class(instance.metric_class)?,
                None => self.definitions.metric_class(id)?,
            };
            self.members.insert(metric, class.metric_members.iter().collect());
        }
        self.members.get(&metric)?.get(idx).copied()
    }
}

/// What people call a definition.
fn name_of(definitions: &Definitions, definition: &Definition<'_>) -> Option<String> {
    let text = |id: u32| Some(definitions.string(id)?.to_string_lossy().into_owned());
    let region = |id: u32| text(definitions.region(id)?.name);
    match definition {
        Definition::String(string) => Some(string.string.to_string_lossy().into_owned()),
        Definition::CallingContext(context) => region(context.region),
        Definition::Callpath(path) => region(path.region),
        Definition::SourceCodeLocation(place) => Some(format!("{}:{}", text(place.file)?, place.line_number)),
        other => {
            let mut name = None;
            other.fields(&mut |field, value| {
                if let (None, "name", FieldValue::Ref(RefKind::String, id)) = (name, field, value) {
                    name = u32::try_from(id).ok();
                }
            });
            text(name?)
        }
    }
}

/// The text in quotes, with quotes, backslashes and what does not show escaped as in JSON.
pub(super) fn put_quoted(out: &mut String, text: &str) {
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            other => ouzel_model::put_json_text(out, other),
        }
    }
    out.push('"');
}
