// `ouzel view --cache`: the second start shows the run at once, and what it shows is what the pass made.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { chromium } from "playwright-core";
import { environment, FLAGS, PROGRAM, TRACE } from "./browser.mjs";

async function started(...args) {
  const child = spawn(PROGRAM, ["view", TRACE, "--no-open", "--jobs", "1", ...args], { env: environment(), stdio: ["ignore", "pipe", "pipe"] });
  let said = "";
  const url = await new Promise((done, fail) => {
    const hear = (text) => { said += text; const found = /http:\/\/\S+/.exec(said); if (found) done(found[0]); };
    child.stdout.on("data", hear);
    child.stderr.on("data", hear);
    child.on("exit", () => fail(new Error(said)));
  });
  const get = async (path) => fetch(url + path);
  const complete = async () => {
    for (let since = 0; ; ) {
      const status = await (await get(`api/status?since=${since}`)).json();
      if (status.tiles.complete) return status;
      since = status.generation;
    }
  };
  const end = () => new Promise((done) => { child.removeAllListeners("exit"); child.on("exit", done); child.kill(); });
  return { url, get, complete, end };
}

async function picture(server) {
  const status = await server.complete();
  const tiles = [];
  for (const level of [status.tiles.n_levels - 1, status.tiles.n_levels - 6]) tiles.push(Buffer.from(await (await server.get(`api/tile?level=${level}&tile=0&block=0`)).arrayBuffer()).toString("base64"));
  return { tiles, paths: await (await server.get("api/call-paths?from=0")).json(), time_ns: status.time_ns, done: status.tiles.done };
}

/** What the page draws of each rank, at a width at which bins are coarser than the finest ones. */
async function drawn(browser, folder) {
  const server = await started("--cache", folder);
  const { tiles, time_ns } = await server.complete();
  const page = await browser.newPage({ viewport: { width: 560, height: 720 } });
  const levels = [];
  page.on("request", (request) => { const level = /api\/tiles?\?.*level=(\d+)/.exec(request.url()); if (level) levels.push(Number(level[1])); });
  await page.goto(server.url);
  await page.waitForFunction(() => window.ouzel !== undefined);
  await page.evaluate(() => window.ouzel.settled());
  assert.ok(tiles.finest <= Math.min(...levels), `levels ${levels}, and ${tiles.finest} is the finest`);
  const pixels = [];
  for (let rank = 0; rank < tiles.total; rank += 1) {
    for (const part of [0.1, 0.4, 0.7]) pixels.push(await page.evaluate(([rank, time]) => window.ouzel.pixel(rank, time), [rank, Math.round(part * time_ns[1])]));
  }
  while (!readdirSync(folder).some((name) => name.endsWith(".tiles"))) await new Promise((done) => setTimeout(done, 20));
  await page.close();
  await server.end();
  return pixels;
}

test("the page of a second start draws what that of the first one drew", async () => {
  const folder = join(mkdtempSync(join(tmpdir(), "ouzel-cache-")), "cache");
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: FLAGS });
  const first = await drawn(browser, folder);
  assert.ok(first.every((pixel) => pixel.call_path !== null));
  assert.deepEqual(await drawn(browser, folder), first);
  await browser.close();
  rmSync(folder, { recursive: true });
});

test("a second start shows what the first one made; damaged and foreign files are made anew", async () => {
  const scratch = mkdtempSync(join(tmpdir(), "ouzel-cache-"));
  const folder = join(scratch, "cache");
  const shown = async (before) => {
    const server = await started("--cache", folder);
    const made = await picture(server);
    // The page does not wait for the file.
    const written = () => readdirSync(folder).some((name) => name.endsWith(".tiles") && before !== undefined && !readFileSync(join(folder, name)).equals(before));
    while (before !== undefined && !written()) await new Promise((done) => setTimeout(done, 20));
    await server.end();
    return made;
  };
  const first = await shown(Buffer.alloc(0));
  const [name, ...others] = readdirSync(folder);
  assert.deepEqual(others, []);
  const file = join(folder, name);
  assert.equal(statSync(folder).mode & 0o777, 0o700);
  assert.equal(statSync(file).mode & 0o777, 0o600);
  const kept = readFileSync(file);
  assert.deepEqual(await shown(), first);
  assert.deepEqual(readFileSync(file), kept, "the second start wrote the file again");
  for (const broken of [Buffer.alloc(0), kept.subarray(0, kept.length >> 1), Buffer.concat([kept.subarray(0, 60), Buffer.from([kept[60] ^ 1]), kept.subarray(61)]), Buffer.from("OUZELTILnonsense")]) {
    writeFileSync(file, broken);
    assert.deepEqual(await shown(broken), first);
    assert.deepEqual(readFileSync(file), kept);
  }
  await assert.rejects(started("--cache", "/"), /others can enter|denied/);
  rmSync(scratch, { recursive: true });
});
