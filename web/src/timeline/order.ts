import { useEffect } from "preact/hooks";
import type { Table } from "../data/types.ts";
import { useAnswer, useStore } from "../state/answer.ts";
import type { TimelineView } from "./view.ts";

/** Rows by what their ranks spend in the selected call path or, without one, in computation outside of MPI: most first. */
export function useRankOrder(view: TimelineView | null): void {
  const store = useStore();
  const { order, call_path } = store.state.value;
  const asks = order !== "rank" && order !== "cluster";
  const { data } = useAnswer<Table>(asks ? "profile" : "info", asks ? { per: "rank", call_paths: call_path !== null, top: 0 } : {}, {});
  useEffect(() => {
    if (!view) return;
    const sums = new Map<number, number>();
    for (const row of asks ? (data?.rows ?? []) : []) {
      const path = row["call_path"];
      const inside = call_path === null ? !/^P?MPI_/.test(String(row["region"])) : Array.isArray(path) && call_path.every((name, i) => path[i] === name);
      const rank = row["rank"];
      if (inside && typeof rank === "number") sums.set(rank, (sums.get(rank) ?? 0) + Number(row["exclusive_ns"] ?? 0));
    }
    const of = (row: number) => sums.get(store.meta.locations[row]?.rank ?? -1) ?? 0;
    view.byMetric.value = sums.size === 0 ? null : [...store.meta.orders.rank].sort((a, b) => of(b) - of(a) || a - b);
  }, [view, asks, data, call_path]);
}
