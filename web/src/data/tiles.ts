import { NOTHING } from "./paths.ts";
import { AnswerError, type DataSource, type TileKey, type TilePart } from "./source.ts";
import type { Meta } from "./types.ts";

/** A picture of bins: of each the call path, and in four planes the shares of categories, where these were asked for. */
export interface Bins {
  n_rows: number;
  n_bins: number;
  /** A bit for each row that shows a part of what it will show. */
  unfinished: bigint;
  paths: Uint32Array;
  shares: Uint8Array | null;
}

const HEADER = 16;
const PLANES = 4;
/** About 70 kB each, 130 kB with shares. */
const MAX_TILES = 600;

/** Planes of the four bytes of call paths, the lowest first, then those of shares, if there are any. */
export function decodeBins(bytes: ArrayBuffer): Bins {
  const view = new DataView(bytes);
  const magic = String.fromCharCode(...new Uint8Array(bytes, 0, Math.min(4, bytes.byteLength)));
  if (magic !== "OZT3") throw new Error(`a tile begins with ${JSON.stringify(magic)}`);
  const n_rows = view.getUint16(4, true);
  const n_bins = view.getUint16(6, true);
  const unfinished = view.getBigUint64(8, true);
  const n = n_rows * n_bins;
  if (bytes.byteLength !== HEADER + 4 * n && bytes.byteLength !== HEADER + (4 + PLANES) * n) throw new Error(`a tile of ${n_rows} × ${n_bins} has ${bytes.byteLength} bytes`);
  const [a, b, c, d] = [0, 1, 2, 3].map((plane) => new Uint8Array(bytes, HEADER + plane * n, n));
  const paths = new Uint32Array(n);
  for (let i = 0; i < n; i += 1) paths[i] = (a?.[i] ?? 0) + 0x100 * (b?.[i] ?? 0) + 0x10000 * (c?.[i] ?? 0) + 0x1000000 * (d?.[i] ?? 0);
  return { n_rows, n_bins, unfinished, paths, shares: bytes.byteLength === HEADER + 4 * n ? null : new Uint8Array(bytes, HEADER + 4 * n, PLANES * n) };
}

interface Held extends TileKey {
  bins: Bins | null;
  generation: number;
  used: number;
  abort: AbortController | null;
  /** Somebody points at it, or did. */
  shares: boolean;
}

/** Tiles that arrived and that are under way. What is missing is drawn from the next coarser tile there is. */
export class TileStore {
  generation = 0;
  /** Of each block of rows, how often one of them changed; unknown where nothing changes. */
  blocks: number[] | null = null;
  complete = false;
  /** Finer levels are counted from the events once all are read; others stay as they are. */
  finest = Infinity;
  onArrival: () => void = () => undefined;
  /** Resolves with the first tile, whatever it shows. */
  readonly first: Promise<void>;
  hasFirst = false;
  private arrived: () => void = () => undefined;
  onError: (error: unknown) => void = () => undefined;
  private readonly held = new Map<string, Held>();
  private clock = 0;

  readonly meta: Meta;
  private readonly source: DataSource;

  constructor(source: DataSource, meta: Meta) {
    this.source = source;
    this.meta = meta;
    this.first = new Promise((done) => (this.arrived = () => { this.hasFirst = true; done(); }));
  }

  get coarsest(): number {
    return Math.max(0, this.meta.tiles.n_levels - 1);
  }

  /** Nanoseconds of a bin. */
  binNs(level: number): number {
    return this.meta.tiles.bin0_ns * 2 ** level;
  }

  /** The finest level that there is, whose bins are at least `ns` long. */
  levelFor(ns: number): number {
    const level = Math.ceil(Math.log2(ns / this.meta.tiles.bin0_ns) - 1e-9);
    return Math.min(this.coarsest, Math.max(this.meta.tiles.floor ?? 0, level));
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
      if (held.abort && !held.shares && !wanted.has(key)) {
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
    return keys.every((key) => this.version(key) === 0 || this.held.get(name(key))?.generation === this.version(key));
  }

  /** Asks for the shares of a tile that is there: who points at a bin wants them, a picture does not. */
  wantShares(key: TileKey): void {
    const held = this.held.get(name(key));
    if (!held?.bins || held.shares) return;
    held.shares = true;
    held.abort?.abort();
    void this.fetch(held, this.version(key));
  }

  /** What a tile is of: while the trace is read, it changes with the rows of its block alone; in the end fine ones are refined. */
  private version({ level, block }: TileKey): number {
    const known = this.blocks?.[block];
    return known === undefined ? this.generation : 2 * known + (this.complete && level < this.finest ? 1 : 0);
  }

  /** The bin at `level`, its call path and its shares, unless these are not there; from a coarser tile if that is all there is. */
  binAt(level: number, row: number, time: number): { key: TileKey; bin: number; path: number; shares: number[] | null } | null {
    const { bins: perTile, rows } = this.meta.tiles;
    for (let l = level; l <= this.coarsest; l += 1) {
      const bin = Math.floor(time / this.binNs(l));
      const key = { level: l, tile: Math.floor(bin / perTile), block: Math.floor(row / rows) };
      const tile = this.get(key);
      if (!tile) continue;
      const [r, b] = [row % rows, bin % perTile];
      if (tile.n_rows <= r || tile.n_bins <= b) return null;
      return { key, bin, path: tile.paths[r * tile.n_bins + b] ?? NOTHING, shares: sharesAt(tile, r, b) };
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
    // Where no row is known yet, there is nothing to show.
    if (this.version(key) === 0 || (held && (held.abort || held.generation === this.version(key)))) return;
    held ??= { ...key, bins: null, generation: -1, used: this.clock, abort: null, shares: false };
    held.used = this.clock;
    this.held.set(name(key), held);
    void this.fetch(held, this.version(key));
  }

  private async fetch(held: Held, generation: number): Promise<void> {
    const abort = new AbortController();
    held.abort = abort;
    try {
      // A row does not change once it is whole, but where it is refined in the end.
      const before = held.shares || this.complete ? null : held.bins;
      const part: TilePart = { generation, shares: held.shares, known: before ? knownRows(before) : 0n, slow: this.complete && held.level < this.finest };
      const bytes = await this.source.tile(held, part, abort.signal);
      if (held.abort !== abort) return;
      if (bytes) {
        held.bins = joined(decodeBins(bytes), before);
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

/** The rows that show something and are whole, a bit for each. */
function knownRows({ n_rows, n_bins, unfinished, paths }: Bins): bigint {
  let known = 0n;
  for (let row = 0; row < n_rows; row += 1) {
    if (paths.subarray(row * n_bins, (row + 1) * n_bins).some((path) => path !== NOTHING)) known |= 1n << BigInt(row);
  }
  return known & ~unfinished;
}

/** What is new, and what was known. */
function joined(bins: Bins, before: Bins | null): Bins {
  if (!before || before.paths.length !== bins.paths.length) return bins;
  return { ...bins, paths: bins.paths.map((path, at) => (path === NOTHING ? (before.paths[at] ?? NOTHING) : path)) };
}

export function sharesAt(bins: Bins, row: number, bin: number): number[] | null {
  const planes = bins.shares;
  if (!planes) return null;
  const n = bins.n_rows * bins.n_bins;
  const at = row * bins.n_bins + bin;
  const shares = Array.from({ length: PLANES }, (_, plane) => (planes[plane * n + at] ?? 0) / 255);
  const rest = Math.max(0, 1 - shares.reduce((a, b) => a + b, 0));
  return [...shares, rest < 3 / 255 ? 0 : rest];
}

function name({ level, tile, block }: TileKey): string {
  return `${level}/${tile}/${block}`;
}
