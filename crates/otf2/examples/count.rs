//! Counts the events of an archive on one thread: `count PATH [PASSES]`.
//!
//! The program of the decoding benchmark; the caller measures the time.

use std::path::Path;
use std::process::ExitCode;

use ouzel_otf2::read::EventSink;
use ouzel_otf2::records::Event;
use ouzel_otf2::{Archive, ReadError};

#[derive(Default)]
struct Count {
    enters: u64,
    leaves: u64,
    others: u64,
}

impl EventSink for Count {
    fn enter(&mut self, _time: u64, _region: u32) {
        self.enters += 1;
    }

    fn leave(&mut self, _time: u64, _region: u32) {
        self.leaves += 1;
    }

    fn event(&mut self, _time: u64, _event: Event<'_>) {
        self.others += 1;
    }
}

fn count(path: &Path) -> Result<(u64, u64, Count), ReadError> {
    let archive = Archive::open(path)?;
    let mut count = Count::default();
    let mut n_bytes = 0;
    let mut n_events = 0;
    for &location in archive.locations_on_disk() {
        let Ok(mut reader) = archive.events(location) else { continue };
        while reader.read(usize::MAX, &mut count)? > 0 {}
        n_bytes += reader.offset();
        n_events += reader.counts().events;
    }
    Ok((n_events, n_bytes, count))
}

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    let Some(path) = arguments.next() else {
        eprintln!("usage: count PATH [PASSES]");
        return ExitCode::from(2);
    };
    let passes = arguments.next().and_then(|text| text.to_str()?.parse().ok()).unwrap_or(1_u32);
    for _ in 0..passes {
        match count(path.as_ref()) {
            Ok((n_events, n_bytes, Count { enters, leaves, others })) => {
                println!(
                    "{n_events} events ({enters} enter, {leaves} leave, {others} other), {n_bytes} bytes"
                );
            }
            Err(error) => {
                eprintln!("{error}");
                return ExitCode::FAILURE;
            }
        }
    }
    ExitCode::SUCCESS
}
