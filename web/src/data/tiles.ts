import { NOTHING } from "./paths.ts";
import { AnswerError, type DataSource, type TileKey } from "./source.ts";
import type { Meta } from "./types.ts";

/** A picture of bins: of each the call path, and in four planes the shares of categories. */
export interface Bins {
  n_rows: number;
  n_bins: number;
  paths: Uint32Array;
  shares: Uint8Array;
}

const HEADER = 8;
const PLANES = 4;
/** About 130 kB each. */
const MAX_TILES = 600;

export function decodeBins(bytes: ArrayBuffer): Bins {
  const view = new DataView(bytes);
  const magic = String.fromCharCode(...new Uint8Array(bytes, 0, Math.min(4, bytes.byteLength)));
  if (magic !== "OZT1") throw new Error(`a tile begins with ${JSON.stringify(magic)}`);
  const n_rows = view.getUint16(4, true);
  const n_bins = view.getUint16(6, true);
  const n = n_rows * n_bins;
  if (bytes.byteLength < HEADER + n * (4 + PLANES)) throw new Error(`a tile of ${n_rows} × ${n_bins} has only ${bytes.byteLength} bytes`);
  return { n_rows, n_bins, paths: new Uint32Array(bytes, HEADER, n), shares: new Uint8Array(bytes, HEADER + 4 * n, PLANES * n) };
}

interface Held extends TileKey {
  bins: Bins | null;
  generation: number;
  used: number;
  abort: AbortController | null;
}

/** Tiles that arrived and that are under way. What is missing is drawn from the next coarser tile there is. */
export class TileStore {
  generation = 0;
  /** Of each block of rows, how many are complete; unknown where nothing changes. */
  blocks: number[] | null = null;
  complete = false;
  onArrival: () => void = () => undefined;
  /** Resolves with the first tile, whatever it shows. */
  readonly first: Promise<void>;
  private arrived: () => void = () => undefined;
  onError: (error: unknown) => void = () => undefined;
  private readonly held = new Map<string, Held>();
  private clock = 0;

  readonly meta: Meta;
  private readonly source: DataSource;

  constructor(source: DataSource, meta: Meta) {
    this.source = source;
    this.meta = meta;
    this.first = new Promise((done) => (this.arrived = done));
  }

  get coarsest(): number {
    return Math.max(0, this.meta.tiles.n_levels - 1);
  }

  /** Nanoseconds of a bin. */
  binNs(level: number): number {
    return this.meta.tiles.bin0_ns * 2 ** level;
  }

  /** The finest level whose bins are at least `ns` long. */
  levelFor(ns: number): number {
    const level = Math.ceil(Math.log2(ns / this.meta.tiles.bin0_ns) - 1e-9);
    return Math.min(this.coarsest, Math.max(0, level));
  }

  nTiles(level: number): number {
    return Math.max(1, Math.ceil(this.meta.time_ns[1] / (this.binNs(level) * this.meta.tiles.bins)));
  }

  get(key: TileKey): Bins | null {
    const held = this.held.get(name(key));
    if (!held) return null;
    held.used = this.clock;
    return held.bins;
  }

  /** Asks for these tiles, in this order, and forgets requests for others that did not begin. */
  want(keys: TileKey[]): void {
    this.clock += 1;
    const wanted = new Set(keys.map(name));
    for (const [key, held] of this.held) {
      if (held.abort && !wanted.has(key)) {
        held.abort.abort();
        held.abort = null;
        if (!held.bins) this.held.delete(key);
      }
    }
    for (const key of keys) this.ask(key);
    this.evict();
  }

  /** Whether all of these are there and up to date. */
  hasAll(keys: TileKey[]): boolean {
    return keys.every((key) => this.held.get(name(key))?.generation === this.version(key));
  }

  /** What a tile is of: while the trace is read, it changes with the rows of its block alone; in the end all are refined. */
  private version({ block }: TileKey): number {
    const known = this.blocks?.[block];
    return known === undefined ? this.generation : 2 * known + (this.complete ? 1 : 0);
  }

  /** Number of the bin at `level`, its call path and its shares; from a coarser tile if that is all there is. */
  binAt(level: number, row: number, time: number): { level: number; bin: number; path: number; shares: number[] } | null {
    const { bins: perTile, rows } = this.meta.tiles;
    for (let l = level; l <= this.coarsest; l += 1) {
      const bin = Math.floor(time / this.binNs(l));
      const tile = this.get({ level: l, tile: Math.floor(bin / perTile), block: Math.floor(row / rows) });
      if (!tile) continue;
      const [r, b] = [row % rows, bin % perTile];
      if (tile.n_rows <= r || tile.n_bins <= b) return null;
      return { level: l, bin, path: tile.paths[r * tile.n_bins + b] ?? NOTHING, shares: sharesAt(tile, r, b) };
    }
    return null;
  }

  /** Everything is asked for anew. */
  forget(): void {
    for (const held of this.held.values()) held.abort?.abort();
    this.held.clear();
    this.onArrival();
  }

  private ask(key: TileKey): void {
    let held = this.held.get(name(key));
    if (held && (held.abort || held.generation === this.version(key))) return;
    held ??= { ...key, bins: null, generation: -1, used: this.clock, abort: null };
    held.used = this.clock;
    this.held.set(name(key), held);
    void this.fetch(held, this.version(key));
  }

  private async fetch(held: Held, generation: number): Promise<void> {
    const abort = new AbortController();
    held.abort = abort;
    try {
      const bytes = await this.source.tile(held, generation, abort.signal);
      if (held.abort !== abort) return;
      if (bytes) {
        held.bins = decodeBins(bytes);
        this.arrived();
      }
      held.generation = generation;
      held.abort = null;
      this.onArrival();
    } catch (error) {
      if (abort.signal.aborted) return;
      held.abort = null;
      // Asked again when the next generation comes, not in a circle.
      if (error instanceof AnswerError) held.generation = generation;
      this.onError(error);
    }
  }

  private evict(): void {
    if (this.held.size <= MAX_TILES) return;
    const old = [...this.held.values()].filter((h) => h.level < this.coarsest && !h.abort && h.used < this.clock);
    old.sort((a, b) => a.used - b.used);
    for (const held of old.slice(0, this.held.size - MAX_TILES)) this.held.delete(name(held));
  }
}

export function sharesAt(bins: Bins, row: number, bin: number): number[] {
  const n = bins.n_rows * bins.n_bins;
  const at = row * bins.n_bins + bin;
  const shares = Array.from({ length: PLANES }, (_, plane) => (bins.shares[plane * n + at] ?? 0) / 255);
  const rest = Math.max(0, 1 - shares.reduce((a, b) => a + b, 0));
  return [...shares, rest < 3 / 255 ? 0 : rest];
}

function name({ level, tile, block }: TileKey): string {
  return `${level}/${tile}/${block}`;
}
