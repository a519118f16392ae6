//! The parts of a line, in either layout.

use super::layout::{Layout, PrintLine, RecordHead, Widths, put};
use super::names::PrintNames;
use super::{json, text};
use ouzel_otf2::records::{FieldValue, RefKind};
use ouzel_otf2::wire::UNDEFINED_U64;

impl<'l, 'd> PrintLine<'l, 'd> {
    pub fn begin(
        out: &'l mut String,
        names: &'l mut PrintNames<'d>,
        layout: Layout,
        head: &RecordHead,
        widths: Widths,
    ) -> Self {
        match layout {
            Layout::Text => text::put_head(out, head, widths),
            Layout::JsonLines => json::put_head(out, head),
        }
        PrintLine { out, names, layout, n_fields: 0, metric: UNDEFINED_U64 }
    }

    pub fn field(&mut self, name: &str, value: FieldValue<'_>) {
        if let FieldValue::Ref(RefKind::Metric, id) = value {
            self.metric = id;
        }
        let is_first = self.n_fields == 0;
        self.n_fields += 1;
        match self.layout {
            Layout::Text => {
                self.out.push_str(if is_first { "  " } else { ", " });
                text::put_field(self, name, value);
            }
            Layout::JsonLines => {
                put!(self.out, ",\"{name}\":");
                json::put_value(self, value);
            }
        }
    }

    /// The fields of a record of an unknown kind.
    pub fn unknown(&mut self, id: u8, body: &[u8]) {
        if self.layout == Layout::JsonLines {
            self.field("id", FieldValue::Unsigned(u64::from(id)));
        }
        self.field("body_bytes", FieldValue::Unsigned(body.len() as u64));
    }

    pub fn end(self) {
        if self.layout == Layout::JsonLines {
            self.out.push('}');
        } else {
            self.out.truncate(self.out.trim_end_matches(' ').len());
        }
        self.out.push('\n');
    }
}
