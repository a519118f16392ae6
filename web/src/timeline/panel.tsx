import { effect } from "@preact/signals";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { NOTHING } from "../data/paths.ts";
import { duration, exactNs, inWords, percent } from "../format.ts";
import { formatRanks } from "../ranks.ts";
import { useAnswer, useStore } from "../state/answer.ts";
import type { Range } from "../state/state.ts";
import { drawOverlay, GUTTER, ITERATIONS, markersAt, NO_MARKS, RULER, type Marks, type Wait } from "./overlay.ts";
import { firstRows, rowsWithin } from "./rows.ts";
import { TimelineView } from "./view.ts";
import { Flame } from "./flame.tsx";
import { Second } from "./second.tsx";
import { CounterTracks } from "./counters.tsx";
import { Track } from "./track.tsx";
import type { Report } from "../data/types.ts";

const TOP = RULER + ITERATIONS;

interface Loops {
  loops: { is_nested: boolean; name: string; iterations: { location_cluster: number; start_ns: number; end_ns: number; cluster: number }[] }[];
}
interface Critical {
  segments: { rank: number; from_rank: number | null; start_ns: number; end_ns: number }[];
}

interface Waits {
  rows: { class: string; rank: number; longest_ns: number; longest_at_ns: number; certainty: string; culprit: { rank: number; call_path: string[] } | null }[];
}

/** Locations × time. */
export function Timeline({ onView }: { onView: (view: TimelineView) => void }) {
  const store = useStore();
  const picture = useRef<HTMLCanvasElement>(null);
  const overlay = useRef<HTMLCanvasElement>(null);
  const marks = useRef<Marks>({ ...NO_MARKS });
  const [view, setView] = useState<TimelineView | null>(null);
  const [pointer, setPointer] = useState<{ x: number; y: number } | null>(null);
  useMarks(marks.current, view);

  useEffect(() => {
    if (!picture.current || !overlay.current) return;
    const made = new TimelineView(store, picture.current);
    const above = overlay.current;
    const stop = effect(() => { void made.drawn.value; drawOverlay(above, made, marks.current); });
    const resized = new ResizeObserver(() => made.invalidate("image"));
    resized.observe(above);
    setView(made);
    onView(made);
    return () => { stop(); resized.disconnect(); made.dispose(); };
  }, []);

  const hands = useMemo(() => (view ? new Hands(view, marks.current, setPointer) : null), [view]);
  useEffect(() => {
    const canvas = overlay.current;
    if (!canvas || !hands) return;
    canvas.addEventListener("wheel", hands.wheel, { passive: false });
    return () => canvas.removeEventListener("wheel", hands.wheel);
  }, [hands]);
  return (
    <section class="timeline" data-testid="timeline" aria-label="Timeline" tabIndex={0}>
      <div class="stage">
        <canvas class="picture" ref={picture} />
        <canvas
          class="overlay" ref={overlay} role="img" aria-label="What each location does over time. The tables below say the same in words."
          onPointerDown={hands?.down} onPointerMove={hands?.move} onPointerUp={hands?.up} onPointerLeave={hands?.leave} onDblClick={hands?.zoom}
        />
        {view && pointer && <Tooltip view={view} pointer={pointer} waits={marks.current.waits} />}
      </div>
      {view && 1 < (store.meta.runs?.length ?? 1) && <Second first={view} />}
      {view && store.state.value.track !== "none" && store.meta.abilities["messages"] !== false && <Track view={view} unit={store.state.value.track} />}
      {view && store.state.value.counters && store.meta.abilities["counters"] !== false && <CounterTracks view={view} />}
      {view && store.state.value.expanded !== null && <Flame view={view} rank={store.state.value.expanded} />}
    </section>
  );
}

function useMarks(marks: Marks, view: TimelineView | null): void {
  const store = useStore();
  const state = store.state.value;
  const [from, to] = store.shown;
  const can = (what: string) => store.meta.abilities[what] !== false;
  const loops = useAnswer<Loops>(can("iterations") ? "iterations" : null, {}, {}).data;
  const path = useAnswer<Critical>(state.critical_path && !store.profileOnly ? "critical-path" : null, {}, {}).data;
  const waits = useAnswer<Waits>(state.waits && can("waits") ? "waits" : null, { per: "rank", top: 0 }, {});
  const report = useAnswer<Report>(store.wantsReport.value ? "report" : null, {}, {}).data;
  const loop = loops?.loops?.find((loop) => !loop.is_nested && 1 < loop.iterations.length);
  const first = loop?.iterations[0]?.location_cluster;
  marks.iterations = (loop?.iterations ?? []).filter((i) => i.location_cluster === first).map((i) => [i.start_ns, i.end_ns, i.cluster]);
  const rowOf = (rank: number) => firstRows(store.meta).get(rank);
  marks.critical = (state.critical_path ? (path?.segments ?? []) : []).map((s) => ({
    row: rowOf(s.rank) ?? 0, from: s.start_ns, to: s.end_ns, from_row: s.from_rank === null ? null : (rowOf(s.from_rank) ?? null),
  }));
  marks.waits = (state.waits && !waits.loading ? (waits.data?.rows ?? []) : []).map((wait): Wait => ({
    row: rowOf(wait.rank) ?? 0, from: wait.longest_at_ns, to: wait.longest_at_ns + wait.longest_ns, class: wait.class, certain: wait.certainty === "certain",
    culprit: wait.culprit ? { row: rowOf(wait.culprit.rank) ?? 0, ...wait.culprit } : null,
  }));
  const finding = state.findings_index === null ? undefined : report?.findings?.[state.findings_index];
  marks.finding = finding ? { time_ns: finding.time_range_ns, ranks: new Set(finding.ranks.list) } : null;
  useEffect(() => {
    marks.arrows = [];
    marks.bundles = [];
    marks.collectives = [];
    view?.invalidate();
    if (!state.messages || !can("messages")) return;
    const abort = new AbortController();
    const timer = setTimeout(() => {
      store.source.messages(from, to, 2000, abort.signal).then((got) => {
        marks.arrows = got.arrows ?? [];
        marks.bundles = (got.bundles ?? []).map(([block_from, block_to, n]) => ({ block_from, block_to, n }));
        marks.collectives = got.collectives ?? [];
        view?.invalidate();
      }, (error: unknown) => abort.signal.aborted || store.report(error));
    }, 120);
    return () => { clearTimeout(timer); abort.abort(); };
  }, [state.messages, from, to, view]);
  useEffect(() => view?.invalidate(), [view, loops, path, report, waits.data, waits.loading, state.critical_path, state.waits, state.findings_index]);
}

/** Pointer and wheel. */
class Hands {
  private start: { x: number; y: number; time: number } | null = null;
  private readonly view: TimelineView;
  private readonly marks: Marks;
  private readonly point: (at: { x: number; y: number } | null) => void;

  constructor(view: TimelineView, marks: Marks, point: (at: { x: number; y: number } | null) => void) {
    this.view = view;
    this.marks = marks;
    this.point = point;
  }

  down = (event: PointerEvent): void => {
    (event.currentTarget as Element).setPointerCapture(event.pointerId);
    const { offsetX: x, offsetY: y } = event;
    if (x < GUTTER) return this.label(y);
    this.start = { x, y, time: this.view.timeAt(x - GUTTER) };
  };

  move = (event: PointerEvent): void => {
    const at = { x: event.offsetX, y: event.offsetY };
    this.marks.pointer = at;
    if (this.start && 4 < Math.abs(at.x - this.start.x)) this.marks.drag = { time_ns: this.range(at.x) };
    this.point(this.marks.drag ? null : at);
    this.view.invalidate();
  };

  up = (event: PointerEvent): void => {
    const { store } = this.view;
    const start = this.start;
    const drag = this.marks.drag;
    this.start = null;
    this.marks.drag = null;
    if (!start) return;
    if (!drag) {
      if (store.state.value.brush_ns) store.set({ brush_ns: null });
      return;
    }
    const ranks = 24 < Math.abs(event.offsetY - start.y) ? this.ranks(start.y, event.offsetY) : null;
    store.go({ brush_ns: drag.time_ns.map(Math.round) as Range, ...(ranks ? { ranks } : {}) }, true);
  };

  leave = (): void => {
    this.marks.pointer = null;
    this.point(null);
    this.view.invalidate();
  };

  zoom = (): void => zoomToSelection(this.view);

  wheel = (event: WheelEvent): void => {
    const { view } = this;
    const unit = event.deltaMode === 1 ? 16 : 1;
    const isVertical = !event.ctrlKey && !event.metaKey && !event.shiftKey && event.deltaX === 0;
    // Inside of a report, whose page scrolls when there are no further rows.
    if (isVertical && !view.store.asks && view.scrolled(event.deltaY * unit) === view.scroll.value) return;
    event.preventDefault();
    if (event.ctrlKey || event.metaKey) return zoomAt(view, Math.exp(0.004 * event.deltaY * unit), event.offsetX - GUTTER);
    const along = event.shiftKey ? event.deltaY || event.deltaX : event.deltaX;
    if (along !== 0) pan(view, (along * unit) / view.width);
    if (!event.shiftKey) view.scroll.value = view.scrolled(event.deltaY * unit);
  };

  private label(y: number): void {
    const row = this.view.rowAt(y - TOP);
    if (row?.cluster) {
      const open = new Set(this.view.open.value);
      if (!open.delete(row.cluster.id)) open.add(row.cluster.id);
      this.view.open.value = open;
      return;
    }
    const rank = row ? this.view.store.meta.locations[row.row]?.rank : null;
    const { expanded } = this.view.store.state.value;
    if (!this.view.store.asks) return;
    if (rank !== null && rank !== undefined) this.view.store.set({ expanded: expanded === rank ? null : rank });
  }

  private range(x: number): Range {
    const time = Math.max(0, Math.min(this.view.store.end, this.view.timeAt(Math.max(0, x - GUTTER))));
    const start = this.start?.time ?? time;
    return [Math.min(start, time), Math.max(start, time)];
  }

  private ranks(a: number, b: number): string | null {
    const [top, bottom] = [Math.min(a, b) - TOP + this.view.scroll.value, Math.max(a, b) - TOP + this.view.scroll.value];
    const rows = rowsWithin(this.view.rows, top, bottom);
    const ranks = rows.map((row) => this.view.store.meta.locations[row.row]?.rank).filter((rank) => typeof rank === "number");
    return ranks.length === 0 ? null : formatRanks(ranks);
  }
}

export function zoomAt(view: TimelineView, factor: number, x: number): void {
  const [a, b] = view.store.shown;
  const time = view.timeAt(Math.max(0, x));
  view.store.show([time - (time - a) * factor, time + (b - time) * factor]);
}

export function pan(view: TimelineView, part: number): void {
  const [a, b] = view.store.shown;
  const by = (b - a) * part;
  const bounded = Math.max(-a, Math.min(view.store.end - b, by));
  if (bounded !== 0) view.store.show([a + bounded, b + bounded]);
}

export function zoomToSelection(view: TimelineView): void {
  const { brush_ns, ranks } = view.store.state.value;
  if (brush_ns) view.store.show(brush_ns, true);
  view.store.set({ brush_ns: null, focus: ranks !== null });
}

function Tooltip({ view, pointer, waits }: { view: TimelineView; pointer: { x: number; y: number }; waits: Wait[] }) {
  const { store } = view;
  const row = view.rowAt(pointer.y - TOP);
  // Shares come after the first look at a tile.
  void view.drawn.value;
  if (pointer.x < GUTTER || pointer.y < TOP || !row) return null;
  const pixel = view.pixel(row.row, view.timeAt(pointer.x - GUTTER));
  if (!pixel || pixel.path === NOTHING) return null;
  const location = store.meta.locations[row.row];
  const shown = view.displayed(pixel.path);
  const names = store.paths.names(pixel.path);
  const time = view.timeAt(pointer.x - GUTTER);
  const wait = waits.find((each) => each.row === row.row && each.from <= time && time <= each.to);
  const depth = store.paths.depth[shown] ?? names.length;
  const left = pointer.x + 350 < GUTTER + view.width ? pointer.x + 14 : pointer.x - 334;
  const below = pointer.y < view.height / 2;
  const place = below ? { top: `${pointer.y + 14}px` } : { bottom: `${view.height + TOP - pointer.y + 14}px` };
  return (
    <div class="tooltip" role="status" style={{ left: `${Math.max(0, left)}px`, ...place }}>
      <div class="where">{location?.rank === null ? "" : `rank ${location?.rank} · `}{location?.name}</div>
      <ol class="path">{names.map((name, i) => <li key={i} class={i + 1 === depth ? "here" : depth <= i ? "inner" : ""}>{name}</li>)}</ol>
      <div class="shares">
        {(pixel.shares ?? []).map((share, i) => share < 0.005 ? null : (
          <span key={i}><i style={{ background: `rgb(${view.colours?.category(i).join(" ")})` }} />{store.meta.categories[i]?.name ?? "other"} {percent(share)}</span>
        ))}
      </div>
      {wait && <div class="wait">{wait.class.replaceAll("_", " ")}{wait.certain ? "" : " (possible)"}: {duration(wait.to - wait.from)}{wait.culprit && `, for rank ${wait.culprit.rank} in ${wait.culprit.call_path.at(-1) ?? ""}`}</div>}
      {markersAt(view, row.row, pointer.x - GUTTER).slice(0, 3).map((marker, i) => <div key={i} class="marker">{inWords(marker)}</div>)}
      <div class="faint">{exactNs(pixel.time_ns[0])} + {duration(pixel.time_ns[1] - pixel.time_ns[0])} a pixel</div>
    </div>
  );
}
