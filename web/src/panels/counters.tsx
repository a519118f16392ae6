import { useState } from "preact/hooks";
import type { Table } from "../data/types.ts";
import { useAnswer } from "../state/answer.ts";
import { Choice, Panel, Search } from "./panel.tsx";
import { DataTable } from "./table.tsx";

interface Info { metrics: { name: string; unit: string; mode?: string; description: string }[] }

/** What counters gained in each region of the selection. */
export function Counters() {
  const info = useAnswer<Info>("info", {}, {});
  const [chosen, setChosen] = useState("");
  const [search, setSearch] = useState("");
  const metrics = info.data?.metrics ?? [];
  const metric = metrics.find((each) => each.name === chosen) ?? metrics[0];
  return metric ? (
    <Gains metric={metric.name} tools={<><Choice label="Counter" value={metric.name} options={metrics.map((m) => [m.name, m.unit ? `${m.name} (${m.unit})` : m.name])} onChange={setChosen} /><Search value={search} onChange={setSearch} label="Search regions" /></>} search={search} />
  ) : (
    <Panel id="counters" answer={info}>{info.data && <p class="faint pad">The trace has no counters.</p>}</Panel>
  );
}

function Gains({ metric, tools, search }: { metric: string; tools: preact.ComponentChildren; search: string }) {
  const answer = useAnswer<Table>("profile", { metric: [metric], top: 0 });
  return (
    <Panel id="counters" answer={answer} tools={tools}>
      {answer.data && <DataTable caption={`${metric} by region`} table={answer.data} search={search} hidden={["paradigm", "role", "file", "line", "min_ns", "max_ns"]} />}
    </Panel>
  );
}
