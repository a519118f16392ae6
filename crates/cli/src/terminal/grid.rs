//! Aligned columns that fit a width.
//!
//! If the columns do not fit, names of functions become short, where rows are told apart by
//! them as well. Then columns are left out, the least important first; then those with long
//! names are shortened. Law: no line is longer than the width, unless no column can be
//! dropped or shortened any further.

use super::names::{call_path, call_paths, region};
use super::style::{Paint, Style, clean, shortened};
use super::units;
use ouzel::model::{ColumnData, Table, Unit};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// Columns of text, ready to be laid out.
#[derive(Debug, Default)]
pub struct Grid {
    columns: Vec<GridColumn>,
}

/// One column.
#[derive(Debug, Clone)]
pub struct GridColumn {
    title: String,
    cells: Vec<String>,
    /// Of each cell, if they are regions or call paths: the regions, outermost first.
    names: Vec<Vec<String>>,
    align: Align,
    paint: Paint,
    /// For each cell, if they differ.
    paints: Vec<Paint>,
    importance: Importance,
}

/// How cells are aligned in their column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Align {
    Left,
    Right,
}

/// What happens to a column if there is little room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Importance {
    /// It stays, whole.
    Always,
    /// It stays, its cells may be shortened.
    Shortened,
    /// It is left out, those of a higher number first.
    Optional(u8),
}

/// No column is shortened below this; call paths matter more than columns that can be left out.
const MIN_SHORTENED: usize = 16;
const MIN_REGION: usize = 24;
const MIN_CALL_PATH: usize = 40;
/// More call paths than that are not told apart where they are cut.
const MOST_TOLD_APART: usize = 1000;
const GAP: &str = "  ";
const SEPARATOR: &str = " › ";

impl GridColumn {
    /// A column of text, left-aligned.
    pub fn text(title: &str, cells: impl IntoIterator<Item = String>) -> Self {
        let cells = cells.into_iter().map(|cell| clean(&cell)).collect();
        let (align, paint, importance) = (Align::Left, Paint::Plain, Importance::Always);
        let title = clean(title);
        GridColumn { title, cells, names: Vec::new(), align, paint, paints: Vec::new(), importance }
    }

    /// A column of regions or call paths.
    pub fn call_paths(title: &str, paths: impl IntoIterator<Item = Vec<String>>) -> Self {
        let names: Vec<Vec<String>> = paths.into_iter().collect();
        let cells: Vec<String> = names.iter().map(|path| path.join(SEPARATOR)).collect();
        GridColumn { names, ..Self::text(title, cells) }
    }

    /// A column of numbers, right-aligned.
    pub fn numbers(title: &str, cells: impl IntoIterator<Item = String>) -> Self {
        GridColumn { align: Align::Right, ..Self::text(title, cells) }
    }

    /// The column `name` of `table`, each value as people read its unit.
    ///
    /// # Panics
    /// If there is no such column.
    pub fn of(table: &Table, name: &str, title: &str) -> Self {
        let column = table.own(name);
        let missing = || "-".to_owned();
        let whole = |value: u64| match column.unit {
            Unit::Nanoseconds => units::time(value),
            Unit::Bytes => units::bytes(value),
            Unit::Count | Unit::Other(_) => units::count(value),
            Unit::None | Unit::Ratio => value.to_string(),
        };
        let float = |value: Option<f64>| match column.unit {
            Unit::Ratio => units::percent(value),
            _ => units::number(value),
        };
        match &column.data {
            ColumnData::U64(v) => Self::numbers(title, v.iter().map(|&value| whole(value))),
            ColumnData::OptionU64(v) => {
                Self::numbers(title, v.iter().map(|value| value.map_or_else(missing, whole)))
            }
            ColumnData::I64(v) => {
                let signed = |&value: &i64| {
                    format!("{}{}", if value < 0 { "-" } else { "" }, whole(value.unsigned_abs()))
                };
                Self::numbers(title, v.iter().map(signed))
            }
            ColumnData::F64(v) => Self::numbers(title, v.iter().map(|&value| float(Some(value)))),
            ColumnData::OptionF64(v) => Self::numbers(title, v.iter().map(|&value| float(value))),
            ColumnData::Text(v) => Self::call_paths(title, v.iter().map(|name| vec![name.to_string()])),
            ColumnData::OptionText(v) => {
                let text = |value: &Option<std::sync::Arc<str>>| value.as_deref().unwrap_or("-").to_owned();
                Self::text(title, v.iter().map(text))
            }
            ColumnData::TextList(v) => {
                let names = |list: &Vec<std::sync::Arc<str>>| list.iter().map(ToString::to_string).collect();
                Self::call_paths(title, v.iter().map(names))
            }
            ColumnData::U64List(v) => {
                let list =
                    |list: &Vec<u64>| list.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
                Self::text(title, v.iter().map(list))
            }
        }
    }

    /// The same column, painted.
    #[must_use]
    pub fn painted(self, paint: Paint) -> Self {
        GridColumn { paint, ..self }
    }

    /// The same column, each cell painted by itself.
    #[must_use]
    pub fn painted_each(self, paints: impl IntoIterator<Item = Paint>) -> Self {
        GridColumn { paints: paints.into_iter().collect(), ..self }
    }

    /// The same column, which is left out if there is little room, those of a higher `order` first.
    #[must_use]
    pub fn optional(self, order: u8) -> Self {
        GridColumn { importance: Importance::Optional(order), ..self }
    }

    /// The same column, whose cells are shortened if there is little room.
    #[must_use]
    pub fn shortened(self) -> Self {
        GridColumn { importance: Importance::Shortened, ..self }
    }

    /// The same column, which names the rows.
    #[must_use]
    pub fn naming(self) -> Self {
        self.painted(Paint::Name).shortened()
    }

    /// The same column with short names of functions, if rows are told apart by them as well; else it is one of text.
    fn with_short_names(&self) -> Self {
        let n_different = |names: &[Vec<String>]| names.iter().collect::<BTreeSet<_>>().len();
        let short = |path: &Vec<String>| path.iter().map(|name| region(name)).collect();
        let short: Vec<Vec<String>> = self.names.iter().map(short).collect();
        let are_short = self.importance == Importance::Shortened
            && !short.is_empty()
            && n_different(&short) == n_different(&self.names);
        match are_short {
            true => {
                let cells = short.iter().map(|path| path.join(SEPARATOR)).collect();
                GridColumn { cells, ..self.clone() }
            }
            false => GridColumn { names: Vec::new(), ..self.clone() },
        }
    }

    /// The same column within a width that its cells are too long for: call paths lose their outer regions.
    fn cut(mut self, width: usize) -> Self {
        let paths: BTreeSet<&Vec<String>> = self.names.iter().filter(|path| !path.is_empty()).collect();
        let paths: Vec<(&[String], usize)> = paths.into_iter().map(|path| (path.as_slice(), width)).collect();
        let texts = match paths.len() <= MOST_TOLD_APART {
            true => call_paths(&paths),
            false => paths.iter().map(|(path, width)| call_path(path, *width)).collect(),
        };
        let texts: BTreeMap<&[String], String> = paths.iter().map(|it| it.0).zip(texts).collect();
        for (cell, path) in self.cells.iter_mut().zip(&self.names) {
            if let Some(text) = texts.get(path.as_slice()) {
                cell.clone_from(text);
            }
        }
        self
    }

    /// The least width of a column that stays.
    fn least_width(&self) -> usize {
        let natural = self.natural_width();
        let most = self.names.iter().map(Vec::len).max().unwrap_or(0);
        match (self.importance, most) {
            (Importance::Always | Importance::Optional(_), _) => natural,
            (Importance::Shortened, 0) => natural.min(MIN_SHORTENED),
            (Importance::Shortened, 1) => natural.min(MIN_REGION),
            (Importance::Shortened, _) => natural.min(MIN_CALL_PATH),
        }
    }

    fn natural_width(&self) -> usize {
        let cells = self.cells.iter().map(|cell| cell.chars().count());
        cells.chain([self.title.chars().count()]).max().unwrap_or(0)
    }
}

impl Grid {
    /// Adds a column to the right.
    #[must_use]
    pub fn with(mut self, column: GridColumn) -> Self {
        self.columns.push(column);
        self
    }

    /// Adds a column if there is one.
    #[must_use]
    pub fn with_some(self, column: Option<GridColumn>) -> Self {
        match column {
            Some(column) => self.with(column),
            None => self,
        }
    }

    /// The lines, a heading first, within `width` characters.
    pub fn lines(&self, width: usize, style: Style) -> Vec<String> {
        let columns = self.layout(width);
        let line = |cell: &dyn Fn(&GridColumn) -> String, paint: &dyn Fn(&GridColumn) -> Paint| {
            let cells: Vec<String> = columns
                .iter()
                .map(|(column, width)| padded(&cell(column), column, *width, paint(column), style))
                .collect();
            cells.join(GAP).trim_end().to_owned()
        };
        let n_rows = self.columns.iter().map(|column| column.cells.len()).max().unwrap_or(0);
        let heading = line(&|column| column.title.clone(), &|_| Paint::Dim);
        let rows = (0..n_rows).map(|row| {
            let cell = |column: &GridColumn| column.cells.get(row).cloned().unwrap_or_default();
            line(&cell, &|column| column.paints.get(row).copied().unwrap_or(column.paint))
        });
        std::iter::once(heading).chain(rows).collect()
    }

    /// The columns that fit, with their widths.
    fn layout(&self, width: usize) -> Vec<(Cow<'_, GridColumn>, usize)> {
        let total = |widths: &mut dyn Iterator<Item = usize>| {
            widths.fold(0, |sum, width| sum + width + GAP.len()).saturating_sub(GAP.len())
        };
        let fits = total(&mut self.columns.iter().map(GridColumn::natural_width)) <= width;
        let as_they_fit = self.columns.iter().map(|column| match fits {
            true => Cow::Borrowed(column),
            false => Cow::Owned(column.with_short_names()),
        });
        let mut kept: Vec<Cow<'_, GridColumn>> = as_they_fit.collect();
        while width < total(&mut kept.iter().map(|column| column.least_width())) {
            let optional = |column: &Cow<'_, GridColumn>| match column.importance {
                Importance::Optional(order) => Some(order),
                Importance::Always | Importance::Shortened => None,
            };
            let Some(worst) = kept.iter().filter_map(optional).max() else { break };
            let place = kept.iter().rposition(|column| optional(column) == Some(worst));
            kept.remove(place.expect("a column has the order that was found"));
        }
        let mut widths: Vec<usize> = kept.iter().map(|column| column.least_width()).collect();
        let mut room = width.saturating_sub(total(&mut widths.iter().copied()));
        for (column, width) in kept.iter().zip(&mut widths) {
            let more = (column.natural_width() - *width).min(room);
            *width += more;
            room -= more;
        }
        let columns = kept.into_iter().zip(widths);
        let cut = columns.map(|(column, width)| match column.natural_width() <= width {
            true => (column, width),
            false => (Cow::Owned(column.into_owned().cut(width)), width),
        });
        cut.collect()
    }
}

fn padded(cell: &str, column: &GridColumn, width: usize, paint: Paint, style: Style) -> String {
    let text = shortened(cell, width);
    let space = " ".repeat(width - text.chars().count());
    let text = style.paint(paint, &text);
    match column.align {
        Align::Left => text + &space,
        Align::Right => space + &text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid() -> Grid {
        let texts = |cells: &[&str]| cells.iter().map(ToString::to_string).collect::<Vec<_>>();
        Grid::default()
            .with(
                GridColumn::text("region", texts(&["main", "a_very_long_function_name_indeed"])).shortened(),
            )
            .with(GridColumn::numbers("visits", texts(&["1", "1,024"])))
            .with(GridColumn::numbers("max", texts(&["1.000 s", "2 ns"])).optional(1))
    }

    #[test]
    fn wide_pages_show_everything() {
        assert_eq!(
            grid().lines(80, Style::new(false)),
            [
                "region                            visits      max",
                "main                                   1  1.000 s",
                "a_very_long_function_name_indeed   1,024     2 ns",
            ]
        );
    }

    #[test]
    fn narrow_pages_lose_optional_columns_then_letters() {
        for width in [24, 30, 36, 50] {
            let lines = grid().lines(width, Style::new(false));
            assert!(lines.iter().all(|line| line.chars().count() <= width), "{width}: {lines:#?}");
        }
        assert_eq!(grid().lines(26, Style::new(false))[2], "a_very_lo…e_indeed   1,024");
    }

    #[test]
    fn names_are_whole_then_short_then_cut() {
        let send = "CommSend(Domain&, int, double& (Domain::**)(int), bool)";
        let paths = [
            &["main(int, char**)", "LagrangeNodal(Domain&)", send, "MPI_Waitall"][..],
            &["main(int, char**)", "CalcQForElems(Domain&)", send, "MPI_Waitall"],
            &["main(int, char**)", "MPI_Init"],
        ];
        let paths = || paths.iter().map(|path| path.iter().map(ToString::to_string).collect());
        let grid = Grid::default().with(GridColumn::call_paths("call path", paths()).naming());
        let lines = |width| grid.lines(width, Style::new(false));
        assert_eq!(lines(200)[3], "main(int, char**) › MPI_Init");
        let short = [
            "main › LagrangeNodal › CommSend › MPI_Waitall",
            "main › CalcQForElems › CommSend › MPI_Waitall",
        ];
        assert_eq!(lines(100)[1..3], short);
        let cut = ["… › LagrangeNodal › … › MPI_Waitall", "… › CalcQForElems › … › MPI_Waitall"];
        assert_eq!(lines(40)[1..], [&cut[..], &["main › MPI_Init"]].concat());
    }

    #[test]
    fn names_stay_whole_where_they_tell_rows_apart() {
        let regions = ["f(int)", "f(double)"].map(|name| vec![name.to_owned()]);
        let grid = Grid::default().with(GridColumn::call_paths("region", regions).naming());
        assert_eq!(grid.lines(6, Style::new(false))[1..], ["f(int)", "f(double)"]);
    }
}
