import { css, ofRegion } from "../colour/oklch.ts";
import { duration, percent } from "../format.ts";
import { useAnswer, useStore } from "../state/answer.ts";
import type { TimelineView } from "../timeline/view.ts";
import { Panel } from "./panel.tsx";
import { Plot, times } from "./plot.tsx";

interface Data { bin_edges_ns: number[]; functions: { region: string; exclusive_ns: number[] }[]; idle_ns: number[] }
const SHOWN = 10;
const BINS = 100;

/** Where the time of the selection went, as stacked areas. */
export function TimeProfile({ view }: { view: TimelineView | null }) {
  const store = useStore();
  const answer = useAnswer<Data>("time-profile", { bins: BINS });
  const { data } = answer;
  return <Panel id="time-profile" answer={answer}>{data?.functions && <Areas data={data} colour={(name) => colourOf(store.meta, view, name)} />}</Panel>;
}

function colourOf(meta: { regions: { name: string; category: number | string }[]; categories: { name: string }[] }, view: TimelineView | null, name: string): string {
  const category = meta.regions.find((region) => region.name === name)?.category ?? 0;
  const text = typeof category === "number" ? (meta.categories[category]?.name ?? "") : category;
  // The colour of the call path that ends in it and holds most time, so that pictures agree.
  const id = view?.significance?.order.find((each) => view.store.paths.name(each) === name);
  return css(id !== undefined && view?.colours ? view.colours.of(id) : ofRegion(name, text));
}

function Areas({ data, colour }: { data: Data; colour: (name: string) => string }) {
  const store = useStore();
  const n = data.bin_edges_ns.length - 1;
  const sum = (values: number[]) => values.reduce((a, b) => a + b, 0);
  const sorted = [...data.functions].sort((a, b) => sum(b.exclusive_ns) - sum(a.exclusive_ns));
  const rest = sorted.slice(SHOWN);
  const bands = sorted.slice(0, SHOWN).map((f) => ({ name: f.region, values: f.exclusive_ns, colour: colour(f.region) }));
  if (rest.length !== 0) bands.push({ name: `${rest.length} others`, values: Array.from({ length: n }, (_, i) => sum(rest.map((f) => f.exclusive_ns[i] ?? 0))), colour: "var(--faint)" });
  const totals = Array.from({ length: n }, (_, i) => sum(bands.map((band) => band.values[i] ?? 0)) + (data.idle_ns?.[i] ?? 0));
  const most = Math.max(1, ...totals);
  const all = Math.max(1, sum(totals));
  const base = new Array<number>(n).fill(0);
  const paths = bands.map((band) => {
    const below = [...base];
    band.values.forEach((value, i) => (base[i] = (base[i] ?? 0) + value));
    const top = base.map((v, i) => `${i} ${100 - (100 * v) / most} ${i + 1} ${100 - (100 * v) / most}`);
    const bottom = below.map((v, i) => `${i + 1} ${100 - (100 * v) / most} ${i} ${100 - (100 * v) / most}`).reverse();
    return `M${top.join(" ")} ${bottom.join(" ")}Z`;
  });
  return (
    <div class="areas">
      <Plot high={duration(most)} low="0 s" along={times(data.bin_edges_ns[0] ?? 0, data.bin_edges_ns[n] ?? 0)}><svg viewBox={`0 0 ${n} 100`} preserveAspectRatio="none" role="img" aria-label="Time in regions over the run">
        {paths.map((d, i) => (
          <path key={i} d={d} style={{ fill: bands[i]?.colour ?? "" }} onClick={() => store.set({ search: bands[i]?.name ?? "" })}><title>{`${bands[i]?.name}: ${duration(sum(bands[i]?.values ?? []))}`}</title></path>
        ))}
      </svg></Plot>
      <ul class="key">{bands.map((band, i) => <li key={i}><i style={{ background: band.colour }} /><span>{band.name}</span><b>{percent(sum(band.values) / all)}</b></li>)}</ul>
    </div>
  );
}
