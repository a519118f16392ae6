import { toCsv } from "../panels/table.tsx";
import type { CountersOverTime } from "../timeline/counters.tsx";
import { BINS } from "../timeline/track.tsx";
import type { Cell, Placed, Row, Table } from "../data/types.ts";
import type { Store } from "../state/store.ts";
import type { View } from "../state/state.ts";

/** Which answer a view shows, and where its rows are. */
const ASKED: Partial<Record<View, [string, Record<string, unknown>, (data: never) => Row[]]>> = {
  tree: ["call-tree", {}, (data: { nodes: Row[] }) => data.nodes],
  matrix: ["comm-matrix", {}, (data: { pairs: Row[] }) => data.pairs],
  iterations: ["iterations", {}, (data: { loops: { name: string; iterations: Row[] }[] }) => data.loops.flatMap((loop) => loop.iterations.map((i) => ({ loop: loop.name, ...i })))],
  clusters: ["clusters", {}, (data: { clusters: { peers: string; id: number; ranks: { list: number[] } }[] }) => data.clusters.flatMap((c) => c.ranks.list.map((rank) => ({ peers: c.peers, cluster: c.id, rank })))],
  compare: ["compare", {}, (data: { functions: { region: string; exclusive_ns: Cell[] }[] }) => data.functions.map((f) => ({ region: f.region, ...Object.fromEntries(f.exclusive_ns.map((v, i) => [`exclusive_ns_${i}`, v])) }))],
  guide: ["report", {}, (data: { findings: Row[] }) => data.findings.map(({ title, sentence, gain_ns, advice }) => ({ title, sentence, gain_ns, advice }))],
};

/** A view as it stands: SVG and CSV as text, PNG as a blob. */
export async function exportView(store: Store, view: View, kind: "svg" | "png" | "csv"): Promise<string | Blob> {
  if (kind === "csv") return csv(store, view);
  const panel = document.querySelector(`[data-testid="${view}"]`);
  if (!panel) throw new Error(`the view ${view} is not shown`);
  const picture = flatten(panel);
  const svg = svgOf(panel, picture);
  return kind === "svg" ? svg : pngOf(svg, picture);
}

async function csv(store: Store, view: View): Promise<string> {
  const selection = store.selection.value;
  if (view === "profile") return toCsv((await store.ask<Table>({ question: "profile", options: { top: 0 }, selection })).data);
  if (view === "time-profile") {
    const { data } = await store.ask<{ bin_edges_ns: number[]; functions: { region: string; exclusive_ns: number[] }[] }>({ question: "time-profile", options: { bins: 100 }, selection });
    const rows = data.functions.flatMap((f) => f.exclusive_ns.map((v, i) => ({ region: f.region, start_ns: data.bin_edges_ns[i], end_ns: data.bin_edges_ns[i + 1], exclusive_ns: v })));
    return tableOf(rows);
  }
  if (view === "counters") {
    const { time_ns, ranks } = selection;
    const { data } = await store.ask<CountersOverTime>({ question: "counters-over-time", options: { bins: BINS }, selection: { ...(time_ns ? { time_ns } : {}), ...(ranks === undefined ? {} : { ranks }) } });
    return tableOf(data.counters.flatMap(({ metric, unit, gain, least, greatest }) => data.bin_edges_ns.slice(1).map((end_ns, i) => ({ metric, unit, start_ns: data.bin_edges_ns[i], end_ns, gain: gain?.[i] ?? null, least: least?.[i] ?? null, greatest: greatest?.[i] ?? null }))));
  }
  if (view === "topology") return placesOf(store);
  const asked = ASKED[view];
  if (!asked) throw new Error(`${view} has no table`);
  const [question, options, rows] = asked;
  const others = view === "compare" ? { run: 0, others: (store.meta.runs ?? []).slice(1).map((_, i) => i + 1) } : {};
  const whole = view === "guide" || view === "iterations" || view === "clusters" || view === "compare";
  return tableOf(rows((await store.ask({ question, options, selection: whole ? {} : selection, ...others })).data as never));
}

/** The values that are shown first, one row for each place with a location. */
async function placesOf(store: Store): Promise<string> {
  const { metric, call_path, scope, grid } = store.state.value;
  const { time_ns } = store.selection.value;
  const options = { scope, values: true, ...(metric === null ? {} : { metric }), ...(call_path === null ? {} : { path: `/${call_path.join("/")}` }), ...(grid === null ? {} : { topology: String(grid) }) };
  const { data } = await store.ask<Placed>({ question: "correlate", options, selection: time_ns && !store.profileOnly ? { time_ns } : {} });
  const place = (at: number) => data.axes.reduceRight<{ rest: number; cell: Record<string, number> }>(({ rest, cell }, axis) => ({ rest: Math.floor(rest / axis.size), cell: { [axis.name]: rest % axis.size, ...cell } }), { rest: at, cell: {} }).cell;
  return tableOf(data.values.flatMap((value, at) => (value === null ? [] : [{ ...place(at), rank: data.ranks[at] ?? null, [data.view.metric]: value }])));
}

function tableOf(rows: Row[]): string {
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))].filter((name) => rows.every((row) => typeof row[name] !== "object" || Array.isArray(row[name]) || row[name] === null));
  return toCsv({ columns: names.map((name) => ({ name, unit: "", doc: "" })), rows });
}

/** All canvases of a panel in one picture. */
function flatten(panel: Element): HTMLCanvasElement {
  const box = panel.getBoundingClientRect();
  const scale = Math.min(2, devicePixelRatio || 1);
  const flat = document.createElement("canvas");
  [flat.width, flat.height] = [Math.max(1, Math.round(box.width * scale)), Math.max(1, Math.round(box.height * scale))];
  const context = flat.getContext("2d");
  if (!context) throw new Error("no canvas");
  context.fillStyle = getComputedStyle(document.documentElement).getPropertyValue("--ground") || "#fff";
  context.fillRect(0, 0, flat.width, flat.height);
  for (const canvas of panel.querySelectorAll("canvas")) {
    const at = canvas.getBoundingClientRect();
    if (canvas.width * canvas.height !== 0) context.drawImage(canvas, (at.left - box.left) * scale, (at.top - box.top) * scale, at.width * scale, at.height * scale);
  }
  return flat;
}

/** The drawing over the ground of `picture`, as pixels of the same number. */
async function pngOf(svg: string, picture: HTMLCanvasElement): Promise<Blob> {
  const drawn = new Image();
  drawn.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  await drawn.decode();
  picture.getContext("2d")?.drawImage(drawn, 0, 0, picture.width, picture.height);
  return new Promise((done, fail) => picture.toBlob((blob) => (blob ? done(blob) : fail(new Error("no picture"))), "image/png"));
}

/** Drawings as they are, text as text; pictures of pixels are embedded. */
function svgOf(panel: Element, picture: HTMLCanvasElement): string {
  const box = panel.getBoundingClientRect();
  const NS = "http://www.w3.org/2000/svg";
  const svg = document.implementation.createDocument(NS, "svg", null);
  const root = svg.documentElement;
  const set = (element: Element, values: Record<string, string | number>) => { for (const [key, value] of Object.entries(values)) element.setAttribute(key, String(value)); return element; };
  set(root, { width: box.width, height: box.height, viewBox: `0 0 ${box.width} ${box.height}`, "font-family": "sans-serif", "font-size": 11 });
  if (panel.querySelector("canvas")) root.append(set(svg.createElementNS(NS, "image"), { href: picture.toDataURL(), width: box.width, height: box.height }));
  for (const shape of panel.querySelectorAll<SVGGraphicsElement>("svg rect, svg path, svg circle, svg line")) {
    const at = shape.getBoundingClientRect();
    const style = getComputedStyle(shape);
    const owner = shape.ownerSVGElement?.getScreenCTM();
    const copy = svg.importNode(shape, false);
    copy.removeAttribute("style");
    copy.removeAttribute("class");
    set(copy, { fill: style.fill, stroke: style.stroke, "fill-opacity": style.fillOpacity });
    if (owner) set(copy, { transform: `matrix(${owner.a} ${owner.b} ${owner.c} ${owner.d} ${owner.e - box.left} ${owner.f - box.top})` });
    if (0 < at.width + at.height) root.append(copy);
  }
  const walker = document.createTreeWalker(panel, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const range = document.createRange();
    range.selectNodeContents(node);
    const at = range.getBoundingClientRect();
    if (at.width === 0 || !node.parentElement || node.parentElement.closest("select, .hidden")) continue;
    const text = set(svg.createElementNS(NS, "text"), { x: at.left - box.left, y: at.bottom - box.top - 3, fill: getComputedStyle(node.parentElement).color });
    text.textContent = node.textContent;
    root.append(text);
  }
  return new XMLSerializer().serializeToString(svg);
}
