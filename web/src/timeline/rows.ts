import type { ClusterOrder, Meta } from "../data/types.ts";
import type { State } from "../state/state.ts";

/** A row as it is drawn: a location, or the representative of a cluster. */
export interface DisplayRow {
  row: number;
  y: number;
  height: number;
  cluster: { id: number; size: number; open: boolean } | null;
}

export const MAX_ROW = 88;
export const MIN_ROW = 2;

/** Rows in the order asked for, with their place; as high as the space allows. */
export function layRows(meta: Meta, state: State, ranks: Set<number> | null, open: ReadonlySet<number>, space: number, byMetric: number[] | null, clusters: ClusterOrder[] | null): DisplayRow[] {
  const shown = (row: number) => {
    const location = meta.locations[row];
    return location !== undefined && location.kind !== "metric" && (state.threads || location.parent_row === null) && (!state.focus || ranks === null || location.rank === null || ranks.has(location.rank));
  };
  if (clusters) return clusterRows(clusters, open, space, shown);
  const order = (byMetric ?? meta.locations.map((_, row) => row)).filter(shown);
  const height = Math.max(MIN_ROW, Math.min(MAX_ROW, Math.floor(space / Math.max(1, order.length))));
  return order.map((row, i) => ({ row, y: i * height, height, cluster: null }));
}

function clusterRows(clusters: ClusterOrder[], open: ReadonlySet<number>, space: number, shown: (row: number) => boolean): DisplayRow[] {
  const bands = clusters.map((c) => ({ ...c, rows: c.rows.filter(shown) })).filter((c) => 0 < c.rows.length);
  const weights = bands.map((band) => (open.has(band.cluster) ? band.rows.length : 1) * Math.log2(open.has(band.cluster) ? 2 : band.rows.length + 1));
  const unit = Math.max(8, Math.min(MAX_ROW, space / Math.max(1, weights.reduce((a, b) => a + b, 0))));
  const rows: DisplayRow[] = [];
  let y = 0;
  for (const band of bands) {
    const cluster = { id: band.cluster, size: band.rows.length, open: open.has(band.cluster) };
    const height = Math.floor(unit * (cluster.open ? 1 : Math.log2(cluster.size + 1)));
    for (const row of cluster.open ? band.rows : [band.representative]) {
      rows.push({ row, y, height, cluster });
      y += height;
    }
  }
  return rows;
}

/** The name of a row, and whether it is below a rank: a thread, a stream. Made when it is drawn, not for 100,000 rows. */
export function labelOf(meta: Meta, { row, cluster }: Pick<DisplayRow, "row" | "cluster">): { label: string; indented: boolean } {
  const location = meta.locations[row];
  if (!location) return { label: "", indented: false };
  const { rank, name, parent_row } = location;
  // Rows are sorted by rank.
  const isFirst = meta.locations[row - 1]?.rank !== rank;
  const of = parent_row === null && rank !== null && isFirst ? { label: `rank ${rank}`, indented: false } : { label: name, indented: parent_row !== null || rank !== null };
  return cluster && !cluster.open && 1 < cluster.size ? { ...of, label: `${of.label} ×${cluster.size}` } : of;
}

const FIRST_ROWS = new WeakMap<Meta["locations"], Map<number, number>>();

/** The first row of each rank. Of 100,000 ranks they are found once. */
export function firstRows({ locations }: Meta): Map<number, number> {
  let found = FIRST_ROWS.get(locations);
  if (!found) {
    found = new Map();
    for (const [row, { rank }] of locations.entries()) if (rank !== null && !found.has(rank)) found.set(rank, row);
    FIRST_ROWS.set(locations, found);
  }
  return found;
}

/** The row at `y`, by bisection. */
export function rowAt(rows: readonly DisplayRow[], y: number): DisplayRow | null {
  let [low, high] = [0, rows.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((rows[middle]?.y ?? 0) <= y) low = middle + 1;
    else high = middle;
  }
  const row = rows[low - 1];
  return row && y < row.y + row.height ? row : null;
}

/** The rows that have a part between two heights; rows follow each other. */
export function rowsWithin(rows: readonly DisplayRow[], top: number, bottom: number): DisplayRow[] {
  const firstWhere = (is: (row: DisplayRow) => boolean): number => {
    let [low, high] = [0, rows.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      const row = rows[middle];
      if (row && is(row)) high = middle;
      else low = middle + 1;
    }
    return low;
  };
  return rows.slice(firstWhere((row) => top < row.y + row.height), firstWhere((row) => bottom <= row.y));
}

export function heightOf(rows: readonly DisplayRow[]): number {
  const last = rows[rows.length - 1];
  return last ? last.y + last.height : 0;
}
