import { useMemo, useState } from "preact/hooks";
import { formatRanks, parseRanks } from "../ranks.ts";
import type { Row, Selection, Table } from "../data/types.ts";
import { useAnswer, useStore } from "../state/answer.ts";
import { DataTable } from "./table.tsx";
import { useMetric } from "./metric.tsx";
import { Panel, Search } from "./panel.tsx";

const HIDDEN = ["paradigm", "role", "line", "rank"];

/** Time in each region of the selection; of a profile without a trace, any metric. */
export function Profile() {
  return useStore().profileOnly ? <OfProfile /> : <OfTrace />;
}

function OfProfile() {
  const store = useStore();
  const [search, setSearch] = useState("");
  const metric = useMetric();
  const answer = useAnswer<Table>("profile", { top: 0, ...metric.option });
  const tools = <>{metric.choice}<Search value={search} onChange={setSearch} label="Search regions" /></>;
  return (
    <Panel id="profile" answer={answer} tools={tools}>
      {answer.data && (
        <DataTable caption="Severity of each region" table={answer.data} hidden={["max_location", "call_path_id"]} search={search}
          onRow={(row) => store.set({ search: String(row["region"]) })} isLit={(row) => row["region"] === store.state.value.search} />
      )}
    </Panel>
  );
}

function OfTrace() {
  const store = useStore();
  const [search, setSearch] = useState("");
  const answer = useAnswer<Table>("profile", { top: 0 });
  const some = useSomeRanks();
  const ranks = useAnswer<Table>(1 < some.n ? "profile" : null, { per: "rank", top: 0 }, some.selection);
  const byRegion = useMemo(() => timesByRegion(ranks.data?.rows ?? []), [ranks.data]);
  const lit = store.state.value.search.toLowerCase();
  const show = (row: Row) => store.set({ search: store.state.value.search === row["region"] ? "" : String(row["region"]) });
  return (
    <Panel id="profile" answer={answer} tools={<Search value={search} onChange={setSearch} label="Search regions" />}>
      {answer.data && (
        <DataTable
          caption="Time in each region of the selection" table={answer.data} hidden={HIDDEN} search={search} onRow={show}
          isLit={(row) => lit !== "" && String(row["region"]).toLowerCase().includes(lit)}
          {...(1 < some.n ? { extraTitle: some.title, extra: (row: Row) => <Spark values={byRegion.get(String(row["region"])) ?? []} /> } : {})}
        />
      )}
    </Panel>
  );
}

/** The exclusive times of each region, by rank. */
function timesByRegion(rows: readonly Row[]): Map<string, number[]> {
  const byRegion = new Map<string, number[]>();
  for (const row of [...rows].sort((a, b) => Number(a["rank"] ?? 0) - Number(b["rank"] ?? 0))) {
    const name = String(row["region"]);
    const times = byRegion.get(name) ?? [];
    times.push(Number(row["exclusive_ns"] ?? 0));
    byRegion.set(name, times);
  }
  return byRegion;
}

/** Ranks whose values a small plot can show; of more, evenly chosen ones have to do, for each costs a row of each region. */
const MOST_RANKS = 1024;
const N_CHOSEN = 48;

function useSomeRanks(): { selection: Selection; n: number; title: string } {
  const store = useStore();
  const selection = store.selection.value;
  const all = useMemo(() => [...new Set(store.meta.locations.map(({ rank }) => rank).filter((rank) => rank !== null))], [store.meta]);
  const ranks = selection.ranks === undefined ? all : [...(parseRanks(selection.ranks) ?? [])];
  if (ranks.length <= MOST_RANKS) return { selection, n: ranks.length, title: "Exclusive time of each rank" };
  const chosen = Array.from({ length: N_CHOSEN }, (_, i) => ranks[Math.floor((i * ranks.length) / N_CHOSEN)] ?? 0);
  return { selection: { ...selection, ranks: formatRanks(chosen) }, n: N_CHOSEN, title: `Exclusive time of ${N_CHOSEN} of ${ranks.length} ranks, evenly chosen` };
}

/** Values of ranks as small bars. */
export function Spark({ values }: { values: number[] }) {
  const shown = values.length <= 48 ? values : Array.from({ length: 48 }, (_, i) => Math.max(...values.slice(Math.floor((i * values.length) / 48), Math.floor(((i + 1) * values.length) / 48))));
  const most = Math.max(1, ...shown);
  return (
    <svg viewBox={`0 0 ${Math.max(1, shown.length)} 10`} preserveAspectRatio="none" aria-hidden="true">
      {shown.map((value, i) => <rect key={i} x={i} y={10 - (10 * value) / most} width={0.85} height={(10 * value) / most} />)}
    </svg>
  );
}
