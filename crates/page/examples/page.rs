//! Writes the page of a trace: `cargo run -p ouzel-page --example page -- TRACE OUT.html`.
#![expect(clippy::unwrap_used, reason = "an example")]

use ouzel::Asked;
use ouzel::analyses::semantics::Semantics;
use ouzel::analyses::timeline::Timeline;
use ouzel::context_tree::ContextTrees;
use ouzel::diagnose::ReportAnalyses;
use ouzel::engine::AnalysisSet;
use ouzel_page::Pictures;

fn main() {
    let [trace, out] = std::env::args().skip(1).collect::<Vec<_>>().try_into().expect("TRACE OUT.html");
    let opened = ouzel::open(trace.as_ref()).unwrap();
    let definitions = opened.definitions();
    let (options, semantics) = (ouzel::Options::default(), Semantics::default());
    let mut set = AnalysisSet::default();
    let analyses = ReportAnalyses::add_to(&mut set, definitions, &semantics);
    let timeline = set.add(Timeline::default());
    let trees = set.add(ContextTrees::default());
    let mut passed = opened.run(&set, &options).unwrap();
    let (timeline, trees) = (passed.outputs.take(&timeline).unwrap(), passed.outputs.take(&trees).unwrap());
    let material = analyses.gather(&mut passed, definitions).unwrap();
    let classes = semantics.classes(definitions);
    let report = material.report(definitions);
    let pictures = Pictures::new(definitions, &classes, &timeline)
        .with_clusters(&trees, report.run.span_ns, &report.epochs)
        .with_segments(&report.segments, &material.phases().call_paths);
    let asked = Asked::new(trace.clone(), &options.filter);
    std::fs::write(out, ouzel_page::html(&report, &pictures, &asked)).unwrap();
}
