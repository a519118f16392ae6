//! The SQLite file: opened for reading only, its tables and columns as they are.
//!
//! Tables of an export are made on demand and columns differ among versions, so every query names what exists and
//! takes NULL for the rest. Text may be anything: it is read as bytes and decoded with replacement characters.
//!
//! Laws: nothing is written, no lock is taken, nothing in the file is run (no views, triggers, virtual tables or
//! functions of its schema); a table gives at most as many rows as its file has bytes, so that pages that refer to
//! each other in circles end.

use ouzel_model::ReadError;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags, Statement};
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

/// An opened export.
#[derive(Debug)]
pub(crate) struct Database {
    connection: Connection,
    /// As the user would name it.
    pub file: Arc<str>,
    pub file_bytes: u64,
    /// Columns of each table.
    tables: BTreeMap<String, BTreeSet<String>>,
    /// Names of views and virtual tables: statements or modules make their rows, the file holds none.
    views: BTreeSet<String>,
}

impl Database {
    /// Opens a file and reads its schema.
    ///
    /// # Errors
    /// If it is not an SQLite database, or its schema cannot be read.
    pub fn open(path: &Path) -> Result<Database, ReadError> {
        let file: Arc<str> = Arc::from(path.display().to_string());
        let error = |error: rusqlite::Error| read_error(&file, &error);
        // SQLite opens any file it is given.
        ouzel_files::input::open(path).map_err(|error| ReadError {
            file: Arc::clone(&file),
            offset: 0,
            record: 0,
            reason: format!("cannot be read: {error}"),
        })?;
        let flags =
            OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(immutable_uri(path), flags).map_err(error)?;
        // Limits on what the file can make SQLite do. A file that ends early opens only with a writable schema; the
        // file itself stays read-only. A cache of 8 MB is enough for scans from the first page to the last.
        connection
            .execute_batch("PRAGMA trusted_schema=OFF; PRAGMA query_only=ON; PRAGMA writable_schema=ON; PRAGMA cache_size=-8000;")
            .map_err(error)?;
        let tables = tables(&connection).map_err(error)?;
        let file_bytes = std::fs::metadata(path).map_or(0, |metadata| metadata.len());
        let views = views(&connection).map_err(error)?;
        Ok(Database { connection, file, file_bytes, tables, views })
    }

    /// Names of all tables, in order.
    pub(crate) fn table_names(&self) -> impl Iterator<Item = &str> {
        self.tables.keys().map(String::as_str)
    }

    /// Names of views and virtual tables, in order. They are never read.
    pub(crate) fn view_names(&self) -> impl Iterator<Item = &str> {
        self.views.iter().map(String::as_str)
    }

    /// Whether there is such a table.
    pub(crate) fn has_table(&self, table: &str) -> bool {
        self.tables.contains_key(table)
    }

    /// Whether there is such a table with such a column.
    pub(crate) fn has_column(&self, table: &str, column: &str) -> bool {
        self.tables.get(table).is_some_and(|columns| columns.contains(column))
    }

    /// Calls `take` with every row of a table, its columns in the order of `columns`; those that do not exist are
    /// NULL. `condition` is SQL of ours. Returns the number of rows.
    ///
    /// # Errors
    /// What `take` returns, and if the table cannot be read to its end; the rows before were taken.
    pub fn scan(
        &self,
        table: &str,
        columns: &[&str],
        condition: Option<&str>,
        mut take: impl FnMut(&QueryRow<'_, '_>) -> Result<(), ReadError>,
    ) -> Result<u64, ScanError> {
        if !self.has_table(table) {
            return Ok(0);
        }
        let mut n_rows = 0;
        let failed = |error: &rusqlite::Error, n_rows: u64| {
            let mut error = read_error(&self.file, error);
            error.record = n_rows;
            error.reason = format!("table {table}: {}", error.reason);
            ScanError::Damaged(error)
        };
        let sql = self.select(table, columns, condition);
        let mut statement = self.connection.prepare(&sql).map_err(|error| failed(&error, 0))?;
        let mut rows = statement.raw_query();
        loop {
            match rows.next() {
                Ok(None) => return Ok(n_rows),
                Ok(Some(row)) => take(&QueryRow { row }).map_err(ScanError::Fatal)?,
                Err(error) => return Err(failed(&error, n_rows)),
            }
            n_rows += 1;
            if self.file_bytes < n_rows {
                let reason =
                    format!("table {table} has more rows than its file has bytes: its pages form a cycle");
                let error = ReadError { file: Arc::clone(&self.file), offset: 0, record: n_rows, reason };
                return Err(ScanError::Damaged(error));
            }
        }
    }

    fn select(&self, table: &str, columns: &[&str], condition: Option<&str>) -> String {
        let column = |name: &&str| match self.has_column(table, name) {
            true => format!("{name:?}"),
            false => "NULL".to_owned(),
        };
        let columns: Vec<String> = columns.iter().map(column).collect();
        let condition = condition.map(|condition| format!(" WHERE {condition}")).unwrap_or_default();
        format!("SELECT {} FROM {table:?}{condition}", columns.join(", "))
    }

    /// Number of rows of a table; `None` if it cannot be counted.
    pub fn n_rows(&self, table: &str) -> Option<u64> {
        let sql = format!("SELECT count(*) FROM {table:?}");
        let n: i64 = self.connection.query_row(&sql, [], |row| row.get(0)).ok()?;
        u64::try_from(n).ok()
    }

    /// Rows of a table by their ids. A table that does not exist has none.
    ///
    /// # Errors
    /// If the table cannot be asked.
    pub fn by_id(&self, table: &str, columns: &[&str]) -> Result<IdLookup<'_>, ReadError> {
        if !self.has_table(table) {
            return Ok(IdLookup { statement: None });
        }
        let sql = self.select(table, columns, Some("id=?1"));
        let statement = self.connection.prepare(&sql).map_err(|error| read_error(&self.file, &error))?;
        Ok(IdLookup { statement: Some(statement) })
    }

    /// The strings of the export.
    ///
    /// # Errors
    /// If their table cannot be read.
    pub fn strings(&self) -> Result<Strings<'_>, ReadError> {
        let error = |error: rusqlite::Error| read_error(&self.file, &error);
        let by_id = "SELECT count(*) FROM pragma_table_info('StringIds') WHERE name='id' AND pk=1";
        let is_key: i64 = self.connection.query_row(by_id, [], |row| row.get(0)).map_err(error)?;
        let mut strings = Strings { known: FxHashMap::default(), statement: None };
        if is_key == 1 {
            let sql = "SELECT value FROM StringIds WHERE id=?1";
            strings.statement = Some(self.connection.prepare(sql).map_err(error)?);
        } else {
            let kept = self.scan("StringIds", &["id", "value"], None, |row| {
                if let (Some(id), Some(text)) = (row.int(0), row.text(1)) {
                    strings.known.insert(id, Arc::from(text));
                }
                Ok(())
            });
            kept.map_err(ScanError::into_error)?;
        }
        Ok(strings)
    }
}

/// Rows of a table by their ids.
pub(crate) struct IdLookup<'d> {
    statement: Option<Statement<'d>>,
}

impl IdLookup<'_> {
    /// An integer of a row; none if there is no such row, or another value.
    pub fn int(&mut self, id: i64, column: usize) -> Option<i64> {
        let get = |row: &rusqlite::Row<'_>| Ok(QueryRow { row }.int(column));
        self.statement.as_mut()?.query_row([id], get).ok().flatten()
    }

    /// A text of a row; none if there is no such row, or another value.
    pub fn text(&mut self, id: i64, column: usize) -> Option<String> {
        let get = |row: &rusqlite::Row<'_>| Ok(QueryRow { row }.text(column));
        self.statement.as_mut()?.query_row([id], get).ok().flatten()
    }
}

/// Why a scan did not reach the end of its table.
#[derive(Debug)]
pub(crate) enum ScanError {
    /// The table is damaged; what was read before is good.
    Damaged(ReadError),
    /// No more rows can be taken.
    Fatal(ReadError),
}

impl ScanError {
    /// The error, whichever it is.
    pub fn into_error(self) -> ReadError {
        match self {
            ScanError::Damaged(error) | ScanError::Fatal(error) => error,
        }
    }
}

/// One row of a query.
pub(crate) struct QueryRow<'r, 's> {
    row: &'r rusqlite::Row<'s>,
}

impl QueryRow<'_, '_> {
    /// The integer of a column; `None` if it is NULL or of another type.
    #[inline]
    pub fn int(&self, i: usize) -> Option<i64> {
        match self.row.get_ref(i) {
            Ok(ValueRef::Integer(value)) => Some(value),
            _ => None,
        }
    }

    /// The number of a column; `None` if it is NULL or of another type.
    pub fn real(&self, i: usize) -> Option<f64> {
        match self.row.get_ref(i) {
            Ok(ValueRef::Real(value)) => Some(value),
            Ok(ValueRef::Integer(value)) => Some(value as f64),
            _ => None,
        }
    }

    /// The text of a column, decoded as well as it can be; `None` if it is NULL or not text.
    pub fn text(&self, i: usize) -> Option<String> {
        match self.row.get_ref(i) {
            Ok(ValueRef::Text(bytes)) => Some(String::from_utf8_lossy(bytes).into_owned()),
            _ => None,
        }
    }

    /// The bytes of a column of text.
    pub fn bytes(&self, i: usize) -> Option<&[u8]> {
        match self.row.get_ref(i) {
            Ok(ValueRef::Text(bytes)) => Some(bytes),
            _ => None,
        }
    }

    /// Whether a column has a value.
    pub fn is_some(&self, i: usize) -> bool {
        !matches!(self.row.get_ref(i), Ok(ValueRef::Null) | Err(_))
    }
}

/// The table `StringIds`. Only the strings needed are read: it also holds the output of the program.
pub(crate) struct Strings<'d> {
    known: FxHashMap<i64, Arc<str>>,
    statement: Option<Statement<'d>>,
}

impl Strings<'_> {
    /// The string of an id that is looked up often; empty if there is none.
    pub(crate) fn get_kept(&mut self, id: i64) -> Arc<str> {
        if let Some(text) = self.known.get(&id) {
            return Arc::clone(text);
        }
        let text = self.get(id).unwrap_or_else(|| Arc::from(""));
        self.known.insert(id, Arc::clone(&text));
        text
    }

    /// The string of an id; `None` if there is none or it cannot be read.
    pub fn get(&mut self, id: i64) -> Option<Arc<str>> {
        let Some(statement) = &mut self.statement else { return self.known.get(&id).cloned() };
        let text = statement.query_row([id], |row| {
            Ok(match row.get_ref(0)? {
                ValueRef::Text(bytes) => Some(Arc::from(String::from_utf8_lossy(bytes))),
                _ => None,
            })
        });
        text.ok().flatten()
    }
}

/// The columns of every real table: no views, no virtual tables.
fn tables(connection: &Connection) -> Result<BTreeMap<String, BTreeSet<String>>, rusqlite::Error> {
    let sql = "SELECT name FROM sqlite_master WHERE type='table' AND rootpage>0 AND name NOT LIKE 'sqlite_%'";
    let mut names = connection.prepare(sql)?;
    let names: Vec<String> = names.query_map([], |row| row.get(0))?.filter_map(Result::ok).collect();
    let mut columns = connection.prepare("SELECT name FROM pragma_table_info(?1)")?;
    let mut tables = BTreeMap::new();
    for name in names {
        let found: BTreeSet<String> =
            columns.query_map([&name], |row| row.get(0))?.filter_map(Result::ok).collect();
        // Names go into queries: only the plain names of the format are accepted.
        let is_plain = |name: &str| name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
        if is_plain(&name) {
            tables.insert(name, found.into_iter().filter(|column| is_plain(column)).collect());
        }
    }
    Ok(tables)
}

/// The views and virtual tables.
fn views(connection: &Connection) -> Result<BTreeSet<String>, rusqlite::Error> {
    let sql = "SELECT name FROM sqlite_master WHERE type='view' OR type='table' AND rootpage=0";
    let mut names = connection.prepare(sql)?;
    let names = names.query_map([], |row| row.get::<_, String>(0))?;
    Ok(names.filter_map(Result::ok).collect())
}

/// The name by which SQLite opens a file without locks and without its log.
fn immutable_uri(path: &Path) -> String {
    let mut uri = String::from("file:");
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    for &byte in path.as_os_str().as_encoded_bytes() {
        if byte.is_ascii_alphanumeric() || b"/-_.~".contains(&byte) {
            uri.push(char::from(byte));
        } else {
            uri.push_str(&format!("%{byte:02X}"));
        }
    }
    uri.push_str("?immutable=1");
    uri
}

/// An SQLite error; SQLite reports no offsets.
pub(crate) fn read_error(file: &Arc<str>, error: &rusqlite::Error) -> ReadError {
    ReadError { file: Arc::clone(file), offset: 0, record: 0, reason: error.to_string() }
}
