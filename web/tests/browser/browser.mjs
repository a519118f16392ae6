// What tests in the browser share: Chromium, the mock or the real server, and a page.
import { spawn } from "node:child_process";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";
import { expanded, readTruth, serve } from "../mock-server.mjs";

export const REPOSITORY = join(dirname(fileURLToPath(import.meta.url)), "..", "..", "..");
export const PROGRAM = process.env.OUZEL ?? join(REPOSITORY, "target/debug/ouzel");
export const TRACE = join(REPOSITORY, "testdata/zoo/halo3d/faulty");
export const FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--enable-unsafe-swiftshader"];

/** Whether `ouzel view` serves, not the mock: OUZEL_SERVER=real. */
export const REAL = process.env.OUZEL_SERVER === "real";

/** A server of `ouzel view`, and its address. */
export async function started(program, words) {
  const child = spawn(program, ["view", ...words, "--no-open"], { env: environment(), stdio: ["ignore", "pipe", "pipe"] });
  return { child, url: await addressOf(child) };
}

/** With the page that was built last. */
export const environment = () => ({ ...process.env, OUZEL_VIEW_DIST: join(REPOSITORY, "web/dist") });

/** What a server prints. */
export function addressOf(child) {
  let said = "";
  return new Promise((done, fail) => {
    const hear = (text) => {
      said += text;
      const found = /http:\/\/\S+/.exec(said);
      if (found) done(found[0]);
    };
    child.stdout.on("data", hear);
    child.stderr.on("data", hear);
    child.on("exit", () => fail(new Error(said)));
  });
}

/** `ouzel view`, until it is closed; with the truth as the mock has it. */
async function real(traces) {
  const { child, url } = await started(PROGRAM, traces);
  const truth = await readTruth(PROGRAM, traces[0]);
  const meta = expanded(await (await fetch(`${url}api/meta`)).json());
  return { url, truth, meta, log: [], child, close: () => child.kill() };
}

export async function open({ trace = TRACE, rename, hash = "", width = 1280, height = 720, dark = true, query = "", isReal = REAL && !rename } = {}) {
  const server = isReal ? await real([trace].flat()) : await serve({ program: PROGRAM, trace: [trace].flat()[0], ...(rename ? { rename } : {}) });
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: FLAGS });
  const page = await browser.newPage({ viewport: { width, height }, colorScheme: dark ? "dark" : "light" });
  const errors = [];
  page.on("pageerror", (error) => errors.push(String(error)));
  page.on("console", (message) => message.type() === "error" && errors.push(message.text()));
  await page.goto(server.url + query + hash);
  await page.waitForFunction(() => window.ouzel !== undefined);
  await page.evaluate(async () => { await window.ouzel.ready; await window.ouzel.settled(); });
  return { page, server, errors, close: async () => { await browser.close(); server.close(); } };
}
