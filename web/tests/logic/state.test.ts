import assert from "node:assert/strict";
import { test } from "node:test";
import { fromHash, merge, toHash } from "../../src/state/hash.ts";
import { INITIAL, type State } from "../../src/state/state.ts";
import { formatRanks, parseRanks } from "../../src/ranks.ts";

test("a state survives its hash", () => {
  const state: State = {
    ...INITIAL, view: "tree", time_ns: [5, 900], brush_ns: [7, 9], ranks: "0-3,8", depth: 3, colour: "region", findings_index: 0,
    call_path: ["main", "operator/(A const&)", "a,b=c#%é", "<img onerror=x>"], search: "MPI & co=1", messages: true, expanded: 2, theme: "dark", threads: false, waits: true, track: "messages",
    metric: "time", grid: 1, scope: "inclusive", axes: [0, 2], shown_axes: [2, 0, 1], slices: [0, 0, 0, 5], opaque: [0.25, 1], beside: [{ metric: "bytes_sent", call_path: ["main", "a,b&c"] }],
  };
  assert.deepEqual(fromHash(toHash(state)), state);
  assert.equal(toHash(INITIAL), "");
});

test("nonsense leaves the state as it was", () => {
  for (const hash of ["#view=x", "#time_ns=9,5", "#time_ns=a,b", "#ranks=3-1", "#depth=0", "#depth=-1", "#findings_index=1.5", "#search=%", "#theme=pink", "#axes=", "#axes=-1", "#shown_axes=0,1,2,3", "#opaque=0.5,0.2", "#opaque=0,2", "#beside=1", "#beside=[{}]", "#scope=all", "#__proto__=1"]) {
    assert.deepEqual(fromHash(hash), INITIAL, hash);
  }
  assert.deepEqual(merge(INITIAL, { time_ns: [3, 3], call_path: [1], messages: "yes" }), INITIAL);
  assert.deepEqual(merge(INITIAL, { call_path: "main/step" }).call_path, ["main", "step"]);
});

test("ranks are written as the command line takes them", () => {
  assert.equal(formatRanks([5, 3, 4, 9, 3]), "3-5,9");
  assert.deepEqual([...(parseRanks("3-5, 9") ?? [])], [3, 4, 5, 9]);
  assert.equal(parseRanks("1-"), null);
  assert.equal(parseRanks(""), null);
  assert.equal(parseRanks("0-99999999999"), null);
});
