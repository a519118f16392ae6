//! A table as text and as HTML, for people at a prompt and in a notebook.
//!
//! Law: omissions are reported, and every value is from the table.

use ouzel::model::{Column, ColumnData, Table, Unit, units, visible};
use std::fmt::Write;

/// Rows of a page; the first ones.
const MAX_ROWS: usize = 20;
/// Characters of a cell.
const MAX_CHARACTERS: usize = 48;

/// The first rows in aligned columns.
pub fn text(table: &Table) -> String {
    let n_rows = table.n_rows().min(MAX_ROWS);
    let cells: Vec<Vec<String>> = table
        .columns
        .iter()
        .map(|column| {
            let values = (0..n_rows).map(|row| shortened(&cell(&column.data, row)));
            std::iter::once(visible(&column.name).into_owned()).chain(values).collect()
        })
        .collect();
    let widths: Vec<usize> =
        cells.iter().map(|column| column.iter().map(|c| c.chars().count()).max().unwrap_or(0)).collect();
    let mut out = format!("{} ({} rows)\n", table.name, table.n_rows());
    for row in 0..=n_rows {
        let mut line = String::new();
        for ((column, cells), width) in table.columns.iter().zip(&cells).zip(&widths) {
            let padding = " ".repeat(width - cells[row].chars().count());
            let (before, after) = if is_number(&column.data) { (&*padding, "") } else { ("", &*padding) };
            line.push_str(before);
            line.push_str(&cells[row]);
            line.push_str(after);
            line.push_str("  ");
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    if n_rows < table.n_rows() {
        out.push_str(&more(table, n_rows));
        out.push('\n');
    }
    out
}

/// The first rows as an HTML table; explanations of the columns are titles of their names, exact values of cells those
/// of times and sizes in other units.
pub fn html(table: &Table) -> String {
    let n_rows = table.n_rows().min(MAX_ROWS);
    let mut out = format!("<table><caption>{}</caption><thead><tr>", escaped(table.name));
    for column in &table.columns {
        let unit = match column.unit.symbol() {
            "" => String::new(),
            symbol => format!("<br><small>[{}]</small>", escaped(symbol)),
        };
        // Writing into a text does not fail.
        let _ = write!(out, "<th title=\"{}\">{}{unit}</th>", escaped(column.doc), escaped(&column.name));
    }
    out.push_str("</tr></thead><tbody>");
    for row in 0..n_rows {
        out.push_str("<tr>");
        for column in &table.columns {
            let align = if is_number(&column.data) { "right" } else { "left" };
            let exact = escaped(&cell(&column.data, row));
            let shown = readable(column, row).map(|text| escaped(&text));
            let _ = match shown.filter(|shown| *shown != exact) {
                Some(shown) => write!(out, "<td style=\"text-align:{align}\" title=\"{exact}\">{shown}</td>"),
                None => write!(out, "<td style=\"text-align:{align}\">{exact}</td>"),
            };
        }
        out.push_str("</tr>");
    }
    out.push_str("</tbody></table>");
    if n_rows < table.n_rows() {
        let _ = write!(out, "<p>{}</p>", more(table, n_rows));
    }
    out
}

fn more(table: &Table, n_shown: usize) -> String {
    format!("… and {} more of {} rows", table.n_rows() - n_shown, table.n_rows())
}

fn is_number(data: &ColumnData) -> bool {
    !matches!(
        data,
        ColumnData::Text(_) | ColumnData::OptionText(_) | ColumnData::TextList(_) | ColumnData::U64List(_)
    )
}

fn cell(data: &ColumnData, row: usize) -> String {
    let missing = || "–".to_owned();
    match data {
        ColumnData::U64(values) => values[row].to_string(),
        ColumnData::OptionU64(values) => values[row].map_or_else(missing, |value| value.to_string()),
        ColumnData::I64(values) => values[row].to_string(),
        ColumnData::F64(values) => ratio(values[row]),
        ColumnData::OptionF64(values) => values[row].map_or_else(missing, ratio),
        ColumnData::Text(values) => values[row].to_string(),
        ColumnData::OptionText(values) => values[row].as_deref().map_or_else(missing, str::to_owned),
        ColumnData::TextList(values) => values[row].join(" › "),
        ColumnData::U64List(values) => {
            values[row].iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
        }
    }
}

/// A time, a size or a number as people read it; `None` where the cell is what it is. Ids are not numbers of things.
fn readable(column: &Column, row: usize) -> Option<String> {
    let value = match &column.data {
        ColumnData::U64(values) => values[row],
        ColumnData::OptionU64(values) => values[row]?,
        _ => return None,
    };
    match column.unit {
        Unit::Nanoseconds => Some(units::time(value)),
        Unit::Bytes => Some(units::bytes(value)),
        Unit::Count | Unit::Other(_) => Some(units::count(value)),
        Unit::None | Unit::Ratio => None,
    }
}

fn ratio(value: f64) -> String {
    format!("{value:.4}")
}

/// The end of a long text is more important than its beginning: the last region of a call path.
fn shortened(text: &str) -> String {
    let text = visible(text);
    let n_characters = text.chars().count();
    if n_characters <= MAX_CHARACTERS {
        return text.into_owned();
    }
    std::iter::once('…').chain(text.chars().skip(n_characters - MAX_CHARACTERS + 1)).collect()
}

fn escaped(text: &str) -> String {
    visible(text).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
