import { useEffect, useRef, useState } from "preact/hooks";
import { scaleCss } from "../colour/palettes.ts";
import { bytes, count, duration } from "../format.ts";
import { useAnswer, useStore } from "../state/answer.ts";
import { BINS, type OverTime } from "../timeline/track.tsx";
import { Panel } from "./panel.tsx";
import { Plot, times, type Label } from "./plot.tsx";

interface Pair { from: number; to: number; messages: number; bytes: number }
interface Data { ranks: number[]; unit: string; pairs: Pair[] }
interface Sizes { edges: number[]; counts: number[] }

/** At most so many blocks a side are drawn; beyond, ranks share one. */
const MAX_BLOCKS = 256;

/** Who sends to whom, and how large the messages are. */
export function Matrix() {
  const answer = useAnswer<Data>("comm-matrix");
  const sizes = useAnswer<Sizes>("messages", { log: true }).data;
  const overTime = useAnswer<OverTime>("comm-over-time", { bins: BINS, unit: "bytes" }).data;
  const { data } = answer;
  const none = data && (data.pairs ?? []).length === 0;
  return (
    <Panel id="matrix" answer={answer}>
      {none && <p class="faint pad">No messages between ranks in the selection.</p>}
      {data && !none && <div class="pair"><Square data={data} /><div class="histograms">{sizes?.counts && <Histogram sizes={sizes} />}{overTime?.sent && <Over data={overTime} />}</div></div>}
    </Panel>
  );
}

function Square({ data }: { data: Data }) {
  const store = useStore();
  const canvas = useRef<HTMLCanvasElement>(null);
  const [at, setAt] = useState<[number, number] | null>(null);
  const n = data.ranks.length;
  const blocks = Math.min(n, MAX_BLOCKS);
  const place = new Map(data.ranks.map((rank, i) => [rank, Math.floor((i * blocks) / n)]));
  const cells = new Map<number, Pair>();
  for (const pair of data.pairs) {
    const key = (place.get(pair.from) ?? 0) * blocks + (place.get(pair.to) ?? 0);
    const sum = cells.get(key) ?? { ...pair, messages: 0, bytes: 0 };
    cells.set(key, { ...sum, messages: sum.messages + pair.messages, bytes: sum.bytes + pair.bytes });
  }
  const most = Math.max(1, ...[...cells.values()].map((cell) => cell.bytes));
  const palette = store.state.value.palette;
  useEffect(() => {
    const context = canvas.current?.getContext("2d");
    if (!context || !canvas.current) return;
    [canvas.current.width, canvas.current.height] = [blocks, blocks];
    for (const [key, cell] of cells) {
      context.fillStyle = scaleCss(palette, cell.bytes / most);
      context.fillRect(key % blocks, Math.floor(key / blocks), 1, 1);
    }
  });
  const pointed = at ? cells.get(at[0] * blocks + at[1]) : undefined;
  const ranksOf = (b: number) => data.ranks.filter((rank) => place.get(rank) === b);
  const move = (event: PointerEvent) => {
    const box = (event.currentTarget as Element).getBoundingClientRect();
    setAt([Math.min(blocks - 1, Math.floor(((event.clientY - box.top) / box.height) * blocks)), Math.min(blocks - 1, Math.floor(((event.clientX - box.left) / box.width) * blocks))]);
  };
  const select = () => at && store.go({ ranks: [...new Set([...ranksOf(at[0]), ...ranksOf(at[1])])].sort((a, b) => a - b).join(",") }, true);
  const names = (b: number) => { const list = ranksOf(b); return list.length === 1 ? `${list[0]}` : `${list[0]}–${list.at(-1)}`; };
  return (
    <figure class="matrix">
      <div class="axis">from ↓ to →</div>
      <canvas ref={canvas} role="img" aria-label="Bytes from each rank to each other" onPointerMove={move} onPointerLeave={() => setAt(null)} onClick={select} />
      <figcaption>{at ? `${names(at[0])} → ${names(at[1])}: ${pointed ? `${bytes(pointed.bytes)} in ${count(pointed.messages)} messages` : "nothing"}` : `up to ${bytes(most)} from one to another`}</figcaption>
    </figure>
  );
}

/** How much is sent over time; a click selects a stretch. */
function Over({ data }: { data: OverTime }) {
  const store = useStore();
  const most = Math.max(1, ...data.sent);
  const edge = (i: number) => data.bin_edges_ns[i] ?? 0;
  return (
    <figure class="histogram">
      <Plot high={bytes(most)} low="0 B" along={times(edge(0), edge(data.sent.length))}><svg viewBox={`0 0 ${data.sent.length} 100`} preserveAspectRatio="none" role="img" aria-label="Bytes sent over time">
        {data.sent.map((value, i) => <rect key={i} x={i} width={1} y={100 - (100 * value) / most} height={(100 * value) / most} onClick={() => store.go({ brush_ns: [edge(i), edge(i + 1)] }, true)}><title>{`${duration(edge(i))} – ${duration(edge(i + 1))}: ${bytes(value)} sent, ${bytes(data.received[i] ?? 0)} received`}</title></rect>)}
      </svg></Plot>
      <figcaption>bytes sent in {duration(edge(1) - edge(0))}</figcaption>
    </figure>
  );
}

function Histogram({ sizes }: { sizes: Sizes }) {
  const most = Math.max(1, ...sizes.counts);
  const n = sizes.counts.length;
  const room = Math.max(12, n);
  const every = Math.ceil(room / 7);
  const labels = sizes.edges.flatMap((edge, i): Label[] => (i % every === 0 ? [[i / room, bytes(edge)]] : []));
  return (
    <figure class="histogram">
      <Plot high={count(most)} low="0" along={labels}><svg viewBox={`0 0 ${room} 100`} preserveAspectRatio="none" role="img" aria-label="Number of messages by size">
        {sizes.counts.map((value, i) => <rect key={i} x={i + 0.05} width={0.9} y={100 - (100 * value) / most} height={(100 * value) / most}><title>{`${bytes(sizes.edges[i] ?? 0)} – ${bytes(sizes.edges[i + 1] ?? 0)}: ${count(value)}`}</title></rect>)}
      </svg></Plot>
      <figcaption>{count(sizes.counts.reduce((a, b) => a + b, 0))} messages by size</figcaption>
    </figure>
  );
}
