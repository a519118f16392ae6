import { effect, signal, type Signal } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import { useAnswer, useStore } from "../state/answer.ts";
import type { State } from "../state/state.ts";
import { Store } from "../state/store.ts";
import { aligned, ofIterations, ofSegments, type Loops, type Segments } from "./align.ts";
import { drawOverlay, NO_MARKS } from "./overlay.ts";
import { TimelineView } from "./view.ts";

/** The second run below the first: in its colours, and aligned with it at both ends of what is shown. */
export function Second({ first }: { first: TimelineView }) {
  const store = useStore();
  const [second, setSecond] = useState<Store | null>(null);
  const state = useRef<Signal<State>>(signal(store.state.peek()));
  useEffect(() => {
    const source = store.source.of?.(1);
    if (!source) return;
    let stopped = false;
    const made = source.meta().then((meta) => {
      if (stopped || meta.abilities["profile_only"] === true) return;
      const other = new Store(source, meta, store.pending, state.current);
      store.second.value = other;
      setSecond(other);
      void other.follow();
    }, (error: unknown) => store.report(error));
    void store.pending.track(made);
    return () => { stopped = true; store.second.peek()?.stop(); store.second.value = null; };
  }, []);
  return second ? <Below first={first} second={second} state={state.current} /> : null;
}

function useMap(second: Store): (time: number) => number {
  const store = useStore();
  const { align } = store.state.value;
  const question = align === "segment" ? "segments" : "iterations";
  const [a, b] = [useAnswer<unknown>(question, {}, {}), useAnswer<unknown>(question, {}, {}, 1)];
  void second.status.value;
  const ends: [number, number] = [store.end, second.end];
  if (align === "time") return (time) => time;
  if (a.loading || b.loading || a.error || b.error || !a.data || !b.data) return aligned([], ends);
  return aligned(align === "segment" ? ofSegments(a.data as Segments, b.data as Segments) : ofIterations(a.data as Loops, b.data as Loops), ends);
}

function Below({ first, second, state }: { first: TimelineView; second: Store; state: Signal<State> }) {
  const store = useStore();
  const picture = useRef<HTMLCanvasElement>(null);
  const overlay = useRef<HTMLCanvasElement>(null);
  const view = useRef<TimelineView | null>(null);
  const map = useMap(second);
  const now = store.state.value;
  const [a, b] = store.shown;
  const [from, to] = [Math.max(0, Math.round(map(a))), Math.round(map(b))];
  useEffect(() => {
    const { expanded, findings_index, brush_ns, ...shown } = now;
    state.value = { ...shown, expanded: null, findings_index: null, brush_ns: null, order: "rank", time_ns: [from, Math.max(from + 1, to)] };
  }, [now, from, to]);
  useEffect(() => {
    if (!picture.current || !overlay.current) return;
    const made = new TimelineView(second, picture.current, first);
    view.current = made;
    const above = overlay.current;
    const stop = effect(() => { void made.drawn.value; drawOverlay(above, made, NO_MARKS); });
    const colours = effect(() => { void first.drawn.value; made.dark = first.dark; made.invalidate("palette"); });
    const resized = new ResizeObserver(() => made.invalidate("image"));
    resized.observe(above);
    return () => { stop(); colours(); resized.disconnect(); made.dispose(); };
  }, []);
  return (
    <div class="stage second" data-testid="timeline-second" title={second.meta.name}>
      <canvas class="picture" ref={picture} />
      <canvas class="overlay" ref={overlay} role="img" aria-label={`What each location of ${second.meta.name} does over time, aligned by ${now.align}`} />
    </div>
  );
}
