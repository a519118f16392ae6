// Every panel of every kind of trace at two sizes, to be looked at: node tests/browser/looks.mjs FOLDER [TRACE …]
import { existsSync, mkdirSync } from "node:fs";
import { basename, join } from "node:path";
import { open, REPOSITORY } from "./browser.mjs";

const SHARED = process.env.OUZEL_SHARED;
const OF_SHARED = ["otf2/scorep-pingpong-papi", "hpctoolkit/pingpong-pipit", "hpctoolkit/hatchet-cpi-v4", "chrome-pytorch/hta-ns_resolution_trace", "nsight/jacc-cg", "cube/hatchet-scorep-cpi"];
const SIZES = [[1280, 720], [3840, 2160]];

const [folder, ...named] = process.argv.slice(2);
if (folder === undefined) throw new Error("usage: node tests/browser/looks.mjs FOLDER [TRACE …]");
const ours = ["testdata/zoo/halo3d/faulty", "testdata/nsight-made/small.sqlite"].map((name) => join(REPOSITORY, name));
const traces = 0 < named.length ? named : [...ours, ...(SHARED ? OF_SHARED.map((name) => join(SHARED, "data", name)) : [])].filter((path) => existsSync(path));

mkdirSync(folder, { recursive: true });
for (const trace of traces) {
  for (const [width, height] of SIZES) {
    const it = await open({ trace, isReal: true, width, height, dark: width < 2000 });
    const name = (panel) => join(folder, `${basename(trace)}-${panel}-${width}.png`);
    const outside = () => it.page.evaluate(() => [...document.querySelectorAll(".tools > *, .tabs button, header *")].filter((part) => innerWidth < part.getBoundingClientRect().right).map((part) => part.textContent));
    for (const tab of await it.page.getByRole("tab").all()) {
      const title = (await tab.innerText()).toLowerCase().replaceAll(" ", "-");
      await tab.click();
      await it.page.evaluate(() => window.ouzel.settled());
      await it.page.screenshot({ path: name(title) });
    }
    await it.page.evaluate(async () => { window.ouzel.setState({ view: "timeline", messages: true, waits: true, counters: true, critical_path: true, track: "bytes" }); await window.ouzel.settled(); });
    await it.page.screenshot({ path: name("timeline") });
    console.log(`${trace} ${width}: ${[...new Set(await outside())].join(", ") || "all on the screen"}; ${it.errors.join("; ") || "no errors"}`);
    await it.close();
  }
}
