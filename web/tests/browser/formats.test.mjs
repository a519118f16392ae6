// The page with traces and profiles of other formats: panels are there, and nothing fails.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { open, PROGRAM, REPOSITORY, TRACE } from "./browser.mjs";

const panels = async (trace, views) => {
  assert.ok(existsSync(trace), trace);
  const it = await open({ trace });
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
