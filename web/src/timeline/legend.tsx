import { css } from "../colour/oklch.ts";
import { useStore } from "../state/answer.ts";
import type { TimelineView } from "./view.ts";

const SHOWN = 7;

/** The colours in the picture, most time first; pointing at one lights it. */
export function Legend({ view }: { view: TimelineView | null }) {
  const store = useStore();
  if (!view) return null;
  void view.drawn.value;
  const { colours, significance } = view;
  if (!colours || !significance) return null;
  if (store.state.value.colour === "category") {
    return <ul class="legend" aria-label="Colours">{store.meta.categories.map((category, i) => <li key={i}><i style={{ background: css(colours.category(i)) }} />{category.name}</li>)}</ul>;
  }
  // What each displayed call path holds itself: its bins without those of what is displayed below it.
  const own = new Map<number, number>();
  for (const id of significance.order) {
    const parent = store.paths.parent[id] ?? -1;
    const shown = view.displayed(id);
    const weight = significance.inclusive[id] ?? 0;
    own.set(shown, (own.get(shown) ?? 0) + weight);
    if (0 <= parent) own.set(view.displayed(parent), (own.get(view.displayed(parent)) ?? 0) - weight);
  }
  const most = [...own].sort((a, b) => b[1] - a[1]).slice(0, SHOWN);
  return (
    <ul class="legend" aria-label="Colours">
      {most.map(([id]) => (
        <li key={id} title={store.paths.names(id).join(" › ")} onPointerEnter={() => (store.pointedPath.value = id)} onPointerLeave={() => (store.pointedPath.value = null)}
          onClick={() => store.go({ call_path: store.paths.names(id) }, true)}>
          <i style={{ background: css(colours.of(id)) }} />{store.paths.name(id)}
        </li>
      ))}
    </ul>
  );
}
