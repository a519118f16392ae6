//! Trees have the iterations of the phases of all ranks, whether or not one rank foretells them.

use ouzel::Options;
use ouzel::analyses::phases::{IterationParts, Phases};
use ouzel::analyses::semantics::Semantics;
use ouzel::context_tree::ContextTrees;

#[test]
fn trees_have_the_parts_of_all_ranks() {
    let (mut n_with, mut n_without) = (0, 0);
    let programs =
        ["adaptive_mesh", "conjugate_gradient", "halo3d", "multigrid", "ocean_atmosphere", "pipeline"];
    for program in programs {
        let archive = ouzel_testkit::workspace_root().join("testdata/zoo").join(program).join("faulty");
        let trace = ouzel::open(&archive).expect("the archive is there");
        let options = Options::default();
        let phases = trace.ask(Phases::default(), &options).expect("phases answer").output;
        let parts = IterationParts::new(&phases);
        *(if parts.is_some() { &mut n_with } else { &mut n_without }) += 1;
        let expected = trace.ask(ContextTrees { parts, ..ContextTrees::default() }, &options);
        let expected = expected.expect("trees answer").output;
        let found = trace.context_trees(&Semantics::default(), &options).expect("trees answer").output;
        assert_eq!(format!("{found:?}"), format!("{expected:?}"), "{program}");
    }
    assert!(0 < n_with && 0 < n_without, "{n_with} with parts, {n_without} without");
}
