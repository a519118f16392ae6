//! `cargo xtask synth`: a synthetic archive, with the truth about it in `facts.json`.

use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use ouzel_testkit::hpctoolkit::{DatabaseShape, write_database};
use ouzel_testkit::pytorch::{self, PyTorchFacts};
use ouzel_testkit::synth::{self, Counters, Endian, Skew, SynthOptions};

use crate::stopwatch::Stopwatch;

const HELP: &str = "\
usage: cargo xtask synth --out DIR [option ...]

       cargo xtask synth --pytorch BYTES --out FILE
       cargo xtask synth --pytorch BYTES --ranks N --out DIR
       cargo xtask synth --hpctoolkit SAMPLES --ranks N --phases N --iterations N --out DIR

writes DIR/traces.otf2 with its files and DIR/facts.json; or FILE, a trace as the PyTorch profiler writes it, of BYTES;
or a folder with one such file for each rank; or a database of HPCToolkit with so many samples of each rank, whose
phases come in any order with 0 iterations

  --events N         events, at least; K and M are understood (default 1M)
  --ranks N          MPI ranks (default 16, and 64 from 20M events on)
  --seed N           equal seeds make equal bytes (default 1)
  --metrics          two hardware counters with every enter and leave
  --resolution HZ    ticks per second (default 1000000000)
  --skew KIND        clocks: none, constant or drifting (default drifting)
  --output-every N   iterations between outputs through rank 0, 0 for none (default 25)
  --imbalance N      percent that every fourth rank computes longer (default 40)
  --big-endian       high byte first
  --chunk BYTES      bytes of an event chunk (default 1048576)
";

/// A trace of the PyTorch profiler with a file of `n_bytes` for each rank; the sums over all ranks. A file that is there
/// is taken as complete: it gets its name at the end.
///
/// # Errors
/// If the folder cannot be written.
pub fn write_pytorch_ranks(folder: &Path, n_ranks: u32, n_bytes: u64) -> Result<PyTorchFacts> {
    std::fs::create_dir_all(folder).with_context(|| format!("cannot write {}", folder.display()))?;
    let mut all = PyTorchFacts::default();
    for rank in 0..n_ranks {
        let path = folder.join(format!("rank-{rank}.pt.trace.json"));
        let facts = if path.exists() {
            pytorch::write_rank(std::io::sink(), rank, n_ranks, n_bytes)?
        } else {
            let half = path.with_extension("half");
            let out = BufWriter::new(File::create(&half)?);
            let facts = pytorch::write_rank(out, rank, n_ranks, n_bytes)?;
            std::fs::rename(&half, &path)?;
            facts
        };
        all.n_bytes += facts.n_bytes;
        all.n_events += facts.n_events;
        all.n_calls += facts.n_calls;
        all.n_steps += facts.n_steps;
        all.compute_ns += facts.compute_ns;
        all.communication_ns += facts.communication_ns;
    }
    Ok(all)
}

pub fn run(arguments: &[String]) -> Result<()> {
    if arguments.iter().any(|argument| argument == "--help" || argument == "-h") {
        print!("{HELP}");
        return Ok(());
    }
    if let [name, n_bytes, out, file] = arguments
        && (name.as_str(), out.as_str()) == ("--pytorch", "--out")
    {
        let writer = BufWriter::new(File::create(file).with_context(|| format!("cannot write {file:?}"))?);
        let facts = pytorch::write_trace(writer, 0, count(n_bytes)?)?;
        println!("{file}: {} events of {} steps, {} bytes", facts.n_events, facts.n_steps, facts.n_bytes);
        return Ok(());
    }
    if let [name, n_bytes, ranks, n_ranks, out, folder] = arguments
        && (name.as_str(), ranks.as_str(), out.as_str()) == ("--pytorch", "--ranks", "--out")
    {
        let n_ranks = n_ranks.parse().with_context(|| format!("not a number of ranks: {n_ranks:?}"))?;
        let facts = write_pytorch_ranks(Path::new(folder), n_ranks, count(n_bytes)?)?;
        println!("{folder}: {} events of {n_ranks} ranks, {} bytes", facts.n_events, facts.n_bytes);
        return Ok(());
    }
    if let [name, n_samples, ranks, n_ranks, phases, n_phases, iterations, n_iterations, out, folder] =
        arguments
        && [name, ranks, phases, iterations, out]
            == ["--hpctoolkit", "--ranks", "--phases", "--iterations", "--out"]
    {
        let shape = DatabaseShape {
            n_ranks: u32::try_from(count(n_ranks)?)?,
            n_samples: count(n_samples)?,
            n_phases: u32::try_from(count(n_phases)?)?,
            n_iterations: count(n_iterations)?,
        };
        return write_database(Path::new(folder), shape).with_context(|| format!("cannot write {folder}"));
    }
    let (options, out) = parse(arguments).with_context(|| format!("see below\n\n{HELP}"))?;
    let clock = Stopwatch::start();
    let facts = synth::write_archive(&out, &options)?;
    let seconds = clock.elapsed().as_secs_f64();
    let bytes = event_bytes(&out.join("traces"))?;
    println!(
        "{}: {} events of {} ranks in {} iterations, {:.1} MB of events, {:.2} bytes per event, {:.1} M events/s",
        out.join("traces.otf2").display(),
        facts.n_events,
        facts.n_ranks,
        facts.n_iterations,
        bytes as f64 / 1e6,
        bytes as f64 / facts.n_events as f64,
        facts.n_events as f64 / 1e6 / seconds,
    );
    Ok(())
}

fn parse(arguments: &[String]) -> Result<(SynthOptions, PathBuf)> {
    let mut options = SynthOptions::default();
    let (mut out, mut n_ranks) = (None, None);
    let mut rest = arguments.iter();
    while let Some(name) = rest.next() {
        let mut value = || rest.next().with_context(|| format!("{name} needs a value"));
        match name.as_str() {
            "--out" => out = Some(PathBuf::from(value()?)),
            "--events" => options.n_events = count(value()?)?,
            "--ranks" => n_ranks = Some(u32::try_from(count(value()?)?)?),
            "--seed" => options.seed = count(value()?)?,
            "--metrics" => options.counters = Counters::On,
            "--resolution" => options.ticks_per_second = count(value()?)?,
            "--skew" => {
                options.skew = match value()?.as_str() {
                    "none" => Skew::None,
                    "constant" => Skew::Constant,
                    "drifting" => Skew::Drifting,
                    other => bail!("no kind of skew {other:?}"),
                }
            }
            "--output-every" => options.output_every = count(value()?)?,
            "--imbalance" => options.imbalance_percent = count(value()?)?,
            "--big-endian" => options.endian = Endian::Big,
            "--chunk" => options.event_chunk_bytes = count(value()?)?,
            other => bail!("no option {other:?}"),
        }
    }
    // With many events no single location should keep one of several jobs busy at the end.
    options.n_ranks = n_ranks.unwrap_or(if options.n_events < 20_000_000 { 16 } else { 64 });
    Ok((options, out.context("--out is needed")?))
}

/// A number, with `K` or `M` behind it for thousands or millions.
fn count(text: &str) -> Result<u64> {
    let (digits, scale) = match text.as_bytes().last() {
        Some(b'K' | b'k') => (&text[..text.len() - 1], 1_000),
        Some(b'M' | b'm') => (&text[..text.len() - 1], 1_000_000),
        _ => (text, 1),
    };
    let number: u64 = digits.parse().with_context(|| format!("{text:?} is no number"))?;
    number.checked_mul(scale).with_context(|| format!("{text:?} is too large"))
}

fn event_bytes(folder: &Path) -> Result<u64> {
    let mut bytes = 0;
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        if entry.path().extension().is_some_and(|extension| extension == "evt") {
            bytes += entry.metadata()?.len();
        }
    }
    ensure!(bytes > 0, "no event files in {}", folder.display());
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read() {
        let arguments = ["--events", "50M", "--out", "d", "--metrics", "--skew", "none"].map(str::to_owned);
        let (options, out) = parse(&arguments).expect("all of them exist");
        assert_eq!((options.n_events, options.n_ranks), (50_000_000, 64));
        assert_eq!((options.counters, options.skew), (Counters::On, Skew::None));
        assert_eq!(out, PathBuf::from("d"));
        assert!(parse(&["--events".to_owned()]).is_err());
        assert!(count("12X").is_err());
    }
}
