//! Writes the page of a trace: `cargo run -p ouzel-page --example page -- TRACE OUT.html`.
#![expect(clippy::unwrap_used, reason = "an example")]

use ouzel::analyses::semantics::Semantics;
use ouzel::analyses::timeline::Timeline;
use ouzel::diagnose::ReportAnalyses;
use ouzel::engine::AnalysisSet;

fn main() {
    let [trace, out] = std::env::args().skip(1).collect::<Vec<_>>().try_into().expect("TRACE OUT.html");
    let opened = ouzel::open(trace.as_ref()).unwrap();
    let options = ouzel::Options::default();
    let semantics = Semantics::default();
    let mut set = AnalysisSet::default();
    let analyses = ReportAnalyses::add_to(&mut set, opened.definitions(), &options.filter, &semantics);
    let timeline = set.add(Timeline::new(opened.definitions(), &options.filter));
    let mut passed = opened.run(&set, &options).unwrap();
    let timeline = passed.outputs.take(&timeline).unwrap();
    let report = analyses.finish(&mut passed, opened.definitions()).unwrap();
    let pictures = ouzel_page::Pictures {
        definitions: opened.definitions(),
        classes: &semantics.classes(opened.definitions()),
        timeline: &timeline,
        clusters: Vec::new(),
        significant: Vec::new(),
        loops: Vec::new(),
    };
    std::fs::write(out, ouzel_page::html(&report, &pictures, &trace)).unwrap();
}
