import type { CallPaths } from "../data/paths.ts";
import { NOTHING } from "../data/paths.ts";
import type { Bins } from "../data/tiles.ts";
import { fromCss, ofCategory, ofRegion, type Rgb } from "../colour/oklch.ts";
import type { Category } from "../data/types.ts";
import type { State } from "../state/state.ts";

/** A call path that holds this part of the time is significant. */
const SIGNIFICANT = 0.01;

/** Which call paths matter, from a coarse picture of the run: exclusive and inclusive parts of its bins. */
export class Significance {
  readonly inclusive: Float64Array;
  private readonly shown: Int32Array;
  readonly order: number[];

  constructor(paths: CallPaths, pictures: Iterable<Bins>) {
    this.inclusive = new Float64Array(paths.length);
    let n = 0;
    for (const picture of pictures) {
      for (const id of picture.paths) {
        if (id === NOTHING || paths.length <= id) continue;
        n += 1;
        for (let at = id; 0 <= at; at = paths.parent[at] ?? -1) this.inclusive[at] = (this.inclusive[at] ?? 0) + 1;
      }
    }
    const least = Math.max(1, SIGNIFICANT * n);
    this.shown = new Int32Array(paths.length);
    for (let id = 0; id < paths.length; id += 1) {
      const parent = paths.parent[id] ?? -1;
      // A parent has a smaller number, so it is settled.
      const above = parent < 0 ? id : (this.shown[parent] ?? id);
      this.shown[id] = least <= (this.inclusive[id] ?? 0) || parent < 0 ? id : above;
    }
    this.order = Array.from(this.inclusive.keys()).sort((a, b) => (this.inclusive[b] ?? 0) - (this.inclusive[a] ?? 0) || a - b);
  }

  /** The deepest significant call path around `id`. */
  around(id: number): number {
    return this.shown[id] ?? id;
  }
}

/** The call path that stands for `id` at the depth that is shown. */
export function displayed(id: number, depth: State["depth"], paths: CallPaths, significance: Significance | null): number {
  if (depth === "leaf") return id;
  if (depth === "auto") return significance ? significance.around(id) : id;
  return paths.ancestor(id, depth);
}

/** What each displayed call path holds itself: its bins without those of what is displayed below it. */
function heldBy(paths: CallPaths, significance: Significance, depth: State["depth"]): [number, number][] {
  const own = new Map<number, number>();
  const add = (id: number, weight: number) => {
    const at = displayed(id, depth, paths, significance);
    own.set(at, (own.get(at) ?? 0) + weight);
  };
  for (const id of significance.order) {
    const parent = paths.parent[id] ?? -1;
    add(id, significance.inclusive[id] ?? 0);
    if (0 <= parent) add(parent, -(significance.inclusive[id] ?? 0));
  }
  return [...own].sort((a, b) => b[1] - a[1] || a[0] - b[0]);
}

/** Colours of call paths, as the state asks for them. */
export class Colours {
  private readonly rgb = new Map<number, Rgb>();
  private readonly nth = new Map<number, number>();
  /** Call paths as displayed, with what they hold themselves: most first. */
  readonly shown: [number, number][];
  private readonly paths: CallPaths;
  private readonly categories: Category[];
  private readonly state: State;
  private readonly dark: boolean;

  /** The colour that another run has for a call path, if it has one. */
  private readonly like: ((names: string[]) => Rgb | null) | null;

  constructor(paths: CallPaths, categories: Category[], state: State, dark: boolean, significance: Significance | null, like: ((names: string[]) => Rgb | null) | null = null) {
    this.like = like;
    this.paths = paths;
    this.categories = categories;
    this.state = state;
    this.dark = dark;
    this.shown = significance ? heldBy(paths, significance, state.depth) : [];
    const of: Record<number, number> = {};
    for (const [at] of this.shown) {
      const category = paths.category(at);
      this.nth.set(at, of[category] ?? 0);
      of[category] = (of[category] ?? 0) + 1;
    }
  }

  category(index: number): Rgb {
    const category = this.categories[index];
    return fromCss((this.dark ? category?.colour_dark : category?.colour_light) ?? "") ?? [128, 128, 128];
  }

  /** Of a call path as displayed. */
  of(id: number): Rgb {
    let rgb = this.rgb.get(id);
    if (!rgb) this.rgb.set(id, (rgb = this.like?.(this.paths.names(id)) ?? this.make(id)));
    return rgb;
  }

  private make(id: number): Rgb {
    if (this.paths.depth[id] === 0) return this.dark ? [58, 63, 71] : [214, 214, 210];
    const category = this.paths.category(id);
    const name = this.categories[category]?.name ?? "";
    if (this.state.colour === "category") return this.category(category);
    if (this.state.colour === "region") return ofRegion(this.paths.name(id), name);
    if (/^(computation|wait|synchron)/.test(name)) return ofCategory(name, this.nth.get(id) ?? 5);
    return this.category(category);
  }
}

/** RGBA of each call path: what is not searched, pointed at or selected is pale. */
export function paletteOf(
  paths: CallPaths, colours: Colours, state: State, significance: Significance | null, pointed: number | null, ground: Rgb,
): Uint8Array {
  const rgba = new Uint8Array(4 * Math.max(1, paths.length));
  const selected = state.call_path ? paths.find(state.call_path) : null;
  const needle = state.search.toLowerCase();
  const lit = new Map<number, boolean>();
  for (let id = 0; id < paths.length; id += 1) {
    const at = displayed(id, state.depth, paths, significance);
    const found = (): boolean => {
      const leaf = lit.get(id);
      if (leaf !== undefined) return leaf;
      const here = paths.name(id).toLowerCase().includes(needle) || (0 <= (paths.parent[id] ?? -1) && (lit.get(paths.parent[id] ?? -1) ?? false));
      lit.set(id, here);
      return here;
    };
    const light = (needle === "" || found()) && (selected === null || paths.isBelow(id, selected)) && (pointed === null || paths.isBelow(id, pointed));
    const rgb = colours.of(at);
    for (let c = 0; c < 3; c += 1) rgba[4 * id + c] = light ? (rgb[c] ?? 0) : Math.round(0.14 * (rgb[c] ?? 0) + 0.86 * (ground[c] ?? 0));
    rgba[4 * id + 3] = 255;
  }
  return rgba;
}
