import { useEffect, useMemo, useState } from "preact/hooks";
import licences from "virtual:licenses";
import { duration } from "./format.ts";
import { bindKeys, KEYS } from "./keys.ts";
import { Guide } from "./panels/guide.tsx";
import { Choice } from "./panels/panel.tsx";
import { Deck } from "./deck.tsx";
import { SearchRegions } from "./found.tsx";
import { useStore } from "./state/answer.ts";
import type { Depth, State } from "./state/state.ts";
import { Timeline, zoomAt } from "./timeline/panel.tsx";
import type { TimelineView } from "./timeline/view.ts";
import { Legend } from "./timeline/legend.tsx";
import { useRowOrder } from "./timeline/order.ts";

/** The whole page. */
export function App({ onView }: { onView: (view: TimelineView) => void }) {
  const store = useStore();
  const state = store.state.value;
  const [view, setView] = useState<TimelineView | null>(null);
  const [help, setHelp] = useState(false);
  const dark = useTheme(state.theme);
  useRowOrder(view);
  useEffect(() => {
    if (!view) return;
    view.dark = dark;
    view.invalidate("palette");
    return bindKeys(store, view, () => setHelp((open) => !open));
  }, [view, dark]);
  const made = (next: TimelineView) => { next.dark = dark; setView(next); onView(next); };
  if (!store.asks) return <Alone view={view} made={made} help={help} setHelp={setHelp} />;
  return (
    <div class={store.profileOnly ? "page profile-only" : state.view === "timeline" ? "page tall" : "page"}>
      <Header help={() => setHelp(true)} />
      {store.error.value && <Banner text={store.error.value} />}
      <Guide />
      <main>
        <Tools />
        <Legend view={view} />
        <Timeline onView={made} />
        <Deck view={view} />
      </main>
      {help && <Help close={() => setHelp(false)} />}
    </div>
  );
}

/** The timeline inside of a report, which says everything else. */
function Alone({ view, made, help, setHelp }: { view: TimelineView | null; made: (view: TimelineView) => void; help: boolean; setHelp: (open: boolean) => void }) {
  const store = useStore();
  return (
    <div class="page alone">
      <main>
        <div class="head">
          <Tools />
          <span class="zoom">
            <button class="plain" aria-label="Zoom in" title="Zoom in (W)" onClick={() => view && zoomAt(view, 0.5, view.width / 2)}>+</button>
            <button class="plain" aria-label="Zoom out" title="Zoom out (S)" onClick={() => view && zoomAt(view, 2, view.width / 2)}>−</button>
          </span>
          <Selected />
          <button class="plain" aria-label="Help: keys and licences" title="Keys and licences (?)" onClick={() => setHelp(true)}>?</button>
        </div>
        <Legend view={view} />
        <Timeline onView={made} />
      </main>
      {store.error.value && <Banner text={store.error.value} />}
      {help && <Help close={() => setHelp(false)} />}
    </div>
  );
}

function useTheme(theme: State["theme"]): boolean {
  const [system, setSystem] = useState(matchMedia("(prefers-color-scheme: dark)").matches);
  useEffect(() => {
    const query = matchMedia("(prefers-color-scheme: dark)");
    const change = () => setSystem(query.matches);
    query.addEventListener("change", change);
    return () => query.removeEventListener("change", change);
  }, []);
  const dark = theme === "auto" ? system : theme === "dark";
  document.documentElement.dataset["theme"] = dark ? "dark" : "light";
  return dark;
}

function Header({ help }: { help: () => void }) {
  const store = useStore();
  const { meta } = store;
  const status = store.status.value;
  const part = status && !status.tiles.complete ? status.tiles.done / Math.max(1, status.tiles.total) : null;
  const theme = store.state.value.theme;
  const next = { auto: "dark", dark: "light", light: "auto" } as const;
  return (
    <header class="top">
      <h1>ouzel</h1>
      <span class="run" title={meta.name}>{meta.name}</span>
      <span class="faint">{meta.format} · {meta.n_locations} {meta.n_locations === 1 ? "location" : "locations"}{store.profileOnly ? "" : ` · ${duration(store.end)}`}</span>
      {part !== null && <progress max={1} value={part} aria-label="Reading the trace" />}
      <Selected />
      <button class="plain" onClick={() => store.set({ theme: next[theme] })} title="Dark or light">{{ auto: "◐", dark: "●", light: "○" }[theme]} {theme}</button>
      <button class="plain" aria-label="Help: keys and licences" title="Keys and licences (?)" onClick={help}>?</button>
    </header>
  );
}

/** What is selected, and the way back. */
function Selected() {
  const store = useStore();
  const { time_ns, brush_ns, ranks, call_path } = store.state.value;
  const range = brush_ns ?? time_ns;
  const trail = store.trail.value;
  const chip = (key: string, text: string, clear: Partial<State>) => (
    <span class="chip-text" key={key} title={text}>{text}<button class="plain" aria-label={`Clear ${key}`} onClick={() => store.go(clear, true)}>×</button></span>
  );
  return (
    <nav class="selected" aria-label="Selection">
      {trail.length !== 0 && <button class="plain" title="Back (Backspace)" onClick={() => store.back()}>← {trail.length}</button>}
      {range && chip("time", `${duration(range[0])} – ${duration(range[1])}`, { time_ns: null, brush_ns: null })}
      {ranks !== null && chip("ranks", `ranks ${ranks}`, { ranks: null, focus: false })}
      {call_path !== null && chip("call path", call_path.join(" › "), { call_path: null })}
      {(range || ranks !== null || call_path !== null) && <button class="plain" title="Everything (0)" onClick={() => store.everything()}>everything</button>}
    </nav>
  );
}

function Banner({ text }: { text: string }) {
  const store = useStore();
  return (
    <div class="banner" role="alert">
      <span>{text}</span>
      <button onClick={() => location.reload()}>Load anew</button>
      <button onClick={() => (store.error.value = null)}>Close</button>
    </div>
  );
}

function Tools() {
  const store = useStore();
  const { depth, colour, order, messages, critical_path, metric, threads, waits, track, counters, align } = store.state.value;
  const orders: [string, string][] = [["rank", "rank"]];
  if (store.asks && 1 < store.meta.locations.length) orders.push(["cluster", "cluster"]);
  if (store.asks) orders.push(["exclusive_ns", "time"]);
  if (store.asks && store.meta.abilities["topology"] !== false) orders.push(["topology", "topology"], [metric ?? "time", `severity: ${metric ?? "time"}`]);
  if (!orders.some(([each]) => each === order)) orders.push([order, order]);
  const hasThreads = useMemo(() => store.meta.locations.some((location) => location.parent_row !== null), [store.meta]);
  const depths: [string, string][] = [["auto", "automatic"], ["leaf", "leaf"], ...Array.from({ length: 9 }, (_, i) => [`${i + 1}`, `${i + 1}`] as [string, string])];
  const setDepth = (text: string) => store.set({ depth: (/^\d+$/.test(text) ? Number(text) : text) as Depth });
  return (
    <div class="tools" role="toolbar" aria-label="Timeline">
      <Choice label="Depth" value={String(depth)} options={depths} onChange={setDepth} />
      <Choice label="Colour" value={colour} options={[["path", "by meaning"], ["category", "by category"], ["region", "by region"]]} onChange={(value) => store.set({ colour: value })} />
      {1 < orders.length && <Choice label="Order" value={order} options={orders} onChange={(value) => store.set({ order: value })} />}
      {1 < (store.meta.runs?.length ?? 1) && <Choice label="Align runs by" value={align} options={[["time", "time"], ["iteration", "iteration"], ["segment", "segment"]]} onChange={(value) => store.set({ align: value })} />}
      {hasThreads && <label class="check" title="Threads and streams of each rank, below it"><input type="checkbox" checked={threads} onChange={() => store.set({ threads: !threads })} />threads</label>}
      {store.meta.abilities["messages"] !== false && <label class="check"><input type="checkbox" checked={messages} onChange={() => store.set({ messages: !messages })} />messages</label>}
      {store.meta.abilities["waits"] !== false && <label class="check" title="The longest waits of each rank, and who is late"><input type="checkbox" checked={waits} onChange={() => store.set({ waits: !waits })} />waits</label>}
      {store.meta.abilities["messages"] !== false && <Choice label="Below" value={track} options={[["none", "nothing"], ["bytes", "bytes sent"], ["messages", "messages sent"]]} onChange={(value) => store.set({ track: value })} />}
      {store.meta.abilities["counters"] === true && <label class="check" title="Counters and other metrics over time, below"><input type="checkbox" checked={counters} onChange={() => store.set({ counters: !counters })} />counters</label>}
      {store.asks && <label class="check"><input type="checkbox" checked={critical_path} onChange={() => store.set({ critical_path: !critical_path })} />critical path</label>}
      <SearchRegions />
    </div>
  );
}

/** `autoFocus` is refused in the frame of a report. */
const focus = (element: HTMLElement | null): void => element?.focus();

function Help({ close }: { close: () => void }) {
  const store = useStore();
  return (
    <div class="curtain" onClick={close}>
      <div class="help" role="dialog" aria-modal="true" aria-label="Keys and licences" onClick={(event) => event.stopPropagation()}>
        <button class="plain close" aria-label="Close" ref={focus} onClick={close}>×</button>
        <h2>Keys</h2>
        <dl>{KEYS.filter(([, , asks]) => store.asks || !asks).map(([keys, what]) => <div key={keys}><dt>{keys.split(" ").map((key) => <kbd key={key}>{key}</kbd>)}</dt><dd>{what}</dd></div>)}</dl>
        <p class="faint">Letters are keys by their place on a US keyboard.{store.asks && " The address holds the whole view: send it to a colleague who has the same trace."}</p>
        <details><summary>Licences</summary><pre>{licences}</pre></details>
      </div>
    </div>
  );
}
