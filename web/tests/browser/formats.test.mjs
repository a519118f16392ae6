// The page with traces and profiles of other formats: panels are there, and nothing fails.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { open, PROGRAM, REPOSITORY, TRACE } from "./browser.mjs";

const panels = async (trace, views, more = {}) => {
  assert.ok(existsSync(trace), trace);
  const it = await open({ trace, ...more });
  for (const view of views) {
    await it.page.evaluate(async (v) => { window.ouzel.setState({ view: v }); await window.ouzel.settled(); }, view);
    assert.ok(await it.page.getByTestId(view).isVisible(), view);
  }
  assert.ok(await it.page.getByTestId("guide").isVisible());
  return it;
};

test("Nsight: a trace without ranks", async () => {
  const it = await panels(join(REPOSITORY, "testdata/nsight-made/small.sqlite"), ["timeline", "profile", "tree", "time-profile"]);
  const pixel = await it.page.evaluate(() => window.ouzel.pixel(0, 20));
  assert.ok(pixel.call_path === null || Array.isArray(pixel.call_path));
  await it.close();
});

test("Chrome: a trace that ouzel writes", async () => {
  const folder = mkdtempSync(join(tmpdir(), "ouzel-view-"));
  const file = join(folder, "run.json");
  execFileSync(PROGRAM, ["convert", TRACE, "--to", "chrome", file, "--quiet"]);
  const it = await panels(file, ["timeline", "profile", "tree", "iterations"]);
  await it.close();
  rmSync(folder, { recursive: true });
});

test("CUBE: a profile has a tree and no timeline", async () => {
  const folder = mkdtempSync(join(tmpdir(), "ouzel-view-"));
  const file = join(folder, "run.cubex");
  execFileSync(PROGRAM, ["convert", TRACE, "--to", "cube", file, "--quiet"]);
  const it = await panels(file, ["profile", "tree"]);
  assert.ok(!(await it.page.getByTestId("timeline").isVisible()));
  const rows = await it.page.locator('[data-testid="tree"] tbody tr').count();
  assert.ok(3 < rows, `${rows} rows`);
  await it.close();
  rmSync(folder, { recursive: true });
});

const MARKER = "otf2-marker";
const hasMarker = spawnSync(MARKER, ["--version"]).status === 0;

test("OTF2: markers that people set are listed, drawn and told", { skip: hasMarker ? false : `${MARKER} is not installed` }, async () => {
  const folder = mkdtempSync(join(tmpdir(), "ouzel-view-"));
  execFileSync(PROGRAM, ["convert", TRACE, "--to", "otf2", folder, "--quiet"]);
  const anchor = join(folder, "traces.otf2");
  const printed = execFileSync(PROGRAM, ["print", anchor, "--definitions"], { encoding: "utf8" });
  const [, begin, length] = /global_offset (\d+), trace_length (\d+)/.exec(printed);
  execFileSync(MARKER, ["--add-def", "by hand", "slow", "HIGH", anchor]);
  execFileSync(MARKER, ["--add", "by hand", "slow", `${Math.round(Number(begin) + Number(length) / 2)}`, "GLOBAL", "look <b>here</b>", anchor]);
  const it = await panels(anchor, ["timeline", "profile"], { isReal: true });
  const listed = it.page.locator(".markers button");
  assert.match((await listed.allInnerTexts()).join("|"), /by hand: slow: look <b>here<\/b>/);
  const box = await it.page.locator(".overlay").boundingBox();
  await it.page.mouse.move(box.x + 92 + (box.width - 92) / 2 + 3, box.y + 60);
  await it.page.waitForSelector(".tooltip .marker");
  assert.equal(await it.page.locator(".tooltip .marker").innerText(), "by hand: slow: look <b>here</b>");
  await listed.first().click();
  const shown = await it.page.evaluate(() => window.ouzel.state().time_ns);
  const middle = it.server.meta.time_ns[1] / 2;
  assert.ok(shown[0] < middle && middle < shown[1], `${shown}`);
  await it.close();
  rmSync(folder, { recursive: true });
});
