//! HPCToolkit databases of any size, of format 4.
//!
//! ```text
//! main thread ─ main ─ loop at main.c:10 ─ :12 ─ phase0 ─ loop at phase.c:5 ─ :6 ─ leaf0
//!                                        └ :13 ─ phase1 ─ …
//! ```
//!
//! Each rank has one thread, of which a sample is taken every millisecond. Without iterations it is in any leaf, and
//! every thousandth sample finds nothing running. With iterations, ranks run all phases in order, each a little longer
//! or shorter than others, and meet in `MPI_Allreduce`, which the main loop calls behind the phases; one rank in a
//! thousand takes twice as long for the first phase. Law: equal shapes make equal bytes.

use crate::Rng;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// How large a database is.
#[derive(Debug, Clone, Copy)]
pub struct DatabaseShape {
    /// Ranks, of one thread each.
    pub n_ranks: u32,
    /// Samples of each.
    pub n_samples: u64,
    /// Functions below the main loop.
    pub n_phases: u32,
    /// Iterations of the main loop; 0 if phases come in any order.
    pub n_iterations: u64,
}

/// The time of the first sample.
const START_NS: u64 = 1_700_000_000_000_000_000;
const PERIOD_NS: u64 = 1_000_000;
/// Contexts of a phase: its line in the main loop, itself, its loop, the line there, its leaf.
const CONTEXTS_OF_A_PHASE: u32 = 5;
/// Numbers of contexts are even, as those of real databases are not dense.
const FIRST_OF_PHASES: u32 = 8;

/// Number of the innermost context of a phase.
fn leaf(phase: u32) -> u32 {
    FIRST_OF_PHASES + 2 * (CONTEXTS_OF_A_PHASE * phase + CONTEXTS_OF_A_PHASE - 1)
}

/// Number of the context of `MPI_Allreduce`.
fn meeting(shape: DatabaseShape) -> u32 {
    leaf(shape.n_phases.saturating_sub(1)) + 4
}

/// Writes `meta.db`, `profile.db` and `trace.db` into a folder, which is made.
///
/// # Errors
/// If the files cannot be written.
pub fn write_database(folder: &Path, shape: DatabaseShape) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    fs::write(folder.join("meta.db"), meta(shape))?;
    fs::write(folder.join("profile.db"), profile(shape))?;
    trace(BufWriter::new(File::create(folder.join("trace.db"))?), shape)
}

/// A file in memory, whose parts refer to each other by their offsets.
struct Image(Vec<u8>);

impl Image {
    fn new(tag: &[u8; 4], n_sections: usize) -> Self {
        let mut bytes = [b"HPCTOOLKIT", &tag[..], &[4, 0]].concat();
        bytes.resize(16 + 16 * n_sections, 0);
        Image(bytes)
    }

    /// Appends a structure, and returns its offset.
    fn put(&mut self, bytes: &[u8]) -> u64 {
        self.0.resize(self.0.len().next_multiple_of(8), 0);
        let at = self.0.len() as u64;
        self.0.extend_from_slice(bytes);
        at
    }

    fn text(&mut self, text: &str) -> u64 {
        self.put(&[text.as_bytes(), &[0]].concat())
    }

    fn section(&mut self, i: usize, bytes: &[u8]) {
        let at = self.put(bytes);
        self.0[16 + 16 * i..][..8].copy_from_slice(&(bytes.len() as u64).to_le_bytes());
        self.0[24 + 16 * i..][..8].copy_from_slice(&at.to_le_bytes());
    }

    fn finish(mut self, footer: &[u8; 8]) -> Vec<u8> {
        self.put(footer);
        self.0
    }
}

/// Consecutive fields, little-endian.
macro_rules! fields {
    ($($value:expr),* $(,)?) => { [$(&$value.to_le_bytes()[..]),*].concat() };
}

fn meta(shape: DatabaseShape) -> Vec<u8> {
    let mut image = Image::new(b"meta", 8);
    let (title, description) = (image.text("made"), image.text(""));
    image.section(0, &fields!(title, description));
    let names = ["SUMMARY", "NODE", "RANK", "THREAD", "GPUDEVICE", "GPUCONTEXT", "GPUSTREAM", "CORE"];
    let kinds: Vec<u8> = names.iter().flat_map(|name| image.text(name).to_le_bytes()).collect();
    let kinds = image.put(&kinds);
    image.section(1, &fields!(kinds, names.len() as u64));
    metrics(&mut image);
    let module = image.text("made");
    let modules = image.put(&fields!(0_u64, module));
    let files = ["main.c", "phase.c"].map(|name| image.text(name));
    let files = image.put(&files.map(|name| fields!(0_u64, name)).concat());
    let mut functions = Vec::new();
    let mut function = |image: &mut Image, name: &str, file: u64| {
        let name = image.text(name);
        functions.extend(fields!(name, modules, 0_u64, file, 1_u32, 0_u32));
    };
    function(&mut image, "main", files);
    for phase in 0..shape.n_phases {
        function(&mut image, &format!("phase{phase}"), files + 16);
        function(&mut image, &format!("leaf{phase}"), files + 16);
    }
    if 0 < shape.n_iterations {
        function(&mut image, "MPI_Allreduce", files);
    }
    let n_functions = functions.len() as u32 / 40;
    let functions = image.put(&functions);
    contexts(&mut image, shape, files, functions);
    image.section(5, &fields!(modules, 1_u32, 16_u16));
    image.section(6, &fields!(files, 2_u32, 16_u16));
    image.section(7, &fields!(functions, n_functions, 40_u16));
    image.finish(b"_meta.db")
}

fn metrics(image: &mut Image) {
    let (point, execution) = (image.text("point"), image.text("execution"));
    let scopes = image.put(&fields!(point, 0xff01_u64, execution, 0xff02_u64));
    let values = image.put(&fields!(scopes, 0_u64, scopes + 16, 1_u64));
    let formula = image.text("$$");
    let summary = |scope: u64, id: u16| fields!(scope, formula, 0_u16, id, 0_u32);
    let summaries = [summary(scopes, 0), summary(scopes + 16, 1)].concat();
    let summaries = image.put(&summaries);
    let name = image.text("CPUTIME (sec)");
    let metrics = image.put(&fields!(name, values, summaries, 2_u16, 2_u16, 0_u32));
    image.section(2, &fields!(metrics, 1_u32, 32_u8, 16_u8, 24_u8, 0_u8, scopes, 2_u16, 16_u8, 0_u8, 0_u32));
}

/// What distinguishes a context from others: its number, relation, lexical type, and what it points at.
struct Context {
    id: u32,
    relation: u8,
    lexical: u8,
    function: Option<u64>,
    source: Option<(u64, u32)>,
}

impl Context {
    /// The bytes, of which the first sixteen are size and offset of the children.
    fn bytes(&self, children: (u64, u64)) -> Vec<u8> {
        let mut flexible: Vec<u8> = self.function.iter().flat_map(|at| at.to_le_bytes()).collect();
        if let Some((file, line)) = self.source {
            flexible.extend(fields!(file, u64::from(line)));
        }
        let flags = u8::from(self.function.is_some()) | u8::from(self.source.is_some()) << 1;
        let n_words = (flexible.len() / 8) as u8;
        let head =
            fields!(children.0, children.1, self.id, flags, self.relation, self.lexical, n_words, 0_u64);
        [head, flexible].concat()
    }
}

fn contexts(image: &mut Image, shape: DatabaseShape, files: u64, functions: u64) {
    let function = |id, at| Context { id, relation: 1, lexical: 0, function: Some(at), source: None };
    let place = |id, lexical, file, line| Context {
        id,
        relation: 0,
        lexical,
        function: None,
        source: Some((file, line)),
    };
    let put = |image: &mut Image, context: &Context, children: (u64, u64)| {
        let bytes = context.bytes(children);
        (bytes.len() as u64, image.put(&bytes))
    };
    let mut lines = Vec::new();
    for phase in 0..shape.n_phases {
        let at = |row: u32| functions + 40 * u64::from(row);
        let id = |i: u32| FIRST_OF_PHASES + 2 * (CONTEXTS_OF_A_PHASE * phase + i);
        let chain = [
            function(id(4), at(2 * phase + 2)),
            place(id(3), 2, files + 16, 6 + 10 * phase),
            place(id(2), 1, files + 16, 5 + 10 * phase),
            function(id(1), at(2 * phase + 1)),
        ];
        let children = chain.iter().fold((0, 0), |children, context| put(image, context, children));
        lines.extend(place(id(0), 2, files, 12 + phase).bytes(children));
    }
    if 0 < shape.n_iterations {
        let at = functions + 40 * u64::from(2 * shape.n_phases + 1);
        let children = put(image, &function(meeting(shape), at), (0, 0));
        lines.extend(place(meeting(shape) - 2, 2, files, 12 + shape.n_phases).bytes(children));
    }
    let children = (lines.len() as u64, image.put(&lines));
    let main_loop = put(image, &place(6, 1, files, 10), children);
    let main = put(image, &function(4, functions), main_loop);
    let name = image.text("main thread");
    let entry = image.put(&fields!(main.0, main.1, 2_u32, 1_u16, 0_u16, name));
    image.section(3, &fields!(entry, 1_u16, 32_u8, 0_u8, 0_u32));
}

fn profile(shape: DatabaseShape) -> Vec<u8> {
    let mut image = Image::new(b"prof", 2);
    let mut tuples = fields!(0_u64);
    let mut rows = vec![0; 48];
    // The tuples follow the header.
    let at = image.0.len() as u64;
    // The root has the time of all samples: one entry of the index for each profile, and one value.
    let seconds = (shape.n_samples * PERIOD_NS) as f64 / 1e9;
    let mut values = Vec::new();
    let mut indices = Vec::new();
    for rank in 0..shape.n_ranks {
        let tuple = at + tuples.len() as u64;
        let part = |kind: u8, number: u64| fields!(kind, 0_u8, 0_u16, number as u32, number);
        tuples.extend(fields!(3_u64));
        tuples.extend([part(1, 77), part(2, u64::from(rank)), part(3, 0)].concat());
        rows.extend(fields!(1_u64, 0_u64, 1_u32, 0_u32, 0_u64, tuple, 0_u64));
        values.extend(fields!(1_u16, seconds));
        indices.extend(fields!(2_u32, 0_u64));
    }
    image.section(1, &tuples);
    let (values, indices) = (image.put(&values), image.put(&indices));
    for rank in 0..u64::from(shape.n_ranks) {
        let row = &mut rows[48 * (rank as usize + 1)..];
        row[8..16].copy_from_slice(&(values + 10 * rank).to_le_bytes());
        row[24..32].copy_from_slice(&(indices + 12 * rank).to_le_bytes());
    }
    // Marks the summary profile.
    rows[40] = 1;
    let rows = image.put(&rows);
    image.section(0, &fields!(rows, shape.n_ranks + 1, 48_u8, 0_u8, 0_u16));
    image.finish(b"_prof.db")
}

fn trace(mut to: impl Write, shape: DatabaseShape) -> io::Result<()> {
    let n_bytes = shape.n_samples * 12;
    let (section, lines) = (32, 64);
    let data = lines + 24 * u64::from(shape.n_ranks);
    to.write_all(b"HPCTOOLKITtrce\x04\x00")?;
    to.write_all(&fields!(32_u64, section as u64))?;
    let end_ns = START_NS + shape.n_samples.saturating_sub(1) * PERIOD_NS;
    to.write_all(&fields!(lines, shape.n_ranks, 24_u32, START_NS, end_ns))?;
    for rank in 0..shape.n_ranks {
        let start = data + u64::from(rank) * n_bytes;
        to.write_all(&fields!(rank + 1, 0_u32, start, start + n_bytes))?;
    }
    for rank in 0..shape.n_ranks {
        let mut rng = Rng::new(u64::from(rank) + 1);
        let mut put = |i: u64, context: u32| {
            to.write_all(&(START_NS + i * PERIOD_NS).to_le_bytes())?;
            to.write_all(&context.to_le_bytes())
        };
        if 0 < shape.n_iterations {
            let contexts = in_order(shape, rank, &mut rng);
            (0..).zip(contexts).try_for_each(|(i, context)| put(i, context))?;
            continue;
        }
        for i in 0..shape.n_samples {
            let phase = rng.below(u64::from(shape.n_phases.max(1))) as u32;
            put(i, if i % 1000 == 999 || shape.n_phases == 0 { 0 } else { leaf(phase) })?;
        }
    }
    to.write_all(b"trace.db")?;
    to.flush()
}

/// The contexts of the samples of a rank that runs all phases in each iteration. Half of an iteration is work at most
/// ranks, so that those that take longer end in time.
fn in_order(shape: DatabaseShape, rank: u32, rng: &mut Rng) -> Vec<u32> {
    let n_phases = u64::from(shape.n_phases.max(1));
    let mut contexts = Vec::with_capacity(shape.n_samples as usize);
    for iteration in 1..=shape.n_iterations {
        let end = (shape.n_samples * iteration / shape.n_iterations) as usize;
        let of_phase = (end - contexts.len()) as u64 / (2 * n_phases);
        for phase in 0..shape.n_phases {
            let factor = if rank % 1000 == 7 && phase == 0 { 2 } else { 1 };
            let n = factor * of_phase + rng.below(of_phase / 4 + 2);
            let n = (n as usize).min(end - contexts.len());
            contexts.resize(contexts.len() + n, leaf(phase));
        }
        contexts.resize(end, meeting(shape));
    }
    contexts
}
