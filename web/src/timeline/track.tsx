import { bytes, count, duration } from "../format.ts";
import { useAnswer, useStore } from "../state/answer.ts";
import type { TimelineView } from "./view.ts";

export interface OverTime { bin_edges_ns: number[]; unit: string; sent: number[]; received: number[] }

/** Bins of communication over time: of the track and of the panel. */
export const BINS = 100;
export const HEIGHT = 46;

/** A path of steps over time, closed at the bottom; `at` has the place of each border. */
export function steps(at: readonly number[], values: readonly number[], most: number, height: number): string {
  const y = (value: number) => (height - (height * value) / most).toFixed(2);
  return values.length === 0 ? "" : `M${at[0]} ${height}${values.map((value, i) => `L${at[i]} ${y(value)}L${at[i + 1]} ${y(value)}`).join("")}L${at[values.length]} ${height}Z`;
}

/** What is sent over the time that is shown, below the timeline and on its axis. */
export function Track({ view, unit }: { view: TimelineView; unit: "bytes" | "messages" }) {
  const store = useStore();
  void view.drawn.value;
  const { time_ns, ranks } = store.state.value;
  const selection = { ...(time_ns ? { time_ns } : {}), ...(ranks === null ? {} : { ranks }) };
  const { data, error, loading } = useAnswer<OverTime>("comm-over-time", { bins: BINS, unit }, selection);
  const say = unit === "bytes" ? bytes : (n: number) => `${count(n)} messages`;
  const most = Math.max(1, ...(data?.sent ?? []), ...(data?.received ?? []));
  const at = (data?.bin_edges_ns ?? []).map((time) => Math.round(100 * view.xOf(time)) / 100);
  return (
    <div class={loading ? "track loading" : "track"} data-testid="track" title={error ?? undefined}>
      <div class="track-head"><span>sent</span><span class="faint">{error ? "–" : `≤ ${say(most)}`}</span></div>
      {data && !error && (
        <svg viewBox={`0 0 ${view.width} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={`${unit} sent over time, up to ${say(most)} in ${duration((data.bin_edges_ns[1] ?? 0) - (data.bin_edges_ns[0] ?? 0))}`}>
          <path class="sent" d={steps(at, data.sent, most, HEIGHT)} />
          <path class="received" d={steps(at, data.received, most, HEIGHT)} />
          {data.sent.map((sent, i) => <rect class="bin" key={i} x={at[i] ?? 0} width={Math.max(0, (at[i + 1] ?? 0) - (at[i] ?? 0))} y={0} height={HEIGHT}><title>{`${duration(data.bin_edges_ns[i] ?? 0)} – ${duration(data.bin_edges_ns[i + 1] ?? 0)}: ${say(sent)} sent, ${say(data.received[i] ?? 0)} received`}</title></rect>)}
        </svg>
      )}
      {error && <p class="faint">{error}</p>}
    </div>
  );
}
