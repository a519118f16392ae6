import { duration, quantity } from "../format.ts";
import { useAnswer, useStore } from "../state/answer.ts";
import { BINS, HEIGHT, steps } from "./track.tsx";
import type { TimelineView } from "./view.ts";

/** The answer to `counters-over-time`. */
export interface CountersOverTime {
  bin_edges_ns: number[];
  counters: Counter[];
}

/** A counter has `gain`, another metric `least` and `greatest`. */
export interface Counter {
  metric: string;
  unit: string;
  n_locations: number;
  gain?: number[];
  least?: (number | null)[];
  greatest?: (number | null)[];
}

/** What is known of the counter in a bin, in words. */
export function inWords({ unit, gain, least, greatest }: Counter, bin: number): string {
  if (gain) return `${quantity(gain[bin] ?? 0, unit)}`;
  const [low, high] = [least?.[bin] ?? null, greatest?.[bin] ?? null];
  if (low === null || high === null) return "not known";
  return low === high ? quantity(low, unit) : `${quantity(low, unit)} to ${quantity(high, unit)}`;
}

/** From the least to the greatest number that is drawn; zero is one of them. */
export function rangeOf({ gain, least, greatest }: Counter): [number, number] {
  const known = [...(gain ?? []), ...(least ?? []), ...(greatest ?? [])].filter((value) => value !== null);
  const [low, high] = [known.reduce((a, b) => Math.min(a, b), 0), known.reduce((a, b) => Math.max(a, b), 0)];
  return low === high ? [low, low + 1] : [low, high];
}

/** A path of the counter between `at`, the places of borders: steps of what it gained, or the band of its values. */
export function outline(counter: Counter, at: readonly number[], height: number): string {
  const [low, high] = rangeOf(counter);
  if (counter.gain) return steps(at, counter.gain, high, height);
  const y = (value: number) => (height - (height * (value - low)) / (high - low)).toFixed(2);
  const { least, greatest } = counter;
  return (least ?? []).map((value, i) => {
    const top = greatest?.[i] ?? null;
    if (value === null || top === null) return "";
    // A value that does not change is a line, and has to be seen.
    const [upper, lower] = [Number(y(top)), Math.max(Number(y(value)), Math.min(height, Number(y(top)) + 1.5))];
    return `M${at[i]} ${upper}H${at[i + 1]}V${lower}H${at[i]}Z`;
  }).join("");
}

/** Counters and other metrics over the time that is shown, each on the timeline's axis. */
export function CounterTracks({ view }: { view: TimelineView }) {
  const store = useStore();
  void view.drawn.value;
  const { time_ns, ranks } = store.state.value;
  const selection = { ...(time_ns ? { time_ns } : {}), ...(ranks === null ? {} : { ranks }) };
  const { data, error, loading } = useAnswer<CountersOverTime>("counters-over-time", { bins: BINS }, selection);
  const edges = data?.bin_edges_ns ?? [];
  const at = edges.map((time) => Math.round(100 * view.xOf(time)) / 100);
  const width = duration((edges[1] ?? 0) - (edges[0] ?? 0));
  return (
    <div class={loading ? "tracks loading" : "tracks"} data-testid="counter-tracks" aria-busy={loading}>
      {error && <p class="error pad" role="alert">{error}</p>}
      {data && data.counters.length === 0 && <p class="faint pad">No counter has a value in the selection.</p>}
      {!error && data?.counters.map((counter) => (
        <div class="track" key={counter.metric}>
          <div class="track-head" title={`${counter.metric}${counter.unit ? ` (${counter.unit})` : ""}, ${counter.n_locations} locations`}>
            <span class="cut">{counter.metric}</span><span class="faint cut">{counter.gain ? "≤ " : "to "}{quantity(rangeOf(counter)[1], counter.unit)}</span>
          </div>
          <svg viewBox={`0 0 ${view.width} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={`${counter.metric} over time, up to ${quantity(rangeOf(counter)[1], counter.unit)}${counter.gain ? ` in ${width}` : ""}`}>
            <path class="sent" d={outline(counter, at, HEIGHT)} />
            {edges.slice(1).map((end, i) => <rect class="bin" key={i} x={at[i] ?? 0} width={Math.max(0, (at[i + 1] ?? 0) - (at[i] ?? 0))} y={0} height={HEIGHT}><title>{`${duration(edges[i] ?? 0)} – ${duration(end)}: ${counter.metric} ${inWords(counter, i)}`}</title></rect>)}
          </svg>
        </div>
      ))}
    </div>
  );
}
