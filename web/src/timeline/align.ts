import type { Range } from "../state/state.ts";

/** A time of the first run, and the one of the second that is drawn below it. */
export type Landmark = readonly [number, number];

export interface Loops { loops: { is_nested: boolean; name: string; iterations: { location_cluster: number; start_ns: number; end_ns: number }[] }[] }
export interface Segments { segments: { start_ns: number; end_ns: number; sync: string[] | null }[] }

/** The beginnings of the iterations of the outermost loop that both have, by their index, and the end of the last. */
export function ofIterations(a: Loops, b: Loops): Landmark[] {
  const outer = (loops: Loops) => loops.loops.filter((loop) => !loop.is_nested && 1 < loop.iterations.length);
  const first = outer(a)[0];
  const second = outer(b).find((loop) => loop.name === first?.name) ?? outer(b)[0];
  if (!first || !second) return [];
  const borders = (loop: Loops["loops"][number]) => loop.iterations.filter((each) => each.location_cluster === loop.iterations[0]?.location_cluster).sort((x, y) => x.start_ns - y.start_ns);
  const [these, those] = [borders(first), borders(second)];
  const n = Math.min(these.length, those.length);
  const marks = these.slice(0, n).map((each, i): Landmark => [each.start_ns, those[i]?.start_ns ?? 0]);
  const [last, other] = [these[n - 1], those[n - 1]];
  return last && other ? [...marks, [last.end_ns, other.end_ns]] : marks;
}

/** Beginnings and ends of segments that end with the same synchronisation, in the order of time. */
export function ofSegments(a: Segments, b: Segments): Landmark[] {
  const byTime = (segments: Segments) => [...segments.segments].sort((x, y) => x.start_ns - y.start_ns || x.end_ns - y.end_ns);
  const name = (sync: string[] | null) => JSON.stringify(sync);
  const left = byTime(b);
  return byTime(a).flatMap((segment) => {
    const at = left.findIndex((other) => name(other.sync) === name(segment.sync));
    const other = left[at];
    if (!other) return [];
    left.splice(at, 1);
    return [[segment.start_ns, other.start_ns], [segment.end_ns, other.end_ns]] as Landmark[];
  });
}

/** The time of the second run below a time of the first: straight between landmarks, those out of order left out. */
export function aligned(landmarks: readonly Landmark[], [endA, endB]: Range): (time: number) => number {
  const marks: Landmark[] = [[0, 0]];
  for (const mark of [...landmarks].sort((x, y) => x[0] - y[0] || x[1] - y[1])) {
    const before = marks.at(-1) ?? [0, 0];
    if (before[0] < mark[0] && before[1] < mark[1] && mark[0] < endA && mark[1] < endB) marks.push(mark);
  }
  marks.push([endA, endB]);
  return (time) => {
    const at = Math.max(1, Math.min(marks.length - 1, marks.findIndex((mark) => time < mark[0]) === -1 ? marks.length - 1 : marks.findIndex((mark) => time < mark[0])));
    const [[a0, b0], [a1, b1]] = [marks[at - 1] ?? [0, 0], marks[at] ?? [1, 1]];
    return b0 + ((time - a0) * (b1 - b0)) / Math.max(1e-9, a1 - a0);
  };
}
