import { useState } from "preact/hooks";
import { duration } from "../format.ts";
import { useAnswer, useStore } from "../state/answer.ts";
import { Choice, Panel } from "./panel.tsx";

interface Data {
  runs: { path: string; n_processes: number; run_time_ns: number; speed_up: number | null; efficiency: number | null }[];
  functions: { region: string; call_path?: string[]; exclusive_ns: (number | null)[]; mean_ns: (number | null)[] }[];
}

/** Runs side by side: what each region costs a process, and the difference. */
export function Compare() {
  const store = useStore();
  const one = (store.meta.runs?.length ?? 1) < 2;
  return one ? (
    <section class="panel" data-testid="compare"><p class="faint pad">Name two runs to compare them: <code>ouzel view A B</code>.</p></section>
  ) : <Runs />;
}

function Runs() {
  const store = useStore();
  const [by, setBy] = useState<"region" | "call path">("region");
  const others = (store.meta.runs ?? []).slice(1).map((_, i) => i + 1);
  const answer = useAnswer<Data>("compare", by === "region" ? {} : { call_paths: true }, {}, 0, others);
  const { data } = answer;
  const difference = (f: Data["functions"][number]) => (f.mean_ns.at(-1) ?? 0) - (f.mean_ns[0] ?? 0);
  const rows = [...(data?.functions ?? [])].sort((a, b) => Math.abs(difference(b)) - Math.abs(difference(a)));
  const most = Math.max(1, ...rows.map((f) => Math.abs(difference(f))));
  return (
    <Panel id="compare" answer={answer} tools={<Choice label="By" value={by} options={[["region", "region"], ["call path", "call path"]]} onChange={(value) => setBy(value as typeof by)} />}>
      {data && (
        <div class="scroll">
          <table>
            <thead><tr><th scope="col">{by}</th>{data.runs.map((run, i) => <th key={i} scope="col" class="number" title={run.path}>{run.path.split("/").at(-1)} · {duration(run.run_time_ns)}</th>)}<th scope="col" class="number">difference of means</th></tr></thead>
            <tbody>
              {rows.slice(0, 300).map((f) => (
                <tr key={f.call_path?.join("/") ?? f.region} tabIndex={0} onClick={() => (f.call_path ? store.go({ call_path: f.call_path }, true) : store.set({ search: f.region }))}>
                  <td class="name" title={f.call_path?.join(" › ")}>{f.call_path ? <><span class="faint">{f.call_path.slice(0, -1).join(" › ")} {1 < f.call_path.length ? "›" : ""} </span>{f.region}</> : f.region}</td>
                  {f.mean_ns.map((value, i) => <td key={i} class="number">{value === null ? "–" : duration(value)}</td>)}
                  <td class="number"><i class={difference(f) < 0 ? "fill less" : "fill more"} style={{ width: `${(100 * Math.abs(difference(f))) / most}%` }} /><span>{difference(f) < 0 ? "−" : "+"}{duration(Math.abs(difference(f)))}</span></td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </Panel>
  );
}
