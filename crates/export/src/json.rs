//! Tables as JSON: an array with one object for each row, keys in the order of the columns.

use ouzel_model::{Column, ColumnData, Table, json_text};
use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};
use serde_json::ser::Formatter;
use std::borrow::Cow;
use std::io;
use std::io::Write;

/// Writes `value` over several lines, each element of a list on one, followed by a line feed. Terminal controls and
/// invisible characters are written as `\u....`, which every JSON reader decodes.
///
/// # Errors
/// If `out` cannot be written, or serialising `value` fails.
pub fn write_pretty(mut out: impl Write, value: &impl Serialize) -> serde_json::Result<()> {
    value.serialize(&mut serde_json::Serializer::with_formatter(&mut out, Lines::default()))?;
    out.write_all(b"\n").map_err(serde_json::Error::io)
}

/// A line for each member of an object and each element of a list; the inside of an element stays on its line.
#[derive(Default)]
struct Lines {
    /// Objects and lists that are open and go over several lines.
    depth: usize,
    /// Elements that are open.
    n_elements: usize,
    /// Whether the innermost object or list has anything in it.
    has_value: bool,
}

impl Lines {
    fn begin<W: ?Sized + Write>(&mut self, out: &mut W, bracket: &[u8]) -> io::Result<()> {
        if self.n_elements == 0 {
            self.depth += 1;
            self.has_value = false;
        }
        out.write_all(bracket)
    }

    fn end<W: ?Sized + Write>(&mut self, out: &mut W, bracket: &[u8]) -> io::Result<()> {
        if self.n_elements == 0 {
            self.depth -= 1;
            if self.has_value {
                self.line(out)?;
            }
            self.has_value = true;
        }
        out.write_all(bracket)
    }

    fn next<W: ?Sized + Write>(&mut self, out: &mut W, is_first: bool) -> io::Result<()> {
        if !is_first {
            out.write_all(b",")?;
        }
        if self.n_elements == 0 { self.line(out) } else { Ok(()) }
    }

    fn line<W: ?Sized + Write>(&self, out: &mut W) -> io::Result<()> {
        write!(out, "\n{:1$}", "", 2 * self.depth)
    }
}

impl Formatter for Lines {
    fn write_string_fragment<W: ?Sized + Write>(&mut self, out: &mut W, text: &str) -> io::Result<()> {
        match json_text(text) {
            Cow::Borrowed(text) => out.write_all(text.as_bytes()),
            Cow::Owned(text) => out.write_all(text.as_bytes()),
        }
    }

    fn begin_array<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.begin(out, b"[")
    }

    fn end_array<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.end(out, b"]")
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, out: &mut W, is_first: bool) -> io::Result<()> {
        self.next(out, is_first)?;
        self.n_elements += 1;
        Ok(())
    }

    fn end_array_value<W: ?Sized + Write>(&mut self, _: &mut W) -> io::Result<()> {
        self.n_elements -= 1;
        self.has_value = true;
        Ok(())
    }

    fn begin_object<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.begin(out, b"{")
    }

    fn end_object<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.end(out, b"}")
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, out: &mut W, is_first: bool) -> io::Result<()> {
        self.next(out, is_first)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        out.write_all(if self.n_elements == 0 { b": " } else { b":" })
    }

    fn end_object_value<W: ?Sized + Write>(&mut self, _: &mut W) -> io::Result<()> {
        self.has_value = true;
        Ok(())
    }
}

/// The rows of a table, to be serialised without a copy.
#[derive(Debug, Clone, Copy)]
pub struct Rows<'a>(pub &'a Table);

/// The same for an owned table.
#[derive(Debug, Clone)]
pub struct TableRows(pub Table);

impl Serialize for TableRows {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Rows(&self.0).serialize(serializer)
    }
}

/// The rows of the batches that a function gives, serialised as one list; only one batch is in memory at a time.
#[derive(Debug, Clone, Copy)]
pub struct Batches<F>(pub F);

impl<F: Fn() -> I, I: IntoIterator<Item = Table>> Serialize for Batches<F> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut rows = serializer.serialize_seq(None)?;
        for batch in (self.0)() {
            for row in 0..batch.n_rows() {
                rows.serialize_element(&Row { columns: &batch.columns, row })?;
            }
        }
        rows.end()
    }
}

impl Serialize for Rows<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut rows = serializer.serialize_seq(Some(self.0.n_rows()))?;
        self.add_to(&mut rows)?;
        rows.end()
    }
}

impl Rows<'_> {
    /// Appends the rows to an array that is being written, so that batches of rows become one array.
    ///
    /// # Errors
    /// Those of the serializer.
    pub fn add_to<S: SerializeSeq>(&self, rows: &mut S) -> Result<(), S::Error> {
        let row = |row| Row { columns: &self.0.columns, row };
        (0..self.0.n_rows()).try_for_each(|i| rows.serialize_element(&row(i)))
    }
}

struct Row<'a> {
    columns: &'a [Column],
    row: usize,
}

impl Serialize for Row<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let i = self.row;
        let mut map = serializer.serialize_map(Some(self.columns.len()))?;
        for Column { name, data, .. } in self.columns {
            match data {
                ColumnData::U64(v) => map.serialize_entry(name, &v[i])?,
                ColumnData::OptionU64(v) => map.serialize_entry(name, &v[i])?,
                ColumnData::I64(v) => map.serialize_entry(name, &v[i])?,
                ColumnData::OptionF64(v) => map.serialize_entry(name, &v[i])?,
                ColumnData::F64(v) => map.serialize_entry(name, &v[i])?,
                ColumnData::Text(v) => map.serialize_entry(name, &*v[i])?,
                ColumnData::OptionText(v) => map.serialize_entry(name, &v[i].as_deref())?,
                ColumnData::TextList(v) => map.serialize_entry(name, &v[i])?,
                ColumnData::U64List(v) => map.serialize_entry(name, &v[i])?,
            }
        }
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::Batches;
    use crate::test_table::table;

    #[test]
    fn batches_are_one_list() {
        let json = |batches: &[ouzel_model::Table]| {
            serde_json::to_string_pretty(&Batches(|| batches.to_vec())).unwrap()
        };
        let mut both = table();
        both.append(table());
        assert_eq!(json(&[table(), table()]), serde_json::to_string_pretty(&super::Rows(&both)).unwrap());
        assert_eq!(json(&[]), "[]");
    }

    #[test]
    fn what_does_not_show_is_escaped_and_reads_back() {
        let value = serde_json::json!({"na\u{202e}me": ["\u{1b}[2J\u{9b}", "größe \"x\"", 1, {}, []], "\u{e0041}": null});
        let mut out = Vec::new();
        super::write_pretty(&mut out, &value).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.lines().flat_map(str::chars).all(ouzel_model::is_visible), "{text}");
        assert!(text.contains("\\udb40\\udc41") && text.contains("größe"), "{text}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), value);
    }

    #[test]
    fn an_element_of_a_list_is_one_line() {
        let value = serde_json::json!({"a": [1, {"b": [], "c": [1, {"d": null}]}, [2, 3]], "e": {"f": "g", "h": {}}, "i": []});
        let mut out = Vec::new();
        super::write_pretty(&mut out, &value).unwrap();
        let lines = [
            "{",
            "  \"a\": [",
            "    1,",
            "    {\"b\":[],\"c\":[1,{\"d\":null}]},",
            "    [2,3]",
            "  ],",
            "  \"e\": {",
            "    \"f\": \"g\",",
            "    \"h\": {}",
            "  },",
            "  \"i\": []",
            "}",
            "",
        ];
        assert_eq!(String::from_utf8(out).unwrap(), lines.join("\n"));
    }

    #[test]
    fn rows_are_objects_in_the_order_of_the_columns() {
        let json = serde_json::to_string(&super::Rows(&table())).unwrap();
        assert_eq!(
            json,
            concat!(
                r#"[{"region":"main","visits":18446744073709551615,"rank":null,"delta":-3,"share":0.5,"rate":null,"#,
                r#""source":null,"call_path":[],"top_ranks":[3,18446744073709551615]},"#,
                r#"{"region":"a, \"b\"","visits":0,"rank":7,"delta":4,"share":null,"rate":1.25,"#,
                r#""source":"x.c:3","call_path":["main","a, \"b\""],"top_ranks":[]}]"#
            )
        );
    }
}
