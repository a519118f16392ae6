//! From a trace to the page: the report, and the pictures of the same pass.

use crate::{Pictures, html};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ouzel::analyses::semantics::Semantics;
use ouzel::analyses::timeline::{Timeline, TimelineOutput};
use ouzel::engine::AnalysisSet;
use ouzel::model::Definitions;
use ouzel::{Answer, AskError, Asked, Diagnosed, Options, Trace, Variations};
use ouzel_plot::Palette;
use ouzel_plot::fields::Solid;
use ouzel_plot::pictures::{CorrelationViews, correlation};

/// Other views beside the finding's own in a picture.
const N_PARTNERS: usize = 2;

/// The page about what `options` selects of a trace; `semantics` defines what regions mean, `asked` how the user calls
/// the trace.
///
/// # Errors
/// If a pass was cancelled, or an analysis cannot answer.
pub fn of_trace(
    trace: &Trace,
    semantics: &Semantics,
    asked: &Asked,
    options: &Options<'_>,
) -> Result<Answer<String>, AskError> {
    let mut set = AnalysisSet::default();
    let timeline = set.add(Timeline::default());
    #[cfg(feature = "view")]
    let inner = ouzel_view::InnerTimeline::add_to(&mut set, trace, semantics);
    trace.diagnose(semantics, set, options)?.try_map(|mut diagnosed| {
        let timeline = diagnosed.beside.take(&timeline)?;
        #[cfg(feature = "view")]
        let zoomed = match inner {
            Some(inner) => inner.page(trace, &options.filter, semantics, &mut diagnosed.beside)?,
            None => None,
        };
        #[cfg(not(feature = "view"))]
        let zoomed: Option<Vec<u8>> = None;
        let zoomed = zoomed.map(|zoomed| STANDARD.encode(zoomed));
        Ok(page(trace.definitions(), &diagnosed, (&timeline, zoomed), asked))
    })
}

fn page(
    definitions: &Definitions,
    diagnosed: &Diagnosed,
    (timeline, zoomed): (&TimelineOutput, Option<String>),
    asked: &Asked,
) -> String {
    let Diagnosed { material, report, classes, variations, trees, .. } = diagnosed;
    let mut pictures = Pictures::new(definitions, classes, timeline)
        .with_clusters(trees, report.run.span_ns, &report.epochs)
        .with_segments(&report.segments, &material.phases().call_paths);
    pictures.zoomed = zoomed;
    pictures.maps = (0..report.findings.len()).map(|finding| map(variations.as_ref()?, finding)).collect();
    html(report, &pictures, asked)
}

/// The text of a picture of what varies like a finding over the topology.
fn map(variations: &Variations, finding: usize) -> Option<String> {
    let (grid, variation) = variations.of_finding(finding)?;
    let question = &variation.question;
    let values = |view| variations.on_grid(grid, view, question.scope).ok();
    let partners = variation.rows.iter().take(N_PARTNERS).map(|row| Some((row, values(row.view)?)));
    let views = CorrelationViews {
        definitions: variations.definitions(),
        grid,
        question,
        reference: values(question.reference)?,
        partners: partners.collect::<Option<Vec<_>>>()?,
    };
    correlation(views, "", (Palette::default(), Solid::default())).svg().ok()
}
