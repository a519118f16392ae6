import { useEffect } from "preact/hooks";
import type { ClusterOrder, Meta, Placed, Table } from "../data/types.ts";
import { useAnswer, useStore } from "../state/answer.ts";
import type { TimelineView } from "./view.ts";

/** Orders that are no metric. */
const NAMED = ["rank", "cluster", "exclusive_ns", "topology"];

interface Clusters { clusters: { locations: number[]; representative_location: number }[] }

/** Rows in the order that the state names: the ranks' own, by cluster, by place in the topology, or by a metric. */
export function useRowOrder(view: TimelineView | null): void {
  const store = useStore();
  const { order, call_path, scope } = store.state.value;
  const isSeverity = !NAMED.includes(order);
  const question = order === "cluster" ? "clusters" : order === "exclusive_ns" ? "profile" : isSeverity || order === "topology" ? "correlate" : null;
  const options: Record<string, unknown> = question === null ? {} : {
    clusters: {},
    profile: { per: "rank", call_paths: call_path !== null, top: 0 },
    correlate: { scope, values: true, ...(isSeverity ? { metric: order, ...(call_path === null ? {} : { path: `/${call_path.join("/")}` }) } : {}) },
  }[question];
  const { data, error, loading } = useAnswer<unknown>(question, options, {});
  useEffect(() => {
    if (!view || (loading && order !== "rank")) return;
    view.clusters.value = question === "clusters" && data && !error ? bandsOf(store.meta, data as Clusters) : null;
    view.byMetric.value = question === "profile" && data && !error ? byTime(store.meta, data as Table, call_path)
      : question === "correlate" && data && !error ? byPlace(store.meta, data as Placed, isSeverity) : null;
    if (error && order !== "rank") store.error.value = `The rows stay in the order of ranks: ${error}`;
  }, [view, question, data, error, loading, call_path]);
}

/** Clusters as bands of rows; what belongs to none comes last. */
function bandsOf(meta: Meta, { clusters }: Clusters): ClusterOrder[] {
  const rows = new Map(meta.locations.map((location, row) => [location.id, row]));
  const known = (ids: number[]) => ids.map((id) => rows.get(id)).filter((row) => row !== undefined);
  const bands = clusters.map((each, cluster) => ({ cluster, rows: known(each.locations), representative: rows.get(each.representative_location) }));
  const taken = new Set(bands.flatMap((band) => band.rows));
  const others = meta.locations.map((_, row) => row).filter((row) => !taken.has(row));
  return [
    ...bands.flatMap((band) => { const representative = band.representative ?? band.rows[0]; return representative === undefined ? [] : [{ ...band, representative }]; }),
    ...others.map((row, i) => ({ cluster: bands.length + i, rows: [row], representative: row })),
  ];
}

/** By what ranks spend in a call path or, without one, in computation outside of MPI: most first. */
function byTime(meta: Meta, data: Table, call_path: string[] | null): number[] {
  const sums = new Map<number, number>();
  for (const row of data.rows) {
    const path = row["call_path"];
    const inside = call_path === null ? !/^P?MPI_/.test(String(row["region"])) : Array.isArray(path) && call_path.every((name, i) => path[i] === name);
    const rank = row["rank"];
    if (inside && typeof rank === "number") sums.set(rank, (sums.get(rank) ?? 0) + Number(row["exclusive_ns"] ?? 0));
  }
  return sorted(meta, (rank) => -(sums.get(rank) ?? 0));
}

/** By the place of ranks in the topology, or by their severity: most first. */
function byPlace(meta: Meta, { values, ranks }: Placed, isSeverity: boolean): number[] {
  const keys = new Map<number, number>();
  ranks.forEach((rank, place) => {
    if (rank === null) return;
    const before = keys.get(rank);
    // Threads of a rank have places, or values, of their own.
    keys.set(rank, isSeverity ? (before ?? 0) - (values[place] ?? 0) : (before ?? place));
  });
  return sorted(meta, (rank) => keys.get(rank) ?? Infinity);
}

/** Rows by a key of their rank; those of one rank stay together. */
function sorted(meta: Meta, key: (rank: number) => number): number[] {
  const keys = meta.locations.map((location) => (location.rank === null ? Infinity : key(location.rank)));
  const rank = (row: number) => meta.locations[row]?.rank ?? Infinity;
  return meta.locations.map((_, row) => row).sort((a, b) => compare(keys[a] ?? 0, keys[b] ?? 0) || compare(rank(a), rank(b)) || a - b);
}

function compare(a: number, b: number): number {
  return a < b ? -1 : b < a ? 1 : 0;
}
