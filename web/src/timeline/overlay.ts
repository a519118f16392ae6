import { css } from "../colour/oklch.ts";
import { duration, instant, ticks } from "../format.ts";
import type { Collective, Marker } from "../data/types.ts";
import type { Range } from "../state/state.ts";
import { labelOf } from "./rows.ts";
import { sizeOf } from "./size.ts";
import type { TimelineView } from "./view.ts";

/** Marks above the picture. */
export interface Marks {
  /** Iterations: from, to, kind. */
  iterations: [number, number, number][];
  arrows: [number, number, number, number][];
  collectives: Collective[];
  bundles: { block_from: number; block_to: number; n: number }[];
  /** Critical path: row, from, to, and the row it comes from. */
  critical: { row: number; from: number; to: number; from_row: number | null }[];
  waits: Wait[];
  finding: { time_ns: Range; ranks: Set<number> } | null;
  pointer: { x: number; y: number } | null;
  drag: { time_ns: Range } | null;
}

/** A wait of a row, and who is late. */
export interface Wait { row: number; from: number; to: number; culprit: { row: number; rank: number; call_path: string[] } | null; class: string; certain: boolean }

export const NO_MARKS: Marks = { iterations: [], arrows: [], collectives: [], bundles: [], critical: [], waits: [], finding: null, pointer: null, drag: null };
export const GUTTER = 92;
export const RULER = 24;
export const ITERATIONS = 12;

interface Inks { text: string; faint: string; line: string; ground: string; accent: string; panel: string }

export function inksOf(element: Element): Inks {
  const style = getComputedStyle(element);
  const ink = (name: string) => style.getPropertyValue(name).trim();
  return { text: ink("--text"), faint: ink("--faint"), line: ink("--line"), ground: ink("--ground"), accent: ink("--accent"), panel: ink("--panel") };
}

/** Ruler, names of rows, selection, messages: everything but the picture itself. */
export function drawOverlay(canvas: HTMLCanvasElement, view: TimelineView, marks: Marks): void {
  const scale = Math.min(2, devicePixelRatio || 1);
  const { width, height } = sizeOf(canvas);
  if (canvas.width !== Math.round(width * scale)) canvas.width = Math.round(width * scale);
  if (canvas.height !== Math.round(height * scale)) canvas.height = Math.round(height * scale);
  const context = canvas.getContext("2d");
  if (!context) return;
  context.setTransform(scale, 0, 0, scale, 0, 0);
  context.clearRect(0, 0, width, height);
  context.font = "11px system-ui, sans-serif";
  const inks = inksOf(canvas);
  const top = RULER + ITERATIONS;
  drawRuler(context, view, inks, width);
  drawIterations(context, view, marks, inks);
  drawLabels(context, view, inks, top, height);
  context.save();
  context.beginPath();
  context.rect(GUTTER, top, width - GUTTER, height - top);
  context.clip();
  drawDimmed(context, view, inks, top, width);
  drawFlow(context, view, marks, inks, top);
  drawWaits(context, view, marks, inks, top);
  drawMarkers(context, view, inks, top, height);
  drawSelection(context, view, marks, inks, top, height);
  context.restore();
  drawPointer(context, view, marks, inks, top, height);
}

function drawRuler(context: CanvasRenderingContext2D, view: TimelineView, inks: Inks, width: number): void {
  const [a, b] = view.store.shown;
  const { step, at } = ticks(a, b, Math.max(2, (width - GUTTER) / 110));
  context.strokeStyle = inks.line;
  context.fillStyle = inks.faint;
  context.textBaseline = "middle";
  context.beginPath();
  for (const time of at) {
    const x = Math.round(GUTTER + view.xOf(time)) + 0.5;
    context.moveTo(x, RULER - 5);
    context.lineTo(x, RULER);
    const text = instant(time, step);
    if (x + 4 + context.measureText(text).width < width) context.fillText(text, x + 4, RULER / 2);
  }
  context.moveTo(GUTTER, RULER + 0.5);
  context.lineTo(width, RULER + 0.5);
  context.stroke();
}

const KINDS = ["#6aa2d8", "#d8a25a", "#8cc084", "#c68ac6", "#cf7d74", "#8f9aa8"];

function drawIterations(context: CanvasRenderingContext2D, view: TimelineView, marks: Marks, inks: Inks): void {
  const drawnTo = new Map<number, number>();
  marks.iterations.forEach(([from, to, kind], i) => {
    const [x, end] = [Math.max(0, view.xOf(from)), Math.min(view.width, view.xOf(to))];
    if (end <= 0 || view.width <= x || end < (drawnTo.get(0) ?? -1) + 0.5) return;
    drawnTo.set(0, end);
    context.globalAlpha = i % 2 === 0 ? 0.75 : 0.5;
    context.fillStyle = KINDS[kind % KINDS.length] ?? inks.accent;
    context.fillRect(GUTTER + x, RULER + 3, Math.max(0.5, end - x - 1), ITERATIONS - 5);
    context.globalAlpha = 1;
  });
  if (marks.iterations.length !== 0) {
    context.fillStyle = inks.faint;
    context.textAlign = "right";
    context.fillText("iterations", GUTTER - 8, RULER + ITERATIONS / 2);
    context.textAlign = "left";
  }
}

function drawLabels(context: CanvasRenderingContext2D, view: TimelineView, inks: Inks, top: number, height: number): void {
  const ranks = view.store.ranks;
  let free = -Infinity;
  context.save();
  context.beginPath();
  context.rect(0, top, GUTTER, height - top);
  context.clip();
  for (const row of view.visible()) {
    const middle = top + row.y - view.scroll.peek() + row.height / 2;
    // The label of a thin first row has its place below the ruler, not in it.
    const y = top <= middle ? Math.max(top + 7, middle) : middle;
    if (y < top - 20 || height + 20 < y || y < free) continue;
    free = y + 13;
    const rank = view.store.meta.locations[row.row]?.rank ?? null;
    const lit = ranks === null || (rank !== null && ranks.has(rank));
    const { label, indented } = labelOf(view.store.meta, row);
    context.fillStyle = indented || !lit ? inks.faint : inks.text;
    const mark = row.cluster ? (row.cluster.open ? "▾ " : "▸ ") : "";
    context.textAlign = "right";
    context.fillText(clip(context, mark + label, GUTTER - 16), GUTTER - 8, y);
    context.textAlign = "left";
  }
  context.restore();
}

/** `text`, without its middle if it is too wide: names of threads differ at their ends. */
function clip(context: CanvasRenderingContext2D, text: string, width: number): string {
  if (context.measureText(text).width <= width) return text;
  let kept = text.length;
  const cut = () => `${text.slice(0, Math.ceil(kept / 2))}…${text.slice(text.length - Math.floor(kept / 2))}`;
  while (2 < kept && width < context.measureText(cut()).width) kept -= 1;
  return cut();
}

/** Rows of ranks that are not marked are pale. */
function drawDimmed(context: CanvasRenderingContext2D, view: TimelineView, inks: Inks, top: number, width: number): void {
  const ranks = view.store.ranks;
  if (ranks === null) return;
  context.fillStyle = inks.ground;
  context.globalAlpha = 0.72;
  for (const row of view.visible()) {
    const rank = view.store.meta.locations[row.row]?.rank;
    if (rank !== null && rank !== undefined && ranks.has(rank)) continue;
    context.fillRect(GUTTER, top + row.y - view.scroll.peek(), width - GUTTER, row.height);
  }
  context.globalAlpha = 1;
}

function drawFlow(context: CanvasRenderingContext2D, view: TimelineView, marks: Marks, inks: Inks, top: number): void {
  const scroll = view.scroll.peek();
  const middle = (at: number): number | undefined => {
    const row = view.places.get(at);
    return row && top + row.y + row.height / 2 - scroll;
  };
  const line = (fromRow: number, from: number, toRow: number, to: number) => {
    const [y1, y2] = [middle(fromRow), middle(toRow)];
    if (y1 === undefined || y2 === undefined) return;
    context.moveTo(GUTTER + view.xOf(from), y1);
    context.lineTo(GUTTER + view.xOf(to), y2);
  };
  const stroke = (colour: string, width: number, alpha: number, lines: () => void) => {
    context.beginPath();
    context.strokeStyle = colour;
    context.lineWidth = width;
    context.globalAlpha = alpha;
    lines();
    context.stroke();
    context.globalAlpha = 1;
    context.lineWidth = 1;
  };
  stroke(inks.text, 1, 0.55, () => { for (const [row, from, other, to] of marks.arrows) line(row, from, other, to); });
  drawCollectives(context, view, marks.collectives, inks, middle);
  const most = Math.max(1, ...marks.bundles.map((bundle) => bundle.n));
  const size = view.store.meta.tiles.rows;
  for (const { block_from, block_to, n } of marks.bundles) {
    stroke(inks.text, 1 + (7 * n) / most, 0.35, () => line(block_from * size, view.store.shown[0], block_to * size, view.store.shown[1]));
  }
  stroke(inks.ground, 5, 0.9, () => critical(marks, line));
  stroke(css([235, 64, 52]), 2.5, 1, () => critical(marks, line));
}

/** Each collective as the area from the arrivals of its members to their ends; a dot is at the last arrival. */
function drawCollectives(context: CanvasRenderingContext2D, view: TimelineView, collectives: Collective[], inks: Inks, middle: (row: number) => number | undefined): void {
  for (const { members } of collectives) {
    const drawn = members.flatMap(([row, from, to]) => {
      const y = middle(row);
      return y === undefined ? [] : [{ y, from: GUTTER + view.xOf(from), to: GUTTER + view.xOf(to) }];
    }).sort((a, b) => a.y - b.y);
    const last = drawn.reduce<{ y: number; from: number } | null>((late, each) => (late === null || late.from < each.from ? each : late), null);
    if (last === null || drawn.length < 2 || drawn.every(({ to }) => to < GUTTER) || drawn.every(({ from }) => GUTTER + view.width < from)) continue;
    context.beginPath();
    for (const { y, from } of drawn) context.lineTo(from, y);
    for (const { y, to } of [...drawn].reverse()) context.lineTo(to, y);
    context.closePath();
    context.fillStyle = context.strokeStyle = inks.text;
    context.globalAlpha = 0.12;
    context.fill();
    context.globalAlpha = 0.5;
    context.stroke();
    context.globalAlpha = 0.9;
    context.beginPath();
    context.arc(last.from, last.y, 2, 0, 7);
    context.fill();
    context.globalAlpha = 1;
  }
}

function critical(marks: Marks, line: (row: number, from: number, other: number, to: number) => void): void {
  for (const { row, from, to, from_row } of marks.critical) line(from_row ?? row, from, row, to);
}

/** Waits as frames; a line leads from the end of each to who was late. Those of less than a pixel are left out. */
function drawWaits(context: CanvasRenderingContext2D, view: TimelineView, marks: Marks, inks: Inks, top: number): void {
  const y = (row: { y: number }) => top + row.y - view.scroll.peek();
  for (const wait of marks.waits) {
    const row = view.places.get(wait.row);
    const [x, end] = [GUTTER + view.xOf(wait.from), GUTTER + view.xOf(wait.to)];
    if (!row || end - x < 1 || end < GUTTER || GUTTER + view.width < x) continue;
    context.strokeStyle = inks.accent;
    context.lineWidth = 1.5;
    context.setLineDash(wait.certain ? [] : [3, 2]);
    context.strokeRect(x, y(row) + 1, end - x, Math.max(1, row.height - 3));
    const late = wait.culprit ? view.places.get(wait.culprit.row) : undefined;
    if (late && late !== row) {
      context.beginPath();
      context.moveTo(end, y(row) + row.height / 2);
      context.lineTo(end, y(late) + late.height / 2);
      context.stroke();
      context.beginPath();
      context.arc(end, y(late) + late.height / 2, 2.5, 0, 7);
      context.fillStyle = inks.accent;
      context.fill();
    }
    context.setLineDash([]);
    context.lineWidth = 1;
  }
}

/** Markers of the whole run from top to bottom, those of a row in it: a line with a flag, and a bar over the stretch that they are about. */
function drawMarkers(context: CanvasRenderingContext2D, view: TimelineView, inks: Inks, top: number, height: number): void {
  // Of those that share a pixel, the first.
  const drawnTo = new Map<number | null, number>();
  for (const { time_ns, row } of view.store.meta.markers ?? []) {
    const place = row === null ? null : view.places.get(row);
    const [x, end] = time_ns.map((time) => view.xOf(time)) as Range;
    if (place === undefined || end < 0 || view.width < x || Math.round(x) === drawnTo.get(row)) continue;
    drawnTo.set(row, Math.round(x));
    const [y, tall] = place === null ? [top, height - top] : [top + place.y - view.scroll.peek(), place.height];
    const [left, flag] = [GUTTER + Math.round(x), Math.min(11, tall)];
    // With an edge, as the picture has all colours.
    context.fillStyle = inks.ground;
    context.fillRect(left - 1, y, 3, tall);
    context.fillRect(left, y, Math.round(end - x) + 1, 5);
    drawFlag(context, left - 1, y - 1, flag + 3);
    context.fillStyle = inks.accent;
    context.fillRect(left, y, 1, tall);
    context.fillRect(left, y + 1, Math.round(end - x), 3);
    drawFlag(context, left, y + 1, flag - 1);
  }
}

function drawFlag(context: CanvasRenderingContext2D, x: number, y: number, size: number): void {
  context.beginPath();
  context.moveTo(x, y);
  context.lineTo(x + size, y + size / 2);
  context.lineTo(x, y + size);
  context.fill();
}

/** The markers at a place of the picture: those in whose stretch it is, and those a few pixels off. */
export function markersAt(view: TimelineView, row: number, x: number): Marker[] {
  const near = ({ time_ns: [from, to], row: own }: Marker) => (own === null || own === row) && view.xOf(from) - 4 <= x && x <= view.xOf(to) + 7;
  return (view.store.meta.markers ?? []).filter(near);
}

function drawSelection(context: CanvasRenderingContext2D, view: TimelineView, marks: Marks, inks: Inks, top: number, height: number): void {
  if (marks.finding) {
    const [x, end] = marks.finding.time_ns.map((time) => GUTTER + view.xOf(time)) as Range;
    context.strokeStyle = inks.accent;
    context.setLineDash([4, 3]);
    context.strokeRect(Math.round(x) + 0.5, top + 0.5, Math.round(end - x) - 1, Math.min(height - top - 1, view.height - 1));
    context.setLineDash([]);
  }
  const brush = marks.drag?.time_ns ?? view.store.state.peek().brush_ns;
  if (!brush) return;
  const [x, end] = brush.map((time) => GUTTER + view.xOf(time)) as Range;
  context.fillStyle = inks.accent;
  context.globalAlpha = 0.16;
  context.fillRect(x, top, end - x, height - top);
  context.globalAlpha = 1;
  context.fillRect(x - 0.5, top, 1, height - top);
  context.fillRect(end - 0.5, top, 1, height - top);
  const text = duration(brush[1] - brush[0]);
  const wide = context.measureText(text).width + 12;
  const at = Math.min(GUTTER + view.width - wide - 2, Math.max(GUTTER + 2, (x + end - wide) / 2));
  context.fillRect(at, top + 4, wide, 18);
  context.fillStyle = inks.panel;
  context.fillText(text, at + 6, top + 13.5);
}

function drawPointer(context: CanvasRenderingContext2D, view: TimelineView, marks: Marks, inks: Inks, top: number, height: number): void {
  if (!marks.pointer || marks.pointer.x < GUTTER) return;
  context.fillStyle = inks.text;
  context.globalAlpha = 0.35;
  context.fillRect(Math.round(marks.pointer.x), top, 1, height - top);
  context.globalAlpha = 1;
  const [a, b] = view.store.shown;
  const text = instant(view.timeAt(marks.pointer.x - GUTTER), (b - a) / view.width);
  const wide = context.measureText(text).width + 10;
  const at = Math.min(GUTTER + view.width - wide, Math.max(GUTTER, marks.pointer.x - wide / 2));
  context.fillStyle = inks.panel;
  context.fillRect(at, 2, wide, RULER - 4);
  context.fillStyle = inks.text;
  context.fillText(text, at + 5, RULER / 2);
}
