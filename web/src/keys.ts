import { stepFinding } from "./panels/guide.tsx";
import type { Store } from "./state/store.ts";
import { pan, zoomAt, zoomToSelection } from "./timeline/panel.tsx";
import type { TimelineView } from "./timeline/view.ts";

/** What the help shows; `true`: of a page that can ask questions. */
export const KEYS: [string, string, boolean?][] = [
  ["W S", "zoom in, zoom out at the pointer; also I K, Ctrl + wheel"],
  ["A D", "earlier, later; also J L, ← →, Shift + wheel"],
  ["↑ ↓", "scroll rows; also the wheel"],
  ["drag", "mark time; over several rows, ranks, too"],
  ["Enter", "zoom to what is marked; also double click"],
  ["0", "everything"],
  ["Backspace", "back"],
  ["N", "next finding, with Shift the one before", true],
  ["/", "search"],
  ["1 … 9", "depth of calls"],
  ["Q", "depth: automatic or leaf; Shift + A: automatic"],
  ["C", "rows by rank or by cluster", true],
  ["X", "open or close all clusters", true],
  ["E", "calls of the first marked rank, or none", true],
  ["M", "messages", true],
  ["P", "critical path", true],
  ["F", "timeline alone, or with a panel", true],
  ["?", "this help"],
  ["Esc", "clear the mark, the search, this help"],
];

/** Keys by their place on the keyboard, so that every layout can use them. */
export function bindKeys(store: Store, view: TimelineView, help: () => void): () => void {
  let pointerX = view.width / 2;
  const moved = (event: PointerEvent) => {
    const box = view.canvas.getBoundingClientRect();
    if (box.left <= event.clientX && event.clientX <= box.right) pointerX = event.clientX - box.left;
  };
  const actions = actionsOf(store, view, () => pointerX);
  const pressed = (event: KeyboardEvent) => {
    const typing = event.target instanceof HTMLInputElement && event.target.type === "search" || event.target instanceof HTMLSelectElement;
    if (event.key === "Escape") return escape(store, event);
    if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "?") return void (event.preventDefault(), help());
    if (event.key === "/") {
      event.preventDefault();
      document.getElementById("search")?.focus();
      return;
    }
    // Enter and space belong to buttons, rows of tables and check boxes.
    if (event.code === "Enter" && event.target instanceof Element && event.target.closest("button, tr, summary, a")) return;
    const action = actions[event.code];
    if (!action) return;
    event.preventDefault();
    action(event);
  };
  addEventListener("keydown", pressed);
  addEventListener("pointermove", moved);
  return () => {
    removeEventListener("keydown", pressed);
    removeEventListener("pointermove", moved);
  };
}

function escape(store: Store, event: KeyboardEvent): void {
  if (event.target instanceof HTMLElement) event.target.blur();
  document.querySelector<HTMLElement>(".help .close")?.click();
  store.set({ brush_ns: null, search: "" });
}

/** The first rank that is marked, or of all. */
function firstRank(store: Store): number | null {
  const ranks = store.meta.locations.flatMap(({ rank }) => (rank !== null && (store.ranks?.has(rank) ?? true) ? [rank] : []));
  return ranks.length === 0 ? null : ranks.reduce((a, b) => Math.min(a, b));
}

function actionsOf(store: Store, view: TimelineView, x: () => number): Record<string, (event: KeyboardEvent) => void> {
  const state = () => store.state.value;
  const zoomIn = () => zoomAt(view, 0.7, x());
  const zoomOut = () => zoomAt(view, 1 / 0.7, x());
  const earlier = () => pan(view, -0.15);
  const later = () => pan(view, 0.15);
  const scroll = (by: number) => (view.scroll.value = view.scrolled(by));
  const actions: Record<string, (event: KeyboardEvent) => void> = {
    KeyW: zoomIn, KeyI: zoomIn, Equal: zoomIn, NumpadAdd: zoomIn,
    KeyS: zoomOut, KeyK: zoomOut, Minus: zoomOut, NumpadSubtract: zoomOut,
    KeyA: (event) => (event.shiftKey ? store.set({ depth: "auto" }) : earlier()), KeyJ: earlier, ArrowLeft: earlier,
    KeyD: later, KeyL: later, ArrowRight: later,
    ArrowUp: () => scroll(-60), ArrowDown: () => scroll(60), PageUp: () => scroll(-view.height), PageDown: () => scroll(view.height),
    Enter: () => zoomToSelection(view),
    Digit0: () => store.everything(), Numpad0: () => store.everything(),
    Backspace: () => store.back(),
    KeyQ: () => store.set({ depth: state().depth === "auto" ? "leaf" : "auto" }),
  };
  for (let depth = 1; depth <= 9; depth += 1) actions[`Digit${depth}`] = () => store.set({ depth });
  return store.asks ? { ...actions, ...asking(store, view) } : actions;
}

/** What needs answers to questions. */
function asking(store: Store, view: TimelineView): Record<string, (event: KeyboardEvent) => void> {
  const state = () => store.state.value;
  return {
    KeyN: (event) => stepFinding(store, event.shiftKey ? -1 : 1),
    KeyC: () => store.set({ order: state().order === "cluster" ? "rank" : "cluster" }),
    KeyX: () => (view.open.value = view.open.value.size === 0 ? new Set((view.clusters.value ?? []).map((each) => each.cluster)) : new Set()),
    KeyE: () => store.set({ expanded: state().expanded === null ? firstRank(store) : null }),
    KeyM: () => store.set({ messages: !state().messages }),
    KeyP: () => store.set({ critical_path: !state().critical_path }),
    KeyF: () => store.set({ view: state().view === "timeline" ? "profile" : "timeline" }),
  };
}
