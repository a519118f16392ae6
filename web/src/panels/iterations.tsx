import { useState } from "preact/hooks";
import { duration } from "../format.ts";
import { useAnswer, useStore } from "../state/answer.ts";
import { Choice, Panel } from "./panel.tsx";

interface Iteration { location_cluster: number; index: number; start_ns: number; end_ns: number; cluster: number }
interface Loop { name: string; mostly: string | null; is_nested: boolean; accepted: number; is_estimate: boolean; iterations: Iteration[]; instances: { location_cluster: number; n_locations: number; rank: number | null }[] }

/** A loop without a mark or a line in the source is named for what takes most of its time. */
const title = ({ name, mostly }: Loop) => (mostly !== null && name.startsWith("loop~") ? `loop around ${mostly}` : name);

const KINDS = ["#6aa2d8", "#d8a25a", "#8cc084", "#c68ac6", "#cf7d74", "#8f9aa8"];

/** How long each iteration takes, coloured by its kind; a click shows it. */
export function Iterations() {
  const store = useStore();
  const [which, setWhich] = useState("0");
  const answer = useAnswer<{ loops: Loop[] }>("iterations", {}, {});
  const loops = (answer.data?.loops ?? []).filter((loop) => !loop.is_nested && loop.iterations.length !== 0);
  const loop = loops[Number(which)] ?? loops[0];
  const tools = 1 < loops.length ? <Choice label="Loop" value={which} options={loops.map((each, i) => [`${i}`, `${title(each)} (${each.is_estimate ? "about " : ""}${each.accepted})`])} onChange={setWhich} /> : null;
  const last = Math.max(1, ...(loop?.iterations ?? []).map((i) => i.index + 1));
  const most = Math.max(1, ...(loop?.iterations ?? []).map((i) => i.end_ns - i.start_ns));
  const show = (i: Iteration) => store.go({ time_ns: [i.start_ns, Math.max(i.start_ns + 1, i.end_ns)], brush_ns: null }, true);
  return (
    <Panel id="iterations" answer={answer} tools={tools}>
      {answer.data && !loop && <p class="faint pad">Nothing repeats in this run.</p>}
      {loop && (
        <div class="iterations">
          {loop.instances.map((instance) => (
            <figure key={instance.location_cluster}>
              <svg viewBox={`0 0 ${last} 100`} preserveAspectRatio="none" role="img" aria-label={`Time of each iteration of ${title(loop)}`}>
                {loop.iterations.filter((i) => i.location_cluster === instance.location_cluster).map((i) => {
                  const height = (100 * (i.end_ns - i.start_ns)) / most;
                  return (
                    <rect key={i.index} x={i.index + 0.06} width={0.88} y={100 - height} height={height} style={{ fill: KINDS[i.cluster % KINDS.length] ?? "" }} onClick={() => show(i)}>
                      <title>{`iteration ${i.index}: ${duration(i.end_ns - i.start_ns)}, kind ${i.cluster}`}</title>
                    </rect>
                  );
                })}
              </svg>
              <figcaption>{instance.rank === null ? "" : `rank ${instance.rank}`}{1 < instance.n_locations ? `, and ${instance.n_locations - 1} more like it` : ""} · up to {duration(most)}{loop.is_estimate ? " · an estimate: samples miss short iterations" : ""}</figcaption>
            </figure>
          ))}
        </div>
      )}
    </Panel>
  );
}
