//! The flat profile of a trace, in ten lines: `cargo run --example profile -- TRACE`.
use ouzel::analyses::{By, Per, call_path_profile::CallPathProfile};
use ouzel::engine::AnalysisSet;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("usage: profile TRACE")?;
    let trace = ouzel::open(path.as_ref())?;
    let mut set = AnalysisSet::default();
    let key = set.add(CallPathProfile);
    let mut report = trace.run(&set, &ouzel::Options::default())?;
    let profile = report.outputs.take(&key)?;
    for row in profile.rows(trace.definitions(), By::Region, Per::Total) {
        let region = trace.definitions().region(row.key.region);
        let secs = trace.definitions().clock.secs_from_ticks(row.times.exclusive);
        println!("{secs:12.6} s  {:8}  {}", row.times.visits, region.name);
    }
    for notice in &report.notices {
        eprintln!("{} {} x{}: {notice}", notice.level.as_str(), notice.code.as_str(), notice.count);
    }
    Ok(())
}
