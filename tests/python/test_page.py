"""The page that `ouzel report -o report.html` writes: whole, self-contained, and alive in a browser."""

import html
import json
import re
import shutil
import subprocess
from html.parser import HTMLParser

import pytest
from conftest import ROOT, anchor_parameters

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
needs_browser = pytest.mark.skipif(BROWSER is None, reason="no Chromium: the page is not tried in a browser")

VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}
# Elements that load something, and attributes that name it.
LOADING = {"src", "srcset", "data", "poster", "action", "background"}


class Page(HTMLParser):
    """Follows the nesting of elements, and gathers the text and what would be loaded."""

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.open, self.flaws, self.loads, self.text, self.ids = [], [], [], [], []

    def is_in_svg(self):
        return "svg" in self.open

    def handle_starttag(self, tag, attrs):
        if tag not in VOID:
            self.open.append(tag)
        for name, value in attrs:
            if name in LOADING or (name in ("href", "xlink:href") and tag != "a"):
                self.loads.append(value)
            if name == "id":
                self.ids.append(value)

    def handle_startendtag(self, tag, attrs):
        # Only SVG has elements that close themselves; in HTML the slash is not seen, and what follows is inside.
        if tag not in VOID and not self.is_in_svg():
            self.flaws.append(f"<{tag}/>")

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.flaws.append(f"</{tag}> at {self.getpos()}")

    def handle_data(self, data):
        if not self.open or self.open[-1] not in ("script", "style"):
            self.text.append(data)


def written(ouzel, anchor, path):
    ouzel("report", anchor, "-o", path)
    return path.read_text(encoding="utf-8")


def plain(text):
    return " ".join(text.split())


@pytest.mark.parametrize("anchor", anchor_parameters())
def test_page_is_whole_and_says_what_the_report_says(ouzel, anchor, tmp_path):
    text = written(ouzel, anchor, tmp_path / "report.html")
    page = Page()
    page.feed(text)
    page.close()
    assert page.flaws == [] and page.open == []
    assert len(page.ids) == len(set(page.ids))
    own = ("data:image/png;base64,", "data:image/svg+xml;base64,")
    assert all(load.startswith(own) for load in page.loads), page.loads
    without_pictures = re.sub(r"base64,[^\"]*", "", text)
    assert not re.search(r"https?://|url\(|@import", without_pictures)
    assert len(text.encode()) < 3_000_000
    shown = plain("".join(page.text))
    report = json.loads(ouzel("report", anchor, "--format", "json"))["data"]
    for finding in report["findings"]:
        assert plain(finding["title"]) in shown and plain(finding["sentence"]) in shown
        assert plain(finding["advice"]) in shown
        for evidence in finding["evidence"]:
            assert plain(evidence["text"]) in shown


def test_page_of_many_ranks_is_small(ouzel, synthetic, tmp_path):
    assert len(written(ouzel, synthetic, tmp_path / "report.html")) < 1_000_000


WATCH = """<script>
window.problems = [];
addEventListener("error", (event) => problems.push(String(event.message)));
addEventListener("unhandledrejection", (event) => problems.push(String(event.reason)));
console.error = (...words) => problems.push(words.join(" "));
</script>"""

# Waits until the pictures are ready, points at the middle of each, then moves with the keys; writes down what is said.
TRY = """<script>(async () => {
const pictures = [...document.querySelectorAll(".picture[data-figure]")];
for (let i = 0; i < 200 && pictures.some((picture) => !picture.dataset.ready); i++) {
  await new Promise((resolve) => setTimeout(resolve, 20));
}
const seen = pictures.map((picture) => {
  const readout = document.getElementById(picture.dataset.readout);
  const box = picture.getBoundingClientRect();
  const where = { clientX: box.left + box.width / 2, clientY: box.top + box.height / 2, bubbles: true };
  picture.dispatchEvent(new PointerEvent("pointermove", where));
  const [pointed, tip] = [readout.textContent, document.querySelector(".tip").textContent];
  picture.dispatchEvent(new KeyboardEvent("keydown", { key: "Home", bubbles: true }));
  return { pointed, tip, moved: readout.textContent };
});
document.body.dataset.seen = JSON.stringify({ problems, seen });
})();</script>"""


@needs_browser
@pytest.mark.parametrize("name", ["pmpi-masterio", "eztrace-jacobi"])
def test_page_tells_what_is_under_the_pointer(ouzel, name, tmp_path):
    anchor = next((ROOT / "testdata" / name).rglob("*.otf2"))
    text = written(ouzel, anchor, tmp_path / "report.html")
    text = text.replace("<head>", "<head>" + WATCH, 1).replace("</body>", TRY + "</body>", 1)
    (tmp_path / "tried.html").write_text(text, encoding="utf-8")
    # Without a network, and without a profile that another browser may have open.
    command = [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--host-resolver-rules=MAP * ~NOTFOUND",
               f"--user-data-dir={tmp_path / 'profile'}", "--virtual-time-budget=10000", "--dump-dom",
               (tmp_path / "tried.html").as_uri()]
    dom = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout
    found = re.search(r'data-seen="([^"]*)"', dom)
    assert found, "the script of the page did not come to its end"
    answer = json.loads(html.unescape(found.group(1)))
    assert answer["problems"] == []
    assert answer["seen"], "there is no timeline"
    for seen in answer["seen"]:
        assert re.search(r" at [0-9.]+ (ns|us|ms|s): .*Call path: ", seen["pointed"]), seen
        assert re.search(r"^.+   [0-9.]+ (ns|us|ms|s)\n", seen["tip"]), seen
        assert seen["moved"] != seen["pointed"]
