import { effect, signal } from "@preact/signals";
import { NOTHING } from "../data/paths.ts";
import type { Bins } from "../data/tiles.ts";
import type { ClusterOrder } from "../data/types.ts";
import { decodeBins, sharesAt } from "../data/tiles.ts";
import type { Rgb } from "../colour/oklch.ts";
import type { Range } from "../state/state.ts";
import type { Store } from "../state/store.ts";
import { sleep } from "../state/store.ts";
import { Colours, displayed, paletteOf, Significance } from "./colours.ts";
import { assemble, tilesOf, windowOf, type Window } from "./image.ts";
import { NO_ROW, painterFor, type Image, type Painter } from "./painter.ts";
import { heightOf, layRows, rowAt, rowsWithin, type DisplayRow } from "./rows.ts";
import { sizeOf } from "./size.ts";

/** What a pixel shows, with its extent. */
export interface Pixel {
  row: number;
  path: number;
  /** Of each category; `null`: not there yet. */
  shares: number[] | null;
  time_ns: Range;
}

/** Exact bins of what is in view, finer than any tile. */
interface Exact {
  from: number;
  to: number;
  first: number;
  bins: Bins;
}

/** The picture of rows over time. It draws at most once a frame, and only what has changed. */
export class TimelineView {
  rows: DisplayRow[] = [];
  private placed: { rows: DisplayRow[]; places: ReadonlyMap<number, DisplayRow> } | null = null;
  significance: Significance | null = null;
  private significanceLevel = Infinity;
  colours: Colours | null = null;
  readonly painter: Painter;
  readonly open = signal<ReadonlySet<number>>(new Set());
  readonly scroll = signal(0);
  readonly byMetric = signal<number[] | null>(null);
  readonly clusters = signal<ClusterOrder[] | null>(null);
  private laid: unknown[] = [];
  /** Counts pictures, for what is drawn above. */
  readonly drawn = signal(0);
  dark = true;
  /** The picture of another run, whose colours this one takes over. */
  like: TimelineView | null = null;
  private image: Image | null = null;
  private window: Window | null = null;
  private exact: Exact | null = null;
  private exactAsked = "";
  private exactAbort: AbortController | null = null;
  private frame = 0;
  private stale = { image: true, palette: true };
  private readonly disposals: (() => void)[] = [];

  readonly store: Store;
  readonly canvas: HTMLCanvasElement;

  constructor(store: Store, canvas: HTMLCanvasElement, like: TimelineView | null = null) {
    this.store = store;
    this.canvas = canvas;
    this.painter = painterFor(canvas);
    store.tiles.onArrival = () => this.invalidate("image");
    this.like = like;
    this.disposals.push(
      effect(() => { void store.state.value; void store.pathsKnown.value; void store.pointedPath.value; this.invalidate("palette"); }),
      effect(() => { void store.status.value; void this.open.value; void this.scroll.value; void this.byMetric.value; void this.clusters.value; this.invalidate("image"); }),
    );
  }

  dispose(): void {
    cancelAnimationFrame(this.frame);
    for (const dispose of this.disposals) dispose();
  }

  invalidate(what: "image" | "palette" | "position" = "position"): void {
    if (what === "image") this.stale.image = true;
    if (what !== "position") this.stale.palette = true;
    if (this.frame === 0) this.frame = requestAnimationFrame(() => this.render());
  }

  get width(): number {
    return Math.max(1, sizeOf(this.canvas).width);
  }

  get height(): number {
    return Math.max(1, sizeOf(this.canvas).height);
  }

  timeAt(x: number): number {
    const [a, b] = this.store.shown;
    return a + (x / this.width) * (b - a);
  }

  xOf(time: number): number {
    const [a, b] = this.store.shown;
    return ((time - a) / (b - a)) * this.width;
  }

  rowAt(y: number): DisplayRow | null {
    return rowAt(this.rows, y + this.scroll.value);
  }

  get maxScroll(): number {
    return Math.max(0, heightOf(this.rows) - this.height);
  }

  /** Where the rows are after they move by some pixels. */
  scrolled(by: number): number {
    return Math.max(0, Math.min(this.maxScroll, this.scroll.value + by));
  }

  /** Whether everything in view is drawn in full detail. */
  get settled(): boolean {
    if (this.store.profileOnly) return true;
    if (this.frame !== 0 || !this.window || this.exactAbort) return false;
    if (this.wantsExact(this.store.shown) && !this.exact) return this.exactAsked !== "";
    return this.store.tiles.hasAll(tilesOf(this.store.tiles, this.window));
  }

  /** What is drawn of a location at a time. */
  pixel(row: number, time: number): Pixel | null {
    const exact = this.exactInView();
    if (exact && exact.from <= time && time < exact.to && exact.first <= row && row < exact.first + exact.bins.n_rows) {
      const step = (exact.to - exact.from) / exact.bins.n_bins;
      const bin = Math.floor((time - exact.from) / step);
      const at = (row - exact.first) * exact.bins.n_bins + bin;
      const path = exact.bins.paths[at] ?? NOTHING;
      return { row, path, shares: sharesAt(exact.bins, row - exact.first, bin), time_ns: [Math.round(exact.from + bin * step), Math.round(exact.from + (bin + 1) * step)] };
    }
    const level = this.window?.level ?? this.store.tiles.coarsest;
    const found = this.store.tiles.binAt(level, row, time);
    if (!found) return null;
    if (!found.shares) this.store.tiles.wantShares(found.key);
    const bin_ns = this.store.tiles.binNs(found.key.level);
    return { row, path: found.path, shares: found.shares, time_ns: [found.bin * bin_ns, (found.bin + 1) * bin_ns] };
  }

  /** The call path that is drawn for `path`. */
  displayed(path: number): number {
    return displayed(path, this.store.state.value.depth, this.store.paths, this.significance);
  }

  /** The colour of a call path by its names. */
  colourOf(names: string[]): Rgb | null {
    const path = this.store.paths.find(names);
    return path === null ? null : (this.colours?.of(path) ?? null);
  }

  render(): void {
    this.frame = 0;
    const scale = Math.min(2, devicePixelRatio || 1);
    const [width, height] = [Math.round(this.width * scale), Math.round(this.height * scale)];
    if (this.canvas.width !== width || this.canvas.height !== height) [this.canvas.width, this.canvas.height] = [width, height];
    this.layOut();
    this.prepareImage();
    if (this.stale.palette) this.prepareColours();
    // Where browsers draw without a graphics card, a picture of nothing costs as much as any other.
    if (this.image && (this.store.tiles.hasFirst || this.exact)) {
      const [a, b] = this.store.shown;
      const perPixel = (b - a) / width / this.image.bin_ns;
      this.painter.draw((a - this.image.start_ns) / this.image.bin_ns, perPixel, this.lines(height, scale));
    }
    this.drawn.value += 1;
  }

  private layOut(): void {
    const { meta } = this.store;
    const state = this.store.state.value;
    const of = [meta.locations, this.open.value, this.height, this.byMetric.value, this.clusters.value, state.focus, state.ranks, state.threads];
    // With 100,000 rows, laying them out takes longer than a frame.
    if (of.some((each, i) => each !== this.laid[i])) {
      this.laid = of;
      this.rows = layRows(meta, state, this.store.ranks, this.open.value, this.height, this.byMetric.value, this.clusters.value);
    }
    if (this.maxScroll < this.scroll.peek()) this.scroll.value = this.maxScroll;
  }

  /** The rows as they are laid out, by the rows of the trace. */
  get places(): ReadonlyMap<number, DisplayRow> {
    const { rows } = this;
    if (this.placed?.rows !== rows) this.placed = { rows, places: new Map(rows.map((row) => [row.row, row])) };
    return this.placed.places;
  }

  /** The rows in view. With 100,000 rows, looking at each takes longer than a frame. */
  visible(): DisplayRow[] {
    const top = this.scroll.peek();
    return rowsWithin(this.rows, top, top + this.height);
  }

  private prepareImage(): void {
    if (this.store.profileOnly) return;
    const rows = this.visible().map((row) => row.row);
    const shown = this.store.shown;
    const window = windowOf(this.store.tiles, shown, this.width, rows);
    const moved = JSON.stringify(window) !== JSON.stringify(this.window);
    if (moved || this.stale.image) {
      this.window = window;
      this.store.tiles.want(tilesOf(this.store.tiles, window));
      this.findSignificance(window);
    }
    this.askExact(shown, rows);
    const exact = this.exactInView();
    if (!moved && !this.stale.image) return;
    this.image = exact ? fromExact(exact, rows) : assemble(this.store.tiles, window);
    this.painter.image(this.image);
    this.stale.image = false;
  }

  /**
   * Which call paths matter, from the pictures of the whole run: the finest that are in view or, zoomed in, the coarsest.
   * Coarse bins show what holds most of them, so what is short everywhere would be nothing.
   */
  private findSignificance(window: Window): void {
    const { tiles, paths, meta } = this.store;
    if (paths.length === 0 || !this.store.status.peek()?.tiles.complete) return;
    const isWhole = window.tiles[0] === 0 && window.tiles[1] === tiles.nTiles(window.level) - 1;
    const level = isWhole ? window.level : tiles.coarsest;
    if (this.significance && this.significanceLevel <= level) return;
    const blocks = [...new Set(window.rows.map((row) => Math.floor(row / meta.tiles.rows)))].filter((block) => tiles.blocks?.[block] !== 0);
    const keys = blocks.slice(0, 16).flatMap((block) => Array.from({ length: tiles.nTiles(level) }, (_, tile) => ({ level, tile, block })));
    const pictures = keys.map((key) => tiles.get(key)).filter((bins) => bins !== null);
    if (pictures.length === 0 || pictures.length < keys.length) return;
    this.significance = new Significance(paths, pictures);
    this.significanceLevel = level;
    this.stale.palette = true;
  }

  private prepareColours(): void {
    const { paths, meta } = this.store;
    const state = this.store.state.peek();
    this.colours = new Colours(paths, meta.categories, state, this.dark, this.significance, this.like && ((names) => this.like?.colourOf(names) ?? null));
    const ground: Rgb = this.dark ? [21, 24, 29] : [250, 250, 248];
    this.painter.palette(paletteOf(paths, this.colours, state, this.significance, this.store.pointedPath.peek(), ground));
    this.stale.palette = false;
  }

  /** The image's row of each line of device pixels; high rows have a gap. */
  private lines(height: number, scale: number): Uint16Array {
    const lines = new Uint16Array(height).fill(NO_ROW);
    const top = this.scroll.peek();
    this.visible().forEach((row, i) => {
      const gap = 7 <= row.height ? 1 : 0;
      const [from, to] = [Math.round((row.y - top) * scale), Math.round((row.y - top + row.height - gap) * scale)];
      lines.fill(i, Math.max(0, from), Math.max(0, Math.min(height, to)));
    });
    return lines;
  }

  private wantsExact(shown: Range): boolean {
    // The server has tiles down to a tick; others answer for columns of any width.
    return this.store.meta.abilities["exact"] === true && (shown[1] - shown[0]) / this.width < this.store.tiles.binNs(0) / 2;
  }

  private exactInView(): Exact | null {
    const [a, b] = this.store.shown;
    return this.exact && this.exact.from === a && this.exact.to === b ? this.exact : null;
  }

  private askExact(shown: Range, rows: number[]): void {
    const key = this.wantsExact(shown) && 0 < rows.length ? JSON.stringify([shown, this.width, rows]) : "";
    if (key === this.exactAsked) return;
    this.exactAbort?.abort();
    this.exactAbort = null;
    this.exactAsked = key;
    this.exact = null;
    this.stale.image = true;
    if (key !== "") void this.fetchExact(shown, rows);
  }

  private async fetchExact([from, to]: Range, rows: number[]): Promise<void> {
    const abort = new AbortController();
    this.exactAbort = abort;
    const [first, last] = [rows.reduce((a, b) => Math.min(a, b)), rows.reduce((a, b) => Math.max(a, b))];
    const columns = Math.max(1, Math.min(this.width, to - from));
    try {
      await sleep(60);
      if (abort.signal.aborted) return;
      const bytes = await this.store.source.exact({ from, to, columns, rows: [first, last] }, abort.signal);
      if (!abort.signal.aborted && bytes) this.exact = { from, to, first, bins: decodeBins(bytes) };
    } catch (error) {
      if (!abort.signal.aborted) this.store.report(error);
    }
    if (this.exactAbort !== abort) return;
    this.exactAbort = null;
    this.invalidate("image");
  }
}

function fromExact({ from, to, first, bins }: Exact, rows: number[]): Image {
  const ids = new Uint32Array(Math.max(1, rows.length * bins.n_bins)).fill(NOTHING);
  rows.forEach((row, line) => {
    const at = (row - first) * bins.n_bins;
    if (0 <= at && row - first < bins.n_rows) ids.set(bins.paths.subarray(at, at + bins.n_bins), line * bins.n_bins);
  });
  return { ids, n_bins: bins.n_bins, n_rows: Math.max(1, rows.length), start_ns: from, bin_ns: (to - from) / bins.n_bins };
}
