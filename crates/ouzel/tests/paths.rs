//! The critical path, waits, lateness and patterns of real archives keep their laws.
//!
//! What they say of small programs is tested beside them against slow ways to get the same. Here, on every archive at
//! hand: the path tiles the run and its calls fill it, steps keep the order of messages and of locations,
//! occurrences lie in the run, waits lie in their visits and are explained to the tick.

use ouzel::analyses::critical_path::{PathCalls, WaitsOfDevices, critical_path, profile};
use ouzel::analyses::logical_lateness::lateness;
use ouzel::analyses::paired_operations::Operations;
use ouzel::analyses::patterns::{CallSeries, PatternError, PatternOptions, patterns};
use ouzel::analyses::semantics::Semantics;
use ouzel::engine::{AnalysisSet, Question};
use ouzel::model::{Notices, Ticks};
use ouzel::waits::{ClassRole, WaitClass};
use ouzel::{Options, Trace};
use std::num::NonZeroUsize;

fn archives() -> Vec<(String, Trace)> {
    let name = |path: &std::path::Path| path.file_name().map(|name| name.to_string_lossy().into_owned());
    ouzel_testkit::archives()
        .iter()
        .map(|path| (name(path).unwrap_or_default(), ouzel::open(path).expect("the archive opens")))
        .collect()
}

fn answer<Q: Question>(trace: &Trace, question: Q) -> Q::Output {
    let mut set = AnalysisSet::default();
    let key = set.add(question);
    let mut report = trace.run(&set, &Options::default()).expect("the pass succeeds");
    report.outputs.take(&key).expect("the analysis answers")
}

#[test]
fn waits_lie_in_their_visits_and_are_explained() {
    for (name, trace) in archives() {
        let (waits, delays) = trace.delays(&Options::default()).expect("the analysis answers").output;
        let sum = |of: &mut dyn Iterator<Item = Ticks>| of.sum::<Ticks>();
        let mut before = None;
        for wait in waits.waits.iter().filter(|wait| wait.is_counted()) {
            assert!(wait.enter <= wait.start && wait.start < wait.end && wait.end <= wait.leave, "{name}");
            assert!(before <= Some((wait.location, wait.start)), "two waits at once in {name}: {wait:?}");
            before = Some((wait.location, wait.end));
        }
        let costs = sum(&mut delays.costs.values().map(|&(short, long)| short + long));
        let unexplained = sum(&mut delays.unexplained.values().copied());
        assert_eq!(costs + unexplained, waits.total(), "{name}");
        assert_eq!(
            sum(&mut waits.classes().iter().filter(|it| is_primary(it.class)).map(|it| it.wait)),
            waits.total()
        );
        println!(
            "{name}: {:?} of waiting, {:?} possible, {unexplained:?} unexplained",
            waits.total(),
            waits.possible()
        );
    }
}

fn is_primary(class: WaitClass) -> bool {
    class.role() == ClassRole::Primary
}

#[test]
fn critical_paths_tile_the_run_and_steps_keep_the_order() {
    for (name, trace) in archives() {
        let definitions = trace.definitions();
        let operations = answer(&trace, Operations::new(definitions));
        let path = critical_path(&operations, &WaitsOfDevices::default(), definitions, &Notices::default());
        let calls = profile(
            &path,
            &answer(&trace, PathCalls::new(&path)),
            &Semantics::default().classes(definitions),
            definitions,
        );
        for pair in path.segments.windows(2) {
            assert_eq!(pair[0].range.end, pair[1].range.start, "{name}");
        }
        assert!(path.segments.iter().all(|segment| segment.range.start <= segment.range.end), "{name}");
        let range = path.range().expect("there are events");
        let main_threads = operations.lines.iter().filter(|line| line.main.is_none());
        assert_eq!(main_threads.map(|line| line.end).max(), Some(range.end), "{name}");
        let length = range.end.since(range.start);
        assert_eq!(calls.length(), length, "{name}");
        assert_eq!(calls.rows.iter().map(|row| row.time.total()).sum::<Ticks>(), length, "{name}");
        println!(
            "{name}: {} operations, {} messages, {} collectives, {} segments, {} unmatched, {} unaligned, {} out of order",
            operations.operations.len(),
            operations.messages.len(),
            operations.collectives.len(),
            path.segments.len(),
            operations.n_unmatched_ends,
            operations.n_unaligned_collectives,
            path.n_out_of_order,
        );
        let output = match lateness(operations.clone(), definitions) {
            Ok(output) => output,
            Err(cycle) => panic!("{name}: {cycle}"),
        };
        let late: Vec<_> = output.operations().collect();
        let step = |op: u32| late[op as usize].step;
        assert!(operations.messages.iter().all(|m| step(m.send) < step(m.receive)), "{name}");
        for pair in late.windows(2) {
            let is_one = pair[0].operation.location == pair[1].operation.location;
            assert!(!is_one || pair[0].step < pair[1].step, "{name}: {pair:?}");
        }
        for instance in &operations.collectives {
            let first = instance.members[0].0;
            assert!(instance.members.iter().all(|&(op, _)| step(op) == step(first)), "{name}");
        }
    }
}

#[test]
fn patterns_lie_in_the_run() {
    for (name, trace) in archives() {
        let definitions = trace.definitions();
        let series = answer(&trace, CallSeries::default());
        // Longer ones take long without optimisation.
        if 20_000 < series.calls.len() {
            println!("{name}: {} calls are too many for this test", series.calls.len());
            continue;
        }
        match patterns(&series, &PatternOptions::default(), NonZeroUsize::MIN, None) {
            Ok(found) => {
                println!(
                    "{name}: {:?}, windows of {} of {} calls, {} of {:?}",
                    definitions.region(found.start).name,
                    found.window,
                    found.n_calls,
                    found.occurrences.len(),
                    found.iterations,
                );
                assert!(!found.occurrences.is_empty(), "{name}");
                assert!(found.occurrences.iter().all(|it| it.range.start <= it.range.end), "{name}");
            }
            Err(error) => {
                println!("{name}: {error}");
                let expected = [PatternError::NothingRepeats, PatternError::NoCalls];
                let is_short = matches!(error, PatternError::TooShort { .. } | PatternError::Profile(_));
                assert!(expected.contains(&error) || is_short, "{name}: {error}");
            }
        }
    }
}
