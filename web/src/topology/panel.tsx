import { useEffect, useRef, useState } from "preact/hooks";
import { AnswerError } from "../data/source.ts";
import type { Topology } from "../data/types.ts";
import { quantity } from "../format.ts";
import { formatRanks } from "../ranks.ts";
import { useAnswer, useStore, type Answer } from "../state/answer.ts";
import { Choice, Panel } from "../panels/panel.tsx";
import { PALETTES } from "../colour/palettes.ts";
import { VolumeView, type Pick3 } from "./volume.ts";

interface Correlated { rows: { metric: string; call_path: string[]; r: number; shift: number[]; sign: string }[] }

/** Severities on the grid of the machine or the program; what varies alike beside it. */
export function TopologyPanel() {
  const store = useStore();
  const [answer, setAnswer] = useState<Answer<Topology>>({ data: null, error: null, loading: true });
  useEffect(() => {
    store.source.topology().then(
      (data) => setAnswer({ data, error: null, loading: false }),
      // A run without any topology is no error.
      (error: unknown) => setAnswer(error instanceof AnswerError && error.status === 404 ? { data: { grids: [], metrics: [] }, error: null, loading: false } : { data: null, error: error instanceof Error ? error.message : String(error), loading: false }),
    );
  }, []);
  const { data } = answer;
  const { grid, metric, palette } = store.state.value;
  const names = (data?.metrics ?? []).map((each) => (typeof each === "string" ? each : each.name));
  const chosen = metric !== null && names.includes(metric) ? metric : (names.includes("time") ? "time" : names[0]);
  const tools = data && (
    <>
      <Choice label="Grid" value={String(grid)} options={data.grids.map((each, i) => [`${i}`, `${each.name} ${each.dims.map((d) => d.size).join("×")}`])} onChange={(value) => store.set({ grid: Number(value) })} />
      <Choice label="Metric" value={chosen ?? ""} options={names.map((name) => [name, name])} onChange={(value) => store.set({ metric: value })} />
      <Choice label="Palette" value={palette} options={PALETTES.map((name) => [name, name])} onChange={(value) => store.set({ palette: value })} />
    </>
  );
  return (
    <Panel id="topology" answer={answer} tools={tools}>
      {data && data.grids.length === 0 && <p class="faint pad">No topology is known of this run.</p>}
      {data?.grids[grid] && chosen && <Volume topology={data} grid={grid} metric={chosen} />}
    </Panel>
  );
}

function Volume({ topology, grid, metric }: { topology: Topology; grid: number; metric: string }) {
  const store = useStore();
  const canvas = useRef<HTMLCanvasElement>(null);
  const view = useRef<VolumeView | null>(null);
  const [pick, setPick] = useState<Pick3 | null>(null);
  const [least, setLeast] = useState(0);
  const [fixed, setFixed] = useState<number[]>([]);
  const [wrong, setWrong] = useState<string | null>(null);
  const shape = topology.grids[grid];
  const { call_path, palette, ranks } = store.state.value;
  useEffect(() => {
    if (!canvas.current) return;
    const made = new VolumeView(canvas.current, setPick);
    view.current = made;
    return () => made.dispose();
  }, []);
  useEffect(() => {
    const abort = new AbortController();
    store.source.severity(metric, call_path ?? [], grid, abort.signal).then(
      (values) => { if (shape && !abort.signal.aborted) { view.current?.show(shape, values); setWrong(null); } },
      (error: unknown) => abort.signal.aborted || setWrong(error instanceof Error ? error.message : String(error)),
    );
    return () => abort.abort();
  }, [metric, grid, JSON.stringify(call_path)]);
  useEffect(() => view.current?.look({ palette, least, fixed, ranks: store.ranks }), [palette, least, fixed, ranks]);
  const choose = () => {
    const rank = pick ? view.current?.rankAt(pick.place) : undefined;
    if (rank !== undefined) store.go({ ranks: formatRanks([...(store.ranks ?? []), rank]) }, true);
  };
  return (
    <div class="topology">
      <figure>
        <canvas ref={canvas} role="img" aria-label={`${metric} on the topology`} onDblClick={choose} />
        <figcaption>
          {wrong ?? (pick ? `[${pick.place.join(", ")}]${view.current?.rankAt(pick.place) === undefined ? "" : ` rank ${view.current.rankAt(pick.place)}`}: ${quantity(pick.value, /time/.test(metric) ? "sec" : "")}` : "drag turns, wheel zooms, double click marks the rank")}
        </figcaption>
        <label class="choice">Hide below <input type="range" min={0} max={1} step={0.01} value={least} onInput={(event) => setLeast(Number(event.currentTarget.value))} /></label>
        {shape?.dims.slice(3).map((dim, i) => (
          <label class="choice" key={i}>{dim.name || `axis ${i + 4}`} <input type="range" min={0} max={dim.size - 1} value={fixed[i] ?? 0} onInput={(event) => { const next = [...fixed]; next[i] = Number(event.currentTarget.value); setFixed(next); }} /></label>
        ))}
      </figure>
      <Alike metric={metric} />
    </div>
  );
}

/** What varies over the grid like what is shown. */
function Alike({ metric }: { metric: string }) {
  const store = useStore();
  const { call_path } = store.state.value;
  const { data, error, loading } = useAnswer<Correlated>("correlate", { metric, ...(call_path ? { path: call_path.join("/") } : {}), top: 20 }, {});
  return (
    <div class={loading ? "alike scroll loading" : "alike scroll"}>
      <table>
        <caption>What varies like it</caption>
        <thead><tr><th scope="col">metric</th><th scope="col">call path</th><th scope="col" class="number">r</th><th scope="col" class="number">shift</th></tr></thead>
        <tbody>
          {(error ? [] : (data?.rows ?? [])).map((row, i) => (
            <tr key={i} tabIndex={0} onClick={() => store.go({ metric: row.metric, call_path: row.call_path }, true)}>
              <td class="name">{row.metric}</td><td class="name" title={row.call_path.join(" › ")}>{row.call_path.at(-1)}</td><td class="number">{row.r.toFixed(3)}</td><td class="number">{row.shift.join(", ")}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {error && <p class="faint pad">{error}</p>}
    </div>
  );
}
