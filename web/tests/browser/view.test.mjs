// The page in a real browser, with answers of the real program; tiles are counted by tests/mock-server.mjs.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { ask, NOTHING, timeIn } from "../mock-server.mjs";
import { open, PROGRAM, TRACE } from "./browser.mjs";

let it;
before(async () => { it = await open(); });
after(async () => { assert.deepEqual(it.errors, []); await it.close(); });

const set = (state) => it.page.evaluate(async (next) => { window.ouzel.setState(next); await window.ouzel.settled(); }, state);
const state = () => it.page.evaluate(() => window.ouzel.state());
const everything = { time_ns: null, brush_ns: null, ranks: null, call_path: null, findings_index: null, focus: false, depth: "auto", search: "", order: "rank", view: "profile" };

/** The call path at `depth` that holds over half of a pixel, by the list of calls. */
function majority(row, [from, to], depth) {
  const { paths, rows, regions } = it.server.truth;
  const sums = new Map();
  for (const [path, time] of timeIn(rows[row], from, to)) {
    const names = [];
    for (let at = path; at !== NOTHING && 0 <= at; at = paths[at][0]) names.unshift(regions[paths[at][1]].name);
    const key = JSON.stringify(depth === "leaf" ? names : names.slice(0, depth));
    sums.set(key, (sums.get(key) ?? 0) + time);
  }
  const [best] = [...sums].sort((a, b) => b[1] - a[1]);
  return best && (to - from) / 2 < best[1] ? JSON.parse(best[0]) : null;
}

for (const [name, range, depth] of [["the whole run", null, "leaf"], ["at depth 2", null, 2], ["a part", [100_000_000, 160_000_000], "leaf"], ["exact bins", [150_000_000, 151_000_000], "leaf"]]) {
  test(`pixels show what holds over half of them: ${name}`, async () => {
    await set({ ...everything, time_ns: range, depth });
    const end = it.server.meta.time_ns[1];
    const [from, to] = range ?? [0, end];
    const places = Array.from({ length: 160 }, (_, i) => [i % 8, Math.round(from + ((to - from) * (i + 0.5)) / 160)]);
    const pixels = await it.page.evaluate((all) => Promise.all(all.map(([rank, time]) => window.ouzel.pixel(rank, time))), places);
    let checked = 0;
    pixels.forEach((pixel, i) => {
      const [rank, time] = places[i];
      assert.ok(pixel.time_ns[0] <= time && time <= pixel.time_ns[1], `${time} is not in ${pixel.time_ns}`);
      const truth = majority(rank, pixel.time_ns, depth);
      if (truth === null) return;
      checked += 1;
      assert.deepEqual(pixel.call_path ?? [], truth, `rank ${rank} at ${time}`);
    });
    assert.ok(80 < checked, `only ${checked} pixels have a majority`);
  });
}

test("the canvas shows the colour of what pixel() says", async () => {
  await set({ ...everything, colour: "category" });
  const category = async (rank, x) => {
    const [a, b] = [0, it.server.meta.time_ns[1]];
    const box = await it.page.evaluate(() => { const r = document.querySelector(".picture").getBoundingClientRect(); return [r.width, r.height]; });
    const time = a + ((b - a) * (x + 0.5)) / box[0];
    const answer = await it.page.evaluate(([r, t]) => window.ouzel.pixel(r, t), [rank, time]);
    const seen = await it.page.evaluate(([px, py]) => {
      const from = document.querySelector(".picture");
      const copy = document.createElement("canvas");
      [copy.width, copy.height] = [from.width, from.height];
      const context = copy.getContext("2d");
      context.drawImage(from, 0, 0);
      return [...context.getImageData(px, py, 1, 1).data];
    }, [x, Math.round((box[1] / 8) * rank + 10)]);
    return [answer, seen];
  };
  const { categories, regions } = it.server.meta;
  for (const x of [3, 200, 333, 500, 640, 801]) {
    const [answer, seen] = await category(2, x);
    const region = regions.find((each) => each.name === answer.call_path.at(-1));
    const hex = categories[region.category].colour_dark;
    assert.deepEqual(seen.slice(0, 3), [1, 3, 5].map((at) => Number.parseInt(hex.slice(at, at + 2), 16)), `x ${x}`);
  }
  await set({ colour: "path" });
});

test("findings are those of the report, in its order, and a click zooms to the evidence", async () => {
  await set(everything);
  const { findings } = JSON.parse(await ask(PROGRAM, TRACE, { question: "report" })).data;
  const shown = await it.page.getByTestId("finding").allInnerTexts();
  assert.equal(shown.length, findings.length);
  findings.forEach((finding, i) => assert.ok(shown[i].replace(/\s+/g, " ").includes(finding.title), shown[i]));
  await it.page.getByTestId("finding").first().getByRole("button").click();
  const now = await state();
  assert.equal(now.findings_index, 0);
  assert.equal(now.ranks, findings[0].ranks.ranges);
  assert.deepEqual(now.call_path, findings[0].call_path);
  assert.ok(now.time_ns === null || (now.time_ns[0] <= findings[0].time_range_ns[0] && findings[0].time_range_ns[1] <= now.time_ns[1]));
  const text = await it.page.getByTestId("finding").first().innerText();
  for (const part of [findings[0].sentence, findings[0].advice, findings[0].evidence[0].text]) assert.ok(text.includes(part), part);
});

test("the profile is the command's, for the selection", async () => {
  const selection = { time_ns: [100_000_000, 200_000_000], ranks: "3-5" };
  await set({ ...everything, ...selection });
  const { rows, columns } = JSON.parse(await ask(PROGRAM, TRACE, { question: "profile", selection })).data;
  const csv = await it.page.evaluate(() => window.ouzel.export("profile", "csv"));
  const lines = csv.trim().split("\n").map((line) => line.split(","));
  assert.deepEqual(lines[0], columns.map((column) => column.name));
  assert.equal(lines.length, rows.length + 1);
  rows.forEach((row, i) => columns.forEach((column, j) => assert.equal(lines[i + 1][j], String(row[column.name] ?? ""), `${column.name} of ${row.region}`)));
  const first = await it.page.locator('[data-testid="profile"] tbody tr').first().innerText();
  assert.ok(first.startsWith(rows[0].region), first);
});

test("the state is in the address and comes back from it", async () => {
  const wanted = { view: "tree", time_ns: [1_000_000, 9_000_000], ranks: "1-2", depth: 4, order: "cluster", colour: "region", call_path: ["main", "timestep"] };
  await set({ ...everything, ...wanted });
  const url = it.page.url();
  await set({ ...everything, colour: "path" });
  await it.page.evaluate((hash) => (location.hash = hash), new URL(url).hash);
  await it.page.waitForFunction(() => window.ouzel.state().view === "tree");
  const now = await state();
  for (const [key, value] of Object.entries(wanted)) assert.deepEqual(now[key], value, key);
  await set({ ...everything, colour: "path" });
});

test("keys move, mark and lead back", async () => {
  await set(everything);
  const press = async (key) => { await it.page.keyboard.press(key); return state(); };
  await it.page.getByTestId("timeline").focus();
  const zoomed = await press("w");
  assert.ok(zoomed.time_ns[1] - zoomed.time_ns[0] < it.server.meta.time_ns[1]);
  const later = await press("d");
  assert.ok(zoomed.time_ns[0] < later.time_ns[0]);
  assert.equal((await press("0")).time_ns, null);
  assert.deepEqual((await press("Backspace")).time_ns, later.time_ns);
  assert.equal((await press("3")).depth, 3);
  assert.equal((await press("c")).order, "cluster");
  assert.equal((await press("m")).messages, true);
  assert.equal((await press("m")).messages, false);
  assert.equal((await press("n")).findings_index, 0);
  await press("/");
  await it.page.keyboard.type("solve");
  assert.equal((await state()).search, "solve");
  assert.equal((await press("Escape")).search, "");
  await press("?");
  assert.ok(await it.page.getByRole("dialog").isVisible());
  await press("Escape");
  assert.equal(await it.page.getByRole("dialog").count(), 0);
});

test("search lights and lists: the call paths with the name, and Enter selects one", async () => {
  await set({ ...everything, depth: "leaf" });
  const { nodes } = JSON.parse(await ask(PROGRAM, TRACE, { question: "call-tree" })).data;
  const expected = nodes.filter((node) => node.region.toLowerCase().includes("mpi_wait"));
  assert.ok(0 < expected.length && expected.length <= 12);
  const before = await it.page.evaluate(() => document.querySelector(".picture").toDataURL());
  await it.page.getByTestId("timeline").focus();
  await it.page.keyboard.press("/");
  await it.page.keyboard.type("MPI_Wait");
  const list = it.page.getByTestId("found");
  const titles = await list.getByRole("option").evaluateAll((all) => all.map((each) => each.title));
  assert.deepEqual([...titles].sort(), expected.map((node) => node.call_path.join(" › ")).sort());
  assert.notEqual(await it.page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(document.querySelector(".picture").toDataURL()))))), before);
  await it.page.keyboard.press("ArrowDown");
  await it.page.keyboard.press("Enter");
  assert.equal((await state()).call_path.join(" › "), titles[0]);
  assert.equal(await list.count(), 0);
  await it.page.keyboard.press("Escape");
  await set(everything);
});

test("clusters are opened and calls drawn by key", async () => {
  await set({ ...everything, order: "cluster" });
  const closed = (await labels()).length;
  await it.page.getByTestId("timeline").focus();
  await it.page.keyboard.press("x");
  assert.equal((await labels()).length, 8);
  await it.page.keyboard.press("x");
  assert.equal((await labels()).length, closed);
  await set({ order: "rank", ranks: "5-6" });
  await it.page.keyboard.press("e");
  assert.equal((await state()).expanded, 5);
  await it.page.keyboard.press("e");
  assert.equal((await state()).expanded, null);
  await set(everything);
});

test("a drag marks time, and Enter zooms to it", async () => {
  await set(everything);
  const box = await it.page.locator(".overlay").boundingBox();
  await it.page.mouse.move(box.x + 300, box.y + 80);
  await it.page.mouse.down();
  await it.page.mouse.move(box.x + 400, box.y + 82, { steps: 3 });
  await it.page.mouse.up();
  const { brush_ns } = await state();
  assert.ok(brush_ns[0] < brush_ns[1]);
  await it.page.keyboard.press("Enter");
  const now = await state();
  assert.deepEqual(now.time_ns, brush_ns);
  assert.equal(now.brush_ns, null);
});

test("every panel answers and exports", async () => {
  await set(everything);
  for (const view of ["profile", "tree", "time-profile", "matrix", "iterations", "clusters", "counters", "topology", "compare"]) {
    await set({ view });
    const panel = it.page.getByTestId(view);
    assert.ok(await panel.isVisible(), view);
    assert.equal(await panel.locator(".error").count(), 0, view);
  }
  const tree = await it.page.evaluate(() => window.ouzel.export("tree", "csv"));
  assert.match(tree, /^node,parent,depth,region,call_path/);
  const svg = await it.page.evaluate(() => window.ouzel.export("time-profile", "svg"));
  assert.match(svg, /^<svg.*<path /s);
  const png = await it.page.evaluate(async () => { const blob = await window.ouzel.export("timeline", "png"); return [...new Uint8Array(await blob.arrayBuffer())].slice(1, 4); });
  assert.deepEqual(png, [80, 78, 71]);
  // A panel of text and shapes as a picture of its size, with more than one colour.
  const [width, colours] = await it.page.evaluate(async () => {
    const picture = await createImageBitmap(await window.ouzel.export("time-profile", "png"));
    const canvas = new OffscreenCanvas(picture.width, picture.height);
    const context = canvas.getContext("2d");
    context.drawImage(picture, 0, 0);
    const { data } = context.getImageData(0, picture.height >> 1, picture.width, 1);
    const seen = new Set();
    for (let at = 0; at < data.length; at += 4) seen.add(data.slice(at, at + 3).join());
    return [picture.width, seen.size];
  });
  const shown = await it.page.getByTestId("time-profile").evaluate((panel) => panel.getBoundingClientRect().width);
  assert.equal(width, Math.round(shown));
  assert.ok(4 < colours, `${colours} colours`);
});

test("the topology shows the command's values, picks them, marks ranks and turns all views together", async () => {
  const options = { scope: "exclusive", values: true, metric: "time", path: "/main/timestep/runge_kutta_stage/advance/fluxes/solve_riemann" };
  await set({ ...everything, view: "topology", metric: "time", call_path: options.path.slice(1).split("/") });
  const { data } = JSON.parse(await ask(PROGRAM, TRACE, { question: "correlate", options }));
  const panel = it.page.getByTestId("topology");
  const csv = await it.page.evaluate(() => window.ouzel.export("topology", "csv"));
  const lines = csv.trim().split("\n").slice(1).map((line) => line.split(","));
  assert.deepEqual(lines.map((line) => Number(line.at(-1))), data.values.filter((value) => value !== null));
  // What is under the pointer is a value of the command.
  const box = await panel.locator("canvas").first().boundingBox();
  const picked = new Set();
  for (let x = 4; x < box.width; x += 6) {
    await it.page.mouse.move(box.x + x, box.y + box.height / 2);
    const found = /\] rank (\d+): (.*)/.exec(await panel.locator("figcaption").first().innerText());
    if (found) picked.add(Number(found[1]));
  }
  assert.ok(1 < picked.size, `picked ${[...picked]}`);
  // The first match beside it, under the same camera.
  const ranked = JSON.parse(await ask(PROGRAM, TRACE, { question: "correlate", options: { ...options, values: false, top: 20 } })).data.rows;
  const rows = panel.locator(".alike tbody tr");
  assert.equal(await rows.count(), ranked.length);
  assert.ok((await rows.first().innerText()).includes(ranked[0].r.toFixed(3)));
  await rows.first().getByRole("checkbox").check();
  await it.page.evaluate(() => window.ouzel.settled());
  assert.deepEqual((await state()).beside, [{ metric: ranked[0].metric, call_path: ranked[0].call_path }]);
  const canvases = panel.locator(".volumes canvas");
  assert.equal(await canvases.count(), 2);
  const pixels = () => it.page.evaluate(() => [...document.querySelectorAll(".volumes canvas")].map((canvas) => canvas.toDataURL()));
  const before_ = await pixels();
  await canvases.first().focus();
  await it.page.keyboard.press("ArrowLeft");
  await it.page.keyboard.press("ArrowUp");
  const turned = await pixels();
  turned.forEach((picture, i) => assert.notEqual(picture, before_[i], `view ${i} did not turn`));
  // The upper half of the severities: their ranks are marked in all panels.
  await set({ opaque: [0.5, 1] });
  assert.notEqual((await pixels())[0], turned[0]);
  await panel.getByRole("button", { name: "mark ranks" }).click();
  const [low, high] = [Math.min(...data.values), Math.max(...data.values)];
  const upper = data.ranks.filter((_, i) => (low + high) / 2 <= data.values[i]).sort((a, b) => a - b);
  const marked = (await state()).ranks.split(",").flatMap((part) => { const [a, b = a] = part.split("-").map(Number); return Array.from({ length: b - a + 1 }, (_, i) => a + i); });
  assert.deepEqual(marked, upper);
  await set({ ...everything, opaque: null, beside: null, metric: null });
});

const labels = () => it.page.evaluate(() => window.ouzel.settled().then(() => window.ouzel.rows()));

test("rows are in the order that is asked for: clusters, severity, topology", async () => {
  const { clusters } = JSON.parse(await ask(PROGRAM, TRACE, { question: "clusters" })).data;
  await set({ ...everything, order: "cluster" });
  const bands = await labels();
  assert.deepEqual(bands.map((band) => band.ranks), clusters.map((cluster) => cluster.ranks.list));
  const [large, small] = [bands.find((band) => 1 < band.ranks.length), bands.find((band) => band.ranks.length === 1)];
  if (large && small) assert.ok(Math.abs(large.height / small.height - Math.log2(large.ranks.length + 1)) < 0.1);
  const path = "/main/timestep/runge_kutta_stage/advance/fluxes/solve_riemann";
  const { data } = JSON.parse(await ask(PROGRAM, TRACE, { question: "correlate", options: { values: true, scope: "exclusive", metric: "time", path } }));
  const value = new Map(data.ranks.map((rank, i) => [rank, data.values[i]]));
  await set({ ...everything, order: "time", call_path: path.slice(1).split("/") });
  const ranks = (await labels()).map((row) => row.ranks[0]);
  ranks.slice(1).forEach((rank, i) => assert.ok(value.get(rank) <= value.get(ranks[i]), `rank ${rank} after rank ${ranks[i]}`));
  await set({ ...everything, order: "topology" });
  assert.deepEqual((await labels()).map((row) => row.ranks[0]), data.ranks);
});

test("waits are drawn where they were, and what is sent below the timeline", async () => {
  const waits = JSON.parse(await ask(PROGRAM, TRACE, { question: "waits", options: { per: "rank" } })).data.rows;
  await set({ ...everything, waits: true, track: "messages" });
  const wait = waits.find((each) => each.culprit !== null);
  await set({ time_ns: [Math.max(0, wait.longest_at_ns - wait.longest_ns), wait.longest_at_ns + 2 * wait.longest_ns] });
  const box = await it.page.locator(".overlay").boundingBox();
  const rows = await labels();
  const row = rows.find((each) => each.ranks.includes(wait.rank));
  await it.page.mouse.move(box.x + 92 + (box.width - 92) / 2, box.y + 36 + row.y + row.height / 2);
  const text = await it.page.locator(".tooltip .wait").innerText();
  assert.ok(text.startsWith(wait.class.replaceAll("_", " ")) && text.includes(`rank ${wait.culprit.rank} in ${wait.culprit.call_path.at(-1)}`), text);
  await set({ time_ns: null, waits: false });
  const over = JSON.parse(await ask(PROGRAM, TRACE, { question: "comm-over-time", options: { bins: 100, unit: "messages" } })).data;
  const titles = await it.page.getByTestId("track").locator("rect title").allTextContents();
  assert.deepEqual(titles.map((title) => Number(/: ([\d\u202f]+) messages sent/.exec(title)[1].replaceAll("\u202f", ""))), over.sent);
  await set({ track: "none" });
});

test("at 1280 × 720 all tools and the whole topology are on the screen", async () => {
  await set({ ...everything, view: "topology", waits: false, track: "none" });
  const outside = await it.page.evaluate(() => [...document.querySelectorAll(".tools > *, .volumes canvas, .volumes .scale")]
    .filter((part) => { const { right, bottom } = part.getBoundingClientRect(); return innerWidth < right || innerHeight < bottom; })
    .map((part) => part.textContent || part.tagName));
  assert.deepEqual(outside, []);
});

test("frames are drawn while the picture moves", async () => {
  await set(everything);
  const times = await it.page.evaluate(() => window.ouzel.frames(20));
  assert.equal(times.length, 20);
  assert.ok(times.every(Number.isFinite));
  assert.equal((await state()).time_ns, null);
});
