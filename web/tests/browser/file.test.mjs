// `ouzel view -o`: one file, opened from the disk, shows what the server shows.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";
import { FLAGS, PROGRAM, REPOSITORY, TRACE } from "./browser.mjs";

const env = { ...process.env, OUZEL_VIEW_DIST: join(REPOSITORY, "web/dist") };

test("a file shows the findings and the pixels, and says what it leaves out", async () => {
  const folder = mkdtempSync(join(tmpdir(), "ouzel-view-"));
  const file = join(folder, "view.html");
  execFileSync(PROGRAM, ["view", TRACE, "-o", file, "--detail", "2M", "--quiet"], { env });
  assert.ok(statSync(file).size <= 2 << 20);
  assert.ok(!readFileSync(file, "utf8").includes("unsafe"));
  const report = JSON.parse(execFileSync(PROGRAM, ["report", TRACE, "--format", "json", "--quiet"], { maxBuffer: 1 << 28 }));
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: FLAGS });
  const page = await browser.newPage({ viewport: { width: 1280, height: 720 } });
  const [errors, asked] = [[], []];
  page.on("pageerror", (error) => errors.push(String(error)));
  page.on("console", (message) => message.type() === "error" && errors.push(message.text()));
  page.on("request", (request) => /^https?:/.test(request.url()) && asked.push(request.url()));
  await page.goto(pathToFileURL(file).href);
  await page.waitForFunction(() => window.ouzel !== undefined);
  await page.evaluate(async () => { await window.ouzel.ready; await window.ouzel.settled(); });
  const titles = await page.getByTestId("finding").locator(".title").allInnerTexts();
  assert.deepEqual(titles.map((title) => title.trim()), report.data.findings.map((finding) => finding.title));
  const finding = report.data.findings[0];
  const pixel = await page.evaluate(async ([rank, time]) => { window.ouzel.setState({ depth: "leaf" }); await window.ouzel.settled(); return window.ouzel.pixel(rank, time); }, [0, Math.round((finding.time_range_ns[0] + finding.time_range_ns[1]) / 2)]);
  const [from, to] = pixel.time_ns;
  const calls = JSON.parse(execFileSync(PROGRAM, ["call-tree", TRACE, "--ranks=0", `--time=${Math.round(from)}ns..${Math.round(to)}ns`, "--format", "json", "--quiet"], { maxBuffer: 1 << 28 }));
  const best = calls.data.nodes.reduce((a, b) => (a.exclusive_ns < b.exclusive_ns ? b : a));
  if ((to - from) / 2 < best.exclusive_ns) assert.equal(pixel.call_path.at(-1), best.call_path?.at(-1) ?? best.region);
  assert.match(await page.locator(".notices").innerText(), /Not in this file/);
  assert.deepEqual([errors, asked], [[], []]);
  await browser.close();
  rmSync(folder, { recursive: true });
});
