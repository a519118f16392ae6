use super::*;
use crate::MeanTicks;
use crate::imbalance::{Loss, loss};
use crate::semantics::Category;
use ouzel_model::Ticks;
use ouzel_testkit::golden;
use serde_json::Value;

fn category(text: &str) -> Category {
    match text {
        "wait" => Category::Wait,
        "synchronization" => Category::Synchronization,
        _ => Category::Computation,
    }
}

fn durations(value: &Value) -> Vec<Ticks> {
    value.as_array().unwrap().iter().map(|d| Ticks(d.as_u64().unwrap())).collect()
}

fn number(mean: MeanTicks) -> f64 {
    mean.ratio_to(Ticks(1))
}

fn is(mean: MeanTicks, expected: &Value) {
    let expected = expected.as_f64().unwrap();
    assert!((number(mean) - expected).abs() < 1e-12, "{mean:?} is not {expected}");
}

/// A tree of the stored values, in pre-order, and the names of each path.
#[derive(Default)]
struct Tree {
    nodes: Vec<LossNode>,
    paths: Vec<Vec<String>>,
}

impl Tree {
    fn add(&mut self, parent: Option<usize>, name: &str, category: Category, durations: &[Ticks]) -> usize {
        let mut path = parent.map_or(Vec::new(), |parent: usize| self.paths[parent].clone());
        path.push(name.to_owned());
        self.paths.push(path);
        self.nodes.push(LossNode { parent, category, loss: loss(category, durations).unwrap() });
        self.nodes.len() - 1
    }

    /// Adds `input`, with the categories of `annotated`, and checks what was agreed of each node.
    fn add_annotated(&mut self, parent: Option<usize>, annotated: &Value) -> usize {
        let at = self.add(
            parent,
            annotated["id"].as_str().unwrap(),
            category(annotated["cat"].as_str().unwrap()),
            &durations(&annotated["durs"]),
        );
        for child in annotated["children"].as_array().unwrap() {
            self.add_annotated(Some(at), child);
        }
        at
    }

    fn check_annotated(&self, sums: &[Loss], annotated: &Value, at: &mut usize) {
        is(self.nodes[*at].loss.imbalance, &annotated["imb"]);
        is(self.nodes[*at].loss.wait, &annotated["wait"]);
        is(sums[*at].imbalance, &annotated["sumImb"]);
        is(sums[*at].wait, &annotated["sumWait"]);
        *at += 1;
        for child in annotated["children"].as_array().unwrap() {
            self.check_annotated(sums, child, at);
        }
    }
}

#[test]
fn the_agreed_attribution_holds() {
    let agreed = golden("attribution");
    let (expected, run) = (&agreed["expected"], Ticks(agreed["input"]["run_time"].as_u64().unwrap()));
    let mut tree = Tree::default();
    tree.add_annotated(None, &expected["annotated"]);
    let sums = sums(&tree.nodes);
    tree.check_annotated(&sums, &expected["annotated"], &mut 0);
    // As on the slides of the paper's talk.
    let slides = Thresholds { significance: Significance::Sum(0.01), ..Thresholds::paper() };
    for (thresholds, key) in [(Thresholds::paper(), "significant_paper"), (slides, "significant_slides")] {
        let chosen = significant(&tree.nodes, &sums, run, &thresholds);
        let expected = expected[key].as_array().unwrap();
        let found: Vec<usize> = (0..chosen.len()).filter(|&i| chosen[i]).collect();
        assert_eq!(found.len(), expected.len(), "{key}");
        for (&i, expected) in found.iter().zip(expected) {
            assert_eq!(serde_json::to_value(&tree.paths[i]).unwrap(), expected["path"]);
            assert_eq!(tree.nodes[i].category, category(expected["cat"].as_str().unwrap()));
            is(tree.nodes[i].loss.imbalance, &expected["imb"]);
            is(sums[i].imbalance, &expected["sumImb"]);
        }
    }
}

#[test]
fn the_agreed_figures_hold() {
    let agreed = golden("imb_wait");
    let expected = &agreed["expected"];
    let mut tree = Tree::default();
    // The length of A is that of its parts at each process, as they leave the second barrier together.
    let a = tree.add(None, "A", Category::Computation, &[Ticks(12); 3]);
    for (name, key) in [("X", "X"), ("MPI_Barrier@Y", "Y"), ("MPI_Barrier@Z", "Z")] {
        let expected = &expected["fig9"][key];
        assert_eq!(agreed["input"]["fig9"][key], expected["durs"]);
        let node = tree.add(
            Some(a),
            name,
            category(expected["category"].as_str().unwrap()),
            &durations(&expected["durs"]),
        );
        is(tree.nodes[node].loss.imbalance, &expected["imb"]);
        is(tree.nodes[node].loss.wait, &expected["wait"]);
    }

    let mut tree = Tree::default();
    let parts: Vec<Vec<Ticks>> =
        ["X", "Y", "Z"].map(|key| durations(&agreed["input"]["fig9"][key])).into_iter().collect();
    let whole: Vec<Ticks> = (0..3).map(|i| parts.iter().map(|part| part[i]).sum()).collect();
    let a = tree.add(None, "A", Category::Computation, &whole);
    parts.iter().for_each(|part| _ = tree.add(Some(a), "part", Category::Computation, part));
    let sums = sums(&tree.nodes);
    let fig10 = &expected["fig10_all_computation"];
    is(tree.nodes[a].loss.imbalance, &fig10["imb"]);
    is(tree.nodes[a].loss.wait, &fig10["wait"]);
    is(sums[a].imbalance, &fig10["sumImb"]);
    is(sums[a].wait, &fig10["sumWait"]);
}

#[test]
fn the_agreed_diagnoses_hold() {
    let agreed = golden("imb_wait");
    let expected = &agreed["expected"];
    let plain = Thresholds { sync_ratio: 0.0, ..Thresholds::paper() };
    for row in expected["table2_rows"].as_array().unwrap() {
        let high = |i: usize| row[0][i].as_f64().unwrap() / 10.0;
        assert_eq!(u64::from(diagnosis(high(0), high(1), high(2), &plain).row()), row[1], "{row}");
    }
    let mut published = Vec::new();
    for (name, percent) in agreed["input"]["table5_percent"].as_object().unwrap() {
        let part = |i: usize| percent[i].as_f64().unwrap() / 100.0;
        for (thresholds, key) in
            [(&plain, "table5_diagnosis_low1pct"), (&Thresholds::paper(), "table5_diagnosis_relative")]
        {
            let row = diagnosis(part(0), part(1), part(2), thresholds).row();
            assert_eq!(u64::from(row), expected[key][name], "{name} {key}");
        }
        if name != "S1" {
            published.push((percent[0].as_f64().unwrap() + percent[2].as_f64().unwrap()) * 100.0);
        }
    }
    // The run time in units of a ten-thousandth, so that the percentages are whole.
    let run = agreed["input"]["run_time"].as_f64().unwrap();
    let whole = |percent: f64| MeanTicks { sum: percent.round() as u128, n_processes: 1 };
    let left = projected(Ticks(10_000), 1, published.into_iter().map(whole));
    assert!((left.ratio_to(Ticks(10_000)) * run - expected["estimate_S2_S6"].as_f64().unwrap()).abs() < 1e-9);
}

#[test]
fn thresholds_are_strict() {
    let run = Ticks(1000);
    let node = |parent, loss| LossNode {
        parent,
        category: Category::Computation,
        loss: Loss { imbalance: MeanTicks { sum: loss, n_processes: 2 }, ..Loss::none(2) },
    };
    let chosen = |losses: [u128; 3]| {
        let nodes = [node(None, losses[0]), node(Some(0), losses[1]), node(Some(0), losses[2])];
        significant(&nodes, &sums(&nodes), run, &Thresholds::paper())
    };
    // 0.1 % of 1000 ticks at two members is a sum of 2.
    assert_eq!(chosen([0, 2, 3]), [false, false, true]);
    assert_eq!(chosen([70, 60, 40]), [false, true, true]);
    assert_eq!(chosen([71, 60, 40]), [true, false, false]);
    assert_eq!(chosen([3, 0, 0]), [true, false, false]);
    let at = |sync| diagnosis(sync, 0.02, 0.0, &Thresholds::paper());
    assert_eq!((at(0.01), at(0.011)), (Diagnosis::TradedOff, Diagnosis::Imbalance));
}
