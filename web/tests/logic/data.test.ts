import { gzipSync } from "node:zlib";
import { HttpSource, partsOf, type Transport } from "../../src/data/http.ts";
import assert from "node:assert/strict";
import { test } from "node:test";
import { CallPaths, NOTHING } from "../../src/data/paths.ts";
import { metaFrom, type DataSource, type TileKey, type TilePart } from "../../src/data/source.ts";
import { decodeBins, sharesAt, TileStore } from "../../src/data/tiles.ts";
import type { Meta, SentMeta } from "../../src/data/types.ts";
import { assemble, tilesOf, windowOf } from "../../src/timeline/image.ts";
import { displayed, Significance } from "../../src/timeline/colours.ts";
import { march, rayAt } from "../../src/topology/ray.ts";
import { aligned, ofIterations, ofSegments } from "../../src/timeline/align.ts";
import { hash, ofRegion, oklch } from "../../src/colour/oklch.ts";

const REGIONS = ["main", "solve", "MPI_Recv", "pack"].map((name, id) => ({ id, name, short: name, file: null, line: null, role: "", category: id === 2 ? "wait" : 0 }));
const CATEGORIES = ["computation", "wait"].map((name) => ({ name, colour_light: "#000000", colour_dark: "#ffffff" }));
const paths = new CallPaths({ regions: REGIONS, categories: CATEGORIES });
paths.append([[-1, 0], [0, 1], [1, 2], [1, 3]]);

test("call paths that end alike have labels of their own", () => {
  const names = ["main", "send", "force", "stress(Mesh&)", "MPI_Waitall"];
  const made = new CallPaths({ regions: names.map((name, id) => ({ id, name, ...(name.includes("(") ? { short: "stress" } : {}), category: 0 })), categories: CATEGORIES });
  // main › force › send › MPI_Waitall, main › stress(Mesh&) › send › MPI_Waitall
  made.append([[-1, 0], [0, 2], [1, 1], [2, 4], [0, 3], [4, 1], [5, 4]]);
  assert.deepEqual(made.labels([3, 6, 4]), ["MPI_Waitall in force", "MPI_Waitall in stress", "stress"]);
  assert.deepEqual(made.labels([6]), ["MPI_Waitall"]);
  // Only one of them has a caller that the other has not.
  made.append([[2, 0], [7, 4]]);
  assert.deepEqual(made.labels([3, 8]), ["MPI_Waitall in send", "MPI_Waitall in main"]);
});

test("a root without a region is no part of a call path", () => {
  const rooted = new CallPaths({ regions: REGIONS, categories: CATEGORIES });
  rooted.append([[-1, 0xffffffff], [0, 0], [1, 1]]);
  assert.deepEqual(rooted.names(2), ["main", "solve"]);
  assert.deepEqual(rooted.names(0), []);
  assert.equal(rooted.depth[2], 2);
  assert.equal(rooted.find(["main", "solve"]), 2);
  assert.equal(rooted.ancestor(2, 1), 1);
});

function bins(rows: number[][], shares: number[] = [], unfinished = 0n): ArrayBuffer {
  const n = rows.length * (rows[0]?.length ?? 0);
  const view = new DataView(new ArrayBuffer(16 + (shares.length === 0 ? 4 : 8) * n));
  [..."OZT3"].forEach((c, i) => view.setUint8(i, c.charCodeAt(0)));
  view.setUint16(4, rows.length, true);
  view.setUint16(6, rows[0]?.length ?? 0, true);
  view.setBigUint64(8, unfinished, true);
  rows.flat().forEach((id, i) => [0, 1, 2, 3].forEach((plane) => view.setUint8(16 + plane * n + i, (id >>> (8 * plane)) & 0xff)));
  shares.forEach((share, i) => view.setUint8(16 + 4 * n + i, share));
  return view.buffer;
}

test("locations come as columns of runs, numbers as steps", () => {
  const { locations } = metaFrom({ locations: { id: [[7, 1], [1, 2]], rank: [[0, 1], [null, 1], [3, 1]], name: [["a", 1], ["b", 2]], kind: [["thread", 1], ["stream", 1], ["thread", 1]], parent_row: [[null, 1], [0, 1], [1, 1]] } } as unknown as SentMeta);
  assert.deepEqual(locations, [
    { id: 7, rank: 0, name: "a", kind: "thread", parent_row: null },
    { id: 8, rank: null, name: "b", kind: "stream", parent_row: 0 },
    { id: 9, rank: 3, name: "b", kind: "thread", parent_row: 1 },
  ]);
});

test("call paths know their names, ancestors and categories", () => {
  assert.deepEqual(paths.names(2), ["main", "solve", "MPI_Recv"]);
  assert.equal(paths.find(["main", "solve", "pack"]), 3);
  assert.equal(paths.find(["solve"]), null);
  assert.equal(paths.ancestor(2, 2), 1);
  assert.equal(paths.ancestor(2, 9), 2);
  assert.ok(paths.isBelow(3, 1) && !paths.isBelow(0, 1));
  assert.equal(paths.category(2), 1);
});

test("a tile is read, and a broken one refused", () => {
  const tile = decodeBins(bins([[0, 0x12345], [2, NOTHING]], [255, 0, 51, 0, 0, 255]));
  assert.deepEqual([...tile.paths], [0, 0x12345, 2, NOTHING]);
  const tenths = (row: number, bin: number) => sharesAt(tile, row, bin)?.map((v) => Math.round(10 * v));
  assert.deepEqual([tenths(0, 0), tenths(0, 1), tenths(1, 0)], [[10, 0, 0, 0, 0], [0, 10, 0, 0, 0], [2, 0, 0, 0, 8]]);
  assert.equal(sharesAt(decodeBins(bins([[0, 1]])), 0, 0), null);
  assert.throws(() => decodeBins(new ArrayBuffer(8)));
  assert.throws(() => decodeBins(bins([[1]]).slice(0, 11)));
});

const META = { time_ns: [0, 4096], n_locations: 2, tiles: { bins: 4, rows: 64, n_levels: 3, bin0_ns: 256 } } as unknown as Meta;

async function storeWith(tiles: Record<string, number[][]>): Promise<TileStore> {
  const source = { tile: async ({ level, tile }: TileKey) => (tiles[`${level}/${tile}`] ? bins(tiles[`${level}/${tile}`] ?? []) : null) } as unknown as DataSource;
  const store = new TileStore(source, META);
  store.generation = 1;
  store.want(Object.keys(tiles).map((key) => ({ level: Number(key.split("/")[0]), tile: Number(key.split("/")[1]), block: 0 })));
  await new Promise((done) => setImmediate(done));
  return store;
}

test("what is missing is drawn from the coarser tile", async () => {
  const store = await storeWith({ "2/0": [[0, 1, 2, 3], [3, 3, 3, 3]], "1/0": [[1, 1, 2, 2], [NOTHING, 0, 0, 0]] });
  const window = windowOf(store, [0, 4096], 8, [1, 0]);
  assert.deepEqual(window, { level: 1, tiles: [0, 1], rows: [1, 0] });
  assert.deepEqual(tilesOf(store, window)[0], { level: 2, tile: 0, block: 0 });
  const image = assemble(store, window);
  assert.deepEqual([...image.ids], [NOTHING, 0, 0, 0, 3, 3, 3, 3, 1, 1, 2, 2, 2, 2, 3, 3]);
  assert.equal(store.binAt(1, 0, 4000)?.path, 3);
  assert.equal(store.binAt(1, 0, 4000)?.key.level, 2);
  assert.ok(!store.hasAll([{ level: 1, tile: 1, block: 0 }]));
});

test("while the trace is read, only new rows are asked for, and shares only when wanted", async () => {
  const asked: TilePart[] = [];
  let rows = [[1, 1, 1, 1], [NOTHING, NOTHING, NOTHING, NOTHING]];
  const source = {
    tile: async (_: TileKey, part: TilePart) => {
      asked.push(part);
      const sent = rows.map((row, i) => (((part.known >> BigInt(i)) & 1n) === 0n ? row : row.map(() => NOTHING)));
      return bins(sent, part.shares ? [255] : []);
    },
  } as unknown as DataSource;
  const store = new TileStore(source, META);
  const key = { level: 2, tile: 0, block: 0 };
  const look = async () => { store.want([key]); await new Promise((done) => setImmediate(done)); };
  await look();
  assert.equal(asked.length, 0, "before anything is known");
  store.blocks = [1];
  await look();
  await look();
  rows = [[1, 1, 1, 1], [2, 2, 2, 2]];
  [store.blocks, store.finest] = [[2], 2];
  await look();
  assert.deepEqual(asked, [{ generation: 2, shares: false, known: 0n, slow: false }, { generation: 4, shares: false, known: 1n, slow: false }]);
  assert.deepEqual([...(store.get(key)?.paths ?? [])], [1, 1, 1, 1, 2, 2, 2, 2]);
  store.complete = true;
  await look();
  assert.equal(asked.length, 2, "stored levels stay as they are in the end");
  assert.ok(store.hasAll([key]));
  store.wantShares(key);
  store.wantShares(key);
  await look();
  assert.deepEqual(asked.slice(2), [{ generation: 4, shares: true, known: 0n, slow: false }]);
  assert.deepEqual(store.binAt(2, 0, 0)?.shares, [1, 0, 0, 0, 0]);
});

test("a row that is not finished is asked for again", async () => {
  const known: bigint[] = [];
  let [row, unfinished] = [[1, 1, NOTHING, NOTHING], 1n];
  const source = {
    tile: async (_: TileKey, part: TilePart) => {
      known.push(part.known);
      return bins([row], [], unfinished);
    },
  } as unknown as DataSource;
  const store = new TileStore(source, META);
  const key = { level: 2, tile: 0, block: 0 };
  const look = async (changes: number) => { store.blocks = [changes]; store.want([key]); await new Promise((done) => setImmediate(done)); };
  await look(1);
  assert.deepEqual([...(store.get(key)?.paths ?? [])], [1, 1, NOTHING, NOTHING]);
  [row, unfinished] = [[1, 3, 2, NOTHING], 1n];
  await look(2);
  [row, unfinished] = [[1, 3, 2, 2], 0n];
  await look(3);
  assert.deepEqual([...(store.get(key)?.paths ?? [])], [1, 3, 2, 2]);
  await look(4);
  assert.deepEqual(known, [0n, 0n, 0n, 1n]);
});

test("automatic depth stops at what holds one per cent", () => {
  const ids = new Uint32Array(1000).fill(3);
  ids.fill(2, 0, 5);
  const significance = new Significance(paths, [{ n_rows: 1, unfinished: 0n, n_bins: 1000, paths: ids, shares: null }]);
  assert.equal(displayed(3, "auto", paths, significance), 3);
  assert.equal(displayed(2, "auto", paths, significance), 1);
  assert.equal(displayed(2, 1, paths, significance), 0);
  assert.equal(displayed(2, "leaf", paths, significance), 2);
});

test("a ray meets the cube that faces the camera", () => {
  const camera = { yaw: 0, pitch: 0, zoom: 1 };
  const { origin, ray } = rayAt(camera, [4, 4, 4], 0.01, 0.01);
  assert.deepEqual(march({ size: [4, 4, 4], solid: () => true }, origin, ray), [2, 2, 3]);
  assert.deepEqual(march({ size: [4, 4, 4], solid: (_x, _y, z) => z === 1 }, origin, ray), [2, 2, 1]);
  assert.equal(march({ size: [4, 4, 4], solid: () => false }, origin, ray), null);
});

test("colours are those of `ouzel plot`", () => {
  assert.deepEqual(oklch(0.627955, 0.257683, 29.234), [255, 0, 0]);
  assert.deepEqual(oklch(1, 0, 0), [255, 255, 255]);
  assert.notEqual(hash("solve"), hash("assemble"));
  const [r, g, b] = ofRegion("MPI_Recv", "wait");
  assert.ok(g < r && b < r);
});

test("runs are aligned at the borders of iterations and segments, and straight between", () => {
  const loops = (borders: number[]) => ({ loops: [{ is_nested: false, name: "step", iterations: borders.slice(1).map((end_ns, i) => ({ location_cluster: 0, start_ns: borders[i] ?? 0, end_ns })) }] });
  const map = aligned(ofIterations(loops([10, 20, 30, 40]), loops([5, 25, 45])), [100, 80]);
  assert.deepEqual([0, 10, 15, 20, 30, 100].map(map), [0, 5, 15, 25, 45, 80]);
  const segments = (...list: [number, number, string][]) => ({ segments: list.map(([start_ns, end_ns, sync]) => ({ start_ns, end_ns, sync: [sync] })) });
  const byName = aligned(ofSegments(segments([10, 20, "a"], [20, 50, "b"]), segments([30, 40, "b"], [5, 30, "a"])), [100, 60]);
  assert.deepEqual([10, 20, 35, 50].map(byName), [5, 30, 35, 40]);
  // What would run backwards is left out.
  assert.equal(aligned([[10, 50], [20, 40], [30, 60]], [100, 100])(20), 55);
});

/** Answers as the server does: of each tile its place in words, and nothing for block 9. */
function answering(asked: string[]): Transport {
  return async (path, { signal }) => {
    asked.push(path);
    signal?.throwIfAborted();
    const places = new URL(path, "http://x").searchParams.get("at")?.split(",") ?? [];
    const parts = places.flatMap((place) => {
      const part = place.endsWith(".9") ? Buffer.alloc(0) : gzipSync(place);
      const length = Buffer.alloc(4);
      length.writeUInt32LE(part.length);
      return [length, part];
    });
    return new Response(new Uint8Array(Buffer.concat(parts)));
  };
}

const PART = { generation: 3, shares: false, known: 0n, slow: false };

test("tiles of a picture come in few requests, and each to who asked for it", async () => {
  const asked: string[] = [];
  const source = new HttpSource(answering(asked));
  const keys = Array.from({ length: 20 }, (_, tile) => ({ level: tile < 2 ? 8 : 5, tile, block: tile === 7 ? 9 : 1 }));
  const got = await Promise.all(keys.map((key) => source.tile(key, PART)));
  const words = got.map((bytes) => bytes && new TextDecoder().decode(bytes));
  assert.deepEqual(words, keys.map(({ tile, block }) => (block === 9 ? null : `${tile}.${block}`)));
  assert.deepEqual(asked.map((path) => [/level=(\d+)/.exec(path)?.[1], path.split(",").length]), [["8", 2], ["5", 9], ["5", 9]]);
});

test("what nobody wants any more is not asked for, and does not stop the rest", async () => {
  const asked: string[] = [];
  const source = new HttpSource(answering(asked));
  const [one, all] = [new AbortController(), new AbortController()];
  const kept = source.tile({ level: 5, tile: 1, block: 0 }, PART);
  const gone = source.tile({ level: 5, tile: 2, block: 0 }, PART, one.signal);
  const lost = source.tile({ level: 6, tile: 3, block: 0 }, PART, all.signal);
  one.abort();
  all.abort();
  await assert.rejects(gone, { name: "AbortError" });
  await assert.rejects(lost, { name: "AbortError" });
  assert.equal(new TextDecoder().decode((await kept) ?? undefined), "1.0");
  assert.deepEqual(asked.map((path) => path.split("?")[0]), ["api/tiles"]);
  assert.match(asked[0] ?? "", /at=1\.0$/);
});

test("what is slow, has shares or is known in part is asked for by itself", async () => {
  const asked: string[] = [];
  const source = new HttpSource(answering(asked));
  const key = { level: 5, tile: 1, block: 0 };
  await Promise.all([{ shares: true }, { known: 5n }, { slow: true }].map((part) => source.tile(key, { ...PART, ...part })));
  assert.deepEqual(asked, ["&shares=1", "&known=5", ""].map((rest) => `api/tile?g=3&level=5&tile=1&block=0${rest}`));
});

test("parts that do not fit their bytes are an error", () => {
  const parts = new Uint8Array([2, 0, 0, 0, 7, 8, 0, 0, 0, 0]).buffer;
  assert.deepEqual(partsOf(parts, 2).map((part) => part && [...new Uint8Array(part)]), [[7, 8], null]);
  for (const n of [1, 3]) assert.throws(() => partsOf(parts, n));
  assert.throws(() => partsOf(parts.slice(0, 5), 1));
});
