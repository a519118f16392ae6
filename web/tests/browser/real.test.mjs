// The page with the real server: two runs, traces and profiles of all formats, hostile names, a server that dies and a trace that vanishes.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { ask, NOTHING, timeIn } from "../mock-server.mjs";
import { open, PROGRAM, REPOSITORY, TRACE } from "./browser.mjs";

const FIXED = join(REPOSITORY, "testdata/zoo/halo3d/fixed");
const json = (...args) => JSON.parse(execFileSync(PROGRAM, [...args, "--format", "json", "--quiet"], { maxBuffer: 1 << 28 })).data;
const set = (it, state) => it.page.evaluate(async (next) => { window.ouzel.setState(next); await window.ouzel.settled(); }, state);

test("two runs: the second is below the first, aligned by time or iteration, and the table is the command's", async () => {
  const it = await open({ trace: [TRACE, FIXED], isReal: true, hash: "#view=compare" });
  const below = it.page.getByTestId("timeline-second");
  assert.ok(await below.isVisible());
  const shot = () => below.locator(".overlay").evaluate((canvas) => canvas.toDataURL());
  await set(it, { time_ns: null, align: "time" });
  // By iteration, the fourth one of the second run is below the fourth of the first: the rulers differ.
  const loop = json("iterations", TRACE).loops.find((each) => !each.is_nested && 1 < each.iterations.length);
  const fourth = loop.iterations.filter((each) => each.location_cluster === loop.iterations[0].location_cluster)[3];
  await set(it, { time_ns: [fourth.start_ns, fourth.end_ns], align: "time" });
  const byTime = await shot();
  await set(it, { align: "iteration" });
  await it.page.waitForFunction((before) => document.querySelector('[data-testid="timeline-second"] .overlay').toDataURL() !== before, byTime);
  const { functions } = json("compare", TRACE, FIXED);
  const rows = await it.page.getByTestId("compare").locator("tbody tr td.name").allInnerTexts();
  assert.deepEqual([...rows].sort(), functions.map((each) => each.region).sort());
  await it.page.getByTestId("compare").getByRole("combobox").selectOption("call path");
  await it.page.evaluate(() => window.ouzel.settled());
  const paths = json("compare", TRACE, FIXED, "--call-paths").functions;
  assert.equal(await it.page.getByTestId("compare").locator("tbody tr").count(), Math.min(300, paths.length));
  const csv = await it.page.evaluate(() => window.ouzel.export("compare", "csv"));
  assert.equal(csv.trim().split("\n").length, functions.length + 1);
  assert.deepEqual(it.errors, []);
  await it.close();
});

const ZOO = join(REPOSITORY, "testdata/zoo");
for (const name of readdirSync(ZOO).filter((name) => existsSync(join(ZOO, name, "faulty", "traces.otf2"))).slice(0, 4)) {
  test(`pixels of ${name} show what holds over half of them`, async () => {
    const it = await open({ trace: join(ZOO, name, "faulty"), isReal: true });
    await set(it, { depth: "leaf" });
    const { truth, meta } = it.server;
    const end = json("info", join(ZOO, name, "faulty")).end_ns;
    const rows = meta.locations.map((location) => truth.info.locations.findIndex((each) => each.location === location.id));
    const ranks = meta.locations.filter((location) => location.parent_row === null && location.rank !== null).map((location) => location.rank);
    const places = Array.from({ length: 400 }, (_, i) => [ranks[i % ranks.length], Math.round((end * (i + 0.5)) / 400)]);
    const pixels = await it.page.evaluate((all) => Promise.all(all.map(([rank, time]) => window.ouzel.pixel(rank, time))), places);
    let checked = 0;
    pixels.forEach((pixel, i) => {
      const [rank, time] = places[i];
      if (pixel === null) return;
      const [from, to] = pixel.time_ns;
      assert.ok(from <= time && time <= to);
      const row = rows[meta.locations.findIndex((location) => location.rank === rank)];
      const sums = new Map();
      for (const [path, held] of timeIn(truth.rows[row], from, to)) {
        const names = [];
        for (let at = path; at !== NOTHING && 0 <= at; at = truth.paths[at][0]) names.unshift(truth.regions[truth.paths[at][1]].name);
        const key = JSON.stringify(names);
        sums.set(key, (sums.get(key) ?? 0) + held);
      }
      const [best] = [...sums].sort((a, b) => b[1] - a[1]);
      if (!best || best[1] <= (to - from) / 2) return;
      checked += 1;
      assert.deepEqual(pixel.call_path ?? [], JSON.parse(best[0]), `rank ${rank} at ${time}`);
    });
    assert.ok(100 < checked, `only ${checked} pixels have a majority`);
    assert.deepEqual(it.errors, []);
    await it.close();
  });
}

// Where more traces of other programs may be; tests that find none have less to look at.
const SHARED = process.env.OUZEL_SHARED;
const FORMATS = [
  ["Nsight", join(REPOSITORY, "testdata/nsight-made/small.sqlite")],
  ["OTF2 of EZTrace", join(REPOSITORY, "testdata/eztrace-jacobi")],
  ...(SHARED ? ["hpctoolkit/pingpong-pipit", "hpctoolkit/hatchet-cpi-v4", "chrome-pytorch/hta-ns_resolution_trace", "cube/hatchet-scorep-cpi", "cube/cubelib-example-summary", "nsight/jacc-cg"].map((name) => [name, join(SHARED, "data", name)]) : []),
];
for (const [name, path] of FORMATS) {
  test(`${name}: every panel that is there answers`, async (t) => {
    let format;
    try { format = json("info", path).format; } catch { return t.skip("neither a trace nor a profile"); }
    const it = await open({ trace: path, isReal: true });
    for (const tab of await it.page.getByRole("tab").all()) {
      const title = await tab.innerText();
      await tab.click();
      await it.page.evaluate(() => window.ouzel.settled());
      const wrong = await it.page.locator(".deck .error").allInnerTexts();
      // What the command line refuses, the page says in its words.
      for (const text of wrong) assert.ok(/metric|waits|location|topology|message|rank|trace|profile|compare|value|loop/.test(text), `${format} ${title}: ${text}`);
    }
    assert.deepEqual(it.errors.filter((error) => !/422|400/.test(error)), []);
    await it.close();
  });
}

test("names of a trace that look like HTML are text, in every panel, with the real server", async () => {
  const evil = '<img src=x onerror="window.evil=1"><script>window.evil=2</script>';
  const folder = mkdtempSync(join(tmpdir(), "ouzel-evil-"));
  const file = join(folder, "run.json");
  const event = (ph, ts, name, tid) => ({ ph, ts, name, pid: 1, tid });
  const events = [1, 2].flatMap((tid) => [event("B", 0, evil, tid), event("B", 10, `${evil}b`, tid), event("E", 60 + tid, `${evil}b`, tid), event("E", 100, evil, tid)]);
  writeFileSync(file, JSON.stringify({ traceEvents: [{ ph: "M", name: "process_name", pid: 1, args: { name: evil } }, { ph: "M", name: "thread_name", pid: 1, tid: 1, args: { name: evil } }, ...events] }));
  const it = await open({ trace: file, isReal: true });
  await set(it, { depth: "leaf" });
  let n_seen = 0;
  for (const tab of await it.page.getByRole("tab").all()) {
    await tab.click();
    await it.page.evaluate(() => window.ouzel.settled());
    n_seen += (await it.page.locator(".deck").innerText()).includes(evil) ? 1 : 0;
  }
  assert.ok(0 < n_seen, "no panel shows the name");
  assert.equal(await it.page.evaluate(() => window.evil), undefined);
  assert.equal(await it.page.locator("img, script:not([src])").count(), 0);
  await it.close();
  rmSync(folder, { recursive: true });
});

const COUNTED = SHARED && join(SHARED, "data/otf2/scorep-pingpong-papi");
for (const kind of ["values", ...(COUNTED && existsSync(COUNTED) ? ["gains"] : [])]) {
  test(`counters over time, ${kind}: the tracks, the panel and its CSV are the command's`, async () => {
    const folder = mkdtempSync(join(tmpdir(), "ouzel-counters-"));
    const made = join(folder, "run.json");
    const value = (ts, used, other) => ({ ph: "C", ts, name: "memory", pid: 1, tid: 1, args: { used, other } });
    writeFileSync(made, JSON.stringify({ traceEvents: [{ ph: "X", ts: 0, dur: 1000, name: "work", pid: 1, tid: 1 }, value(0, 10, 0.5), value(333, 70, -2), value(334, 5, -2), value(900, 20, 1)] }));
    const trace = kind === "values" ? made : COUNTED;
    const it = await open({ trace, isReal: true });
    const { time_ns: [, end] } = it.server.meta;
    for (const [range, select] of [[null, []], [[Math.round(end * 0.3), Math.round(end * 0.99)], [`--time=${Math.round(end * 0.3)}ns..${Math.round(end * 0.99)}ns`]]]) {
      await set(it, { time_ns: range, counters: true, view: "counters" });
      const expected = json("counters-over-time", trace, "--bins", "100", ...select);
      assert.ok(0 < expected.counters.length);
      const tracks = it.page.getByTestId("counter-tracks").locator(".track");
      assert.equal(await tracks.count(), expected.counters.length);
      const rows = (await it.page.evaluate(() => window.ouzel.export("counters", "csv"))).trim().split("\n");
      assert.equal(rows[0], "metric,unit,start_ns,end_ns,gain,least,greatest");
      const text = (number) => (number === null || number === undefined ? "" : String(number));
      const lines = expected.counters.flatMap((counter) => Array.from({ length: 100 }, (_, i) => [expected.bin_edges_ns[i], expected.bin_edges_ns[i + 1], counter.gain?.[i], counter.least?.[i], counter.greatest?.[i]].map(text).join(",")));
      assert.deepEqual(rows.slice(1).map((row) => row.split(",").slice(-5).join(",")), lines);
      const [first] = expected.counters;
      const spoken = await tracks.first().locator("rect title").allTextContents();
      assert.equal(spoken.length, 100);
      const known = (first.gain ?? first.greatest).map((each) => each !== null);
      spoken.forEach((words, i) => assert.equal(!words.includes("not known"), known[i], words));
      assert.ok(await it.page.getByTestId("counters").locator(".over-time path").isVisible());
      if (first.gain) assert.ok(0 < (await it.page.getByTestId("counters").locator("tbody tr").count()));
    }
    assert.deepEqual(it.errors, []);
    await it.close();
    rmSync(folder, { recursive: true });
  });
}

test("collective operations of the timeline are those that `lateness` lists", async () => {
  const it = await open({ trace: TRACE, isReal: true });
  const { locations, time_ns } = it.server.meta;
  const get = async (limit) => (await fetch(`${it.server.url}api/messages?from=${time_ns[0]}&to=${time_ns[1]}&limit=${limit}`)).json();
  const { collectives } = await get(1_000_000);
  const drawn = collectives.flatMap(({ members }) => members.map(([row, , end]) => `${locations[row].rank} ${end}`));
  const listed = json("lateness", TRACE, "--operations").operations.filter((each) => each.kind === "collective").map((each) => `${each.rank} ${each.end_ns}`);
  assert.ok(0 < listed.length);
  assert.deepEqual(drawn.sort(), listed.sort());
  for (const { members } of collectives) for (const [, arrival, end] of members) assert.ok(arrival <= end);
  assert.equal((await get(3)).n_collectives, collectives.length);
  const shot = () => it.page.evaluate(() => document.querySelector(".overlay").toDataURL());
  const before = await shot();
  await set(it, { messages: true });
  await it.page.waitForFunction((old) => document.querySelector(".overlay").toDataURL() !== old, before);
  await it.close();
});

test("a server that dies, and a trace that vanishes: the page says so and keeps what is drawn", async () => {
  const folder = mkdtempSync(join(tmpdir(), "ouzel-gone-"));
  const copy = join(folder, "run");
  cpSync(TRACE, copy, { recursive: true });
  const it = await open({ trace: copy, isReal: true });
  rmSync(folder, { recursive: true });
  await set(it, { view: "profile", time_ns: [1_000_000, 200_000_000] });
  assert.match(await it.page.getByTestId("profile").locator(".error").innerText(), /file is missing/);
  assert.ok((await it.page.evaluate(() => window.ouzel.pixel(0, 100_000_000))).call_path);
  it.server.child.kill();
  await it.page.locator(".banner").waitFor();
  assert.match(await it.page.locator(".banner").innerText(), /server does not answer/);
  assert.equal(await it.page.getByTestId("finding").count(), 1);
  await it.close();
});
