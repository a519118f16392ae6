import { useState } from "preact/hooks";
import { duration, quantity } from "../format.ts";
import type { Table } from "../data/types.ts";
import { useAnswer, useStore } from "../state/answer.ts";
import { inWords, outline, rangeOf, type Counter, type CountersOverTime } from "../timeline/counters.tsx";
import { BINS } from "../timeline/track.tsx";
import { Choice, Panel, Search } from "./panel.tsx";
import { Plot, times } from "./plot.tsx";
import { DataTable } from "./table.tsx";

interface Info { metrics: { name: string; unit: string; mode?: string; description: string }[] }

/** Counters of the selection: over time, and what they gained in each region. */
export function Counters() {
  const info = useAnswer<Info>("info", {}, {});
  const [chosen, setChosen] = useState("");
  const [search, setSearch] = useState("");
  const metrics = info.data?.metrics ?? [];
  const metric = metrics.find((each) => each.name === chosen) ?? metrics[0];
  return metric ? (
    <Chosen metric={metric.name} tools={<><Choice label="Counter" value={metric.name} options={metrics.map((m) => [m.name, m.unit ? `${m.name} (${m.unit})` : m.name])} onChange={setChosen} /><Search value={search} onChange={setSearch} label="Search regions" /></>} search={search} />
  ) : (
    <Panel id="counters" answer={info}>{info.data && <p class="faint pad">The trace has no counters.</p>}</Panel>
  );
}

function Chosen({ metric, tools, search }: { metric: string; tools: preact.ComponentChildren; search: string }) {
  const store = useStore();
  const { time_ns, ranks } = store.selection.value;
  const selection = { ...(time_ns ? { time_ns } : {}), ...(ranks === undefined ? {} : { ranks }) };
  const answer = useAnswer<CountersOverTime>("counters-over-time", { bins: BINS }, selection);
  const counter = answer.data?.counters.find((each) => each.metric === metric);
  return (
    <Panel id="counters" answer={answer} tools={tools}>
      {answer.data && !counter && <p class="faint pad">{metric} has no value in the selection.</p>}
      {answer.data && counter && <Over counter={counter} edges={answer.data.bin_edges_ns} />}
      {counter?.gain && <Gains metric={metric} search={search} />}
    </Panel>
  );
}

/** The counter over the selection; a click marks a stretch. */
function Over({ counter, edges }: { counter: Counter; edges: number[] }) {
  const store = useStore();
  const [low, high] = rangeOf(counter);
  const n = edges.length - 1;
  const edge = (i: number) => edges[i] ?? 0;
  const extent = `${duration(edge(0))} … ${duration(edge(n))}`;
  const amount = counter.gain ? `up to ${quantity(high, counter.unit)} in ${duration(edge(1) - edge(0))}` : `${quantity(low, counter.unit)} to ${quantity(high, counter.unit)}`;
  return (
    <figure class="histogram over-time">
      <Plot high={quantity(high, counter.unit)} low={quantity(low, counter.unit)} along={times(edge(0), edge(n))}><svg viewBox={`0 0 ${n} 100`} preserveAspectRatio="none" role="img" aria-label={`${counter.metric} over time: ${amount}`}>
        <path d={outline(counter, edges.map((_, i) => i), 100)} />
        {edges.slice(1).map((end, i) => <rect class="bin" key={i} x={i} width={1} y={0} height={100} onClick={() => edge(i) < end && store.go({ brush_ns: [edge(i), end] }, true)}><title>{`${duration(edge(i))} – ${duration(end)}: ${inWords(counter, i)}`}</title></rect>)}
      </svg></Plot>
      <figcaption>{extent}: {amount}, of {counter.n_locations} {counter.n_locations === 1 ? "location" : "locations"}</figcaption>
    </figure>
  );
}

/** What the counter gained in each region of the selection. */
function Gains({ metric, search }: { metric: string; search: string }) {
  const { data, error, loading } = useAnswer<Table>("profile", { metric: [metric], top: 0 });
  return (
    <div class={loading ? "gains loading" : "gains"} aria-busy={loading}>
      {error && <p class="error pad" role="alert">{error}</p>}
      {!error && data?.rows && <DataTable caption={`${metric} by region`} table={data} search={search} hidden={["paradigm", "role", "file", "line", "min_ns", "max_ns"]} />}
    </div>
  );
}
