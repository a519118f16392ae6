//! What users write: the language of `--where`, files of rules, shapes of topologies.

use crate::archive::dir;
use crate::front_end::ask;
use ouzel_analyses::call_path_profile::CallPathProfile;
use ouzel_engine::{AnalysisSet, Pass};
use ouzel_model::{Filter, Predicate, RankSet, TopologyShape};
use ouzel_testkit::{Faults, RandomTrace, ToyTrace};
use std::fs;
use std::num::NonZeroUsize;
use std::sync::OnceLock;

/// A predicate: what is shown of it means the same, and a pass with it ends.
pub fn predicate(data: &[u8]) {
    static TRACE: OnceLock<ToyTrace> = OnceLock::new();
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(predicate) = text.parse::<Predicate>() else { return };
    let shown = predicate.to_string();
    let again: Predicate = shown.parse().unwrap_or_else(|error| panic!("{text:?} shown as {shown:?}: {error}"));
    assert_eq!(again.to_string(), shown, "{text:?}");
    let trace = TRACE.get_or_init(|| {
        RandomTrace { seed: 3, n_locations: 3, n_events: 60, faults: Faults::None }.build()
    });
    let filter = Filter::default().and(predicate);
    let mut set = AnalysisSet::default();
    let profile = set.add(CallPathProfile);
    let pass = Pass { filter: &filter, jobs: NonZeroUsize::MIN, progress: None };
    let mut report = set.run(trace, pass).expect("whatever is selected, the pass ends");
    report.outputs.take(&profile).expect("the profile answers");
}

/// A file of rules, as `ouzel report --rules` reads it; ranks and topologies, which are shown as they are written.
pub fn rules(data: &[u8]) {
    let folder = dir("rules");
    let (rules, trace, out) = (folder.join("rules.toml"), folder.join("trace.csv"), folder.join("out.json"));
    fs::write(&rules, data).expect("the directory is ours");
    fs::write(&trace, "Timestamp (ns),Event Type,Name,Process\n0,Enter,main,0\n5,Enter,MPI_Wait,0\n7,Leave,MPI_Wait,0\n9,Leave,main,0\n")
        .expect("the directory is ours");
    ask(&["report", "TRACE", "--rules", "RULES", "-o", "OUT", "--format", "json"], &[("TRACE", &trace), ("RULES", &rules), ("OUT", &out)]);
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Ok(shape) = text.parse::<TopologyShape>() {
        assert_eq!(shape.to_string().parse::<TopologyShape>().as_ref(), Ok(&shape), "{text:?}");
    }
    if let Ok(ranks) = text.parse::<RankSet>() {
        assert_eq!(ranks.to_string().parse::<RankSet>().expect("it was shown").to_string(), ranks.to_string());
    }
}
