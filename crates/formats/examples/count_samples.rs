//! Reads all samples of an HPCToolkit database on one thread, and says how many there are: for benchmarks.

use ouzel_model::{ChunkBuffer, Needs, ReadPlan};
use std::process::ExitCode;

fn main() -> ExitCode {
    let Some(path) = std::env::args_os().nth(1) else {
        eprintln!("usage: count_samples DATABASE");
        return ExitCode::FAILURE;
    };
    let (format, source) = match ouzel_formats::open(path.as_ref()) {
        Ok(opened) => opened,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    };
    let plan = ReadPlan::all(Needs::SAMPLES);
    let mut buffer = ChunkBuffer::default();
    let (mut n_samples, mut n_idle, mut last) = (0, 0, 0);
    for location in source.definitions().location_ids() {
        let mut reader = match source.open(location, &plan) {
            Ok(reader) => reader,
            Err(error) => {
                eprintln!("{error}");
                return ExitCode::FAILURE;
            }
        };
        while let Ok(true) = reader.read(&mut buffer) {
            n_samples += buffer.samples.len();
            n_idle += buffer.samples.iter().filter(|sample| sample.context.is_none()).count();
            last = last.max(buffer.time.last().map_or(0, |time| time.0));
            buffer.clear();
        }
    }
    println!("{}: {n_samples} samples, {n_idle} of nothing, {last} ticks", format.as_str());
    ExitCode::SUCCESS
}
