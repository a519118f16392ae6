import type { Meta, Region } from "./types.ts";

/** No call path: nothing runs there. */
export const NOTHING = 0xffffffff;

/** The tree of call paths, by number; it only grows. */
export class CallPaths {
  readonly parent: number[] = [];
  readonly region: number[] = [];
  readonly depth: number[] = [];
  private readonly byRegion = new Map<number, Region>();
  private readonly children = new Map<string, number>();
  readonly categoryNames: string[];

  constructor(meta: Pick<Meta, "regions" | "categories">) {
    for (const region of meta.regions) this.byRegion.set(region.id, region);
    this.categoryNames = meta.categories.map((category) => category.name);
  }

  get length(): number {
    return this.parent.length;
  }

  append(paths: [number, number][]): void {
    for (const [parent, region] of paths) {
      const id = this.parent.length;
      // The engine's tree has a root without a region: code outside of every region. It is no part of any call path.
      const root = parent < 0 && !this.byRegion.has(region);
      const above = 0 <= parent && this.depth[parent] === 0 ? -1 : parent;
      this.parent.push(above);
      this.region.push(region);
      this.depth.push(root ? 0 : above < 0 ? 1 : (this.depth[above] ?? 0) + 1);
      if (!root) this.children.set(`${above}/${this.regionOf(id)?.name ?? ""}`, id);
    }
  }

  regionOf(id: number): Region | undefined {
    const region = this.region[id];
    return region === undefined ? undefined : this.byRegion.get(region);
  }

  name(id: number): string {
    return this.regionOf(id)?.name ?? "";
  }

  /** Names from the outermost region to `id`. */
  names(id: number): string[] {
    return this.along(id).map((at) => this.name(at));
  }

  /** Short names of call paths, with the nearest caller that only one of them has where they would be the same. */
  labels(ids: readonly number[]): string[] {
    const short = ids.map((id) => this.along(id).map((at) => this.regionOf(at)?.short ?? this.name(at)));
    return short.map((own, i) => {
      const name = own.at(-1) ?? "";
      const alike = short.filter((other, j) => j !== i && other.at(-1) === name);
      if (alike.length === 0) return name;
      const callers = own.slice(0, -1).reverse();
      const apart = callers.find((caller) => alike.every((other) => !other.includes(caller))) ?? callers[0];
      return apart === undefined ? name : `${name} in ${apart}`;
    });
  }

  /** The call paths from the outermost region to `id`. */
  private along(id: number): number[] {
    const ids: number[] = [];
    for (let at = id; 0 <= at && at < this.length && 0 < (this.depth[at] ?? 0); at = this.parent[at] ?? -1) ids.unshift(at);
    return ids;
  }

  /** Number of the call path with these names. */
  find(names: readonly string[]): number | null {
    let at = -1;
    for (const name of names) {
      const child = this.children.get(`${at}/${name}`);
      if (child === undefined) return null;
      at = child;
    }
    return at < 0 ? null : at;
  }

  /** The call path of a call to the region `name` from `at`, which is negative for an outermost call. */
  child(at: number, name: string): number | undefined {
    return this.children.get(`${at < 0 ? -1 : at}/${name}`);
  }

  /** The ancestor of `id` at `depth`, or itself if it is not that deep. */
  ancestor(id: number, depth: number): number {
    let at = id;
    while (at < this.length && depth < (this.depth[at] ?? 0)) at = this.parent[at] ?? -1;
    return at;
  }

  isBelow(id: number, above: number): boolean {
    const depth = this.depth[above] ?? 0;
    return this.ancestor(id, depth) === above;
  }

  /** Number of the category of `id`'s region. */
  category(id: number): number {
    const category = this.regionOf(id)?.category;
    if (typeof category === "number") return category;
    const place = this.categoryNames.indexOf(category ?? "");
    return place < 0 ? Math.max(0, this.categoryNames.length - 1) : place;
  }
}
