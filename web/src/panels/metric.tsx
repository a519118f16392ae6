import type { ComponentChildren } from "preact";
import { useAnswer, useStore } from "../state/answer.ts";
import { Choice } from "./panel.tsx";

interface Info { metrics: { name: string; display_name?: string; unit: string; hidden?: boolean }[] }

/** The metric of a profile that is shown, as an option of questions and as a choice. */
export function useMetric(): { option: Record<string, unknown>; unit: string; choice: ComponentChildren } {
  const store = useStore();
  const metrics = (useAnswer<Info>("info", {}, {}).data?.metrics ?? []).filter((metric) => metric.hidden !== true);
  const named = metrics.find((metric) => metric.name === store.state.value.metric) ?? metrics.find((metric) => metric.name === "time") ?? metrics[0];
  const options = metrics.map((metric) => [metric.name, `${metric.display_name ?? metric.name}${metric.unit ? ` (${metric.unit})` : ""}`] as [string, string]);
  const chosen = store.state.value.metric;
  return {
    option: chosen !== null && named?.name === chosen ? { metric: chosen } : {},
    unit: named?.unit ?? "",
    choice: <Choice label="Metric" value={named?.name ?? ""} options={options} onChange={(value) => store.set({ metric: value })} />,
  };
}
