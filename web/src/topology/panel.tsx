import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { PALETTES, scaleCss } from "../colour/palettes.ts";
import type { Correlated, Placed, Selection } from "../data/types.ts";
import { quantity } from "../format.ts";
import { Choice, Panel } from "../panels/panel.tsx";
import { formatRanks } from "../ranks.ts";
import { useAnswer, useStore } from "../state/answer.ts";
import { MAX_BESIDE } from "../state/hash.ts";
import type { SeverityView, State } from "../state/state.ts";
import { extent, ranksWithin, SharedCamera, VolumeView, type Look, type Pick3 } from "./volume.ts";

/** What a view asks: the values at the places, of the time that is selected. Ranks are marked, not left out. */
function useTopology<T>(view: Partial<SeverityView>, more: Record<string, unknown>) {
  const { scope, grid, axes, time_ns, brush_ns } = useStore().state.value;
  const time = brush_ns ?? time_ns;
  const selection: Selection = time && !useStore().profileOnly ? { time_ns: time } : {};
  return useAnswer<T>("correlate", {
    scope, ...more,
    ...(view.metric === undefined ? {} : { metric: view.metric }),
    ...(view.call_path === undefined ? {} : { path: `/${view.call_path.join("/")}` }),
    ...(grid === null ? {} : { topology: String(grid) }),
    ...(axes === null ? {} : { axes: axes.map(String) }),
  }, selection);
}

/** Severities on the grid of the machine or the program, several under one camera; what varies alike beside it. */
export function TopologyPanel() {
  const store = useStore();
  const state = store.state.value;
  const { metric, call_path, beside } = state;
  const shown = { ...(metric === null ? {} : { metric }), ...(call_path === null ? {} : { call_path }) };
  const answer = useTopology<Placed>(shown, { values: true });
  const camera = useMemo(() => new SharedCamera(), []);
  const placed = answer.data;
  const n_axes = placed?.axes.length ?? 0;
  // A plane is seen from the front.
  useEffect(() => { if (0 < n_axes) camera.set(n_axes < 3 ? { yaw: 0, pitch: 0 } : { yaw: 0.6, pitch: 0.5 }); }, [n_axes]);
  return (
    <Panel id="topology" answer={answer} tools={placed && <Tools placed={placed} />}>
      {placed && (
        <div class="topology">
          <div class="volumes">
            <Volume placed={placed} camera={camera} />
            {(beside ?? []).map((view) => <Beside key={JSON.stringify(view)} view={view} camera={camera} />)}
          </div>
          <Alike shown={shown} />
        </div>
      )}
    </Panel>
  );
}

/** Numbers of the axes that are shown. */
function axesOf(state: State, placed: Placed): number[] {
  const chosen = (state.shown_axes ?? [0, 1, 2]).filter((axis) => axis < placed.axes.length);
  return chosen.length === 0 ? [0] : chosen;
}

function Tools({ placed }: { placed: Placed }) {
  const store = useStore();
  const state = store.state.value;
  const { grid, scope, palette, axes, slices, opaque } = state;
  const shown = axesOf(state, placed);
  const names = placed.axes.map((axis, i) => axis.name || `axis ${i + 1}`);
  const topology = grid ?? Math.max(0, placed.topologies.findIndex((each) => each.name === placed.topology.name));
  const [low, high] = opaque ?? [0, 1];
  const setOpaque = (from: number, to: number) => store.set({ opaque: from === 0 && to === 1 ? null : [Math.min(from, to), Math.max(from, to)] });
  const toggle = (axis: number, on: boolean) => {
    const next = placed.axes.map((_, i) => i).filter((i) => (i === axis ? on : (axes?.includes(i) ?? true)));
    if (next.length !== 0) store.set({ axes: next.length === placed.axes.length ? null : next });
  };
  const slice = (axis: number, place: number) => store.set({ slices: placed.axes.map((_, i) => (i === axis ? place : (slices?.[i] ?? 0))) });
  const show = (at: number, axis: number) => store.set({ shown_axes: shown.map((old, i) => (i === at ? axis : old === axis ? (shown[at] ?? old) : old)) });
  return (
    <>
      {1 < placed.topologies.length && <Choice label="Topology" value={String(topology)} options={placed.topologies.map((each, i) => [`${i}`, `${each.name} ${each.sizes.join("×")}`])} onChange={(value) => store.set({ grid: Number(value), axes: null, shown_axes: null, slices: null })} />}
      <Choice label="Metric" value={placed.view.metric} options={placed.metrics.map((each) => [each.name, each.display_name])} onChange={(value) => store.set({ metric: value })} />
      <Choice label="Callees" value={scope} options={[["exclusive", "without"], ["inclusive", "with"]]} onChange={(value) => store.set({ scope: value })} />
      <Choice label="Palette" value={palette} options={PALETTES.map((name) => [name, name])} onChange={(value) => store.set({ palette: value })} />
      <label class="choice">Show from <input type="range" aria-label="Least severity that is shown" min={0} max={1} step={0.01} value={low} onInput={(event) => setOpaque(Number(event.currentTarget.value), high)} /></label>
      <label class="choice">to <input type="range" aria-label="Greatest severity that is shown" min={0} max={1} step={0.01} value={high} onInput={(event) => setOpaque(low, Number(event.currentTarget.value))} /></label>
      <button class="plain" title="Marks the ranks whose severity is shown, in all panels" onClick={() => { const ranks = ranksWithin(placed, [low, high]); if (ranks.length !== 0) store.go({ ranks: formatRanks(ranks) }, true); }}>mark ranks</button>
      {1 < placed.axes.length && <fieldset class="axes"><legend class="faint">Variation along</legend>{names.map((name, i) => <label class="check" key={i}><input type="checkbox" checked={axes?.includes(i) ?? true} onChange={(event) => toggle(i, event.currentTarget.checked)} />{name}</label>)}</fieldset>}
      {3 < placed.axes.length && shown.map((axis, at) => <Choice key={at} label={["x", "y", "z"][at] ?? ""} value={String(axis)} options={names.map((name, i) => [`${i}`, `${name} ${placed.axes[i]?.size ?? ""}`])} onChange={(value) => show(at, Number(value))} />)}
      {placed.axes.map((axis, i) => (shown.includes(i) || axis.size < 2 ? null : (
        <label class="choice" key={i}>{names[i]} {slices?.[i] ?? 0} <input type="range" aria-label={`Slice along ${names[i]}`} min={0} max={axis.size - 1} value={slices?.[i] ?? 0} onInput={(event) => slice(i, Number(event.currentTarget.value))} /></label>
      )))}
    </>
  );
}

/** One more view under the same camera. */
function Beside({ view, camera }: { view: SeverityView; camera: SharedCamera }) {
  const store = useStore();
  const answer = useTopology<Placed>(view, { values: true });
  const close = () => store.set({ beside: (store.state.value.beside ?? []).filter((each) => JSON.stringify(each) !== JSON.stringify(view)) });
  if (!answer.data) return <figure><figcaption>{answer.error ?? "Asking …"}</figcaption><button class="plain close" aria-label="Close this view" onClick={close}>×</button></figure>;
  return <Volume placed={answer.data} camera={camera} close={close} />;
}

function Volume({ placed, camera, close }: { placed: Placed; camera: SharedCamera; close?: () => void }) {
  const store = useStore();
  const canvas = useRef<HTMLCanvasElement>(null);
  const view = useRef<VolumeView | null>(null);
  const [pick, setPick] = useState<Pick3 | null>(null);
  const state = store.state.value;
  const { palette, ranks, opaque, slices } = state;
  useEffect(() => {
    if (!canvas.current) return;
    const made = new VolumeView(canvas.current, camera, setPick);
    view.current = made;
    return () => made.dispose();
  }, []);
  const axes = axesOf(state, placed);
  useEffect(() => {
    const look: Look = { palette, opaque: opaque ?? [0, 1], axes, slices: slices ?? [], ranks: store.ranks };
    view.current?.show(placed, look);
  }, [placed, palette, opaque, axes.join(), slices, ranks]);
  const mark = () => {
    const rank = pick?.rank ?? null;
    if (rank === null) return;
    const marked = new Set(store.ranks ?? []);
    if (!marked.delete(rank)) marked.add(rank);
    store.go({ ranks: marked.size === 0 ? null : formatRanks(marked) }, true);
  };
  const { unit, call_path, display_name } = placed.view;
  const [low, high] = extent(placed);
  return (
    <figure>
      <div class="figure-head" title={call_path.join(" › ")}>
        <b>{display_name}</b> <span>{call_path.at(-1)}</span>
        {close && <button class="plain close" aria-label="Close this view" onClick={close}>×</button>}
      </div>
      <canvas ref={canvas} role="img" tabIndex={0} aria-label={`${display_name} of ${call_path.join(" › ")} on the topology, from ${quantity(low, unit)} to ${quantity(high, unit)}`} onDblClick={mark} />
      <div class="scale">
        <span>{quantity(low, unit)}</span>
        <svg viewBox="0 0 64 1" preserveAspectRatio="none" aria-hidden="true">{Array.from({ length: 64 }, (_, i) => <rect key={i} x={i} width={1.1} height={1} fill={scaleCss(palette, i / 63)} />)}</svg>
        <span>{quantity(high, unit)}</span>
      </div>
      <figcaption>{pick ? `[${pick.place.join(", ")}]${pick.rank === null ? "" : ` rank ${pick.rank}`}: ${quantity(pick.value, unit)}` : "drag or arrows turn, wheel zooms, double click marks the rank"}</figcaption>
    </figure>
  );
}

/** What varies over the topology like what is shown: most alike first. */
function Alike({ shown }: { shown: Partial<SeverityView> }) {
  const store = useStore();
  const beside = store.state.value.beside ?? [];
  const { data, error, loading } = useTopology<Correlated>(shown, { top: 20 });
  const toggle = (view: SeverityView) => {
    const others = beside.filter((each) => JSON.stringify(each) !== JSON.stringify(view));
    store.set({ beside: (others.length === beside.length ? [...beside, view].slice(-MAX_BESIDE) : others) });
  };
  return (
    <div class={loading ? "alike scroll loading" : "alike scroll"}>
      {error ? <p class="faint pad">{error}</p> : data && data.rows.length === 0 ? <p class="faint pad">No other view has a value.</p> : (
        <table>
          <caption>What varies like it{data && data.reference.kept < 0.9995 ? `, by the axes that count: ${(100 * data.reference.kept).toFixed(1)} % of the variance` : ""}</caption>
          <thead><tr><th scope="col" title="Show it beside">+</th><th scope="col">metric</th><th scope="col">call path</th><th scope="col" class="number">r</th><th scope="col">sign</th><th scope="col" class="number">shift</th></tr></thead>
          <tbody>
            {(data?.rows ?? []).map(({ metric, call_path, r, sign, shift }) => {
              const view = { metric, call_path };
              const key = JSON.stringify(view);
              return (
                <tr key={key}>
                  <td><input type="checkbox" aria-label={`Show ${metric} of ${call_path.join(" › ")} beside`} checked={beside.some((each) => JSON.stringify(each) === key)} onChange={() => toggle(view)} /></td>
                  <td class="name">{metric}</td>
                  <td class="name" title={call_path.join(" › ")}><button class="plain" title="Compare all with this one" onClick={() => store.go({ metric, call_path }, true)}>{call_path.at(-1)}</button></td>
                  <td class="number">{r.toFixed(3)}</td><td>{sign}</td><td class="number">{shift.join(", ")}</td>
                </tr>
              );
            })}
          </tbody>
        </table>
      )}
    </div>
  );
}
