//! Iterations clustered as they come, beside Algorithm 3 as printed, which halves the whole sequence.

use super::*;
use crate::assemble::{Assembler, IterationClustering};
use crate::iterations::{Incoming, Iterations};
use crate::piece::{IterationColumns, Tools};
use crate::strip::{LEAVE, LOOPS};
use ouzel_testkit::Rng;

/// Calls of an iteration.
const N_CALLS: usize = 4;

/// The cluster of each iteration, numbered as they come: in the stream and as printed. An iteration is the times of its
/// calls.
fn both(iterations: &[[f64; N_CALLS]]) -> [Vec<u32>; 2] {
    let assembler =
        Assembler { anchors: Vec::new(), marked: Vec::new(), iterations: IterationClustering::Streamed };
    let merger = Merger::exact(&LookAhead, Over::Iterations);
    let tools = Tools { assembler: &assembler, merger };
    let tokens: Vec<u32> = (0..N_CALLS as u32).flat_map(|region| [region, LEAVE]).collect();
    let mut stream = Iterations::new(LOOPS);
    for (i, durations) in (1..).zip(iterations) {
        let times: Vec<f64> = durations.iter().flat_map(|&duration| [0.0, duration]).collect();
        let columns = IterationColumns { tokens: &tokens, times: &times };
        let duration = durations.iter().sum();
        stream.push(Incoming { columns, aux: Vec::new(), duration, end: 1000 * i }, tools);
    }
    let (body, _) = stream.close(LoopSource::TandemRepeat, tools);
    let trees = iterations.iter().map(|durations| {
        let calls =
            durations.iter().zip(0..).map(|(&duration, region)| Node::leaf(id(region), duration)).collect();
        Node::call(StaticId::Iteration, vec![0.0; N_CALLS + 1], calls)
    });
    let printed = LoopBody::of_iterations(trees.collect(), LoopSource::TandemRepeat, &merger);
    [body.map, printed.map].map(|map| {
        let mut names = Vec::new();
        let number = |of| {
            let known = names.iter().position(|&name| name == of);
            known.unwrap_or_else(|| {
                names.push(of);
                names.len() - 1
            }) as u32
        };
        map.values().map(number).collect()
    })
}

/// Iterations of so many classes in any order, each time off by up to `noise` per cent.
fn classes(rng: &mut Rng, n: usize, n_classes: usize, noise: u64) -> Vec<[f64; N_CALLS]> {
    let class = |rng: &mut Rng| std::array::from_fn(|_| (10 + rng.below(1000)) as f64);
    let classes: Vec<[f64; N_CALLS]> = (0..n_classes).map(|_| class(rng)).collect();
    let iteration = |rng: &mut Rng| {
        let class = classes[rng.below(n_classes as u64) as usize];
        class.map(|time| time * (1.0 + (rng.below(2 * noise + 1) as f64 - noise as f64) / 100.0))
    };
    (0..n).map(|_| iteration(rng)).collect()
}

#[test]
fn the_stream_clusters_as_algorithm_3_where_classes_are_clear() {
    let mut n_equal = [0; 3];
    for (of_noise, noise) in [0, 1, 10].into_iter().enumerate() {
        for seed in 0..100 {
            let mut rng = Rng::new(1000 * noise + seed);
            let n = 20 + rng.below(180) as usize;
            let n_classes = 1 + rng.below(4) as usize;
            let [stream, printed] = both(&classes(&mut rng, n, n_classes, noise));
            n_equal[of_noise] += u32::from(stream == printed);
        }
    }
    // The figures of docs/design/diagnosis.md.
    assert_eq!(n_equal, [100, 99, 69]);
}
