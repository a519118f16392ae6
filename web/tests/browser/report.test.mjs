// `ouzel report -o`: the timeline inside of the page can be zoomed, and the page can do without.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";
import { environment, FLAGS, PROGRAM, TRACE } from "./browser.mjs";

const folder = mkdtempSync(join(tmpdir(), "ouzel-report-"));
const file = join(folder, "report.html");
let browser;

before(async () => {
  execFileSync(PROGRAM, ["report", TRACE, "-o", file, "--quiet"], { env: environment() });
  browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: FLAGS });
});
after(async () => {
  await browser.close();
  rmSync(folder, { recursive: true });
});

const ask = (...words) => JSON.parse(execFileSync(PROGRAM, [...words, "--format", "json", "--quiet"], { maxBuffer: 1 << 28 })).data;
const shown = (page, selector) => page.locator(selector).first().isVisible();

/** The page, its timeline, and what went wrong or over the network. */
async function open(options = {}) {
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 }, ...options });
  const wrong = [];
  page.on("pageerror", (error) => wrong.push(String(error)));
  page.on("console", (message) => message.type() === "error" && wrong.push(message.text()));
  page.on("request", (request) => /^https?:/.test(request.url()) && wrong.push(request.url()));
  await page.goto(pathToFileURL(file).href);
  if (options.javaScriptEnabled === false) return { page, wrong };
  await page.waitForSelector(".has-zoomed");
  await page.locator("iframe.zoomed").scrollIntoViewIfNeeded();
  const frame = page.frames()[1];
  await frame.evaluate(async () => { await window.ouzel.ready; await window.ouzel.settled(); });
  return { page, frame, wrong };
}

test("the timeline takes the place of its picture, and can be zoomed and moved", async () => {
  const { page, frame, wrong } = await open();
  assert.deepEqual([await shown(page, "#rank-timeline > .plot"), await shown(page, "#rank-timeline .readout")], [false, false]);
  assert.equal(await frame.getByTestId("guide").count(), 0, "the report says it");
  const box = await page.locator("iframe.zoomed").boundingBox();
  await page.mouse.move(box.x + box.width / 2, box.y + box.height - 40);
  const before = await page.evaluate(() => scrollY);
  await page.keyboard.down("Control");
  for (let i = 0; i < 6; i += 1) await page.mouse.wheel(0, -200);
  await page.keyboard.up("Control");
  await frame.waitForFunction(() => window.ouzel.state().time_ns !== null);
  await frame.evaluate(() => window.ouzel.settled());
  const [from, to] = await frame.evaluate(() => window.ouzel.state().time_ns);
  assert.ok(to - from < 3e8, `${from} to ${to}`);
  assert.equal(await page.evaluate(() => scrollY), before);
  await page.mouse.click(box.x + box.width / 2, box.y + box.height - 40);
  await page.keyboard.press("d");
  await frame.waitForFunction((before) => before < window.ouzel.state().time_ns[0], from);
  await page.keyboard.press("0");
  await frame.waitForFunction(() => window.ouzel.state().time_ns === null);
  // All rows are in view, so the wheel belongs to the report.
  await page.mouse.wheel(0, 300);
  await page.waitForFunction((before) => before < scrollY, before);
  assert.deepEqual(wrong, []);
  await page.close();
});

test("what a pixel shows is what the command counts there", async () => {
  const { page, frame, wrong } = await open();
  const { time_range_ns: [from, to] } = ask("report", TRACE).findings[0];
  let n = 0;
  for (let i = 0; i < 12; i += 1) {
    const [rank, time] = [i % 8, Math.round(from + ((to - from) * (i + 0.5)) / 12)];
    await frame.evaluate(([at]) => window.ouzel.setState({ depth: "leaf", time_ns: [Math.max(0, at - 2e6), at + 2e6] }), [time]);
    const pixel = await frame.evaluate(([rank, time]) => window.ouzel.pixel(rank, time), [rank, time]);
    const [a, b] = pixel.time_ns.map(Math.round);
    assert.ok(b - a < 1e6, `a pixel of ${b - a} ns`);
    const best = ask("call-tree", TRACE, `--ranks=${rank}`, `--time=${a}ns..${b}ns`).nodes.reduce((x, y) => (x.exclusive_ns < y.exclusive_ns ? y : x));
    if ((b - a) / 2 < best.exclusive_ns) {
      n += 1;
      assert.equal(pixel.call_path.at(-1), best.call_path?.at(-1) ?? best.region);
    }
  }
  assert.ok(6 <= n, `${n} pixels belong to one call path`);
  assert.deepEqual(wrong, []);
  await page.close();
});

test("a finding leads to its part of the timeline, and back", async () => {
  const { page, frame, wrong } = await open();
  const { findings } = ask("report", TRACE);
  const links = page.locator("a[data-show]");
  assert.equal(await links.count(), findings.length);
  for (const [i, finding] of findings.entries()) {
    // A click while the page still scrolls to the link can miss it.
    await links.nth(i).scrollIntoViewIfNeeded();
    await page.waitForTimeout(500);
    await links.nth(i).click();
    await frame.waitForFunction((path) => JSON.stringify(window.ouzel.state().call_path) === path, JSON.stringify(finding.call_path));
    const state = await frame.evaluate(() => window.ouzel.state());
    assert.equal(state.ranks, finding.ranks.ranges || null);
    const [from, to] = finding.time_range_ns;
    if (state.time_ns) assert.ok(state.time_ns[0] <= from && to <= state.time_ns[1], `${state.time_ns}`);
  }
  await frame.getByRole("button", { name: "everything" }).click();
  const { time_ns, ranks, call_path } = await frame.evaluate(() => window.ouzel.state());
  assert.deepEqual([time_ns, ranks, call_path], [null, null, null]);
  assert.deepEqual(wrong, []);
  await page.close();
});

test("keys that need a server do nothing", async () => {
  const { page, frame, wrong } = await open();
  await frame.locator("section.timeline").focus();
  const before = await frame.evaluate(() => window.ouzel.state());
  for (const key of ["n", "c", "x", "e", "m", "p", "f"]) await page.keyboard.press(key);
  assert.deepEqual(await frame.evaluate(() => window.ouzel.state()), before);
  assert.equal(await frame.getByRole("alert").count(), 0);
  await page.keyboard.press("?");
  assert.doesNotMatch(await frame.getByRole("dialog").innerText(), /next finding/);
  assert.deepEqual(wrong, []);
  await page.close();
});

test("on paper and without scripts there is the still picture", async () => {
  const { page } = await open();
  await page.emulateMedia({ media: "print" });
  assert.deepEqual([await shown(page, "#rank-timeline > .plot"), await shown(page, "iframe.zoomed"), await shown(page, ".for-zoomed")], [true, false, false]);
  await page.close();
  const { page: quiet } = await open({ javaScriptEnabled: false });
  assert.deepEqual([await shown(quiet, "#rank-timeline > .plot"), await quiet.locator("iframe").count(), await shown(quiet, ".for-still")], [true, 0, true]);
  await quiet.close();
});

test("the frame has no origin, and the page around it cannot be reached", async () => {
  const { page, frame } = await open();
  assert.equal(await page.locator("iframe.zoomed").getAttribute("sandbox"), "allow-scripts");
  const tried = await frame.evaluate(async () => {
    const of = async (attempt) => { try { return String(await attempt()); } catch (error) { return error.name; } };
    return [
      origin,
      await of(() => parent.document.title),
      await of(async () => (await fetch("https://example.org/")).status),
      await of(() => { const made = document.createElement("script"); made.textContent = "window.ran = 1"; document.body.append(made); return window.ran ?? "did not run"; }),
    ];
  });
  assert.deepEqual(tried, ["null", "SecurityError", "TypeError", "did not run"]);
  assert.ok(!readFileSync(file, "utf8").includes("unsafe"));
  await page.close();
});

test("on a phone it fits, and a finger still scrolls the page", async () => {
  const { page, frame } = await open({ viewport: { width: 390, height: 800 } });
  const { x, width } = await page.locator("iframe.zoomed").boundingBox();
  assert.ok(0 <= x && x + width <= 390, `${x} + ${width}`);
  assert.ok(await frame.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
  assert.equal(await frame.evaluate(() => getComputedStyle(document.querySelector(".overlay")).touchAction), "pan-y");
  await page.close();
});
