import { css } from "../colour/oklch.ts";
import { useStore } from "../state/answer.ts";
import type { TimelineView } from "./view.ts";

const SHOWN = 9;

/** The colours in the picture, most time first; pointing at one lights it. */
export function Legend({ view }: { view: TimelineView | null }) {
  const store = useStore();
  if (!view) return null;
  void view.drawn.value;
  const { colours } = view;
  if (!colours) return null;
  if (store.state.value.colour === "category") {
    return <ul class="legend" aria-label="Colours">{store.meta.categories.map((category, i) => <li key={i}><i style={{ background: css(colours.category(i)) }} />{category.name}</li>)}</ul>;
  }
  const most = colours.shown.filter(([, held]) => 0 < held).slice(0, SHOWN);
  const labels = store.paths.labels(most.map(([id]) => id));
  return (
    <ul class="legend" aria-label="Colours">
      {most.map(([id], i) => (
        <li key={id} title={store.paths.names(id).join(" › ")} onPointerEnter={() => (store.pointedPath.value = id)} onPointerLeave={() => (store.pointedPath.value = null)}
          onClick={() => store.go({ call_path: store.paths.names(id) }, true)}>
          <i style={{ background: css(colours.of(id)) }} />{labels[i] || "outside"}
        </li>
      ))}
    </ul>
  );
}
