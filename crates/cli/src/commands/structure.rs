//! `ouzel structure`: functions, loops, inlined code and calls of binaries.

use crate::command::{Command, Tool};
use crate::exit::Outcome;
use crate::terminal::style::clean;
use crate::terminal::units;
use anyhow::{Context, bail};
use clap::{Args, ValueEnum};
use ouzel::model::{ColumnData, Table, Unit};
use ouzel_answers::{
    Envelope, Input, InputFilter, NoticeEntry, StructureAnswer, StructureCoverage, StructureRow,
};
use ouzel_export::{CsvText, CsvWriter, TableWriter, write_pretty};
use ouzel_structure::{Kept, Structure, structure_of};
use std::io::{BufWriter, Write, stderr, stdout};
use std::num::NonZeroUsize;
use std::path::PathBuf;

pub const COMMAND: Command = Command::about_the_program::<StructureArgs>("structure");

/// Show functions, loops, inlined code and calls of programs and libraries, with their lines
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ouzel structure ./app                            functions that have loops, with them
  ouzel structure ./app --function solve           all of one function: inlined functions and calls, too
  ouzel structure ./app libsolver.so --format csv  one row for each function, loop, inlined function and call
  ouzel structure ./app --format json | jq '.data.rows[] | select(.kind == \"loop\")'

Loops are found in the instructions; lines need debug information (-g, at any level of optimisation).
The line of a loop is that of its for or while. Binaries for x86-64 are read.
Answers are kept in the user's cache directory, by build id. More: docs/structure.md")]
pub struct StructureArgs {
    /// Programs and shared libraries
    #[arg(required = true, value_name = "BINARY")]
    pub binaries: Vec<PathBuf>,

    /// How to answer
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "table")]
    pub format: StructureFormat,

    /// Only functions of this name
    #[arg(long, value_name = "NAME")]
    pub function: Option<String>,

    /// Neither use what the cache directory keeps nor keep anything there
    #[arg(long)]
    pub no_cache: bool,
}

/// How to answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum StructureFormat {
    /// A page for people
    Table,
    /// JSON
    Json,
    /// CSV
    Csv,
}

impl Tool for StructureArgs {
    fn run(&self) -> anyhow::Result<Outcome> {
        run(self)
    }
}

fn run(args: &StructureArgs) -> anyhow::Result<Outcome> {
    let n_threads = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let kept = if args.no_cache { Kept::Nowhere } else { Kept::ForUser };
    let (mut answer, mut notices, mut error) = (StructureAnswer::default(), Vec::new(), None);
    for path in &args.binaries {
        let found = structure_of(path, n_threads, args.function.as_deref(), kept);
        match found.with_context(|| path.display().to_string()) {
            Ok(structure) => {
                notices.extend(structure.notices.iter().map(|message| notice(path, message)));
                answer.add(path, &structure);
                if args.format == StructureFormat::Table {
                    write_page(&structure, path, args)?;
                }
            }
            Err(found) if args.binaries.len() == 1 => return Err(found),
            Err(found) => {
                notices.push(notice(path, &format!("{found:#}")));
                error = error.or(Some(found));
            }
        }
    }
    if let Some(error) = error.filter(|_| answer.binaries.is_empty()) {
        return Err(error);
    }
    if let Some(name) = args.function.as_deref().filter(|_| answer.rows.is_empty()) {
        bail!(
            "no function is called {name:?}; names are those of the source, as in ouzel structure --format csv"
        );
    }
    let is_lost = answer.binaries.len() < args.binaries.len();
    match args.format {
        StructureFormat::Table => {}
        StructureFormat::Csv => write_csv(&answer.rows)?,
        StructureFormat::Json => write_json(args, answer, notices.clone())?,
    }
    for NoticeEntry { message, file, .. } in notices {
        writeln!(stderr(), "{}: {}", clean(file.as_deref().unwrap_or_default()), clean(&message))?;
    }
    Ok(if is_lost { Outcome::DataLost } else { Outcome::Complete })
}

fn notice(path: &std::path::Path, message: &str) -> NoticeEntry {
    NoticeEntry {
        level: "medium",
        code: "incomplete-structure",
        message: message.to_owned(),
        count: 1,
        file: Some(path.display().to_string().into()),
        offset: None,
        location: None,
    }
}

fn write_json(
    args: &StructureArgs,
    answer: StructureAnswer,
    notices: Vec<NoticeEntry>,
) -> anyhow::Result<()> {
    let paths: Vec<String> = args.binaries.iter().map(|path| path.display().to_string()).collect();
    let input = Input { path: paths.join(", "), format: "ELF".to_owned(), filter: InputFilter::default() };
    let coverage = StructureCoverage {
        binaries: answer.binaries.len() as u64,
        binaries_asked: args.binaries.len() as u64,
    };
    let mut out = BufWriter::new(stdout().lock());
    write_pretty(&mut out, &Envelope::new("structure", input, coverage, notices, answer))?;
    out.flush()?;
    Ok(())
}

fn write_csv(rows: &[StructureRow]) -> anyhow::Result<()> {
    let number = |of: fn(&StructureRow) -> u64| ColumnData::U64(rows.iter().map(of).collect());
    let text = |of: fn(&StructureRow) -> Option<std::sync::Arc<str>>| {
        ColumnData::OptionText(rows.iter().map(of).collect())
    };
    let table = Table::new("structure")
        .with("binary", Unit::None, "", number(|row| row.binary))
        .with("kind", Unit::None, "", text(|row| Some(row.kind.into())))
        .with("function", Unit::None, "", text(|row| Some(row.function.clone())))
        .with("target", Unit::None, "", text(|row| row.target.clone()))
        .with("file", Unit::None, "", text(|row| row.file.clone()))
        .with(
            "line",
            Unit::None,
            "",
            ColumnData::OptionU64(rows.iter().map(|row| row.line.map(u64::from)).collect()),
        )
        .with("depth", Unit::None, "", number(|row| u64::from(row.depth)))
        .with("address", Unit::None, "", number(|row| row.address))
        .with("size_bytes", Unit::None, "", number(|row| row.size_bytes))
        .with("irreducible", Unit::None, "", number(|row| u64::from(row.irreducible)));
    // Writers are sent between threads, a locked output cannot be.
    let mut out = BufWriter::new(stdout());
    let mut writer: Box<dyn TableWriter + '_> =
        Box::new(CsvWriter::new(&mut out, &table, CsvText::default())?);
    writer.write(&table)?;
    writer.finish()?;
    Ok(())
}

/// Functions on the page of a whole binary; those with most code.
const MOST_FUNCTIONS: usize = 40;

fn write_page(structure: &Structure, path: &std::path::Path, args: &StructureArgs) -> anyhow::Result<()> {
    let mut answer = StructureAnswer::default();
    answer.add(path, structure);
    let binary = &answer.binaries[0];
    let mut out = BufWriter::new(stdout().lock());
    writeln!(out, "{}", clean(&binary.path))?;
    let id = binary.build_id.as_ref().map_or_else(|| "no build id".to_owned(), |id| format!("build id {id}"));
    let (functions, loops) = (units::count(binary.functions), units::count(binary.loops));
    let code = units::bytes(binary.code_bytes);
    writeln!(out, "{id} · {functions} functions · {loops} loops · {code} of code")?;
    let is_whole = args.function.is_none();
    let mut functions: Vec<&[StructureRow]> =
        answer.rows.chunk_by(|_, next| next.kind != "function").collect();
    if is_whole {
        functions.retain(|rows| rows.iter().any(|row| row.kind == "loop"));
    }
    let n_all = functions.len();
    if is_whole && MOST_FUNCTIONS < n_all {
        functions.sort_by_key(|rows| (std::cmp::Reverse(rows[0].size_bytes), rows[0].address));
        functions.truncate(MOST_FUNCTIONS);
        functions.sort_by_key(|rows| rows[0].address);
    }
    for rows in &functions {
        writeln!(out)?;
        write_function(&mut out, rows, is_whole)?;
    }
    if functions.len() < n_all {
        let hidden = units::count((n_all - functions.len()) as u64);
        writeln!(out, "\n… {hidden} more functions with loops: --function NAME shows one, --format csv all")?;
    }
    out.flush()?;
    Ok(())
}

/// A function with its scopes; without calls if only loops are of interest, and without inlined functions that have none.
fn write_function(out: &mut impl Write, rows: &[StructureRow], loops_only: bool) -> anyhow::Result<()> {
    let own_file = rows[0].file.as_deref();
    for (i, row) in rows.iter().enumerate() {
        let inside = rows[i + 1..].iter().take_while(|inner| row.depth < inner.depth);
        let has_loops = row.kind == "loop" || inside.clone().any(|inner| inner.kind == "loop");
        if loops_only && 0 < row.depth && !has_loops {
            continue;
        }
        let what = match row.kind {
            "loop" if row.irreducible => "loop, entered at several places".to_owned(),
            "loop" => "loop".to_owned(),
            "call" => format!("calls {}", row.target.as_deref().unwrap_or("what memory or a register says")),
            "inlined" => format!("inlined {}", row.function),
            _ => row.function.to_string(),
        };
        let place = match (row.line, row.file.as_deref()) {
            (Some(line), Some(file)) if row.depth == 0 || Some(file) != own_file => format!("{file}:{line}"),
            (Some(line), _) => format!("line {line}"),
            (None, _) => format!("at {:#x}", row.address),
        };
        let indent = "  ".repeat(row.depth as usize);
        writeln!(out, "{indent}{}  {}", clean(&what), clean(&place))?;
    }
    Ok(())
}
