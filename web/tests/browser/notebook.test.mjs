// `trace.view()` in JupyterLab, below a path as JupyterHub has it: the page asks through the kernel, and nothing else.
// OUZEL_PYTHON: an interpreter with ouzel, anywidget and jupyterlab; OUZEL_PICTURES: a folder for pictures to look at.
import assert from "node:assert/strict";
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { chromium } from "playwright-core";
import { FLAGS, REPOSITORY, TRACE } from "./browser.mjs";

const PYTHON = process.env.OUZEL_PYTHON ?? join(REPOSITORY, ".cache/venv/bin/python");
const HAS_ALL = spawnSync(PYTHON, ["-c", "import ouzel, anywidget, jupyterlab"]).status === 0;
const TOKEN = "for-this-test";
const PICTURES = process.env.OUZEL_PICTURES;

const cell = (source) => ({ cell_type: "code", execution_count: null, id: `c${source.length}`, metadata: {}, outputs: [], source });

/** A notebook of two cells, served until `close`. */
async function lab() {
  const folder = mkdtempSync(join(tmpdir(), "ouzel-lab-"));
  const cells = [
    `import ouzel\ntrace = ouzel.open(${JSON.stringify(TRACE)})\ntrace.view()`,
    "trace.timeline(interactive=True, messages=True)",
  ].map(cell);
  const metadata = { kernelspec: { name: "python3", display_name: "Python 3", language: "python" } };
  writeFileSync(join(folder, "run.ipynb"), JSON.stringify({ cells, metadata, nbformat: 4, nbformat_minor: 5 }));
  const settings = join(folder, "settings/@jupyterlab/apputils-extension");
  mkdirSync(settings, { recursive: true });
  writeFileSync(join(settings, "notification.jupyterlab-settings"), JSON.stringify({ fetchNews: "false", checkForUpdates: false }));
  const port = await new Promise((done) => {
    const probe = createServer().listen(0, "127.0.0.1", () => {
      const { port } = probe.address();
      probe.close(() => done(port));
    });
  });
  const words = ["-m", "jupyterlab", "--no-browser", "--allow-root", `--ServerApp.port=${port}`, "--ServerApp.port_retries=0", "--ServerApp.ip=127.0.0.1", `--ServerApp.root_dir=${folder}`, `--IdentityProvider.token=${TOKEN}`, "--ServerApp.base_url=/user/alice/"];
  const env = { ...process.env, OUZEL_VIEW_DIST: join(REPOSITORY, "web/dist"), JUPYTER_CONFIG_DIR: folder, JUPYTER_DATA_DIR: join(folder, "data"), JUPYTERLAB_SETTINGS_DIR: join(folder, "settings"), JUPYTERLAB_WORKSPACES_DIR: join(folder, "workspaces"), JUPYTER_RUNTIME_DIR: join(folder, "runtime") };
  const child = spawn(PYTHON, words, { env, stdio: ["ignore", "ignore", "pipe"], cwd: folder });
  let said = "";
  child.stderr.on("data", (text) => (said += text));
  const base = `http://127.0.0.1:${port}/user/alice/`;
  for (let tries = 0; ; tries += 1) {
    const there = await fetch(`${base}api`).then((answer) => answer.ok, () => false);
    if (there) break;
    if (600 < tries || child.exitCode !== null) throw new Error(said);
    await new Promise((done) => setTimeout(done, 100));
  }
  const ended = new Promise((done) => child.on("exit", done));
  return { base, port, close: async () => { child.kill(); await ended; rmSync(folder, { recursive: true, force: true }); } };
}

/** Runs the cells; on a slow machine JupyterLab asks for the kernel first, and what ran before is lost. */
async function runAll(page) {
  for (let tries = 0; tries < 8; tries += 1) {
    const accept = page.locator(".jp-Dialog .jp-mod-accept");
    if (await accept.isVisible()) await accept.click();
    await page.getByRole("menuitem", { name: "Run", exact: true }).click();
    await page.getByRole("menuitem").filter({ hasText: /^Run All Cells/ }).click();
    const shown = await page.locator("iframe[sandbox]").first().waitFor({ timeout: 20_000 }).then(() => true, () => false);
    if (shown) return;
  }
}

/** The n-th page of the viewer in the notebook, complete. */
async function viewer(page, n) {
  const element = page.locator("iframe[sandbox]").nth(n);
  await element.waitFor({ timeout: 120_000 });
  await element.scrollIntoViewIfNeeded();
  const frame = await (await element.elementHandle()).contentFrame();
  await frame.waitForFunction(() => window.ouzel !== undefined, undefined, { timeout: 60_000 });
  await frame.evaluate(async () => { await window.ouzel.ready; await window.ouzel.settled(); });
  return { element, frame };
}

test("a notebook shows the viewer, which asks through the kernel only", { skip: HAS_ALL ? false : `no ouzel, anywidget or jupyterlab in ${PYTHON}` }, async () => {
  const server = await lab();
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: FLAGS });
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
  try {
    const hosts = new Set();
    page.on("request", (request) => /^(https?|wss?):/.test(request.url()) && hosts.add(new URL(request.url()).host));
    await page.goto(`${server.base}lab/tree/run.ipynb?token=${TOKEN}`);
    await page.locator(".jp-Notebook .cm-content").first().waitFor({ timeout: 120_000 });
    await runAll(page);
    const { element, frame } = await viewer(page, 0);

    const findings = JSON.parse(execFileSync(PYTHON, ["-c", "import json, ouzel, sys; print(json.dumps([f['title'] for f in ouzel.open(sys.argv[1]).findings()]))", TRACE]));
    const titles = await frame.getByTestId("finding").locator(".title").allInnerTexts();
    assert.deepEqual(titles.map((title) => title.trim()), findings);
    // A zoom asks for finer tiles and for tables of the part.
    const state = await frame.evaluate(async () => {
      const end = (await window.ouzel.pixel(0, 1)).time_ns[1];
      window.ouzel.setState({ time_ns: [0, 200 * end], view: "tree", depth: "leaf" });
      await window.ouzel.settled();
      return window.ouzel.state();
    });
    assert.equal(state.view, "tree");
    assert.equal(await frame.locator(".banner").count(), 0);
    if (PICTURES) await element.screenshot({ path: join(PICTURES, "notebook-view.png") });

    const timeline = await viewer(page, 1);
    const shown = await timeline.frame.evaluate(() => window.ouzel.state());
    assert.deepEqual([shown.view, shown.messages], ["timeline", true]);
    if (PICTURES) await page.screenshot({ path: join(PICTURES, "notebook-timeline.png") });
    // Neither the notebook's page nor the network is in reach of the frame.
    const reach = await frame.evaluate(() => {
      try { return parent.document.title; } catch { return null; }
    });
    assert.equal(reach, null);
    const foreign = [...hosts].filter((host) => host !== `127.0.0.1:${server.port}`);
    assert.deepEqual(foreign, []);
  } catch (error) {
    if (PICTURES) await page.screenshot({ path: join(PICTURES, "notebook-failed.png") });
    throw error;
  } finally {
    await browser.close();
    await server.close();
  }
});
