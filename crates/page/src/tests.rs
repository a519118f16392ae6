use crate::colour::Colour;
use crate::raster::{NOTHING, OUTSIDE, PathIndex, Raster};
use crate::{Cluster, Pictures};
use ouzel::analyses::peers::PeerKind;
use ouzel::analyses::semantics::Semantics;
use ouzel::analyses::timeline::{Timeline, TimelineOutput};
use ouzel::diagnose::{ReportAnalyses, RunReport};
use ouzel::engine::{AnalysisSet, Pass};
use ouzel::model::{CallPathId, Filter, LocationId, TraceSource};
use ouzel_testkit::ToyTrace;
use scraper::{Html, Selector};
use std::num::NonZeroUsize;

/// Two ranks, one of which computes longer, and names that would break a page that trusts them.
const HOSTILE: &str = "
    0: enter <script>alert(1)</script> @0, enter MPI_Barrier @900, leave @1000, enter \"&amp;' @1000, leave @1500, leave @2000
    1: enter <script>alert(1)</script> @0, enter MPI_Barrier @200, leave @1000, enter </script><img src=x> @1000, leave @1900, leave @2000";

fn results(trace: &ToyTrace) -> (RunReport, TimelineOutput) {
    let filter = Filter::default();
    let mut set = AnalysisSet::default();
    let semantics = Semantics::default();
    let analyses = ReportAnalyses::add_to(&mut set, trace.definitions(), &filter, &semantics);
    let timeline = set.add(Timeline::default());
    let pass = Pass { filter: &filter, jobs: NonZeroUsize::MIN, progress: None };
    let mut passed = set.run(trace, pass).unwrap();
    let timeline = passed.outputs.take(&timeline).unwrap();
    (analyses.finish(&mut passed, trace.definitions()).unwrap(), timeline)
}

fn page(trace: &ToyTrace, significant: &[u32]) -> String {
    let (report, timeline) = results(trace);
    let cluster = |id: u32| Cluster {
        id,
        kind: PeerKind::MainThread,
        members: vec![LocationId(id)],
        representative: LocationId(id),
    };
    let pictures = Pictures {
        definitions: trace.definitions(),
        classes: &Semantics::default().classes(trace.definitions()),
        timeline: &timeline,
        clusters: vec![cluster(0), cluster(1)],
        significant: significant.iter().copied().map(CallPathId).collect(),
        loops: Vec::new(),
    };
    crate::html(&report, &pictures, "a <b> trace.otf2")
}

fn select<'p>(page: &'p Html, selector: &str) -> Vec<scraper::ElementRef<'p>> {
    page.select(&Selector::parse(selector).unwrap()).collect()
}

#[test]
fn the_page_is_valid_and_names_are_text_whatever_they_are() {
    let text = page(&ToyTrace::new(HOSTILE), &[2]);
    let page = Html::parse_document(&text);
    assert_eq!(page.errors, Vec::<String>::new());
    assert_eq!(select(&page, "script").len(), 2, "the data and the script, nothing from the trace");
    assert!(select(&page, "img").iter().all(|img| img.attr("src").unwrap().starts_with("data:image/png")));
    let legend: String = select(&page, ".legend")[1].text().collect();
    for name in ["<script>alert(1)</script>", "\"&amp;'", "</script><img src=x>"] {
        assert!(legend.contains(name), "{legend}");
    }
    let data: String = select(&page, "#timeline-data")[0].text().collect();
    let data: serde_json::Value = serde_json::from_str(&data).unwrap();
    assert!(data["names"].as_array().unwrap().iter().any(|name| name == "</script><img src=x>"));
}

#[test]
fn the_page_needs_nothing_from_outside() {
    let text = page(&ToyTrace::new(HOSTILE), &[]);
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
    let text = page(&ToyTrace::new(HOSTILE), &[2]);
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
fn equal_reports_give_equal_pages() {
    let trace = ToyTrace::new(HOSTILE);
    assert_eq!(page(&trace, &[2]), page(&trace, &[2]));
}

#[test]
fn a_trace_without_events_has_a_page_without_pictures() {
    let text = page(&ToyTrace::new("0: other @0\n1: other @0"), &[]);
    let page = Html::parse_document(&text);
    assert_eq!(page.errors, Vec::<String>::new());
    assert_eq!(select(&page, "img").len(), 0);
    assert_eq!(select(&page, "h1").len(), 1);
}

#[test]
fn images_hold_the_indices_of_call_paths() {
    let trace = ToyTrace::new("0: enter a @0, enter b @2, leave @6, leave @8\n1: enter a @4, leave @6");
    let (_, timeline) = results(&trace);
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
