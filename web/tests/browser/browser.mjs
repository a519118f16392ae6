// What tests in the browser share: Chromium, the mock or the real server, and a page.
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";
import { serve } from "../mock-server.mjs";

export const REPOSITORY = join(dirname(fileURLToPath(import.meta.url)), "..", "..", "..");
export const PROGRAM = process.env.OUZEL ?? join(REPOSITORY, "target/debug/ouzel");
export const TRACE = join(REPOSITORY, "testdata/zoo/halo3d/faulty");
const FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--enable-unsafe-swiftshader"];

export async function open({ trace = TRACE, rename, hash = "", width = 1280, height = 720, dark = true, query = "" } = {}) {
  const server = await serve({ program: PROGRAM, trace, ...(rename ? { rename } : {}) });
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
