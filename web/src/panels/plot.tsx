import type { ComponentChildren } from "preact";
import { instant, ticks } from "../format.ts";

/** A label and its place along an axis, from 0 to 1. */
export type Label = [number, string];

const N_TIMES = 6;

/** Round times between two. */
export function times(from: number, to: number): Label[] {
  if (to <= from) return [];
  const { step, at } = ticks(from, to, N_TIMES);
  return at.map((time) => [(time - from) / (to - from), instant(time, step)]);
}

/** A drawing with labels at its axes: the greatest and the least value, and places along it. */
export function Plot({ high, low, along, children }: { high: string; low: string; along: Label[]; children: ComponentChildren }) {
  return (
    <div class="plot">
      <div class="up" aria-hidden="true"><span>{high}</span><span>{low}</span></div>
      {children}
      <div class="along" aria-hidden="true">{along.map(([at, text]) => <span key={at} style={{ left: `${100 * at}%` }} class={0.94 < at ? "last" : at < 0.04 ? "first" : ""}>{text}</span>)}</div>
    </div>
  );
}
