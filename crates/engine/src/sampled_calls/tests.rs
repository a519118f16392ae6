//! Calls made of a few samples, beside recorded calls and without.

use super::*;
use crate::code_order::CodeOrder;
use crate::processor_time::ProcessorTime;
use ouzel_model::{CodeFlow, CodePart, CommId, ContextId};
use std::sync::Arc;

const MAIN: RegionId = RegionId(1);
const SOLVE: RegionId = RegionId(2);
const STEP: RegionId = RegionId(3);
const SEND: RegionId = RegionId(4);
const PROGRAM: RegionId = RegionId(5);
const BARRIER: RegionId = RegionId(6);

/// Nodes 1 to 4: main, main/solve, main/solve/step, main/step.
fn frames() -> Frames {
    let node = |parent: u32, depth: u32, region: RegionId| FrameNode {
        parent,
        depth,
        region,
        is_loop: false,
        call_line: Some(10 * depth),
    };
    let nodes = vec![
        node(0, 0, RegionId(0)),
        node(0, 1, MAIN),
        node(1, 2, SOLVE),
        node(2, 3, STEP),
        node(1, 2, STEP),
    ];
    let of_region = [(MAIN, vec![1]), (SOLVE, vec![2]), (STEP, vec![3, 4])].into_iter().collect();
    let (mut is_mpi, mut ends_construct, is_parallel) = (vec![false; 7], vec![false; 7], vec![false; 7]);
    (is_mpi[SEND.index()], ends_construct[BARRIER.index()]) = (true, true);
    let line_of_context = vec![Some(7), Some(8), None, Some(9)];
    Frames {
        nodes,
        of_context: vec![1, 2, 3, 4],
        of_region,
        line_of_context,
        is_mpi,
        ends_construct,
        is_parallel,
        processor_time: None,
        code: CodeOrder::default(),
    }
}

/// What is made of events: `s0` to `s3` are samples, `+4` and `-4` enter and leave a region, `t0` leaves a team.
fn made(events: &str) -> String {
    made_with(&frames(), events)
}

fn made_with(frames: &Frames, events: &str) -> String {
    let (mut raw, mut calls) = (ChunkBuffer::default(), ChunkBuffer::default());
    let mut sampled = SampledCalls::new();
    let mut text = String::new();
    let mut show = |calls: &ChunkBuffer| {
        for ((time, kind), region) in calls.time.iter().zip(&calls.kind).zip(&calls.region) {
            let sign = match kind {
                EventKind::Enter => '+',
                EventKind::Metric => 'm',
                EventKind::Thread => 't',
                _ => '-',
            };
            text.push_str(&format!("{sign}{}@{} ", region.0, time.0));
        }
    };
    // Each event in a chunk of its own: borders have no meaning.
    let mut time = 0;
    for event in events.split(' ') {
        raw.clear();
        let (bar, event) = event.split_at(usize::from(event.starts_with('|')));
        let number: u32 = event[1..].parse().expect("a number");
        // Time passes.
        if event.starts_with('w') {
            time += u64::from(number);
            continue;
        }
        let kind = match &event[..1] {
            "s" => EventKind::Sample,
            "+" => EventKind::Enter,
            "m" => EventKind::Metric,
            "t" => EventKind::Thread,
            _ => EventKind::Leave,
        };
        // An event that begins with a bar comes at the time of the one before.
        time += u64::from(bar.is_empty());
        let row = raw.push(Ticks(time), kind, RegionId(number));
        if kind == EventKind::Metric {
            raw.metrics.push(MetricValue { row, metric: ouzel_model::MetricId(0), bits: number.into() });
        }
        if kind == EventKind::Thread {
            raw.threads.push(ThreadEvent { row, step: ThreadStep::TeamEnd(CommId(number)) });
        }
        if kind == EventKind::Sample {
            let context = Some(ContextId::from_index(number as usize));
            raw.samples.push(Sample { row, context, lca: Lca::Unknown, generator: None });
        }
        sampled.derive(frames, &raw, &mut calls);
        show(&calls);
    }
    sampled.end(frames, &mut calls);
    show(&calls);
    text.trim_end().to_owned()
}

#[test]
fn recorded_calls_are_inside_of_frames() {
    assert_eq!([MAIN, SOLVE, STEP, SEND, PROGRAM].map(|region| region.0), [1, 2, 3, 4, 5]);
    // The program around everything, a send in main/solve, then the next sample in main/step.
    assert_eq!(made("+5 s1 +4 -4 s3 -5"), "+5@1 +1@1 +2@1 +4@3 -4@4 -2@4 +3@4 -3@6 -1@6 -5@6");
    // What was open before the call goes on after it.
    assert_eq!(made("s2 +4 -4 s2"), "+1@1 +2@1 +3@1 +4@2 -4@3 -3@4 -2@4 -1@4");
}

#[test]
fn values_are_of_the_path_of_their_sample() {
    // They come after what the sample changes, half-way, and before the next change.
    assert_eq!(
        made("+5 s1 |m7 m0 m0 s3 |m8 -5"),
        "+5@1 +1@1 +2@1 m7@2 m0@3 m0@4 -2@4 +3@4 m8@5 -3@6 -1@6 -5@6"
    );
    // At a recorded enter, too, if nothing is known of the time before it but that sample.
    assert_eq!(made("+5 s1 |m7 |+4 -4"), "+5@1 +1@1 +2@1 m7@2 +4@2 -4@3 -2@3 -1@3");
    // Else that time is of the path of the sample before.
    assert_eq!(made("+5 s2 |m6 s1 |m7 |+4"), "+5@1 +1@1 +2@1 +3@1 m6@2 m7@3 -3@3 +4@3");
}

#[test]
fn threads_do_not_run_in_the_function_that_samples_show() {
    // Values are of processor time; a tick is a millisecond.
    let mut frames = frames();
    frames.processor_time = Some(ProcessorTime::of_milliseconds(RegionId(7)));
    let made = |events| made_with(&frames, events);
    assert_eq!(
        made("+5 s1 |m1000000 w9 s3 |m5000000 -5"),
        "+5@1 +1@1 +2@1 m1000000@2 -2@6 +3@6 +7@6 -7@12 m5000000@12 -3@13 -1@13 -5@13"
    );
    // Before a recorded call, in what ran before it.
    assert_eq!(
        made("+5 s1 |m1000000 w9 s1 |m5000000 |+4 -4"),
        "+5@1 +1@1 +2@1 m1000000@2 +7@6 -7@12 m5000000@12 +4@12 -4@13 -2@13 -1@13"
    );
    // Without recorded calls, a sample has the time until the next.
    assert_eq!(
        made("s1 |m1000000 w9 s3 |m5000000"),
        "+1@1 +2@1 m1000000@1 +7@5 -7@11 -2@11 +3@11 m5000000@11 -3@11 -1@11"
    );
    // A recorded call in between has its own time.
    assert!(!made("+5 s1 |m1000000 +4 w9 -4 s1 |m5000000 -5").contains("+7"));
}

#[test]
fn enters_say_where_they_are_called() {
    let (frames, mut raw, mut calls) = (frames(), ChunkBuffer::default(), ChunkBuffer::default());
    for (time, kind, region) in [
        (1, EventKind::Enter, PROGRAM),
        (2, EventKind::Sample, MAIN),
        (3, EventKind::Enter, SEND),
        (4, EventKind::Leave, SEND),
        (5, EventKind::Enter, SEND),
        (6, EventKind::Enter, SOLVE),
    ] {
        let row = raw.push(Ticks(time), kind, region);
        if kind == EventKind::Sample {
            let context = Some(ContextId::from_index(1));
            raw.samples.push(Sample { row, context, lca: Lca::AtMost(1), generator: None });
        }
    }
    SampledCalls::new().derive(&frames, &raw, &mut calls);
    let sites: Vec<(RegionId, Option<u32>, bool)> = (calls.call_sites.iter())
        .map(|site| (calls.region[site.row as usize], site.line, site.is_recorded))
        .collect();
    let expected = [
        (PROGRAM, None, true),
        (MAIN, Some(10), false),
        (SOLVE, Some(20), false),
        (SEND, Some(8), true),
        (SEND, Some(8), true),
        (SOLVE, None, true),
    ];
    assert_eq!(sites, expected);
}

#[test]
fn a_recorded_call_is_where_samples_show_its_region() {
    // A fifth node: main/send, called in line 12 of main.
    let mut frames = frames();
    let send = FrameNode { parent: 1, depth: 2, region: SEND, is_loop: false, call_line: Some(12) };
    frames.nodes.push(send);
    frames.of_region.insert(SEND, vec![5]);
    let (mut raw, mut calls) = (ChunkBuffer::default(), ChunkBuffer::default());
    let row = raw.push(Ticks(1), EventKind::Sample, MAIN);
    let context = Some(ContextId::from_index(1));
    raw.samples.push(Sample { row, context, lca: Lca::Unknown, generator: None });
    raw.push(Ticks(2), EventKind::Enter, SEND);
    SampledCalls::new().derive(&frames, &raw, &mut calls);
    // The sample is in line 8 of solve, which has ended when main calls send.
    assert_eq!(calls.region, [MAIN, SOLVE, SOLVE, SEND]);
    let lines: Vec<Option<u32>> = calls.call_sites.iter().map(|site| site.line).collect();
    assert_eq!(lines, [Some(10), Some(20), Some(12)]);
}

#[test]
fn the_frame_of_a_recorded_call_is_that_call() {
    // main and solve are recorded: samples add only what is inside of them.
    assert_eq!(made("+1 +2 s2 s1 -2 s3 -1"), "+1@1 +2@2 +3@2 -3@3 -2@5 +3@5 -3@7 -1@7");
    // A recorded call that samples do not show, as one that was inlined, is inside of one that they show.
    assert_eq!(made("+1 +5 s2 -5 -1"), "+1@1 +5@2 +2@2 +3@2 -3@4 -2@4 -5@4 -1@5");
    // The barrier at its end is in none of its frames, whether samples show it or not.
    assert_eq!(made("+1 s2 +6 -6 -1"), "+1@1 +2@1 +3@1 -3@3 -2@3 +6@3 -6@4 -1@5");
    assert_eq!(made("+5 s2 +6 -6 -5"), "+5@1 +1@1 +2@1 +3@1 -3@3 -2@3 -1@3 +6@3 -6@4 -5@5");
    // Samples inside of a recorded send show nothing twice.
    assert_eq!(made("s1 +4 s1 -4 s0"), "+1@1 +2@1 +4@2 -4@4 -2@4 -1@5");
}

/// Nodes 1 to 3: main, a loop in it, and a function that it calls from line 5; samples 0 to 2 in lines 31 to 33 of that.
fn frames_of_code(flows: Vec<(RegionId, CodeFlow)>) -> Frames {
    let node = |parent: u32, depth: u32, region: RegionId| FrameNode {
        parent,
        depth,
        region,
        is_loop: depth == 2,
        call_line: Some(5),
    };
    Frames {
        nodes: vec![node(0, 0, RegionId(0)), node(0, 1, MAIN), node(1, 2, SOLVE), node(2, 3, STEP)],
        of_context: vec![3, 3, 3],
        of_region: [(MAIN, vec![1]), (SOLVE, vec![2]), (STEP, vec![3])].into_iter().collect(),
        line_of_context: vec![Some(31), Some(32), Some(33)],
        code: CodeOrder::of(flows, 7),
        ..frames()
    }
}

#[test]
fn a_function_was_left_where_its_code_does_not_go_back() {
    let part = |line| CodePart { line, is_loop: false, is_always: false, function: Arc::from("") };
    let step = |after: [&[u32]; 3]| {
        let flow = CodeFlow {
            parts: vec![part(31), part(32), part(33)],
            after: after.map(<[u32]>::to_vec).to_vec(),
        };
        (STEP, flow)
    };
    let ordered = || step([&[1, 2], &[2], &[]]);
    // Something is recorded before, so that all samples can be those of recorded calls.
    let made = |flows, events| made_with(&frames_of_code(flows), &format!("+6 |-6 |{events}"));
    // 31, 32, then 31 again: the function was left after the second, and called again by the loop.
    let events = "s0 |+4 -4 s1 |+4 -4 s0 |+4 -4";
    assert_eq!(
        made(vec![ordered()], events),
        "+6@1 -6@1 +1@1 +2@1 +3@1 +4@1 -4@2 +4@3 -4@4 -3@4 +3@5 +4@5 -4@6 -3@6 -2@6 -1@6"
    );
    // Nothing is known without the code.
    assert!(!made(vec![], events).contains("-3@4"));
    // One that may follow itself has copies.
    assert!(!made(vec![step([&[0, 1, 2], &[2], &[]])], "s0 |+4 -4 s0 |+4 -4").contains("-3@2"));
    assert!(made(vec![ordered()], "s0 |+4 -4 s0 |+4 -4").contains("-3@2 +3@3"));
    // Only where calls are recorded: others are where a sample happened to be.
    assert!(!made(vec![ordered()], "s1 s0 s1 |+4 -4").contains("-3@2"));
    // Calls inside of a recorded call say nothing of what is around it.
    assert!(!made(vec![ordered()], "s1 |+4 s0 |+6 -6 -4 s2 |+4 -4").contains("-3@5"));
}

#[test]
fn threads_of_a_team_are_in_the_code_that_forked_it_as_long_as_they_belong_to_it() {
    // solve is a parallel region, which a helper thread runs twice; the thread that forked it is in a program.
    let mut frames = frames();
    frames.is_parallel[SOLVE.index()] = true;
    let made = |events| made_with(&frames, events);
    assert_eq!(made("+2 s2 -2 t0 w9 +2 -2"), "+1@1 +2@1 +3@1 -3@3 -2@3 -1@4 t0@4 +1@14 +2@14 -2@15 -1@15");
    assert_eq!(made("+5 +2 s2 t0 -2 -5"), "+5@1 +1@2 +2@2 +3@2 t0@4 -3@5 -2@5 -1@6 -5@6");
    // The sample at its begin shows it, too.
    assert_eq!(made("+5 s1 |+2 -2 -5"), "+5@1 +1@1 +2@2 -2@3 -1@4 -5@4");
}

/// Nodes 1 to 4: main, a loop in it, and two functions that it calls: a send in line 31 of one, the other computes.
fn frames_of_two_functions() -> Frames {
    let node = |parent: u32, depth: u32, region: RegionId, line: u32| FrameNode {
        parent,
        depth,
        region,
        is_loop: depth == 2,
        call_line: Some(line),
    };
    Frames {
        nodes: vec![
            node(0, 0, RegionId(0), 0),
            node(0, 1, MAIN, 0),
            node(1, 2, SOLVE, 2),
            node(2, 3, STEP, 5),
            node(2, 3, PROGRAM, 6),
        ],
        of_context: vec![3, 4],
        of_region: FxHashMap::default(),
        line_of_context: vec![Some(31), Some(41)],
        code: CodeOrder::of(
            vec![(
                STEP,
                CodeFlow {
                    parts: vec![CodePart {
                        line: 31,
                        is_loop: false,
                        is_always: false,
                        function: Arc::from(""),
                    }],
                    after: vec![vec![]],
                },
            )],
            7,
        ),
        ..frames()
    }
}

#[test]
fn a_function_that_a_sample_shows_goes_on_at_the_call_in_it() {
    // A call in one function; a sample shows the other, in which the next call is.
    assert_eq!(
        made_with(&frames_of_two_functions(), "+6 |-6 |s0 |+4 -4 w2 s1 w2 s1 |+4 -4").matches("+5@").count(),
        1
    );
}

#[test]
fn time_without_a_sample_is_spent_as_it_was_between_the_same_two_calls() {
    let frames = frames_of_two_functions();
    // The first time nothing is known of what is between two sends: it is in the loop. The second time a sample shows the
    // other function; the third time it is taken to run again.
    assert_eq!(
        made_with(&frames, "+6 |-6 |s0 |+4 -4 w2 s0 |+4 -4 w2 s1 w2 s0 |+4 -4 w2 s0 |+4 -4"),
        "+6@1 -6@1 +1@1 +2@1 +3@1 +4@1 -4@2 -3@2 +3@5 +4@5 -4@6 -3@6 +5@6 -5@12 +3@12 +4@12 -4@13 -3@13 +5@13 -5@16 +3@16 \
         +4@16 -4@17 -3@17 -2@17 -1@17"
    );
    // Where the path is that of the last sample, the recorder takes none.
    assert_eq!(
        made_with(&frames, "+6 |-6 |s0 |+4 -4 w2 +4 -4"),
        "+6@1 -6@1 +1@1 +2@1 +3@1 +4@1 -4@2 -3@2 +3@5 +4@5 -4@6 -3@6 -2@6 -1@6"
    );
}
