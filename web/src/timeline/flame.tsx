import { useEffect, useRef, useState } from "preact/hooks";
import { css, isLight } from "../colour/oklch.ts";
import type { CallPaths } from "../data/paths.ts";
import type { CallRow, Ns } from "../data/types.ts";
import { useStore } from "../state/answer.ts";
import { sleep } from "../state/store.ts";
import { GUTTER, inksOf } from "./overlay.ts";
import type { TimelineView } from "./view.ts";

const LINE = 15;

/** A call as it is drawn. */
interface Call {
  call_path: number;
  enter_ns: Ns;
  leave_ns: Ns;
}

/** The exact calls of one rank over time, callers above what they call. */
export function Flame({ view, rank }: { view: TimelineView; rank: number }) {
  const store = useStore();
  const canvas = useRef<HTMLCanvasElement>(null);
  const [calls, setCalls] = useState<Call[]>([]);
  const [from, to] = store.shown;
  const location = store.meta.locations.find((each) => each.rank === rank);
  // Calls narrower than a pixel are asked for when the view is closer.
  const shortest = Math.floor((to - from) / Math.max(1, view.width));
  useEffect(() => {
    const abort = new AbortController();
    void store.pending.track((async () => {
      await sleep(100);
      if (abort.signal.aborted || !location) return;
      try {
        const selection = { time_ns: [Math.floor(from), Math.ceil(to)] as [Ns, Ns], ranks: String(rank) };
        const question = { question: "calls", selection, options: { where: `inclusive >= ${shortest}ns` } };
        const answer = await store.ask<{ rows: CallRow[] }>(question, abort.signal);
        setCalls(callsOf(answer.data.rows.filter((row) => row.location === location.id), store.paths));
      } catch (error) {
        if (!abort.signal.aborted) store.report(error);
      }
    })());
    return () => abort.abort();
  }, [location, from, to]);
  const deepest = calls.reduce((most, call) => Math.max(most, store.paths.depth[call.call_path] ?? 1), 1);
  useEffect(() => { if (canvas.current) drawCalls(canvas.current, view, calls); });
  return (
    <div class="flame">
      <div class="flame-head">
        <span>rank {rank}</span>
        {0 < shortest && <span class="faint">calls of a pixel or more; zoom in for shorter ones</span>}
        <button class="plain" aria-label="Close the flame chart" onClick={() => store.set({ expanded: null })}>×</button>
      </div>
      <canvas ref={canvas} style={{ height: `${Math.min(14, deepest) * LINE + 2}px` }} />
    </div>
  );
}

/** Calls with the numbers of their call paths; callers come before what they call. */
function callsOf(rows: CallRow[], paths: CallPaths): Call[] {
  const known = new Map<number, number>();
  const calls: Call[] = [];
  for (const row of [...rows].sort((a, b) => a.call - b.call)) {
    const above = row.parent === null ? -1 : known.get(row.parent);
    const call_path = above === undefined ? undefined : paths.child(above, row.region);
    if (call_path === undefined) continue;
    known.set(row.call, call_path);
    calls.push({ call_path, enter_ns: row.enter_ns, leave_ns: row.leave_ns });
  }
  return calls;
}

function drawCalls(canvas: HTMLCanvasElement, view: TimelineView, calls: Call[]): void {
  const scale = Math.min(2, devicePixelRatio || 1);
  [canvas.width, canvas.height] = [canvas.clientWidth * scale, canvas.clientHeight * scale];
  const context = canvas.getContext("2d");
  if (!context) return;
  context.scale(scale, scale);
  context.font = "10.5px system-ui, sans-serif";
  context.textBaseline = "middle";
  const { paths } = view.store;
  const inks = inksOf(canvas);
  for (const call of calls) {
    const x = Math.max(0, view.xOf(call.enter_ns));
    const width = Math.min(view.width, view.xOf(call.leave_ns)) - x;
    if (width <= 0) continue;
    const y = ((paths.depth[call.call_path] ?? 1) - 1) * LINE;
    const rgb = view.colours?.of(call.call_path) ?? [128, 128, 128];
    context.fillStyle = css(rgb);
    context.fillRect(GUTTER + x, y, Math.max(0.5, width - 0.6), LINE - 1);
    if (width < 26) continue;
    context.save();
    context.beginPath();
    context.rect(GUTTER + x, y, width - 3, LINE);
    context.clip();
    context.fillStyle = isLight(rgb) ? "#111" : "#fff";
    context.fillText(paths.name(call.call_path), GUTTER + x + 3, y + LINE / 2);
    context.restore();
  }
  context.fillStyle = inks.faint;
}
