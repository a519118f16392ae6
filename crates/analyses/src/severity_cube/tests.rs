use super::*;
use ouzel_testkit::laws;

#[test]
fn laws_hold() {
    laws::check(SeverityCube::default, |output| {
        let paths: Vec<_> = output.call_paths.paths().map(|p| output.call_paths.regions(p)).collect();
        format!("{paths:?} {:?} {:?} {:?}", output.locations, output.metrics, output.counters)
    });
}
