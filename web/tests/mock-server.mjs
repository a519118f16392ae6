// A server for tests of the page: it answers questions with the `ouzel` program, and makes tiles from the list of calls,
// so that pixels can be checked against an independent count.
import { execFile } from "node:child_process";
import { createServer } from "node:http";
import { readFile } from "node:fs/promises";
import { dirname, extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";

const run = promisify(execFile);
const DIST = join(dirname(fileURLToPath(import.meta.url)), "..", "dist");
const TYPES = { ".html": "text/html; charset=utf-8", ".js": "text/javascript", ".css": "text/css", ".txt": "text/plain" };
const CSP =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
export const NOTHING = 0xffffffff;
const CATEGORIES = [
  { name: "computation", colour_light: "#e5b95c", colour_dark: "#d8a94c" },
  { name: "wait", colour_light: "#2f9c78", colour_dark: "#3fae88" },
  { name: "synchronization", colour_light: "#7b3fb0", colour_dark: "#a06fd0" },
  { name: "communication", colour_light: "#c4513c", colour_dark: "#d5644f" },
  { name: "other", colour_light: "#9a9a9a", colour_dark: "#777777" },
];

export function categoryOf(name) {
  if (/^MPI_(Barrier|Allreduce|Init|Finalize|Alltoall|Allgather|Comm_)/.test(name)) return 2;
  if (/^MPI_(Wait|Recv|Probe)/.test(name)) return 1;
  return name.startsWith("MPI_") ? 3 : 0;
}

/** The command line's answer to a question of the page. */
export async function ask(program, trace, { question, selection = {}, options = {} }) {
  const args = [question, trace, "--format", "json", "--quiet"];
  if (selection.time_ns) args.push("--time", `${selection.time_ns[0]}ns..${selection.time_ns[1]}ns`);
  if (selection.ranks) args.push("--ranks", selection.ranks);
  if (selection.call_path) args.push("--where", `path = "${selection.call_path.join("/")}" or path like "${selection.call_path.join("/")}/*"`);
  for (const [name, value] of Object.entries(options)) {
    if ((name === "top" && question !== "correlate") || value === false) continue;
    for (const each of [value].flat()) args.push(`--${name.replaceAll("_", "-")}`, ...(each === true ? [] : [String(each)]));
  }
  const { stdout } = await run(program, args, { maxBuffer: 1 << 28 }).catch((error) => {
    if (error.code === 2 && error.stdout) return error;
    throw new Error(String(error.stderr).replace(/^ouzel: error: /, "").trim());
  });
  return stdout;
}

/** Locations, call paths, and of each location the step function of its leaf. */
export async function readTruth(program, trace, rename = (name) => name) {
  const info = JSON.parse(await ask(program, trace, { question: "info" })).data;
  // A profile has no calls and no time.
  if (info.locations === undefined || info.locations.length === 0 || info.format === "CUBE") {
    return { info: { ...info, locations: [], end_ns: 1, profile_only: true }, regions: [], paths: [], rows: [] };
  }
  const calls = JSON.parse(await ask(program, trace, { question: "calls" })).data.rows;
  const regions = [];
  const ids = new Map();
  const paths = [];
  const known = new Map();
  const pathOf = (parent, region) => {
    if (!ids.has(region)) {
      ids.set(region, regions.length);
      regions.push({ id: regions.length, name: rename(region), category: categoryOf(region) });
    }
    const key = `${parent}/${region}`;
    if (!known.has(key)) known.set(key, paths.push([parent, ids.get(region)]) - 1);
    return known.get(key);
  };
  const rows = info.locations.map((location) => {
    const mine = calls.filter((call) => call.location === location.location).sort((a, b) => a.call - b.call);
    const path = new Map([[0, -1], [null, -1]]);
    for (const call of mine) path.set(call.call, pathOf(path.get(call.parent) ?? -1, call.region));
    return stepsOf(mine.map((call) => ({ call_path: path.get(call.call), enter_ns: call.enter_ns, leave_ns: call.leave_ns, depth: call.depth })));
  });
  return { info, regions, paths, rows };
}

function stepsOf(calls) {
  const edges = calls.flatMap((call) => [[call.enter_ns, 1, call], [call.leave_ns, 0, call]]);
  edges.sort((a, b) => a[0] - b[0] || a[1] - b[1] || (a[1] ? a[2].depth - b[2].depth : b[2].depth - a[2].depth));
  const open = [];
  const steps = [];
  for (const [time, enters, call] of edges) {
    if (enters) open.push(call);
    else open.splice(open.lastIndexOf(call), 1);
    steps.push([time, open.at(-1)?.call_path ?? NOTHING]);
  }
  return { calls, steps };
}

/** Time of each call path's leaf between two times. */
export function timeIn({ steps }, from, to) {
  const sums = new Map();
  let [low, high] = [0, steps.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (steps[middle][0] <= from) low = middle + 1;
    else high = middle;
  }
  for (let i = Math.max(0, low - 1); i < steps.length && steps[i][0] < to; i += 1) {
    const time = Math.min(to, steps[i + 1]?.[0] ?? to) - Math.max(from, steps[i][0]);
    if (0 < time) sums.set(steps[i][1], (sums.get(steps[i][1]) ?? 0) + time);
  }
  return sums;
}

/** The call path found by greedy descent: at each depth the child that holds most, as long as it holds more than the rest. */
export function heaviest(paths, sums) {
  let at = -1;
  for (;;) {
    const children = new Map();
    let own = 0;
    for (const [path, time] of sums) {
      let id = path;
      if (id === NOTHING) continue;
      if (id === at) own += time;
      while (0 <= id && paths[id][0] !== at) id = paths[id][0];
      if (0 <= id && id !== at) children.set(id, (children.get(id) ?? 0) + time);
    }
    const [best] = [...children].sort((a, b) => b[1] - a[1] || a[0] - b[0]);
    if (!best || best[1] < own) return at < 0 ? NOTHING : at;
    at = best[0];
  }
}

function picture(truth, rows, bins, withShares = true) {
  const n = rows.length * bins.length;
  const bytes = Buffer.alloc(16 + 8 * n);
  bytes.write("OZT3");
  bytes.writeUInt16LE(rows.length, 4);
  bytes.writeUInt16LE(bins.length, 6);
  rows.forEach((row, r) => bins.forEach(([from, to], b) => {
    const sums = timeIn(truth.rows[row], from, to);
    const at = r * bins.length + b;
    const path = heaviest(truth.paths, sums);
    for (let plane = 0; plane < 4; plane += 1) bytes[16 + plane * n + at] = (path >>> (8 * plane)) & 0xff;
    for (const [path, time] of sums) {
      const plane = path === NOTHING ? 4 : truth.regions[truth.paths[path][1]].category;
      if (plane < 4) bytes[16 + 4 * n + plane * n + at] = Math.min(255, bytes[16 + 4 * n + plane * n + at] + Math.round((255 * time) / (to - from)));
    }
  }));
  return withShares ? bytes : bytes.subarray(0, 16 + 4 * n);
}

/** Locations as the server sends them: columns of values, each with how often it comes in turn, numbers as differences to those before. */
function columnsOf(locations) {
  const steps = (numbers) => {
    let last = 0;
    return runs(numbers.map((number) => { if (number === null) return null; const step = number - last; last = number; return step; }));
  };
  const runs = (values) => values.reduce((all, value) => { const last = all.at(-1); if (last?.[0] === value) last[1] += 1; else all.push([value, 1]); return all; }, []);
  const column = (key) => locations.map((location) => location[key]);
  return { id: steps(column("id")), rank: steps(column("rank")), name: runs(column("name")), kind: runs(column("kind")), parent_row: steps(column("parent_row")) };
}

/** The document about a run with its locations as objects. */
export function expanded(meta) {
  const unrolled = (runs) => runs.flatMap(([value, n]) => new Array(n).fill(value));
  const sums = (steps) => { let at = 0; return unrolled(steps).map((step) => (step === null ? null : (at += step))); };
  const { id, rank, name, kind, parent_row } = meta.locations;
  const [ids, ranks, parents, kinds] = [...[id, rank, parent_row].map(sums), unrolled(kind)];
  return { ...meta, locations: unrolled(name).map((each, row) => ({ id: ids[row], rank: ranks[row], name: each, kind: kinds[row], parent_row: parents[row] })) };
}

function metaOf(truth, trace) {
  const end = truth.info.end_ns;
  const bin0 = Math.max(1, 2 ** Math.ceil(Math.log2(end / 4096)));
  const n_levels = Math.max(1, Math.ceil(Math.log2(end / bin0 / 256)) + 1);
  const locations = truth.info.locations.map((l) => ({ id: l.location, rank: l.rank, name: l.name, kind: l.kind === "accelerator_stream" ? "stream" : l.kind === "metric" ? "metric" : "thread", parent_row: null }));
  return {
    version: "test", name: trace.split("/").slice(-2).join("/"), format: truth.info.format, time_ns: [0, end], n_locations: locations.length, locations,
    regions: truth.regions, categories: CATEGORIES, tiles: { bins: 256, rows: 64, n_levels, bin0_ns: bin0 }, abilities: { exact: true, profile_only: truth.info.profile_only === true }, runs: [trace],
  };
}

/** Serves the built page and answers for one trace, until it is closed. */
export async function serve({ program, trace, rename, port = 0 }) {
  const truth = await readTruth(program, trace, rename);
  const meta = metaOf(truth, trace);
  const log = [];
  const routes = {
    meta: () => ({ ...meta, locations: columnsOf(meta.locations) }),
    status: (q) => (q.since === "1" ? new Promise((done) => setTimeout(() => done(STATUS), 2000).unref()) : STATUS),
    "call-paths": (q) => ({ call_paths: truth.paths.slice(Number(q.from)) }),
    tile: (q) => {
      const ns = meta.tiles.bin0_ns * 2 ** Number(q.level);
      const rows = truth.rows.map((_, i) => i).slice(64 * q.block, 64 * q.block + 64);
      return picture(truth, rows, Array.from({ length: 256 }, (_, i) => [(256 * q.tile + i) * ns, (256 * q.tile + i + 1) * ns]), q.shares === "1");
    },
    tiles: (q) => {
      const parts = q.at.split(",").map((place) => place.split(".").map(Number)).map(([tile, block]) => gzipSync(routes.tile({ level: q.level, tile, block })));
      const length = (part) => { const bytes = Buffer.alloc(4); bytes.writeUInt32LE(part.length); return bytes; };
      return Buffer.concat(parts.flatMap((part) => [length(part), part]));
    },
    exact: (q) => {
      const [first, last] = q.rows.split("-").map(Number);
      const [from, to, n] = [Number(q.from), Number(q.to), Number(q.columns)];
      const rows = truth.rows.map((_, i) => i).slice(first, last + 1);
      return picture(truth, rows, Array.from({ length: n }, (_, i) => [from + (i * (to - from)) / n, from + ((i + 1) * (to - from)) / n]));
    },
    messages: () => ({ arrows: [] }),
  };
  const STATUS = { generation: 1, tiles: { done: 1, total: 1, complete: true }, call_paths_known: truth.paths.length, report: "ready", notices: [] };
  const server = createServer(async (request, response) => {
    const send = (status, type, body) => response.writeHead(status, { "Content-Type": type, "Content-Security-Policy": CSP, "Cache-Control": "no-store" }).end(body);
    const url = new URL(request.url, "http://x");
    log.push(url.pathname + url.search);
    try {
      if (url.pathname === "/t/api/ask") {
        let body = "";
        for await (const part of request) body += part;
        return send(200, "application/json", await ask(program, trace, JSON.parse(body)));
      }
      const route = routes[url.pathname.replace("/t/api/", "")];
      if (route) {
        const answer = await route(Object.fromEntries(url.searchParams));
        return Buffer.isBuffer(answer) ? send(200, "application/octet-stream", answer) : send(200, "application/json", JSON.stringify(answer));
      }
      const file = url.pathname === "/t/" ? "index.html" : url.pathname.replace("/t/", "");
      if (file.includes("..")) return send(404, "text/plain", "");
      return send(200, TYPES[extname(file)] ?? "application/octet-stream", await readFile(join(DIST, file)));
    } catch (error) {
      return send(400, "application/json", JSON.stringify({ error: String(error.message ?? error) }));
    }
  });
  await new Promise((done) => server.listen(port, "127.0.0.1", done));
  return { url: `http://127.0.0.1:${server.address().port}/t/`, truth, meta, log, close: () => { server.closeAllConnections(); server.close(); } };
}
