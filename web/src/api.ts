import { NOTHING } from "./data/paths.ts";
import type { Pending } from "./data/source.ts";
import { exportView } from "./export/export.ts";
import type { Range, State, View } from "./state/state.ts";
import { sleep, type Store } from "./state/store.ts";
import type { TimelineView } from "./timeline/view.ts";

export interface PixelAnswer {
  /** Regions from the outermost to the one that is drawn; `null` where nothing runs. */
  call_path: string[] | null;
  /** The category that holds most of the pixel. */
  category: string | null;
  time_ns: Range;
}

/** `window.ouzel`: for tests and scripts. docs/view.md describes it. */
export interface OuzelApi {
  ready: Promise<void>;
  settled(): Promise<void>;
  state(): State;
  setState(state: Partial<State>): void;
  pixel(rank: number, time_ns: number): Promise<PixelAnswer | null>;
  frames(n: number): Promise<number[]>;
  /** The rows of the timeline from the top: ranks, place and height. */
  rows(): { ranks: number[]; y: number; height: number }[];
  export(view: View, kind: "svg" | "png" | "csv"): Promise<string | Blob>;
}

declare global {
  interface Window {
    ouzel: OuzelApi;
  }
}

/** Moments in a row in which nothing is missing. */
const QUIET = 4;

export function install(pending: Pending): { connect(store: Store, view: TimelineView): void } {
  let connected: (parts: { store: Store; view: TimelineView }) => void = () => undefined;
  const parts = new Promise<{ store: Store; view: TimelineView }>((done) => (connected = done));
  let held: Store | null = null;
  let shown: TimelineView | null = null;
  const settled = async () => {
    const { store, view } = await parts;
    for (let quiet = 0; quiet < QUIET; ) {
      const complete = [store, store.second.value].every((each) => each === null || each.status.value?.tiles.complete === true);
      quiet = complete && pending.count === 0 && view.settled && store.isAddressed ? quiet + 1 : 0;
      await sleep(25);
      if (store.error.value && pending.count === 0 && !complete) throw new Error(store.error.value);
    }
  };
  window.ouzel = {
    ready: parts.then(firstPicture),
    settled,
    state: () => {
      if (!held) throw new Error("await window.ouzel.ready first");
      return structuredClone(held.state.value);
    },
    setState: (state) => {
      if (!held) throw new Error("await window.ouzel.ready first");
      held.set(state);
    },
    pixel: async (rank, time_ns) => {
      await settled();
      const { store, view } = await parts;
      // The first look at a tile asks for its shares.
      if (pixelOf(store, view, rank, time_ns)?.category === null) await settled();
      return pixelOf(store, view, rank, time_ns);
    },
    frames: async (n) => frames((await parts).view, n),
    rows: () => (shown ? rowsOf(shown) : []),
    export: async (view, kind) => {
      const { store } = await parts;
      if (kind !== "csv" && view !== "guide" && view !== "timeline") store.set({ view });
      await settled();
      return exportView(store, view, kind);
    },
  };
  return {
    connect: (store, view) => {
      held = store;
      shown = view;
      connected({ store, view });
    },
  };
}

async function firstPicture({ store, view }: { store: Store; view: TimelineView }): Promise<void> {
  // Some rows have nothing to show, and some traces have no other ones.
  const isEmpty = () => store.status.value?.tiles.complete === true && view.settled;
  while (!store.profileOnly && !store.tiles.hasFirst && !isEmpty()) await sleep(15);
  view.render();
}

function pixelOf(store: Store, view: TimelineView, rank: number, time_ns: number): PixelAnswer | null {
  const row = rowOf(store, rank);
  const pixel = row === null ? null : view.pixel(row, time_ns);
  if (!pixel) return null;
  if (pixel.path === NOTHING) return { call_path: null, category: null, time_ns: pixel.time_ns };
  const category = pixel.shares && (store.meta.categories[pixel.shares.indexOf(Math.max(...pixel.shares))]?.name ?? "other");
  return { call_path: store.paths.names(view.displayed(pixel.path)), category, time_ns: pixel.time_ns };
}

/** Ranks of each row; a closed band of a cluster has all of its ranks. */
function rowsOf(view: TimelineView): { ranks: number[]; y: number; height: number }[] {
  const { locations } = view.store.meta;
  const bands = new Map((view.clusters.value ?? []).map((band) => [band.cluster, band.rows]));
  return view.rows.map(({ row, y, height, cluster }) => {
    const rows = cluster && !cluster.open ? (bands.get(cluster.id) ?? [row]) : [row];
    const ranks = new Set(rows.map((each) => locations[each]?.rank).filter((rank) => typeof rank === "number"));
    return { ranks: [...ranks].sort((a, b) => a - b), y, height };
  });
}

/** The first location of a rank; in traces without ranks, the location of that number. */
function rowOf(store: Store, rank: number): number | null {
  const { locations } = store.meta;
  const row = locations.findIndex((location) => location.rank === rank && location.kind !== "metric");
  if (0 <= row) return row;
  return locations.every((location) => location.rank === null) && rank < locations.length ? rank : null;
}

/** Milliseconds of script in each of `n` frames while the picture moves. */
async function frames(view: TimelineView, n: number): Promise<number[]> {
  const { store } = view;
  const before = store.state.value.time_ns;
  const times: number[] = [];
  const width = Math.min(store.end, store.shown[1] - store.shown[0]) * 0.8;
  const start = store.shown[0];
  for (let i = 0; i < n; i += 1) {
    await new Promise((done) => requestAnimationFrame(done));
    const from = Math.min(store.end - width, start + (0.2 * width * i) / Math.max(1, n));
    const begin = performance.now();
    store.set({ time_ns: [Math.round(from), Math.round(from + width)] });
    view.render();
    times.push(performance.now() - begin);
  }
  store.set({ time_ns: before });
  return times;
}
