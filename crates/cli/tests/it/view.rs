//! `ouzel view -o`: one file with the page and its data; and the timeline of the viewer in the page of a report.

use crate::run::{Ran, Scratch, command, json};
use std::fs;
use std::path::Path;

#[test]
fn a_view_is_a_file_like_others() {
    let scratch = Scratch::new("view-file");
    let trace = scratch.copied("pmpi-jacobi");
    let dist = scratch.0.join("dist");
    fs::create_dir(&dist).unwrap();
    fs::write(dist.join("standalone.html"), "<html><!--ouzel-data--></html>").unwrap();
    let (file, run) = (scratch.0.join("view.html"), trace.to_str().expect("what the test made"));
    let viewed = |dist: &Path, words: &[&str]| {
        let mut command = command();
        command.args(["view", run]).args(words).env("OUZEL_VIEW_DIST", dist);
        let output = command.output().expect("the binary is there");
        let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
        Ran { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
    };
    let out = file.to_str().expect("what the test made");
    let written = viewed(&dist, &["-o", out]);
    assert_eq!((written.code, written.out.as_str()), (Some(0), ""), "{}", written.err);
    assert!(written.err.contains("not in the file: "), "{}", written.err);
    let html = fs::read_to_string(&file).unwrap();
    let data =
        html.split_once("id=\"ouzel-data\">").and_then(|(_, rest)| rest.split_once("</script>")).unwrap().0;
    let data: serde_json::Value = serde_json::from_str(data).unwrap();
    let report = &data[r#"api/ask?{"options":{},"question":"report","selection":{}}"#];
    assert_eq!(report["data"], json(&trace, &["report"])["data"]);
    assert!(data.as_object().unwrap().keys().any(|key| key.starts_with("api/tile?level=")));
    // It replaces nothing that it was not told to replace, and never its input.
    let again = viewed(&dist, &["-o", out]);
    assert!(again.code == Some(1) && again.err.contains("--force"), "{}", again.err);
    assert_eq!(viewed(&dist, &["-o", out, "--force"]).code, Some(0));
    let input = viewed(&dist, &["-o", &format!("{run}/traces.otf2"), "--format", "html", "--force"]);
    assert!(input.code == Some(1) && input.err.contains("part of the input"), "{}", input.err);
    let small = viewed(&dist, &["-o", out, "--force", "--detail", "5K"]);
    assert!(small.code == Some(1) && small.err.contains("--detail"), "{}", small.err);
    fs::remove_file(dist.join("standalone.html")).unwrap();
    let unbuilt = viewed(&dist, &["-o", out, "--force"]);
    assert!(unbuilt.code == Some(1) && unbuilt.err.contains("cargo xtask web"), "{}", unbuilt.err);
    assert_eq!(fs::read_to_string(&file).unwrap(), html, "the old file is there");
    for words in
        [&["-o", "view.json"][..], &["-o", out, "--port", "80"], &["-o", out, run], &["--detail", "1M"]]
    {
        assert_eq!(viewed(&dist, words).code, Some(64), "{words:?}");
    }
}

#[test]
fn a_report_has_the_timeline_of_the_viewer_if_the_program_has_its_page() {
    let scratch = Scratch::new("report-zoomed");
    let trace = scratch.copied("pmpi-jacobi");
    let dist = scratch.0.join("dist");
    fs::create_dir(&dist).unwrap();
    let page = |name: &str, words: &[&str]| {
        let file = scratch.0.join(name);
        let output = command()
            .arg("report")
            .args([&trace, Path::new("-o"), &file])
            .args(words)
            .env("OUZEL_VIEW_DIST", &dist)
            .output()
            .expect("the binary is there");
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        fs::read_to_string(file).unwrap()
    };
    let without = page("without.html", &[]);
    assert!(!without.contains("id=\"zoomed-timeline\"") && !without.contains("data-show=\""));
    fs::write(dist.join("standalone.html"), "<html><!--ouzel-data--></html>").unwrap();
    let with = page("with.html", &[]);
    assert!(with.contains("id=\"zoomed-timeline\""));
    assert!(with.len() < without.len() + 400_000, "{} and {} bytes", without.len(), with.len());
    // Whoever makes it, and however many at once.
    assert!(with == page("jobs.html", &["--jobs", "1"]));
    assert!(with != page("part.html", &["--ranks", "0-1"]));
}

#[test]
fn what_is_no_run_gets_no_address() {
    let scratch = Scratch::new("view-nothing");
    for path in [&scratch.0, &scratch.0.join("nowhere")] {
        let output = command().args(["view", "--no-open"]).arg(path).output().expect("the binary is there");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), &*output.stdout), (Some(1), &b""[..]), "{said}");
        assert!(said.contains("error: "), "{said}");
    }
}
