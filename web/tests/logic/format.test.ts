import assert from "node:assert/strict";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import { canonical, EmbeddedSource } from "../../src/data/embedded.ts";
import { bytes, duration, exactNs, instant, quantity, ticks } from "../../src/format.ts";
import { labelOf, layRows, rowAt, rowsWithin } from "../../src/timeline/rows.ts";
import { INITIAL } from "../../src/state/state.ts";
import type { Meta } from "../../src/data/types.ts";

test("numbers are short, and exact where asked", () => {
  assert.equal(duration(575_643_406), "575.6 ms");
  assert.equal(duration(7), "7 ns");
  assert.equal(duration(NaN), "–");
  assert.equal(exactNs(1_234_567), "1\u202f234\u202f567 ns");
  assert.equal(bytes(2048), "2.00 KiB");
  assert.deepEqual([quantity(-2048, "B"), quantity(0.5, "bytes"), quantity(0.25, "s")], ["-2.00 KiB", "0.500 B", "250.0 ms"]);
  assert.equal(instant(1_500_000_000, 1_000_000), "1.500 s");
  assert.deepEqual(ticks(0, 10, 5), { step: 2, at: [0, 2, 4, 6, 8, 10] });
});

const META = {
  locations: Array.from({ length: 6 }, (_, rank) => ({ id: rank, rank, name: "t", process: "p", kind: "thread", parent_row: null })),
  orders: { rank: [0, 1, 2, 3, 4, 5] },
} as unknown as Meta;
const CLUSTERS = [{ cluster: 0, rows: [0, 1, 2], representative: 0 }, { cluster: 1, rows: [3], representative: 3 }, { cluster: 2, rows: [4, 5], representative: 4 }];

test("bands of clusters grow with the logarithm of their size", () => {
  const rows = layRows(META, { ...INITIAL, order: "cluster" }, null, new Set(), 300, null, CLUSTERS);
  assert.deepEqual(rows.map((row) => row.row), [0, 3, 4]);
  const [three, one, two] = rows.map((row) => row.height) as [number, number, number];
  assert.ok(Math.abs(three / one - 2) < 0.05 && Math.abs(two / one - Math.log2(3)) < 0.05);
  const open = layRows(META, { ...INITIAL, order: "cluster" }, null, new Set([0]), 300, null, CLUSTERS);
  assert.deepEqual(open.map((row) => row.row), [0, 1, 2, 3, 4]);
  assert.deepEqual([rows, open].map((all) => all.map((row) => labelOf(META, row).label)), [["rank 0 ×3", "rank 3", "rank 4 ×2"], ["rank 0", "rank 1", "rank 2", "rank 3", "rank 4 ×2"]]);
  assert.equal(rowAt(rows, three)?.row, 3);
  assert.equal(rowAt(rows, 1e6), null);
  for (const [top, bottom] of [[0, 1], [three, three], [three - 1, three + 1], [-5, 1e6], [1e6, 2e6], [-9, -1]] as const) {
    assert.deepEqual(rowsWithin(rows, top, bottom), rows.filter((row) => top < row.y + row.height && row.y < bottom), `${top} to ${bottom}`);
  }
});

test("marked ranks alone, and an order by a metric", () => {
  const rows = layRows(META, { ...INITIAL, focus: true }, new Set([1, 4]), new Set(), 300, [5, 4, 3, 2, 1, 0], null);
  assert.deepEqual(rows.map((row) => row.row), [4, 1]);
});

test("threads and streams are below their rank, or have no rows; 100,000 rows are laid out", () => {
  const n = 100_000;
  const locations = Array.from({ length: n }, (_, row) => ({ id: row, rank: row >> 2, name: `t${row & 3}`, process: "p", kind: row % 4 === 3 ? "stream" : "thread", parent_row: row % 4 === 0 ? null : row & ~3 }));
  const meta = { locations, orders: { rank: locations.map((_, row) => row) } } as unknown as Meta;
  const all = layRows(meta, INITIAL, null, new Set(), 300, null, null);
  assert.equal(all.length, n);
  assert.deepEqual(all.slice(4, 8).map((row) => labelOf(meta, row)).map(({ label, indented }) => [label, indented]), [["rank 1", false], ["t1", true], ["t2", true], ["t3", true]]);
  assert.equal(rowAt(all, 2 * n - 1)?.row, n - 1);
  const ranks = layRows(meta, { ...INITIAL, threads: false }, null, new Set(), 300, null, null);
  assert.deepEqual([ranks.length, ranks[1]?.row], [n / 4, 4]);
});

test("a file answers for the whole run and says what it does not hold", async () => {
  const question = { question: "profile", options: { top: 0 }, selection: {} };
  const refused = { question: "report", options: {}, selection: {} };
  const tile = new Uint8Array([79, 90, 84, 49]);
  const packed = btoa(String.fromCharCode(...gzipSync(tile)));
  const source = new EmbeddedSource({ "api/tile?level=0&tile=1&block=2": packed, [`api/ask?${canonical(refused)}`]: { error: "no calls" }, [`api/ask?${canonical(question)}`]: { data: 1 }, [`api/ask?${canonical({ ...question, selection: { ranks: "1" } })}`]: { data: 2 } });
  assert.deepEqual(await source.ask(question), { data: 1 });
  assert.deepEqual(await source.ask({ ...question, selection: { ranks: "1" } }), { data: 2 });
  await assert.rejects(source.ask({ ...question, selection: { ranks: "2" } }), /does not hold/);
  await assert.rejects(source.ask({ ...question, options: {} }), /does not hold/);
  await assert.rejects(source.ask(refused), /no calls/);
  await assert.rejects(source.messages(), /does not hold/);
  assert.deepEqual(new Uint8Array((await source.tile({ level: 0, tile: 1, block: 2 })) ?? []), tile);
  assert.equal(await source.tile({ level: 1, tile: 1, block: 2 }), null);
});
