//! `ouzel report`: one page about the run.

mod cards;
mod findings;
mod html;
mod losses;
mod page;
mod shape;

use crate::args::{Common, OutputFormat, ReportArgs};
use crate::exit::Outcome;
use crate::rules;
use crate::session::{Session, outcome, taken};
use ouzel::analyses::context_tree::{ContextTrees, ContextTreesOutput};
use ouzel::analyses::late_messages::LateMessages;
use ouzel::analyses::semantics::{Class, Semantics};
use ouzel::analyses::severity_cube::SeverityCube;
use ouzel::analyses::timeline::{Timeline, TimelineOutput};
use ouzel::diagnose::{Material, ReportAnalyses, RunReport};
use ouzel::engine::{AnalysisSet, Coverage};
use ouzel::{Variations, wants_causes, wants_variations};

/// Everything that a page is made from.
struct Answer {
    coverage: Coverage,
    classes: Vec<Class>,
    material: Material,
    trees: ContextTreesOutput,
    /// What varies like the findings, where a topology exists.
    variations: Option<Variations>,
    /// Only of a page with pictures.
    timeline: Option<TimelineOutput>,
    report: RunReport,
}

/// Answers.
///
/// # Errors
/// If the trace cannot be opened or the answer not be written.
pub fn run(common: &Common, args: &ReportArgs) -> anyhow::Result<Outcome> {
    let semantics = rules::semantics(args.rules.file())?;
    let session = Session::open(common)?;
    let answer = answer(&session, &semantics)?;
    let (report, notices) = (&answer.report, answer.material.notices());
    match common.format {
        // The page has a card for the notices; standard error would say them twice.
        OutputFormat::Table => session.write_page(&page::lines(&session, &answer))?,
        OutputFormat::Html => session.write_text(&html::page(&session, &answer))?,
        OutputFormat::Json => session.write_json("report", answer.coverage, notices, report)?,
        OutputFormat::Csv | OutputFormat::Parquet => {
            session.write_table(&findings::table(&report.findings))?;
            session.tell(notices);
        }
    }
    Ok(outcome(notices))
}

/// One pass over the trace, and a second one over its messages where they cost time.
fn answer(session: &Session<'_>, semantics: &Semantics) -> anyhow::Result<Answer> {
    let definitions = session.definitions();
    let filter = &session.common.filter;
    let mut set = AnalysisSet::default();
    let analyses = ReportAnalyses::add_to(&mut set, definitions, filter, semantics);
    let trees = set.add(ContextTrees::with_semantics(definitions, filter, semantics));
    let wants_cube = wants_variations(definitions) || wants_causes(definitions);
    let cube = wants_cube.then(|| set.add_silent(SeverityCube::default()));
    let with_pictures = session.common.format == OutputFormat::Html;
    let timeline = with_pictures.then(|| set.add(Timeline::new(definitions, filter)));
    let mut pass = session.run(&set)?;
    let trees = taken(pass.outputs.take(&trees), "clusters")?;
    let timeline = timeline.map(|key| taken(pass.outputs.take(&key), "timeline")).transpose()?;
    let mut material = taken(analyses.gather(&mut pass, definitions), "report")?;
    if material.wants_messages(definitions) {
        let mut set = AnalysisSet::default();
        let late = set.add(LateMessages { semantics: semantics.clone() });
        let mut second = session.run(&set)?;
        material.add_messages(taken(second.outputs.take(&late), "messages")?, &second.notices);
    }
    let cube = cube.map(|key| taken(pass.outputs.take(&key), "profile")).transpose()?;
    let mut variations = cube.map(|cube| Variations::new(cube, definitions));
    material.add_notices(variations.as_ref().map_or(&[], Variations::notices));
    let mut report = material.report(definitions);
    if let Some(variations) = &mut variations {
        let jobs = session.common.jobs;
        variations.add_to(&mut report, jobs);
        variations.explain(&mut report, semantics, jobs);
    }
    let classes = semantics.classes(definitions);
    Ok(Answer { coverage: pass.coverage, classes, material, trees, variations, timeline, report })
}
