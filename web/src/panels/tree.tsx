import { useState } from "preact/hooks";
import type { ComponentChildren } from "preact";
import { count, duration, percent, quantity } from "../format.ts";
import { css, ofRegion } from "../colour/oklch.ts";
import { useAnswer, useStore, type Answer } from "../state/answer.ts";
import type { Selection } from "../data/types.ts";
import type { TimelineView } from "../timeline/view.ts";
import { useMetric } from "./metric.tsx";
import { Choice, Panel, Search } from "./panel.tsx";

interface Node { node: number; parent: number | null; depth: number; region: string; call_path: string[]; visits: number | null; inclusive_ns: number; exclusive_ns: number }

/** Call paths of the selection, as a tree or as icicles. */
export function Tree({ view }: { view: TimelineView | null }) {
  return useStore().profileOnly ? <OfProfile /> : <OfTrace view={view} />;
}

function OfTrace({ view }: { view: TimelineView | null }) {
  const store = useStore();
  const { time_ns, ranks } = store.selection.value;
  // The tree shows all call paths; the selected one is lit.
  const selection: Selection = { ...(time_ns ? { time_ns } : {}), ...(ranks === undefined ? {} : { ranks }) };
  const answer = useAnswer<{ nodes: Node[] }>("call-tree", {}, selection);
  const colour = (node: Node) => {
    const id = store.paths.find(node.call_path);
    return id === null || !view?.colours ? "var(--faint)" : css(view.colours.of(id));
  };
  return <Forms answer={answer} nodes={answer.data?.nodes ?? []} colour={colour} show={(value) => duration(value)} tools={null} />;
}

interface Severities { rows: { call_path: string[]; total: number | null }[] }

/** Of a profile: the values with and without callees make the tree. */
function OfProfile() {
  const metric = useMetric();
  const inclusive = useAnswer<Severities>("profile", { call_paths: true, scope: "inclusive", top: 0, ...metric.option }, {});
  const exclusive = useAnswer<Severities>("profile", { call_paths: true, scope: "exclusive", top: 0, ...metric.option }, {});
  const nodes = nodesOf(inclusive.data?.rows ?? [], exclusive.data?.rows ?? []);
  const answer = { ...inclusive, error: inclusive.error ?? exclusive.error, loading: inclusive.loading || exclusive.loading };
  return <Forms answer={answer} nodes={nodes} colour={(node) => css(ofRegion(node.region, ""))} show={(value) => quantity(value, metric.unit)} tools={metric.choice} />;
}

function nodesOf(inclusive: Severities["rows"], exclusive: Severities["rows"]): Node[] {
  const key = (path: string[]) => JSON.stringify(path);
  const own = new Map(exclusive.map((row) => [key(row.call_path), row.total ?? 0]));
  const sorted = [...inclusive].sort((a, b) => a.call_path.length - b.call_path.length);
  const ids = new Map(sorted.map((row, i) => [key(row.call_path), i]));
  return sorted.map((row, node) => ({
    node, parent: ids.get(key(row.call_path.slice(0, -1))) ?? null, depth: row.call_path.length - 1, region: row.call_path.at(-1) ?? "", call_path: row.call_path,
    visits: null, inclusive_ns: row.total ?? 0, exclusive_ns: own.get(key(row.call_path)) ?? 0,
  }));
}

function Forms({ answer, nodes, colour, show, tools }: { answer: Answer<unknown>; nodes: Node[]; colour: (node: Node) => string; show: (value: number) => string; tools: ComponentChildren }) {
  const store = useStore();
  const [search, setSearch] = useState("");
  const [form, setForm] = useState("tree");
  const select = (node: Node) => {
    const same = store.state.value.call_path?.join("\0") === node.call_path.join("\0");
    store.go({ call_path: same ? null : node.call_path }, true);
  };
  const all = (
    <>
      {tools}
      <Search value={search} onChange={setSearch} label="Search call paths" />
      <Choice label="Form" value={form} options={[["tree", "tree"], ["icicle", "icicle"], ["flame", "flame graph"]]} onChange={setForm} />
    </>
  );
  const parts = { nodes, search, select, colour, show };
  return <Panel id="tree" answer={answer} tools={all}>{form === "tree" ? <TreeTable {...parts} /> : <Icicle {...parts} upwards={form === "flame"} />}</Panel>;
}

interface Parts { nodes: Node[]; search: string; select: (node: Node) => void; colour: (node: Node) => string; show: (value: number) => string }

function TreeTable({ nodes, search, select, colour, show }: Parts) {
  const store = useStore();
  const [closed, setClosed] = useState<ReadonlySet<number>>(new Set());
  const children = childrenOf(nodes);
  const total = Math.max(1e-300, (children.get(null) ?? []).reduce((sum, node) => sum + node.inclusive_ns, 0));
  const needle = search.toLowerCase();
  // A profile may have none.
  const hasVisits = nodes.some((node) => typeof node.visits === "number");
  const rows: Node[] = [];
  const visit = (node: Node): void => {
    rows.push(node);
    if (!closed.has(node.node)) (children.get(node.node) ?? []).forEach(visit);
  };
  if (needle === "") (children.get(null) ?? []).forEach(visit);
  else rows.push(...nodes.filter((node) => node.region.toLowerCase().includes(needle)));
  const toggle = (node: Node) => setClosed((before) => { const next = new Set(before); if (!next.delete(node.node)) next.add(node.node); return next; });
  const key = (event: KeyboardEvent, node: Node) => {
    const step = { ArrowLeft: !closed.has(node.node), ArrowRight: closed.has(node.node) }[event.key];
    if (event.key === "Enter") select(node);
    else if (step) toggle(node);
    else return;
    event.stopPropagation();
  };
  return (
    <div class="scroll">
      <table role="treegrid">
        <caption class="hidden">Call paths of the selection</caption>
        <thead><tr><th scope="col">call path</th><th scope="col" class="number">inclusive</th><th scope="col" class="number">exclusive</th><th scope="col" class="number">share</th>{hasVisits && <th scope="col" class="number">visits</th>}</tr></thead>
        <tbody>
          {rows.slice(0, 2000).map((node) => (
            <tr key={node.node} tabIndex={0} aria-level={node.depth + 1} aria-expanded={!closed.has(node.node)} class={store.state.value.call_path?.join("\0") === node.call_path.join("\0") ? "lit" : ""} onClick={() => select(node)} onKeyDown={(event) => key(event, node)}>
              <td class="name" title={node.call_path.join(" › ")}>
                <span style={{ paddingLeft: `${needle === "" ? 13 * node.depth : 0}px` }}>
                  <button class="twist plain" tabIndex={-1} aria-label="Open or close" onClick={(event) => { event.stopPropagation(); toggle(node); }}>{children.has(node.node) ? (closed.has(node.node) ? "▸" : "▾") : ""}</button>
                  <i class="chip" style={{ background: colour(node) }} />{node.region}
                </span>
              </td>
              <td class="number"><i class="fill" style={{ width: `${(100 * node.inclusive_ns) / total}%` }} /><span>{show(node.inclusive_ns)}</span></td>
              <td class="number"><i class="fill" style={{ width: `${(100 * node.exclusive_ns) / total}%` }} /><span>{show(node.exclusive_ns)}</span></td>
              <td class="number">{percent(node.inclusive_ns / total)}</td>
              {hasVisits && <td class="number">{node.visits === null || node.visits === undefined ? "" : count(node.visits)}</td>}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Icicle({ nodes, upwards, select, colour, search, show }: Parts & { upwards: boolean }) {
  const children = childrenOf(nodes);
  const total = Math.max(1e-300, (children.get(null) ?? []).reduce((sum, node) => sum + node.inclusive_ns, 0));
  const boxes: { node: Node; x: number; width: number }[] = [];
  const place = (list: Node[], from: number): void => {
    let x = from;
    for (const node of list) {
      const width = node.inclusive_ns / total;
      if (0.0008 < width) {
        boxes.push({ node, x, width });
        place(children.get(node.node) ?? [], x);
      }
      x += width;
    }
  };
  place(children.get(null) ?? [], 0);
  const deepest = Math.max(0, ...boxes.map((box) => box.node.depth));
  return (
    <div class="icicle scroll">
      <div style={{ height: `${(deepest + 1) * 19}px` }}>
        {boxes.map(({ node, x, width }) => (
          <button
            key={node.node} title={`${node.call_path.join(" › ")}\n${show(node.inclusive_ns)} inclusive, ${show(node.exclusive_ns)} exclusive`} onClick={() => select(node)}
            class={search !== "" && !node.region.toLowerCase().includes(search.toLowerCase()) ? "dim" : ""}
            style={{ left: `${100 * x}%`, width: `${100 * width}%`, top: `${(upwards ? deepest - node.depth : node.depth) * 19}px`, background: colour(node) }}
          >{node.region}</button>
        ))}
      </div>
    </div>
  );
}

function childrenOf(nodes: Node[]): Map<number | null, Node[]> {
  const children = new Map<number | null, Node[]>();
  for (const node of nodes) children.set(node.parent, [...(children.get(node.parent) ?? []), node]);
  for (const list of children.values()) list.sort((a, b) => b.inclusive_ns - a.inclusive_ns);
  return children;
}
