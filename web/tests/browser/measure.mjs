// Figures of the viewer for `cargo xtask bench view`, as one line of JSON: node measure.mjs OUZEL TRACE CACHE
import { readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { chromium } from "playwright-core";
import { FLAGS, started } from "./browser.mjs";

const [program, trace, cache] = process.argv.slice(2);
const FRAMES = 200;
const ROUNDS = 20;
const STARTS = 5;
const WIDTH = 1600;
/** Tiles of one request. */
const TOGETHER = 16;
/** A pass over 10⁹ events takes minutes; a server that does not come to its end must not hold the bench. */
const MOST_MS = 30 * 60 * 1000;

const now = () => performance.now();
const sorted = (values) => [...values].sort((a, b) => a - b);
const quantile = (values, q) => sorted(values)[Math.min(values.length - 1, Math.floor(values.length * q))];

/** `ouzel view`, its address, and what the system counts of it. */
async function start() {
  const begin = now();
  const { child, url } = await started(program, [trace, "--cache", cache]);
  const file = (name) => readFileSync(`/proc/${child.pid}/${name}`, "utf8");
  return {
    url,
    seconds: () => (now() - begin) / 1000,
    peakBytes: () => 1024 * Number(/VmHWM:\s+(\d+)/.exec(file("status"))[1]),
    // User and system time, in ticks of a hundredth of a second.
    processorSeconds: () => file("stat").split(") ")[1].split(" ").slice(11, 13).reduce((sum, each) => sum + Number(each), 0) / 100,
    end: () => new Promise((done) => { child.on("exit", done); child.kill("SIGINT"); }),
  };
}

const json = async (server, path) => (await fetch(server.url + path)).json();

/** Waits until all rows of the timeline are there. */
async function complete(server) {
  const until = now() + MOST_MS;
  for (let status = await json(server, "api/status"); ; status = await json(server, `api/status?since=${status.generation}`)) {
    if (status.tiles.complete) return status;
    if (until < now()) throw new Error("the timeline does not become complete");
    // As the page does: each of 100,000 rows is news.
    await new Promise((done) => setTimeout(done, 250));
  }
}

/** Bytes of all parts, which have their length before them. */
function unpacked(bytes) {
  const view = new DataView(bytes);
  let sum = 0;
  for (let at = 0; at < bytes.byteLength; at += 4 + view.getUint32(at, true)) {
    const length = view.getUint32(at, true);
    if (length !== 0) sum += gunzipSync(new Uint8Array(bytes, at + 4, length)).length;
  }
  return sum;
}

/** All tiles of the whole run at one bin a pixel or finer, as the page asks for them; milliseconds until they are unpacked. */
async function fullView(server, { tiles, locations }, status) {
  const bins = 256;
  const level = Math.max(0, status.tiles.n_levels - 1 - Math.ceil(Math.log2(WIDTH / bins)));
  const nTiles = Math.ceil(status.time_ns[1] / status.tiles.bin0_ns / 2 ** level / bins);
  const nBlocks = Math.ceil(Math.min(locations, 256) / tiles.rows);
  const places = Array.from({ length: nBlocks * nTiles }, (_, i) => `${i % nTiles}.${Math.floor(i / nTiles)}`);
  const size = Math.ceil(places.length / Math.ceil(places.length / TOGETHER));
  const groups = Array.from({ length: Math.ceil(places.length / size) }, (_, i) => places.slice(i * size, (i + 1) * size));
  const begin = now();
  const answers = groups.map(async (group) => unpacked(await (await fetch(`${server.url}api/tiles?level=${level}&at=${group.join(",")}`)).arrayBuffer()));
  const bytes = (await Promise.all(answers)).reduce((sum, each) => sum + each, 0);
  return { ms: now() - begin, bytes };
}

const folderBytes = (folder) => readdirSync(folder).reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);

/** A new tab keeps the processor busy for as long. */
const AT_REST_MS = 2000;

/** An empty page that counts its bytes: the user's browser is there before the server. */
async function blank(browser) {
  const page = await browser.newPage({ viewport: { width: WIDTH, height: 900 } });
  page.setDefaultTimeout(MOST_MS);
  const counted = { bytes: 0 };
  const wire = await page.context().newCDPSession(page);
  await wire.send("Network.enable");
  wire.on("Network.loadingFinished", ({ encodedDataLength }) => (counted.bytes += encodedDataLength));
  await new Promise((done) => setTimeout(done, AT_REST_MS));
  return { page, counted };
}

async function open({ page }, server) {
  await page.goto(server.url);
  await page.waitForFunction(() => window.ouzel !== undefined);
  await page.evaluate(() => window.ouzel.ready);
}

/** Fails if nothing is drawn: a picture of nothing is soon there. */
async function looked({ page }, [from, to]) {
  const times = [0.1, 0.5, 0.9].map((part) => Math.round(from + part * (to - from)));
  for (const time of times) {
    const pixel = await page.evaluate((at) => window.ouzel.pixel(0, at), time);
    if (!pixel?.call_path) throw new Error(`nothing is drawn of rank 0 at ${time} ns`);
  }
}

rmSync(cache, { recursive: true, force: true });
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: FLAGS });

// The pass alone: a page would ask for the report meanwhile.
const alone = await start();
const status = await complete(alone);
const build = { seconds: alone.seconds(), processorSeconds: alone.processorSeconds() };
const peakAfterPass = alone.peakBytes();
const { tiles, n_locations } = await json(alone, "api/meta");
const shape = { tiles, locations: n_locations };
const cold = await fullView(alone, shape, status);
const warm = [];
for (let round = 0; round < ROUNDS; round += 1) warm.push((await fullView(alone, shape, status)).ms);
const peakOfTiles = alone.peakBytes();
for (const until = now() + MOST_MS; !readdirSync(cache).some((name) => name.endsWith(".tiles")); ) {
  if (until < now()) throw new Error("the timeline is not kept");
  await new Promise((done) => setTimeout(done, 50));
}
await alone.end();
// Long runs say what they have so far.
console.error(JSON.stringify({ build, peakAfterPass, peakOfTiles, cold: cold.ms, cold_bytes: cold.bytes, warm: sorted(warm), cache: folderBytes(cache) }));

/** Seconds from the start of the program to the first picture, in a tab that rests; `look` has the rest of the time. */
async function firstPicture(look) {
  const shown = await blank(browser);
  const server = await start();
  await open(shown, server);
  const seconds = server.seconds();
  await look?.(shown, server);
  await shown.page.close();
  await server.end();
  return seconds;
}

// Further starts from the cache: what the first view costs on the wire, frames, memory with all that the page asks.
const second = {};
const secondStarts = [await firstPicture(async (shown, server) => {
  await shown.page.evaluate(() => window.ouzel.settled());
  second.wireBytes = shown.counted.bytes;
  await looked(shown, status.time_ns);
  second.frames = await shown.page.evaluate((n) => window.ouzel.frames(n), FRAMES);
  second.peakOfUse = server.peakBytes();
})];
while (secondStarts.length < STARTS) secondStarts.push(await firstPicture());
const cacheBytes = folderBytes(cache);
console.error(JSON.stringify({ secondStarts, ...second, frames: quantile(second.frames, 0.95) }));

// First starts, as their users see them. Servers end while they read, but for the last.
const firstStarts = [];
while (firstStarts.length < STARTS - 1) {
  rmSync(cache, { recursive: true });
  firstStarts.push(await firstPicture());
}
rmSync(cache, { recursive: true });
const first = {};
firstStarts.push(await firstPicture(async (shown) => {
  await shown.page.evaluate(() => window.ouzel.settled());
  first.wireBytes = shown.counted.bytes;
  await looked(shown, status.time_ns);
}));
console.error(JSON.stringify({ firstStarts }));
await browser.close();

console.log(JSON.stringify({
  first_picture_seconds: quantile(firstStarts, 0.5),
  build_seconds: build.seconds,
  build_processor_seconds: build.processorSeconds,
  peak_bytes_of_tiles: Math.max(peakAfterPass, peakOfTiles),
  peak_bytes_of_use: second.peakOfUse,
  cache_bytes: cacheBytes,
  cold_view_seconds: cold.ms / 1000,
  warm_view_seconds: quantile(warm, 0.5) / 1000,
  frame_95_seconds: quantile(second.frames, 0.95) / 1000,
  wire_bytes: Math.max(second.wireBytes, first.wireBytes),
  second_start_seconds: quantile(secondStarts, 0.5),
}));
