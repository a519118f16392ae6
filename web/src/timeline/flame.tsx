import { useEffect, useRef, useState } from "preact/hooks";
import { css, isLight } from "../colour/oklch.ts";
import type { Call } from "../data/types.ts";
import { useStore } from "../state/answer.ts";
import { sleep } from "../state/store.ts";
import { GUTTER, inksOf } from "./overlay.ts";
import type { TimelineView } from "./view.ts";

const LINE = 15;
const MAX_CALLS = 5000;

/** The exact calls of one rank over time, callers above what they call. */
export function Flame({ view, rank }: { view: TimelineView; rank: number }) {
  const store = useStore();
  const canvas = useRef<HTMLCanvasElement>(null);
  const [calls, setCalls] = useState<{ calls: Call[]; complete: boolean }>({ calls: [], complete: true });
  const [from, to] = store.shown;
  const row = store.meta.locations.findIndex((location) => location.rank === rank);
  useEffect(() => {
    const abort = new AbortController();
    void store.pending.track((async () => {
      await sleep(100);
      if (abort.signal.aborted || row < 0) return;
      try {
        setCalls(await store.source.calls(row, from, to, MAX_CALLS, abort.signal));
      } catch (error) {
        if (!abort.signal.aborted) store.report(error);
      }
    })());
    return () => abort.abort();
  }, [row, from, to]);
  const deepest = calls.calls.reduce((most, call) => Math.max(most, store.paths.depth[call.call_path] ?? 1), 1);
  useEffect(() => { if (canvas.current) drawCalls(canvas.current, view, calls.calls); });
  return (
    <div class="flame">
      <div class="flame-head">
        <span>rank {rank}</span>
        {!calls.complete && <span class="faint">{calls.calls.length} longest calls in view; zoom in for all</span>}
        <button class="plain" aria-label="Close the flame chart" onClick={() => store.set({ expanded: null })}>×</button>
      </div>
      <canvas ref={canvas} style={{ height: `${Math.min(14, deepest) * LINE + 2}px` }} />
    </div>
  );
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
