//! The page with pictures.

use super::Answer;
use crate::session::Session;
use ouzel_page::Pictures;
use ouzel_plot::Palette;
use ouzel_plot::fields::Solid;
use ouzel_plot::pictures::{CorrelationViews, correlation};

/// The page as one file.
pub fn page(session: &Session<'_>, answer: &Answer) -> String {
    let definitions = session.definitions();
    let Some(timeline) = &answer.timeline else {
        unreachable!("a page with pictures is made from a pass with a timeline");
    };
    let mut pictures = Pictures::new(definitions, &answer.classes, timeline)
        .with_clusters(&answer.trees, answer.report.run.span_ns);
    // They are withheld where nothing says what computes and what waits.
    if !answer.report.segments.is_empty() {
        pictures = pictures.with_segments(answer.material.phases());
    }
    pictures.maps = (0..answer.report.findings.len()).map(|finding| map(answer, finding)).collect();
    ouzel_page::html(&answer.report, &pictures, &session.asked())
}

/// Views beside the finding's own in a picture.
const N_PARTNERS: usize = 2;

/// What varies over the topology like a finding, as the text of a picture.
fn map(answer: &Answer, finding: usize) -> Option<String> {
    let variations = answer.variations.as_ref()?;
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
