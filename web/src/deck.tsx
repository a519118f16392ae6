import { useEffect, useState } from "preact/hooks";
import { exportView } from "./export/export.ts";
import { Clusters } from "./panels/clusters.tsx";
import { Compare } from "./panels/compare.tsx";
import { Counters } from "./panels/counters.tsx";
import { Iterations } from "./panels/iterations.tsx";
import { Matrix } from "./panels/matrix.tsx";
import { Profile } from "./panels/profile.tsx";
import { TimeProfile } from "./panels/time-profile.tsx";
import { TopologyPanel } from "./topology/panel.tsx";
import { Tree } from "./panels/tree.tsx";
import { useStore } from "./state/answer.ts";
import { VIEWS, VIEW_TITLES, type View } from "./state/state.ts";
import type { TimelineView } from "./timeline/view.ts";

/** What a profile without a trace can show. */
const OF_PROFILES: readonly View[] = ["profile", "tree", "topology"];

/** What a run must have for a panel. */
const NEEDS: Partial<Record<View, string>> = { topology: "topology", matrix: "messages", counters: "counters" };

type Lower = (typeof VIEWS)[number];

/** Panels below the timeline: one, and on wide screens the next ones beside it. */
export function Deck({ view }: { view: TimelineView | null }) {
  const store = useStore();
  const chosen = store.state.value.view;
  const columns = useColumns();
  if (chosen === "timeline" && !store.profileOnly) return null;
  const first: Lower = VIEWS.includes(chosen as Lower) ? (chosen as Lower) : "profile";
  const compares = 1 < (store.meta.runs?.length ?? 1);
  const isThere = (each: View): boolean => (each === "compare" ? compares : store.meta.abilities[NEEDS[each] ?? ""] !== false) && (!store.profileOnly || OF_PROFILES.includes(each));
  const views = [first, ...(store.profileOnly ? (["tree", "topology", "profile"] as Lower[]) : (["tree", "time-profile", "matrix"] as Lower[])).filter((other) => other !== first)].filter((each) => each === first || isThere(each)).slice(0, columns);
  return (
    <div class="deck">
      <div class="tabs">
        <div role="tablist" aria-label="Panels">
          {VIEWS.filter((each) => each === first || isThere(each)).map((each) => (
            <button key={each} role="tab" aria-selected={each === first} onClick={() => store.set({ view: each })}>{VIEW_TITLES[each]}</button>
          ))}
        </div>
        <Exports of={first} />
      </div>
      <div class="columns">{views.map((each) => <div class="column" key={each}>{1 < columns && <h2>{VIEW_TITLES[each]}</h2>}<Content of={each} view={view} /></div>)}</div>
    </div>
  );
}

function Content({ of, view }: { of: Lower; view: TimelineView | null }) {
  switch (of) {
    case "profile": return <Profile />;
    case "tree": return <Tree view={view} />;
    case "time-profile": return <TimeProfile view={view} />;
    case "matrix": return <Matrix />;
    case "iterations": return <Iterations />;
    case "clusters": return <Clusters />;
    case "counters": return <Counters />;
    case "topology": return <TopologyPanel />;
    case "compare": return <Compare />;
  }
}

function Exports({ of }: { of: View }) {
  const store = useStore();
  const [busy, setBusy] = useState(false);
  const save = async (which: View, kind: "svg" | "png" | "csv") => {
    setBusy(true);
    try {
      const made = await exportView(store, which, kind);
      const link = document.createElement("a");
      link.href = URL.createObjectURL(typeof made === "string" ? new Blob([made]) : made);
      link.download = `${which}.${kind}`;
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
    } catch (error) {
      store.report(error);
    }
    setBusy(false);
  };
  return (
    <div class="exports" aria-label="Export">
      {([["CSV", of, "csv"], ["SVG", of, "svg"], ["PNG", of, "png"], ["Timeline", "timeline", "png"]] as const).map(([name, which, kind]) => (
        <button class="plain" key={name} disabled={busy} title={`${VIEW_TITLES[which]} as ${name}`} onClick={() => void save(which, kind)}>{name}</button>
      ))}
    </div>
  );
}

function useColumns(): number {
  const count = () => (innerWidth < 1700 ? 1 : innerWidth < 2800 ? 2 : 3);
  const [columns, setColumns] = useState(count());
  useEffect(() => {
    const changed = () => setColumns(count());
    addEventListener("resize", changed);
    return () => removeEventListener("resize", changed);
  }, []);
  return columns;
}
