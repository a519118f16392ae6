//! The project's own chores. `cargo xtask help` lists them.
//!
//! One module per chore, each with `run(arguments)`; what they share is in
//! `workspace.rs` (where things are), `runner.rs` (running a program) and
//! `stopwatch.rs` (the only look at the clock).

mod audit;
mod bench;
mod dev_loop;
mod dist;
mod docs;
mod fuzz;
mod mutate;
mod release;
mod runner;
mod setup;
mod site;
mod steps;
mod stopwatch;
mod synth;
mod test;
mod tidy;
mod trials;
mod web;
mod workspace;
mod zoo;

use std::process::ExitCode;

const HELP: &str = "\
usage: cargo xtask <chore>

  setup            install the reference tools and the Python environment the tests use
  test             setup, then every check and test of the project, with a summary
  trials [NAME]    what takes too long for test; --help lists them
  tidy             dependency edges, links, file sizes, words that do not belong here
  docs [--write]   schemas, tables of docs/json.md and Python's types from the shapes of answers: stale, or written
  audit [--write]  licenses, advisories and versions of the crates we build on; writes the list we ship
  bench [--quick]  build the peers and print one table of speeds and ratios
  synth ...        write a synthetic archive and the truth about it; --help lists the options
  fuzz ...         run the fuzz targets for a bounded time; --help lists the options
  mutate ...       ask spoilt archives of all formats, and check what must hold; --help lists the options
  zoo ...          run the MPI programs with planted faults and record them; --help lists the options
  dist ...         the archive, the packages and checksums that are handed to users; --help lists the options
  release          whether a release could be made now: --dry-run
  site ...         the documentation as a web site, by mdBook; --help lists the options
  web              build the page of the viewer into web/dist, with npm; --browser tests it, --pictures draws it
  loop             how long it takes from an edit in an analysis to its tests
  help             this text
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (chore, rest) = match arguments.split_first() {
        Some((chore, rest)) => (chore.as_str(), rest),
        None => ("help", [].as_slice()),
    };
    let outcome = match chore {
        "audit" => audit::run(rest),
        "setup" => setup::run(rest),
        "site" => site::run(rest),
        "test" => test::run(rest),
        "tidy" => tidy::run(rest),
        "docs" => docs::run(rest),
        "bench" => bench::run(rest),
        "fuzz" => fuzz::run(rest),
        "dist" => dist::run(rest),
        "mutate" => mutate::run(rest),
        "release" => release::run(rest),
        "loop" => dev_loop::run(rest),
        "synth" => synth::run(rest),
        "trials" => trials::run(rest),
        "web" => web::run(rest),
        "zoo" => zoo::run(rest),
        "help" | "--help" | "-h" => {
            print!("{HELP}");
            Ok(())
        }
        other => {
            eprint!("xtask: no chore {other:?}\n\n{HELP}");
            return ExitCode::from(64);
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask {chore}: {error:#}");
            ExitCode::FAILURE
        }
    }
}
