use crate::colour::Colour;
use crate::raster::{NOTHING, OUTSIDE, PathIndex, Raster};
use crate::{IterationPoint, IterationSeries, LoopPicture, Pictures};
use ouzel::Asked;
use ouzel::analyses::phases::PhasesOutput;
use ouzel::analyses::semantics::{Class, Semantics};
use ouzel::analyses::timeline::{Timeline, TimelineOutput, TimelineRun};
use ouzel::context_tree::{ContextTrees, ContextTreesOutput};
use ouzel::diagnose::{ReportAnalyses, RunReport};
use ouzel::engine::{AnalysisSet, Pass};
use ouzel::model::{CallPathId, CallPathTree, Filter, LocationId, RegionId, TraceSource};
use ouzel_testkit::ToyTrace;
use scraper::{Html, Selector};
use std::fmt::Write;
use std::num::NonZeroUsize;

/// Two ranks, one of which computes longer, and names that would break a page without escaping.
const HOSTILE: &str = "
    0: enter <script>alert(1)</script> @0, enter \"&amp;' @10, leave @900, enter MPI_Barrier @900, leave @1000, enter \"&amp;' @1000, leave @1500, leave @2000
    1: enter <script>alert(1)</script> @0, enter \"&amp;' @10, leave @200, enter MPI_Barrier @200, leave @1000, enter </script><img src=x> @1000, leave @1900, leave @2000";

/// Everything that a page is made from.
struct Results {
    report: RunReport,
    timeline: TimelineOutput,
    trees: ContextTreesOutput,
    phases: PhasesOutput,
    classes: Vec<Class>,
}

fn results(trace: &ToyTrace) -> Results {
    let definitions = trace.definitions();
    let (filter, semantics) = (Filter::default(), Semantics::default());
    let mut set = AnalysisSet::default();
    let analyses = ReportAnalyses::add_to(&mut set, definitions, &semantics);
    let timeline = set.add(Timeline::default());
    let trees = set.add(ContextTrees::default());
    let pass = Pass { filter: &filter, jobs: NonZeroUsize::MIN, progress: None };
    let mut passed = set.run(trace, pass).unwrap();
    let (timeline, trees) = (passed.outputs.take(&timeline).unwrap(), passed.outputs.take(&trees).unwrap());
    let material = analyses.gather(&mut passed, definitions).unwrap();
    let (report, phases) = (material.report(definitions), material.phases().clone());
    Results { report, timeline, trees, phases, classes: semantics.classes(definitions) }
}

impl Results {
    fn pictures<'a>(&'a self, trace: &'a ToyTrace) -> Pictures<'a> {
        let Results { report, timeline, trees, phases, classes } = self;
        Pictures::new(trace.definitions(), classes, timeline)
            .with_clusters(trees, report.run.span_ns, &report.epochs)
            .with_segments(&report.segments, &phases.call_paths)
    }

    fn page(&self, trace: &ToyTrace) -> String {
        crate::html(&self.report, &self.pictures(trace), &Asked::new("a <b> trace.otf2", &Filter::default()))
    }
}

fn page(trace: &ToyTrace) -> String {
    results(trace).page(trace)
}

fn select<'p>(page: &'p Html, selector: &str) -> Vec<scraper::ElementRef<'p>> {
    page.select(&Selector::parse(selector).unwrap()).collect()
}

#[test]
fn the_page_is_valid_and_names_are_text_whatever_they_are() {
    let text = page(&ToyTrace::new(HOSTILE));
    let page = Html::parse_document(&text);
    assert_eq!(page.errors, Vec::<String>::new());
    assert_eq!(select(&page, "script").len(), 2, "the data and the script, nothing from the trace");
    assert!(select(&page, "img").iter().all(|img| img.attr("src").unwrap().starts_with("data:image/png")));
    let legend: String = select(&page, "#rank-timeline .legend")[0].text().collect();
    for name in ["<script>alert(1)</script>", "\"&amp;'", "</script><img src=x>"] {
        assert!(legend.contains(name), "{legend}");
    }
    let data: String = select(&page, "#timeline-data")[0].text().collect();
    let data: serde_json::Value = serde_json::from_str(&data).unwrap();
    assert!(data["names"].as_array().unwrap().iter().any(|name| name == "</script><img src=x>"));
}

#[test]
fn the_page_needs_nothing_from_outside() {
    let text = page(&ToyTrace::new(HOSTILE));
    let page = Html::parse_document(&text);
    for element in select(&page, "[src], [href], [xlink\\:href], [srcset], [action]") {
        for name in ["src", "href", "xlink:href", "srcset", "action"] {
            let target = element.attr(name).unwrap_or("#");
            assert!(target.starts_with('#') || target.starts_with("data:"), "{target}");
        }
    }
    assert_eq!(select(&page, "link, iframe, object, embed, base").len(), 0);
    let without_data: String =
        text.split("base64,").map(|part| part.split_once('"').map_or(part, |p| p.1)).collect();
    for needle in ["http:", "https:", "@import", "url(", "//cdn", "fetch(", "XMLHttpRequest", "WebSocket"] {
        assert!(!without_data.contains(needle), "{needle}");
    }
}

#[test]
fn the_page_can_be_read_without_seeing_it() {
    let text = page(&ToyTrace::new(HOSTILE));
    let page = Html::parse_document(&text);
    let level = |heading: &scraper::ElementRef<'_>| heading.value().name()[1..].parse::<u32>().unwrap();
    let levels: Vec<u32> = select(&page, "h1, h2, h3").iter().map(level).collect();
    assert_eq!(levels.iter().filter(|&&level| level == 1).count(), 1);
    assert!(levels.windows(2).all(|pair| pair[1] <= pair[0] + 1), "no level is left out: {levels:?}");
    for picture in select(&page, "[role=img]") {
        assert!(20 < picture.attr("aria-label").unwrap().len());
    }
    let ids: Vec<&str> = select(&page, "[id]").iter().map(|element| element.attr("id").unwrap()).collect();
    let mut distinct = ids.clone();
    distinct.sort_unstable();
    distinct.dedup();
    assert_eq!(distinct.len(), ids.len(), "{ids:?}");
    for reference in select(&page, "[aria-describedby], [href]") {
        let id = reference.attr("aria-describedby").or(reference.attr("href")).unwrap();
        assert!(ids.contains(&id.trim_start_matches('#')), "{id}");
    }
    assert!(
        select(&page, "table")
            .iter()
            .all(|table| { table.select(&Selector::parse("thead th").unwrap()).next().is_some() })
    );
    assert_eq!(select(&page, "html[lang]").len(), 1);
}

#[test]
fn a_timeline_that_can_be_zoomed_comes_with_its_picture_and_links() {
    let trace = ToyTrace::new(HOSTILE);
    let results = results(&trace);
    let mut pictures = results.pictures(&trace);
    pictures.zoomed = Some("H4sIAAAA".to_owned());
    let asked = Asked::new("t", &Filter::default());
    let (with, without) = (crate::html(&results.report, &pictures, &asked), page(&trace));
    let (with, without) = (Html::parse_document(&with), Html::parse_document(&without));
    assert_eq!(with.errors, Vec::<String>::new());
    assert_eq!(text_of(&with, "script#zoomed-timeline"), "H4sIAAAA");
    let losses = select(&with, "#findings .gain b").len();
    let links = select(&with, "a[data-show][href='#rank-timeline']");
    assert!(0 < losses && links.len() == losses, "{losses} losses, {} links", links.len());
    for (link, finding) in links.iter().zip(&results.report.findings) {
        let shown: serde_json::Value = serde_json::from_str(link.attr("data-show").unwrap()).unwrap();
        assert_eq!(shown["ranks"].as_str().unwrap_or(""), finding.ranks.ranges);
        let names = shown["call_path"].as_array().cloned().unwrap_or_default();
        assert_eq!(names, finding.call_path.iter().map(|name| serde_json::json!(name)).collect::<Vec<_>>());
    }
    for page in [&with, &without] {
        assert_eq!(select(page, "#rank-timeline > .plot img").len(), 1, "the still picture is there");
        assert_eq!(select(page, "iframe").len(), 0, "only the script makes one");
    }
    assert_eq!(select(&without, "#zoomed-timeline, [data-show], .for-zoomed").len(), 0);
}

#[test]
fn equal_reports_give_equal_pages() {
    let trace = ToyTrace::new(HOSTILE);
    assert_eq!(page(&trace), page(&trace));
}

#[test]
fn a_trace_without_events_has_a_page_without_pictures() {
    let text = page(&ToyTrace::new("0: other @0\n1: other @0"));
    let page = Html::parse_document(&text);
    assert_eq!(page.errors, Vec::<String>::new());
    assert_eq!(select(&page, "img").len(), 0);
    assert_eq!(select(&page, "h1").len(), 1);
}

#[test]
fn images_hold_the_indices_of_call_paths() {
    let trace = ToyTrace::new("0: enter a @0, enter b @2, leave @6, leave @8\n1: enter a @4, leave @6");
    let timeline = results(&trace).timeline;
    let index = PathIndex::new(&timeline);
    assert_eq!(index.paths.len(), 2, "a and a/b, each of them for some instants");
    let mut raster = Raster::new(timeline.n_columns);
    timeline.rows.iter().for_each(|row| raster.push(row, &index));
    let url = raster.data_url(&index.palette(|_| Colour::INSIGNIFICANT)).unwrap();
    let pixels = decode(&url);
    let (a, b) = (pixels[0], pixels[2]);
    assert_ne!(a, b);
    assert!(OUTSIDE < a.min(b));
    assert_eq!(pixels[..8], [a, a, b, b, b, b, a, a]);
    assert_eq!(pixels[8..], [NOTHING, NOTHING, NOTHING, NOTHING, a, a, NOTHING, NOTHING]);
}

/// The indices in an image, as the script on the page reads them: rows without a filter.
fn decode(url: &str) -> Vec<u8> {
    use base64::{Engine, prelude::BASE64_STANDARD};
    let bytes = BASE64_STANDARD.decode(url.strip_prefix("data:image/png;base64,").unwrap()).unwrap();
    let mut decoder = png::Decoder::new(std::io::Cursor::new(bytes));
    decoder.set_transformations(png::Transformations::IDENTITY);
    let mut reader = decoder.read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    reader.next_frame(&mut pixels).unwrap();
    pixels
}

fn text_of(page: &Html, selector: &str) -> String {
    select(page, selector).iter().flat_map(scraper::ElementRef::text).collect()
}

#[test]
fn every_finding_and_every_segment_is_there() {
    let trace = ToyTrace::new(HOSTILE);
    let results = results(&trace);
    let page = Html::parse_document(&results.page(&trace));
    assert!(!results.report.findings.is_empty());
    let shown = text_of(&page, "#findings");
    for finding in &results.report.findings {
        for text in [&finding.title, &finding.sentence, &finding.advice] {
            assert!(shown.contains(&**text), "{text}");
        }
        for evidence in &finding.evidence {
            assert!(shown.contains(&*evidence.text), "{}", evidence.text);
        }
    }
    assert!(text_of(&page, "h1").contains("can be recovered"));
    let pictures = results.pictures(&trace);
    assert!(!pictures.segments.is_empty() && !pictures.significant.is_empty());
    for segment in &pictures.segments {
        let shown = text_of(&page, &format!("#segment-{}", segment.id));
        assert!(
            shown.contains(segment.diagnosis) && shown.contains(segment.paths[0].category.as_str()),
            "{shown}"
        );
        assert_eq!(
            select(&page, &format!("a[href='#segment-{}']", segment.id)).len(),
            1,
            "below the picture"
        );
    }
    assert_eq!(select(&page, "#clusters tbody tr").len(), pictures.clusters.len());
    assert_eq!(select(&page, "#cluster-timeline .labels > span").len(), pictures.clusters.len());
}

#[test]
fn a_run_that_loses_nothing_says_so() {
    let work = "enter main @0, enter work @0, leave @1000, enter MPI_Barrier @1000, leave @1001, leave @2000";
    let trace = ToyTrace::new(&format!("0: {work}\n1: {work}"));
    let page = Html::parse_document(&page(&trace));
    assert!(text_of(&page, "h1").starts_with("Nothing significant"), "{}", text_of(&page, "h1"));
    assert_eq!(select(&page, "#findings .gain b").len(), 0);
}

#[test]
fn iterations_are_drawn_with_their_units() {
    let trace = ToyTrace::new(HOSTILE);
    let results = results(&trace);
    let mut pictures = results.pictures(&trace);
    let series = |cluster: u32, n: u64| IterationSeries {
        cluster,
        size: "3 ranks".to_owned(),
        iterations: (0..n)
            .map(|index| IterationPoint { index, duration_ns: 1_000_000 + index * 1000, cluster: 0 })
            .collect(),
    };
    pictures.loops = vec![LoopPicture {
        before: "",
        name: "<loop>".into(),
        call_path: ["main", "<loop>"].map(Into::into).to_vec(),
        source: "marked in the trace".to_owned(),
        is_estimate: false,
        series: vec![series(0, 10), series(1, 9), series(2, 10)],
        epochs: vec![(2, 4), (3, 7)],
    }];
    let page =
        Html::parse_document(&crate::html(&results.report, &pictures, &Asked::new("t", &Filter::default())));
    assert_eq!(page.errors, Vec::<String>::new());
    assert_eq!(select(&page, "#iterations svg > path[fill=none]").len(), 3);
    assert_eq!(
        select(&page, "#iterations svg > path[stroke-dasharray='1 3']").len(),
        2,
        "where epochs begin"
    );
    let text = text_of(&page, "#iterations");
    assert!(
        text.contains("main › <loop>") && text.contains("10 iterations") && text.contains(" ms"),
        "{text}"
    );
    let mut heights: Vec<f64> = select(&page, "#iterations text.ink")
        .iter()
        .map(|label| label.attr("y").unwrap().parse().unwrap())
        .collect();
    heights.sort_by(f64::total_cmp);
    assert!(heights.windows(2).all(|pair| 13.0 < pair[1] - pair[0]), "labels do not touch: {heights:?}");
}

#[test]
fn a_page_of_512_ranks_stays_small_whatever_they_do() {
    let mut lines = String::new();
    for rank in 0..512 {
        let _ = writeln!(lines, "{rank}: enter main @0, leave @2000");
    }
    let trace = ToyTrace::new(&lines);
    let mut results = results(&trace);
    // The worst case: another call path at each instant, in no order.
    let mut tree = CallPathTree::default();
    let mut at = CallPathTree::ROOT;
    for i in 0..300 {
        at = tree.child(if i % 8 == 0 { CallPathTree::ROOT } else { at }, RegionId(i % 3));
    }
    let mut state = 1_u64;
    let mut noise = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        CallPathId((state >> 33) as u32 % tree.len() as u32)
    };
    for row in &mut results.timeline.rows {
        row.runs = (0..2000).map(|_| TimelineRun { n_columns: 1, call_path: Some(noise()) }).collect();
    }
    results.timeline.call_paths = tree;
    let text = results.page(&trace);
    assert!(text.len() < 3_000_000, "{} bytes", text.len());
    assert_eq!(results.timeline.row(LocationId(511)).map(|row| row.runs.len()), Some(2000));
}
