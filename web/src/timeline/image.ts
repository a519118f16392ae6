import { NOTHING } from "../data/paths.ts";
import type { TileKey } from "../data/source.ts";
import type { TileStore } from "../data/tiles.ts";
import type { Image } from "./painter.ts";

/** What of the tiles is in view: a level, tiles along time, rows. */
export interface Window {
  level: number;
  tiles: [number, number];
  rows: number[];
}

export function windowOf(store: TileStore, shown: readonly [number, number], width: number, rows: number[]): Window {
  const level = store.levelFor((shown[1] - shown[0]) / Math.max(1, width));
  const tileNs = store.binNs(level) * store.meta.tiles.bins;
  const last = store.nTiles(level) - 1;
  const first = Math.min(last, Math.max(0, Math.floor(shown[0] / tileNs)));
  return { level, tiles: [first, Math.min(last, Math.max(first, Math.ceil(shown[1] / tileNs) - 1))], rows };
}

/** Tiles of a window; the coarsest of its blocks come first, so that something is drawn at once. */
export function tilesOf(store: TileStore, window: Window): TileKey[] {
  const blocks = [...new Set(window.rows.map((row) => Math.floor(row / store.meta.tiles.rows)))];
  const keys: TileKey[] = [];
  const add = (level: number, first: number, last: number) => {
    for (let tile = first; tile <= last; tile += 1) for (const block of blocks) keys.push({ level, tile, block });
  };
  if (window.level < store.coarsest) add(store.coarsest, 0, store.nTiles(store.coarsest) - 1);
  add(window.level, window.tiles[0], window.tiles[1]);
  return keys;
}

/** The picture of a window; what is missing comes from coarser tiles. */
export function assemble(store: TileStore, window: Window): Image {
  const { bins } = store.meta.tiles;
  const n_bins = (window.tiles[1] - window.tiles[0] + 1) * bins;
  const ids = new Uint32Array(Math.max(1, n_bins * window.rows.length)).fill(NOTHING);
  window.rows.forEach((row, line) => {
    for (let tile = window.tiles[0]; tile <= window.tiles[1]; tile += 1) {
      fill(store, ids, line * n_bins + (tile - window.tiles[0]) * bins, { level: window.level, tile }, row);
    }
  });
  const bin_ns = store.binNs(window.level);
  return { ids, n_bins, n_rows: Math.max(1, window.rows.length), start_ns: window.tiles[0] * bins * bin_ns, bin_ns };
}

function fill(store: TileStore, ids: Uint32Array, at: number, place: { level: number; tile: number }, row: number): void {
  const { bins, rows } = store.meta.tiles;
  const [block, line] = [Math.floor(row / rows), row % rows];
  for (let up = 0; place.level + up <= store.coarsest; up += 1) {
    const first = place.tile * bins;
    const tile = Math.floor(first / 2 ** up / bins);
    const found = store.get({ level: place.level + up, tile, block });
    if (!found || found.n_rows <= line) continue;
    if (up === 0) {
      ids.set(found.paths.subarray(line * found.n_bins, (line + 1) * found.n_bins), at);
      return;
    }
    for (let bin = 0; bin < bins; bin += 1) {
      const from = Math.floor((first + bin) / 2 ** up) - tile * bins;
      if (from < found.n_bins) ids[at + bin] = found.paths[line * found.n_bins + from] ?? NOTHING;
    }
    return;
  }
}
