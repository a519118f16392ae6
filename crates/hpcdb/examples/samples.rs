//! Where the samples of a database are: `samples DATABASE` prints the functions with most samples of all threads.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufReader;
use std::path::Path;
use std::sync::Arc;

use ouzel_hpcdb::{Lines, Meta, TraceDb};

/// Lines that are printed.
const N_SHOWN: usize = 10;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::args_os().nth(1).ok_or("usage: samples DATABASE")?;
    let folder = Path::new(&folder);
    let meta = Meta::read(&"meta.db".into(), &std::fs::read(folder.join("meta.db"))?)?;
    let file: Arc<str> = "trace.db".into();
    let open = || File::open(folder.join("trace.db")).map(BufReader::new);
    let trace = TraceDb::read(&file, open()?)?;

    let mut n_of_context = BTreeMap::new();
    let mut n_samples = 0_u64;
    for line in trace.lines {
        let mut lines = Lines::new(Arc::clone(&file), open()?, line)?;
        while lines.n_left() > 0 {
            for sample in lines.read(u64::MAX)? {
                *n_of_context.entry(sample.context).or_insert(0_u64) += 1;
                n_samples += 1;
            }
        }
    }

    let mut n_of_function = BTreeMap::new();
    for (index, context) in meta.contexts.iter().enumerate() {
        if let Some(n) = n_of_context.remove(&context.id) {
            *n_of_function.entry(function_of(&meta, index)).or_insert(0_u64) += n;
        }
    }
    // What is left belongs to no context of the tree, such as 0 where nothing ran.
    n_of_function.insert("no call path", n_of_context.into_values().sum());
    let mut rows: Vec<(&str, u64)> = n_of_function.into_iter().filter(|&(_, n)| n > 0).collect();
    rows.sort_by_key(|&(_, n)| std::cmp::Reverse(n));
    println!("{n_samples} samples of {}", meta.title);
    for (name, n) in rows.into_iter().take(N_SHOWN) {
        println!("{n:>10}  {name}");
    }
    Ok(())
}

/// The innermost function around a context: contexts are also loops, lines and instructions.
fn function_of(meta: &Meta, index: usize) -> &str {
    let mut at = Some(index);
    while let Some(context) = at.and_then(|index| meta.contexts.get(index)) {
        let function = context.function.and_then(|function| meta.functions.get(function as usize));
        if let Some(name) = function.and_then(|function| function.name.as_deref()) {
            return name;
        }
        at = context.parent.map(|parent| parent as usize);
    }
    "unknown"
}
