import { duration } from "../format.ts";
import { useAnswer, useStore } from "../state/answer.ts";
import { Panel } from "./panel.tsx";

interface Cluster {
  peers: string; id: number; size: number; ranks: { ranges: string }; duration_ns: number; representative_rank: number | null;
  differences: { call_path: string[]; time_ns: number; reference_ns: number }[];
}

/** Which locations behave alike, side by side, and what sets them apart. */
export function Clusters() {
  const store = useStore();
  const answer = useAnswer<{ clusters: Cluster[] }>("clusters", {}, {});
  const clusters = answer.data?.clusters ?? [];
  const most = Math.max(1, ...clusters.flatMap((c) => c.differences.flatMap((d) => [d.time_ns, d.reference_ns])));
  return (
    <Panel id="clusters" answer={answer}>
      {answer.data && clusters.length === 0 && <p class="faint pad">No locations to compare.</p>}
      <div class="cards">
        {clusters.map((cluster) => (
          <article key={`${cluster.peers}${cluster.id}`} class={store.state.value.ranks === cluster.ranks.ranges ? "card lit" : "card"}>
            <button class="plain" disabled={cluster.ranks.ranges === ""} onClick={() => store.go({ ranks: cluster.ranks.ranges }, true)}>
              <h3>{cluster.size} × {cluster.peers.replaceAll("_", " ")}</h3>
              <span class="faint">{cluster.ranks.ranges === "" ? "" : `${1 < cluster.size ? "ranks" : "rank"} ${cluster.ranks.ranges} · `}{duration(cluster.duration_ns)}</span>
            </button>
            {cluster.differences.length === 0 && <p class="faint">The others are compared with this one.</p>}
            <ul>
              {cluster.differences.slice(0, 6).map((d, i) => (
                <li key={i} title={d.call_path.join(" › ")}>
                  <button class="plain" onClick={() => store.go({ call_path: d.call_path.length === 0 ? null : d.call_path, ranks: cluster.ranks.ranges === "" ? null : cluster.ranks.ranges }, true)}>{d.call_path.at(-1) ?? "outside"}</button>
                  <span class={d.reference_ns < d.time_ns ? "more" : "less"}>{d.reference_ns < d.time_ns ? "+" : "−"}{duration(Math.abs(d.time_ns - d.reference_ns), 3)}</span>
                  <i style={{ width: `${(100 * d.time_ns) / most}%` }} /><i class="other" style={{ width: `${(100 * d.reference_ns) / most}%` }} />
                </li>
              ))}
            </ul>
          </article>
        ))}
      </div>
    </Panel>
  );
}
