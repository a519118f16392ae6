// What may go wrong while somebody looks: a slow line, two browsers at once, a trace that changes, a full disk.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { cpSync, mkdtempSync, readdirSync, rmSync, truncateSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { chromium } from "playwright-core";
import { addressOf, environment, FLAGS, PROGRAM, started, TRACE } from "./browser.mjs";

const json = (...args) => JSON.parse(execFileSync(PROGRAM, [...args, "--format", "json", "--quiet"], { maxBuffer: 1 << 28 })).data;
const browser = () => chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: FLAGS });
const set = (page, state) => page.evaluate(async (next) => { window.ouzel.setState(next); await window.ouzel.settled(); }, state);

/** A page of the server that is there and has everything. */
async function shown(context, url) {
  const page = await context.newPage();
  await page.goto(url);
  await page.waitForFunction(() => window.ouzel !== undefined);
  await page.evaluate(async () => { await window.ouzel.ready; await window.ouzel.settled(); });
  return page;
}

/** Whether rows and the ground between them differ in the middle of the timeline. */
const isDrawn = (page) => page.evaluate(() => {
  const from = document.querySelector(".picture");
  const copy = document.createElement("canvas");
  [copy.width, copy.height] = [from.width, from.height];
  const context = copy.getContext("2d");
  context.drawImage(from, 0, 0);
  const line = context.getImageData(copy.width >> 1, 0, 1, copy.height).data;
  const colours = new Set();
  for (let at = 0; at < line.length; at += 4) colours.add(line.slice(at, at + 3).join());
  return 1 < colours.size;
});

test("a line of 1 Mbit/s and 200 ms: the picture comes, and what is not there yet is drawn coarsely", async () => {
  const { child, url } = await started(PROGRAM, [TRACE]);
  const it = await browser();
  const page = await it.newPage({ viewport: { width: 1280, height: 720 } });
  const wire = await page.context().newCDPSession(page);
  await wire.send("Network.enable");
  await wire.send("Network.emulateNetworkConditions", { offline: false, latency: 200, downloadThroughput: 125_000, uploadThroughput: 125_000 });
  let n_bytes = 0;
  wire.on("Network.loadingFinished", ({ encodedDataLength }) => (n_bytes += encodedDataLength));
  const errors = [];
  page.on("pageerror", (error) => errors.push(String(error)));
  await page.goto(url);
  await page.waitForFunction(() => window.ouzel !== undefined);
  await page.evaluate(() => window.ouzel.ready);
  await page.waitForFunction(() => document.querySelector('[data-testid="timeline"] .picture').width !== 0);
  await page.evaluate(() => window.ouzel.settled());
  assert.ok(n_bytes <= 1e6, `the first view has ${n_bytes} bytes`);
  assert.ok(await isDrawn(page));
  // Zoomed in, fine tiles take a while; until then the coarse ones are there, never an empty picture.
  for (const [from, to] of [[100, 140], [300, 310], [20, 21]]) {
    await page.evaluate((range) => { window.ouzel.setState({ time_ns: range, depth: "leaf" }); return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))); }, [from * 1e6, to * 1e6]);
    assert.ok(await isDrawn(page), `nothing is drawn of ${from} to ${to} ms`);
  }
  // Who moves on does not wait for what was asked before.
  for (let i = 0; i < 20; i += 1) await page.evaluate((at) => window.ouzel.setState({ time_ns: [at * 1e6, at * 1e6 + 9e6] }), 100 + i);
  await page.evaluate(() => window.ouzel.settled());
  const pixel = await page.evaluate(() => window.ouzel.pixel(3, 123e6));
  assert.ok(Array.isArray(pixel.call_path));
  assert.deepEqual([await page.locator(".banner").count(), errors], [0, []]);
  await it.close();
  child.kill();
});

test("two browsers on one server have a selection each, and one goes on when the other leaves", async () => {
  const { child, url } = await started(PROGRAM, [TRACE]);
  const [first, second] = [await browser(), await browser()];
  const [a, b] = await Promise.all([shown(await first.newContext(), url), shown(await second.newContext(), url)]);
  const selections = [{ time_ns: [100_000_000, 200_000_000], ranks: "0-2" }, { time_ns: [250_000_000, 300_000_000], ranks: "5" }];
  await Promise.all([set(a, { view: "profile", ...selections[0] }), set(b, { view: "profile", ...selections[1] })]);
  for (const [page, { time_ns: [from, to], ranks }] of [[a, selections[0]], [b, selections[1]]]) {
    const { rows } = json("profile", TRACE, `--ranks=${ranks}`, `--time=${from}ns..${to}ns`);
    const lines = (await page.evaluate(() => window.ouzel.export("profile", "csv"))).trim().split("\n").slice(1);
    assert.deepEqual(lines.map((line) => line.split(",")[0]).sort(), rows.map((row) => row.region).sort());
    const cells = lines.map((line) => line.split(","));
    for (const row of rows) assert.ok(cells.some((cell) => cell[0] === row.region && cell.includes(String(row.exclusive_ns))), `${row.region} on ranks ${ranks}`);
  }
  await first.close();
  await set(b, { view: "tree", time_ns: null, ranks: null });
  assert.ok(3 < (await b.locator('[data-testid="tree"] tbody tr').count()));
  assert.equal(await b.locator(".banner").count(), 0);
  await second.close();
  child.kill();
});

test("a trace that changes while it is looked at: what was read stays, and the page says what is wrong", async () => {
  const folder = mkdtempSync(join(tmpdir(), "ouzel-changes-"));
  const copy = join(folder, "run");
  cpSync(TRACE, copy, { recursive: true });
  const { child, url } = await started(PROGRAM, [copy]);
  const it = await browser();
  const page = await shown(it, url);
  const before = await page.evaluate(() => window.ouzel.pixel(0, 100_000_000));
  // The tracer writes anew, and has written half of each file.
  const events = readdirSync(join(copy, "traces")).filter((name) => name.endsWith(".evt")).map((name) => join(copy, "traces", name));
  assert.ok(0 < events.length);
  for (const file of events) truncateSync(file, Math.floor(statSync(file).size / 2));
  await set(page, { view: "profile", time_ns: [1_000_000, 400_000_000] });
  await page.locator('[data-testid="profile"] .error').waitFor();
  assert.match(await page.locator('[data-testid="profile"] .error').innerText(), /end|truncat|chang|damage|size/i);
  await set(page, { time_ns: null });
  assert.deepEqual(await page.evaluate(() => window.ouzel.pixel(0, 100_000_000)), before);
  // Something else is there in its place.
  for (const file of events) writeFileSync(file, "no events at all");
  await set(page, { time_ns: [2_000_000, 300_000_000] });
  assert.ok(await page.locator('[data-testid="profile"] .error').isVisible());
  await set(page, { time_ns: null });
  assert.deepEqual(await page.evaluate(() => window.ouzel.pixel(0, 100_000_000)), before);
  await it.close();
  child.kill();
  rmSync(folder, { recursive: true });
});

test("a full disk: the guide says so, and the picture is the same", async () => {
  const folder = mkdtempSync(join(tmpdir(), "ouzel-full-"));
  const it = await browser();
  const pixels = [];
  for (const limit of ["unlimited", "1"]) {
    // No file may have more than a block: as on a disk that is full.
    const line = `ulimit -f ${limit}; exec "$0" view "$1" --no-open --cache "$2"`;
    const child = spawn("sh", ["-c", line, PROGRAM, TRACE, join(folder, limit)], { env: environment(), stdio: ["ignore", "pipe", "pipe"] });
    const page = await shown(it, await addressOf(child));
    await set(page, { depth: "leaf", time_ns: [100_000_000, 103_000_000] });
    pixels.push(await page.evaluate(() => Promise.all(Array.from({ length: 40 }, (_, i) => window.ouzel.pixel(i % 8, 100_000_000 + 70_000 * i)))));
    const said = (await page.locator(".notices").allInnerTexts()).join(" ");
    if (limit === "1") assert.match(said, /fine levels|not kept/);
    else assert.doesNotMatch(said, /fine levels|not kept/);
    child.kill();
    await page.close();
  }
  assert.deepEqual(pixels[1], pixels[0]);
  assert.ok(!readdirSync(join(folder, "1")).some((name) => name.endsWith(".tiles")), "half a file is kept");
  await it.close();
  rmSync(folder, { recursive: true });
});
